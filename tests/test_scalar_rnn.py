"""The scalar model: forward and backward against PyTorch and against closed forms, and its complaints about bad input."""

import numpy as np
import pytest
import torch
from chapters import namespace
from hypothesis import given
from hypothesis import strategies as st

from figures import recurrent_cell, unrolled

PAGE = "chapters/scalar_rnn"
ACTIVATIONS = ("tanh", "sigmoid", "relu", "identity")
numbers = st.floats(-2, 2).map(lambda v: round(v, 3))
series = st.lists(numbers, min_size=1, max_size=7)


@pytest.fixture(scope="module")
def page():
    return namespace(PAGE)


def gradients(page, x, y, theta, activation):
    """Our derivatives in the order of `autograd`: three weights, the start, the observations."""
    run = page["forward"](x, y, theta, activation)
    back = page["backward"](run)
    return np.array([*page["gradient"](run, back), back.g_start, *back.g_z * theta.w_x])


@given(series, numbers, numbers, numbers, numbers, st.sampled_from(ACTIVATIONS))
def test_gradients_equal_autograd(page, x, y, w_x, w_h, w_o, activation):
    """Also at ReLU's corner, where both use slope 0."""
    theta = page["Weights"](w_x, w_h, w_o)
    np.testing.assert_allclose(gradients(page, x, y, theta, activation), page["autograd"](x, y, theta, activation),
                               rtol=1e-10, atol=1e-12)


@given(series, numbers, numbers, numbers, numbers, st.sampled_from(("tanh", "sigmoid", "identity")))
def test_gradients_equal_central_differences(page, x, y, w_x, w_h, w_o, activation):
    theta = page["Weights"](w_x, w_h, w_o)
    differences = page["central_differences"](x, y, theta, activation)
    np.testing.assert_allclose(gradients(page, x, y, theta, activation), differences, rtol=1e-4, atol=1e-6)


@given(series, numbers, numbers, st.sampled_from(ACTIVATIONS))
def test_contributions_are_the_derivatives_of_separate_copies(page, x, w_x, w_h, activation):
    run = page["forward"](x, 0.5, page["Weights"](w_x, w_h, 1.5), activation)
    g_z = page["backward"](run).g_z
    copies_x, copies_h = page["separate_uses"](run, 0.5)
    np.testing.assert_allclose(g_z * run.x, copies_x, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(g_z * run.previous, copies_h, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("T", [1, 2, 3, 7])
def test_states_equal_torch_rnn(page, activation, T):
    x, w_x, w_h = np.random.default_rng(T).normal(size=T), -0.7, 1.3
    layer = torch.nn.RNN(1, 1, nonlinearity=activation, bias=False, dtype=torch.float64)
    with torch.no_grad():
        layer.weight_ih_l0.fill_(w_x)
        layer.weight_hh_l0.fill_(w_h)
        output, final = layer(torch.tensor(x)[:, None])
    run = page["forward"](x, 0.0, page["Weights"](w_x, w_h, 1.0), activation)
    np.testing.assert_allclose(run.h, output.flatten().numpy(), rtol=1e-12, atol=1e-14)
    assert run.h[-1] == pytest.approx(final.item())


def test_two_steps_by_hand(page):
    """ReLU, whole numbers: states 2 and 2, prediction 4, error 1, sensitivities 2 and 1."""
    run = page["forward"]([2, 1], 3, page["Weights"](1, 0.5, 2), "relu")
    back = page["backward"](run)
    assert (run.h.tolist(), run.previous.tolist(), run.y_hat, run.e, run.loss) == ([2, 2], [0, 2], 4, 1, 0.5)
    assert (back.g_h.tolist(), back.g_z.tolist(), back.g_start) == ([1, 2], [1, 2], 0.5)
    assert page["gradient"](run, back) == (4, 4, 2)


def test_misplaced_index_fails_where_the_right_one_passes(page):
    """w_h = 1/2, w_x = 1, x = (1, -1/2, 2), loss h_2^2 / 2: 0.0195 is right, 0.0745 is the slip."""
    run = page["forward"](**page["settled"])
    right, wrong = (page["recurrent_gradient"](run, misplaced) for misplaced in (False, True))
    assert f"{right:.3g}" == "0.0195" and f"{wrong:.3g}" == "0.0745"
    torch_value = page["autograd"](**page["settled"])[1]
    assert abs(right - torch_value) < 1e-15 < 0.05 < abs(wrong - torch_value)


def test_claims_about_the_printed_inputs(page):
    """Cancellation, a zero first use, a small step that helps and a large one that hurts."""
    run, back, grad = page["run"], page["back"], page["grad"]
    uses = back.g_z * run.x
    assert abs(uses.sum()) < np.abs(uses).min() and uses.min() < 0 < uses.max()
    assert (back.g_z * run.previous)[0] == 0 != back.g_z[0]
    assert page["changed"].y_hat != run.y_hat
    assert (page["after"][:4] < run.loss).all() and page["after"][4] > run.loss
    assert page["after"][0] - run.loss == pytest.approx(-0.001 * sum(g * g for g in grad), rel=1e-2)
    assert page["gaps"][0] > page["gaps"][2] < page["gaps"][-1], "central differences are best in between"


def test_reach_is_a_power_for_the_identity_and_zero_after_a_cut(page):
    Weights, reach = page["Weights"], page["reach"]
    np.testing.assert_allclose(reach(np.arange(5.0), Weights(1, -0.5, 1), "identity"), 0.5 ** np.arange(4, -1, -1))
    np.testing.assert_allclose(reach(np.array([1.0, 1.0, -9.0, 1.0]), Weights(1, 0.5, 1), "relu"), [0, 0, 0.5, 1])


@pytest.mark.parametrize("wrong, message", [
    ({"activation": "swish"}, "activation: wanted one of tanh, sigmoid, relu, identity, got 'swish'"),
    ({"x": []}, "x: wanted at least one observation, got none"),
    ({"x": [[1.0, 2.0]]}, "x: wanted shape any, got 1 x 2"),
    ({"x": [1.0, float("nan")]}, "x: wanted finite numbers, got nan at"),
    ({"y": [1.0, 2.0, 3.0]}, "y: wanted one target for the whole sequence, got 3"),
    ({"theta": (1.0, 2.0)}, "theta: wanted shape 3, got 2"),
])
def test_bad_inputs_say_what_was_wanted(page, wrong, message):
    good = {"x": [1.0], "y": 0.0, "theta": (1.0, 1.0, 1.0), "activation": "tanh"}
    with pytest.raises(ValueError, match=message):
        page["forward"](**good | wrong)


@pytest.mark.parametrize("eta", [0, -0.1, float("nan"), float("inf")])
def test_update_refuses_a_rate_that_is_not_positive(page, eta):
    with pytest.raises(ValueError, match="eta: wanted a learning rate above 0, got"):
        page["update"](page["theta"], page["grad"], eta)


@pytest.mark.parametrize("inputs", [
    {"x": [0.3]}, {"x": [0.0, 0.0], "activation": "relu"}, {"x": [2.0, -1.0, 0.5, 0.25, -3.0], "activation": "relu"},
    {"activation": "identity", "w_h": -1.2, "x": [1, 2, 3, 4]}, {"activation": "sigmoid", "w_o": 0.0, "w_h": 0.0},
])
def test_chapter_runs_with_other_inputs(inputs):
    namespace(PAGE, **inputs)


def test_figures_say_what_they_show():
    assert "h_t = phi(z_t)" in recurrent_cell.draw().numbers
    assert "g_2^h, g_2^z, g_1^h, g_1^z, g_0^h, g_0^z" in unrolled.draw().numbers
