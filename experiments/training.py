"""Training: every initialization of one recipe at once, each with its own clipping and its own checkpoint."""

from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from .episodes import SPLITS, check_delay, episodes
from .models import MODELS, POSITIONS, build, flat, logits


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the outcome of a run, apart from the machine."""

    model: str                     # a key of MODELS
    delays: tuple[int, ...]        # trained on together; each batch holds equally many episodes of each
    data_seed: int = 6200          # episodes and batch orders
    seeds: tuple[int, ...] = (6206, 6207, 6208)  # initializations
    epochs: int = 60
    batch: int = 128               # episodes a step
    rate: float = 0.003            # of Adam
    clip: float = 1.0              # largest gradient norm of one initialization
    loss: str = "tokens"           # mean over all tokens, or "cue": the answer alone
    spread: float = 0.02           # of the Transformer's positions before training
    projections: str = "attention"  # nn.MultiheadAttention's own start, or that of an nn.Linear
    episodes: int = SPLITS["training"]  # training episodes for each delay

    def __post_init__(self):
        for name, wanted in (("model", tuple(MODELS)), ("loss", ("tokens", "cue")), ("projections", ("attention", "linear"))):
            if getattr(self, name) not in wanted:
                raise ValueError(f"{name}: wanted one of {', '.join(wanted)}, got {getattr(self, name)!r}")
        for delay in map(check_delay, self.delays):
            if self.model == "Transformer" and delay + 4 > POSITIONS:
                raise ValueError(f"delays: wanted at most {POSITIONS - 4}, since a Transformer has {POSITIONS} positions, got {delay}")
        if not self.delays or self.batch % len(self.delays):
            raise ValueError(f"batch: wanted a multiple of the number of delays, got {self.batch} for {self.delays}")

    @property
    def start(self) -> dict:
        """What `build` is told about the initialization."""
        return {"spread": self.spread, "projections": self.projections}


class Score(NamedTuple):
    """Cross-entropies in nats and fractions correct for each initialization, (S,)."""
    cue_cross_entropy: np.ndarray
    cue_accuracy: np.ndarray
    token_cross_entropy: np.ndarray
    token_accuracy: np.ndarray


class Run(NamedTuple):
    """A trained recipe: its selected parameters and how training went."""
    recipe: Recipe
    theta: torch.Tensor            # (S, P)  at the epoch of lowest validation cue cross-entropy
    best_epoch: np.ndarray         # (S,)    counted from one
    training_loss: np.ndarray      # (epochs, S)  mean over the epoch's batches, before each step
    validation: Score              # each (epochs, S), after each epoch


@contextmanager
def one_thread():
    """One thread inside, as before outside: the order of additions decides the last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def start(recipe: Recipe) -> torch.Tensor:
    """The untrained parameters of every initialization, (S, P)."""
    return torch.stack([flat(build(recipe.model, seed, **recipe.start)) for seed in recipe.seeds])


def tokens(delay: int, split: str, data_seed: int, count=None) -> torch.Tensor:
    """The episodes of one split as a tensor, (N, d + 5)."""
    return torch.from_numpy(episodes(delay, split, data_seed, count))


def batches(recipe: Recipe, epoch: int):
    """The batches of one epoch: for each delay, a tensor of episodes.  Every model gets the same order."""
    data = [tokens(delay, "training", recipe.data_seed, recipe.episodes) for delay in recipe.delays]
    order = np.random.default_rng([recipe.data_seed, 1_000 + epoch]).permutation(recipe.episodes)
    for rows in torch.from_numpy(order).split(recipe.batch // len(data)):
        yield [d[rows] for d in data]


def token_losses(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of each prediction, (S, B, T), from scores (S, B, T, 7) and targets (B, T)."""
    wanted = targets.expand(scores.shape[:-1])
    by_class = scores.flatten(0, 1).mT                           # classes before positions: much the faster layout
    return F.cross_entropy(by_class, wanted.flatten(0, 1), reduction="none").view(wanted.shape)


def objective(scores: torch.Tensor, targets: torch.Tensor, kind: str) -> torch.Tensor:
    """The mean loss of each initialization, (S,); the answer is the last target but one."""
    losses = token_losses(scores, targets)                       # (S, B, T)
    return (losses if kind == "tokens" else losses[..., -2]).flatten(1).mean(dim=1)


def clipped(gradient: torch.Tensor, largest: float) -> torch.Tensor:
    """Each row of (S, P) shortened to at most `largest`, as nn.utils.clip_grad_norm_ does for one model."""
    norm = gradient.norm(dim=1, keepdim=True)
    return gradient * (largest / (norm + 1e-6)).clamp(max=1.0)


def score(model: str, theta: torch.Tensor, data: torch.Tensor, allow=None) -> Score:
    """How well each parameter set predicts the given episodes (N, d + 5)."""
    with torch.no_grad(), one_thread():
        parts = []
        for part in data.split(512):
            scores, targets = logits(model, theta, part[:, :-1], allow), part[:, 1:]
            parts.append(torch.stack([token_losses(scores, targets), (scores.argmax(-1) == targets).float()]))
        losses, right = torch.cat(parts, dim=2).double()         # each (S, N, T)
    return Score(*(a.numpy() for a in (losses[..., -2].mean(1), right[..., -2].mean(1),
                                       losses.mean((1, 2)), right.mean((1, 2)))))


def train(recipe: Recipe, tick=lambda epoch: None) -> Run:
    """Train all initializations of a recipe together; call `tick(epoch)` after each epoch.

    On one machine and one thread the result repeats bit for bit.
    """
    with one_thread():
        theta = start(recipe).requires_grad_()                   # (S, P)
        adam = torch.optim.Adam([theta], lr=recipe.rate)
        held_out = [tokens(delay, "validation", recipe.data_seed) for delay in recipe.delays]
        best, lowest = theta.detach().clone(), np.full(len(theta), np.inf)
        best_epoch, losses, validation = np.zeros(len(theta), dtype=int), [], []
        for epoch in range(1, recipe.epochs + 1):
            running = []
            for batch in batches(recipe, epoch):
                loss = sum(objective(logits(recipe.model, theta, part[:, :-1]), part[:, 1:], recipe.loss)
                           for part in batch) / len(batch)       # (S,)
                theta.grad = clipped(torch.autograd.grad(loss.sum(), theta)[0], recipe.clip)
                adam.step()
                running.append(loss.detach().numpy())
            losses.append(np.mean(running, axis=0))
            scores = [score(recipe.model, theta, data) for data in held_out]
            validation.append(np.mean(scores, axis=0))           # (4, S)
            better = validation[-1][0] < lowest
            lowest, best_epoch = np.where(better, validation[-1][0], lowest), np.where(better, epoch, best_epoch)
            best[torch.from_numpy(better)] = theta.detach()[torch.from_numpy(better)]
            tick(epoch)
    return Run(recipe, best, best_epoch, np.array(losses), Score(*np.array(validation).transpose(1, 0, 2)))
