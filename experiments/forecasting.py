"""A noisy sine whose phase may drift, and a small GRU that learns to predict its next value."""

from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from .models import cut, flat, linear, recurrence, seeded, shapes
from .training import clipped, one_thread

PERIOD = 24   # steps of one turn
NOISE = 0.1   # standard deviation of the measurement noise
WIDTH = 16    # of the GRU's state


def noisy_sine(count: int, drift: float, seed: int, noise: float = NOISE) -> tuple[np.ndarray, np.ndarray]:
    """A series (N,) and its phase (N,) in radians: each step turns by a full turn over PERIOD, plus normal drift.

    drift: standard deviation of the extra turn, 0 for a plain sine.  Raises ValueError when it is negative.
    """
    if drift < 0 or noise < 0:
        raise ValueError(f"drift, noise: wanted standard deviations of at least 0, got {drift}, {noise}")
    rng = np.random.default_rng(seed)
    steps, errors, begin = rng.standard_normal(count), rng.standard_normal(count), 2 * np.pi * rng.random()
    phase = begin + np.cumsum(2 * np.pi / PERIOD + drift * steps)
    return np.sin(phase) + noise * errors, phase


def windows(series, length: int, stride: int | None = None) -> np.ndarray:
    """Cut a series into windows, (count, length); next to one another unless another stride is given.

    Raises ValueError when not even one fits.
    """
    if not 1 <= length <= len(series):
        raise ValueError(f"length: wanted 1 to {len(series)} for a series of {len(series)}, got {length}")
    return np.lib.stride_tricks.sliding_window_view(np.asarray(series), length)[::stride or length]


class Forecaster(nn.Module):
    """One value in, a GRU, one value out: owns the initialization and the names of the parameters."""

    def __init__(self):
        super().__init__()
        self.memory = nn.GRU(1, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, X):                                            # (B, T)
        return self.head(self.memory(X[..., None])[0])[..., 0]       # (B, T)


class Fit(NamedTuple):
    """The selected parameters of every initialization and the errors on the way."""
    theta: torch.Tensor           # (S, P)
    step: np.ndarray              # (S,)  of the lowest validation error
    validation: np.ndarray        # (checks, S)  root mean square one-step error


def run(theta, X, h=None):
    """Predictions of the next value after each input, (S, B, T), and the last state.

    X: (B, T) observed values, or (S, B, T) when each parameter set reads its own.
    """
    p = cut(theta, shapes(Forecaster))
    rows = X.expand(len(theta), *X.shape[-2:]).mT[..., None]         # (S, T, B, 1)
    inputs = linear(rows, p["memory.weight_ih_l0"], p["memory.bias_ih_l0"])
    states = recurrence(inputs, p["memory.weight_hh_l0"], p["memory.bias_hh_l0"], "GRU", h)
    return linear(states, p["head.weight"], p["head.bias"])[..., 0], states[:, :, -1]


def one_step_errors(theta, X):
    """Predicted minus observed, (S, B, T - 1), when every input is an observed value."""
    return run(theta, X[:, :-1])[0] - X[:, 1:]


def rollout(theta, context, horizon: int) -> torch.Tensor:
    """Predictions 1 to `horizon` steps after the context (B, T), each read as the next input: (S, B, horizon)."""
    if horizon < 1:
        raise ValueError(f"horizon: wanted at least 1 step, got {horizon}")
    with torch.no_grad(), one_thread():
        Y, h = run(theta, context)
        path = [Y[:, :, -1:]]
        while len(path) < horizon:
            Y, h = run(theta, path[-1], h)
            path.append(Y)
    return torch.cat(path, dim=2)


def fit(training, validation, seeds=(1, 2, 3, 4, 5), steps: int = 400, rate: float = 0.01, every: int = 10, warm: int = 12,
        tick=lambda step: None) -> Fit:
    """Train on one-step squared error, all windows in each step; keep the parameters of lowest validation error.

    training, validation: windows (count, length).  The first `warm` predictions of a validation window, made
    while the state still fills, are left out.  Nothing of the test part is seen here.  `tick(step)` is called
    after each step.
    """
    with one_thread():
        training, validation = (torch.tensor(np.array(w), dtype=torch.float32) for w in (training, validation))
        theta = torch.stack([flat(seeded(Forecaster, seed)) for seed in seeds]).requires_grad_()
        adam, best = torch.optim.Adam([theta], lr=rate), theta.detach().clone()
        lowest, at, checks = np.full(len(seeds), np.inf), np.zeros(len(seeds), dtype=int), []
        for step in range(1, steps + 1):
            loss = one_step_errors(theta, training).square().mean((1, 2)).sum()
            theta.grad = clipped(torch.autograd.grad(loss, theta)[0], 1.0)
            adam.step()
            if step % every == 0:
                with torch.no_grad():
                    checks.append(one_step_errors(theta, validation)[..., warm:].square().mean((1, 2)).sqrt().numpy())
                better = torch.from_numpy(checks[-1] < lowest)
                best[better] = theta.detach()[better]
                lowest, at = np.minimum(checks[-1], lowest), np.where(better, step, at)
            tick(step)
    return Fit(best, at, np.array(checks))
