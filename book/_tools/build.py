"""Build the website: execute what changed, check the numbers, run Jupyter Book, check the pages, add the notebooks.

Usage: build.py [ROOT]    ROOT is the folder with _config.yml and _toc.yml, this book's own by default.
Exit status 0 when every page was built and nothing warned; otherwise 1, and no site is left behind.
"""

import hashlib
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.modules["rfc3987_syntax"] = None  # jsonschema would spend a second or more on grammars that nothing here uses

from execute import execute  # noqa: E402
from finish import finish  # noqa: E402
from notebooks import offer, publish  # noqa: E402
from numbers_in_prose import given, stale  # noqa: E402
from pages import pages  # noqa: E402
from paper_links import link  # noqa: E402


def say(*words):
    print(*words, flush=True)


def fail(root: Path, messages: list[str]):
    """Say what is wrong, take the outdated site away and stop."""
    for folder in ("html", ".doctrees"):
        shutil.rmtree(root / "_build" / folder, ignore_errors=True)
    sys.exit("\n" + "\n\n".join(messages) + f"\n\nThe book was not built: {len(messages)} problem(s), listed above.")


def drop_outdated(root: Path):
    """Forget all pages when the tools that write them have changed; Sphinx would keep the old ones."""
    stamp = root / "_build" / "page-tools"
    now = hashlib.sha256(b"".join(path.read_bytes() for path in sorted((root / "book" / "_tools").glob("*.py")))).hexdigest()
    if not stamp.is_file() or stamp.read_text() != now:
        for folder in ("html", ".doctrees"):
            shutil.rmtree(root / "_build" / folder, ignore_errors=True)
        stamp.write_text(now)


def jupyter_book(root: Path, builder: str = "html"):
    """Jupyter Book with warnings as errors; its own chatter is kept unless something is wrong."""
    command = [sys.executable, "-c", "import sys; sys.modules['rfc3987_syntax'] = None; from jupyter_book.cli.main import main; main()",
               "build", ".", "--builder", builder, "-n", "-W", "--keep-going", "-q"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode:
        fail(root, [(done.stderr.strip() or done.stdout.strip())])


def complete(root: Path, book: list):
    """What is added to Jupyter Book's site: buttons and links, the finish, and the notebooks made from its pages."""
    try:
        for page in book:
            offer(root, page)
        link(root)
        troubles = finish(root, root / "_build" / "html", [page.name for page in book])
        if troubles:
            fail(root, troubles)
        publish(root, book)
    except ValueError as error:
        fail(root, [str(error)])


def main(root: Path):
    start = time.perf_counter()
    book = pages(root)
    failures = execute(root, book, say=say)
    failures += [] if failures else [message for page in book for message in stale(page, given(root))]
    if failures:
        fail(root, failures)
    say("Typesetting the pages")
    drop_outdated(root)
    jupyter_book(root)
    site = root / "_build" / "html"
    missing = [page.name for page in book if not (site / f"{page.name}.html").is_file()]
    if missing:
        fail(root, [f"_toc.yml: page {name} is missing from the output" for name in missing])
    complete(root, book)
    say(f"{len(book)} pages in {time.perf_counter() - start:.1f} s: {site / 'index.html'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
