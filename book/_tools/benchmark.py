"""Time the builds a writer waits for, in one run, against executing the same notebooks one after another with nbclient.

Works on a copy of the book in a temporary folder; run it on an otherwise idle machine.  Beside each time stand the
seconds that cores worked for it, which a busy machine changes less, and the load.
"""

import os
import re
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

CHAPTER, HELPER = "chapters/one_head.md", "helpers/numbers.py"
AIMS = {"cold build": 0.7, "prose edit": 0.15}


def load() -> float:
    """How many processes wanted a core in the last minute; nan where the system does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def worked() -> float:
    """Seconds that cores have worked for this process and for those that it started and saw end."""
    return sum(os.times()[:4])


def build(root: Path) -> tuple[float, float, set[str]]:
    """Build as `make book` does; return the seconds, those that cores worked, and the pages that were executed."""
    start, before = time.perf_counter(), worked()
    done = subprocess.run([sys.executable, str(root / "book" / "_tools" / "build.py"), str(root)],
                          env=os.environ | {"PYTHONPATH": str(root)}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return time.perf_counter() - start, worked() - before, set(re.findall(r"^Executing \[\d+/\d+\] (\S+):", done.stdout, re.M))


def append(path: Path, text: str):
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def builds(root: Path):
    """(what was done, seconds, seconds worked, pages executed, load) for each build, one after another."""
    edits = (("cold build", "", ""), ("prose edit", CHAPTER, "\nOne more sentence.\n"),
             ("code edit in one chapter", CHAPTER, "\n```{code-cell} ipython3\nassert True\n```\n"),
             ("helper edit", HELPER, "\n# a comment\n"), ("no edit", "", ""))
    for name, path, text in edits:
        if path:
            append(root / path, text)
        yield name, *build(root), load()


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "book"
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns("_build", ".venv", ".git", "__pycache__"))
        os.environ |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(root), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        before = worked()
        each = {page.name: run(page)[1] for page in pages(root) if page.notebook}
        bare = sum(each.values())
        print(f"{'':<30}{'seconds':>9}{'ratio':>8}{'aim':>7}{'worked':>9}{'load':>7}   pages executed", flush=True)
        print(f"{'notebooks, one after another':<30}{bare:>9.1f}{1:>8.2f}{'':>7}{worked() - before:>9.1f}{load():>7.1f}   {len(each)}", flush=True)
        for name, seconds, cores, executed, busy in builds(root):
            which = ", ".join(sorted(executed)) if len(executed) < 4 else len(executed)
            print(f"{name:<30}{seconds:>9.1f}{seconds / bare:>8.2f}{AIMS.get(name, ''):>7}{cores:>9.1f}{busy:>7.1f}   {which or 'none'}", flush=True)
    print("\nSeconds of each notebook alone")
    for name, seconds in sorted(each.items(), key=lambda item: -item[1]):
        print(f"  {name:<43} {seconds:7.1f}")


if __name__ == "__main__":
    main()
