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


@pytest.mark.parametrize("name, wrong, said", [
    ("order_and_context", {"reordered": "deep waters"}, "reordered: wanted the words of '.*', got 'deep waters'"),
    ("scalar_rnn", {"activation": "swish"}, "activation: wanted one of tanh, sigmoid, relu, identity, got 'swish'"),
    ("gated_memory", {"W_h": np.ones((3, 2))}, "W_h: wanted shape 2 x 2, got 3 x 2"),
    ("gated_memory", {"fixed_factors": []}, "fixed_factors: wanted at least one number, got none"),
    ("one_head", {"head_number": 0}, "head_number: wanted 1 to 2, got 0"),
    ("many_heads", {"standard": (12, 5)}, r"standard: wanted heads that divide the width, got \(12, 5\)"),
    ("encoder_block", {"depth": 0}, "wanted at least one block, got none"),
    ("tasks_and_evidence", {"continuation": "zebra"}, "continuation: wanted a word of the vocabulary .*, got 'zebra'"),
    ("tasks_and_evidence", {"image": np.ones((5, 5))}, "p: wanted a divisor of both sides"),
    ("fixed_context", {"bits": 0}, "sizes: wanted whole numbers from 1, got .*'bits': 0"),
    ("scaled_heads", {"N_head": 7}, "N_head: wanted a divisor of the width 512, got 7"),
    ("parameter_audit", {"D": 100}, "N_head: wanted a divisor of the width 100, got 8"),
    ("cue_recall_lab", {"probed": 9}, r"probed: wanted one of the delays \(8, 16, 32\), got 9"),
    ("forecasting_lab", {"horizon": 0}, "wanted seeds and a step to look ahead, got .* and 0"),
])
def test_a_cell_that_goes_wrong_by_an_edit_says_what_was_wanted_and_what_came(name, wrong, said):
    with pytest.raises((ValueError, AssertionError), match=said):
        namespace(f"chapters/{name}", **wrong)


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
