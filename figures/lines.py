"""Plots of lines for the laboratory: panels one above the other, so that they stay legible on a phone."""

import matplotlib as mpl
from matplotlib.figure import Figure

from helpers.drawing import STYLE, Drawing

# Three dark colours with three patterns: they differ in grey print too.
KINDS = {"RNN": ("#9c4f00", (0, (1, 1.2))), "GRU": ("#00716b", (0, (4, 1.5))), "Transformer": ("#7b1f73", "-")}


def line_panels(panels, x_label: str, y_label: str, kinds=None, reference=None, side="right", limits=None,
                height=1.55, marks="", grid=(), legend=True, numbers="Drawing") -> Drawing:
    """Draw {title: [(kind, xs, ys), ...]} as panels with common axes; each kind has one colour and pattern.

    kinds: kind -> (colour, pattern), those of the three models unless given.  reference: (value, words), a thin
    horizontal line with its words on one `side`.  limits: of the y axis.  marks: a matplotlib marker for each
    point.  grid: places of thin vertical lines.  legend: whether to name the kinds above the panels.
    """
    kinds = kinds or KINDS
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.2, height * len(panels) + 0.75), layout="constrained")
        rows = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, (title, lines) in zip(rows, panels.items()):
            for kind, xs, ys in lines:
                colour, pattern = kinds[kind]
                axes.plot(xs, ys, color=colour, linestyle=pattern, linewidth=1.3, marker=marks, markersize=4)
            if reference:
                axes.axhline(reference[0], color="0.45", linewidth=0.8)
            if reference and axes is rows[0]:
                axes.annotate(reference[1], (side == "right", reference[0]), xycoords=("axes fraction", "data"),
                              xytext=(2 if side == "left" else 0, 2), textcoords="offset points", ha=side,
                              fontsize=8, color="0.3")
            for x in grid:
                axes.axvline(x, color="0.8", linewidth=0.7, zorder=0)
            axes.set_title(title, fontsize=9, loc="left", pad=3)
            axes.spines[["top", "right"]].set_visible(False)
            axes.set_ylabel(y_label)
        if limits:
            rows[0].set_ylim(*limits)
        rows[-1].set_xlabel(x_label)
        used = [kind for kind in kinds if any(kind == k for lines in panels.values() for k, _, _ in lines)]
        if legend and len(used) > 1:
            handles = [mpl.lines.Line2D([], [], color=kinds[k][0], linestyle=kinds[k][1], linewidth=1.6) for k in used]
            figure.legend(handles, used, loc="outside upper center", ncols=min(3, len(used)), frameon=False, handlelength=2.6)
    return Drawing(figure, numbers)
