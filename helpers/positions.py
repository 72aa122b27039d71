"""Sinusoidal position vectors.  Source: Vaswani et al. (2017), section 3.5."""

import numpy as np


def frequencies(D: int, base: float = 10_000.0) -> np.ndarray:
    """Angular frequency of each feature in radians per position, (D,); neighbours 2i and 2i+1 share one."""
    return base ** (-2 * (np.arange(D) // 2) / D)


def sinusoidal_positions(T: int, D: int, base: float = 10_000.0) -> np.ndarray:
    """One row per position: sines at even features, cosines at odd ones, (T, D).

    An odd D leaves its last sine without a cosine.  Row 0 is 0, 1, 0, 1, ...
    Raises ValueError for a size that is not a positive whole number, or a base not above 1.
    """
    for name, size in (("T", T), ("D", D)):
        if not isinstance(size, (int, np.integer)) or size < 1:
            raise ValueError(f"{name}: wanted a whole number of at least 1, got {size!r}")
    if not base > 1:
        raise ValueError(f"base: wanted a number above 1, got {base!r}")
    angles = np.arange(T)[:, None] * frequencies(D, base)        # (T, D)
    return np.where(np.arange(D) % 2 == 0, np.sin(angles), np.cos(angles))
