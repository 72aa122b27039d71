"""Week 1, Figure 4: the weights of a few random heads, and how the widths of all heads add up."""

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.checks import matrix
from helpers.drawing import STYLE, Drawing, draw_heatmap
from helpers.numbers import number

from .kit import INK, ROLES


def draw(patterns, labels, N_head, width) -> Drawing:
    """Four weight matrices in a square, and below them N_head blocks of `width` features in a row.

    patterns: (4, T, T), rows sum to one.  labels: of the T positions.
    Raises ValueError when the patterns and labels do not fit.
    """
    patterns = matrix("patterns", patterns, (4, len(labels), len(labels)))
    line, fill = ROLES["values"]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 6.6), layout="constrained")
        grid = figure.add_gridspec(3, 2, height_ratios=(3, 3, 0.9))
        for i, weights in enumerate(patterns):
            axes = figure.add_subplot(grid[i // 2, i % 2])
            draw_heatmap(axes, weights, list(labels), list(labels), "weights")
            axes.set_title(f"head {i + 1}", fontsize=10)
        strip = figure.add_subplot(grid[2, :])
        for i in range(N_head):
            strip.add_patch(Rectangle((i * width, 0), width, 1, facecolor=fill, edgecolor=line, linewidth=1.4))
            strip.text((i + 0.5) * width, 0.5, f"{width}", ha="center", va="center", color=INK, fontsize=10)
        strip.text(N_head * width / 2, -0.6, f"{N_head} heads side by side: {N_head * width} features", ha="center",
                   va="center", color=INK, fontsize=10)
        strip.set(xlim=(0, N_head * width), ylim=(-1, 1.05))
        strip.axis("off")
    lines = [f"head {i + 1}, {label}: " + " ".join(map(number, row))
             for i, weights in enumerate(patterns) for label, row in zip(labels, weights)]
    return Drawing(figure, "\n".join([*lines, f"{N_head} heads of width {width}: {N_head * width} features"]))
