"""Which input row can move which output row, several maps side by side."""

from matplotlib.patches import Rectangle

from .kit import FAINT, ROLES, Board

PURPLE, GREY = ROLES["rows"][0], ROLES["plain"][0]


def draw(maps, across=2):
    """A square of cells for each map, filled where the nudged input row moved the output row.

    maps: title -> (T, T) Boolean array; row = output, column = nudged input.  Titles may have two lines.
    """
    T, down = len(next(iter(maps.values()))), -(-len(maps) // across)
    wide, tall = T + 2.2, T + 4.4
    board = Board(across * wide - 0.2, down * tall, inches=3.6 / (across * wide))
    for k, (title, moved) in enumerate(maps.items()):
        x, y = wide * (k % across) + 1.8, tall * (k // across) + 2.6
        board.text(x + T / 2, y - 1.3, title)
        for t in range(T):
            for j in range(T):
                board.axes.add_patch(Rectangle((x + j, y + t), 1, 1, linewidth=0.8, edgecolor=FAINT,
                                               facecolor=PURPLE if moved[t][j] else "none"))
        board.text(x + T / 2, y + T + 0.8, "nudged input row", size=8, colour=GREY)
        board.text(x - 0.8, y + T / 2, "output row", size=8, colour=GREY, rotation=90)
    return board.drawing("\n".join(f"{' '.join(title.split())}: " + "; ".join(
        f"row {t} moves with {', '.join(str(j) for j in range(T) if row[j]) or 'none'}" for t, row in enumerate(moved))
        for title, moved in maps.items()))
