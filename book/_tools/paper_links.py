"""Links from the website to the PDFs: on each chapter's page, and a list in the section "On paper".

`build.py` and `paper.py` both call `link` last, so a page links to a PDF exactly when the file is there.
"""

import json
import re
import shutil
from html import escape
from pathlib import Path

LIST = "book/how_to_use"  # the page whose section `on-paper` holds the list
BLOCK = re.compile(r"\s*<!-- paper -->.*?<!-- /paper -->", re.S)
EDITIONS = ("student", "instructor")


def made(root: Path) -> dict:
    """What `paper.py` wrote down of each PDF that is there: file -> page, edition, number of pages, state."""
    path = root / "_build" / "pdf" / "made.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {name: entry for name, entry in known.items() if (path.parent / name).is_file()}


def links(files: dict, page: str, up: str) -> str:
    """"student edition (22 pages), instructor edition (21 pages)" for one page, "" for the whole book."""
    found = sorted((entry for entry in files.items() if entry[1]["page"] == page), key=lambda e: EDITIONS.index(e[1]["edition"]))
    return ", ".join(f'<a href="{up}pdf/{Path(name).name}">{entry["edition"]} edition</a> ({entry["pages"]} pages)'
                     for name, entry in found)


def listing(files: dict, up: str) -> str:
    """The list of all PDFs: the whole book, then the chapters in their order."""
    titles = {entry["page"]: entry["title"] for entry in sorted(files.values(), key=lambda e: e["order"])}
    return "".join(f"<li>{escape(title)}: {links(files, page, up)}</li>" for page, title in titles.items())


def put(path: Path, after: str, block: str):
    """Put a block behind what `after` matches, in place of the one that stands there."""
    text = path.read_text(encoding="utf-8")
    new = BLOCK.sub("", text)
    if block:
        spot = re.search(after, new, re.S)
        if spot is None:
            raise ValueError(f"{path}: wanted a place that matches {after!r} for the links to the PDFs, found none")
        new = f"{new[:spot.end()]}\n<!-- paper -->{block}<!-- /paper -->{new[spot.end():]}"
    if new != text:
        path.write_text(new, encoding="utf-8")


def link(root: Path):
    """Copy the PDFs into the site and link to them; take away copies and links of PDFs that are gone."""
    site, files = root / "_build" / "html", made(root)
    copies = {site / "pdf" / Path(name).name: root / "_build" / "pdf" / name for name in files}
    for path in (site / "pdf").glob("*"):
        if path not in copies:
            path.unlink()
    for copy, path in copies.items():
        if not copy.is_file() or copy.stat().st_mtime < path.stat().st_mtime:
            copy.parent.mkdir(exist_ok=True)
            shutil.copy2(path, copy)
    if not files:
        shutil.rmtree(site / "pdf", ignore_errors=True)
    for path in site.glob("*/*.html"):
        page = path.relative_to(site).with_suffix("").as_posix()
        if page == LIST:
            block = f'<ul class="book-paper">{listing(files, "../")}</ul>' if files else ""
            put(path, r'<section id="on-paper">.*?(?=</section>)', block)
        elif page.startswith("chapters/"):
            found = links(files, page, "../")
            put(path, r'<article class="bd-article".*?</h1>', f'<p class="book-paper">On paper: {found}</p>' if found else "")
