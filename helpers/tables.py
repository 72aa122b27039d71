"""Numbered tables: a cell returns one, Jupyter shows it as HTML and the book as a captioned table."""

import numpy as np
import pandas as pd
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from .numbers import number

_markdown = MarkdownIt().enable("table").use(dollarmath_plugin)
_markdown.add_render_rule("math_inline", lambda self, tokens, i, *_: f"${tokens[i].content}$")


def _aligned(column: list[str]) -> list[str]:
    """Fill numbers on the right with spaces as wide as a digit or a point."""
    tails = [len(text.partition(".")[2]) for text in column]
    point = "" if not max(tails) else "\N{PUNCTUATION SPACE}"
    return [text + point * ("." not in text) + "\N{FIGURE SPACE}" * (max(tails) - tail)
            for text, tail in zip(column, tails)]


class Table:
    """A DataFrame with a caption and a label.  `frame` is there to go on computing with.

    Cells are numbers (with `digits` significant digits) or Markdown text with $mathematics$.
    """

    def __init__(self, frame: pd.DataFrame, name: str, caption: str, digits: int = 3):
        self.frame, self.name, self.caption, self.digits = frame, name, caption, digits

    def rows(self) -> list[list[str]]:
        """Head and body as text, the row labels first; numbers padded so that their points align."""
        columns = [[number(x, self.digits) for x in self.frame.iloc[:, j]] for j in range(self.frame.shape[1])]
        columns = [_aligned(column) if self._numeric(j) else column for j, column in enumerate(columns)]
        columns.insert(0, list(map(str, self.frame.index)))
        return [[str(self.frame.index.name or ""), *map(str, self.frame.columns)], *map(list, zip(*columns))]

    def _numeric(self, j: int) -> bool:
        return all(hasattr(x, "__float__") and not isinstance(x, (bool, np.bool_)) for x in self.frame.iloc[:, j])

    def _lines(self) -> str:
        spaces = str.maketrans({"\N{PUNCTUATION SPACE}": "&#8200;", "\N{FIGURE SPACE}": "&#8199;", "|": r"\|"})
        head, *body = ([text.translate(spaces) for text in row] for row in self.rows())
        sides = [":--"] + ["--:" if self._numeric(j) else ":--" for j in range(self.frame.shape[1])]
        return "\n".join("| " + " | ".join(row) + " |" for row in (head, sides, *body))

    def _markdown(self) -> str:
        return f"~~~{{table}} {self.caption}\n:name: {self.name}\n:class: computed\n\n{self._lines()}\n~~~"

    def _repr_html_(self) -> str:
        caption = _markdown.renderInline(self.caption)
        return _markdown.render(self._lines()).replace("<table>", f'<table id="{self.name}"><caption>{caption}</caption>')

    def __repr__(self) -> str:
        return f"{self.caption}\n{self.frame}"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/html": self._repr_html_(), "text/markdown": self._markdown(), "text/plain": repr(self)}


def table(values, name: str, caption: str, rows=None, columns=None, corner: str = "", digits: int = 3) -> Table:
    """Show a matrix or a DataFrame as a numbered table.

    values: DataFrame, dict of columns, 2-D array or list of rows.  rows, columns: labels; one word such as
    "Feature" is counted: Feature 0, Feature 1, ...  corner: heading of the row labels.  name: its label.
    Raises ValueError when the labels do not fit the values.
    """
    frame = pd.DataFrame(values if isinstance(values, (dict, pd.DataFrame)) else list(values)).copy()
    if isinstance(columns, str):
        columns = [f"{columns} {j}" for j in range(frame.shape[1])]
    for what, labels, size in (("rows", rows, len(frame)), ("columns", columns, frame.shape[1])):
        if labels is not None and len(labels) != size:
            raise ValueError(f"{what}: wanted {size} labels for the {what} of {name}, got {len(labels)}")
    frame.index = frame.index if rows is None else list(rows)
    frame.columns = frame.columns if columns is None else list(columns)
    frame.index.name = corner
    return Table(frame, name, caption, digits)
