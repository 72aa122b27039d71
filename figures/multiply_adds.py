"""The multiply-adds of one encoder layer by part, as the sequence grows."""

import matplotlib as mpl
from matplotlib.figure import Figure

from helpers.drawing import STYLE, Drawing

LINES = {"projections": ("#6a4c9c", "-"), "scores and mixing": ("#b8651b", "--"), "MLP": ("#2f7d4c", "-.")}


def draw(lengths, parts, marks) -> Drawing:
    """A line for each part over the sequence length, both axes logarithmic, and vertical marks at some lengths.

    lengths: (n,).  parts: name -> (n,) counts, the names of LINES.  marks: length -> words.
    Raises ValueError for other parts.
    """
    if set(parts) != set(LINES):
        raise ValueError(f"parts: wanted {', '.join(LINES)}, got {', '.join(parts)}")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.6, 3.9), layout="constrained")
        axes = figure.add_subplot()
        for name, (colour, line) in LINES.items():
            axes.plot(lengths, parts[name], color=colour, linestyle=line, linewidth=1.8, label=name)
        for length, words in marks.items():
            axes.axvline(length, color="0.6", linewidth=1)
            axes.text(length, min(map(min, parts.values())), f" {words}", rotation=90, ha="right", va="bottom", color="0.3")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set(xlabel="positions $T$", ylabel="multiply-adds of one layer")
        axes.legend(frameon=False, loc="upper left")
        axes.spines[["top", "right"]].set_visible(False)
    return Drawing(figure, "\n".join(f"{name}: " + " ".join(f"{x:,}" for x in counts) for name, counts in parts.items()))
