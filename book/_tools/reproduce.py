"""Build the book twice from nothing, in two folders, and compare every file of the two sites byte by byte.

Exit status 1 when a file differs.  Takes two cold builds.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def digests(folder: Path) -> dict[str, str]:
    """Every file below a folder -> the hash of its bytes."""
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def differences(one: Path, other: Path) -> list[str]:
    """The files that two folders do not share byte for byte; empty folders are an error, for they prove nothing."""
    a, b = digests(one), digests(other)
    if not a or not b:
        raise ValueError(f"wanted two folders with files, got {len(a)} and {len(b)} files")
    return [f"{name}: " + ("differs" if name in a and name in b else f"only in the {'first' if name in a else 'second'}")
            for name in sorted(a.keys() | b.keys()) if a.get(name) != b.get(name)]


def copy_of_book(target: Path) -> Path:
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns("_build", ".venv", ".git", "__pycache__"))
    return target


def main():
    with tempfile.TemporaryDirectory() as folder:
        sites = []
        for name in ("first", "the/second"):
            root = copy_of_book(Path(folder) / name)
            subprocess.run([sys.executable, str(root / "book" / "_tools" / "build.py"), str(root)], check=True,
                           env=os.environ | {"PYTHONPATH": str(root)})
            sites.append(root / "_build" / "html")
        found = differences(*sites)
        print("\n".join([*found, f"{len(digests(sites[0]))} files of the site, {len(found)} differ between two clean builds"]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
