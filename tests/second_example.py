"""Everything a reader may change, changed at once: another sentence over other words, other weights, other widths.

`INPUTS` names, for each page with a cell of inputs, what that cell is to say instead.
"""

import numpy as np

from experiments.training import Recipe
from helpers import Example, HeadMaps, MLPWeights, NormWeights

rng = np.random.default_rng(2024)


def drawn(*shape, spread=0.5):
    """Dense weights with two decimals, as a reader would type them."""
    return rng.normal(0, spread, shape).round(2)


D, F, WIDTHS = 6, 7, ((2, 4), (3, 2), (4, 3))  # model and MLP width; (d_k, d_v) of each head
EXAMPLE = Example(
    tokens=("still", "waters", "run", "deep", "and", "deep", "waters", "turn", "slowly"),
    vocabulary=("run", "deep", "waters", "slowly", "and", "still", "turn", "cold"),
    embedding=drawn(8, D),
    heads=tuple(HeadMaps(drawn(d_k, D), drawn(d_k, D), drawn(d_v, D)) for d_k, d_v in WIDTHS),
    W_O=drawn(D, sum(d_v for _, d_v in WIDTHS)),
    norm_1=NormWeights(1 + drawn(D, spread=0.1), drawn(D, spread=0.1)),
    norm_2=NormWeights(1 + drawn(D, spread=0.1), drawn(D, spread=0.1)),
    mlp=MLPWeights(drawn(F, D), drawn(F), drawn(D, F), drawn(D)),
    norm_final=NormWeights(1 + drawn(D, spread=0.1), drawn(D, spread=0.1)),
    base=500.0,
)

INPUTS = {
    "book/how_to_use": {"example": EXAMPLE},
    "chapters/order_and_context": {
        "series": [21, 20, 22, 19, 18], "record": [21, 19, 22, 20, 23, 18, 17], "words": "deep waters turn slowly",
        "reordered": "slowly deep waters turn", "w_x": -0.7, "w_h": 0.9},
    "chapters/scalar_rnn": {
        "x": [0.3, 1.2, -0.8, 0.6, -1.1], "y": -0.4, "w_x": 0.9, "w_h": -0.6, "w_o": 0.7, "activation": "sigmoid", "eta": 0.2},
    "chapters/gated_memory": {
        "series": [2, 7, 1, 6], "X": drawn(5, 3), "Y": drawn(5, 2), "W_x": drawn(4, 3), "W_h": drawn(4, 4), "W_o": drawn(2, 4),
        "b_h": drawn(4), "b_o": drawn(2), "activation": "sigmoid", "shear": np.array([[0.7, 0.4, 0], [0, 0.7, 0.4], [0, 0, 0.7]]),
        "fixed_factors": [0.6, -0.9, 1.1], "w_h": 0.7, "w_x": -0.5, "constant_inputs": [0.3, 2, -1], "longest": 12, "tau": 0.8,
        "mixture": (0.3, -0.8, 0.6), "signal": drawn(6, 2).clip(0) + [[0, 1], [0, 0], [0, 1], [0, 0], [0, 0], [0, 1]],
        "seed": 11, "observations": drawn(4, 2), "goal": -0.2},
    "chapters/positioned_tokens": {"example": EXAMPLE},
    "chapters/one_head": {"example": EXAMPLE, "head_number": 3, "causal_row": 4},
    "chapters/many_heads": {"example": EXAMPLE, "focus": 2, "standard": (12, 3)},
    "chapters/encoder_block": {"example": EXAMPLE, "depth": 3},
    "chapters/tasks_and_evidence": {
        "example": EXAMPLE, "continuation": "cold", "short": "cold waters run", "seed": 4,
        "image": np.arange(36).reshape(6, 6) % 5},
    "chapters/synthesis": {"example": EXAMPLE, "rounds": 3, "w_x": 0.6, "w_h": -0.7},
    "chapters/fixed_context": {
        "example": EXAMPLE, "seed": 7, "T_x": 5, "D_h": 4, "D_s": 2, "N_a": 3, "bits": 3, "N_c": 6, "D": 3},
    "chapters/scaled_heads": {"example": EXAMPLE, "seed": 7, "D": 96, "N_head": 6, "F": 160, "N_layers": 3},
    "chapters/cue_recall_lab": {"live": Recipe("RNN", (8,), seeds=(6207, 6208), epochs=2), "probed": 8},
    "chapters/forecasting_lab": {"drift": 0.05, "horizon": 30, "seeds": (4, 5), "steps": 20},
    "chapters/parameter_audit": {"D": 96, "N_head": 6, "F": 160, "N_layers": 3},
}
