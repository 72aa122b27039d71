"""The chapter "Inside a complete encoder": its functions, its claims, and its cells on other inputs."""

import dataclasses
from functools import cache

import numpy as np
import pytest
import torch
from chapters import namespace

from figures import encoder_architecture, influence_maps, pre_norm_block
from helpers import PROVERB, HeadMaps, MLPWeights, NormWeights, block, check, stack

PAGE = "chapters/encoder_block"


@cache
def chapter():
    return namespace(PAGE)


def wide_example():
    """Three words, seven features, three heads of unequal widths, eleven hidden features."""
    rng = np.random.default_rng(17)
    norm = lambda: NormWeights(rng.normal(1, 0.2, 7), rng.normal(0, 0.2, 7), 1e-4)
    heads = tuple(HeadMaps(rng.normal(size=(2, 7)), rng.normal(size=(2, 7)), rng.normal(size=(d_v, 7))) for d_v in (1, 3, 5))
    feed = MLPWeights(rng.normal(size=(11, 7)), rng.normal(size=11), rng.normal(size=(7, 11)), rng.normal(size=7))
    return dataclasses.replace(PROVERB.with_tokens("begins a journey"), embedding=rng.normal(size=(9, 7)), heads=heads,
                               W_O=rng.normal(size=(7, 9)), norm_1=norm(), norm_2=norm(), mlp=feed, norm_final=norm())


@pytest.mark.parametrize("example, depth", [
    (PROVERB.with_tokens("begins a journey"), 1),
    (PROVERB.with_tokens("a step begins a single step"), 2),
    (PROVERB.with_tokens("a a a"), 3),
    (PROVERB.with_tokens("miles"), 1),
    (wide_example(), 2),
], ids=["short", "repeats", "one word thrice", "one word", "other widths"])
def test_other_inputs(example, depth):
    names = namespace(PAGE, example=example, depth=depth)
    assert len(names["deep"].blocks) == depth
    assert max(names["gaps"].values()) < 1e-12
    assert np.array_equal(names["step"].output, block(example.inputs, example.block).output)


def test_what_the_prose_says_of_the_proverb():
    names = chapter()
    step, T = names["step"], names["T"]
    assert (step.norm_2.variance > step.norm_1.variance).all(), "every row grew with the first addition"
    assert step.inputs[6].argmin() == 0 == step.norm_1.output[6].argmin(), "the first entry is the smallest"
    assert (names["cut"], names["kept"]) == (0, 2)
    assert (step.mlp.hidden[6] == 0).tolist() == [True, False, False, True]
    assert np.flatnonzero(names["silent"]).tolist() == [2, 3, 4]
    assert (names["maps"]["block"] > 1e-9).all(), "the block fills the map"
    assert (names["maps"]["causal, wrong axis"] > 1e-9).all(), "and so does the wrong axis"
    assert ((names["maps"]["block, causal"] > 1e-9) == np.tri(T, dtype=bool)).all()
    assert [miss == 0 for miss in names["misses"]] == [True, True, False, False, True]
    apart = names["apart"]
    assert apart[0] == 0 and min(apart[1:]) > 0.01, "the placements part at the second stage and do not meet again"
    spread = names["spread"]
    assert spread("pre")[-1] > 2 * spread("pre")[0] and max(spread("post")) < 1.5, "the table on depth"


def test_largest_differences_to_torch():
    gaps = chapter()["gaps"]
    assert len(gaps) == 5 and max(gaps.values()) < 1e-13


@pytest.mark.parametrize("f, filled", [
    (lambda H: 2 * H, np.eye(5)),
    (lambda H: H.cumsum(axis=0), np.tri(5)),
    (lambda H: H[::-1], np.eye(5)[::-1]),
    (lambda H: np.ones((5, 1)) * H.sum(axis=0), np.ones((5, 5))),
    (lambda H: 0 * H, np.zeros((5, 5))),
])
def test_influence_finds_known_paths(f, filled):
    moved = chapter()["influence"](f, np.random.default_rng(0).normal(size=(5, 3)))
    assert np.array_equal(moved > 1e-9, filled > 0)


def test_influence_sees_a_nudge_that_layer_norm_would_hide():
    """A nudge equal in all features would leave LayerNorm's output where it was."""
    names, H = chapter(), np.random.default_rng(1).normal(size=(4, 3))
    norm = NormWeights(np.ones(3), np.zeros(3))
    moved = names["influence"](lambda rows: names["layer_norm"](rows, norm).output, H)
    assert np.array_equal(moved > 1e-3, np.eye(4, dtype=bool))


def test_column_norm_is_batch_norm_in_training():
    H = np.random.default_rng(2).normal(3, 2, size=(11, 3))
    theirs = torch.nn.BatchNorm1d(3).double()(torch.tensor(H)).detach().numpy()
    assert np.allclose(chapter()["column_norm"](H), theirs, atol=1e-13, rtol=0)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_modules_equal_the_helpers(placement):
    """Our own modules on eleven rows, five heads of width two on seven features: a size PyTorch's layer cannot hold."""
    names = chapter()
    weights = names["random_block"](3, D=7, F=13, d_k=2, heads=5)
    H = np.random.default_rng(4).normal(size=(11, 7))
    theirs = names[f"{placement}_norm"](names["parts"](weights), torch.tensor(H)).detach().numpy()
    assert np.abs(block(H, weights, placement=placement).output - theirs).max() < 1e-12


def test_copied_weights_must_fit():
    names = chapter()
    with pytest.raises(RuntimeError, match="size mismatch"):
        names["loaded"](torch.nn.Linear(3, 2), np.ones((3, 2)), np.ones(2))
    with pytest.raises(RuntimeError, match="size mismatch"):
        names["torch_layer"](names["random_block"](0, D=6, F=5, d_k=2), norm_first=True)


def test_random_blocks_are_the_same_each_time_and_differ_by_seed():
    make = chapter()["random_block"]
    assert np.array_equal(make(1, 5, 3).W_O, make(1, 5, 3).W_O)
    assert not np.array_equal(make(1, 5, 3).W_O, make(2, 5, 3).W_O)
    assert make(1, 5, 3, d_k=2, heads=4).W_O.shape == (5, 8)


def test_gradients_against_central_differences():
    """The total of the gradient table, feature by feature, from the functions of the helper module."""
    names = chapter()
    H, g, w, h = PROVERB.inputs, np.tile(np.arange(5) % 3 - 1.0, (7, 1)), PROVERB.block, 1e-6

    def loss(rows):
        return (g * block(rows, w).sum_1).sum()

    for t, c in ((0, 0), (2, 3), (6, 1), (6, 4)):
        up, down = H.copy(), H.copy()
        up[t, c] += h
        down[t, c] -= h
        assert names["total"][t, c] == pytest.approx((loss(up) - loss(down)) / (2 * h), abs=1e-8)


def test_the_exercise_can_be_done_from_the_table():
    """The printed row at position 2, three digits an entry, is enough for a right answer."""
    names = chapter()
    row = np.array([float(f"{x:.2e}") for x in names["step"].sum_1[2]])
    by_hand = [row.mean(), row.var(), (row[0] - row.mean()) / row.std()]
    assert check(by_hand, names["asked"], digits=2) == "Right."
    assert check([by_hand[0], row.var(ddof=1), by_hand[2]], names["asked"], digits=2).startswith("Not yet")


def test_the_wrong_bypass_differs_from_the_block():
    names = chapter()
    assert not np.allclose(names["wrong_bypass"](PROVERB.inputs, PROVERB.block), names["step"].output)


def test_the_published_stack_is_the_one_shown():
    names = chapter()
    assert np.array_equal(names["encoder"].output, stack(PROVERB.inputs, [PROVERB.block], PROVERB.norm_final).output)


@pytest.mark.parametrize("T, D, F, heads", [(7, 5, 4, 2), (3, 7, 11, 5), (1, 2, 3, 1)])
def test_drawings_follow_their_sizes(T, D, F, heads):
    route, inside = encoder_architecture.draw(T, D, 9, F, heads), pre_norm_block.draw(T, D, F, heads)
    assert f"{T} ids" in route.numbers and f"{T}x{D}" in route.numbers.replace("×", "x") and f"{heads} heads" in route.numbers
    assert f"{T}x{D}" in inside.numbers and f"{F} hidden" in inside.numbers
    words = [text.get_text() for text in inside.figure.axes[0].texts]
    assert f"every matrix is {T}×{D}" in words and any(f"MLP: {D} to {F}" in text for text in words)


def test_influence_drawing_says_what_it_shows():
    drawing = influence_maps.draw({"lower": np.tri(3, dtype=bool), "none": np.zeros((3, 3), dtype=bool)})
    assert "lower: row 0 moves with 0; row 1 moves with 0, 1; row 2 moves with 0, 1, 2" in drawing.numbers
    assert "none: row 0 moves with none" in drawing.numbers
