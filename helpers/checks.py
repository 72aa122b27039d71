"""Checks at the door of every calculation: what was wanted, and what came."""

import numpy as np


def matrix(name: str, values, shape=(None, None)) -> np.ndarray:
    """Return `values` as a finite float64 array of the given shape (None fits any length).

    Raises ValueError naming the argument, the shape or values wanted, and what came instead.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape)) or 0 in array.shape:
        wanted, came = (" x ".join("any" if n is None else str(n) for n in s) or "a single number" for s in (shape, array.shape))
        raise ValueError(f"{name}: wanted shape {wanted}, got {came}")
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}: wanted finite numbers, got {array[place]} at {place}")
    return array


def mask(allow, T_q: int, T_k: int) -> np.ndarray:
    """Return `allow` as a Boolean (T_q, T_k) array; None allows every source.

    `allow[t, j]` True means query t may read source j.
    Raises ValueError for another type or shape, and for a query that may read nothing.
    """
    if allow is None:
        return np.ones((T_q, T_k), dtype=bool)
    allow = np.asarray(allow)
    if allow.dtype != bool:
        raise ValueError(f"allow: wanted True where a query may read a source, got values of type {allow.dtype}")
    if allow.shape != (T_q, T_k):
        raise ValueError(f"allow: wanted one row per query and one column per source, {(T_q, T_k)}, got {allow.shape}")
    if not allow.any(axis=1).all():
        empty = int(np.flatnonzero(~allow.any(axis=1))[0])
        raise ValueError(f"allow: wanted at least one source for each query, got none for query {empty}")
    return allow
