"""Every decimal typed in prose, a caption or an alt text must stand in an output of its page."""

import re
from decimal import ROUND_HALF_EVEN, Decimal

import yaml

DECIMAL = re.compile(r"(?<![\w./])\d+\.\d+(?![\w./]*\d)(?!\.\d)")
CELL = re.compile(r"^(`{3,}|:{3,})\{code-cell\}.*?^\1[^\S\n]*$", re.S | re.M)
FRONT = re.compile(r"\A---\n.*?^---$", re.S | re.M)
SILENT = re.compile(r"https?://\S+|\{(?:cite|doc|download)[\w:]*\}`[^`]*`|^%.*$|\bsections? \d+\.\d+", re.M)
SHOWN = ("alt", "caption")


def _blank(match) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def typed(page):
    """(line, decimal) for each decimal in the page's prose and in its cells' captions and alt texts."""
    text = FRONT.sub(_blank, page.text)
    cells = CELL.findall(text) and [m for m in CELL.finditer(text)]
    prose = SILENT.sub(_blank, CELL.sub(_blank, text))
    for match in DECIMAL.finditer(prose):
        yield text.count("\n", 0, match.start()) + 1, match.group()
    for cell in cells or []:
        head = re.split(r"^---\s*$", cell.group(), flags=re.M)
        if len(head) > 2:
            for match in DECIMAL.finditer(head[1]):
                offset = cell.start() + len(head[0]) + match.start()
                yield text.count("\n", 0, offset) + 1, match.group()


def printed(notebook) -> set[str]:
    """Every decimal that the page's outputs show."""
    found = set()
    for cell in notebook.cells if notebook else []:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            faces = [output.get("text", ""), *(data.get(mime, "") for mime in ("text/markdown", "text/latex", "text/plain"))]
            for face in faces:
                found.update(DECIMAL.findall("".join(face).replace("{,}", "").replace(",", "")))
    return found


def given(root) -> dict:
    """Constants that a page may quote without computing them: page -> {decimal: why}."""
    path = root / "book" / "given_constants.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) or {} if path.is_file() else {}


def stale(page, constants: dict) -> list[str]:
    """A message, with file and line, for each decimal that no output shows and no list explains."""
    shown = {Decimal(text) for text in printed(page.executed() if page.notebook else None)}
    known = {str(value) for value in (constants.get(page.name) or {})}

    def stands(text):
        value = Decimal(text)
        return any(other == value or (other.as_tuple().exponent < value.as_tuple().exponent
                                      and other.quantize(value, ROUND_HALF_EVEN) == value) for other in shown)

    return [f"{page.path.relative_to(page.root)}:{line}: stale number: {text} stands in no output of this page "
            f"(compute it in a cell, or list it in book/given_constants.yml with a reason)"
            for line, text in typed(page) if text not in known and not stands(text)]
