"""The chapter on order: what its forecasters read, what its state carries, and its complaints about bad input."""

import numpy as np
import pytest
from chapters import namespace
from hypothesis import given
from hypothesis import strategies as st

from figures import context_grid

PAGE = "chapters/order_and_context"
numbers = st.floats(-50, 50).map(lambda v: round(v, 3))


@pytest.fixture(scope="module")
def page():
    return namespace(PAGE)


def test_errors_of_the_printed_record(page):
    """By hand: |12-10|, |11-12|, ... for the last reading; the leaks look better, and worse once the future is gone."""
    np.testing.assert_allclose(page["complete"], [2, 2.05, 14 / 15, 22 / 15, 0])
    np.testing.assert_allclose(page["live"][[0, 1, 4]], [2, 2.05, 2])
    assert page["complete"][2:].max() < page["complete"][:2].min()
    assert (page["live"][2:] > page["complete"][2:]).all()


def test_influence_by_hand(page):
    """Three readings, two forecasts: rows ask, columns are asked."""
    r, forecasters = np.array([3.0, 1.0, 4.0]), page["forecasters"]
    wanted = {"last reading": [[1, 0, 0], [0, 1, 0]], "mean so far": [[1, 0, 0], [1, 1, 0]],
              "smoothed": [[1, 1, 0], [1, 1, 1]], "whole mean": [[1, 1, 1], [1, 1, 1]],
              "given target": [[0, 1, 0], [0, 0, 1]]}
    for name, reads in wanted.items():
        np.testing.assert_array_equal(page["influence"](forecasters[name], r), np.array(reads, dtype=bool), err_msg=name)


@given(st.lists(numbers, min_size=2, max_size=7))
def test_honest_forecasters_do_not_miss_the_future(page, record):
    r = np.array(record)
    for name in ("last reading", "mean so far"):
        forecaster = page["forecasters"][name]
        np.testing.assert_allclose(page["hour_by_hour"](forecaster, r), forecaster(r), atol=1e-12)


@given(st.lists(numbers, min_size=1, max_size=7), numbers, st.floats(-1.5, 1.5))
def test_state_is_the_unfolded_sum_of_its_prefix(page, series, w_x, w_h):
    x, carry = np.array(series), page["carry"]
    states = carry(x, w_x, w_h)
    for t in range(len(x)):
        assert states[t] == pytest.approx(sum(w_x * w_h**(t - s) * x[s] for s in range(t + 1)), abs=1e-9)
        np.testing.assert_array_equal(carry(x[:t + 1], w_x, w_h), states[:t + 1])


def test_mean_error_names_what_does_not_fit(page):
    with pytest.raises(ValueError, match="predictions: wanted shape 3, got 2"):
        page["mean_error"](np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="targets: wanted finite numbers, got nan"):
        page["mean_error"](np.zeros(2), np.array([0, np.nan]))


@pytest.mark.parametrize("inputs, message", [
    ({"series": [3]}, "series: wanted at least 2 readings, got 1"),
    ({"record": [3]}, "record: wanted at least 2 readings, got 1"),
    ({"series": [[1, 2], [3, 4]]}, "series: wanted shape any, got 2 x 2"),
    ({"series": [1, np.inf]}, "series: wanted finite numbers, got inf"),
    ({"reordered": "a journey begins"}, "reordered: wanted the words of 'a single step begins a journey', got 'a jou"),
])
def test_bad_inputs_say_what_was_wanted(inputs, message):
    with pytest.raises(ValueError, match=message):
        namespace(PAGE, **inputs)


@pytest.mark.parametrize("inputs", [
    {"series": [1, 2], "record": [5, 5]}, {"series": [-1, 0, 7, 2, 2, -5, 1.5], "record": [0, -3, 8.5], "w_x": -2.0, "w_h": 1.25},
    {"series": [3, 3, 3], "w_h": 0.0, "words": "step step", "reordered": "step step"},
])
def test_chapter_runs_with_other_inputs(inputs):
    namespace(PAGE, **inputs)


def test_grid_refuses_two_shapes_and_tells_a_leak():
    read, allow = np.array([[True, True, False]]), np.array([[True, False, False]])
    assert context_grid.draw({"one": (read, allow)}).numbers == "one:\nreads LEAK x"
    with pytest.raises(ValueError, match=r"allow: wanted the shape of reads in 'one', \(1, 3\), got \(1, 2\)"):
        context_grid.draw({"one": (read, allow[:, :2])})
