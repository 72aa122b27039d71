"""The drawing kit: matrices to scale, boxes and arrows in the colours that the roles keep through the book.

A board is one matplotlib axes in which a unit is one row or one column of a matrix, so shapes can be
compared by eye.  The y axis points down, as rows are read.
"""

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from helpers.drawing import STYLE, Drawing

INK, FAINT = "#222222", "#8a8a8a"
ROLES = {  # line colour, fill: dark enough to read in grey print, pale enough for black text
    "rows": ("#6a4c9c", "#ded4ee"),     # model rows: purple
    "queries": ("#b8651b", "#fbdcbd"),  # orange
    "keys": ("#2f66a3", "#cfe1f4"),     # blue
    "values": ("#2f7d4c", "#cdead6"),   # green
    "weights": ("#5f6b1f", "#e6ebc2"),  # attention weights: olive
    "plain": ("#555555", "#efefef"),    # everything without a role
}


class Board:
    """A drawing area of `width` x `height` units; `inches` is the size of one unit."""

    def __init__(self, width: float, height: float, inches: float = 0.2):
        with mpl.rc_context(STYLE):
            self.figure = Figure(figsize=(width * inches, height * inches))
            self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
        self.axes.axis("off")

    def text(self, x, y, words, size=9, colour=INK, ha="center", va="center", **more):
        """Words centred on a point."""
        self.axes.text(x, y, words, fontsize=size, color=colour, ha=ha, va=va, **more)

    def matrix(self, x, y, rows, columns, role="plain", name="", shape=None, below=True):
        """A grid of `rows` x `columns` unit squares with its top left corner at (x, y).

        name is written above, the shape (rows x columns unless given) below.  Returns the box's edges.
        """
        line, fill = ROLES[role]
        self.axes.add_patch(Rectangle((x, y), columns, rows, facecolor=fill, edgecolor=line, linewidth=1.4))
        for c in range(1, columns):
            self.axes.plot([x + c, x + c], [y, y + rows], color="white", linewidth=0.7)
        for r in range(1, rows):
            self.axes.plot([x, x + columns], [y + r, y + r], color="white", linewidth=0.7)
        self.axes.add_patch(Rectangle((x, y), columns, rows, fill=False, edgecolor=line, linewidth=1.4))
        if name:
            self.text(x + columns / 2, y - 0.8, name, size=10, colour=line)
        if below:
            self.text(x + columns / 2, y + rows + 0.75, shape or f"{rows}×{columns}", size=8, colour=FAINT)
        return x, y, x + columns, y + rows

    def box(self, x, y, width, height, words, role="plain", size=9, dashed=False):
        """A rounded box with words in it; returns its edges."""
        line, fill = ROLES[role]
        self.axes.add_patch(FancyBboxPatch(
            (x + 0.3, y + 0.3), width - 0.6, height - 0.6, boxstyle="round,pad=0.3", facecolor="none" if dashed else fill,
            edgecolor=line, linewidth=1.3, linestyle="--" if dashed else "-"))
        self.text(x + width / 2, y + height / 2, words, size=size)
        return x, y, x + width, y + height

    def arrow(self, *points, colour=INK, words="", side=(0, -0.6), size=8, dashed=False):
        """A line through the points with a head at the last one; words stand beside its middle."""
        xs, ys = zip(*points)
        style = "--" if dashed else "-"
        self.axes.plot(xs[:-1], ys[:-1], color=colour, linewidth=1.2, linestyle=style, solid_joinstyle="round")
        self.axes.annotate("", xy=points[-1], xytext=points[-2], arrowprops={
            "arrowstyle": "-|>", "color": colour, "linewidth": 1.2, "linestyle": style, "shrinkA": 0, "shrinkB": 0})
        if words:
            k = (len(points) - 1) // 2
            (x0, y0), (x1, y1) = points[k], points[k + 1]
            self.text((x0 + x1) / 2 + side[0], (y0 + y1) / 2 + side[1], words, size=size, colour=colour)

    def sign(self, x, y, words):
        """An operation between matrices, such as a multiplication sign."""
        self.text(x, y, words, size=12)

    def drawing(self, numbers: str = "Drawing") -> Drawing:
        """The finished picture; `numbers` is what it says, for readers who cannot see it."""
        return Drawing(self.figure, numbers)
