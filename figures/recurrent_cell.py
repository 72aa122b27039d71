"""The scalar recurrent cell, and the separate head that reads its state."""

from matplotlib.patches import Circle

from .kit import FAINT, INK, ROLES, Board


def draw():
    """Previous state and observation enter, the new state leaves; the head reads it outside the cell."""
    board = Board(23.4, 18, inches=0.19)
    board.box(4.3, 6, 13.4, 8.2, "", dashed=True)
    board.text(5.1, 7, "cell, the same at every step", size=9, colour=FAINT, ha="left")
    board.box(0.2, 8.6, 3.4, 3, "$h_{t-1}$", role="rows", size=12)
    board.box(19.6, 8.6, 3.4, 3, "$h_t$", role="rows", size=12)
    board.box(8.2, 15.2, 3.4, 2.4, "$x_t$", size=12)
    board.box(5.2, 9, 2.4, 2.2, "$w_h$", size=11)
    board.box(8.7, 11.9, 2.4, 2, "$w_x$", size=11)
    board.axes.add_patch(Circle((12, 10.1), 0.7, facecolor="white", edgecolor=INK, linewidth=1.3))
    board.text(12, 10.1, "+", size=12)
    board.box(14.6, 9, 2.3, 2.2, r"$\phi$", size=12)
    board.arrow((3.6, 10.1), (5.2, 10.1))
    board.arrow((7.6, 10.1), (11.3, 10.1), words="$R_t$", side=(0, -0.8), size=11)
    board.arrow((9.9, 15.2), (9.9, 13.9))
    board.arrow((11.1, 12.9), (12, 12.9), (12, 10.8))
    board.text(12.9, 12.2, "$I_t$", size=11)
    board.arrow((12.7, 10.1), (14.6, 10.1), words="$z_t$", side=(0, -0.8), size=11)
    board.arrow((16.9, 10.1), (19.6, 10.1))
    line = ROLES["values"][0]
    board.box(19.6, 4, 3.4, 2.4, "$w_o$", role="values", size=11)
    board.box(19.6, 0.2, 3.4, 2.4, r"$\widehat{y}_t$", role="values", size=12)
    board.arrow((21.3, 8.6), (21.3, 6.4), colour=line)
    board.arrow((21.3, 4), (21.3, 2.6), colour=line)
    board.text(19.3, 5.1, "head, separate\nfrom the cell", size=9, colour=line, ha="right")
    board.arrow((21.3, 11.6), (21.3, 14))
    board.text(21.3, 14.9, "next step", size=9, colour=FAINT)
    return board.drawing("The cell: I_t = w_x x_t and R_t = w_h h_(t-1) add up to z_t, and h_t = phi(z_t) goes to the next step. "
                         "Outside the cell the head forms w_o h_t, the prediction.")
