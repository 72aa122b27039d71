"""Week 1, Figure 1: one context for all output steps, and one alignment for each of them."""

import matplotlib as mpl
from matplotlib.figure import Figure

from helpers.checks import matrix
from helpers.drawing import STYLE, Drawing, draw_heatmap
from helpers.numbers import number


def draw(fixed, aligned, steps, sources) -> Drawing:
    """Two weight matrices on one colour range, the same source weights at every step above, new ones below.

    fixed, aligned: (T_y, T_x), rows sum to one.  steps, sources: labels of rows and columns.
    Raises ValueError when the two matrices or the labels do not fit.
    """
    fixed = matrix("fixed", fixed, (len(steps), len(sources)))
    aligned = matrix("aligned", aligned, fixed.shape)
    panels = {"the same context at every step": fixed, "an alignment for each step": aligned}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(0.5 * len(sources) + 1.2, len(steps) + 2.9), layout="constrained")
        for axes, (title, weights) in zip(figure.subplots(2, 1), panels.items()):
            draw_heatmap(axes, weights, list(steps), list(sources), "weights")
            axes.set_title(title, fontsize=10, pad=8)
            axes.set_ylabel("output step")
    lines = [f"{title}, {step}: " + " ".join(map(number, row))
             for title, weights in panels.items() for step, row in zip(steps, weights)]
    return Drawing(figure, "\n".join(lines))
