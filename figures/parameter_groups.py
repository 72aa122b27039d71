"""Week 1, Figure 5: the parameters of one encoder layer, group by group."""

import matplotlib as mpl
from matplotlib.figure import Figure

from helpers.drawing import STYLE, Drawing

from .kit import INK, ROLES


def draw(groups) -> Drawing:
    """One bar for each group on one axis from zero, its count written beside it.

    groups: name -> count.  Raises ValueError for a count that is not positive.
    """
    for name, count in groups.items():
        if not count > 0:
            raise ValueError(f"groups: wanted positive counts, got {count} for {name}")
    line, fill = ROLES["rows"]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.6, 0.75 * len(groups) + 0.6), layout="constrained")
        axes = figure.add_subplot()
        axes.barh(range(len(groups)), list(groups.values()), height=0.6, color=fill, edgecolor=line, linewidth=1.4)
        for y, (name, count) in enumerate(groups.items()):
            axes.text(count, y, f"  {count:,}", va="center", ha="left", fontsize=10, color=INK)
        axes.set_yticks(range(len(groups)), list(groups), fontsize=10)
        axes.set_xlim(0, 1.35 * max(groups.values()))
        axes.set_xticks([])
        axes.invert_yaxis()
        axes.tick_params(length=0)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
    return Drawing(figure, "\n".join(f"{name}: {count:,}" for name, count in groups.items()))
