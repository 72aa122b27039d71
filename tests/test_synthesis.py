"""The functions and the exercises of the synthesis."""

from itertools import product

import numpy as np
import pytest
import torch
from chapters import cells, namespace
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import PROVERB

PAGE = "chapters/synthesis"


@pytest.fixture(scope="module")
def page():
    return namespace(PAGE)


@pytest.mark.parametrize("inputs", [
    {"example": PROVERB.with_tokens("begins a journey"), "rounds": 2, "w_h": 1.3},
    {"example": PROVERB.with_tokens("a"), "rounds": 5, "w_x": -0.5, "w_h": -0.9},
])
def test_other_inputs(inputs):
    names = namespace(PAGE, **inputs)
    assert names["n"] == inputs["rounds"] * len(inputs["example"].tokens)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 1000))
def test_reach_by_following_paths(page, T, depth, seed):
    masks = [np.random.default_rng(seed + k).random((T, T)) < 0.3 for k in range(depth)]
    found = page["reach"](masks, T)
    for t, j in product(range(T), repeat=2):
        stops = {t}
        for allow in reversed(masks):
            stops |= {s for top in stops for s in range(T) if allow[top, s]}
        assert found[t, j] == (j in stops)


def test_the_jacobian_of_a_known_map(page):
    """f(X) = A X B has d f[t, c] / d X[j, d] = A[t, j] B[d, c]."""
    rng = np.random.default_rng(0)
    A, B, X = (rng.normal(size=shape) for shape in ((2, 3), (5, 7), (3, 5)))
    wanted = np.einsum("tj,dc->tcjd", A, B)
    np.testing.assert_allclose(page["jacobian"](lambda X: A @ X @ B, X), wanted, atol=1e-8)


@pytest.mark.parametrize("f, wanted", [
    (lambda X: 2 * X, (False, False)), (lambda X: X[::-1], (True, False)),
    (lambda X: X[:, ::-1], (False, True)), (lambda X: X + X.sum(), (True, True))])
def test_what_simple_maps_mix(page, f, wanted):
    assert tuple(map(bool, page["mixes"](f, np.arange(6.0).reshape(2, 3)))) == wanted


def test_uses_sum_to_the_gradient_of_pytorch(page):
    w = torch.tensor(page["w_h"], dtype=torch.float64, requires_grad=True)
    h = torch.zeros((), dtype=torch.float64)
    for value in page["x"].tolist():
        h = torch.tanh(page["w_x"] * value + w * h)
    h.backward()
    assert page["gradient"] == pytest.approx(w.grad.item(), rel=1e-10)


def test_two_scored_steps_equal_pytorch(page):
    task = page["task"]
    w_o = torch.tensor(task["w_o"], dtype=torch.float64, requires_grad=True)
    states, h = [], torch.zeros((), dtype=torch.float64)
    for value in task["x"]:
        h = torch.tanh(task["w_x"] * value + task["w_h"] * h).requires_grad_()
        h.retain_grad()
        states.append(h)
    loss = ((w_o * states[1] - task["y_1"]) ** 2 + (w_o * states[2] - task["y_2"]) ** 2) / 2
    loss.backward()
    assert page["g_1"] == pytest.approx(states[1].grad.item(), rel=1e-12)
    assert page["g_w"] == pytest.approx(w_o.grad.item(), rel=1e-12)


WORKED = {  # worked on paper, typed here to three digits or exactly
    "correct_1": [-2.31, 1.01],
    "correct_2": -0.328,
    "correct_3a": [2, 0, 0],
    "correct_3b": [8 / 3, 4 / 3, 2 / 3],
    "correct_4": [(7, 2), (7, 2), (7, 4), (7, 7), (7, 12), (5, 12), (12, 5)],
    "correct_5a": [-0.357, 1.56, 1.08, 1.11, 0.104],
    "correct_5b": [-1.75, 1.11, 0.393, 0.635, -0.385],
    "correct_6a": [5, 2],
    "correct_6b": 0.912,
}


@pytest.mark.parametrize("name", WORKED)
def test_checking_cells(page, name):
    """A right answer is called right, a wrong one is not, and no answer is printed beforehand."""
    correct = np.asarray(page[name], dtype=float)
    assert page["check"](WORKED[name], correct) == "Right."
    assert page["check"](correct + 0.1 + np.abs(correct), correct).startswith("Not yet")
    assert "None" in page["check"](page[name.replace("correct", "answer")], correct)


def test_every_exercise_has_a_checking_cell_that_starts_empty():
    sources = [cell.source for cell in cells(PAGE)]
    for name in WORKED:
        answer = name.replace("correct", "answer")
        asking = [source for source in sources if f"print(check({answer}, {name}))" in source]
        assert len(asking) == 1 and f"{answer} = None" in asking[0].replace("  ", " ").replace("  ", " ")
        assert not any(f"{name} =" in source or f"{name}," in source.split(" = ")[0] for source in asking)


def test_what_the_page_leaves_out():
    """The right answers come from cells that the site removes."""
    for cell in cells(PAGE):
        if any(line.startswith("correct_") for line in cell.source.splitlines()):
            assert "remove-cell" in cell.metadata["tags"]
