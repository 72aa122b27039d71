"""The functions of the chapter on task heads: readouts, masks, losses, leaks, costs, patches."""

import importlib.util
import json
import re
from itertools import product

import numpy as np
import pytest
import torch
from chapters import namespace
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from figures import padding, vit_tokens
from helpers import PROVERB, attend

PAGE = "chapters/tasks_and_evidence"
few = settings(max_examples=25, deadline=None)


@pytest.fixture(scope="module")
def page():
    return namespace(PAGE)


@pytest.fixture(scope="module")
def cost():
    path = ROOT / "experiments" / "attention_cost.py"
    spec = importlib.util.spec_from_file_location("attention_cost", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("inputs", [
    {"example": PROVERB.with_tokens("begins a journey"), "short": "miles of a thousand single step", "seed": 3},
    {"example": PROVERB.with_tokens("a"), "continuation": "step", "image": np.arange(54).reshape(6, 9)},
])
def test_other_inputs(inputs):
    """Another sentence (shorter than the short one, even a single word), seed or image: every assertion still holds."""
    names = namespace(PAGE, **inputs)
    assert names["T"] == len(inputs["example"].tokens)


# readouts and losses

def test_readout_is_an_affine_layer(page):
    rng = np.random.default_rng(0)
    H, W, b = rng.normal(size=(5, 3)), rng.normal(size=(7, 3)), rng.normal(size=7)
    wanted = functional.linear(*map(torch.tensor, (H, W, b))).numpy()
    np.testing.assert_allclose(page["readout"](H, W, b), wanted, atol=1e-14)


@pytest.mark.parametrize("shapes, message", [
    (((5, 3), (7, 4), (7,)), "W_o: wanted shape any x 3, got 7 x 4"),
    (((5, 3), (7, 3), (6,)), "b_o: wanted shape 7, got 6"),
    (((3,), (7, 3), (7,)), "rows: wanted shape any x any, got 3"),
])
def test_a_head_that_does_not_fit(page, shapes, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        page["readout"](*map(np.ones, shapes))


@few
@given(st.integers(1, 7), st.integers(2, 5), st.integers(0, 1000), st.sampled_from([1.0, 50.0, 2000.0]))
def test_loss_equals_pytorch(page, T, C, seed, scale):
    """Also for logits whose softmax is zero in float64, and with uncounted targets that are no classes."""
    rng = np.random.default_rng(seed)
    logits, targets = scale * rng.normal(size=(T, C)), rng.integers(0, C, T)
    counted = rng.random(T) < 0.6
    counted[rng.integers(T)] = True
    targets = np.where(counted, targets, -100)
    loss = page["token_loss"](logits, targets, counted)
    wanted = functional.cross_entropy(torch.tensor(logits), torch.tensor(targets), ignore_index=-100).item()
    assert loss.mean == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    assert not loss.terms[~counted].any() and np.isfinite(loss.terms).all()


@pytest.mark.parametrize("targets, counted, message", [
    ([0, 3, 1], None, "targets: wanted a class from 0 to 2 at position 1, got 3"),
    ([0, 1, -1], None, "targets: wanted a class from 0 to 2 at position 2, got -1"),
    ([0, 1], None, "targets: wanted 3 whole numbers, got shape (2,) of type int64"),
    ([0.0, 1.0, 2.0], None, "targets: wanted 3 whole numbers, got shape (3,) of type float64"),
    ([0, 1, 2], np.zeros(3, bool), "counted: wanted at least one True, got none among 3 rows"),
    ([0, 1, 2], np.array([1, 0, 1]), "counted: wanted 3 Boolean entries, got shape (3,) of type int64"),
])
def test_bad_targets(page, targets, counted, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        page["token_loss"](np.zeros((3, 3)), np.array(targets), counted)


def test_an_uncounted_target_is_never_read(page):
    logits = np.array([[1.0, 2.0], [0.0, 0.0]])
    losses = [page["token_loss"](logits, np.array([0, y]), np.array([True, False])) for y in (0, -1, 10**9)]
    assert len({loss.mean for loss in losses}) == 1


# padding

@few
@given(st.integers(1, 5), st.integers(0, 6), st.integers(0, 1000))
def test_pooling_ignores_padding(page, real, extra, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(real + extra, 3))
    who = rng.permutation(np.arange(real + extra) < real)
    wanted = rows[who].sum(axis=0) / who.sum()
    garbage = np.where(who[:, None], rows, 1e6)
    np.testing.assert_allclose(page["masked_mean"](garbage, who), wanted, atol=1e-12)


@pytest.mark.parametrize("real, message", [
    (np.zeros(4, bool), "real: wanted at least one True, got none among 4 rows"),
    (np.ones(3, bool), "real: wanted 4 Boolean entries, got shape (3,) of type bool"),
    (np.ones(4), "real: wanted 4 Boolean entries, got shape (4,) of type float64"),
])
def test_a_bad_pooling_mask(page, real, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        page["masked_mean"](np.ones((4, 2)), real)


@few
@given(st.lists(st.booleans(), min_size=1, max_size=7).filter(any), st.booleans())
def test_source_mask(page, real, causal):
    allow = page["source_mask"](np.array(real), causal)
    for t, j in product(range(len(real)), repeat=2):
        assert allow[t, j] == (real[j] and (j <= t or not causal))


@pytest.mark.parametrize("words", ["a", "step with", "single miles of a journey"])
@pytest.mark.parametrize("causal", [False, True])
def test_padding_is_invisible_to_real_rows(page, words, causal):
    """In a causal stack too, and by however many rows the sentence was padded."""
    sentence = page["example"].with_tokens(words)
    L = len(sentence.tokens)
    alone = page["encode"](sentence.inputs, page["source_mask"](np.ones(L, bool), causal))
    for stored in (L, L + 1, L + 4):
        X, real = page["pad"](sentence, stored)
        np.testing.assert_allclose(page["encode"](X, page["source_mask"](real, causal))[:L], alone, atol=1e-12)


def test_the_polarities_are_those_of_the_libraries(page):
    """A causal mask, which is not symmetric, in our polarity: as it is for the function, negated for the module."""
    T = 5
    X = torch.randn(1, T, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    allow = np.tril(np.ones((T, T), bool))
    ours = attend(X[0], X[0], X[0], allow)
    function = functional.scaled_dot_product_attention(X, X, X, attn_mask=torch.tensor(allow))[0]
    module = torch.nn.MultiheadAttention(4, 1, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(4, dtype=torch.float64).repeat(3, 1))
        weights = module(X, X, X, attn_mask=torch.tensor(~allow))[1][0]
    np.testing.assert_allclose(ours.output, function.numpy(), atol=1e-12)
    np.testing.assert_allclose(ours.weights, weights.numpy(), atol=1e-12)
    verdicts = {name: page["verdict"](w) for name, (_, w) in page["asked"].items()}
    assert list(verdicts.values()) == ["may be read"] * 2 + ["is hidden"] * 2 + ["may be read"] * 3 + ["**neither**"]


def test_the_layer_of_pytorch_follows_its_module():
    """True in `src_key_padding_mask` hides: what stands in the padded row does not matter to the others."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, dtype=torch.float64).eval()
    X = torch.randn(1, 5, 4, dtype=torch.float64)
    other, hidden = X.clone(), torch.tensor([[False, False, False, False, True]])
    other[0, 4] += 1
    with torch.no_grad():
        for mask, same in ((hidden, True), (~hidden, False)):
            moved = (layer(X, src_key_padding_mask=mask) - layer(other, src_key_padding_mask=mask))[0, :4].abs().max()
            assert (moved.item() == 0) == same


# targets, leaks, generation

def test_influence_of_a_linear_map(page):
    """f(X) = A X moves row t by |A[t, j]|: neither transposed nor absolute-valued too late."""
    A = np.random.default_rng(1).normal(size=(5, 5))
    found = page["influence"](lambda X: A @ X, np.random.default_rng(2).normal(size=(5, 3)))
    np.testing.assert_allclose(found, np.abs(A), rtol=1e-6)


def test_one_open_block_leaks_at_either_place(page):
    causal = page["causal"]
    later = ~causal
    for masks, leaks in (((None, causal), True), ((causal, None), True), ((causal, causal), False)):
        found = page["influence"](page["two_blocks"](*masks), page["example"].inputs)
        assert found[later].all() == leaks and found[later].any() == leaks


def test_the_probe_finds_leaks_for_other_draws(page):
    causal = np.tril(np.ones((2, 2), bool))
    kept, page["probe"].__globals__["seed"] = page["seed"], 1
    try:
        assert page["probe"](None, causal, 500)[0] > 0.2 > page["probe"](causal, causal, 500)[0]
    finally:
        page["probe"].__globals__["seed"] = kept


@few
@given(st.integers(1, 4), st.integers(0, 5))
def test_generation(page, start, steps):
    """It appends one word a step, and each is the best after what stands before it."""
    words = page["generate"](page["example"].with_tokens(page["example"].tokens[:start]), steps).tokens
    assert len(words) == start + steps
    for t in range(start, len(words)):
        best = page["next_logits"](page["example"].with_tokens(words[:t]))[-1].argmax()
        assert words[t] == page["example"].vocabulary[best]


# evidence

def test_all_token_scores_by_enumeration(page):
    """An ideal model sees four equally likely tokens where it must guess and is certain elsewhere."""
    for d in (1, 8):
        guesses = {"memory": d + 1, "none": d + 2}
        for which, loss, right in (("memory", 0, 2), ("none", 1, 3)):
            losses = [np.log(4)] * guesses[which] + [0.0] * (d + 4 - guesses[which])
            shares = [1 / 4] * guesses[which] + [1.0] * (d + 4 - guesses[which])
            assert page["all_token_scores"](d)[loss] == pytest.approx(np.mean(losses))
            assert page["all_token_scores"](d)[right] == pytest.approx(np.mean(shares))


def test_students_factor(page):
    """The density of Student's distribution with two degrees of freedom leaves 2.5 % above the factor."""
    step = 0.001
    t = np.arange(page["student"] + step / 2, 2000, step)
    assert step * ((2 + t**2) ** -1.5).sum() == pytest.approx(0.025, abs=1e-6)


# cost

def test_multiply_adds_by_loops(page):
    T, D, F, d_k, d_v, heads = 3, 5, 7, 2, 4, 2
    pairs = sum(1 for _ in product(range(heads), range(T), range(T), range(d_k + d_v)))
    projections = sum(1 for _ in product(range(heads), range(T), range(D), range(d_k + d_k + d_v + d_v)))
    mlp = sum(1 for _ in product(range(T), range(F), range(D + D)))
    assert page["multiply_adds"](T, D, F, d_k, d_v, heads) == {
        "pairs": pairs, "projections": projections, "MLP": mlp, "stored weights": heads * T * T}


@few
@given(st.integers(1, 5), st.integers(1, 11), st.integers(1, 13), st.integers(0, 1000), st.sampled_from([1.0, 300.0]))
def test_tiled_attention_is_exact(page, T_q, T_k, tile, seed, scale):
    """For any tile, also one that does not divide the length, and for scores that overflow without care."""
    rng = np.random.default_rng(seed)
    Q, K, V = scale * rng.normal(size=(T_q, 3)), rng.normal(size=(T_k, 3)), rng.normal(size=(T_k, 2))
    np.testing.assert_allclose(page["tiled_attention"](Q, K, V, tile), attend(Q, K, V).output, atol=1e-11)


def test_stored_measurement(cost):
    """It says where it comes from, and holds a positive time for each length in order."""
    stored = json.loads(cost.RESULTS.read_text(encoding="utf-8"))
    assert {"date", "processor", "threads", "python", "torch", "type", "repeats", "clock", "seed", "script"} <= set(stored["provenance"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", stored["provenance"]["date"]) and stored["provenance"]["threads"] == 1
    assert (ROOT / stored["provenance"]["script"]).is_file()
    assert stored["lengths"] == list(cost.LENGTHS) == sorted(stored["lengths"])
    for name in cost.WAYS:
        assert len(stored["seconds"][name]) == len(stored["lengths"]) and min(stored["seconds"][name]) > 0


def test_measuring(cost):
    """The script times what it says: both ways of attention agree, and every length gets a number."""
    X, Q, K, V = torch.randn(4, 11, cost.WIDTH)
    torch.testing.assert_close(cost.explicit(X, Q, K, V, None), cost.fused(X, Q, K, V, None))
    seconds = cost.measure(lengths=(3, 5), repeats=1)
    assert set(seconds) == set(cost.WAYS) and all(len(times) == 2 for times in seconds.values())


# images and figures

@few
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
def test_patches_equal_unfold(page, channels, down, across, p):
    image = np.random.default_rng(0).normal(size=(channels, down * p, across * p))
    wanted = functional.unfold(torch.tensor(image)[None], kernel_size=p, stride=p)[0].T.numpy()
    assert np.array_equal(page["cut_patches"](image, p), wanted)


@pytest.mark.parametrize("shape, p", [((6, 6), 4), ((6, 8), 3), ((6,), 3), ((2, 2, 6, 6), 3), ((6, 6), 0)])
def test_an_image_that_does_not_divide(page, shape, p):
    with pytest.raises(ValueError, match="p: wanted a divisor of both sides, got"):
        page["cut_patches"](np.zeros(shape), p)


def test_figures_say_what_they_show(page):
    assert "sources [1, 2]" in padding.draw((False, True, True)).numbers
    with pytest.raises(ValueError, match="real: wanted at least one True"):
        padding.draw((False, False))
    image = np.arange(24.0).reshape(4, 6)
    assert vit_tokens.draw(image, page["cut_patches"](image, 2), 3).numbers.startswith("4×6 image; 6 patches of 4")
