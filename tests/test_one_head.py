"""Chapter one_head: its functions, its drawing, and the whole chapter on other inputs."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from chapters import namespace
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from figures.head_route import head_route
from helpers import HeadMaps, PROVERB, attend, causal_mask, one_head, softmax

PAGE = "chapters/one_head"
few = settings(max_examples=25, deadline=None)


@cache
def chapter():
    return namespace(PAGE)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


# The chapter's own steps, against PyTorch and against the helper

def test_steps_of_the_chapter_equal_pytorch():
    names = chapter()
    Q, K, V = (torch.tensor(names[letter]) for letter in "QKV")
    sdpa = torch.nn.functional.scaled_dot_product_attention
    np.testing.assert_allclose(names["O"], sdpa(Q, K, V).numpy(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(names["O_causal"], sdpa(Q, K, V, is_causal=True).numpy(), rtol=0, atol=1e-12)


def test_the_followed_row_is_the_last_row_of_the_matrices():
    names = chapter()
    for row, matrix in (("scores", "S"), ("weights", "A"), ("output", "O")):
        np.testing.assert_allclose(names[row], names[matrix][-1], rtol=0, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 5]), st.sampled_from([1, 2, 7]), st.sampled_from([1.0, 1e4]))
@few
def test_softmax_rows_equals_the_helper_and_pytorch(seed, T_q, T_k, size):
    S = size * normal(seed, T_q, T_k)
    weights = chapter()["softmax_rows"](S)
    np.testing.assert_allclose(weights, softmax(S), rtol=0, atol=1e-14)
    np.testing.assert_allclose(weights, torch.softmax(torch.tensor(S), dim=1).numpy(), rtol=0, atol=1e-12)


def test_softmax_rows_hides_minus_infinity():
    hidden = chapter()["softmax_rows"](np.array([[0, -np.inf, 1]]))
    np.testing.assert_allclose(hidden, [[1 / (1 + np.e), 0, np.e / (1 + np.e)]], rtol=1e-15)
    assert hidden[0, 1] == 0


# The measurements

def test_spread_of_scores_grows_like_the_root_of_the_width():
    measure = chapter()["measure"]
    for width in (2, 16):
        assert measure(width, 1)[0] == pytest.approx(width**0.5, rel=0.05)
        assert measure(width, width**0.5)[0] == pytest.approx(1, rel=0.05)
    assert measure(64, 8, sources=1)[1] == 1, "a single source takes everything"
    assert measure(64, 1e9, sources=5)[1] == pytest.approx(1 / 5), "equal scores, equal shares"


def test_random_rows_read_themselves_about_as_often_as_chance_says():
    reads_itself = chapter()["reads_itself"]
    assert reads_itself(1, draws=3) == 1
    assert reads_itself(5) == pytest.approx(1 / 5, abs=0.03)


def test_influence_finds_a_leak_of_one_entry():
    """A mask that lets a single future source through is found at exactly that place."""
    influence, X, W = chapter()["influence"], PROVERB.inputs, PROVERB.heads[0]
    allow = causal_mask(len(X))
    allow[2, 5] = True
    moved = influence(lambda X: one_head(X, W, allow).output, X)
    assert ((moved > 0) == allow).all()


def test_influence_has_outputs_down_and_inputs_across():
    moved = chapter()["influence"](lambda X: X[:1] * 2, np.zeros((3, 2)))
    assert moved.shape == (1, 3) and moved[0, 0] > 0 and not moved[0, 1:].any()


def test_off_measures_the_distance_from_the_reordered_output():
    names = chapter()
    X, order = names["X"], names["order"]
    assert names["off"](X, X[order]) < 1e-12
    assert names["off"](X, X) == pytest.approx(np.abs(names["O"] - names["O"][order]).max())


def test_difference_sees_a_changed_output():
    names = chapter()
    assert names["difference"](names["head"]) < 1e-12
    assert names["difference"](names["head"]._replace(output=names["O"] + 1e-3)) == pytest.approx(1e-3)


def test_who_names_the_sources_that_are_read():
    who = chapter()["who"]
    assert who(np.array([0, 0.4, 0.6])) == "1 to 2" and who(np.array([1.0, 0])) == "0"
    assert who(np.full(3, np.nan)) == "none: NaN"


def test_colour_limit_widens_only_when_it_must():
    limit_for = chapter()["limit_for"]
    assert limit_for(np.array([-0.6, 0.1]), 0.6) == 0.6
    assert limit_for(np.array([-2.3, 0.1]), 0.6) == 3


def test_cosine_ignores_length():
    cosine = chapter()["cosine"]
    assert cosine(np.array([3.0, 0]), np.array([5.0, 5])) == pytest.approx(0.5**0.5)


# What the page says

def test_mask_recipes_on_the_page():
    names = chapter()
    kept = names["A"][1, :2].sum()
    np.testing.assert_allclose(names["zeroed_after"].sum(), kept)
    np.testing.assert_allclose(names["zeroed_after"] @ names["V"], kept * names["O_causal"][1])
    assert np.abs(names["zeroed_after"] @ names["V"] - names["O_causal"][1]).max() > 0.4, "the values show the difference"
    assert names["zero_score"][2:].min() > 0.05


def test_conventions_for_an_empty_row():
    conventions = chapter()["conventions"]
    output = {name: row for name, (_, row) in conventions.items()}
    X = PROVERB.inputs
    np.testing.assert_allclose(output[r"scores replaced by $-10^9$"], X.mean(axis=0))
    np.testing.assert_allclose(output[r"$-10^9$ added to scores"], attend(X, X, X).output[-1], atol=1e-5)
    assert np.isnan(output[r"scores $-\infty$"]).all() and np.isnan(output["MHA"]).all()
    assert not output["SDPA"].any() and not output["MHA, `need_weights=False`"].any()


def test_exercise_by_hand_is_one_and_six():
    np.testing.assert_allclose(chapter()["by_hand"].output, [[1, 6]], rtol=1e-14)


def test_labels_of_the_course_are_on_the_page():
    labels = json.loads((ROOT / "tests" / "data" / "labels.json").read_text(encoding="utf-8"))
    wanted = [item["label"] for kind in ("tables", "figures") for item in labels[kind].values() if item["page"] == PAGE]
    text = (ROOT / f"{PAGE}.md").read_text(encoding="utf-8")
    assert len(wanted) == 12
    for label in wanted:
        assert f'"{label}"' in text or f"name: {label}\n" in text, f"{label} is not on the page"
        assert f"{{numref}}`{label}`" in text, f"{label} is not mentioned by its number"


# Other inputs

def wide_head(D=5, d_k=2, d_v=7):
    return HeadMaps(normal(0, d_k, D), normal(1, d_k, D), normal(2, d_v, D))


inputs = {
    "three words": {"example": PROVERB.with_tokens("begins a journey")},
    "one word": {"example": PROVERB.with_tokens("miles")},
    "one word, twice": {"example": PROVERB.with_tokens("a a"), "causal_row": 0},
    "nine words": {"example": PROVERB.with_tokens("a journey of a thousand miles begins with a")},
    "the other head": {"head_number": 2, "causal_row": 4},
    "unequal widths": {"example": replace(PROVERB, heads=(wide_head(),))},
    "a wider model": {"example": replace(PROVERB, embedding=normal(0, 9, 11), heads=(wide_head(11, 3, 2),)), "causal_row": 5},
}


@pytest.mark.parametrize("name", inputs)
def test_chapter_runs_on(name):
    names = namespace(PAGE, **inputs[name])
    T = len(names["example"].tokens)
    np.testing.assert_allclose(names["A"].sum(axis=1), 1, rtol=0, atol=1e-12)
    assert names["O"].shape == (T, names["d_v"]) and names["S"].shape == (T, T)


# The drawing

def test_drawing_says_every_shape():
    said = head_route(7, 5, 3, 2).numbers
    for shape in ("H0 7×5", "Q 7×3", "K 7×3", "V 7×2", "S 7×7", "A 7×7", "O 7×2", "5×3, 5×3, 5×2", "sqrt(3)"):
        assert shape in said


@pytest.mark.parametrize("sizes", [(7, 5, 3, 3), (1, 1, 1, 1), (3, 11, 2, 7), (13, 5, 7, 2)])
def test_matrices_are_to_scale_and_stay_apart(sizes):
    """Every matrix is drawn with its own rows and columns as units, and no two overlap."""
    T, D, d_k, d_v = sizes
    axes = head_route(*sizes).figure.axes[0]
    boxes = [patch.get_bbox() for patch in axes.patches if patch.get_fill()]
    drawn = sorted((round(box.height), round(box.width)) for box in boxes)
    wanted = 3 * [(T, D)] + 2 * [(D, d_k), (T, T)] + [(D, d_v)] + 3 * [(T, d_k)] + 3 * [(T, d_v)] + [(d_k, T)]
    assert drawn == sorted(wanted)
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart = a.x1 <= b.x0 or b.x1 <= a.x0 or max(a.y0, a.y1) <= min(b.y0, b.y1) or max(b.y0, b.y1) <= min(a.y0, a.y1)
            assert apart, f"{a} and {b} overlap"


@pytest.mark.parametrize("sizes, message", [((0, 5, 3, 3), "T: wanted a whole number of at least 1, got 0"),
                                            ((7, 5.0, 3, 3), "D: wanted a whole number of at least 1, got 5.0"),
                                            ((7, 5, 3, -1), "d_v: wanted a whole number of at least 1, got -1")])
def test_drawing_refuses_other_sizes(sizes, message):
    with pytest.raises(ValueError, match=message):
        head_route(*sizes)
