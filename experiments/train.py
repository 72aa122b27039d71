"""Train the laboratory's runs anew: python -m experiments.train [GROUP or RUN ...]

Groups: grid (the default), fresh, mixed, choices, all.  Single runs go by the names of their files.
Finished runs wait in _build/experiments until all that was asked for is there, and then take the places of
the stored ones in experiments/results.  Stopping loses only the runs under way: the same command continues.
"""

import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, wait
from pathlib import Path

import numpy as np

from .grid import GROUPS, scored_on
from .store import RESULTS, code_digest, load, run_name, save
from .training import Recipe, Run, score, tokens, train

WORK = Path(__file__).resolve().parents[1] / "_build" / "experiments"
WORKERS = 2


def chosen(names: list[str]) -> list[Recipe]:
    """The recipes that groups and run names stand for; ValueError for an unknown name."""
    every = {run_name(recipe): recipe for group in GROUPS.values() for recipe in group}
    found = {}
    for name in names or ["grid"]:
        if name not in (*GROUPS, "all", *every):
            raise ValueError(f"wanted a group ({', '.join(GROUPS)}, all) or a run ({', '.join(list(every)[:3])}, ...), got {name!r}")
        group = every.values() if name == "all" else GROUPS.get(name) or [every[name]]
        found |= {run_name(recipe): recipe for recipe in group}
    return list(found.values())


def finished(recipe: Recipe, folder: Path) -> bool:
    """Whether a folder holds this run complete and made by the code as it is now."""
    try:
        return load(recipe, folder).made["code"] == code_digest()
    except ValueError:
        return False


def cost(recipe: Recipe) -> float:
    """Roughly how much work an epoch is, for the bar and for starting long runs first."""
    weight = {"RNN": 1, "GRU": 1.5, "Transformer": 3}[recipe.model]
    return weight * sum(delay + 4 for delay in recipe.delays) * (128 / recipe.batch) ** 0.5 * len(recipe.delays)


def test_scores(run: Run) -> dict:
    """Scores on the test episodes of each delay, after everything has been selected."""
    recipe = run.recipe
    return {delay: score(recipe.model, run.theta, tokens(delay, "test", recipe.data_seed)) for delay in scored_on(recipe)}


def connect(counter):
    """Keep the shared counter of finished work in a worker."""
    global done_work
    done_work = counter


def work(recipe: Recipe, folder: Path):
    """Train, score and store one run."""
    def tick(epoch):
        with done_work.get_lock():
            done_work.value += cost(recipe)

    begin = time.perf_counter()
    run = train(recipe, tick)
    save(run, test_scores(run), time.perf_counter() - begin, folder)


def bar(share: float, begin: float):
    """One line that grows: share of the work done and time so far."""
    if sys.stdout.isatty():
        full, seconds = round(30 * share), round(time.perf_counter() - begin)
        print(f"\r[{'#' * full}{'.' * (30 - full)}] {share:4.0%}  {seconds // 60}:{seconds % 60:02d} ", end="", flush=True)


def train_missing(recipes: list[Recipe], folder: Path):
    """Train what the folder does not hold yet, two runs at a time."""
    missing = sorted((r for r in recipes if not finished(r, folder)), key=cost, reverse=True)
    if len(missing) < len(recipes):
        print(f"{len(recipes) - len(missing)} of {len(recipes)} runs are finished already")
    total, begin = sum(cost(r) * r.epochs for r in missing), time.perf_counter()
    context = multiprocessing.get_context("spawn")
    counter = context.Value("d", 0.0)
    with ProcessPoolExecutor(WORKERS, context, connect, (counter,)) as pool:
        waiting = {pool.submit(work, recipe, folder): recipe for recipe in missing}
        try:
            while waiting:
                over, _ = wait(waiting, timeout=0.5)
                for future in over:
                    future.result()
                    print(f"\r{run_name(waiting.pop(future)):<34}", flush=True)
                bar(counter.value / total, begin)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def report(recipe: Recipe) -> str:
    """A run's accuracies, and whether they are those that are stored."""
    new = load(recipe, WORK).test
    try:
        old = load(recipe).test
        same = all(np.array_equal(new[d], old[d]) for d in new)
        verdict = "equal to the stored run" if same else "stored: " + "; ".join(describe(old))
    except ValueError:
        verdict = "not stored before"
    return f"{run_name(recipe):<28} {'; '.join(describe(new))}  ({verdict})"


def describe(test: dict) -> list[str]:
    return [f"{delay}: " + " ".join(f"{a:.3f}" for a in s.cue_accuracy) for delay, s in test.items()]


def main(names: list[str]):
    recipes = chosen(names)
    train_missing(recipes, WORK)
    print(*(report(recipe) for recipe in recipes), sep="\n")
    RESULTS.mkdir(exist_ok=True)
    for name in map(run_name, recipes):
        os.replace(WORK / f"{name}.json", RESULTS / f"{name}.json")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ValueError as error:
        sys.exit(f"experiments.train: {error}")
    except KeyboardInterrupt:
        sys.exit("\nStopped. The runs that are finished are kept: the same command goes on from there.")
