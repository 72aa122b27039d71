"""A progress bar for cells that train: it moves in Jupyter, and a built book does not show it."""

import os
import time

from IPython import get_ipython
from IPython.display import HTML, display

QUIET = "BOOK_BUILD"  # set in the environment of the kernels that build the book


def _bar(done: int, total: int, unit: str, begin: float):
    words = f"{done} of {total} {unit}, {time.perf_counter() - begin:.0f} s"
    return HTML(f'<progress value="{done}" max="{total}" style="width: 20em; vertical-align: middle"></progress> {words}')


def progress(total: int, unit: str, every: float = 0.2):
    """A function to call with the number of units done so far, such as `tick` of a training.

    It redraws the bar at most each `every` seconds and at the end; outside a kernel, and in a build, it does nothing.
    """
    if QUIET in os.environ or not hasattr(get_ipython(), "kernel"):
        return lambda done: None
    begin = drawn = time.perf_counter()
    handle = display(_bar(0, total, unit, begin), display_id=True)

    def tick(done: int):
        nonlocal drawn
        if done >= total or time.perf_counter() - drawn >= every:
            drawn = time.perf_counter()
            handle.update(_bar(done, total, unit, begin))

    return tick
