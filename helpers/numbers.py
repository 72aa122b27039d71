"""How a computed number is written, on tables, heatmaps and equations alike."""

import math


def is_exact(x: float, digits: int = 3) -> bool:
    """Whether `digits` significant digits write x without rounding, up to float64 noise."""
    return math.isclose(x, float(f"{x:.{digits - 1}e}"), rel_tol=1e-12, abs_tol=1e-15)


def number(x, digits: int = 3) -> str:
    """Write x with `digits` significant digits, or exactly where fewer are enough.

    An exact value drops its trailing zeros and a rounded one keeps them: 0.65 against 0.650.
    """
    if isinstance(x, str) or "bool" in type(x).__name__ or not hasattr(x, "__float__"):
        return str(x)
    if float(x).is_integer() and (abs(x) < 1000 or "int" in type(x).__name__):
        return f"{int(x):,}"
    x = float(x)
    if not math.isfinite(x):
        return {math.inf: "∞", -math.inf: "-∞"}.get(x, "NaN")
    if abs(x) < 1e-15:
        return "0"
    rounded = float(f"{x:.{digits - 1}e}")
    if not 1e-4 <= abs(rounded) < 1e6:
        return f"{rounded:.{digits}g}" if is_exact(x, digits) else f"{x:.{digits - 1}e}"
    if is_exact(x, digits):
        return f"{rounded:.{digits}g}" if abs(rounded) < 10**digits else f"{rounded:,.0f}"
    places = max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)
    return f"{x:,.{places}f}"


def tex_number(x, digits: int = 3) -> str:
    """The same number in TeX: powers of ten as powers, no thousands separator that TeX would space."""
    text = number(x, digits).replace(",", "{,}").replace("∞", r"\infty").replace("NaN", r"\text{NaN}")
    if "e" not in text or not text[-1].isdigit():
        return text
    mantissa, power = text.split("e")
    return rf"{mantissa}\times10^{{{int(power)}}}"
