"""Shared by all tests: where the book is, its built pages, and the published values."""

import json
import os
import sys
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in a build: kernels and tests share the cores

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
sys.path.insert(0, str(ROOT / "book" / "_tools"))
sys.path.insert(0, str(ROOT / "tests"))

settings.register_profile("book", deadline=None, derandomize=True)  # the same draws on every machine, however busy
settings.load_profile("book")


@cache
def published():
    return json.loads((ROOT / "tests" / "data" / "course_values.json").read_text(encoding="utf-8"))


@cache
def html(page: str) -> BeautifulSoup:
    """A built page, parsed; each formula stands as the TeX it was made from."""
    path = SITE / f"{page}.html"
    if not path.is_file():
        pytest.fail(f"{page} is not in the built site; run `make book` first")
    soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    for formula in soup.find_all("math"):
        formula.replace_with(rf"\({formula.find('annotation').get_text()}\)")
    return soup


def pytest_collection_modifyitems(items):
    """The marks follow from the file: test_site_*.py read the site, test_browser_*.py open it, test_build_*.py build,
    test_jupyter_*.py drive Jupyter, test_paper_*.py read the PDFs; a file named after a chapter, or after the second
    example, runs chapters' cells.  What has no mark is the unit part."""
    chapters = {path.stem for path in (ROOT / "chapters").glob("*.md")} | {"second_example"}
    for item in items:
        for kind in ("site", "browser", "build", "jupyter", "paper"):
            if item.path.name.startswith(f"test_{kind}"):
                item.add_marker(getattr(pytest.mark, kind))
        if item.path.stem.removeprefix("test_") in chapters:
            item.add_marker(pytest.mark.chapter)
