"""The route through several heads: one input, the output features of each head, joined and mapped back."""

from matplotlib.patches import Rectangle

from figures.kit import INK, ROLES, Board
from helpers.drawing import Drawing

EDGE, GAP, BOX, SLOT = 1.0, 2.2, 3.0, 9.6  # units: margin, room for a sign, height of a head's box, width per head


def _outline(board, x, y, columns, focus):
    """Mark one position's row, so that it can be followed from matrix to matrix."""
    board.axes.add_patch(Rectangle((x, y + focus), columns, 1, fill=False, edgecolor=INK, linewidth=2, zorder=3))


def _beside(board, x, y, name, shape, role):
    """A matrix's name and shape to the right of its top."""
    board.text(x + 0.4, y + 1, name, size=11, colour=ROLES[role][0], ha="left")
    board.text(x + 0.4, y + 2.7, shape, ha="left")


def _below(board, x, y, name, shape, role):
    """A matrix's name and shape under the middle of its lower edge."""
    board.text(x, y + 1, name, size=11, colour=ROLES[role][0])
    board.text(x, y + 2.5, shape)


def _head(board, i, head, start, centre, y, focus):
    """The way from the input through one head's box to its output."""
    (T, columns), (x0, y0) = head.output.shape, start
    board.arrow(start, (x0, y0 + 1), (centre, y0 + 1), (centre, y - 0.1))
    board.box(centre - SLOT / 2 + 0.2, y, SLOT - 0.4, BOX, f"head {i}: own maps,\nown {T}×{len(head.values)} weights")
    top, left = y + BOX + 1.5, centre - columns / 2
    board.arrow((centre, y + BOX + 0.1), (centre, top - 0.1))
    board.matrix(left, top, T, columns, "values", below=False)
    _outline(board, left, top, columns, focus)
    _beside(board, left + columns, top, rf"$\mathbf{{O}}^{{[{i}]}}$", f"{T}×{columns}", "values")
    return top + T


def _joined(board, heads, x, y, ends, centres, focus):
    """Each head's columns set down beside those of the head before; returns the right edge."""
    for i, (head, centre) in enumerate(zip(heads, centres), start=1):
        (T, columns), level = head.output.shape, ends + 0.3 + 0.9 * i  # levels of their own keep the lines apart
        board.arrow((centre, ends + 0.1), (centre, level), (x + columns / 2, level), (x + columns / 2, y - 0.1))
        board.matrix(x, y, T, columns, "values", below=False)
        _outline(board, x, y, columns, focus)
        x += columns
    return x


def two_heads(multi, focus: int = -1, label: str = "") -> Drawing:
    """Draw several heads to scale, from the rows that they read to the projection.

    multi: what `multi_head` returned for rows that read themselves.  focus: the row outlined everywhere,
    label: what stands beside it in the input.  Matrices whose rows are positions all have one height.
    """
    (T, D), (D_out, joined), n = multi.heads[0].inputs.shape, multi.W_O.shape, len(multi.heads)
    last = joined + 2 * (GAP + D_out)
    middle, focus, top = max(last, SLOT * n) / 2 + EDGE, focus % T, T + 2.4
    ends = top + BOX + 1.5 + T
    y, left = ends + 0.9 * n + 1.6, middle - last / 2
    board = Board(2 * middle, y + max(T, joined) + 3.4, inches=0.165)

    board.matrix(middle - D / 2, 0.3, T, D, "rows", below=False)
    _outline(board, middle - D / 2, 0.3, D, focus)
    _beside(board, middle + D / 2, 0.3, r"$\mathbf{H}^{(0)}$", f"{T}×{D}", "rows")
    board.text(middle - D / 2 - 0.4, 0.8 + focus, label, ha="right")
    centres = [middle + (i - (n - 1) / 2) * SLOT for i in range(n)]
    for i, (head, centre) in enumerate(zip(multi.heads, centres), start=1):
        _head(board, i, head, (middle, T + 0.4), centre, top, focus)

    x = _joined(board, multi.heads, left, y, ends, centres, focus)
    _below(board, (left + x) / 2, y + T, r"$\mathbf{C}$", f"{T}×{joined}", "values")
    board.sign(x + GAP / 2, y + T / 2, "×")
    x += GAP
    board.matrix(x, y, joined, D_out, "plain", below=False)
    _below(board, x + D_out / 2, y + joined, r"$\mathbf{W}_O^\top$", f"{joined}×{D_out}", "plain")
    board.sign(x + D_out + GAP / 2, y + T / 2, "=")
    x += D_out + GAP
    board.matrix(x, y, T, D_out, "rows", below=False)
    _outline(board, x, y, D_out, focus)
    _below(board, x + D_out / 2, y + T, r"$\mathbf{B}_{\mathrm{att}}$", f"{T}×{D_out}", "rows")
    sizes = ", ".join(f"{len(head.output)}×{head.output.shape[1]}" for head in multi.heads)
    return board.drawing(f"input {T}×{D}; outputs {sizes}; joined {T}×{joined}; "
                         f"times {joined}×{D_out}; branch {T}×{D_out}")
