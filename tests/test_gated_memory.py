"""The cells, gradients and gates that the chapter on gated memory writes from scratch."""

import numpy as np
import pytest
import torch
from chapters import namespace
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from figures.log_paths import log_paths

PAGE = "chapters/gated_memory"
F64 = torch.float64
N = namespace(PAGE)
Weights, GatedWeights = N["Weights"], N["GatedWeights"]
forward, backward, errors, loss = N["forward"], N["backward"], N["errors"], N["loss"]
sizes = st.tuples(*[st.integers(1, 7)] * 4)
QUICK = settings(max_examples=25, deadline=None)


def case(T=7, D=2, H=5, C=3, seed=0):
    return N["random_case"](T, D, H, C, seed)


def gated_case(T, D, H, blocks, seed=0):
    draw = np.random.default_rng(seed).normal
    rows = blocks * H
    return draw(size=(T, D)), GatedWeights(draw(size=(rows, D)), draw(size=(rows, H)), draw(size=rows), draw(size=rows))


def torch_layer(kind, X, weights, **more):
    """A PyTorch layer that holds these weights."""
    layer = kind(X.shape[1], weights.W_h.shape[1], dtype=F64, **more)
    with torch.no_grad():
        for parameter, array in zip(layer.parameters(), (weights.W_x, weights.W_h, weights.b_x, weights.b_h)):
            parameter.copy_(torch.tensor(array))
    return layer


# the simple cell

@QUICK
@given(sizes, st.sampled_from(["tanh", "relu"]))
def test_states_and_gradients_equal_nn_rnn(size, activation):
    X, weights, Y = case(*size, seed=sum(size))
    both = GatedWeights(weights.W_x, weights.W_h, weights.b_h, 0 * weights.b_h)
    layer, run = torch_layer(nn.RNN, X, both, nonlinearity=activation), forward(X, weights, activation)
    rows = torch.tensor(X, requires_grad=True)
    states = layer(rows)[0]
    np.testing.assert_allclose(run.states, states.detach(), atol=1e-12)
    W_o, b_o = (torch.tensor(a, requires_grad=True) for a in (weights.W_o, weights.b_o))
    (0.5 * (states @ W_o.T + b_o - torch.tensor(Y)).square().sum()).backward()
    back = backward(run, errors(run, Y))
    theirs = [layer.weight_ih_l0, layer.weight_hh_l0, W_o, layer.bias_ih_l0, b_o, rows]
    for ours, leaf in zip((*back.weights, back.X), theirs):
        np.testing.assert_allclose(ours, leaf.grad, atol=1e-10)


@QUICK
@given(sizes, st.sampled_from(sorted(N["ACTIVATIONS"])), st.booleans())
def test_every_gradient_equals_autograd(size, activation, at_end):
    X, weights, Y = case(*size, seed=sum(size))
    triples = N["three_ways"](X, weights, Y[-1] if at_end else Y, activation)
    assert max(N["gap"](triples, 1)) < 1e-10
    assert all(ours.shape == theirs.shape == nudged.shape for ours, theirs, nudged in triples)
    if activation != "relu":  # central differences may step over its kink
        assert max(N["gap"](triples, 2)) < 1e-6


@pytest.mark.parametrize("spoil", [
    lambda run, W: run._replace(weights=W._replace(W_h=W.W_h.T)),
    lambda run, W: run._replace(previous=run.states),
    lambda run, W: run._replace(Z=np.zeros_like(run.Z)),
], ids=["transposed W_h", "h_t for h_{t-1}", "slopes at zero"])
def test_the_comparison_notices_a_wrong_backward_pass(spoil):
    X, weights, Y = case()
    run = forward(X, weights)
    right = N["autograd"](X, weights, Y)
    wrong = backward(spoil(run, weights), errors(run, Y)).weights
    assert max(np.abs(a - b).max() for a, b in zip(wrong, right)) > 1e-3


def test_shapes_of_gradients():
    X, weights, Y = case()
    run = forward(X, weights)
    back = backward(run, errors(run, Y))
    assert [g.shape for g in back.weights] == [w.shape for w in weights]
    assert back.X.shape == X.shape and back.start.shape == (5,)


def test_width_one_is_the_scalar_cell():
    x, w_x, w_h, w_o, y = (1, -0.5, 0.25), 0.5, -0.8, 1.5, (0.2, -0.1)
    run = forward(np.array(x)[:2, None], Weights([[w_x]], [[w_h]], [[w_o]], [0], [0]))
    h_0 = np.tanh(w_x * x[0])
    np.testing.assert_allclose(run.states[:, 0], [h_0, np.tanh(w_x * x[1] + w_h * h_0)])


def test_two_scored_steps_of_exercise_one():
    """The course's first exercise with the numbers of its worked answer."""
    X = np.array([[1], [-0.5], [0.25]])
    run = forward(X, Weights([[0.5]], [[-0.8]], [[1.5]], [0], [0]))
    E = errors(run, [[0], [0.2], [-0.1]])
    E[0] = 0  # position 0 is not scored
    back = backward(run, E)
    np.testing.assert_allclose(back.G_h[1, 0], -2.308166, atol=1e-6)
    np.testing.assert_allclose([g.item() for g in back.weights[:3]], [2.055449, -1.272206, 1.010216], atol=1e-6)


@QUICK
@given(sizes, st.floats(-3, 3))
def test_backward_is_linear_in_the_errors(size, factor):
    X, weights, Y = case(*size)
    run = forward(X, weights)
    E = errors(run, Y)
    for a, b in zip(backward(run, factor * E).weights, backward(run, E).weights):
        np.testing.assert_allclose(a, factor * b, atol=1e-12)


def test_a_state_does_not_depend_on_later_rows():
    X, weights, _ = case()
    changed = X.copy()
    changed[4:] += 1
    np.testing.assert_array_equal(forward(X, weights).states[:4], forward(changed, weights).states[:4])
    assert not np.allclose(forward(X, weights).states[4], forward(changed, weights).states[4])


def test_nothing_is_changed_in_place():
    X, weights, Y = case()
    before = [a.copy() for a in (X, *weights, Y)]
    run = forward(X, weights)
    first = backward(run, errors(run, Y)).weights
    second = backward(run, errors(run, Y)).weights
    N["clip"](first, 0.1)
    assert all(np.array_equal(a, b) for a, b in zip(before, (X, *weights, Y)))
    assert all(np.array_equal(a, b) for a, b in zip(first, second))


# paths

@QUICK
@given(sizes, st.sampled_from(["tanh", "sigmoid", "identity"]))
def test_paths_multiply_and_are_bounded(size, activation):
    X, weights, _ = case(*size)
    run, T = forward(X, weights, activation), size[0]
    path, middle = N["path"], T // 2 - 1
    np.testing.assert_allclose(path(run, -1, T - 1), path(run, middle, T - 1) @ path(run, -1, middle), atol=1e-12)
    norms = [np.linalg.norm(N["jacobian"](run, t), 2) for t in range(T)]
    assert np.linalg.norm(path(run, -1, T - 1), 2) <= np.prod(norms) * (1 + 1e-9)


def test_a_path_equals_the_change_of_the_state():
    X, weights, _ = case()
    final = lambda start: forward(X, weights, "tanh", start).states[-1]
    start = np.full(5, 0.1)
    moved = np.array([(final(start + d) - final(start - d)) / 2e-6 for d in 1e-6 * np.eye(5)]).T
    np.testing.assert_allclose(N["path"](forward(X, weights, "tanh", start), -1, 6), moved, atol=1e-8)


def test_constant_inputs():
    """The values of the course's second exercise."""
    f = N["sensitivities"]
    np.testing.assert_allclose(f(0, 1, 1.2, 5)[-1], 1.2 ** 5)
    np.testing.assert_allclose(f(1, 1, 1.2, 5)[-1], 1.45e-6, rtol=5e-3)
    np.testing.assert_allclose(f(0, 1, -0.8, 5)[-1], 0.32768)
    np.testing.assert_allclose(f(1, 1, -0.8, 5)[-1], 0.0716, rtol=1e-3)


# clipping

@QUICK
@given(st.floats(1e-6, 1e6), st.floats(1e-3, 1e3))
def test_clipping(size, tau):
    gradients = [size * np.array([[0.6, 0], [0, 0.8]]), np.zeros(3)]
    ours = N["clip"](gradients, tau)
    length = N["length_of"](ours)
    assert length <= tau * (1 + 1e-12)
    np.testing.assert_allclose(length, min(size, tau))
    np.testing.assert_allclose(ours[0] / length, gradients[0] / size)
    np.testing.assert_allclose(N["length_of"](N["torch_clip"](gradients, tau)), min(size, tau), rtol=2e-6 / min(tau, 1))


def test_a_short_gradient_is_untouched():
    np.testing.assert_array_equal(N["clip"]([np.array([0.3, 0.4])], 0.5)[0], [0.3, 0.4])
    np.testing.assert_array_equal(N["clip"]([np.zeros(2)], 0.5)[0], [0, 0])


# gated cells

@QUICK
@given(st.tuples(*[st.integers(1, 7)] * 3))
def test_gru_equals_nn_gru(size):
    X, weights = gated_case(*size, blocks=3)
    steps = N["gru"](X, weights)
    np.testing.assert_allclose(steps.state, torch_layer(nn.GRU, X, weights)(torch.tensor(X))[0].detach(), atol=1e-12)
    old = np.vstack([np.zeros(size[2]), steps.state[:-1]])
    assert ((np.minimum(old, steps.candidate) - 1e-12 <= steps.state)
            & (steps.state <= np.maximum(old, steps.candidate) + 1e-12)).all()


@QUICK
@given(st.tuples(*[st.integers(1, 7)] * 3))
def test_lstm_equals_nn_lstm(size):
    X, weights = gated_case(*size, blocks=4)
    start = np.random.default_rng(1).normal(size=(2, size[2]))
    steps = N["lstm"](X, weights, start)
    h, c = torch.tensor(start[:, None])
    states, (_, storage) = torch_layer(nn.LSTM, X, weights)(torch.tensor(X), (h, c))
    np.testing.assert_allclose(steps.state, states.detach(), atol=1e-12)
    np.testing.assert_allclose(steps.storage[-1], storage[0].detach(), atol=1e-12)
    assert (np.abs(steps.state) <= 1).all()


def test_gru_jacobian_equals_autograd():
    X, weights = gated_case(1, 2, 5, blocks=3)
    h = np.linspace(-0.9, 0.8, 5)
    layer = torch_layer(nn.GRU, X, weights)
    theirs = torch.autograd.functional.jacobian(lambda h: layer(torch.tensor(X), h[None])[0][-1], torch.tensor(h))
    np.testing.assert_allclose(sum(N["gru_jacobian"](X[0], h, weights)), theirs, atol=1e-10)


def test_sigmoid_far_out():
    with np.errstate(all="raise"):
        np.testing.assert_allclose(N["sigmoid"](np.array([-1000, 0, 1000])), [0, 0.5, 1])


def test_gates_keep_write_and_restart():
    """What the text says of the hand-set GRU."""
    memory, signal = N["memory"], N["signal"]
    marked = np.tanh(2 * signal[0, 0])
    np.testing.assert_allclose(memory.state[:4, 0], marked, atol=0.05)
    assert memory.state[4, 0] * marked < 0
    np.testing.assert_allclose(memory.state[4, 2], np.tanh(signal[4, 0]), atol=0.05)


# bad input

BAD = {
    "targets too short": (lambda: errors(N["run"], np.zeros((2, 1))), "target: wanted shape 4 x 1, got 2 x 1"),
    "targets too wide": (lambda: loss(N["run"], np.zeros(3)), "target: wanted shape 1, got 3"),
    "errors too long": (lambda: backward(N["run"], np.zeros((5, 1))), "E: wanted shape 4 x 1, got 5 x 1"),
    "activation": (lambda: forward(N["X"], N["weights"], "step"), "activation: wanted one of tanh, identity, sigmoid, relu, got 'step'"),
    "input width": (lambda: forward(np.zeros((4, 3)), N["weights"]), "W_x: wanted shape any x 3, got 2 x 2"),
    "recurrent width": (lambda: forward(N["X"], N["weights"]._replace(W_h=np.zeros((2, 3)))), "W_h: wanted shape 2 x 2, got 2 x 3"),
    "head width": (lambda: forward(N["X"], N["weights"]._replace(W_o=np.zeros((1, 3)))), "W_o: wanted shape any x 2, got 1 x 3"),
    "bias width": (lambda: forward(N["X"], N["weights"]._replace(b_h=np.zeros(3))), "b_h: wanted shape 2, got 3"),
    "start width": (lambda: forward(N["X"], N["weights"], "tanh", np.zeros(3)), "start: wanted shape 2, got 3"),
    "not finite": (lambda: forward([[np.nan, 0]], N["weights"]), "X: wanted finite numbers, got nan"),
    "empty": (lambda: forward(np.zeros((0, 2)), N["weights"]), "X: wanted shape any x any, got 0 x 2"),
    "threshold zero": (lambda: N["clip"]([np.ones(2)], 0), "tau: wanted a threshold above zero, got 0"),
    "threshold negative": (lambda: N["clip"]([np.ones(2)], -1.5), "tau: wanted a threshold above zero, got -1.5"),
    "threshold NaN": (lambda: N["clip"]([np.ones(2)], np.nan), "tau: wanted a threshold above zero, got nan"),
    "gradient not finite": (lambda: N["clip"]([np.array([np.inf])], 1), "gradients: wanted finite numbers, got inf"),
    "path backwards": (lambda: N["path"](N["run"], 2, 1), "s, q: wanted -1 <= s <= q < 4, got 2 and 1"),
    "path too long": (lambda: N["path"](N["run"], 0, 4), "s, q: wanted -1 <= s <= q < 4, got 0 and 4"),
    "GRU blocks": (lambda: N["gru"](np.zeros((2, 5)), gated_case(2, 5, 3, blocks=4)[1]), "W_h: wanted shape 9 x any, got 12 x 3"),
    "GRU inputs": (lambda: N["gru"](np.zeros((2, 4)), gated_case(2, 5, 3, blocks=3)[1]), "W_x: wanted shape 9 x 4, got 9 x 5"),
    "LSTM start": (lambda: N["lstm"](np.zeros((2, 5)), gated_case(2, 5, 3, blocks=4)[1], np.zeros(3)), "start: wanted shape 2 x 3, got 3"),
    "a fourth curve": (lambda: log_paths({"p": dict.fromkeys("abcd", [1, 1])}, "y"), "panels: wanted at most 3 curves"),
    "a curve at zero": (lambda: log_paths({"p": {"a": [1, 0]}}, "y"), "panels: wanted values above zero"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, message = BAD[name]
    with pytest.raises(ValueError) as caught:
        call()
    assert message in str(caught.value)


# the chapter with other inputs

def test_other_widths():
    X, weights, Y = case(T=5, D=3, H=4, C=2, seed=3)
    names = namespace(PAGE, X=X, Y=Y, activation="sigmoid", **weights._asdict())
    assert names["run"].states.shape == (5, 4)


def test_one_position_and_other_cases():
    X, weights, Y = case(T=1, D=1, H=1, C=1)
    namespace(PAGE, X=X, Y=Y, series=[2], signal=np.array([[2.5, 1], [-3, 0], [1, 0]]), fixed_factors=[-0.5, 2],
              constant_inputs=[0.5], longest=3, tau=2, mixture=(0.25, 1, -1), seed=1, goal=-1,
              observations=np.ones((5, 3)), shear=np.array([[0.5, 3, 0], [0, 0.5, 0], [0, 0, 0.1]]), **weights._asdict())
