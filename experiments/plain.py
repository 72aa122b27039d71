"""The same training as a plain loop over stock modules, one initialization after the other.

It is what `training.train` must agree with, and what stacking is timed against:
python -m experiments.plain measures both on the grid and writes experiments/results/timing.json.
"""

import json
import time

import numpy as np
import torch
from torch import nn

from .grid import GRID
from .models import build, flat
from .store import RESULTS, machine, replace, run_name
from .training import Recipe, batches, objective, one_thread, score, tokens, train


def train_one(recipe: Recipe, seed: int, epochs: int | None = None):
    """Train one initialization with PyTorch's own layers, clipping and Adam; return its selected parameters, (1, P)."""
    with one_thread():
        module = build(recipe.model, seed, **recipe.start)
        adam = torch.optim.Adam(module.parameters(), lr=recipe.rate)
        held_out = [tokens(delay, "validation", recipe.data_seed) for delay in recipe.delays]
        best, lowest = None, np.inf
        for epoch in range(1, (epochs or recipe.epochs) + 1):
            for batch in batches(recipe, epoch):
                loss = sum(objective(module(part[:, :-1])[None], part[:, 1:], recipe.loss)[0] for part in batch) / len(batch)
                adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(module.parameters(), recipe.clip)
                adam.step()
            theta = flat(module)[None]
            validation = np.mean([score(recipe.model, theta, data).cue_cross_entropy for data in held_out])
            if validation < lowest:
                best, lowest = theta, validation
    return best


def measure(recipe: Recipe) -> dict:
    """Processor seconds and test accuracies of both ways for one recipe of a single delay, one after the other.

    Processor time of one thread, unlike the clock's, does not count what other programs do meanwhile.
    """
    begin = time.process_time()
    stacked = train(recipe).theta
    between = time.process_time()
    plain = torch.cat([train_one(recipe, seed) for seed in recipe.seeds])
    end = time.process_time()
    test = tokens(recipe.delays[0], "test", recipe.data_seed)
    accuracy = {name: score(recipe.model, theta, test).cue_accuracy.round(6).tolist()
                for name, theta in (("stacked", stacked), ("plain", plain))}
    return {"seconds": {"stacked": round(between - begin, 2), "plain": round(end - between, 2)}, "cue_accuracy": accuracy}


def main():
    runs = {}
    for recipe in GRID:
        runs[run_name(recipe)] = measure(recipe)
        print(run_name(recipe), runs[run_name(recipe)], flush=True)
    total = {way: round(sum(run["seconds"][way] for run in runs.values()), 1) for way in ("stacked", "plain")}
    print("processor seconds in all:", total)
    replace(RESULTS / "timing.json", (json.dumps({"made": machine(), "seconds": total, "runs": runs}) + "\n").encode())


if __name__ == "__main__":
    main()
