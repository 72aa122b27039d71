"""The worked example: a sentence, its vocabulary, and small untrained weights chosen for hand arithmetic."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .attention import HeadMaps
from .checks import matrix
from .encoder import BlockWeights, MLPWeights, NormWeights
from .positions import sinusoidal_positions


@dataclass(frozen=True, eq=False)
class Example:
    """A sentence and everything the chapters compute on it.

    Change the sentence with `with_tokens`, anything else with `dataclasses.replace`.
    Raises ValueError for no tokens, a token outside the vocabulary, or an embedding of another size.
    """

    tokens: tuple[str, ...]        # T words in reading order
    vocabulary: tuple[str, ...]    # K distinct words; a word's id is its place here
    embedding: np.ndarray          # (K, D)  one row per vocabulary word
    heads: tuple[HeadMaps, ...]    # projections of each head
    W_O: np.ndarray                # (D, sum of d_v)
    norm_1: NormWeights            # before attention
    norm_2: NormWeights            # before the MLP
    mlp: MLPWeights
    norm_final: NormWeights        # after the last block
    base: float = 10_000.0         # sets the slowest position frequency

    def __post_init__(self):
        if not self.tokens:
            raise ValueError("tokens: wanted at least one word, got none")
        for t, token in enumerate(self.tokens):
            if token not in self.vocabulary:
                raise ValueError(f"tokens: wanted words of the vocabulary ({', '.join(self.vocabulary)}), "
                                 f"got {token!r} at position {t}")
        matrix("embedding", self.embedding, (len(self.vocabulary), None))

    def with_tokens(self, tokens) -> "Example":
        """The same weights on another sentence: a list of words, or a string to split at spaces."""
        return replace(self, tokens=tuple(tokens.lower().split() if isinstance(tokens, str) else tokens))

    @cached_property
    def ids(self) -> np.ndarray:
        """Vocabulary id of each token, (T,)."""
        return np.array([self.vocabulary.index(token) for token in self.tokens])

    @cached_property
    def embedded(self) -> np.ndarray:
        """The selected embedding rows, (T, D)."""
        return np.asarray(self.embedding, dtype=np.float64)[self.ids]

    @cached_property
    def positions(self) -> np.ndarray:
        """One sinusoidal row per position, (T, D)."""
        return sinusoidal_positions(len(self.tokens), self.embedded.shape[1], self.base)

    @cached_property
    def inputs(self) -> np.ndarray:
        """Embedding plus position, the rows that enter the encoder, (T, D)."""
        return self.embedded + self.positions

    @property
    def labels(self) -> list[str]:
        """Row labels such as "6: begins"."""
        return [f"{t}: {token}" for t, token in enumerate(self.tokens)]

    @property
    def block(self) -> BlockWeights:
        """The weights of one encoder block."""
        return BlockWeights(self.norm_1, self.heads, self.W_O, self.norm_2, self.mlp)


PLAIN = NormWeights(np.ones(5), np.zeros(5))  # unit scale, no shift

PROVERB = Example(
    tokens=("a", "journey", "of", "a", "thousand", "miles", "begins"),
    vocabulary=("a", "journey", "of", "thousand", "miles", "begins", "with", "single", "step"),
    embedding=np.array([
        [0.2, -0.1, 0.4, 0.0, -0.2],   # a
        [0.5, 0.3, -0.2, 0.1, 0.4],    # journey
        [-0.1, 0.2, 0.0, -0.3, 0.1],   # of
        [0.4, -0.4, 0.2, 0.5, -0.1],   # thousand
        [0.1, 0.5, -0.3, 0.2, 0.3],    # miles
        [-0.3, 0.1, 0.5, -0.2, 0.2],   # begins
        [0.0, -0.2, 0.1, 0.3, -0.4],   # with
        [0.3, 0.0, -0.1, 0.4, 0.2],    # single
        [-0.2, 0.4, 0.3, -0.1, 0.5],   # step
    ]),
    heads=(
        HeadMaps(
            W_Q=np.array([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]]),
            W_K=np.array([[0.5, 0, 0, 0.5, 0], [0, 1, 0, 0, 0], [0, 0, 0.5, 0, 0.5]]),
            W_V=np.array([[1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0.5, 0.5]]),
        ),
        HeadMaps(
            W_Q=np.array([[0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0.5, 0.5, 0, 0, 0]]),
            W_K=np.array([[0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [0, 0.5, 0, 0, 0.5]]),
            W_V=np.array([[0, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0.5, 0, 0, 0, 0.5]]),
        ),
    ),
    W_O=np.array([[1, 0, 0, 0.5, 0, 0], [0, 1, 0, 0, 0.5, 0], [0, 0, 1, 0, 0, 0.5], [0.5, 0, 0, 0, 1, 0], [0, 0.5, 0, 1, 0, 0]]),
    norm_1=PLAIN,
    norm_2=PLAIN,
    mlp=MLPWeights(
        W_1=np.array([[1, 0, -0.5, 0, 0], [0, 1, 0, 0, -0.5], [0, 0, 1, 0.5, 0], [0.5, 0, 0, 0, 1]]),
        b_1=np.array([0.1, -0.2, 0.15, 0.05]),
        W_2=np.array([[0.5, 0, 0.2, 0], [0, 0.5, 0, 0.2], [0.2, 0, 0.5, 0], [0, 0.2, 0, 0.5], [0.3, 0, 0, 0.3]]),
        b_2=np.array([0.05, -0.05, 0, 0.1, -0.1]),
    ),
    norm_final=PLAIN,
)
