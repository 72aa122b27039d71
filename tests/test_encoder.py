"""The encoder functions of the helper module: closed forms, properties, PyTorch, bad input."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers import (PROVERB, BlockWeights, HeadMaps, MLPWeights, NormWeights, block, causal_mask, explain, layer_norm,
                     mlp, multi_head, stack)

T, D, F, HEADS, D_K, D_V = 7, 5, 11, 3, 2, 13   # unequal, so that a swapped axis cannot pass
ROWS = arrays(np.float64, (T, D), elements=st.floats(-50, 50).map(lambda x: round(x, 3)))


def norm(rng, D):
    return NormWeights(rng.normal(1, 0.3, D), rng.normal(0, 0.3, D))


def weights(seed, D=D, F=F, heads=HEADS, d_k=D_K, d_v=D_V):
    rng = np.random.default_rng(seed)
    maps = tuple(HeadMaps(rng.normal(size=(d_k, D)), rng.normal(size=(d_k, D)), rng.normal(size=(d_v, D)))
                 for _ in range(heads))
    feed = MLPWeights(rng.normal(size=(F, D)), rng.normal(size=F), rng.normal(size=(D, F)), rng.normal(size=D))
    return BlockWeights(norm(rng, D), maps, rng.normal(size=(D, heads * d_v)) / 3, norm(rng, D), feed)


def rows(seed, T=T, D=D):
    return np.random.default_rng(1000 + seed).normal(size=(T, D))


def plain(D, eps=1e-5):
    return NormWeights(np.ones(D), np.zeros(D), eps)


def double(values):
    return torch.tensor(np.array(values), dtype=torch.float64)


# LayerNorm

def test_layer_norm_closed_form():
    """[1, 0, 0, 0] has mean 1/4 and population variance 3/16, so its first entry becomes the root of 3."""
    step = layer_norm([[1, 0, 0, 0]], plain(4, eps=1e-15))
    assert step.mean == pytest.approx([1 / 4]) and step.variance == pytest.approx([3 / 16])
    assert np.allclose(step.output, [[np.sqrt(3), -1 / np.sqrt(3), -1 / np.sqrt(3), -1 / np.sqrt(3)]], atol=1e-12)


def test_scale_and_shift_belong_to_features():
    gamma, beta = np.array([1.0, 2, 3]), np.array([10.0, 20, 30])
    H = np.array([[0.0, 1, 5], [2, -2, 1]])
    assert np.allclose(layer_norm(H, NormWeights(gamma, beta)).output, gamma * layer_norm(H, plain(3)).output + beta)


@settings(max_examples=40, deadline=None)
@given(ROWS, st.floats(-30, 30))
def test_mean_zero_and_known_variance(H, shift):
    """Mean 0, variance v / (v + eps), and no trace of a shift of the whole row."""
    step = layer_norm(H, plain(D, eps=1e-3))
    v = H.var(axis=1)
    assert np.allclose(step.output.mean(axis=1), 0, atol=1e-9)
    assert np.allclose(step.output.var(axis=1), v / (v + 1e-3), atol=1e-9)
    assert np.allclose(layer_norm(H + shift, plain(D, eps=1e-3)).output, step.output, atol=1e-7)


@settings(max_examples=30, deadline=None)
@given(ROWS, st.floats(0.1, 10))
def test_a_stretch_only_changes_epsilon(H, factor):
    stretched = layer_norm(factor * H, plain(D, eps=1e-3)).output
    assert np.allclose(stretched, layer_norm(H, plain(D, eps=1e-3 / factor**2)).output, atol=1e-8)


def test_constant_row_becomes_the_shift():
    weights = NormWeights(np.array([2.0, 3, 4]), np.array([-1.0, 0, 5]))
    assert np.array_equal(layer_norm([[7.0, 7, 7], [0, 0, 0]], weights).output, [[-1, 0, 5], [-1, 0, 5]])


def test_layer_norm_equals_torch():
    weights, H = norm(np.random.default_rng(0), D), rows(0)
    theirs = torch.nn.functional.layer_norm(double(H), (D,), double(weights.gamma), double(weights.beta), weights.eps)
    assert np.allclose(layer_norm(H, weights).output, theirs.numpy(), atol=1e-13, rtol=0)


@pytest.mark.parametrize("H, weights, message", [
    (np.ones((2, 3)), NormWeights(np.ones(4), np.zeros(3)), "gamma: wanted shape 3, got 4"),
    (np.ones((2, 3)), NormWeights(np.ones(3), np.zeros((1, 3))), "beta: wanted shape 3, got 1 x 3"),
    (np.ones((2, 3)), plain(3, eps=0.0), "eps: wanted a positive number, got 0.0"),
    (np.ones(3), plain(3), "H: wanted shape any x any, got 3"),
    ([[1.0, np.nan, 2]], plain(3), r"H: wanted finite numbers, got nan at \(0, 1\)"),
])
def test_layer_norm_bad_input(H, weights, message):
    with pytest.raises(ValueError, match=message):
        layer_norm(H, weights)


# MLP

def test_mlp_written_out():
    """Every entry from loops over one row, one hidden feature and one output feature at a time."""
    R, (W_1, b_1, W_2, b_2) = rows(1), weights(1).mlp
    step = mlp(R, weights(1).mlp)
    for t in range(T):
        Z = [sum(W_1[i][c] * R[t][c] for c in range(D)) + b_1[i] for i in range(F)]
        J = [z if z > 0 else 0 for z in Z]
        out = [sum(W_2[c][i] * J[i] for i in range(F)) + b_2[c] for c in range(D)]
        assert np.allclose(step.preactivations[t], Z) and np.allclose(step.hidden[t], J)
        assert np.allclose(step.output[t], out)


@settings(max_examples=30, deadline=None)
@given(ROWS, st.integers(0, T - 1), arrays(np.float64, D, elements=st.floats(-50, 50)))
def test_mlp_stays_within_its_row(R, t, other):
    changed = R.copy()
    changed[t] = other
    before, after = mlp(R, weights(2).mlp), mlp(changed, weights(2).mlp)
    rest = np.arange(T) != t
    assert np.array_equal(before.output[rest], after.output[rest])
    assert (before.hidden >= 0).all()
    assert np.allclose(after.output[t], mlp(changed[t:t + 1], weights(2).mlp).output[0])


@pytest.mark.parametrize("change, message", [
    ({"W_1": np.ones((F, D + 1))}, f"W_1: wanted shape any x {D}, got {F} x {D + 1}"),
    ({"b_1": np.ones(F + 1)}, f"b_1: wanted shape {F}, got {F + 1}"),
    ({"W_2": np.ones((F, D))}, f"W_2: wanted shape {D} x {F}, got {F} x {D}"),
    ({"b_2": np.ones(F)}, f"b_2: wanted shape {D}, got {F}"),
])
def test_mlp_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        mlp(rows(0), weights(0).mlp._replace(**change))


# The block

@pytest.mark.parametrize("allow", [None, causal_mask(T)])
def test_pre_norm_stages_hang_together(allow):
    H, w = rows(3), weights(3)
    step = block(H, w, allow)
    assert np.array_equal(step.norm_1.inputs, H) and np.array_equal(step.norm_2.inputs, step.sum_1)
    assert all(np.array_equal(head.inputs, step.norm_1.output) for head in step.attention.heads)
    assert np.array_equal(step.attention.projection, multi_head(step.norm_1.output, w.heads, w.W_O, allow).projection)
    assert np.array_equal(step.sum_1, H + step.attention.projection)
    assert np.array_equal(step.mlp.inputs, step.norm_2.output)
    assert np.array_equal(step.sum_2, step.sum_1 + step.mlp.output) and np.array_equal(step.output, step.sum_2)


@pytest.mark.parametrize("allow", [None, causal_mask(T)])
def test_post_norm_stages_hang_together(allow):
    H, w = rows(4), weights(4)
    step = block(H, w, allow, placement="post")
    assert all(np.array_equal(head.inputs, H) for head in step.attention.heads)
    assert np.array_equal(step.norm_1.inputs, step.sum_1) and np.array_equal(step.mlp.inputs, step.norm_1.output)
    assert np.array_equal(step.sum_2, step.norm_1.output + step.mlp.output)
    assert np.array_equal(step.norm_2.inputs, step.sum_2) and np.array_equal(step.output, step.norm_2.output)


def torch_layer(w, norm_first):
    """PyTorch's layer with the weights of a block; the heads' joint width must be D."""
    D, (W_1, b_1, W_2, b_2) = len(w.W_O), w.mlp
    layer = torch.nn.TransformerEncoderLayer(D, len(w.heads), len(b_1), dropout=0, batch_first=True,
                                             norm_first=norm_first, dtype=torch.float64)
    state = {
        "self_attn.in_proj_weight": np.vstack([W for maps in zip(*w.heads) for W in maps]),
        "self_attn.in_proj_bias": np.zeros(3 * D), "self_attn.out_proj.weight": w.W_O, "self_attn.out_proj.bias": np.zeros(D),
        "linear1.weight": W_1, "linear1.bias": b_1, "linear2.weight": W_2, "linear2.bias": b_2,
        "norm1.weight": w.norm_1.gamma, "norm1.bias": w.norm_1.beta, "norm2.weight": w.norm_2.gamma, "norm2.bias": w.norm_2.beta}
    layer.load_state_dict({name: double(value) for name, value in state.items()})
    return layer


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("allow", [None, causal_mask(7), np.random.default_rng(8).random((7, 7)) < 0.6])
def test_block_equals_torch_layer(placement, allow):
    """Three heads of width five on fifteen features, a batch of two, to 1e-12."""
    w = weights(5, D=15, F=11, heads=3, d_k=5, d_v=5)
    batch = np.stack([rows(5, 7, 15), rows(6, 7, 15)])
    allow = None if allow is None else allow | np.eye(7, dtype=bool)
    layer = torch_layer(w, norm_first=placement == "pre")
    theirs = layer(double(batch), src_mask=None if allow is None else torch.tensor(~allow)).detach().numpy()
    ours = np.stack([block(H, w, allow, placement).output for H in batch])
    assert np.abs(ours - theirs).max() < 1e-12
    other = torch_layer(w, norm_first=placement != "pre")(double(batch)).detach().numpy()
    assert np.abs(ours - other).max() > 1e-3, "the comparison can tell the placements apart"


def test_branches_at_zero():
    """Pre-norm is then the identity, to the last bit; post-norm normalizes twice."""
    H, w = rows(7), weights(7)
    silent = w._replace(W_O=0 * w.W_O, mlp=w.mlp._replace(W_2=0 * w.mlp.W_2, b_2=0 * w.mlp.b_2))
    assert np.array_equal(block(H, silent).output, H)
    twice = layer_norm(layer_norm(H, w.norm_1).output, w.norm_2).output
    assert np.array_equal(block(H, silent, placement="post").output, twice)


@settings(max_examples=25, deadline=None)
@given(ROWS, st.permutations(range(T)), st.sampled_from(["pre", "post"]))
def test_permutation_equivariance(H, order, placement):
    """Without a mask the output follows the rows; with one it follows when the mask moves along."""
    w, allow = weights(8, d_v=3), causal_mask(T)[:, ::-1] | np.eye(T, dtype=bool)
    assert np.allclose(block(H[order], w, None, placement).output, block(H, w, None, placement).output[order], atol=1e-8)
    moved = block(H[order], w, allow[order][:, order], placement).output
    assert np.allclose(moved, block(H, w, allow, placement).output[order], atol=1e-8)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_nothing_changes_in_place(placement):
    H, w = rows(9), weights(9)
    copies = [np.copy(H), *(np.copy(a) for a in w.mlp), np.copy(w.W_O), np.copy(w.norm_1.gamma)]
    block(H, w, causal_mask(T), placement)
    for before, after in zip(copies, [H, *w.mlp, w.W_O, w.norm_1.gamma]):
        assert np.array_equal(before, after)


def test_block_bad_input():
    with pytest.raises(ValueError, match='placement: wanted "pre" or "post", got \'sandwich\''):
        block(rows(0), weights(0), placement="sandwich")
    with pytest.raises(ValueError, match=rf"W_O: wanted shape {D + 1} x any, got {D} x {HEADS * D_V}"):
        block(rows(0, D=D + 1), weights(0))
    with pytest.raises(ValueError, match=rf"W_O: wanted shape any x {HEADS * D_V}, got {D} x {HEADS * D_V + 1}"):
        block(rows(0), weights(0)._replace(W_O=np.ones((D, HEADS * D_V + 1))))
    with pytest.raises(ValueError, match="heads: wanted at least one head, got none"):
        block(rows(0), weights(0)._replace(heads=()))


# The stack

@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_stack_is_one_block_after_another(depth, placement):
    H, many, final = rows(10), [weights(20 + k) for k in range(depth)], norm(np.random.default_rng(3), D)
    run = stack(H, many, final, causal_mask(T), placement)
    here = H
    for step, w in zip(run.blocks, many, strict=True):
        assert np.array_equal(step.inputs, here)
        here = block(here, w, causal_mask(T), placement).output
        assert np.array_equal(step.output, here)
    assert np.array_equal(run.final.inputs, here) and np.array_equal(run.output, layer_norm(here, final).output)
    bare = stack(H, many, None, causal_mask(T), placement)
    assert bare.final is None and np.array_equal(bare.output, here)


def test_stack_equals_torch_encoder():
    many = [weights(30 + k, D=15, F=11, heads=3, d_k=5, d_v=5) for k in range(3)]
    H, final = rows(11, 7, 15), norm(np.random.default_rng(4), 15)
    last = torch.nn.LayerNorm(15, dtype=torch.float64)
    last.load_state_dict({"weight": double(final.gamma), "bias": double(final.beta)})
    whole = torch.nn.TransformerEncoder(torch_layer(many[0], True), 3, norm=last, enable_nested_tensor=False)
    whole.layers = torch.nn.ModuleList(torch_layer(w, True) for w in many)
    theirs = whole(double(H)[None], mask=torch.tensor(~causal_mask(7)))[0].detach().numpy()
    assert np.abs(stack(H, many, final, causal_mask(7)).output - theirs).max() < 1e-12


def test_stack_bad_input():
    with pytest.raises(ValueError, match="blocks: wanted at least one block, got none"):
        stack(rows(0), [])
    narrow = weights(0, D=D - 1)
    with pytest.raises(ValueError, match=rf"W_O of blocks\[1\]: wanted shape {D} x any, got {D - 1} x {HEADS * D_V}"):
        stack(rows(0), [weights(0), narrow])
    with pytest.raises(ValueError, match=f"gamma: wanted shape {D}, got {D - 1}"):
        stack(rows(0), [weights(0)], narrow.norm_1)


# What a worked equation says

def stated(equation):
    """Left side, formula, and the value of the arithmetic line, for sums of products of numbers in brackets."""
    first, numbers, *_, result = equation.data.replace("\\begin{aligned}", "").split("\n&\\approx ") if "approx" in \
        equation.data else equation.data.split("\n&= ")
    arithmetic = numbers.replace("\\", "").replace("&quad", "").replace(")(", ")*(").replace("\n", " ")
    return first.strip().rstrip("\\").strip(), eval(arithmetic), result


@pytest.mark.parametrize("step, name, column, start", [
    (block(PROVERB.inputs, PROVERB.block), "sum_1", 0, "U_{6,0} &= H_{6,0} + B_"),
    (block(PROVERB.inputs, PROVERB.block), "sum_2", 4, "H'_{6,4} &= U_{6,4} + B_"),
    (block(PROVERB.inputs, PROVERB.block, placement="post"), "sum_1", 1, "U_{6,1} &= H_{6,1} + B_"),
    (block(PROVERB.inputs, PROVERB.block, placement="post"), "sum_2", 2, "Y_{6,2} &= R_{6,2} + B_"),
    (block(PROVERB.inputs, PROVERB.block).mlp, "preactivations", 0, r"Z_{6,0} &= \sum_c R_{6,c}\,W_{1,0c} + b_{1,0}"),
    (block(PROVERB.inputs, PROVERB.block).mlp, "output", 3, r"B_{\mathrm{mlp},6,3} &= \sum_i J_{6,i}\,W_{2,3i} + b_{2,3}"),
])
def test_worked_equations_add_up(step, name, column, start):
    """The line of numbers gives the stored entry, and the second sum names the bypass of its placement."""
    equation = explain(step, name, 6, column)
    formula, arithmetic, _ = stated(equation)
    assert formula.startswith(start), formula
    assert arithmetic == pytest.approx(equation.value, abs=0.02)
    assert equation.value == getattr(step, name)[6, column]


def test_epsilon_is_written_exactly():
    assert r" + 1\times10^{-5}}" in explain(layer_norm(PROVERB.inputs, PROVERB.norm_1), "output", 6, 0).data


def test_the_example_carries_its_block():
    wide = dataclasses.replace(PROVERB, norm_1=NormWeights(np.full(5, 2.0), np.ones(5)))
    assert np.array_equal(wide.block.norm_1.gamma, np.full(5, 2.0)) and wide.block.norm_2 is PROVERB.norm_2
