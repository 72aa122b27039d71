"""Which observation a prediction may read, and which one it does read: small grids of squares."""

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.drawing import STYLE, Drawing

from .kit import FAINT, INK, ROLES

LEAK = "#9b2226"


def square(axes, t, j, reads, allowed):
    """One entry: filled when read, empty when not, crossed out when forbidden, dark with a mark when both."""
    line, fill = ROLES["weights"]
    colour = (fill if allowed else LEAK) if reads else "none"
    axes.add_patch(Rectangle((j, t), 1, 1, facecolor=colour, edgecolor=line if allowed or reads else FAINT, linewidth=1))
    if reads and not allowed:
        axes.text(j + 0.5, t + 0.52, "!", color="white", ha="center", va="center", fontsize=11, weight="bold")
    elif not allowed:
        for ends in ([t + 0.25, t + 0.75], [t + 0.75, t + 0.25]):
            axes.plot([j + 0.25, j + 0.75], ends, color=FAINT, linewidth=1)


def draw(panels, columns=2, row_axis="prediction t", column_axis="observation j") -> Drawing:
    """Panels of squares: rows are predictions, columns are observations.

    panels: title -> (reads, allow), two Boolean arrays of one shape, (predictions, observations).
    Raises ValueError when the two shapes differ.
    """
    for title, (reads, allow) in panels.items():
        if np.shape(reads) != np.shape(allow):
            raise ValueError(f"allow: wanted the shape of reads in {title!r}, {np.shape(reads)}, got {np.shape(allow)}")
    lines, deep = -(-len(panels) // columns), max(len(reads) for reads, _ in panels.values())
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.3, lines * (0.26 * deep + 0.85)), layout="constrained")
        for place, (title, (reads, allow)) in enumerate(panels.items(), start=1):
            axes = figure.add_subplot(lines, columns, place)
            for (t, j), read in np.ndenumerate(reads):
                square(axes, t, j, read, allow[t, j])
            rows, width = np.shape(reads)
            axes.set(xlim=(-0.05, width + 0.05), ylim=(rows + 0.05, -0.05), aspect="equal")
            axes.set_title(title, fontsize=10, color=INK)
            axes.set_xticks(np.arange(width) + 0.5, map(str, range(width)))
            axes.set_yticks(np.arange(rows) + 0.5, map(str, range(rows)))
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            if place > len(panels) - columns:
                axes.set_xlabel(column_axis)
            if place % columns == 1:
                axes.set_ylabel(row_axis)
    marks = {(True, True): "reads", (False, True): "may", (False, False): "x", (True, False): "LEAK"}
    text = [f"{title}:\n" + "\n".join(" ".join(marks[bool(r), bool(a)] for r, a in zip(*rows)) for rows in zip(reads, allow))
            for title, (reads, allow) in panels.items()]
    return Drawing(figure, "\n".join(text))
