"""The counts of the parameter audit, against PyTorch's own."""

from functools import cache

import numpy as np
import pytest
import torch
from chapters import namespace
from hypothesis import given, settings
from hypothesis import strategies as st

PAGE = "chapters/parameter_audit"
SMALL = {"D": 30, "N_head": 5, "F": 7, "N_layers": 2}
sizes = st.sampled_from([1, 2, 3, 5, 7])


@cache
def chapter():
    return namespace(PAGE, **SMALL)


@settings(max_examples=15, deadline=None)
@given(width=sizes, heads=sizes, F=sizes)
def test_leaves_are_torchs(width, heads, F):
    D = width * heads
    wanted = {name: tuple(p.shape) for name, p in torch.nn.TransformerEncoderLayer(D, heads, F).named_parameters()}
    leaves = chapter()["layer_leaves"](D, F)
    assert {leaf.library: leaf.shape for leaf in leaves} == wanted and len(leaves) == len(wanted)
    assert sum(leaf.count for leaf in leaves) == 4 * D * D + 2 * D * F + F + 9 * D


def test_printed_formulas_give_the_counts():
    for leaf in chapter()["layer_leaves"](5, 7):
        code = leaf.formula.strip("$").replace("D^2", "*25").replace("DF", "*35").replace("D", "*5").replace("F", "*7")
        assert eval(code.lstrip("*")) == leaf.count, leaf.library


@settings(max_examples=15, deadline=None)
@given(width=sizes, heads=sizes)
def test_attention_does_not_depend_on_heads(width, heads):
    D = width * heads
    for biases in (True, False):
        wanted = sum(p.numel() for p in torch.nn.MultiheadAttention(D, heads, bias=biases).parameters())
        assert chapter()["attention_parameters"](D, heads, biases) == wanted == chapter()["attention_parameters"](D, 1, biases)


@pytest.mark.parametrize("heads", [3, 0, -5, 2.5, "2"])
def test_heads_must_divide_the_width(heads):
    with pytest.raises(ValueError, match="h: wanted a divisor of the width 10, got"):
        chapter()["attention_parameters"](10, heads)


def test_activations_are_those_of_a_layer():
    B, T, D, heads, F = 3, 7, 10, 2, 11
    layer, rows = torch.nn.TransformerEncoderLayer(D, heads, F, batch_first=True), torch.randn(B, T, D)
    weights = layer.self_attn(rows, rows, rows, average_attn_weights=False)[1]
    assert chapter()["activation_entries"](T, D, heads, F, B) == {
        "parameters": sum(leaf.numel() for leaf in layer.parameters()), "rows": rows.numel(),
        "hidden": layer.linear1(rows).numel(), "scores": weights.numel()}


def test_multiply_adds_count_every_product():
    """Each part by the sizes of its matrix products, m k n for (m, k) times (k, n)."""
    T, D, heads, F = 7, 10, 5, 11
    d = D // heads
    parts = chapter()["multiply_add_counts"](T, D, F)
    assert parts["projections"] == 3 * heads * T * D * d + T * heads * d * D
    assert parts["scores and mixing"] == heads * (T * d * T + T * T * d)
    assert parts["MLP"] == T * D * F + T * F * D


@pytest.mark.parametrize("D, F", [(2, 7), (3, 11), (5, 4)])
def test_attention_overtakes_where_the_equation_says(D, F):
    for T in range(1, 30):
        part = chapter()["multiply_add_counts"](T, D, F)
        assert (part["scores and mixing"] > part["MLP"]) == (T > F)
        assert (part["projections"] + part["scores and mixing"] > part["MLP"]) == (T > F - 2 * D)


def test_tied_head_is_counted_once():
    count = chapter()["words_and_head"]
    assert count(7, 5, tied=True) == 35 and count(7, 5, tied=False) == 70


@pytest.mark.parametrize("inputs", [SMALL, {"D": 14, "N_head": 7, "F": 56, "N_layers": 3}])
def test_chapter_runs_on_other_inputs(inputs):
    names = namespace(PAGE, **inputs)
    D, F = inputs["D"], inputs["F"]
    assert names["total"] == 4 * D * D + 2 * D * F + F + 9 * D


def test_base_counts():
    by_hand = {"attention": 1_050_624, "MLP": 2_099_712, "norms": 2_048}
    for group, count in by_hand.items():
        assert sum(leaf.count for leaf in chapter()["layer_leaves"](512, 2048) if leaf.group == group) == count
    assert sum(by_hand.values()) == 3_152_384 and 6 * sum(by_hand.values()) == 18_914_304
