"""Reading the PDFs: what `make pdf` and `make handouts` left, and the words on their pages."""

import os
import re
import shutil
import subprocess
from functools import cache

import pytest
from conftest import ROOT, html
from pages import pages
from paper import config, slug, state
from paper_links import EDITIONS, made

PDFS = ROOT / "_build" / "pdf"
PAGES = [page.name for page in pages(ROOT)]
CHAPTERS = [name for name in PAGES if name.startswith("chapters/")]


@cache
def lacking() -> str:
    """Why the PDFs cannot be read, "" when all of them are there and as new as the pages."""
    for program in ("pdftotext", "pdffonts", "pdfimages"):
        if not shutil.which(program):
            return f"wanted {program} (poppler-utils) on the path, found none"
    wanted = {("", edition) for edition in EDITIONS} | {(page, edition) for page in CHAPTERS for edition in EDITIONS}
    absent = wanted - {(entry["page"], entry["edition"]) for entry in made(ROOT).values()}
    if absent:
        return f"run `make pdf` and `make handouts` first: {len(absent)} of {len(wanted)} PDFs are not there"
    now = state(ROOT)
    if any(entry["state"] != now for entry in made(ROOT).values()):
        return "the pages have changed since the PDFs were made; run `make pdf` and `make handouts`"
    return ""


def files() -> dict:
    """The PDFs: file -> page, edition, number of pages.  In continuous integration they must be there and new;
    elsewhere the tests wait until somebody makes them."""
    if lacking():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(lacking())
    return made(ROOT)


def pdf(page: str, edition: str):
    """The path of one PDF; page "" is the whole book."""
    return next(PDFS / name for name, entry in files().items() if (entry["page"], entry["edition"]) == (page, edition))


@cache
def sheets(page: str, edition: str) -> list[str]:
    """The text of each sheet, laid out as on paper."""
    said = subprocess.run(["pdftotext", "-layout", pdf(page, edition), "-"], capture_output=True, text=True, check=True).stdout
    return said.split("\f")[:-1]


def text(page: str, edition: str) -> str:
    return "\n".join(sheets(page, edition))


def squash(words: str) -> str:
    """Letters and digits alone, so that line breaks, hyphens and fonts make no difference."""
    return re.sub(r"[\W_]", "", words.replace("ﬁ", "fi").replace("ﬂ", "fl")).lower()


@cache
def squashed(page: str, edition: str) -> str:
    return squash(text(page, edition))


def plain(node) -> list[str]:
    """The runs of words of a part of a page that hold no mathematics: what must stand on paper letter by letter."""
    runs = [""]
    for child in node.descendants:
        if isinstance(child, str):
            if child.find_parent(class_="math"):
                runs.append("")
            elif child.find_parent(class_="headerlink"):
                continue
            else:
                runs[-1] += child
    return [run for run in map(squash, runs) if run]
