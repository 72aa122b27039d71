"""JupyterLab for the book: a double click opens a chapter as a notebook, with numbers, captions and folds.

Usage: lab.py [--only-install] [arguments of jupyter lab ...]

What Jupyter has to know is written into this environment alone, under share/jupyter; nothing in the home folder changes.
"""

import json
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = ROOT / "book" / "_jupyter"
SETTINGS = {
    "@jupyterlab/docmanager-extension:plugin": {
        "defaultViewers": {"markdown": "Jupytext Notebook", "myst": "Jupytext Notebook"}},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}


def install(prefix: Path = Path(sys.prefix)):
    """Write the settings, and what the book adds to JupyterLab, into an environment."""
    settings = prefix / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    kept = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps(kept | SETTINGS, indent=2), encoding="utf-8")
    extension = prefix / "share" / "jupyter" / "labextensions" / "sequence-models-book"
    shutil.rmtree(extension, ignore_errors=True)
    (extension / "static").mkdir(parents=True)
    shutil.copy(OURS / "package.json", extension)
    shutil.copy(OURS / "chapters.js", extension / "static")
    numbers = ROOT / "_build" / "labels.json"
    known = numbers.read_text(encoding="utf-8") if numbers.is_file() else "{}"
    (extension / "static" / "labels.json").write_text(known, encoding="utf-8")


def command(*more: str) -> list[str]:
    """How the book's JupyterLab is started."""
    return [sys.executable, "-m", "jupyterlab", f"--config={OURS / 'jupyter_server_config.py'}", "--ip=127.0.0.1", *more]


def main(*arguments: str):
    install()
    if "--only-install" in arguments:
        return
    if not (ROOT / "_build" / "labels.json").is_file():
        print("The book has not been built yet, so tables, figures and references appear by name, without their numbers.")
    os.chdir(ROOT)
    os.execv(sys.executable, command(*(arguments or ("--LabApp.default_url=/lab/tree/chapters",))))


if __name__ == "__main__":
    main(*sys.argv[1:])
