"""Write requirements.txt: every package below what pyproject.toml asks for, pinned."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.txt"
HEAD = "# Every package of the book's environment at the version it was built and tested with.  Made by `make lock`.\n"


def main():
    subprocess.run([sys.executable, "-m", "piptools", "compile", "--quiet", "--strip-extras", "--no-header",
                    "--no-emit-index-url", "--no-emit-find-links", "--no-emit-trusted-host",
                    "--annotation-style=line", "--extra=book", "--extra=lab", "--extra=test", f"--output-file={LOCK}",
                    "pyproject.toml"], cwd=ROOT, check=True)
    # A local build of torch names itself 2.x+cpu; the pin must find any build of that version.
    LOCK.write_text(HEAD + LOCK.read_text().replace("+cpu", ""), encoding="utf-8")


if __name__ == "__main__":
    main()
