"""Evaluating the mathematics that `explain` prints: its TeX is parsed and calculated, nothing is taken on trust.

A printed number stands for every value that would be printed so, an interval; a symbol such as Q^{[1]}_{6,c} is
looked up in the arrays of a record.  The result of an expression is the interval of all values that it can have.
"""

import re
from decimal import Decimal

import numpy as np

TOKEN = re.compile(r"""
    (?P<number>\d+(?:\{,\}\d{3})*(?:\.\d+)?(?:\\times10\^\{-?\d+\})?)
  | (?P<symbol>(?:\\mathbf\{\w\}|\\(?:omega|mu|sigma|gamma|beta|epsilon)(?![a-z])|d_k|(?!e\^)[A-Za-z]'?)
       (?:\^\{[\[(]\d[\])]\}|\^2(?=_))?(?:_\{(?:\\mathrm\{\w+\}|[^{}])*\})?)
  | (?P<command>\\(?:frac|sqrt|sin|cos|exp|max|top)(?![a-z])|e\^|\\sum_(?:\w|\{\w\\[ ]\\text\{allowed\}\}))
  | (?P<space>\s|\\[, ]|\\\\|&|\\quad|\{\})
  | (?P<sign>[-+(){},^])
""", re.X)


class Interval:
    """Every value between two ends; entries of a row or a column are kept in arrays of two axes."""

    def __init__(self, low, high=None):
        self.low = np.asarray(low, dtype=np.float64)
        self.high = self.low if high is None else np.asarray(high, dtype=np.float64)

    def _ends(self, values):
        return Interval(np.min(values, axis=0), np.max(values, axis=0))

    def __add__(self, other):
        return Interval(self.low + other.low, self.high + other.high)

    def __neg__(self):
        return Interval(-self.high, -self.low)

    def __mul__(self, other):
        if self.low.ndim and other.low.ndim:                       # a row times a column: exact arrays only
            return Interval((self.low @ other.low).item())
        return self._ends([a * b for a in (self.low, self.high) for b in (other.low, other.high)])

    def __truediv__(self, other):
        assert np.all(other.low > 0), "only divisions by positive numbers are printed"
        return self._ends([a / b for a in (self.low, self.high) for b in (other.low, other.high)])

    def squared(self):
        ends = self._ends([self.low**2, self.high**2])
        return Interval(0, ends.high) if self.low < 0 < self.high else ends

    def rising(self, function):
        return Interval(function(self.low), function(self.high))

    def wave(self, function):
        """A sine or cosine changes by no more than its angle does."""
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return Interval(max(function(middle) - half, -1), min(function(middle) + half, 1))


def printed(text: str, rounded: bool = True) -> Interval:
    """All values that are written as this number: fewer than three digits are exact, the last of more may be rounded."""
    value = Decimal(re.sub(r"\\times10\^\{(-?\d+)\}", r"e\1", text.replace("{,}", "")))
    digits = value.as_tuple().digits if value else (0,)
    half = float(Decimal(5).scaleb(value.as_tuple().exponent - 1)) if rounded and len(digits) >= 3 else 0.0
    return Interval(float(value) - half, float(value) + half)


class Parser:
    """Recursive descent over the tokens; every method returns a function from index values to an Interval.

    arrays: what the symbols mean.  rounded: whether numbers may be.  `sizes` collects how far an index runs.
    """

    def __init__(self, tex: str, arrays=None, rounded=True):
        self.tokens, self.at, self.arrays, self.rounded, self.sizes = [], 0, arrays or {}, rounded, {}
        while self.at < len(tex):
            match = TOKEN.match(tex, self.at)
            assert match, f"cannot read {tex[self.at:self.at + 30]!r}"
            if match.lastgroup != "space":
                self.tokens.append((match.lastgroup, match.group()))
            self.at = match.end()
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def take(self, wanted=None):
        kind, text = self.peek()
        assert wanted in (None, text), f"wanted {wanted}, got {text}"
        self.at += 1
        return kind, text

    def value(self) -> Interval:
        result = self.sum()
        assert self.peek()[0] == "end", f"left over: {self.tokens[self.at:]}"
        return result({})

    def sum(self):
        parts = [self.product()]
        while self.peek()[1] in ("+", "-"):
            sign, part = self.take()[1], self.product()
            parts.append(part if sign == "+" else lambda at, part=part: -part(at))
        return lambda at: sum((part(at) for part in parts[1:]), parts[0](at))

    def product(self):
        if self.peek()[1] == "-":
            self.take()
            inner = self.product()
            return lambda at: -inner(at)
        factors = [self.power()]
        while self.peek()[0] in ("number", "symbol", "command") or self.peek()[1] in ("(", "{"):
            factors.append(self.power())

        def calculate(at):
            result = factors[0](at)
            for factor in factors[1:]:
                result = result * factor(at)
            return result
        return calculate

    def power(self):
        base = self.factor()
        if self.peek()[1] != "^":
            return base
        self.take()
        exponent = self.take()[1]
        if exponent == r"\top":
            return lambda at: Interval(base(at).low.T)
        assert exponent == "2", f"no rule for the power {exponent}"
        return lambda at: base(at).squared()

    def between(self, opening, closing):
        """One expression or, with commas between them, a row of several."""
        self.take(opening)
        parts = [self.sum()]
        while self.peek()[1] == ",":
            self.take()
            parts.append(self.sum())
        self.take(closing)
        if len(parts) == 1:
            return parts[0]
        return lambda at: Interval([[part(at).low for part in parts]], [[part(at).high for part in parts]])

    def factor(self):
        kind, text = self.peek()
        if text in ("(", "{"):
            return self.between(text, ")" if text == "(" else "}")
        self.take()
        if kind == "number":
            return lambda at: printed(text, self.rounded)
        if kind == "symbol":
            return self.symbol(text)
        if text.startswith(r"\sum"):
            return self.running(*re.match(r"\\sum_\{?(\w)(.*)", text).groups())
        if text == r"\frac":
            top, bottom = self.between("{", "}"), self.between("{", "}")
            return lambda at: top(at) / bottom(at)
        if text in (r"\sqrt", "e^", r"\exp"):
            inner = self.factor()
            return lambda at: inner(at).rising(np.sqrt if text == r"\sqrt" else np.exp)
        inner = self.between("(", ")")
        if text == r"\max":
            return lambda at: Interval(inner(at).low.max(), inner(at).high.max())
        return lambda at: inner(at).wave(np.sin if text == r"\sin" else np.cos)

    def running(self, index, condition):
        """A sum over an index reaches over the product that follows it; "allowed" ones are those of `allow`."""
        assert index not in self.sizes, f"{index} runs twice"
        term = self.product()
        places = [k for k in range(self.sizes[index]) if not condition or self.arrays["allow"][k]]
        return lambda at: sum((term(at | {index: k}) for k in places), Interval(0))

    def symbol(self, text):
        row, (name, _, subscript) = text.startswith(r"\mathbf"), text.partition("_{")
        name = re.sub(r"\\mathbf\{(\w)\}", r"\1", name)
        if not subscript:
            return lambda at: Interval(self.arrays[name])
        parts = subscript[:-1].split(",")
        if f"{name}_{parts[0]}" in self.arrays:                    # W_Q, b_1, B_att: the first part is a name
            name, parts = f"{name}_{parts[0]}", parts[1:]
        indices = [index for part in parts for index in re.findall(r"\d+|[a-z]", part)]
        array = np.asarray(self.arrays[name])
        assert array.ndim == len(indices) + row, f"{text}: wanted {array.ndim - row} indices"
        for index, size in zip(indices, array.shape):
            if index.isalpha():
                assert self.sizes.setdefault(index, size) == size, f"{index} runs over {size} and {self.sizes[index]}"

        def look_up(at):
            place = tuple(int(i) if i.isdigit() else at[i] for i in indices)
            return Interval(array[place][None] if row else array[place])
        return look_up


def evaluate(tex: str, arrays=None, rounded=True) -> Interval:
    """The interval of values that a printed expression can have; a point when its numbers are not rounded."""
    return Parser(tex, arrays, rounded).value()
