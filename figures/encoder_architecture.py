"""The route from token ids to a task head, with one block of the encoder opened."""

from matplotlib.patches import Rectangle

from .kit import FAINT, INK, ROLES, Board
from .pre_norm_block import plus

PURPLE = ROLES["rows"][0]
AXIS, LEFT, WIDE = 8.2, 3.7, 9   # where the rows run down; left edge and width of a box
RADIUS = 0.62                    # of the sign of an addition


def _frame(board, y, height, margin, words, dashed=False, fill="none"):
    board.axes.add_patch(Rectangle((margin, y), 18 - 2 * margin, height, facecolor=fill, linewidth=1.2, zorder=0,
                                   edgecolor=INK if dashed else FAINT, linestyle="--" if dashed else "-"))
    board.text(18 - margin - 0.4, y + 0.9, words, ha="right")


def _down(board, start, end, words="", at=None):
    """The rows go from one height to another; their name stands beside them."""
    board.arrow((AXIS, start), (AXIS, end))
    board.text(AXIS + 0.6, (start + end) / 2 - 0.1 if at is None else at, words, colour=PURPLE, ha="left")


def _half(board, y, norm, operation):
    """Norm, operation and addition, with the bypass on the left.  Returns the height of the addition."""
    board.arrow((AXIS, y), (2.6, y), (2.6, y + 8.1), (AXIS - RADIUS, y + 8.1), colour=PURPLE)
    board.box(LEFT, y + 1, WIDE, 1.9, norm)
    _down(board, y + 2.9, y + 3.7)
    board.box(LEFT, y + 3.7, WIDE, 2.8, operation)
    _down(board, y + 6.5, y + 8.1 - RADIUS)
    plus(board, AXIS, y + 8.1)
    return y + 8.1


def draw(T=7, D=5, K=9, F=4, heads=2):
    """Token ids, embeddings, positions, blocks, final normalization, task head."""
    board, size = Board(18, 46), f"{T}×{D}"
    board.box(LEFT, 0.2, WIDE, 1.9, f"{T} token ids")
    _down(board, 2.1, 3)
    board.box(LEFT, 3, WIDE, 2.8, f"embedding lookup\nin $\\mathbf{{E}}_{{\\mathrm{{vocab}}}}$, {K}×{D}", "rows")
    _down(board, 5.8, 7.6 - RADIUS)
    plus(board, AXIS, 7.6)
    board.box(11.6, 6.2, 6.2, 2.8, "positions\n" + r"$\mathbf{P}$, " + size, "rows")
    board.arrow((11.6, 7.6), (AXIS + RADIUS, 7.6))
    _frame(board, 10.3, 29.2, 0.2, "encoder", dashed=True)
    _frame(board, 12.2, 20, 1.3, "block 1", fill="#f6f4fa")
    _down(board, 7.6 + RADIUS, 14.2, r"$\mathbf{H}^{(0)}$, " + size, at=9.7)
    y = _half(board, 13.2, "LayerNorm 1", f"attention, {heads} heads,\n" + r"joined by $W_O$")
    _down(board, y + RADIUS, y + 2.2, r"$\mathbf{U}$", at=y + 1)
    y = _half(board, y + 1.2, "LayerNorm 2", f"MLP, {F} hidden\nfeatures, ReLU")
    _down(board, y + RADIUS, 33.2, r"$\mathbf{H}^{(1)}$", at=31.6)
    for shift in (0.5, 0.25, 0):
        board.box(LEFT - 0.6 + shift, 33.2 + shift, WIDE + 1.2, 2.8, "" if shift else
                  r"$N_{\mathrm{layers}} - 1$ more blocks," + "\neach with its own weights")
    _down(board, 36.5, 37.2)
    board.box(LEFT, 37.2, WIDE, 1.9, "final LayerNorm")
    _down(board, 39.1, 41.6, r"$\mathbf{H}_{\mathrm{enc}}$, " + size, at=40.5)
    board.box(LEFT, 41.6, WIDE, 1.9, "task head", dashed=True)
    _down(board, 43.5, 44.7)
    board.text(AXIS, 45.4, "prediction")
    return board.drawing(
        f"{T} ids; embedding lookup {K}x{D}; plus positions {size}; encoder: block 1 (LayerNorm 1, attention with {heads} heads and W_O, "
        f"addition, LayerNorm 2, MLP with {F} hidden features, addition), further blocks, final LayerNorm; H_enc {size}; "
        "outside the encoder a task head and its prediction.")
