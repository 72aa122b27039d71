"""The alignment and counting functions of the chapter on a fixed context, against PyTorch and closed forms."""

from functools import cache

import numpy as np
import pytest
import torch
from chapters import namespace
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import PROVERB

PAGE = "chapters/fixed_context"
sizes = st.sampled_from([1, 2, 3, 5, 7])


@cache
def chapter(**inputs):
    return namespace(PAGE, **inputs)


def case(B, T_y, T_x, D_s, D_h, N_a, seed=0):
    rng = np.random.default_rng(seed)
    scorer = chapter()["Scorer"](rng.normal(size=(N_a, D_s)), rng.normal(size=(N_a, D_h)), rng.normal(size=N_a))
    return rng.normal(size=(B, T_y, D_s)), rng.normal(size=(B, T_x, D_h)), scorer


def torch_alignment(states, H, scorer, allow=None):
    tensors = [torch.from_numpy(x) for x in (states, H, *scorer)]
    states, H, W_a, U_a, v_a = tensors
    compared = torch.tanh(torch.nn.functional.linear(states, W_a)[:, :, None] + torch.nn.functional.linear(H, U_a)[:, None])
    scores = torch.nn.functional.linear(compared, v_a[None])[..., 0]
    if allow is not None:
        scores = scores.masked_fill(~torch.from_numpy(allow)[:, None], -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return scores, weights, torch.bmm(weights, H)


@settings(max_examples=25, deadline=None)
@given(B=sizes, T_y=sizes, T_x=sizes, D_s=sizes, D_h=sizes, N_a=sizes)
def test_batched_alignment_is_torch_and_the_loop(B, T_y, T_x, D_s, D_h, N_a):
    states, H, scorer = case(B, T_y, T_x, D_s, D_h, N_a)
    ours = chapter()["align_all"](states, H, scorer)
    for mine, wanted in zip(ours, torch_alignment(states, H, scorer)):
        assert mine.shape == tuple(wanted.shape)
        assert np.allclose(mine, wanted, atol=1e-13)
    for b, t in np.ndindex(B, T_y):
        step = chapter()["align"](states[b, t], H[b], scorer)
        for name in step._fields:
            assert np.allclose(getattr(step, name), getattr(ours, name)[b, t], atol=1e-13)


def test_padded_sources_are_not_read():
    states, H, scorer = case(2, 3, 5, 7, 3, 2)
    allow = np.array([[True] * 5, [True, True, True, False, False]])
    ours = chapter()["align_all"](states, H, scorer, allow)
    assert (ours.weights[1, :, 3:] == 0).all() and np.allclose(ours.weights.sum(axis=-1), 1)
    assert np.allclose(ours.weights, torch_alignment(states, H, scorer, allow)[1])
    other = H.copy()
    other[1, 3:] += 100
    assert np.array_equal(chapter()["align_all"](states, other, scorer, allow).context, ours.context)


@pytest.mark.parametrize("change, message", [
    (lambda s, H: (s, H[:1]), "H: wanted shape 2 x any x 3, got 1 x 5 x 3"),
    (lambda s, H: (s[:1], H), "H: wanted shape 1 x any x 3, got 2 x 5 x 3"),
    (lambda s, H: (s[..., :6], H), "states: wanted shape any x any x 7, got 2 x 3 x 6"),
    (lambda s, H: (s, H[..., :2]), "H: wanted shape 2 x any x 3, got 2 x 5 x 2"),
    (lambda s, H: (s[0], H), "states: wanted shape any x any x 7, got 3 x 7"),
    (lambda s, H: (s, H[:, :0]), "H: wanted shape"),
])
def test_bad_batches(change, message):
    states, H, scorer = case(2, 3, 5, 7, 3, 2)
    with pytest.raises(ValueError) as error:
        chapter()["align_all"](*change(states, H), scorer)
    assert message in str(error.value)


def test_bad_steps():
    states, H, scorer = case(1, 1, 5, 7, 3, 2)
    with pytest.raises(ValueError, match="state: wanted shape 7, got 6"):
        chapter()["align"](states[0, 0, :6], H[0], scorer)
    with pytest.raises(ValueError, match="allow: wanted at least one source"):
        chapter()["align_all"](states, H, scorer, np.zeros((1, 5), dtype=bool))


@settings(max_examples=25, deadline=None)
@given(T=st.integers(1, 12), D=sizes, N=sizes)
def test_encoder_matrix_is_the_recurrence(T, D, N):
    rng = np.random.default_rng(T)
    W_x, W_h, X = rng.normal(size=(N, D)), rng.normal(size=(N, N)), rng.normal(size=(T, D))
    c = np.zeros(N)
    for x in X:
        c = c @ W_h.T + x @ W_x.T
    M = chapter()["encoder_matrix"](T, W_x, W_h)
    assert np.allclose(M @ X.ravel(), c) and np.linalg.matrix_rank(M) <= min(N, T * D)


def test_annotations_are_a_bidirectional_torch_layer():
    rng = np.random.default_rng(1)
    D, N, T = 5, 3, 7
    weights = [rng.normal(size=shape) for shape in ((N, D), (N, N), (N, D), (N, N))]
    layer = torch.nn.RNN(D, N, bias=False, bidirectional=True, dtype=torch.float64)
    for parameter, W in zip(layer.parameters(), weights):
        parameter.data[:] = torch.from_numpy(W)
    X = rng.normal(size=(T, D))
    wanted = layer(torch.from_numpy(X))[0].detach()
    assert np.allclose(chapter()["annotate"](X, weights[:2], weights[2:]), wanted, atol=1e-14)


def test_cards_cannot_exceed_their_number():
    cards_used = chapter()["cards_used"]
    assert cards_used(3, lambda s: s) == 8 and cards_used(6, lambda s: sum(s)) == 7 and cards_used(5, lambda s: 0) == 1


def test_published_numbers_come_from_the_default_inputs_only():
    step = chapter()["step"]
    assert np.allclose(step.scores.round(3), [0.699, 0.539, -0.081, -0.522])
    assert not np.allclose(chapter(seed=7)["step"].scores, step.scores)


@pytest.mark.parametrize("inputs", [
    {"example": PROVERB.with_tokens("begins a journey")},
    {"example": PROVERB.with_tokens("a step begins a single step with a journey"), "seed": 5},
    {"T_x": 7, "D_h": 2, "D_s": 5, "N_a": 3, "bits": 3, "N_c": 7, "D": 3},
])
def test_chapter_runs_on_other_inputs(inputs):
    names = namespace(PAGE, **inputs)
    assert len(names["A"][0]) == len(names["example"].tokens)
    assert len(names["step"].scores) == names["T_x"]
