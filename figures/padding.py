"""Two boundaries around padding: which sources a row may read, and which rows are counted afterwards."""

from helpers.drawing import Drawing

from .kit import FAINT, INK, ROLES, Board

UNIT, TOP, LEFT, ROWS = 2.4, 5.2, 3.6, 19.6  # size of a cell, and where the two drawings start


def _cross(board: Board, x, y, size=UNIT, colour=INK):
    """Cross out the square whose top left corner is (x, y)."""
    a, b = 0.2 * size, 0.8 * size
    for start, end in (((a, a), (b, b)), ((a, b), (b, a))):
        board.axes.plot([x + start[0], x + end[0]], [y + start[1], y + end[1]], color=colour, linewidth=1.3)


def _square(board: Board, x, y, role, width=UNIT, dashed=False):
    line, fill = ROLES[role]
    board.axes.fill([x, x + width, x + width, x], [y, y, y + UNIT, y + UNIT], facecolor="none" if dashed else fill,
                    edgecolor=line, linewidth=1.3, linestyle="--" if dashed else "-")


def draw(real=(True, True, True, False)) -> Drawing:
    """Source restriction on the left, selection of output rows on the right.

    real: for each position, True for a word and False for padding; at least one True.
    """
    if not any(real):
        raise ValueError(f"real: wanted at least one True, got {list(real)}")
    T = len(real)
    names = [f"word {t}" if word else "pad" for t, word in enumerate(real)]
    bottom = TOP + T * UNIT
    board = Board(ROWS + 11.6, bottom + 4.9, inches=0.155)
    board.text(LEFT + T * UNIT / 2, 0.9, "1  who may be read", size=11, weight="bold")
    board.text(ROWS + 4.6, 0.9, "2  what is counted", size=11, weight="bold")
    board.text(LEFT + T * UNIT / 2, 2.5, "source $j$", size=9, colour=ROLES["keys"][0])
    for t, name in enumerate(names):
        y = TOP + t * UNIT
        colour = INK if real[t] else FAINT
        board.text(LEFT + (t + 0.5) * UNIT, TOP - 0.9, name.replace("word ", ""), size=10, colour=colour)
        board.text(LEFT - 0.4, y + UNIT / 2, name.replace("word ", ""), size=10, ha="right", colour=colour)
        for j, readable in enumerate(real):
            _square(board, LEFT + j * UNIT, y, "weights" if readable else "plain")
            if not readable:
                _cross(board, LEFT + j * UNIT, y)
        board.arrow((LEFT + T * UNIT + 0.3, y + UNIT / 2), (ROWS - 0.4, y + UNIT / 2), colour=FAINT)
        _square(board, ROWS, y, "rows", width=6, dashed=not real[t])
        board.text(ROWS + 3, y + UNIT / 2, f"output {t}", size=10, colour=colour)
        if real[t]:
            board.axes.plot([ROWS + 6.2, ROWS + 7.3], [y + UNIT / 2] * 2, color=INK, linewidth=1.2)
        else:
            _cross(board, ROWS + 6.2, y)
    counted = [TOP + (t + 0.5) * UNIT for t, word in enumerate(real) if word]
    middle = sum(counted) / len(counted)
    board.axes.plot([ROWS + 7.3] * 2, [min(counted), max(counted)], color=INK, linewidth=1.2)
    board.arrow((ROWS + 7.3, middle), (ROWS + 8.6, middle))
    board.text(ROWS + 10.2, middle, "pool,\nloss", size=10)
    board.text(1.2, TOP + T * UNIT / 2, "query $t$", size=9, colour=ROLES["queries"][0], rotation=90)
    board.text(LEFT + T * UNIT / 2, bottom + 1.5, "crossed: weight 0", size=9)
    board.text(ROWS + 5, bottom + 1.5, "dashed: computed,", size=9)
    board.text(ROWS + 5, bottom + 3.1, "then left out", size=9)
    sources = [t for t, word in enumerate(real) if word]
    return board.drawing(f"Every query reads sources {sources}; output rows {sources} are counted")
