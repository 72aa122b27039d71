"""One pre-norm block: the rows go straight down, and each branch is a detour that ends in an addition."""

from .kit import INK, ROLES, Board

PURPLE = ROLES["rows"][0]
LEFT, RIGHT, WIDE = 4.6, 17.6, 11.2   # edge of the bypass's matrices, of the branch's, width of a box


def plus(board: Board, x, y):
    """An addition; its circle has a radius of about 0.1 inches."""
    board.text(x, y, "+", size=12, bbox={"boxstyle": "circle,pad=0.12", "facecolor": "white", "edgecolor": INK, "linewidth": 1.3})


def _half(board, y, T, D, name, norm, normalized, operation, branch):
    """From one row matrix at height y to the addition below it.  Returns the height of that addition."""
    axis, middle, gap = LEFT + D / 2, RIGHT + D / 2, 1.7
    board.matrix(LEFT, y, T, D, "rows", below=False)
    board.text(LEFT - 2.2, y + T / 2, name, size=12, colour=PURPLE)
    x = middle - WIDE / 2
    board.box(x, y + T / 2 - 1.6, WIDE, 3.2, norm)
    board.arrow((LEFT + D + 0.4, y + T / 2), (x, y + T / 2))
    board.arrow((middle, y + T / 2 + 1.6), (middle, y + T + gap - 0.3))
    y += T + gap
    start = y
    board.matrix(RIGHT, y, T, D, "rows", below=False)
    board.text(RIGHT + D + 1.9, y + T / 2, normalized, size=12, colour=PURPLE)
    board.arrow((middle, y + T), (middle, y + T + gap))
    board.box(x, y + T + gap, WIDE, 4.4, operation)
    board.arrow((middle, y + T + gap + 4.4), (middle, y + T + 2 * gap + 4.2))
    y += T + 2 * gap + 4.4
    board.matrix(RIGHT, y, T, D, "rows", below=False)
    board.text(RIGHT + D + 2.5, y + T / 2, branch, size=12, colour=PURPLE)
    y += T / 2
    board.arrow((RIGHT - 0.4, y), (axis + 1, y))
    board.arrow((axis, start - gap), (axis, y - 1), colour=PURPLE)
    board.text(axis - 1.2, (start - gap + y) / 2, "bypass", size=10, colour=PURPLE, rotation=90)
    plus(board, axis, y)
    board.arrow((axis, y + 0.9), (axis, y + T / 2 + 2.1))
    return y + T / 2 + 2.4


def draw(T=7, D=5, F=4, heads=2):
    """The block of the chapter on the encoder, every T x D matrix to scale."""
    board = Board(RIGHT + D + 5, 7 * T + 24.8, inches=0.125)
    y = _half(board, 0.5, T, D, r"$\mathbf{H}^{(\ell)}$", "LN$_1$", r"$\mathbf{X}$",
              f"attention, {heads} heads,\n" + r"joined by $W_O$", r"$\mathbf{B}_{\mathrm{att}}$")
    y = _half(board, y, T, D, r"$\mathbf{U}$", "LN$_2$", r"$\mathbf{R}$",
              f"MLP: {D} to {F},\nReLU, {F} to {D}", r"$\mathbf{B}_{\mathrm{mlp}}$")
    board.matrix(LEFT, y, T, D, "rows", below=False)
    board.text(LEFT - 2.4, y + T / 2, r"$\mathbf{H}^{(\ell+1)}$", size=12, colour=PURPLE)
    board.text(LEFT + D + 1, y + T / 2, f"every matrix is {T}×{D}", size=9, ha="left")
    return board.drawing(
        f"Rows {T}x{D} at every stage. H goes down a bypass to the first addition; its branch is LN1, X, attention, B_att. "
        f"U goes down a bypass to the second addition; its branch is LN2, R, MLP with {F} hidden features, B_mlp. Then H(l+1).")
