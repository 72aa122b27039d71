"""Three uses of one recurrent cell: forward down the page, sensitivities back up."""

from .kit import Board

BACK = "#9b2226"  # sensitivities: dark red, and dashed so that it reads in grey


def link(board, top, bottom, forward, backward):
    """A pair of arrows between two boxes: the value on its way down, its sensitivity on the way up."""
    middle = (top + bottom) / 2
    board.arrow((10.4, top), (10.4, bottom))
    board.arrow((13.6, bottom), (13.6, top), colour=BACK, dashed=True)
    if forward:
        board.text(9.9, middle, forward, size=12, ha="right")
    if backward:
        board.text(14.2, middle, backward, size=12, ha="left", colour=BACK)


def draw():
    """Start, three cells, head and loss as one column; the observations and the target enter from the left."""
    board = Board(22, 34.8, inches=0.19)
    board.box(9, 0.2, 6, 2.4, "$h_{-1}=0$", role="rows", size=11)
    board.text(9.9, 3.7, "forward", size=10, ha="right")
    board.text(15.7, 1.4, "backward", size=10, ha="left", colour=BACK)
    link(board, 2.6, 5, "", r"$g_0^z\,w_h$")
    for t in range(3):
        y = 5 + 7 * t
        board.box(7, y, 10, 4, "", role="rows")
        board.text(12, y + 1.2, "cell", size=10)
        board.text(12, y + 2.8, r"$w_x,\ w_h,\ \phi$", size=11)
        board.box(0.2, y + 0.8, 3.4, 2.4, f"$x_{t}$", size=12)
        board.arrow((3.6, y + 2), (7, y + 2))
        board.text(17.5, y + 2, f"$g_{t}^z$", size=12, ha="left", colour=BACK)
        link(board, y + 4, y + 7, f"$h_{t}$", f"$g_{t}^h$")
    board.box(9, 26, 6, 2.4, "head $w_o$", role="values", size=11)
    link(board, 28.4, 31.4, r"$\widehat{y}$", "$e$")
    board.box(7, 31.4, 10, 3, r"loss $\mathcal{L}$", size=11)
    board.box(0.2, 31.7, 3.4, 2.4, "$y$", size=12)
    board.arrow((3.6, 32.9), (7, 32.9))
    return board.drawing("Forward: h_-1 = 0, then x_0, x_1, x_2 enter one cell three times and give h_0, h_1, h_2; the head gives the "
                         "prediction, and with the target y the loss. Backward: e, g_2^h, g_2^z, g_1^h, g_1^z, g_0^h, g_0^z, in that order.")
