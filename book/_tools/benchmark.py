"""Time the builds a writer waits for, in one run, against executing the same cells one page after another.

Works on a copy of the book in a temporary folder; run it on an otherwise idle machine.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))

from execute import run  # noqa: E402
from pages import pages  # noqa: E402


def seconds(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def build(root: Path) -> str:
    done = subprocess.run([sys.executable, str(root / "book" / "_tools" / "build.py"), str(root)],
                          env=os.environ | {"PYTHONPATH": str(root)}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def append(path: Path, text: str):
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "book"
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns("_build", ".venv", ".git", "__pycache__"))
        os.environ["OMP_NUM_THREADS"] = "1"
        os.environ["PYTHONPATH"] = str(root)
        book = [page for page in pages(root) if page.notebook]
        each = {page.name: run(page)[1] for page in book}
        bare = sum(each.values())
        chapter = root / "chapters" / "one_head.md"
        rows = [("the cells alone, one page after another", bare), ("cold build", seconds(lambda: build(root)))]
        append(chapter, "\nOne more sentence.\n")
        rows.append(("rebuild after a prose edit", seconds(lambda: build(root))))
        append(chapter, "\n```{code-cell} ipython3\nassert True\n```\n")
        rows.append(("rebuild after a code edit in one chapter", seconds(lambda: build(root))))
        append(root / "helpers" / "numbers.py", "\n# a comment\n")
        rows.append(("rebuild after a helper edit", seconds(lambda: build(root))))
        rows.append(("rebuild after no edit", seconds(lambda: build(root))))
    for name, time_taken in rows:
        print(f"{name:<45} {time_taken:7.1f} s   {time_taken / bare:5.2f} of the cells alone")
    print("\nCells of each page")
    for name, time_taken in sorted(each.items(), key=lambda item: -item[1]):
        print(f"  {name:<43} {time_taken:7.1f} s")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"\nlargest process {peak:.0f} MB")


if __name__ == "__main__":
    main()
