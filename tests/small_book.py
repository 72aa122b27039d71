"""A small book for tests that build: the real tools, helpers and settings around pages of the test's own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from conftest import ROOT

FIGURE = """
```{code-cell} ipython3
---
mystnb:
  figure:
    name: NAME
    caption: CAPTION
  image:
    alt: "A line that rises from left to right."
---
from matplotlib.figure import Figure
from helpers.drawing import Drawing
figure = Figure(figsize=(1, 1))
figure.add_subplot().plot([0, 1])
Drawing(figure)
```
"""


def figure(name: str, caption: str) -> str:
    """A cell that draws a line."""
    return FIGURE.replace("NAME", name).replace("CAPTION", caption)


def write(root: Path, pages: dict, parts: list):
    """Lay out a book, not built: page -> its text, and the parts of its table of contents after `book/index`."""
    for name in ("_config.yml", "pyproject.toml", "requirements.txt"):
        shutil.copy(ROOT / name, root)
    for name in ("helpers", "book/_jupyter", "book/_tools", "book/_static"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "chapters").mkdir()
    for name, text in pages.items():
        (root / f"{name}.md").write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "book" / "references.bib", root / "book")
    (root / "_toc.yml").write_text(yaml.safe_dump({"format": "jb-book", "root": "book/index", "parts": parts}))


def run(root: Path, tool: str, *words, **environment) -> tuple[int, str]:
    """Run a tool of the small book; return its exit status and all it said."""
    done = subprocess.run([sys.executable, str(root / "book" / "_tools" / tool), *words],
                          env=os.environ | {"PYTHONPATH": str(root)} | environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr
