"""The route through one attention head, from embeddings to output rows, every matrix to scale."""

from numbers import Integral

from helpers.drawing import Drawing

from .kit import ROLES, Board

LEFT, GAP, BETWEEN = 1.0, 2.0, 1.6  # margin, room for a sign, room between two branches
ABOVE, BELOW = 4.0, 2.0             # room over a band for its title and names, under it for shapes and turns


def head_route(T: int, D: int, d_k: int, d_v: int) -> Drawing:
    """Draw embedding plus position, three projections, matching, row softmax and mixing.

    T: positions.  D: features of a row.  d_k, d_v: widths of keys and of values.  A unit square is one entry.
    Raises ValueError for a size that is not a positive whole number.
    """
    for name, size in (("T", T), ("D", D), ("d_k", d_k), ("d_v", d_v)):
        if not isinstance(size, Integral) or size < 1:
            raise ValueError(f"{name}: wanted a whole number of at least 1, got {size!r}")
    x_KT = LEFT + d_k + GAP                                # columns: keys and scores of band 3,
    x_S = max(x_KT + T + GAP, LEFT + d_v + GAP)
    x_K = LEFT + 2 * d_k + GAP + BETWEEN                   # key branch of band 2, and the values at the right
    x_V = max(x_K + 2 * d_k + GAP + BETWEEN + d_v + GAP, x_S + T + GAP)
    y_1 = 3.0
    y_2 = y_1 + T + BELOW + ABOVE
    y_3 = y_2 + max(T, D) + BELOW + ABOVE
    y_4 = y_3 + max(T, d_k) + BELOW + ABOVE
    board = Board(max(x_V + d_v, LEFT + 3 * D + 2 * GAP + 2) + LEFT, y_4 + T + BELOW, inches=0.16)
    _inputs(board, y_1, T, D)
    _projections(board, y_1, y_2, (T, D, d_k, d_v), (x_K, x_V))
    _matching(board, y_2, y_3, (T, D, d_k), (x_K, x_KT, x_S))
    _mixing(board, (y_2, y_3, y_4), (T, d_k, d_v), (x_S, x_V))
    return board.drawing(
        f"E_seq {T}×{D} + P {T}×{D} = H0 {T}×{D}; maps {D}×{d_k}, {D}×{d_k}, {D}×{d_v} give Q {T}×{d_k}, K {T}×{d_k}, "
        f"V {T}×{d_v}; Q × K^T / sqrt({d_k}) = S {T}×{T}; softmax in each row gives A {T}×{T}; A × V = O {T}×{d_v}")


def _matrix(board, x, y, rows, columns, role, name):
    """A matrix with its shape below, dark and large enough for a phone."""
    board.matrix(x, y, rows, columns, role, name, below=False)
    board.text(x + columns / 2, y + rows + 0.8, f"{rows}×{columns}", colour="#444444")


def _title(board, x, y, words, ha="left"):
    board.text(x, y, words, size=10, ha=ha, weight="bold")


def _inputs(board, y, T, D):
    _title(board, LEFT, 0.8, "1  add position")
    _matrix(board, LEFT, y, T, D, "rows", r"$\mathbf{E}_{\mathrm{seq}}$")
    board.sign(LEFT + D + GAP / 2, y + T / 2, "+")
    _matrix(board, LEFT + D + GAP, y, T, D, "rows", r"$\mathbf{P}$")
    board.sign(LEFT + 2 * D + 1.5 * GAP, y + T / 2, "=")
    board.matrix(LEFT + 2 * D + 2 * GAP, y, T, D, "rows", r"$\mathbf{H}^{(0)}$", below=False)
    board.text(LEFT + 3 * D + 2 * GAP + 0.4, y + T - 0.5, f"{T}×{D}", colour="#444444", ha="left")


def _projections(board, above, y, sizes, columns):
    (T, D, d_k, d_v), (x_K, x_V) = sizes, columns
    start, turn = LEFT + 2.5 * D + 2 * GAP, above + T + 1.9
    branches = ("Q", "queries", LEFT, d_k), ("K", "keys", x_K, d_k), ("V", "values", x_V - d_v - GAP, d_v)
    for letter, role, x, d in branches:
        _matrix(board, x, y, D, d, role, rf"$\times\,\mathbf{{W}}_{letter}^\top$")
        board.sign(x + d + GAP / 2, y + D / 2, "=")
        _matrix(board, x + d + GAP, y, T, d, role, rf"$\mathbf{{{letter}}}$")
        board.arrow((start, above + T + 0.1), (start, turn), (x + d / 2, turn), (x + d / 2, y - 1.6), colour=ROLES["rows"][0])
    _title(board, LEFT + d_k / 2 + 0.8, y - 2.4, "2  project")


def _matching(board, above, y, sizes, columns):
    (T, D, d_k), (x_K, x_KT, x_S) = sizes, columns
    _matrix(board, LEFT, y, T, d_k, "queries", r"$\mathbf{Q}$")
    board.sign(LEFT + d_k + GAP / 2, y + T / 2, "×")
    y_KT = y + max(0, (T - d_k) / 2)
    _matrix(board, x_KT, y_KT, d_k, T, "keys", r"$\mathbf{K}^{\!\top}$")
    board.sign(x_S - GAP / 2, y + T / 2, "=")
    _matrix(board, x_S, y, T, T, "plain", r"$\mathbf{S}$")
    floor = above + max(T, D)
    for x, to, turn, end, role in ((LEFT + 1.5 * d_k + GAP, LEFT + d_k / 2, floor + 1.8, y, "queries"),
                                   (x_K + 1.5 * d_k + GAP, x_KT + T / 2, floor + 2.5, y_KT, "keys")):
        board.arrow((x, above + T + 1.4), (x, turn), (to, turn), (to, end - 1.6), colour=ROLES[role][0])
    _title(board, x_KT + T / 2 + 0.8, y - 2.4, rf"3  match, divide by $\sqrt{{{d_k}}}$")


def _mixing(board, heights, sizes, columns):
    (y_2, y_3, y), (T, d_k, d_v), (x_S, x_V) = heights, sizes, columns
    _matrix(board, x_S, y, T, T, "weights", r"$\mathbf{A}$")
    board.arrow((x_S + T / 2, y_3 + T + 1.4), (x_S + T / 2, y - 1.6))
    board.sign(x_S + T + (x_V - x_S - T) / 2, y + T / 2, "×")
    _matrix(board, x_V, y, T, d_v, "values", r"$\mathbf{V}$")
    board.arrow((x_V + d_v / 2, y_2 + T + 1.4), (x_V + d_v / 2, y - 1.6), colour=ROLES["values"][0])
    board.sign(x_S - GAP / 2, y + T / 2, "=")
    _matrix(board, x_S - GAP - d_v, y, T, d_v, "values", r"$\mathbf{O}$")
    _title(board, x_S + T / 2 - 0.8, y - 3.7, "4  softmax in each row", ha="right")
    _title(board, LEFT, y - 1.9, "5  mix the values")
