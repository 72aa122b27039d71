"""Batched heads, the softmax Jacobian and the post-norm layer of the chapter, against PyTorch and closed forms."""

from functools import cache

import numpy as np
import pytest
import torch
from chapters import namespace
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import PROVERB, softmax

PAGE = "chapters/scaled_heads"
SMALL = {"D": 30, "N_head": 5, "F": 7, "N_layers": 2}
sizes = st.sampled_from([1, 2, 3, 5, 7])


@cache
def chapter():
    return namespace(PAGE, **SMALL)


@settings(max_examples=30, deadline=None)
@given(B=sizes, heads=sizes, T_q=sizes, T_k=sizes, d_k=sizes, d_v=sizes)
def test_attention_is_sdpa(B, heads, T_q, T_k, d_k, d_v):
    rng = np.random.default_rng(B + heads)
    Q, K, V = (rng.normal(size=(B, heads, *shape)) for shape in ((T_q, d_k), (T_k, d_k), (T_k, d_v)))
    allow = rng.random((T_q, T_k)) < 0.6
    allow[:, 0] = True
    for mask in (None, allow):
        wanted = torch.nn.functional.scaled_dot_product_attention(
            *map(torch.from_numpy, (Q, K, V)), attn_mask=None if mask is None else torch.from_numpy(mask))
        ours = chapter()["attention"](Q, K, V, mask)
        assert ours.weights.shape == (B, heads, T_q, T_k)
        assert np.allclose(ours.output, wanted, atol=1e-13)
        assert mask is None or (ours.weights[..., ~mask] == 0).all()


@pytest.mark.parametrize("change, message", [
    (lambda Q, K, V: (Q, K[:1], V), "K: wanted shape 2 x any x 5, got 1 x 7 x 5"),
    (lambda Q, K, V: (Q, K, V[:1]), "V: wanted shape 2 x 7 x any, got 1 x 7 x 11"),
    (lambda Q, K, V: (Q, K, V[:, :6]), "V: wanted shape 2 x 7 x any, got 2 x 6 x 11"),
    (lambda Q, K, V: (Q, K[..., :4], V), "K: wanted shape 2 x any x 5, got 2 x 7 x 4"),
    (lambda Q, K, V: (Q[0, 0], K, V), "Q: wanted shape any x any, got 5"),
    (lambda Q, K, V: (Q * np.nan, K, V), "Q: wanted finite numbers"),
    (lambda Q, K, V: (Q, K, V, np.zeros((3, 7), bool)), "allow: wanted at least one source for each query"),
    (lambda Q, K, V: (Q, K, V, np.ones((3, 7))), "allow: wanted True where a query may read a source"),
])
def test_bad_attention(change, message):
    rng = np.random.default_rng(0)
    Q, K, V = (rng.normal(size=(2, *shape)) for shape in ((3, 5), (7, 5), (7, 11)))
    with pytest.raises(ValueError) as error:
        chapter()["attention"](*change(Q, K, V))
    assert message in str(error.value)


@settings(max_examples=30, deadline=None)
@given(B=sizes, T=sizes, heads=sizes, width=sizes)
def test_splitting_and_joining(B, T, heads, width):
    rows = np.random.default_rng(0).normal(size=(B, T, heads * width))
    split = chapter()["split_heads"](rows, heads)
    assert np.array_equal(chapter()["join_heads"](split), rows)
    for i in range(heads):
        assert np.array_equal(split[:, i], rows[:, :, i * width:(i + 1) * width]), "a piece of every row"


@pytest.mark.parametrize("heads", [0, -2, 4, 2.0, "2", True + 6])
def test_bad_heads(heads):
    with pytest.raises(ValueError, match="N_head: wanted a divisor of the width 30, got"):
        chapter()["split_heads"](np.zeros((1, 2, 30)), heads)


def test_rows_need_a_batch_axis():
    with pytest.raises(ValueError, match="rows: wanted shape any x any x any, got 2 x 30"):
        chapter()["split_heads"](np.zeros((2, 30)), 5)
    with pytest.raises(ValueError, match="X: wanted shape any x any x 30, got 1 x 2 x 29"):
        chapter()["post_norm_layer"](np.zeros((1, 2, 29)), chapter()["layer_weights"](chapter()["base"]), 5)


def layer(D, heads, F):
    """A layer with every weight and bias drawn, so that no bias and no scale can be forgotten."""
    torch.manual_seed(D)
    made = torch.nn.TransformerEncoderLayer(D, heads, F, norm_first=False, dropout=0.0, dtype=torch.float64, batch_first=True)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter)
    return made


@pytest.mark.parametrize("B, T, D, heads, F", [(2, 3, 10, 5, 7), (1, 7, 6, 2, 11), (3, 1, 4, 1, 5)])
def test_layer_and_attention_are_torch_with_every_bias(B, T, D, heads, F):
    made, X = layer(D, heads, F), np.random.default_rng(0).normal(size=(B, T, D))
    weights = chapter()["layer_weights"](made)
    rows = torch.from_numpy(X)
    with torch.no_grad():
        attended = made.self_attn(rows, rows, rows, need_weights=False)[0]
        assert np.allclose(chapter()["self_attention"](X, weights.attention, heads).output, attended, atol=1e-12)
        assert np.allclose(chapter()["post_norm_layer"](X, weights, heads).output, made(rows), atol=1e-12)


def test_a_mask_reaches_every_head():
    made, X = layer(6, 2, 5), np.random.default_rng(0).normal(size=(1, 4, 6))
    causal = np.tril(np.ones((4, 4), bool))
    ours = chapter()["post_norm_layer"](X, chapter()["layer_weights"](made), 2, causal)
    with torch.no_grad():
        wanted = made(torch.from_numpy(X), src_mask=torch.from_numpy(~causal))
    assert np.allclose(ours.output, wanted, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(T=st.integers(1, 9), scale=st.sampled_from([0.1, 1.0, 10.0]))
def test_jacobian_is_autograd_and_at_most_a_half(T, scale):
    S = torch.from_numpy(scale * np.random.default_rng(T).normal(size=T))
    J = chapter()["softmax_jacobian"](softmax(S[None].numpy())[0])
    assert np.allclose(J, torch.autograd.functional.jacobian(lambda s: torch.softmax(s, dim=0), S), atol=1e-14)
    assert np.linalg.norm(J, 2) <= 0.5 + 1e-12


def test_description_of_known_rows():
    even = chapter()["describe"](np.zeros((3, 8)))
    assert np.allclose(even, (1 / 8, np.log(8), 1 / 8))
    sure = chapter()["describe"](np.array([[1000.0, 0, 0]]))
    assert np.allclose(sure, (1, 0, 0))


def test_published_variances():
    sample, rng = chapter()["sample_dots"], np.random.default_rng(42)
    found = [(dot.var(), (dot / np.sqrt(w)).var()) for w in (4, 16, 64, 256) for dot in [sample(w, rng)]]
    assert [f"{a:.2f} {b:.3f}" for a, b in found] == ["4.04 1.011", "15.87 0.992", "63.83 0.997", "253.99 0.992"]


@pytest.mark.parametrize("inputs", [
    SMALL | {"example": PROVERB.with_tokens("begins a journey"), "seed": 3},
    {"D": 14, "N_head": 7, "F": 3, "N_layers": 1, "example": PROVERB.with_tokens("a step begins a single step"), "seed": 11},
])
def test_chapter_runs_on_other_inputs(inputs):
    names = namespace(PAGE, **inputs)
    assert names["H"].shape == (2, 10, inputs["D"])
    assert names["big"].queries.shape == (2, inputs["N_head"], 10, inputs["D"] // inputs["N_head"])


def test_heads_that_do_not_divide_the_width_stop_the_chapter():
    with pytest.raises((ValueError, AssertionError), match="divisor|divisible"):
        namespace(PAGE, **SMALL | {"N_head": 4})
