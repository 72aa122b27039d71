"""TeX to MathML: every formula of the book can be set, drawn with the book's own font, and read back."""

import re

import pytest
from bs4 import BeautifulSoup
from conftest import ROOT, SITE
from fontTools.ttLib import TTFont
from mathematics import mathml

UNSEEN = "\u2061\u2062\u2063\u2064\ufe00\ufe01"  # invisible operators, and selectors of a form of the letter before


def parsed(tex, display=False):
    return BeautifulSoup(mathml(tex, display), "html.parser").math


@pytest.mark.parametrize("tex", [r"x < y \,\&\, \mathbf{W}_Q^\top", r"\widetilde{\mathbf h}_t", r"\text{a < b}"])
def test_the_tex_is_kept_for_copying(tex):
    assert parsed(tex).find("annotation").get_text() == tex


@pytest.mark.parametrize("environment", ["split", "align", "align*", "aligned"])
def test_lines_are_aligned_under_one_another(environment):
    made = parsed(rf"\begin{{{environment}}} a &= b \\[2pt] &= c \end{{{environment}}}", display=True)
    assert [len(row.find_all("mtd")) for row in made.find_all("mtr")] == [2, 2]
    assert "2" not in made.find("mtable").get_text(), "the space between lines is no part of the formula"
    assert not made.find("mtable").find(string=re.compile(r"\(1\)")), "Sphinx numbers equations, not the formula"


def test_lines_without_an_environment_stay_lines():
    assert len(parsed(r"a = b \\ c = d", display=True).find_all("mtr")) == 2
    assert len(parsed(r"\begin{bmatrix} a \\ b \end{bmatrix} = c", display=True).find_all("mtable")) == 1


def test_display_and_inline_differ():
    assert parsed("x", display=True)["display"] == "block" and not parsed("x").get("display")


def test_roots_over_one_line_are_told_from_tall_ones():
    assert parsed(r"\sqrt{d_k}").msqrt.get("class") == ["short"]
    assert not parsed(r"\sqrt{\frac{1}{2}}").msqrt.get("class")


def test_a_bar_stands_over_its_letters():
    assert len(parsed(r"\overline{xy} + \overline{z}").find_all("mo", string="\u203e", stretchy="true")) == 2


@pytest.mark.parametrize("tex", [r"\unknowncommand x", r"\frac{1}", r"\begin{aligned} a"])
def test_a_formula_that_cannot_be_set_is_quoted(tex):
    with pytest.raises(ValueError, match="wanted TeX that MathML can say, got") as error:
        mathml(tex)
    assert repr(tex) in str(error.value)


@pytest.mark.site
def test_the_font_has_every_character_of_every_formula():
    """The font is a part of STIX Two Math; a character outside it would come from any font the reader has."""
    has = TTFont(ROOT / "book" / "_static" / "fonts" / "stix-two-math-subset.woff2").getBestCmap()
    missing = {}
    for path in SITE.rglob("*.html"):
        for formula in BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").find_all("math"):
            formula.find("annotation").extract()
            for character in formula.get_text():
                if ord(character) not in has and not character.isspace() and character not in UNSEEN:
                    missing.setdefault(character, path.stem)
    assert not missing, missing
