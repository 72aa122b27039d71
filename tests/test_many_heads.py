"""The chapter on several heads: its own functions, other inputs, and its drawing."""

import dataclasses
import re

import numpy as np
import pytest
import torch
from chapters import namespace
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from torch import nn

from figures.kit import ROLES
from figures.two_heads import two_heads
from helpers import PROVERB, HeadMaps, causal_mask, multi_head

PAGE = "chapters/many_heads"
quick = settings(deadline=None, max_examples=40)
sizes = st.integers(1, 7)


@pytest.fixture(scope="module")
def chapter():
    return namespace(PAGE)


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def random_heads(D, *widths):
    """One head for each pair of widths (d_k, d_v)."""
    return tuple(HeadMaps(draw(d_k, D, seed=i), draw(d_k, D, seed=i + 50), draw(d_v, D, seed=i + 90))
                 for i, (d_k, d_v) in enumerate(widths))


def with_heads(*widths):
    return dataclasses.replace(PROVERB, heads=random_heads(5, *widths), W_O=draw(5, sum(d_v for _, d_v in widths)))


@pytest.mark.parametrize("inputs", [
    {"example": PROVERB.with_tokens("begins a journey"), "focus": 1, "standard": (6, 3)},
    {"example": PROVERB.with_tokens("step"), "standard": (5, 1)},
    {"example": with_heads((2, 4), (3, 1), (2, 4)), "standard": (7, 7)},
    {"example": with_heads((3, 3)), "focus": 0},
    {"example": with_heads(*[(2, 2)] * 3)},
    {"example": with_heads((1, 1), (1, 1))},
], ids=["three words", "one word", "unequal heads", "one head", "three heads of two", "joined width below D"])
def test_runs_with_other_inputs(inputs):
    """All assertions of the chapter are properties, so they hold for other sentences, heads and widths."""
    namespace(PAGE, **inputs)


@quick
@given(sizes, sizes, sizes)
def test_split_sorts_columns_and_join_undoes_it(chapter, T, n, d):
    rows = np.arange(T * n * d).reshape(T, n * d)
    parts = chapter["split_heads"](rows, n)
    assert parts.shape == (n, T, d)
    for i in range(n):
        assert np.array_equal(parts[i], rows[:, i * d:(i + 1) * d]), "a head is a block of columns, all positions"
    assert np.array_equal(chapter["join_heads"](parts), rows)
    assert np.array_equal(chapter["join_heads"](parts), np.concatenate(list(parts), axis=1))


def test_split_wants_a_divisor(chapter):
    with pytest.raises(ValueError, match="n_heads: wanted a divisor of 5, got 2"):
        chapter["split_heads"](np.zeros((7, 5)), 2)


def test_torch_and_numpy_split_alike(chapter):
    rows = torch.arange(42).view(3, 14)
    expected = rows.view(3, 7, 2).transpose(0, 1).numpy()
    assert np.array_equal(chapter["split_heads"](rows.numpy(), 7), expected)


@pytest.mark.parametrize("T, D, n", [(7, 8, 4), (5, 6, 3), (3, 10, 5), (2, 7, 1), (1, 4, 2), (11, 13, 13)])
def test_heads_equal_the_module(chapter, T, D, n):
    """Result and every head's weights, all sources and causal, in float64 with the module's own weights."""
    torch.manual_seed(T)
    module = nn.MultiheadAttention(D, n, bias=False, batch_first=True, dtype=torch.float64)
    rows, maps = 3 * draw(T, D), chapter["heads_of"](module)
    assert [W.shape for head in maps for W in head] == [(D // n, D)] * 3 * n
    for allow in (None, causal_mask(T), np.tri(T, dtype=bool)[::-1, ::-1]):
        assert max(chapter["difference"](module, rows, maps, allow)) < 1e-12


def test_the_comparison_notices_heads_in_another_order(chapter):
    module = chapter["module"]
    rows = draw(5, module.embed_dim)
    maps = chapter["heads_of"](module)
    assert max(chapter["difference"](module, rows, maps)) < 1e-12
    assert min(chapter["difference"](module, rows, maps[::-1])) > 1e-3


def test_the_module_is_asked_to_hide_what_allow_leaves_out(chapter):
    module = chapter["module"]
    result, weights = chapter["ask"](module, draw(5, module.embed_dim), causal_mask(5))
    assert not np.triu(weights, 1).any() and np.allclose(weights.sum(axis=2), 1)
    assert result.shape == (5, module.embed_dim)


def test_heads_of_refuses_biases(chapter):
    with pytest.raises(ValueError, match="module: wanted bias=False, got one with biases"):
        chapter["heads_of"](nn.MultiheadAttention(4, 2))


@pytest.mark.parametrize("D, n", [(12, 1), (12, 2), (12, 3), (12, 12), (35, 7)])
def test_the_count_is_the_modules(chapter, D, n):
    module = nn.MultiheadAttention(D, n, bias=False)
    assert chapter["map_weights"](n, D // n, D) == module.in_proj_weight.numel() == 3 * D**2


def test_the_module_refuses_the_widths_of_the_example():
    with pytest.raises(AssertionError, match="embed_dim must be divisible by num_heads"):
        nn.MultiheadAttention(5, 2)


@quick
@given(st.integers(0, 4), st.integers(0, 6))
def test_movement_is_zero_for_a_feature_that_no_map_reads(chapter, feature, position):
    X = PROVERB.inputs.copy()
    maps = HeadMaps(*(np.where(np.arange(5) == feature, 0, W) for W in random_heads(5, (2, 3))[0]))
    for c in range(5):
        moved = chapter["movement"](X, maps, position, c)
        assert (moved == 0) == (c == feature)
    assert np.array_equal(X, PROVERB.inputs), "the rows given are not changed"


def test_every_feature_reaches_both_heads_of_the_example(chapter):
    assert chapter["moves"].shape == (5, 2) and (chapter["moves"] > 0.01).all()


def test_a_constant_on_a_feature_that_only_keys_read_is_invisible(chapter):
    X, maps = PROVERB.inputs, PROVERB.heads[1]
    assert chapter["movement"](X, maps, slice(None), 2) < 1e-12
    assert chapter["movement"](X, maps, 0, 2) > 0.01, "on a single row it is not"


def test_a_wrong_split_reads_the_future(chapter):
    right, wrong = chapter["right"], chapter["wrong"]
    assert np.array_equal(right, causal_mask(4))
    assert wrong[0, 2] and not right[0, 2]
    assert wrong.tolist() == [[1, 0, 1, 0], [1, 0, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]]


def test_the_divisor_of_the_model_width_flattens(chapter):
    """Eight heads of 64: the spread is 1 / sqrt(8) of what the head's own width gives."""
    own, whole = chapter["spreads"][chapter["counts"].index(8)]
    assert whole == pytest.approx(own / np.sqrt(8)) and whole == pytest.approx(0.354, abs=0.01)
    assert chapter["spread"](64, 1) == pytest.approx(8, rel=0.02), "undivided: the root of the head's width"


def test_each_head_writes_its_share(chapter):
    shares, multi = chapter["shares"], chapter["multi"]
    assert np.allclose(sum(shares), multi.projection, rtol=0, atol=1e-14)
    only = [multi_head(PROVERB.inputs, PROVERB.heads[i:i + 1], PROVERB.W_O[:, 3 * i:3 * i + 3]).projection for i in range(2)]
    assert np.allclose(shares, only, rtol=0, atol=1e-14), "a share is what the head would write alone"


@quick
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_several_heads_are_permutation_equivariant(T_q, T_k, n, d_k, d_v, D):
    """Reordering queries reorders rows; reordering sources changes nothing; widths are all unequal."""
    heads = tuple(HeadMaps(*maps) for maps in zip(draw(n, d_k, D), draw(n, d_k, D + 2, seed=1), draw(n, d_v, D + 2, seed=2)))
    X, source, W_O = draw(T_q, D, seed=3), draw(T_k, D + 2, seed=4), draw(D, n * d_v, seed=5)
    multi = multi_head(X, heads, W_O, source=source)
    assert multi.projection.shape == (T_q, D) and multi.concatenation.shape == (T_q, n * d_v)
    again = multi_head(X[::-1], heads, W_O, source=source[::-1])
    assert np.allclose(again.projection, multi.projection[::-1])


@pytest.mark.parametrize("heads, W_O, message", [
    ((), PROVERB.W_O, "heads: wanted at least one head, got none"),
    (PROVERB.heads, PROVERB.W_O[:, :5], "W_O: wanted shape any x 6, got 5 x 5"),
    (PROVERB.heads[:1], PROVERB.W_O, "W_O: wanted shape any x 3, got 5 x 6"),
    (random_heads(4, (3, 3)), PROVERB.W_O, "W_Q: wanted shape any x 5, got 3 x 4"),
])
def test_heads_that_do_not_fit(heads, W_O, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        multi_head(PROVERB.inputs, heads, W_O)


def boxes(drawing, role):
    """Columns and rows of the matrices in a role's fill colour."""
    return [(patch.get_width(), patch.get_height()) for patch in drawing.figure.axes[0].patches
            if isinstance(patch, Rectangle) and patch.get_fill() and to_hex(patch.get_facecolor()) == ROLES[role][1]]


@pytest.mark.parametrize("T, D, widths", [(7, 5, [(3, 3), (3, 3)]), (4, 7, [(2, 3), (2, 2), (3, 1)]), (1, 2, [(1, 2)])])
def test_the_drawing_is_to_scale(T, D, widths):
    multi = multi_head(draw(T, D), random_heads(D, *widths), draw(D, sum(d_v for _, d_v in widths)))
    drawing = two_heads(multi, focus=0, label="a")
    outputs = [(d_v, T) for _, d_v in widths]
    assert boxes(drawing, "values") == outputs + outputs, "each head's output, and again where they are joined"
    assert boxes(drawing, "rows") == [(D, T), (D, T)], "input and branch have one size"
    assert boxes(drawing, "plain") == [(D, sum(d_v for _, d_v in widths))], "the output map, turned"
    assert f"joined {T}×{sum(d_v for _, d_v in widths)}" in drawing.numbers
