"""Worked equations: any entry of any step written out with its operands and its result.

`explain` reads the operands from the step's own record and shows them rounded; results come from unrounded values.
"""

from functools import partial

import numpy as np
from IPython.display import Math

from .attention import Head, MultiHead
from .encoder import MLP, Block, LayerNorm
from .example import Example
from .numbers import is_exact, tex_number
from .positions import frequencies


class Equation(Math):
    """Mathematics made from values; `value` is the unrounded result."""

    def __init__(self, tex: str, value=None):
        super().__init__(tex)
        self.value = value

    def _repr_latex_(self) -> str:
        return f"$$\n{self.data}\n$$"


def _tuple(values) -> str:
    return "(" + r",\ ".join("{" + tex_number(x) + "}" for x in values) + ")"


def _sign(*values) -> str:
    return "=" if all(is_exact(float(x)) for x in np.hstack([np.ravel(v) for v in values])) else r"\approx"


def _sum(values) -> str:
    return " + ".join(f"({tex_number(x)})" for x in values)


def _dot(left, right, *more, weights=None) -> str:
    """Products of matching entries, leaving out those that a zero weight (on the right unless given) removes."""
    used = [*np.flatnonzero(right if weights is None else weights)] or [0]
    terms = [f"({tex_number(left[c])})({tex_number(right[c])})" for c in used] + [f"({tex_number(x)})" for x in more]
    return " \\\\\n&\\quad {}+ ".join(" + ".join(terms[i:i + 4]) for i in range(0, len(terms), 4))


def vector(symbol: str, values) -> Equation:
    """Write a row as symbol = (v_0, v_1, ...)."""
    return Equation(f"{symbol} {_sign(values)} {_tuple(values)}", np.asarray(values))


def explain(record, name: str, row: int, column: int | None = None) -> Equation:
    """Write out one entry of one step: formula, operands, result.

    record: an Example, or what `attend`, `one_head`, `multi_head`, `layer_norm`, `mlp` or `block` returned.
    name: a step of it, such as "scores".  row, column: which entry; no column for a step with one number a
    row ("mean"), query and source for "contributions".
    Raises ValueError for a record or name that is not known, or an entry outside the step.
    """
    steps = next((names for kind, names in _EXPLAINED.items() if isinstance(record, kind)), None)
    if steps is None:
        kinds = ", ".join(kind.__name__ for kind in _EXPLAINED)
        raise ValueError(f"record: wanted one of {kinds}, got {type(record).__name__}")
    if name not in steps:
        raise ValueError(f"name: wanted one of {', '.join(steps)}, got {name!r}")
    values = getattr(record, name)
    entry = (row, column)[:min(values.ndim, 2)]
    for what, index, size in zip(("row", "column"), entry, values.shape):
        if not isinstance(index, (int, np.integer)) or not 0 <= index < size:
            raise ValueError(f"{what}: wanted a whole number from 0 to {size - 1} for {name}, got {index!r}")
    symbol, formula, numbers, operands = steps[name](record, *entry)
    result = values[entry]
    shown = _tuple(result) if np.ndim(result) else tex_number(result)
    lines = [f"{symbol} &= {formula}", *[f"&{_sign(operands)} {numbers}"] * (numbers != shown), f"&{_sign(operands, result)} {shown}"]
    return Equation("\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}", result)


def _position(example, t, j):
    angle = t * frequencies(example.embedded.shape[1], example.base)[j]
    function = (r"\sin", r"\cos")[j % 2]
    return f"P_{{{t},{j}}}", rf"{function}({t}\,\omega_{{{j}}})", f"{function}({tex_number(angle)})", angle


def _input(example, t, j):
    pair = example.embedded[t, j], example.positions[t, j]
    return f"H^{{(0)}}_{{{t},{j}}}", f"E_{{{t},{j}}} + P_{{{t},{j}}}", _sum(pair), pair


def _up(head) -> str:
    return "" if head.index is None else f"^{{[{head.index}]}}"


def _project(letter, head, t, i):
    if head.maps is None:
        raise ValueError("record: wanted a head with the rows it was made from, got one made from Q, K and V directly")
    up, row, W = _up(head), (head.inputs if letter == "Q" else head.sources)[t], getattr(head.maps, "W_" + letter)[i]
    return f"{letter}{up}_{{{t},{i}}}", rf"\sum_c X_{{{t},c}}\,W{up}_{{{letter},{i}c}}", _dot(row, W), [row, W]


def _score(head, t, j):
    q, k, up = head.queries[t], head.keys[j], _up(head)
    products = " + ".join(f"({tex_number(a)})({tex_number(b)})" for a, b in zip(q, k))
    return rf"\mathbf{{q}}{up}_{{{t}}}\,{{\mathbf{{k}}{up}_{{{j}}}}}^\top", rf"\sum_c Q{up}_{{{t},c}}\,K{up}_{{{j},c}}", products, [q, k]


def _scaled(head, t, j):
    dot, d_k, up = head.scores[t, j], head.queries.shape[1], _up(head)
    formula = rf"\frac{{\mathbf{{q}}{up}_{{{t}}}\,{{\mathbf{{k}}{up}_{{{j}}}}}^\top}}{{\sqrt{{d_k}}}}"
    return f"S{up}_{{{t},{j}}}", formula, rf"\frac{{{tex_number(dot)}}}{{\sqrt{{{d_k}}}}}", dot


def _weight(head, t, j):
    S, up, over = head.scaled_scores[t], _up(head), "r" if head.allow[t].all() else r"{r\ \text{allowed}}"
    if not head.allow[t, j]:
        return f"A{up}_{{{t},{j}}}", rf"0 \quad \text{{query {t} may not read source {j}}}", "0", 0
    allowed = S[head.allow[t]]
    total = " + ".join(f"e^{{{tex_number(s)}}}" for s in allowed)
    formula = rf"\frac{{\exp S{up}_{{{t},{j}}}}}{{\sum_{over} \exp S{up}_{{{t},r}}}}"
    return f"A{up}_{{{t},{j}}}", formula, rf"\frac{{e^{{{tex_number(S[j])}}}}}{{{total}}}", allowed


def _contribution(head, t, j):
    A, v, up = head.weights[t, j], head.values[j], _up(head)
    entries = r",\ ".join(f"V{up}_{{{j},{i}}}" for i in range(len(v)))
    symbol = rf"A{up}_{{{t},{j}}}\,\mathbf{{v}}{up}_{{{j}}}"
    return symbol, rf"A{up}_{{{t},{j}}}\,({entries})", rf"({tex_number(A)})\,{_tuple(v)}", [A, *v]


def _output(head, t, i):
    A, V, up = head.weights[t], head.values[:, i], _up(head)
    return f"O{up}_{{{t},{i}}}", rf"\sum_j A{up}_{{{t},j}}\,V{up}_{{j,{i}}}", _dot(A, V, weights=A), [A, V]


def _joined(multi, t, i):
    column, head = [(j, head) for head in multi.heads for j in range(head.output.shape[1])][i]
    value = head.output[t, column]
    return f"C_{{{t},{i}}}", f"O{_up(head)}_{{{t},{column}}}", tex_number(value), value


def _projection(multi, t, i):
    C, W = multi.concatenation[t], multi.W_O[i]
    return rf"B_{{\mathrm{{att}},{t},{i}}}", rf"\sum_c C_{{{t},c}}\,W_{{O,{i}c}}", _dot(C, W), [C, W]


def _mean(norm, t):
    row = norm.inputs[t]
    return rf"\mu_{{{t}}}", rf"\frac{{1}}{{D}}\sum_c h_{{{t},c}}", rf"\frac{{{_sum(row)}}}{{{len(row)}}}", row


def _variance(norm, t):
    centred = norm.inputs[t] - norm.mean[t]
    squares = " + ".join(f"({tex_number(x)})^2" for x in centred)
    return rf"\sigma^2_{{{t}}}", rf"\frac{{1}}{{D}}\sum_c (h_{{{t},c}} - \mu_{{{t}}})^2", rf"\frac{{{squares}}}{{{len(centred)}}}", centred


def _normalized(norm, t, c):
    gamma, beta, eps = norm.norm
    parts = [norm.inputs[t, c], norm.mean[t], norm.variance[t], gamma[c], beta[c], eps]
    h, mean, variance, g, b, e = map(tex_number, parts)
    fraction = rf"\frac{{({h}) - ({mean})}}{{\sqrt{{{variance} + {e}}}}}"
    return (rf"\mathrm{{LN}}(\mathbf{{h}}_{{{t}}})_{{{c}}}", rf"\gamma_{{{c}}}\,\frac{{h_{{{t},{c}}} - \mu_{{{t}}}}}"
            rf"{{\sqrt{{\sigma^2_{{{t}}} + \epsilon}}}} + \beta_{{{c}}}", rf"({g})\,{fraction} + ({b})", parts)


def _preactivation(mlp, t, i):
    R, W, b = mlp.inputs[t], mlp.weights.W_1[i], mlp.weights.b_1[i]
    return f"Z_{{{t},{i}}}", rf"\sum_c R_{{{t},c}}\,W_{{1,{i}c}} + b_{{1,{i}}}", _dot(R, W, b), [*R, *W, b]


def _hidden(mlp, t, i):
    z = mlp.preactivations[t, i]
    return f"J_{{{t},{i}}}", rf"\max(0,\ Z_{{{t},{i}}})", rf"\max(0,\ {tex_number(z)})", z


def _mlp_output(mlp, t, c):
    J, W, b = mlp.hidden[t], mlp.weights.W_2[c], mlp.weights.b_2[c]
    return rf"B_{{\mathrm{{mlp}},{t},{c}}}", rf"\sum_i J_{{{t},i}}\,W_{{2,{c}i}} + b_{{2,{c}}}", _dot(J, W, b), [*J, *W, b]


def _residual(symbol, bypass, branch, total, update, t, c):
    pair = total[t, c] - update[t, c], update[t, c]
    return f"{symbol}_{{{t},{c}}}", rf"{bypass}_{{{t},{c}}} + B_{{\mathrm{{{branch}}},{t},{c}}}", _sum(pair), pair


_EXPLAINED = {
    Example: {"positions": _position, "inputs": _input},
    Head: {"queries": partial(_project, "Q"), "keys": partial(_project, "K"), "values": partial(_project, "V"),
           "scores": _score, "scaled_scores": _scaled, "weights": _weight, "contributions": _contribution,
           "output": _output},
    MultiHead: {"concatenation": _joined, "projection": _projection},
    LayerNorm: {"mean": _mean, "variance": _variance, "output": _normalized},
    MLP: {"preactivations": _preactivation, "hidden": _hidden, "output": _mlp_output},
    Block: {"sum_1": lambda b, *at: _residual("U", "H", "att", b.sum_1, b.attention.projection, *at),
            "sum_2": lambda b, *at: _residual(*(("H'", "U") if b.placement == "pre" else "YR"), "mlp", b.sum_2, b.mlp.output, *at)},
}
