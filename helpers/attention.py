"""Scaled dot-product attention: one head, then several, with every intermediate kept by name.

Rows are positions.  Weights are stored output by input, so a map is `X @ W.T`.
Source: Vaswani et al. (2017), sections 3.2.1 (one head, equation 1) and 3.2.2 (several).
"""

from typing import NamedTuple

import numpy as np

from .checks import mask, matrix


class HeadMaps(NamedTuple):
    """The three projections of one head."""
    W_Q: np.ndarray  # (d_k, D)    what a query row looks for
    W_K: np.ndarray  # (d_k, D_s)  what a source row offers for matching
    W_V: np.ndarray  # (d_v, D_s)  what a source row hands over


class Head(NamedTuple):
    """Every step of one head: T_q queries read T_k sources."""
    queries: np.ndarray        # (T_q, d_k)
    keys: np.ndarray           # (T_k, d_k)
    values: np.ndarray         # (T_k, d_v)
    scores: np.ndarray         # (T_q, T_k)  dot products
    scaled_scores: np.ndarray  # (T_q, T_k)  divided by the square root of d_k
    allow: np.ndarray          # (T_q, T_k)  True where the query may read the source
    weights: np.ndarray        # (T_q, T_k)  rows sum to one
    output: np.ndarray         # (T_q, d_v)
    inputs: np.ndarray | None = None   # (T_q, D)    rows the queries were made from
    sources: np.ndarray | None = None  # (T_k, D_s)  rows the keys and values were made from
    maps: HeadMaps | None = None
    index: int | None = None           # the head's number, counted from one, in a group of heads

    @property
    def contributions(self):
        """What each source adds to each output row: weight times value, (T_q, T_k, d_v)."""
        return self.weights[:, :, None] * self.values[None, :, :]


class MultiHead(NamedTuple):
    """Several heads that read the same rows, joined and returned to model width."""
    heads: tuple[Head, ...]
    concatenation: np.ndarray  # (T_q, sum of d_v)
    W_O: np.ndarray            # (D, sum of d_v)
    projection: np.ndarray     # (T_q, D)


def causal_mask(T: int) -> np.ndarray:
    """`allow` for a row that may read itself and everything before it, (T, T)."""
    return np.tril(np.ones((T, T), dtype=bool))


def softmax(scores, allow=None) -> np.ndarray:
    """Turn each row of scores into weights over the allowed sources.

    scores: (T_q, T_k), any finite size.  allow: (T_q, T_k) Boolean, None for all.
    Rows sum to one, and an excluded source gets exactly zero.
    Taking off the row's largest allowed score changes nothing and keeps exp from overflowing.
    """
    scores = matrix("scores", scores)
    allow = mask(allow, *scores.shape)
    largest = np.where(allow, scores, -np.inf).max(axis=1, keepdims=True)
    exponentials = np.exp(np.where(allow, scores - largest, -np.inf))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def attend(Q, K, V, allow=None) -> Head:
    """Match queries to keys, normalize over the sources, and mix the values.

    Q: (T_q, d_k).  K: (T_k, d_k).  V: (T_k, d_v).  allow: (T_q, T_k) Boolean, None for all.
    Every output row is an average of value rows, so it stays within their range.
    Raises ValueError for mismatched sizes, a bad mask, or values that are not finite.
    """
    Q = matrix("Q", Q)                           # (T_q, d_k)
    T_q, d_k = Q.shape
    K = matrix("K", K, (None, d_k))              # (T_k, d_k)
    T_k = len(K)
    V = matrix("V", V, (T_k, None))              # (T_k, d_v)
    allow = mask(allow, T_q, T_k)
    scores = Q @ K.T                             # (T_q, T_k)
    scaled_scores = scores / np.sqrt(d_k)        # (T_q, T_k)
    weights = softmax(scaled_scores, allow)      # (T_q, T_k)
    return Head(Q, K, V, scores, scaled_scores, allow, weights, weights @ V)


def one_head(X, maps: HeadMaps, allow=None, source=None, index=None) -> Head:
    """Project rows into queries, keys and values, then attend.

    X: (T_q, D).  source: (T_k, D_s) for cross-attention, None to read X itself.
    Without a mask, reordering the rows of X reorders the output rows alike.
    Raises ValueError when a map does not fit the width of the rows it is applied to.
    """
    X = matrix("X", X)
    source = X if source is None else matrix("source", source)
    W_Q = matrix("W_Q", maps.W_Q, (None, X.shape[1]))
    W_K = matrix("W_K", maps.W_K, (len(W_Q), source.shape[1]))
    W_V = matrix("W_V", maps.W_V, (None, source.shape[1]))
    head = attend(X @ W_Q.T, source @ W_K.T, source @ W_V.T, allow)
    return head._replace(inputs=X, sources=source, maps=HeadMaps(W_Q, W_K, W_V), index=index)


def multi_head(X, heads, W_O, allow=None, source=None) -> MultiHead:
    """Run every head on the same rows, set their outputs side by side, and map back to model width.

    X: (T_q, D).  heads: a sequence of HeadMaps.  W_O: (D, sum of the heads' d_v).
    Raises ValueError for no head at all or a W_O that does not fit the joined width.
    """
    if not heads:
        raise ValueError("heads: wanted at least one head, got none")
    steps = tuple(one_head(X, maps, allow, source, i) for i, maps in enumerate(heads, start=1))
    concatenation = np.concatenate([head.output for head in steps], axis=1)  # (T_q, sum of d_v)
    W_O = matrix("W_O", W_O, (None, concatenation.shape[1]))
    return MultiHead(steps, concatenation, W_O, concatenation @ W_O.T)
