"""The chapter on forecasting: its split, its leak, its references, and that it runs with other inputs."""

import numpy as np
import pytest
import torch
from chapters import namespace

from experiments import forecasting


@pytest.fixture(scope="module")
def page():
    return namespace("chapters/forecasting_lab", drift=0.3, horizon=24, seeds=(7, 8), steps=20)


def test_runs_with_other_inputs(page):
    assert page["rolled"].shape == (2, 24) and page["floor"].shape == (24,)
    assert page["floor"][-1] == pytest.approx(np.sqrt(0.01 + (1 - np.exp(-24 * 0.09)) / 2))


def test_parts_follow_one_another_in_time(page):
    series = np.arange(33 * 61 + 3000.0)
    training, validation, test = page["split"](series)
    assert training.max() < validation.min() and validation.max() < test.min()
    assert training.shape == (25, 61) and validation.shape == (8, 61) and test.shape[1] == 48 + 24
    for part in (training, validation, test):
        assert len(np.unique(part)) == part.size, "windows of a part do not overlap either"


def test_lookup_is_exact_on_what_it_has_seen_and_not_on_what_it_has_not(page):
    lookup, values = page["lookup_error"], np.random.default_rng(1).standard_normal(90)
    rows = forecasting.windows(values, 13, stride=1)
    assert lookup(rows, rows[::3]) == 0
    assert lookup(rows[:40], rows[60:]) > 0.5
    assert lookup(np.array([[0.0, 1, 2], [5, 5, 7]]), np.array([[0.1, 1, 4]]), k=2) == 2, "by hand: the nearest is 0, 1"


def test_lookup_on_windows_dealt_out_at_random_has_a_complete_leak(page):
    assert page["dealt_out"] == 0 and page["in_time"] > forecasting.NOISE


def test_references_by_hand(page):
    """On a series that counts upwards persistence errs by k and the seasonal rule by a whole period."""
    test, k = page["test"], page["k"]
    assert np.allclose(page["persistence"][2] ** 2, np.mean((test[:, 47] - test[:, 50]) ** 2))
    assert np.allclose(page["seasonal"][2] ** 2, np.mean((test[:, 26] - test[:, 50]) ** 2))
    assert np.allclose(page["seasonal"][23] ** 2, np.mean((test[:, 47] - test[:, 71]) ** 2)) and len(k) == 24


def test_one_step_reads_observations_and_a_rollout_does_not(page):
    """Change the last context value and a later one: the rollout moves by the first only."""
    theta, X = page["trained"].theta, page["X"][:3].clone()
    before = forecasting.rollout(theta, X[:, :48], 5), forecasting.one_step_errors(theta, X)
    X[:, 50] += 1
    after = forecasting.rollout(theta, X[:, :48], 5), forecasting.one_step_errors(theta, X)
    assert torch.equal(before[0], after[0]) and not torch.allclose(before[1][..., 50:], after[1][..., 50:])


def test_no_forecast_beats_the_floor(page):
    """200 windows: the smallest error stays within sampling error of the floor."""
    assert (page["rolled"] > 0.8 * page["floor"]).all()


def test_shrinking_uses_no_test_value(page):
    assert page["factor"].shape == (24,) and ((page["factor"] >= 0) & (page["factor"] <= 1)).all()
    assert not np.isin(page["held_out"], page["test"]).any()
