"""The pages of the book: which there are, what stands in them, and what their cells said."""

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml
from jupyter_cache import get_cache
from myst_nb.core.config import NbParserConfig
from myst_nb.core.read import create_nb_reader
from myst_parser.config.main import MdParserConfig


def toc_entries(toc: dict):
    """Every file named in a table of contents, in reading order."""
    for key in ("root", "file"):
        if key in toc:
            yield toc[key]
    for key in ("parts", "chapters", "sections"):
        for entry in toc.get(key, []):
            yield from toc_entries(entry)


@dataclass
class Page:
    """One page and, when it has code cells, its notebook."""

    root: Path
    name: str  # as in _toc.yml: chapters/one_head
    outputs = None  # the executed notebook, once the cache has been asked and has it

    @property
    def path(self) -> Path:
        return self.root / f"{self.name}.md"

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def notebook(self):
        """The page as the book's own reader sees it, None for a page without cells."""
        reader = create_nb_reader(str(self.path), MdParserConfig(), NbParserConfig(), self.text)
        notebook = reader and reader.read(self.text)
        return notebook if notebook and any(cell.cell_type == "code" for cell in notebook.cells) else None

    def line_of(self, cell: int) -> int:
        """The line of the page on which a cell of the notebook starts."""
        return self.notebook.metadata.get("source_map", [])[cell]

    def executed(self):
        """The notebook with its outputs, or None where the cache does not hold it."""
        if self.outputs is None:
            with suppress(KeyError):
                self.outputs = cache(self.root).merge_match_into_notebook(self.notebook)[1]
        return self.outputs


def cache(root: Path):
    return get_cache(root / "_build" / ".jupyter_cache")


def github(url: str) -> tuple[str, str]:
    """Owner and name of a repository on GitHub; ("", "") for no address."""
    match = re.fullmatch(r"https?://github\.com/([^/]+)/([^/]+?)(?:\.git)?/?", url)
    if url and not match:
        raise ValueError(f"_config.yml: repository: url: wanted https://github.com/OWNER/NAME or nothing, got {url!r}")
    return match.groups() if match else ("", "")


def address(root: Path) -> str:
    """Where the site stands on the web: html: baseurl: of _config.yml, else its repository's GitHub Pages; "" for neither."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    owner, name = github((config.get("repository") or {}).get("url") or "")
    place = (config.get("html") or {}).get("baseurl") or (f"https://{owner.lower()}.github.io/{name}" if owner else "")
    return place.rstrip("/") + "/" if place else ""


def pages(root: Path) -> list[Page]:
    """The pages of the table of contents; a page without a file is an error that names it."""
    found = [Page(root, re.sub(r"\.md$", "", name)) for name in
             toc_entries(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8")))]
    missing = [page.name for page in found if not page.path.is_file()]
    if missing:
        raise SystemExit(f"_toc.yml: wanted a file for each page, found none for {', '.join(missing)}")
    return found
