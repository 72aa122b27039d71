"""Reading numbers off a built page."""

import re
from decimal import Decimal

NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")


def numbers_in(text: str) -> list[str]:
    """Every number in a text, signs normalized and thousands separators removed."""
    plain = text.replace("\N{MINUS SIGN}", "-").replace("{,}", "").replace(r"\times10^", "e")
    plain = re.sub(r"e\{(-?\d+)\}", r"e\1", plain)
    return [match.replace(",", "") for match in NUMBER.findall(plain)]


def table_cells(page, label: str) -> tuple[list[str], list[list[str]]]:
    """Column headings and body rows (the row label first) of the table with this id."""
    table = page.find("table", id=label)
    assert table is not None, f"no <table id={label!r}> on the page"
    head = [cell.get_text(" ", strip=True) for cell in table.thead.find_all(["th", "td"])]
    body = [[cell.get_text(" ", strip=True) for cell in row.find_all(["th", "td"])] for row in table.tbody.find_all("tr")]
    return head, body


def page_text(page) -> str:
    """The page's text with its mathematics as TeX."""
    return page.find("main").get_text(" ")


def exact(text: str) -> Decimal:
    """A number as written; a published fraction such as 1/4 is its quotient."""
    above, _, below = text.partition("/")
    return Decimal(above) / Decimal(below or 1)


def agrees(shown: str, wanted: str) -> bool:
    """Whether a number on the page is the published one, to the digits that both give."""
    a, b = exact(shown), exact(wanted)
    if a == b:
        return True
    places = max(a.as_tuple().exponent, b.as_tuple().exponent)
    return round(a, -places) == round(b, -places) and min(len(a.normalize().as_tuple().digits),
                                                          len(b.normalize().as_tuple().digits)) >= 3


def stands_in(sequence: list[str], numbers: list[str]) -> bool:
    """Whether the published numbers stand next to one another, in order, among the page's."""
    n = len(sequence)
    return any(all(agrees(numbers[i + k], sequence[k]) for k in range(n)) for i in range(len(numbers) - n + 1))
