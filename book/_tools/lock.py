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
                    "--allow-unsafe",  # setuptools too, which newer Pythons do not bring along
                    "--annotation-style=line", "--extra=book", "--extra=lab", "--extra=test", f"--output-file={LOCK}",
                    "pyproject.toml"], cwd=ROOT, check=True)
    # A local build of torch names itself 2.x+cpu; the pin must find any build of that version.
    pins = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    LOCK.write_text(HEAD + "\n".join(sorted(pins)).replace("+cpu", "") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
