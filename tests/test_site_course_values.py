"""Every published value that a page shows stands on the built page, to the digits shown."""

import json

import pytest
from conftest import ROOT, html, published
from reading import agrees, numbers_in, page_text, stands_in, table_cells

FOLDER = ROOT / "tests" / "data" / "places"  # one file a chapter: where each published value stands
LATER = json.loads((FOLDER / "later.json").read_text(encoding="utf-8"))  # values of chapters still to be written
PLACES = {key: {"page": f"chapters/{path.stem}"} | place for path in sorted(FOLDER.glob("*.json")) if path.stem != "later"
          for key, place in json.loads(path.read_text(encoding="utf-8")).items()}
TABLES = {key: place for key, place in PLACES.items() if "table" in place}
TEXTS = {key: place for key, place in PLACES.items() if "table" not in place}


def flat(values):
    return [x for value in values for x in flat(value)] if isinstance(values, list) else [values]


@pytest.mark.parametrize("key", TABLES)
def test_table(key):
    """The whole table, row by row; `columns` says which of the page's columns the course publishes."""
    place, rows = TABLES[key], published()[key]["values"]
    _, body = table_cells(html(place["page"]), place["table"])
    assert len(body) == len(rows), f"wanted {len(rows)} rows in {place['table']}, got {len(body)}"
    for shown_row, wanted_row in zip(body, rows):
        cells = [shown_row[j] for j in place["columns"]] if "columns" in place else shown_row[1:]
        shown = [n for cell in cells for n in numbers_in(cell)]
        wanted = flat(wanted_row)
        assert len(shown) == len(wanted), f"{place['table']}: wanted {wanted}, got {shown}"
        for a, b in zip(shown, wanted):
            assert agrees(a, b), f"{place['table']}, row {shown_row[0]}: wanted {b}, got {a}"


@pytest.mark.parametrize("key", TEXTS)
def test_vector_or_scalar(key):
    """The numbers stand on the page next to one another and in order, in an output or in mathematics."""
    wanted = flat(published()[key]["values"])
    shown = numbers_in(page_text(html(TEXTS[key]["page"])))
    assert stands_in(wanted, shown), f"wanted {wanted} on {TEXTS[key]['page']}"


def test_every_published_value_has_a_place():
    """No value is forgotten, and one whose chapter exists is not put off."""
    assert set(PLACES) | set(LATER) == set(published())
    assert not set(PLACES) & set(LATER)
    written = {key for key, page in LATER.items() if (ROOT / f"{page}.md").is_file()}
    assert not written, f"their chapter exists, so they need a place: {sorted(written)}"
