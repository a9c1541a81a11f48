"""The question to a focused histogram: its limits, its aggregate and its number of buckets."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from muntin.errors import ArgumentError
from muntin.expressions.nodes import (
    Arithmetic,
    Call,
    Comparison,
    Constant,
    Inner,
    Node,
    Slot,
    conjuncts,
    limit_of,
)
from muntin.kernels.arrays import Floats, Mask

#: The first four are the paper's own; the others are its heuristics without a histogram [CA-13].
STRATEGIES = (
    "piecemeal-uniform",
    "piecemeal-quantile",
    "wholesale-uniform",
    "wholesale-quantile",
    "lower",
    "upper",
)
HEURISTICS = ("lower", "upper")
DEPENDENTS = ("count", "sum", "avg")
_FORM = (
    "a focused histogram needs comparisons of one column with factor * AGG(column) + offset, AGG "
    "being min, max or avg, or abs(column - avg(column)) < distance, joined by AND with plain "
    "conditions; mode='exact' takes any condition"
)


@dataclass(frozen=True)
class Limit:
    """``x sign factor * AGG(x) + offset``."""

    sign: str
    factor: float
    offset: float

    @property
    def upper(self) -> bool:
        return self.sign in ("<", "<=")

    @property
    def inclusive(self) -> bool:
        """Whether a value at the limit is on the same side as the values below it."""
        return self.sign in ("<=", ">")

    def at(self, aggregate: float) -> float:
        return self.factor * aggregate + self.offset

    def holds(self, x: Floats, aggregate: float) -> Mask:
        """Mask of the values within the limit."""
        compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
        mask: Mask = compare[self.sign](x, self.at(aggregate))
        return mask

    def mirrored(self) -> Limit:
        """The same limit for -x."""
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[self.sign]
        return Limit(turned, self.factor, -self.offset)


@dataclass(frozen=True)
class Focus:
    """A correlated aggregate as a focused histogram answers it [CA-7 to CA-10, CA-14 to CA-17].

    ``width`` is how many standard errors around the mean are in focus. ``intervals`` is how many
    histograms a sliding window is made of.
    """

    dependent: str
    aggregate: str
    limits: tuple[Limit, ...]
    buckets: int = 10
    strategy: str = "piecemeal-uniform"
    bounds: bool = False
    width: float = 1.0
    intervals: int = 10
    text: str = ""

    def __post_init__(self) -> None:
        if self.dependent not in DEPENDENTS:
            raise ArgumentError("dependent", self.dependent, f"give {', '.join(DEPENDENTS)}")
        if self.buckets < 4:
            raise ArgumentError("buckets", self.buckets, "a focused histogram needs at least 4")
        if self.strategy not in STRATEGIES:
            raise ArgumentError("strategy", self.strategy, f"give {', '.join(STRATEGIES)}")
        if not self.width > 0:
            raise ArgumentError("width", self.width, "it must be above 0")
        if self.intervals < 1:
            raise ArgumentError("intervals", self.intervals, "it must be at least 1")
        if self.aggregate != "avg" and any(limit.factor <= 0 for limit in self.limits):
            raise ArgumentError(
                "where",
                self.text,
                "the factor of min or max must be above 0, or rows that were out of reach "
                "would come back; mode='exact' takes any factor",
            )

    def __str__(self) -> str:
        return f"{self.text} in {self.buckets} buckets ({self.strategy})"

    @property
    def mirrored(self) -> bool:
        """Whether the histogram holds negated values: the maximum of x is the minimum of -x."""
        return self.aggregate == "max"

    @property
    def own_limits(self) -> tuple[Limit, ...]:
        """The limits on the values in the histogram, which are negated if ``mirrored``."""
        return tuple(limit.mirrored() if self.mirrored else limit for limit in self.limits)


@dataclass(frozen=True)
class Focused:
    """The parts of a condition: the slot of x, its limits, and the slots of plain conditions."""

    slot: int
    aggregate: str
    limits: tuple[Limit, ...]
    plain: tuple[int, ...]


def focus_of(where: Node, text: str) -> Focused:
    """Read a condition as limits; raise an error with the supported form if it is another."""
    plain = tuple(part.place for part in conjuncts(where) if isinstance(part, Slot))
    limits: list[Limit] = []
    about: set[tuple[int, Inner]] = set()
    for part in conjuncts(where):
        if isinstance(part, Slot):
            continue
        for slot, sign, node in _limits(part):
            factor, offset, inner = _linear(node)
            if sign not in ("<", "<=", ">", ">=") or inner is None:
                raise ArgumentError("where", text, _FORM)
            limits.append(Limit(sign, float(factor), float(offset)))
            about.add((slot, inner))
    if len(about) != 1 or len(limits) > 2 or len({limit.upper for limit in limits}) < len(limits):
        raise ArgumentError("where", text, _FORM)
    ((slot, inner),) = about
    usual = inner.function in ("min", "max", "avg") and inner.argument == slot
    if not usual or inner.where is not None:
        raise ArgumentError("where", text, _FORM)
    return Focused(slot, inner.function, tuple(limits), plain)


def _limits(node: Node) -> list[tuple[int, str, Node]]:
    if (limit := limit_of(node)) is not None:
        return [limit]
    match node:
        case Comparison(
            "<" | "<=" as sign,
            Call("abs", (Arithmetic("-", Slot(place), middle),)),
            Constant() as reach,
        ):
            above = ">" if sign == "<" else ">="
            return [
                (place, above, Arithmetic("-", middle, reach)),
                (place, sign, Arithmetic("+", middle, reach)),
            ]
        case _:
            return []


def _linear(node: Node) -> tuple[Decimal, Decimal, Inner | None]:
    """Read a node as ``factor * inner + offset``; ``inner`` is None if it has another form."""
    nothing = Decimal(0), Decimal(0), None
    match node:
        case Inner():
            return Decimal(1), Decimal(0), node
        case Constant(value):
            return Decimal(0), Decimal(value), None
        case Arithmetic("+" | "-" as sign, left, right):
            left_part, right_part = _linear(left), _linear(right)
            if left_part[2] is not None and right_part[2] is not None:
                return nothing
            turn = 1 if sign == "+" else -1
            return (
                left_part[0] + turn * right_part[0],
                left_part[1] + turn * right_part[1],
                left_part[2] or right_part[2],
            )
        case Arithmetic("*", Constant(value), other_side) | Arithmetic(
            "*", other_side, Constant(value)
        ):
            factor, offset, inner = _linear(other_side)
            return factor * Decimal(value), offset * Decimal(value), inner
        case Arithmetic("/", left, Constant(value)) if value != 0:
            factor, offset, inner = _linear(left)
            return factor / Decimal(value), offset / Decimal(value), inner
        case _:
            return nothing
