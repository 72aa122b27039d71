"""From an image to the rows of an encoder: patches, flattened, projected, a class row in front, positions added."""

import numpy as np

from helpers.drawing import Drawing

from .kit import FAINT, INK, Board

TOP, SIDE = 2.4, 0.5  # where the upper drawing starts, and the margin


def _grey_cells(board: Board, values, x, y, low, high):
    """Numbers in squares of their grey value, top left corner at (x, y)."""
    for (r, c), value in np.ndenumerate(values):
        level = 0.3 + 0.7 * (value - low) / max(high - low, 1e-12)
        board.axes.fill([x + c, x + c + 1, x + c + 1, x + c], [y + r, y + r, y + r + 1, y + r + 1],
                        facecolor=str(level), edgecolor="0.6", linewidth=0.5)
        board.text(x + c + 0.5, y + r + 0.5, f"{value:g}", size=9, colour="white" if level < 0.55 else INK)


def _outline(board: Board, x, y, width, height):
    board.axes.plot([x, x + width, x + width, x, x], [y, y, y + height, y + height, y], color=INK, linewidth=2)


def _cut(board: Board, image, patches, right):
    """The image with its patches outlined, and the same numbers with one patch a row at x = `right`."""
    (H, W), (N, size), p = image.shape, patches.shape, round(patches.shape[1] ** 0.5)
    low, high, shift = image.min(), image.max(), max((H - N) / 2, 0)
    board.text(SIDE + W / 2, 1.2, "image", size=11)
    _grey_cells(board, image, SIDE, TOP, low, high)
    board.text(right + size / 2, TOP + shift - 1.2, "patches as rows", size=11)
    _grey_cells(board, patches, right, TOP + shift, low, high)
    for n in range(N):
        r, c = divmod(n, W // p)
        _outline(board, SIDE + c * p, TOP + r * p, p, p)
        _outline(board, right, TOP + shift + n, size, 1)
    board.text(right + size / 2, TOP + shift + N + 0.8, f"{N}×{size}", size=9, colour=FAINT)
    board.arrow((SIDE + W + 0.5, TOP + H / 2), (right - 0.5, TOP + H / 2), words="flatten", side=(0, -0.9), size=10)
    return TOP + shift + N + 1.5


def draw(image, patches, D: int) -> Drawing:
    """The image and its flattened patches above; the projected rows and what is added to them below.

    image: (H, W) grey values.  patches: (N, p*p), its square patches flattened in reading order.  D: model width.
    """
    (H, W), (N, size) = image.shape, patches.shape
    right, steps = SIDE + W + 4.6, 3 * D + 16.4
    board = Board(max(right + size, steps) + SIDE, max(H, N) + N + 11.2, inches=0.18)
    leave = _cut(board, image, patches, right)
    y, x = max(H, N) + TOP + 5.4, SIDE
    board.arrow((right + size / 2, leave), (right + size / 2, y - 3), (x + D / 2, y - 3), (x + D / 2, y + 0.7),
                words="project", side=(0, -0.9), size=10)
    board.matrix(x, y + 1, N, D, "rows", shape=f"{N}×{D}")
    board.arrow((x + D + 0.4, y + 1 + N / 2), (x + D + 2, y + 1 + N / 2))
    x += D + 2.4
    board.matrix(x, y + 1, N, D, "rows", shape=f"{N + 1}×{D}")
    board.matrix(x, y, 1, D, "rows", below=False)
    board.text(x + D / 2, y - 0.9, "class row", size=10)
    board.sign(x + D + 1, y + (N + 1) / 2, "+")
    x += D + 2
    board.matrix(x, y, N + 1, D, "plain", shape=f"{N + 1}×{D}")
    board.text(x + D / 2, y - 0.9, "positions", size=10)
    board.arrow((x + D + 0.4, y + (N + 1) / 2), (x + D + 1.9, y + (N + 1) / 2))
    x += D + 2
    board.box(x, y, 5, N + 1, "encoder", size=10)
    board.arrow((x + 5, y + 0.8), (x + 6.6, y + 0.8))
    board.text(x + 8.1, y + 0.8, "class\nhead", size=10)
    return board.drawing(f"{H}×{W} image; {N} patches of {size} numbers; {N} rows of width {D}; {N + 1} rows with the class row")
