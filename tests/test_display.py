"""How numbers, tables and heatmaps are written, and what a reader's answer is told."""

import io
import math
import re

import matplotlib
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from matplotlib.figure import Figure

from helpers import PROVERB, check, draw_heatmap, heatmap, number, table
from helpers.numbers import is_exact, tex_number

finite = st.floats(allow_nan=False, allow_infinity=False)
usual = st.floats(1e-4, 9.99e5) | st.floats(-9.99e5, -1e-4)
quick = settings(deadline=None)


@pytest.mark.parametrize("x, text", [
    (0, "0"), (0.0, "0"), (-0.0, "0"), (1e-16, "0"), (7, "7"), (-3.0, "-3"), (120.0, "120"), (np.int64(12), "12"),
    (0.65, "0.65"), (0.65003, "0.650"), (0.1 + 0.2, "0.3"), (-0.5, "-0.5"), (2.5, "2.5"), (0.125, "0.125"),
    (1 / 3, "0.333"), (-2 / 3, "-0.667"), (0.99999, "1.00"), (9.996, "10.0"), (0.0570299, "0.0570"), (12.345, "12.3"),
    (0.0001, "0.0001"), (0.000123456, "0.000123"), (0.00009999, "0.000100"), (0.0000123, "1.23e-05"), (-4.5e-9, "-4.5e-09"),
    (999.7, "1,000"), (12345.6, "12,346"), (1234567.0, "1.23e+06"), (786432, "786,432"), (10**9, "1,000,000,000"),
    (math.inf, "∞"), (-math.inf, "-∞"), (math.nan, "NaN"), (True, "True"), (np.False_, "False"), ("word", "word"), (None, "None"),
    (np.float64(0.5), "0.5"),
])
def test_number(x, text):
    assert number(x) == text


def test_number_of_digits():
    assert [number(2 / 3, digits) for digits in (1, 2, 4)] == ["0.7", "0.67", "0.6667"]
    assert number(0.65, 2) == "0.65" and number(0.6501, 2) == "0.65"


@quick
@given(usual)
def test_a_number_reads_back_to_within_half_its_last_digit(x):
    text = number(x).replace(",", "")
    places = len(text.partition(".")[2])
    assert abs(float(text) - x) <= 0.5 * 10.0**-places * (1 + 1e-9)


@quick
@given(usual | st.floats(1e-15, 1e-4) | st.floats(1e6, 1e300) | st.integers(-99, 99).map(lambda n: n / 1e6))
def test_fewer_than_three_digits_mean_exact(x):
    """The rule that a reader relies on: 0.65 is 0.65, and only 0.650 may be something close to it."""
    text = number(x).replace(",", "")
    digits = len(text.partition("e")[0].replace(".", "").lstrip("-0"))
    if digits < 3:
        assert float(text) == pytest.approx(x, rel=1e-11, abs=1e-15), "fewer digits, so nothing was rounded"
    else:
        assert is_exact(x) or float(text) == pytest.approx(x, rel=5.1e-3), "at least three digits are right"


@quick
@given(finite)
def test_a_number_has_the_sign_of_its_value(x):
    text = number(x)
    assert text.startswith("-") == (x < 0 and text != "0")


@quick
@given(st.integers(-10**12, 10**12))
def test_whole_numbers_are_written_whole(n):
    assert int(number(n).replace(",", "")) == n


@pytest.mark.parametrize("x, text", [(1.23e-5, r"1.23\times10^{-5}"), (2.5e7, r"2.5\times10^{7}"), (12345, "12{,}345"),
                                     (0.65, "0.65"), (math.inf, r"\infty"), (-math.inf, r"-\infty"), (math.nan, r"\text{NaN}")])
def test_tex_number(x, text):
    assert tex_number(x) == text


@quick
@given(usual | st.floats(1e-300, 1e-4) | st.floats(1e6, 1e300))
def test_tex_number_is_the_same_number(x):
    tex = re.sub(r"\\times10\^\{(-?\d+)\}", r"e\1", tex_number(x)).replace("{,}", "")
    assert float(tex) == pytest.approx(float(number(x).replace(",", "")), rel=1e-12)


FIGURE, POINT = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"


@pytest.fixture
def mixed():
    return table({"Value": [1 / 3, -2, 0.0881], "Count": [1, 20, 3], "Says": ["a|b", "$x_1$", "*plain*"]}, "tab-mixed",
                 "One *caption* with $x$.", rows=["p", "q|r", "s"], corner="Row")


def test_table_rows_align_their_points(mixed):
    head, *body = mixed.rows()
    assert head == ["Row", "Value", "Count", "Says"]
    assert [row[1] for row in body] == [f"0.333{FIGURE}", f"-2{POINT}{FIGURE * 4}", "0.0881"]
    assert [row[2] for row in body] == ["1", "20", "3"], "no filling in a column of whole numbers"
    assert [row[3] for row in body] == ["a|b", "$x_1$", "*plain*"], "text is left alone"


@quick
@given(st.lists(finite, min_size=1, max_size=6))
def test_filled_numbers_end_at_one_place_and_are_unchanged(values):
    cells = [row[1] for row in table({"x": values}, "tab-x", "x").rows()[1:]]
    tails = {len(re.split(rf"[.{POINT}]", cell)[1]) if re.search(rf"[.{POINT}]", cell) else 0 for cell in cells}
    assert len(tails) == 1, "as many places to the right of the point in every row"
    assert [cell.rstrip(FIGURE + POINT) for cell in cells] == [number(x) for x in values]


def test_table_html(mixed):
    page = BeautifulSoup(mixed._repr_html_(), "html.parser").find("table", id="tab-mixed")
    assert page.caption.decode_contents() == "One <em>caption</em> with $x$."
    cells = [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in page.find_all("tr")]
    assert cells[0] == ["Row", "Value", "Count", "Says"]
    assert [row[3] for row in cells[1:]] == ["a|b", "$x_1$", "plain"]
    assert cells[2][0] == "q|r", "a bar in a label does not make a new cell"


def test_table_markdown(mixed):
    fence, name, kind, blank, *lines, end = mixed._markdown().split("\n")
    assert fence == "~~~{table} One *caption* with $x$." and end == "~~~"
    assert (name, kind, blank) == (":name: tab-mixed", ":class: computed", "")
    assert lines[1] == "| :-- | --: | --: | :-- |", "labels and text to the left, numbers to the right"
    assert r"a\|b" in lines[2] and "&#8199;" in lines[2]


def test_both_faces_say_the_same(mixed):
    bundle = mixed._repr_mimebundle_()
    rows = bundle["text/markdown"].split("\n\n")[1].removesuffix("\n~~~")
    markdown = BeautifulSoup(MarkdownIt().enable("table").render(rows), "html.parser")
    page = BeautifulSoup(bundle["text/html"], "html.parser")
    texts = [[cell.get_text() for cell in face.find_all(["th", "td"])] for face in (markdown, page)]
    assert texts[0] == texts[1]
    assert "0.333" in bundle["text/plain"] and mixed.caption in bundle["text/plain"]


def test_a_caption_may_contain_code():
    """A fence of backticks would end at the first backtick of its caption."""
    shown = table([[1]], "tab-code", "The output of `nn.Linear(3, 2)`.")
    fence = next(token for token in MarkdownIt().parse(shown._markdown()) if token.type == "fence")
    assert fence.info == "{table} The output of `nn.Linear(3, 2)`."


def test_table_from_a_matrix_counts_its_columns():
    shown = table(np.arange(6).reshape(2, 3), "tab-m", "m", columns="Feature", rows=["a", "b"])
    assert list(shown.frame.columns) == ["Feature 0", "Feature 1", "Feature 2"]
    assert shown.frame.loc["b", "Feature 2"] == 5


def test_table_leaves_the_given_frame_alone():
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    table(frame, "tab-f", "f", rows=["a", "b"], columns=["y"])
    assert list(frame.columns) == ["x"] and list(frame.index) == [0, 1]


@pytest.mark.parametrize("labels, message", [
    ({"rows": ["a"]}, "rows: wanted 2 labels for the rows of tab-m, got 1"),
    ({"columns": ["a", "b"]}, "columns: wanted 3 labels for the columns of tab-m, got 2"),
])
def test_table_labels_must_fit(labels, message):
    with pytest.raises(ValueError, match=message):
        table(np.zeros((2, 3)), "tab-m", "m", **labels)


A = np.array([[0.25, 0.75, 0.0], [0.1, 0.2, 0.7]])


def test_heatmap_is_the_same_twice():
    one, other = (heatmap(A, ["a", "b"], list("xyz"), bar="value") for _ in range(2))
    bundles = [drawing._repr_mimebundle_() for drawing in (one, other, one)]
    assert bundles[0] == bundles[1], "the same drawing, made again"
    assert bundles[0] == bundles[2], "saving does not change the drawing"
    assert bundles[0]["application/pdf"].startswith(b"%PDF") and "<svg" in bundles[0]["image/svg+xml"]


def test_heatmap_changes_no_setting_of_matplotlib():
    before = dict(matplotlib.rcParams)
    heatmap(A, ["a", "b"], list("xyz"))._save("svg", "Date")
    assert dict(matplotlib.rcParams) == before


def test_heatmap_says_its_numbers_in_text():
    assert heatmap(A, ["a", "b"], list("xyz")).numbers == "a: 0.25 0.75 0\nb: 0.1 0.2 0.7"


@pytest.mark.parametrize("values, given, message", [
    (A, {"limit": 0.5}, "limit: wanted a range that holds every value, got 0.5 for 0 to 0.75"),
    (-A, {"limit": 0.5}, "limit: wanted a range that holds every value, got 0.5 for -0.75 to -?0"),
    (-A, {"scale": "weights"}, "limit: wanted a range that holds every value, got 1.0 for -0.75 to -?0"),
    (A, {"scale": "log"}, 'scale: wanted "signed" or "weights", got \'log\''),
    (A[:1], {}, r"rows, columns: wanted \(1, 3\) labels, got \(2, 3\)"),
    (A[:, :2], {}, r"rows, columns: wanted \(2, 2\) labels, got \(2, 3\)"),
    (A * np.nan, {}, "values: wanted finite numbers, got nan"),
])
def test_heatmap_refuses(values, given, message):
    with pytest.raises(ValueError, match=message):
        heatmap(values, ["a", "b"], list("xyz"), **given)


def test_masked_entries_are_crossed_out_and_have_no_number():
    axes = Figure().add_subplot()
    allow = np.array([[True, False, True], [True, True, True]])
    draw_heatmap(axes, A, ["a", "b"], list("xyz"), "weights", allow=allow)
    crosses = [line.get_xydata() for line in axes.lines]
    assert len(crosses) == 2, "two strokes for the one masked entry"
    assert all(1 < x < 2 and 0 < y < 1 for stroke in crosses for x, y in stroke), "both inside its square"
    assert [text.get_text() for text in axes.texts] == ["0.25", "0", "0.1", "0.2", "0.7"]


def test_signed_colours_are_centred_at_zero_and_squares_are_squares():
    axes = Figure().add_subplot()
    image = draw_heatmap(axes, A - 0.5, ["a", "b"], list("xyz"), "signed", limit=2)
    assert image.get_clim() == (-2, 2) and axes.get_aspect() == 1
    assert axes.get_ylim() == (2, 0), "the first row is on top"
    assert draw_heatmap(Figure().add_subplot(), A, ["a", "b"], list("xyz"), "weights").get_clim() == (0, 1)


def test_numbers_can_be_read_on_their_colour():
    axes = Figure().add_subplot()
    draw_heatmap(axes, np.array([[0.02, 0.98]]), ["a"], ["x", "y"], "weights")
    assert [text.get_color() for text in axes.texts] == ["black", "white"]


def test_drawing_has_no_background():
    drawing = heatmap(A, ["a", "b"], list("xyz"))
    png = io.BytesIO()
    drawing.figure.savefig(png, format="png", transparent=True)
    assert matplotlib.image.imread(io.BytesIO(png.getvalue()), format="png")[0, 0, 3] == 0


CORRECT = {"number": 0.7357, "row": [0.1234, -2.468, 3.579], "matrix": [[1.357, 0.2468], [-0.9753, 0.8642]]}


@pytest.mark.parametrize("correct", CORRECT.values(), ids=CORRECT)
def test_right_to_three_digits(correct):
    assert check(correct, correct) == "Right."
    rounded = np.vectorize(lambda x: float(f"{x:.2e}"))(np.asarray(correct))
    assert check(rounded.tolist(), correct) == "Right.", "rounded to three digits is right"
    coarse = np.vectorize(lambda x: float(f"{x:.0e}"))(np.asarray(correct))
    assert check(coarse.tolist(), correct) != "Right.", "one digit is not enough"


@pytest.mark.parametrize("answer, verdict", [
    (None, "Type your answer"), (-0.7357, "the sign is not"), (0.9, "too large"), (0.5, "too small"),
    ([0.1, 0.2], "wanted shape a single number, got 2"), (math.nan, "wanted finite numbers"),
])
def test_verdict(answer, verdict):
    said = check(answer, 0.7357)
    assert verdict in said and said != "Right."


def test_verdict_says_which_entry_to_look_at():
    assert check([0.1234, 9, 3.579], CORRECT["row"]) == "Not yet: 2 of 3 entries are right; look at [1]."


@quick
@given(st.lists(st.floats(0.01, 99) | st.floats(-99, -0.01), min_size=1, max_size=4), st.data())
def test_a_verdict_never_contains_the_answer(correct, data):
    """Whatever is answered, no number of the right answer is in what the reader is told."""
    correct = [round(x, 3) + 0.0004321 for x in correct]  # long numbers, so none is a count or an index by chance
    guess = data.draw(st.none() | st.floats() | st.lists(st.floats(), max_size=5)
                      | st.just(correct) | st.just([-x for x in correct]) | st.just([1.5 * x for x in correct]))
    said = check(guess, correct)
    assert said
    if guess == correct:
        assert said == "Right."
        return
    for shown in map(float, re.findall(r"-?\d+\.?\d*", said)):
        for x in correct:
            assert not math.isclose(abs(shown), abs(x), rel_tol=5e-3) or shown == int(shown), said


def test_labels_of_the_example_fit_its_tables():
    shown = table(PROVERB.inputs, "tab-h", "h", rows=PROVERB.labels, columns="Feature")
    assert list(shown.frame.index)[-1] == "6: begins"
