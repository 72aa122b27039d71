"""Every page on other inputs, as a script with `# %%` cells, from another folder: nothing fails, and any entry can be
explained."""

import tempfile
from functools import cache
from itertools import product

import numpy as np
import pytest
from chapters import namespace, percent
from conftest import ROOT
from pages import pages
from second_example import EXAMPLE, INPUTS

from helpers import PROVERB, equations, explain


def parameters(page):
    """The cells of inputs of a page."""
    return [cell for cell in page.notebook.cells if "parameters" in cell.metadata.get("tags", [])]


RUN = [page for page in pages(ROOT) if page.notebook]
CHANGED = [page.name for page in RUN if parameters(page)]


@cache
def changed(name: str) -> dict:
    with tempfile.TemporaryDirectory() as elsewhere:
        return namespace(name, folder=elsewhere, source=percent(name), **INPUTS.get(name, {}))


def test_second_example_shares_no_word_and_no_size_with_the_proverb():
    assert not set(EXAMPLE.vocabulary) & set(PROVERB.vocabulary)
    sizes = lambda e: {len(e.tokens), len(e.vocabulary), *e.embedding.shape, len(e.heads), len(e.mlp.b_1), *map(len, e.heads[0])}
    assert len(EXAMPLE.tokens) != len(PROVERB.tokens) and EXAMPLE.embedding.shape[1] != PROVERB.embedding.shape[1]
    assert len(sizes(EXAMPLE)) >= 5


def test_every_input_of_the_tests_belongs_to_a_page():
    assert set(INPUTS) == set(CHANGED)


@pytest.mark.parametrize("page", [page for page in RUN if page.name.startswith("chapters/")], ids=lambda page: page.name)
def test_chapter_has_one_cell_of_inputs_and_each_of_them_is_tried(page):
    cells = parameters(page)
    assert len(cells) == 1, f"wanted one cell tagged parameters, got {len(cells)}"
    names = {}
    exec(cells[0].source, names)
    typed = {name for name, value in names.items()
             if not name.startswith("__") and not callable(value) and type(value).__name__ != "module" and name != "PROVERB"}
    assert typed == set(INPUTS.get(page.name, {})), "tests/second_example.py changes every input of the page and nothing else"


@pytest.mark.parametrize("name", [page.name for page in RUN])
def test_page_runs_on_the_second_example(name):
    assert changed(name).get("example", EXAMPLE) is EXAMPLE


def records(values, seen: dict) -> list:
    """Everything among a page's names, or within them, that `explain` knows."""
    for value in values:
        if isinstance(value, tuple(equations._EXPLAINED)) and id(value) not in seen:
            seen[id(value)] = value
        if isinstance(value, (tuple, list)) and len(value) < 50:
            records(value, seen)
        elif isinstance(value, dict) and len(value) < 50:
            records(value.values(), seen)
    return list(seen.values())


def found(name: str) -> list:
    return records([value for key, value in changed(name).items() if not key.startswith("__")], {})


def test_every_kind_of_record_stands_in_some_chapter():
    assert {type(record) for name in CHANGED for record in found(name)} == set(equations._EXPLAINED)


@pytest.mark.parametrize("name", CHANGED)
def test_every_entry_of_every_step_can_be_explained(name):
    for record in found(name):
        steps = next(steps for kind, steps in equations._EXPLAINED.items() if isinstance(record, kind))
        for step in steps:
            if step in ("queries", "keys", "values") and getattr(record, "maps", 0) is None:
                continue  # made from Q, K and V directly: there is no map to explain them by
            values = np.asarray(getattr(record, step))
            for entry in list(product(*map(range, values.shape[:2])))[:40]:
                np.testing.assert_allclose(explain(record, step, *entry).value, values[entry])
