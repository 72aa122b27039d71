"""The check that no stale decimal stands in prose."""

from types import SimpleNamespace

import pytest
from conftest import ROOT
from numbers_in_prose import stale, typed
from pages import Page

CHAPTER = """---
jupytext: {{text_representation: {{extension: .md, format_name: myst}}}}
kernelspec: {{name: python3, display_name: Python 3, language: python}}
---
# A page

The weight is {prose}, see section 3.5 and https://example.org/1.25/x.

```{{code-cell}} ipython3
---
mystnb:
  image:
    alt: "A bar of height {alt}."
---
x = 0.999
```
"""


def page(tmp_path, prose="0.185", alt="0.4", outputs=("0.18532", "0.4")):
    (tmp_path / "page.md").write_text(CHAPTER.format(prose=prose, alt=alt), encoding="utf-8")
    made = Page(tmp_path, "page")
    cell = SimpleNamespace(get=lambda key, default=None: [{"data": {"text/plain": f"array({text})"}} for text in outputs])
    made.executed = lambda: SimpleNamespace(cells=[cell])
    return made


def test_decimals_of_prose_and_alt_text_are_read_and_code_and_sources_are_not(tmp_path):
    assert list(typed(page(tmp_path))) == [(7, "0.185"), (13, "0.4")]


def test_a_number_may_be_a_rounding_of_an_output(tmp_path):
    assert stale(page(tmp_path), {}) == []


@pytest.mark.parametrize("change, line", [({"prose": "0.186"}, 7), ({"alt": "0.5"}, 13), ({"prose": "0.1853299"}, 7)])
def test_a_wrong_digit_is_named_with_file_and_line(tmp_path, change, line):
    (message,) = stale(page(tmp_path, **change), {})
    assert message.startswith(f"page.md:{line}: stale number: {next(iter(change.values()))}")


def test_fewer_digits_in_the_output_do_not_vouch_for_more_in_prose(tmp_path):
    assert len(stale(page(tmp_path, prose="0.1850", outputs=("0.19", "0.4")), {})) == 1


def test_a_listed_constant_may_stand_without_an_output(tmp_path):
    assert stale(page(tmp_path, prose="0.003"), {"page": {"0.003": "the learning rate"}}) == []


def test_every_listed_constant_is_still_quoted():
    from numbers_in_prose import given
    for name, constants in given(ROOT).items():
        quoted = {text for _, text in typed(Page(ROOT, name))}
        assert not set(constants) - quoted, f"{name}: no longer quoted: {sorted(set(constants) - quoted)}"
