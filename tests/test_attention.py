"""helpers/attention.py and helpers/checks.py: closed forms, PyTorch, properties on random shapes, bad input."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import HeadMaps, PROVERB, attend, causal_mask, multi_head, one_head, softmax
from helpers.checks import mask, matrix

E = np.e
T_Q, T_K, D, D_S, D_K, D_V = 5, 7, 11, 13, 3, 2  # unequal primes: a swapped axis cannot pass
few = settings(max_examples=30, deadline=None)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def some_mask(seed, T_q, T_k):
    """A random mask in which every query may read at least one source."""
    rng = np.random.default_rng(seed)
    allow = rng.random((T_q, T_k)) < 0.5
    allow[np.arange(T_q), rng.integers(T_k, size=T_q)] = True
    return allow


def maps(seed=0, D=D, D_s=D_S, d_k=D_K, d_v=D_V):
    return HeadMaps(normal(seed, d_k, D), normal(seed + 1, d_k, D_s), normal(seed + 2, d_v, D_s))


def in_torch(Q, K, V, allow=None):
    Q, K, V = map(torch.tensor, (Q, K, V))
    allow = None if allow is None else torch.tensor(allow)
    return torch.nn.functional.scaled_dot_product_attention(Q, K, V, attn_mask=allow).numpy()


sizes = st.sampled_from([1, 2, 3, 5, 7])
seeds = st.integers(0, 2**32 - 1)
problems = st.tuples(seeds, sizes, sizes, sizes, sizes)  # seed, T_q, T_k, d_k, d_v


def problem(seed, T_q, T_k, d_k, d_v):
    return normal(seed, T_q, d_k), normal(seed + 1, T_k, d_k), normal(seed + 2, T_k, d_v), some_mask(seed, T_q, T_k)


# Closed forms

def test_softmax_of_zero_and_one():
    np.testing.assert_allclose(softmax([[0, 1]]), [[1 / (1 + E), E / (1 + E)]], rtol=1e-15)


def test_softmax_of_logarithms_gives_their_ratio():
    np.testing.assert_allclose(softmax(np.log([[1, 2, 3]])), [[1 / 6, 2 / 6, 3 / 6]], rtol=1e-14)


def test_softmax_with_a_mask_divides_by_the_allowed_sum():
    np.testing.assert_allclose(softmax(np.log([[1, 2, 3]]), [[True, True, False]]), [[1 / 3, 2 / 3, 0]], rtol=1e-14)


@pytest.mark.parametrize("size", [1e4, -1e4, 1e300])
def test_large_scores_stay_finite(size):
    np.testing.assert_allclose(softmax([[size, size, size]]), [[1 / 3, 1 / 3, 1 / 3]], rtol=1e-15)


def test_large_scores_keep_their_differences():
    np.testing.assert_allclose(softmax([[1e4, 1e4 + 1, 0]]), [[1 / (1 + E), E / (1 + E), 0]], rtol=1e-11)


def test_a_hidden_score_may_be_far_above_the_allowed_ones():
    """The largest allowed score is subtracted: with the largest of all, both exponentials would be zero."""
    np.testing.assert_allclose(softmax([[1e4, 0, 1]], [[False, True, True]]), [[0, 1 / (1 + E), E / (1 + E)]], rtol=1e-15)


def test_scores_are_divided_by_the_root_of_d_k_and_of_nothing_else():
    """Width 4, model width 9: a dot product of 2 becomes a score of 1."""
    X = np.zeros((2, 9))
    X[0, 0], X[1, 0] = 1, 2
    W = np.zeros((4, 9))
    W[0, 0] = 1
    head = one_head(X, HeadMaps(W, W, W))
    assert head.scores.tolist() == [[1, 2], [2, 4]]
    assert head.scaled_scores.tolist() == [[0.5, 1], [1, 2]]
    np.testing.assert_allclose(head.weights[1], [1 / (1 + E), E / (1 + E)], rtol=1e-15)


def test_output_of_a_two_source_head():
    head = attend([[1.0]], [[0], [1]], [[10, 0], [20, 1]])
    np.testing.assert_allclose(head.output, [[(10 + 20 * E) / (1 + E), E / (1 + E)]], rtol=1e-15)


def test_one_position_reads_itself():
    X, W = normal(0, 1, D), maps(D_s=D)
    head = one_head(X, W, causal_mask(1))
    assert head.weights.tolist() == [[1.0]]
    np.testing.assert_array_equal(head.output, X @ W.W_V.T)


def test_causal_mask():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert causal_mask(1).tolist() == [[True]] and causal_mask(4).dtype == bool


# The record

def test_every_step_has_its_shape_and_is_kept():
    X, source, W, allow = normal(0, T_Q, D), normal(1, T_K, D_S), maps(), some_mask(0, T_Q, T_K)
    head = one_head(X, W, allow, source=source, index=2)
    shapes = {"queries": (T_Q, D_K), "keys": (T_K, D_K), "values": (T_K, D_V), "scores": (T_Q, T_K), "output": (T_Q, D_V),
              "scaled_scores": (T_Q, T_K), "weights": (T_Q, T_K), "allow": (T_Q, T_K), "contributions": (T_Q, T_K, D_V)}
    assert {name: getattr(head, name).shape for name in shapes} == shapes
    np.testing.assert_array_equal(head.inputs, X)
    np.testing.assert_array_equal(head.sources, source)
    assert head.index == 2 and all(np.array_equal(a, b) for a, b in zip(head.maps, W))


def test_steps_follow_from_one_another_entry_by_entry():
    X, source, W, allow = normal(0, T_Q, D), normal(1, T_K, D_S), maps(), some_mask(0, T_Q, T_K)
    head = one_head(X, W, allow, source=source)
    for t in range(T_Q):
        total = sum(np.exp(head.scaled_scores[t, r]) for r in range(T_K) if allow[t, r])
        for j in range(T_K):
            q, k = W.W_Q @ X[t], W.W_K @ source[j]
            assert head.scores[t, j] == pytest.approx(sum(q * k), abs=1e-12)
            assert head.scaled_scores[t, j] == pytest.approx(sum(q * k) / D_K**0.5, abs=1e-12)
            assert head.weights[t, j] == pytest.approx(allow[t, j] * np.exp(head.scaled_scores[t, j]) / total, abs=1e-14)
            np.testing.assert_allclose(head.contributions[t, j], head.weights[t, j] * (W.W_V @ source[j]), atol=1e-13)
    np.testing.assert_allclose(head.contributions.sum(axis=1), head.output, atol=1e-13)


def test_nothing_is_changed_in_place():
    X, W, allow = normal(0, T_Q, D), maps(D_s=D), causal_mask(T_Q)
    before = [array.copy() for array in (X, *W, allow)]
    one_head(X, W, allow)
    for array, copy in zip((X, *W, allow), before):
        np.testing.assert_array_equal(array, copy)


def test_integers_are_computed_in_float64():
    head = attend([[1, 0]], [[1, 0], [0, 1]], [[1], [2]])
    assert {head.queries.dtype, head.weights.dtype, head.output.dtype} == {np.dtype(np.float64)}


# PyTorch

@given(problems)
@few
def test_equals_scaled_dot_product_attention(sizes):
    Q, K, V, allow = problem(*sizes)
    np.testing.assert_allclose(attend(Q, K, V).output, in_torch(Q, K, V), rtol=0, atol=1e-12)
    np.testing.assert_allclose(attend(Q, K, V, allow).output, in_torch(Q, K, V, allow), rtol=0, atol=1e-12)


@given(seeds, sizes, sizes, sizes)
@few
def test_causal_equals_the_switch_of_pytorch(seed, T, d_k, d_v):
    Q, K, V = normal(seed, T, d_k), normal(seed + 1, T, d_k), normal(seed + 2, T, d_v)
    theirs = torch.nn.functional.scaled_dot_product_attention(*map(torch.tensor, (Q, K, V)), is_causal=True)
    np.testing.assert_allclose(attend(Q, K, V, causal_mask(T)).output, theirs.numpy(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("index", range(len(PROVERB.heads)))
@pytest.mark.parametrize("allow", [None, causal_mask(len(PROVERB.tokens))], ids=["unrestricted", "causal"])
def test_heads_of_the_example_equal_pytorch(index, allow):
    head = one_head(PROVERB.inputs, PROVERB.heads[index], allow)
    theirs = in_torch(head.queries, head.keys, head.values, allow)
    np.testing.assert_allclose(head.output, theirs, rtol=0, atol=1e-12)


def test_cross_attention_equals_pytorch():
    X, source, W, allow = normal(0, T_Q, D), normal(1, T_K, D_S), maps(), some_mask(3, T_Q, T_K)
    head = one_head(X, W, allow, source=source)
    theirs = in_torch(X @ W.W_Q.T, source @ W.W_K.T, source @ W.W_V.T, allow)
    np.testing.assert_allclose(head.output, theirs, rtol=0, atol=1e-12)


# Properties

@given(problems)
@few
def test_rows_sum_to_one_and_hidden_entries_are_exactly_zero(sizes):
    Q, K, V, allow = problem(*sizes)
    weights = attend(Q, K, V, allow).weights
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-14)
    assert (weights[~allow] == 0).all() and (weights[allow] > 0).all()


@given(problems)
@few
def test_outputs_stay_within_the_range_of_the_allowed_values(sizes):
    Q, K, V, allow = problem(*sizes)
    output = attend(Q, K, V, allow).output
    for t, row in enumerate(output):
        assert (V[allow[t]].min(axis=0) - 1e-12 <= row).all() and (row <= V[allow[t]].max(axis=0) + 1e-12).all()


@given(problems, st.floats(-50, 50))
@few
def test_a_shift_of_a_row_of_scores_changes_no_weight(sizes, shift):
    Q, K, _, allow = problem(*sizes)
    scores = Q @ K.T
    np.testing.assert_allclose(softmax(scores + shift, allow), softmax(scores, allow), rtol=0, atol=1e-12)


@given(problems)
@few
def test_hidden_sources_do_not_count(sizes):
    """Whatever stands in a hidden source, and even leaving it out, gives the same output row."""
    Q, K, V, allow = problem(*sizes)
    output = attend(Q, K, V, allow).output
    for t in range(len(Q)):
        K_other, V_other = K.copy(), V.copy()
        K_other[~allow[t]], V_other[~allow[t]] = 1e4, -1e4
        np.testing.assert_array_equal(attend(Q, K_other, V_other, allow).output[t], output[t])
        alone = attend(Q[t:t + 1], K[allow[t]], V[allow[t]]).output[0]
        np.testing.assert_allclose(alone, output[t], rtol=0, atol=1e-12)


@given(seeds, sizes, st.data())
@few
def test_no_future_leak(seed, T, data):
    """A change of the rows from j on leaves every earlier causal output exactly as it was."""
    X, W = 0.2 * normal(seed, T, D), maps(seed % 1000, D_s=D)  # small rows: no weight is lost to rounding
    j = data.draw(st.integers(0, T - 1))
    other = X.copy()
    other[j:] = 0.2 * normal(seed + 1, T - j, D)
    plain, moved = (one_head(rows, W, causal_mask(T)).output for rows in (X, other))
    np.testing.assert_array_equal(moved[:j], plain[:j])
    assert np.abs(moved[j] - plain[j]).max() > 0
    if j:
        everyone = np.abs(one_head(other, W).output - one_head(X, W).output).max(axis=1)
        assert (everyone[:j] > 0).all(), "without the mask the same change reaches every row"


@given(seeds, sizes)
@few
def test_permuted_rows_give_permuted_outputs(seed, T):
    X, W, order = normal(seed, T, D), maps(seed % 1000, D_s=D), np.random.default_rng(seed).permutation(T)
    head, moved = one_head(X, W), one_head(X[order], W)
    np.testing.assert_allclose(moved.output, head.output[order], rtol=0, atol=1e-12)
    np.testing.assert_allclose(moved.weights, head.weights[order][:, order], rtol=0, atol=1e-12)
    masked = one_head(X, W, causal_mask(T)).output
    together = one_head(X[order], W, causal_mask(T)[order][:, order]).output
    np.testing.assert_allclose(together, masked[order], rtol=0, atol=1e-12)


def test_a_causal_mask_breaks_the_equivariance():
    X, W, order = normal(0, T_K, D), maps(D_s=D), np.arange(T_K)[::-1]
    plain, moved = (one_head(rows, W, causal_mask(T_K)).output for rows in (X, X[order]))
    assert np.abs(moved - plain[order]).max() > 0.1


@given(problems)
@few
def test_order_of_sources_does_not_matter(sizes):
    Q, K, V, allow = problem(*sizes)
    order = np.random.default_rng(sizes[0]).permutation(len(K))
    np.testing.assert_allclose(attend(Q, K[order], V[order], allow[:, order]).output, attend(Q, K, V, allow).output,
                               rtol=0, atol=1e-12)


def test_equal_keys_average_the_values():
    head = attend(normal(0, T_Q, D_K), np.ones((T_K, D_K)), V := normal(1, T_K, D_V))
    np.testing.assert_allclose(head.output, np.tile(V.mean(axis=0), (T_Q, 1)), rtol=0, atol=1e-14)


def test_heads_of_unequal_widths_are_joined_in_order():
    X, source = normal(0, T_Q, D), normal(1, T_K, D_S)
    several = (maps(0), maps(10, d_k=2, d_v=5))
    W_O, allow = normal(2, D, D_V + 5), some_mask(4, T_Q, T_K)
    joined = multi_head(X, several, W_O, allow, source)
    alone = [one_head(X, W, allow, source) for W in several]
    np.testing.assert_array_equal(joined.concatenation, np.hstack([head.output for head in alone]))
    np.testing.assert_allclose(joined.projection, joined.concatenation @ W_O.T, rtol=0, atol=1e-14)
    assert [head.index for head in joined.heads] == [1, 2] and joined.projection.shape == (T_Q, D)


# Bad input: the argument, what was wanted, what came

Q, K, V = normal(0, T_Q, D_K), normal(1, T_K, D_K), normal(2, T_K, D_V)
spoiled = V.copy()
spoiled[3, 1] = np.inf
empty = np.ones((T_Q, T_K), dtype=bool)
empty[2] = False
X = normal(0, T_Q, D)
faults = {
    "one row": (lambda: attend(Q[0], K, V), r"Q: wanted shape any x any, got 3"),
    "no rows": (lambda: attend(Q[:0], K, V), r"Q: wanted shape any x any, got 0 x 3"),
    "key width": (lambda: attend(Q, normal(0, T_K, 2), V), r"K: wanted shape any x 3, got 7 x 2"),
    "value rows": (lambda: attend(Q, K, V[:-1]), r"V: wanted shape 7 x any, got 6 x 2"),
    "infinity": (lambda: attend(Q, K, spoiled), r"V: wanted finite numbers, got inf at \(3, 1\)"),
    "not a number": (lambda: attend(Q * np.nan, K, V), r"Q: wanted finite numbers, got nan at \(0, 0\)"),
    "mask of numbers": (lambda: attend(Q, K, V, np.ones((T_Q, T_K))), r"allow: wanted True where .*, got values of type float64"),
    "mask turned round": (lambda: attend(Q, K, V, empty.T), r"allow: wanted one row per query .*\(5, 7\), got \(7, 5\)"),
    "one mask row": (lambda: attend(Q, K, V, empty[0]), r"allow: wanted one row per query .*\(5, 7\), got \(7,\)"),
    "no source": (lambda: attend(Q, K, V, empty), r"allow: wanted at least one source for each query, got none for query 2"),
    "scores": (lambda: softmax([1, 2]), r"scores: wanted shape any x any, got 2"),
    "scores, mask": (lambda: softmax([[1, 2]], [[False, False]]), r"allow: wanted at least one source .* query 0"),
    "masked scores": (lambda: softmax([[1, -np.inf]]), r"scores: wanted finite numbers, got -inf at \(0, 1\)"),
    "query map": (lambda: one_head(X, maps(D=D - 1)), r"W_Q: wanted shape any x 11, got 3 x 10"),
    "key map": (lambda: one_head(X, maps()), r"W_K: wanted shape 3 x 11, got 3 x 13"),
    "key and query": (lambda: one_head(X, maps(D_s=D)._replace(W_K=normal(0, 2, D))), r"W_K: wanted shape 3 x 11, got 2 x 11"),
    "value map": (lambda: one_head(X, maps(D_s=D)._replace(W_V=normal(0, 2, 4))), r"W_V: wanted shape any x 11, got 2 x 4"),
    "source": (lambda: one_head(X, maps(), source=normal(0, D_S)), r"source: wanted shape any x any, got 13"),
    "no heads": (lambda: multi_head(X, (), normal(0, D, 2)), r"heads: wanted at least one head, got none"),
    "W_O": (lambda: multi_head(X, (maps(D_s=D),), normal(0, D, 3)), r"W_O: wanted shape any x 2, got 11 x 3"),
}


@pytest.mark.parametrize("name", faults)
def test_bad_input_is_named(name):
    call, message = faults[name]
    with pytest.raises(ValueError, match="^" + message + "$"):
        call()


# The checks themselves

def test_matrix_returns_float64_and_keeps_the_numbers():
    given_rows = [[1, 2, 3], [4, 5, 6]]
    array = matrix("rows", given_rows, (2, 3))
    assert array.dtype == np.float64 and array.tolist() == given_rows
    assert matrix("number", 3.0, ()).shape == () and matrix("row", [1, 2], (None,)).shape == (2,)


@given(st.lists(sizes, min_size=1, max_size=3), st.data())
@few
def test_matrix_accepts_what_fits_and_nothing_else(shape, data):
    array = np.zeros(shape)
    wanted = [None if data.draw(st.booleans()) else n for n in shape]
    assert matrix("a", array, tuple(wanted)).shape == tuple(shape)
    place = data.draw(st.integers(0, len(shape) - 1))
    wanted[place] = shape[place] + 1
    with pytest.raises(ValueError, match="^a: wanted shape"):
        matrix("a", array, tuple(wanted))
    with pytest.raises(ValueError, match="^a: wanted shape"):
        matrix("a", array, (*[None] * len(shape), None))


def test_matrix_names_a_wanted_single_number():
    with pytest.raises(ValueError, match=r"^a: wanted shape a single number, got 2$"):
        matrix("a", [1, 2], ())


def test_mask_defaults_to_everything():
    allow = mask(None, T_Q, T_K)
    assert allow.shape == (T_Q, T_K) and allow.dtype == bool and allow.all()


@pytest.mark.parametrize("values", [np.ones((2, 2)), np.ones((2, 2), dtype=int), [[0, 1], [1, 1]], [["a", "b"], ["c", "d"]]])
def test_mask_takes_no_other_type(values):
    with pytest.raises(ValueError, match="^allow: wanted True where a query may read a source, got values of type"):
        mask(values, 2, 2)
