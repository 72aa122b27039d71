"""The worked example is data: other words, other weights and other widths follow from it."""

import dataclasses
import json
import re

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import PROVERB, Example, frequencies, multi_head, sinusoidal_positions

INPUTS = json.loads((ROOT / "tests" / "data" / "course_inputs.json").read_text(encoding="utf-8"))
sentences = st.lists(st.sampled_from(PROVERB.vocabulary), min_size=1, max_size=9)
quick = settings(deadline=None)


@quick
@given(sentences)
def test_any_sentence(words):
    other = PROVERB.with_tokens(words)
    T, D = len(words), PROVERB.embedding.shape[1]
    assert [other.vocabulary[k] for k in other.ids] == words
    assert other.embedded.shape == other.positions.shape == other.inputs.shape == (T, D)
    assert np.array_equal(other.inputs, PROVERB.embedding[other.ids] + sinusoidal_positions(T, D))
    assert other.labels == [f"{t}: {word}" for t, word in enumerate(words)]


@quick
@given(sentences)
def test_equal_words_share_an_embedding_row_and_no_position_row(words):
    other = PROVERB.with_tokens(words)
    for s in range(len(words)):
        for t in range(s):
            assert np.array_equal(other.embedded[s], other.embedded[t]) == (words[s] == words[t])
            assert not np.allclose(other.positions[s], other.positions[t], rtol=0, atol=1e-6)


def test_a_string_is_split_at_spaces_and_lower_cased():
    assert PROVERB.with_tokens("Begins  a JOURNEY").tokens == ("begins", "a", "journey")
    assert PROVERB.with_tokens(["begins"]).tokens == ("begins",)
    assert PROVERB.with_tokens(iter(["a", "step"])).tokens == ("a", "step")


def test_another_sentence_leaves_the_first_alone():
    before = PROVERB.inputs.copy()
    other = PROVERB.with_tokens("a single step")
    assert other.heads is PROVERB.heads and other.embedding is PROVERB.embedding
    assert len(PROVERB.tokens) == 7 and np.array_equal(PROVERB.inputs, before)
    with pytest.raises(dataclasses.FrozenInstanceError):
        PROVERB.tokens = ("a",)


@pytest.mark.parametrize("words, message", [
    ("a journey of steps", "got 'steps' at position 3"),
    (["a", "a journey"], "got 'a journey' at position 1"),
    (["A"], "got 'A' at position 0"),
    ("", "tokens: wanted at least one word, got none"),
    ([], "tokens: wanted at least one word, got none"),
])
def test_unknown_words(words, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        PROVERB.with_tokens(words)


def test_an_unknown_word_is_told_the_vocabulary():
    with pytest.raises(ValueError, match=r"tokens: wanted words of the vocabulary \(a, journey, .*, step\)"):
        PROVERB.with_tokens("walk")


@pytest.mark.parametrize("embedding, message", [
    (np.zeros((3, 5)), "embedding: wanted shape 9 x any, got 3 x 5"),
    (np.zeros(9), "embedding: wanted shape 9 x any, got 9"),
    (np.full((9, 5), np.inf), "embedding: wanted finite numbers, got inf"),
])
def test_embedding_of_another_size(embedding, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(PROVERB, embedding=embedding)


@pytest.mark.parametrize("D", [1, 2, 3, 7])
def test_another_width(D):
    other = dataclasses.replace(PROVERB, embedding=np.ones((9, D)))
    assert other.inputs.shape == (7, D) and np.array_equal(other.inputs, 1 + sinusoidal_positions(7, D))


def test_another_base_changes_the_slow_features_only():
    other = dataclasses.replace(PROVERB, base=100.0)
    same = np.isclose(other.positions, PROVERB.positions).all(axis=0)
    assert same.tolist() == [True, True, False, False, False], "feature pair 0 turns by one radian whatever the base"


def test_the_example_is_the_courses():
    """Every number that was typed in, against the course's own data."""
    assert list(PROVERB.tokens) == INPUTS["tokens"] and list(PROVERB.vocabulary) == INPUTS["vocabulary"]
    assert PROVERB.ids.tolist() == INPUTS["token_ids"] and PROVERB.base == INPUTS["position_base"]
    assert PROVERB.embedding.tolist() == INPUTS["embedding"] and PROVERB.W_O.tolist() == INPUTS["W_O"]
    assert [{name: W.tolist() for name, W in head._asdict().items()} for head in PROVERB.heads] == INPUTS["heads"]
    assert all(W.tolist() == INPUTS[name] for name, W in PROVERB.mlp._asdict().items())
    for norm, name in ((PROVERB.norm_1, "ln_1"), (PROVERB.norm_2, "ln_2"), (PROVERB.norm_final, "ln_final")):
        assert {"gamma": norm.gamma.tolist(), "beta": norm.beta.tolist()} == INPUTS[name] and norm.eps == INPUTS["eps"]


@quick
@given(st.integers(1, 30), st.integers(1, 11), st.floats(1.5, 1e6))
def test_positions(T, D, base):
    P, omega = sinusoidal_positions(T, D, base), frequencies(D, base)
    assert P.shape == (T, D) and np.abs(P).max() <= 1
    assert np.array_equal(P[0], np.arange(D) % 2), "0, 1, 0, 1, ... whatever the base"
    assert omega[0] == 1 and (np.diff(omega) <= 0).all(), "no feature turns faster than the first pair"
    even = D // 2 * 2
    assert np.array_equal(omega[:even:2], omega[1:even:2]), "a sine and a cosine share a frequency"
    assert np.allclose(P[:, :even:2] ** 2 + P[:, 1:even:2] ** 2, 1), "each complete pair lies on a circle"
    longer = sinusoidal_positions(T + 3, D, base)
    assert np.array_equal(longer[:T], P), "a position's row does not depend on how many follow"


@quick
@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 6))
def test_a_complete_pair_turns_by_its_offset(T, pairs, offset):
    P, omega = sinusoidal_positions(T + offset, 2 * pairs), frequencies(2 * pairs)
    for i in range(pairs):
        c, s = np.cos(offset * omega[2 * i]), np.sin(offset * omega[2 * i])
        turned = P[:, 2 * i:2 * i + 2] @ np.array([[c, s], [-s, c]]).T
        assert np.allclose(turned[:T], P[offset:, 2 * i:2 * i + 2])


@pytest.mark.parametrize("sizes, message", [
    ((0, 5), "T: wanted a whole number of at least 1, got 0"), ((3, -1), "D: wanted a whole number of at least 1, got -1"),
    ((2.0, 5), "T: wanted a whole number of at least 1, got 2.0"), ((3, 5, 1.0), "base: wanted a number above 1, got 1.0"),
    ((3, 5, np.nan), "base: wanted a number above 1, got nan"),
])
def test_positions_out_of_range(sizes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        sinusoidal_positions(*sizes)


def test_an_example_of_ones_own():
    """Another language, width, number of heads: nothing in the class knows the proverb."""
    random = np.random.default_rng(0)
    draw = lambda *shape: random.normal(size=shape)
    heads = tuple(tuple(draw(n, 7) for n in (2, 2, 3)) for _ in range(3))
    mine = Example(("der", "Weg"), ("Weg", "der", "Ziel"), draw(3, 7), tuple(type(PROVERB.heads[0])(*h) for h in heads),
                   draw(7, 9), *[None] * 4)
    assert multi_head(mine.inputs, mine.heads, mine.W_O).projection.shape == (2, 7)
    assert mine.with_tokens(["Ziel"]).ids.tolist() == [2]
