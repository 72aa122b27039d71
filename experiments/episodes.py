"""Episodes of the robot-command language, `BOS cue m_1 ... m_d RECALL cue EOS`.

An episode has d + 5 tokens and d + 4 predictions: each token but the last is an input, each but the
first a target.  The answer is due at RECALL, input position d + 2.
"""

import numpy as np

MOVEMENTS = ("north", "east", "south", "west")
VOCABULARY = (*MOVEMENTS, "BOS", "RECALL", "EOS")
BOS, RECALL, EOS = (VOCABULARY.index(word) for word in ("BOS", "RECALL", "EOS"))
SPLITS = {"training": 4096, "validation": 512, "test": 1024}  # episodes in each
CUE = 1  # the input position of the cue


def check_delay(delay) -> int:
    """Return a delay that is a whole number of at least one; ValueError otherwise."""
    if isinstance(delay, bool) or not isinstance(delay, (int, np.integer)) or delay < 1:
        raise ValueError(f"delay: wanted a whole number of at least 1, got {delay!r}")
    return int(delay)


def generator(data_seed: int, split: str, delay: int) -> np.random.Generator:
    """The random numbers of one split; the three seeds of the list keep every split to itself."""
    if split not in SPLITS:
        raise ValueError(f"split: wanted one of {', '.join(SPLITS)}, got {split!r}")
    return np.random.default_rng([data_seed, check_delay(delay), list(SPLITS).index(split)])


def episodes(delay: int, split: str, data_seed: int, count: int | None = None) -> np.ndarray:
    """Token ids of the episodes of one split, (N, d + 5).

    The cue and the d movements are independent and uniform over four, so only the cue tells the answer.
    Fewer (`count`) are the first of the same list.  Raises ValueError for an odd delay, split or count.
    """
    rng = generator(data_seed, split, delay)
    count = SPLITS[split] if count is None else count
    if not 0 < count <= SPLITS[split]:
        raise ValueError(f"count: wanted 1 to {SPLITS[split]} {split} episodes, got {count}")
    moves = rng.integers(len(MOVEMENTS), size=(SPLITS[split], 1 + delay))[:count]   # (N, 1 + d): cue, m_1, ..., m_d
    column = lambda token: np.full((count, 1), token)
    return np.hstack([column(BOS), moves, column(RECALL), moves[:, :1], column(EOS)])


def words(episode) -> str:
    """An episode, or any row of ids, in words."""
    return " ".join(VOCABULARY[token] for token in episode)
