"""Check a reader's answer without printing the right one."""

import numpy as np

from .checks import matrix


class Verdict(str):
    __repr__ = str.__str__  # a cell shows the words without quotation marks


def check(answer, correct, digits: int = 3) -> Verdict:
    """Say whether an answer is right to `digits` significant digits, and if not, in which way it is off.

    answer, correct: a number, a row or a matrix.  The verdict never contains the correct value.
    """
    if answer is None:
        return Verdict("Type your answer in place of None and run the cell again.")
    correct = np.asarray(correct, dtype=np.float64)
    try:
        answer = matrix("answer", answer, correct.shape)
    except ValueError as error:
        return Verdict(f"Not yet. {error}.")
    close = np.abs(answer - correct) <= 0.5001 * 10.0 ** (np.floor(np.log10(np.abs(correct) + 1e-300)) + 1 - digits) + 1e-12
    if close.all():
        return Verdict("Right.")
    if np.allclose(answer, -correct, rtol=10.0 ** (1 - digits)):
        return Verdict("Not yet: the size is right, the sign is not.")
    if close.any():
        return Verdict(f"Not yet: {close.sum()} of {close.size} entries are right; look at {np.argwhere(~close)[0].tolist()}.")
    ratio = np.linalg.norm(answer) / max(np.linalg.norm(correct), 1e-300)
    return Verdict("Not yet: " + ("too large." if ratio > 1.001 else "too small." if ratio < 0.999 else "off."))
