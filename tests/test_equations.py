"""`explain` prints arithmetic that is true: its TeX is parsed, evaluated and compared with the record.

Three things are checked for an entry: its symbol and its formula, evaluated on the record's arrays, are the entry;
its numbers, taken as the intervals that rounding leaves open, contain it; and so does the printed result.
"""

import re
from itertools import product

import numpy as np
import pytest
from arithmetic import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import (PROVERB, BlockWeights, Example, HeadMaps, MLPWeights, NormWeights, attend, block, causal_mask,
                     equations, explain, frequencies, layer_norm, mlp, multi_head, one_head, stack, vector)

few = settings(max_examples=12, deadline=None)
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 4)


def draw(seed, *shape):
    """Random numbers; for odd seeds multiples of a quarter, which are printed without rounding."""
    random = np.random.default_rng(seed)
    return random.integers(-6, 7, size=shape) / 4 if seed % 2 else random.normal(size=shape) * 10.0 ** random.integers(-3, 1)


def meanings(record, row) -> dict:
    """The arrays that the symbols of a record's equations stand for; `allow` holds for one row."""
    kind = type(record).__name__
    if kind == "Example":
        D = record.embedded.shape[1]
        return {"P": record.positions, "E": record.embedded, "H^{(0)}": record.inputs,
                r"\omega": frequencies(D, record.base)}
    if kind == "Head":
        up = "" if record.index is None else f"^{{[{record.index}]}}"
        named = {"Q": record.queries, "K": record.keys, "V": record.values, "S": record.scaled_scores,
                 "A": record.weights, "O": record.output,
                 "q": record.queries, "k": record.keys, "v": record.values}  # in bold: one row
        maps = {f"W{up}_{letter}": W for letter, W in zip("QKV", record.maps or ())}
        sizes = {"d_k": record.queries.shape[1], "allow": record.allow[row % len(record.allow)]}
        return {name + up: array for name, array in named.items()} | maps | sizes
    if kind == "MultiHead":
        outputs = {f"O^{{[{head.index}]}}": head.output for head in record.heads}
        return outputs | {"C": record.concatenation, "W_O": record.W_O, r"B_\mathrm{att}": record.projection}
    if kind == "LayerNorm":
        gamma, beta, eps = record.norm
        return {"h": record.inputs, r"\mu": record.mean, r"\sigma^2": record.variance, r"\gamma": gamma, r"\beta": beta,
                r"\epsilon": eps, "D": record.inputs.shape[1], "L": record.output}
    if kind == "MLP":
        W_1, b_1, W_2, b_2 = record.weights
        return {"R": record.inputs, "Z": record.preactivations, "J": record.hidden, r"B_\mathrm{mlp}": record.output,
                "W_1": W_1, "b_1": b_1, "W_2": W_2, "b_2": b_2}
    arrays = {"H": record.inputs, "U": record.sum_1, r"B_\mathrm{att}": record.attention.projection,
              r"B_\mathrm{mlp}": record.mlp.output}
    return arrays | ({"H'": record.sum_2} if record.placement == "pre" else {"R": record.norm_1.output, "Y": record.sum_2})


def near(interval, truth, slack=1e-9):
    """Whether an interval, widened by the float64 noise of a few operations, contains the true value."""
    room = slack * (1 + np.abs(truth))
    return bool(np.all(interval.low - room <= truth) and np.all(truth <= interval.high + room))


def parts(tex: str):
    """Symbol, formula, then the sign and the expression of each further line."""
    body = tex.removeprefix("\\begin{aligned}\n").removesuffix("\n\\end{aligned}")
    first, *rest = re.split(r" \\\\\n&(?=(?:=|\\approx) )", body)
    symbol, formula = first.split(" &= ")
    symbol = re.sub(r"\\mathrm\{LN\}\(\\mathbf\{h\}_\{(\d+)\}\)_\{(\d+)\}", r"L_{\1,\2}", symbol)
    return symbol, re.sub(r" \\quad \\text\{[^}]*\}", "", formula), [line.split(" ", 1) for line in rest]


def verify(record, name, entry, **more):
    """Check every line of one worked equation; raise AssertionError that says which line is wrong."""
    equation = explain(record, name, *entry)
    truth = getattr(record, name)[entry]
    symbol, formula, lines = parts(equation.data)
    for what, tex in (("symbol", symbol), ("formula", formula)):
        found = evaluate(tex, meanings(record, entry[0]) | more)
        assert near(found, truth), f"{name} {entry}: the {what} {tex} is {found.low}, not {truth}"
    assert 1 <= len(lines) <= 2, "numbers and a result, or one line when they are the same"
    for sign, tex in lines:
        found = evaluate(tex)
        assert near(found, truth), f"{name} {entry}: {tex} lies in {found.low} to {found.high}, not at {truth}"
        if sign == "=":
            assert near(evaluate(tex, rounded=False), truth), f"{name} {entry}: {tex} is not exact"
    assert np.all(equation.value == truth)


def entries(values):
    return product(*map(range, values.shape[:2]))


def verify_all(record, **more):
    for name in equations._EXPLAINED[type(record)]:
        for entry in entries(getattr(record, name)):
            verify(record, name, entry, **more)


def random_maps(seed, d_k, d_v, D):
    return HeadMaps(draw(seed + 2, d_k, D), draw(seed + 4, d_k, D), draw(seed + 6, d_v, D))


def random_norm(seed, D):
    return NormWeights(draw(seed + 8, D), draw(seed + 10, D))


def random_mask(seed, T_q, T_k):
    allow = np.random.default_rng(seed).random((T_q, T_k)) < 0.6
    allow[np.arange(T_q), np.arange(T_q) % T_k] = True
    return allow


@few
@given(seeds, sizes, st.integers(1, 5), st.floats(2, 1e5))
def test_example(seed, T, D, base):
    words = tuple("abcd")[:T]
    verify_all(Example(words, words, draw(seed, T, D), (), np.zeros((D, 1)), *[None] * 4, base=base))


@few
@given(seeds, sizes, sizes, sizes, sizes, st.integers(1, 5))
def test_head(seed, T_q, T_k, d_k, d_v, D):
    """Cross-attention with unequal widths and a mask; in the formulas of keys and values X is the source."""
    maps, allow = random_maps(seed, d_k, d_v, D), random_mask(seed, T_q, T_k)
    head = one_head(draw(seed, T_q, D), maps, allow, draw(seed + 12, T_k, D))
    for name in equations._EXPLAINED[type(head)]:
        for entry in entries(getattr(head, name)):
            verify(head, name, entry, X=head.inputs if name == "queries" else head.sources)


@few
@given(seeds, sizes, sizes, st.integers(1, 4))
def test_several_heads(seed, T, D, n):
    maps = [random_maps(seed + 100 * i, 1 + i, 1 + (i + n) % 3, D) for i in range(n)]
    joined = sum(len(W_V) for _, _, W_V in maps)
    multi = multi_head(draw(seed, T, D), maps, draw(seed + 14, D, joined), causal_mask(T))
    verify_all(multi)
    for head in multi.heads:
        verify_all(head, X=head.inputs)


@few
@given(seeds, sizes, st.integers(2, 5))
def test_layer_norm(seed, T, D):
    verify_all(layer_norm(draw(seed, T, D), random_norm(seed, D)))


def random_mlp(seed, D, F):
    return MLPWeights(draw(seed + 16, F, D), draw(seed + 18, F), draw(seed + 20, D, F), draw(seed + 22, D))


@few
@given(seeds, sizes, sizes, sizes)
def test_mlp(seed, T, D, F):
    verify_all(mlp(draw(seed, T, D), random_mlp(seed, D, F)))


@few
@given(seeds, sizes, st.integers(2, 4), sizes, st.sampled_from(["pre", "post"]))
def test_block(seed, T, D, F, placement):
    maps = [random_maps(seed, 2, 1, D), random_maps(seed + 24, 1, 2, D)]
    weights = BlockWeights(random_norm(seed, D), maps, draw(seed + 32, D, 3), random_norm(seed + 34, D),
                           random_mlp(seed, D, F))
    step = block(draw(seed, T, D), weights, placement=placement)
    verify_all(step)
    verify_all(step.norm_1)
    verify_all(step.mlp)


def test_the_example_of_the_book():
    """Every entry that a reader can ask for in the worked example, with the multi-head block around it."""
    verify_all(PROVERB)
    multi = multi_head(PROVERB.inputs, PROVERB.heads, PROVERB.W_O)
    verify_all(multi)
    for head in multi.heads:
        verify_all(head, X=head.inputs)
    step = stack(PROVERB.inputs, [PROVERB.block], PROVERB.norm_final).blocks[0]
    for record in (step, step.norm_1, step.norm_2, step.mlp):
        verify_all(record)


WRONG = {  # what to do to (symbol, formula, numbers, operands) so that the page would be wrong
    "another row in the symbol": lambda s, f, n, o: (s.replace("_{6}", "_{5}"), f, n, o),
    "another head in the symbol": lambda s, f, n, o: (s.replace("[2]", "[1]"), f, n, o),
    "another source in the formula": lambda s, f, n, o: (s, f.replace("K^{[2]}_{1,", "K^{[2]}_{0,"), n, o),
    "query and key exchanged": lambda s, f, n, o: (s, f.replace("Q", "*").replace("K", "Q").replace("*", "K"), n, o),
    "a term left out": lambda s, f, n, o: (s, f, n.rpartition(" + ")[0], o),
    "a sign changed": lambda s, f, n, o: (s, f, n.replace("+", "-", 1), o),
    "a digit changed": lambda s, f, n, o: (s, f, n.replace("0.789", "0.798"), o),
    "rounded but called exact": lambda s, f, n, o: (s, f, n, 0),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_equation_is_caught(fault, monkeypatch):
    head = multi_head(PROVERB.inputs, PROVERB.heads, PROVERB.W_O).heads[1]
    verify(head, "scores", (6, 1))
    right = equations._score
    monkeypatch.setitem(equations._EXPLAINED[type(head)], "scores", lambda *at: WRONG[fault](*right(*at)))
    assert WRONG[fault](*right(head, 6, 1))[:3] != right(head, 6, 1)[:3] or fault == "rounded but called exact"
    with pytest.raises((AssertionError, KeyError)):
        verify(head, "scores", (6, 1))


@pytest.mark.parametrize("name, entry", [("scores", (6, 1)), ("scaled_scores", (6, 1)), ("weights", (6, 1)),
                                         ("contributions", (6, 1)), ("output", (6, 1)), ("keys", (6, 1))])
def test_operands_of_a_neighbouring_entry_are_caught(name, entry, monkeypatch):
    """The commonest slip: every line is right, for the entry next door."""
    head = multi_head(PROVERB.inputs, PROVERB.heads, PROVERB.W_O).heads[0]
    right = equations._EXPLAINED[type(head)][name]
    verify(head, name, entry, X=head.inputs)
    monkeypatch.setitem(equations._EXPLAINED[type(head)], name, lambda head, t, j: right(head, t, j + 1))
    with pytest.raises(AssertionError):
        verify(head, name, entry, X=head.inputs)


def test_intervals_are_as_wide_as_rounding_and_no_wider():
    assert (evaluate("0.650").low, evaluate("0.650").high) == pytest.approx((0.6495, 0.6505), abs=1e-15)
    assert evaluate("0.65").low == evaluate("0.65").high == 0.65
    assert evaluate(r"(1.23)(2) + (-0.5)").high == pytest.approx(1.235 * 2 - 0.5)
    assert evaluate(r"(-0.500)^2").low == pytest.approx(0.4995**2)
    assert evaluate(r"\frac{e^{1.00}}{e^{1.00} + e^{2}}").high == pytest.approx(np.exp(1.005) / (np.exp(0.995) + np.exp(2)))
    assert evaluate(r"1.50\times10^{-5}").low == pytest.approx(1.495e-5)
    assert evaluate(r"1{,}234").low == 1233.5
    assert evaluate(r"\max(0,\ -0.250)").high == 0
    assert evaluate(r"(2)\,({1},\ {-0.5})").low.tolist() == [[2, -1]]
    with pytest.raises(AssertionError, match="cannot read"):
        evaluate(r"\widehat{y}")


def test_exact_operands_are_joined_by_an_equals_sign():
    head = attend([[0.5, 1]], [[2, 0.25]], [[1]])
    assert explain(head, "scores", 0, 0).data.count("=") == 3
    assert explain(head, "scaled_scores", 0, 0).data.count(r"\approx") == 1, "1.25 / sqrt(2) is not exact"


def test_numbers_that_are_the_result_are_not_written_twice():
    multi = multi_head(PROVERB.inputs, PROVERB.heads, PROVERB.W_O)
    assert explain(multi, "concatenation", 6, 3).data.count(r"\approx") == 1


def test_a_masked_source_has_weight_zero_and_says_why():
    head = one_head(PROVERB.inputs, PROVERB.heads[0], causal_mask(7))
    equation = explain(head, "weights", 1, 4)
    assert equation.value == 0 and "query 1 may not read source 4" in equation.data
    assert r"\text{allowed}" in explain(head, "weights", 1, 0).data
    assert r"\text{allowed}" not in explain(head, "weights", 6, 0).data, "the last query may read every source"


@pytest.mark.parametrize("name", equations._EXPLAINED[type(attend([[1]], [[1]], [[1]]))])
def test_no_double_superscript(name):
    """MathJax and TeX refuse a^b_c^d, so a transposed symbol with a head number needs braces."""
    head = multi_head(PROVERB.inputs, PROVERB.heads, PROVERB.W_O).heads[0]
    script = r"[\^_](?:\{[^{}]*\}|\w|\\top)"
    for scripts in re.findall(rf"(?:{script})+", explain(head, name, 0, 0).data):
        assert scripts.count("^") <= 1 and scripts.count("_") <= 1, scripts


def test_vector():
    assert vector("x", [0.5, 2]).data == r"x = ({0.5},\ {2})"
    assert vector("x", [1 / 3, 2]).data == r"x \approx ({0.333},\ {2})"
    assert vector("x", [0.5])._repr_latex_() == "$$\nx = ({0.5})\n$$"


def test_unknown_record():
    with pytest.raises(ValueError, match=r"record: wanted one of Example, Head, .*, got ndarray"):
        explain(PROVERB.inputs, "scores", 0, 0)


def test_unknown_step():
    with pytest.raises(ValueError, match="name: wanted one of positions, inputs, got 'scores'"):
        explain(PROVERB, "scores", 0, 0)


@pytest.mark.parametrize("row, column, message", [
    (7, 0, "row: wanted a whole number from 0 to 6 for inputs, got 7"),
    (-1, 0, "row: wanted a whole number from 0 to 6 for inputs, got -1"),
    (0, 5, "column: wanted a whole number from 0 to 4 for inputs, got 5"),
    (0, None, "column: wanted a whole number from 0 to 4 for inputs, got None"),
    (0.0, 1, "row: wanted a whole number from 0 to 6 for inputs, got 0.0"),
])
def test_unknown_entry(row, column, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        explain(PROVERB, "inputs", row, column)


def test_projections_need_the_rows_they_were_made_from():
    with pytest.raises(ValueError, match="record: wanted a head with the rows it was made from"):
        explain(attend([[1]], [[1]], [[1]]), "queries", 0, 0)
