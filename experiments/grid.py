"""The runs whose results are stored, in groups."""

from .models import MODELS
from .training import Recipe

DELAYS = (8, 16, 32)
FRESH_SEEDS = (6300, 6400)          # data seeds of the two repeats; the grid has the default of `Recipe`
UNSEEN = (12, 24, 32)               # delays on which the recipes trained at 8 and 16 are tested

GRID = [Recipe(model, (delay,)) for model in MODELS for delay in DELAYS]
FRESH = [Recipe(model, (delay,), data_seed=seed) for seed in FRESH_SEEDS for model in MODELS for delay in DELAYS]
MIXED = [Recipe(model, (8, 16)) for model in MODELS]
CHOICES = [
    *(Recipe(model, (16,), batch=batch) for model in ("RNN", "GRU") for batch in (64, 256)),
    *(Recipe(model, (delay,), loss="cue") for model in ("RNN", "GRU") for delay in (16, 32)),
    *(Recipe("Transformer", (delay,), **start)
      for start in ({"spread": 1.0}, {"projections": "linear"}) for delay in (16, 32)),
]
GROUPS = {"grid": GRID, "fresh": FRESH, "mixed": MIXED, "choices": CHOICES}


def scored_on(recipe: Recipe) -> tuple[int, ...]:
    """The delays whose test episodes a recipe is scored on."""
    return recipe.delays if len(recipe.delays) == 1 else (*recipe.delays, *UNSEEN)
