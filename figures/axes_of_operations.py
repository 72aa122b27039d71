"""What one output row is made from: attention, LayerNorm, MLP."""

from matplotlib.patches import Rectangle

from .kit import FAINT, INK, ROLES, Board

PURPLE, GREY = ROLES["rows"][0], ROLES["plain"][0]
LEFT, RIGHT, ROWS, FEATURES, HIDDEN = 1.8, 13.8, 3, 4, 5


def _grid(board, x, y, columns, lit):
    """A grid of ROWS rows in which the lit ones are filled."""
    for r in range(ROWS):
        for c in range(columns):
            board.axes.add_patch(Rectangle((x + c, y + r), 1, 1, edgecolor="white" if r in lit else FAINT, linewidth=0.8,
                                           facecolor="#a08cc4" if r in lit else "none"))
    board.axes.add_patch(Rectangle((x, y), columns, ROWS, fill=False, edgecolor=PURPLE, linewidth=1.4))


def _panel(board, y, title, words, sources):
    """A title, the rows read on the left and the row made on the right.  Returns where arrows start and end."""
    board.text(0.2, y - 2.9, title, size=10, ha="left", weight="bold")
    board.text(0.2, y - 1.5, words, ha="left")
    _grid(board, LEFT, y, FEATURES, sources)
    _grid(board, RIGHT, y, FEATURES, (1,))
    board.text(LEFT - 0.8, y + ROWS / 2, "positions", size=8, colour=GREY, rotation=90)
    return LEFT + FEATURES + 0.3, RIGHT - 0.3


def draw():
    """Three panels below each other; the filled row on the right is made from what is filled on the left."""
    board = Board(18, 27.6)
    start, end = _panel(board, 3.5, "Attention", "reads every position", (0, 1, 2))
    for r in range(ROWS):
        board.arrow((start, 4 + r), (end, 5))
    board.text(LEFT + FEATURES / 2, 7.3, "features", size=8, colour=GREY)
    start, end = _panel(board, 13, "LayerNorm", "takes mean and variance along one row", (1,))
    board.arrow((start, 14.5), (end, 14.5))
    board.axes.annotate("", xy=(LEFT + FEATURES, 16.6), xytext=(LEFT, 16.6), arrowprops={
        "arrowstyle": "<->", "color": INK, "shrinkA": 0, "shrinkB": 0})
    board.text(LEFT + FEATURES / 2, 17.5, r"$\mu_t,\ \sigma_t^2$", size=10)
    start, end = _panel(board, 23, "MLP", "maps each row alone, with the same weights", (1,))
    hidden = (start + end - HIDDEN) / 2
    _grid(board, hidden, 23, HIDDEN, (1,))
    for left, right, words in ((start, hidden - 0.3, "$W_1$"), (hidden + HIDDEN + 0.3, end, "$W_2$")):
        board.arrow((left, 24.5), (right, 24.5))
        board.text((left + right) / 2, 27, words)
    board.text(hidden + HIDDEN / 2, 27, "ReLU")
    return board.drawing("Attention: output row 1 is made from source rows 0, 1 and 2. LayerNorm: from row 1, by statistics along its features. "
                         "MLP: from row 1, through hidden features, with weights that all rows share.")
