"""Pictures that look the same in Jupyter, on the web and on paper: heatmaps, and the frame all drawings share."""

import io

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from .checks import matrix
from .numbers import number

SIGNED, WEIGHTS = "RdBu_r", "YlGnBu"  # blue negative and red positive; pale for 0 to dark for 1
STYLE = {"font.size": 9, "svg.fonttype": "path", "svg.hashsalt": "sequence-models", "pdf.fonttype": 42}


class Drawing:
    """A matplotlib figure as SVG for screens and PDF for print, byte for byte the same each time.

    `numbers` is what the picture says in digits, kept as the plain-text face.
    """

    def __init__(self, figure: Figure, numbers: str = "Drawing"):
        self.figure, self.numbers = figure, numbers

    def _save(self, kind: str, date: str) -> bytes:
        buffer = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.figure.savefig(buffer, format=kind, transparent=True, bbox_inches="tight",
                                pad_inches=0.04, metadata={date: None})
        return buffer.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"image/svg+xml": self._save("svg", "Date").decode(), "application/pdf": self._save("pdf", "CreationDate"),
                "text/plain": self.numbers}


def draw_heatmap(axes, values, rows, columns, scale="signed", limit=1.0, allow=None, rule=None):
    """Draw one matrix to scale on `axes`, a square per entry, its number printed in it.

    scale, limit, allow: as in `heatmap`.  rule: row index before which a line separates what follows.
    """
    T, D = values.shape
    allow = np.ones(values.shape, dtype=bool) if allow is None else np.asarray(allow)
    low, colours = (-limit, SIGNED) if scale == "signed" else (0.0, WEIGHTS)
    image = axes.pcolormesh(np.ma.masked_where(~allow, values), cmap=colours, vmin=low, vmax=limit,
                            edgecolors="white", linewidth=1)
    axes.invert_yaxis()
    for t, j in np.ndindex(T, D):
        if not allow[t, j]:
            axes.plot([j + 0.2, j + 0.8], [t + 0.2, t + 0.8], [j + 0.8, j + 0.2], [t + 0.2, t + 0.8],
                      color="0.55", linewidth=0.9)
            continue
        red, green, blue, _ = image.cmap(image.norm(values[t, j]))
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        axes.text(j + 0.5, t + 0.5, number(values[t, j]), ha="center", va="center",
                  color="white" if dark else "black", fontsize=8)
    if rule is not None:
        axes.axhline(rule, color="black", linewidth=2)
    axes.set_xticks(np.arange(D) + 0.5, columns, rotation=40 if max(map(len, columns)) > 4 else 0,
                    ha="left" if max(map(len, columns)) > 4 else "center", rotation_mode="anchor")
    axes.set_yticks(np.arange(T) + 0.5, rows)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_aspect("equal")
    return image


def heatmap(values, rows, columns, scale="signed", limit=1.0, allow=None, rule=None,
            row_axis="", column_axis="", bar="") -> Drawing:
    """A matrix as coloured squares with its numbers, its labels and a colour bar.

    values: (R, C).  rows, columns: labels.  scale and limit: the colour range is given, never inferred,
    so pictures can be compared; "signed" spans -limit to limit, "weights" spans 0 to limit.
    allow: (R, C) Boolean, False entries are crossed out.  row_axis, column_axis, bar: names of the axes.
    Raises ValueError for labels that do not fit, another scale, or a value outside the range.
    """
    T, D = (values := matrix("values", values)).shape
    if (len(rows), len(columns)) != values.shape:
        raise ValueError(f"rows, columns: wanted {values.shape} labels, got {(len(rows), len(columns))}")
    if scale not in ("signed", "weights"):
        raise ValueError(f'scale: wanted "signed" or "weights", got {scale!r}')
    low, high = values.min(), values.max()
    if max(high, -low) > limit or (scale == "weights" and low < 0):
        raise ValueError(f"limit: wanted a range that holds every value, got {limit} for {low:.3g} to {high:.3g}")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(0.5 * D + 1.7, 0.5 * T + 0.9))
        axes = figure.add_subplot()
        image = draw_heatmap(axes, values, list(rows), list(columns), scale, limit, allow, rule)
        axes.set(xlabel=column_axis, ylabel=row_axis)
        side = figure.colorbar(image, ax=axes, fraction=0.05, pad=0.04, aspect=18, label=bar)
        side.outline.set_visible(False)
        side.solids.set(rasterized=False, edgecolor="face")  # matplotlib would put pixels into the PDF
        side.ax.tick_params(length=2, labelsize=8)
    lines = [f"{label}: " + " ".join(number(x) for x in row) for label, row in zip(rows, values)]
    return Drawing(figure, "\n".join(lines))
