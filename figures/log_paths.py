"""Path sensitivities on logarithmic axes: one panel above the other, a line a case, named at its end."""

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from helpers.drawing import STYLE, Drawing
from helpers.numbers import number

from .kit import FAINT, ROLES

LINES = [(ROLES["rows"][0], "-"), (ROLES["queries"][0], "--"), (ROLES["values"][0], ":")]  # told apart in grey by their dashes


def log_paths(panels, axis: str) -> Drawing:
    """One panel a dict of curves, a curve a row of positive values over 0, 1, 2, ... transitions.

    panels: {title: {name of the curve: values}}, at most three curves in each.  axis: what the values are.
    Raises ValueError for a fourth curve, or a value that a logarithmic axis cannot show.
    """
    lines = []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.4, 2.6 * len(panels)), layout="constrained")
        for axes, (title, curves) in zip(np.atleast_1d(figure.subplots(len(panels), 1)), panels.items()):
            if len(curves) > len(LINES):
                raise ValueError(f"panels: wanted at most {len(LINES)} curves in a panel, got {len(curves)} in {title!r}")
            for (name, values), (colour, dashes) in zip(curves.items(), LINES):
                values = np.asarray(values, dtype=np.float64)
                if not (values > 0).all():
                    raise ValueError(f"panels: wanted values above zero for a logarithmic axis, got {values.min()} in {name!r}")
                axes.plot(values, color=colour, linestyle=dashes, linewidth=2)
                axes.annotate(name, (len(values) - 1, values[-1]), (5, 0), textcoords="offset points", va="center",
                              color=colour, fontsize=10, annotation_clip=False)
                lines.append(f"{title}, {name}: " + ", ".join(f"{number(v) if v > 1e-15 else format(v, '.2e')} after {n}" for n, v in enumerate(values) if n % 5 == 0))
            axes.set(yscale="log", xlabel="transitions", ylabel=axis)
            axes.set_title(title, loc="left", fontsize=10)
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.axhline(1, color=FAINT, linewidth=0.8, zorder=0)
            axes.set_xlim(right=len(values) - 1)
            axes.spines[["top", "right"]].set_visible(False)
    return Drawing(figure, "\n".join(lines))
