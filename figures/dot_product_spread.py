"""Week 1, Figure 3: how far dot products spread as their width grows, and what softmax makes of it."""

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from helpers.checks import matrix
from helpers.drawing import STYLE, Drawing
from helpers.numbers import number

LINES = {"plain dot product": ("#b8651b", "o", "-"), "divided by the square root of the width": ("#2f66a3", "s", "--")}


def draw(widths, spread, largest, uniform) -> Drawing:
    """Two panels over the width, both with and without the scale.

    widths: (n,).  spread: (n, 2) standard deviations.  largest: (n, 2) mean largest weights of a row.
    uniform: the largest weight of a row of equal weights.  Raises ValueError for arrays that do not fit.
    """
    spread = matrix("spread", spread, (len(widths), 2))
    largest = matrix("largest", largest, (len(widths), 2))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.4, 5.6), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True)
        for axes, values in ((upper, spread), (lower, largest)):
            for (name, (colour, mark, line)), column in zip(LINES.items(), values.T):
                axes.plot(widths, column, line, color=colour, marker=mark, markersize=5, linewidth=1.6, label=name)
            axes.set_xscale("log", base=2)
            axes.spines[["top", "right"]].set_visible(False)
        upper.set_yscale("log", base=2)
        upper.set_ylabel("standard deviation of the scores")
        upper.legend(frameon=False, loc="upper left")
        lower.axhline(uniform, color="0.55", linewidth=1)
        lower.text(widths[-1], uniform, "equal weights", ha="right", va="bottom", color="0.35")
        lower.set(ylim=(0, 1), ylabel="mean largest weight of a row", xlabel="width $d_k$")
        lower.set_xticks(widths, [f"{d}" for d in widths])
    lines = [f"width {d}: spread {number(s)} plain, {number(t)} scaled; largest weight {number(a)} plain, {number(b)} scaled"
             for d, (s, t), (a, b) in zip(np.asarray(widths), spread, largest)]
    return Drawing(figure, "\n".join(lines))
