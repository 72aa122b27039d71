"""TeX to MathML: every formula of the book can be set, drawn with the book's own font, and read back."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from conftest import ROOT, SITE
from fontTools.pens.boundsPen import BoundsPen
from fontTools.ttLib import TTFont
from math_font import FONT, make
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


def test_a_bar_stands_over_its_letters():
    assert len(parsed(r"\overline{xy} + \overline{z}").find_all("mo", string="\u203e", stretchy="true")) == 2


def test_a_box_is_drawn_by_the_style_sheet():
    made = parsed(r"\boxed{a = b}")
    assert made.find("mrow", class_="boxed").get_text() == "a=b" and not made.find("menclose")


def test_a_sign_that_goes_on_a_line_is_no_sign_of_a_number():
    later = parsed(r"\begin{aligned} a &= b \\ &- c \\ &= -d \end{aligned}").find_all("mo", string="\u2212")
    assert [sign.get("form") for sign in later] == ["infix", None]
    assert not parsed(r"\begin{bmatrix} 1 & -2 \end{bmatrix}").find("mo", string="\u2212").get("form")


@pytest.mark.parametrize("tex, said", [(r"(0,\ -1)", {"lspace": "0", "rspace": "0"}),
                                       ("a + b", {}), ("= -1", {"lspace": "0", "rspace": "0"})])
def test_signs_are_spaced_as_tex_spaces_them(tex, said):
    assert parsed(tex).find("mo", string=re.compile("[+\u2212]")).attrs == said


def test_an_empty_group_is_an_atom_beside_a_sign():
    made = parsed(r"\begin{aligned} a &= b \\ {}+{} & c \end{aligned}").find("mo", string="+")
    assert [side.name for side in (made.previous_sibling, made.next_sibling)] == ["mi", "mi"]


@pytest.mark.parametrize("tex", [r"\widetilde{\mathbf h}'", r"\hat h_t^2"])
def test_an_accent_raises_no_exponent(tex):
    assert parsed(tex).find("mpadded", height="0.7em").find("mover") and not parsed(r"\hat h_t").find("mpadded")


def test_lines_are_told_from_a_matrix():
    made = parsed(r"\begin{aligned} a &= \begin{bmatrix} 1 & 2 \end{bmatrix} \end{aligned}")
    assert [table.get("class") for table in made.find_all("mtable")] == [["lines"], None]


def test_lines_with_fractions_are_told_from_lines_of_letters():
    made = parsed(r"\begin{aligned} a &= b \\ &= \frac{b}{c} \\ &= \sum_{t=0}^2 b_t \\ &= b_t^2 \end{aligned}", display=True)
    assert [row.get("class") for row in made.find_all("mtr")] == [None, ["tall"], ["tall"], None]


@pytest.mark.parametrize("index", ["^2", "_j", "_j^2"])
def test_a_large_bracket_with_an_index_stays_large(index):
    """Chromium lets an operator grow only inside a row."""
    closing = parsed(rf"\bigl(x\bigr){index}").find("mo", string=")")
    assert closing.get("minsize") and closing.parent.name == "mrow" and len(list(closing.parent.children)) == 1


@pytest.mark.parametrize("tex", [r"\unknowncommand x", r"\frac{1}", r"\begin{aligned} a"])
def test_a_formula_that_cannot_be_set_is_quoted(tex):
    with pytest.raises(ValueError, match="wanted TeX that MathML can say, got") as error:
        mathml(tex)
    assert repr(tex) in str(error.value)


@pytest.mark.site
def test_the_font_has_every_character_of_every_formula():
    """The font is a part of STIX Two Math; a character outside it would come from any font the reader has."""
    has = TTFont(FONT).getBestCmap()
    missing = {}
    for path in SITE.rglob("*.html"):
        for formula in BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").find_all("math"):
            formula.find("annotation").extract()
            for character in formula.get_text():
                if ord(character) not in has and not character.isspace() and character not in UNSEEN:
                    missing.setdefault(character, path.stem)
    assert not missing, missing


def test_indices_of_all_letters_share_a_line():
    """Browsers shift an index by its letter's own depth where that is more than the shift that all letters have."""
    font = TTFont(FONT)
    constants, glyphs, names = font["MATH"].table.MathConstants, font.getGlyphSet(), font.getBestCmap()
    letters = [chr(code) for start in (0x41, 0x61, 0x1D400, 0x1D41A, 0x1D434, 0x1D44E) for code in range(start, start + 26)
               if code != 0x1D455] + list("\u03b1\u03b2\u03b3\u03b7\u03bc\u03c6\U0001D6FD\U0001D6FE\U0001D702\U0001D707\U0001D719")
    for letter in letters:
        pen = BoundsPen(glyphs)
        glyphs[names[ord(letter)]].draw(pen)
        _, bottom, _, top = pen.bounds
        assert -bottom + constants.SubscriptBaselineDropMin.Value <= constants.SubscriptShiftDown.Value + 5, letter
        assert top - constants.SuperscriptBaselineDropMax.Value <= constants.SuperscriptShiftUp.Value + 5, letter


def test_root_signs_are_equally_wide():
    """Chromium keeps room for the widest of them, whichever it draws."""
    font = TTFont(FONT)
    variants = font["MATH"].table.MathVariants
    signs = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(font.getBestCmap()[0x221A])]
    names = [sign.VariantGlyph for sign in signs.MathGlyphVariantRecord] + [part.glyph for part in signs.GlyphAssembly.PartRecords]
    assert len({font["hmtx"][name][0] for name in names}) == 1 and len(names) > 3


def test_primes_have_the_form_of_exponents():
    names = TTFont(FONT).getBestCmap()
    assert {names[code] for code in (0x2032, 0x2033)} == {"minute.ssty", "second.ssty"}


@pytest.mark.skipif(not shutil.which("kpsewhich"), reason="no TeX to take STIX Two Math from")
def test_the_font_can_be_made_anew(tmp_path):
    source = subprocess.run(["kpsewhich", "STIXTwoMath-Regular.otf"], capture_output=True, text=True).stdout.strip()
    if not source or "2.12" not in str(TTFont(source)["name"].getDebugName(5)):
        pytest.skip("TeX has another STIX Two Math")
    make(Path(source), tmp_path / "made.woff2")
    made, kept = (TTFont(path) for path in (tmp_path / "made.woff2", FONT))
    assert made.getGlyphOrder() == kept.getGlyphOrder() and made.getBestCmap() == kept.getBestCmap()
    assert made["MATH"].compile(made) == kept["MATH"].compile(kept)
