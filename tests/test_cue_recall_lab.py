"""The chapter on cue recall: its tables are the stored data, its probes, and that it runs with other inputs."""

import json
import math

import numpy as np
import pytest
import torch
from chapters import namespace
from conftest import published

import helpers
from experiments.grid import CHOICES, DELAYS, FRESH_SEEDS, GRID, MIXED
from experiments.models import MODELS
from experiments.store import RESULTS, run_name
from experiments.training import Recipe

TABLES = {}


@pytest.fixture(scope="module")
def page():
    """The chapter with another live run and another probed delay; every table it makes is kept."""
    with pytest.MonkeyPatch.context() as patch:
        def keep(values, name, *args, **kwargs):
            TABLES[name] = helpers.tables.table(values, name, *args, **kwargs)
            return TABLES[name]

        patch.setattr(helpers, "table", keep)
        return namespace("chapters/cue_recall_lab", live=Recipe("RNN", (5,), seeds=(3, 4), epochs=2, episodes=256), probed=8)


def accuracies(recipe, delay=None):
    """Read straight from the file, without the code that the chapter uses."""
    content = json.loads((RESULTS / f"{run_name(recipe)}.json").read_text())
    return content["test"][str(delay or recipe.delays[0])]["cue_accuracy"]


def test_runs_with_other_inputs(page):
    assert page["run"].theta.shape == (2, 1943) and page["recipe"].model == "GRU"
    assert len(page["shares"]["GRU"]) == 9


def test_published_values_are_the_published_ones(page):
    wanted = published()["table_34_cue_recall_accuracy"]["values"]
    typed = [[list(cell) for cell in page["COURSE"][model]] for model in MODELS]
    assert typed == [[[float(x) for x in cell] for cell in row] for row in wanted]


def test_grid_table_is_the_stored_data(page):
    frame = TABLES["tab-lab-grid"].frame
    for model in MODELS:
        for d in DELAYS:
            values = accuracies(Recipe(model, (d,)))
            wanted = f"{helpers.number(np.mean(values))} ± {helpers.number(np.std(values, ddof=1))}"
            assert frame.loc[f"{model}, here", f"delay {d}"] == wanted


def test_seed_table_is_the_stored_data(page):
    frame = TABLES["tab-lab-seeds"].frame
    assert len(frame) == len(GRID)
    for recipe in GRID:
        row = frame.loc[f"{recipe.model}, {recipe.delays[0]}"].tolist()
        assert [cell.split(" (")[0] for cell in row] == [helpers.number(a) for a in accuracies(recipe)]


def test_fresh_table_has_every_data_seed(page):
    frame = TABLES["tab-lab-fresh"].frame
    for model in MODELS:
        for d in DELAYS:
            runs = [accuracies(Recipe(model, (d,), data_seed=seed)) for seed in (6200, *FRESH_SEEDS)]
            row = frame.loc[f"{model}, {d}"].tolist()
            assert row[-2:] == [helpers.number(np.min(runs)), helpers.number(np.max(runs))]
            assert [cell.split(" ± ")[0] for cell in row[:3]] == [helpers.number(np.mean(r)) for r in runs]


def test_choices_and_unseen_tables_are_the_stored_data(page):
    rows = TABLES["tab-lab-choices"].frame.iloc[:, -3:].to_numpy()
    assert np.array_equal(rows, [accuracies(recipe) for recipe in CHOICES])
    unseen = TABLES["tab-lab-unseen"].frame.to_numpy()
    wanted = [[accuracies(r, d)[s] for d in (8, 16, 12, 24, 32)] for r in MIXED for s in range(3)]
    assert np.array_equal(unseen, wanted)


def test_bayes_cross_entropies(page):
    frame = TABLES["tab-lab-all-tokens"].frame
    assert frame["with memory"].tolist() == pytest.approx([(d + 1) * math.log(4) / (d + 4) for d in DELAYS])
    for model in MODELS:
        assert (frame[model] > frame["with memory"] - 0.01).all(), "no model beats the best possible"


def test_parameter_table_adds_up(page):
    frame = TABLES["tab-lab-parameters"].frame
    assert frame.loc["all"].tolist() == [1943, 2023, 1915] and frame.iloc[:-1].sum().tolist() == [1943, 2023, 1915]


def test_cue_changes_by_hand(page):
    """A predictor that repeats the cue follows always; one with constant answers follows by chance only."""
    probes, recipe = page["probes"], Recipe("RNN", (8,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probes, "answers", lambda model, theta, data, allow=None: data[:, 1].repeat(3, 1))
        assert page["change_cue"](recipe) == (1.0, 1.0) and page["influence"](recipe) == [1.0] + 8 * [0.0]
        patch.setattr(probes, "answers", lambda model, theta, data, allow=None: torch.zeros(3, len(data)))
        changes, follows = page["change_cue"](recipe)
        assert changes == 0 and abs(follows - 1 / 4) < 0.02


def test_untrained_positions_are_all_that_is_replaced(page):
    before, after = page["stored"][page["mixed"]].run.theta, page["with_untrained"](1.0, 0)
    moved = page["named"]("Transformer", after)["positions"] != page["named"]("Transformer", before)["positions"]
    assert (before != after).sum() == moved.sum() == 3 * 16 * 12 and moved[:, 20:].all()


def test_edges_and_weights_agree(page):
    frame = TABLES["tab-lab-edges"].frame
    assert all(cell.endswith(" / 0") for cell in frame.loc["cue"]), "without the edge no answer depends on the cue"
    assert all(min(map(float, cell.split(" / "))) > 0.99 for cell in frame.loc["nothing"])
    assert (TABLES["tab-lab-weights"].frame["weight on the cue"] <= 1).all()


def test_accuracy_by_cue_averages_to_accuracy(page):
    recipe = Recipe("GRU", (16,))
    data, _ = page["test_of"](recipe)
    shares = np.bincount(data[:, 1], minlength=4) / len(data)
    assert np.allclose(page["by_cue"](recipe) @ shares, accuracies(recipe), atol=3 / 1024)


def test_every_delay_is_tested_on_its_own_episodes(page):
    sweep = page["sweeps"]["GRU"]
    assert sweep.shape == (3, 32)
    wanted = [accuracies(MIXED[1], d) for d in (8, 16)]
    assert np.allclose(sweep[:, [7, 15]].T, wanted, atol=0.05), "the first 512 of the same test episodes"


def test_line_panels_are_the_same_each_time():
    from figures.lines import line_panels

    def svg():
        lines = [("RNN", [1, 2, 3], [0.5, 0.1, 0.3]), ("GRU", [1, 2, 3], [0.2, 0.2, 0.1])]
        return line_panels({"a": lines, "b": lines[:1]}, "x", "y", reference=(0.25, "level"), grid=(2,),
                           numbers="two panels")._repr_mimebundle_()

    first, second = svg(), svg()
    assert first["image/svg+xml"] == second["image/svg+xml"] and first["text/plain"] == "two panels"
