"""Random correlated conditions: the text a user would write, and its meaning in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse import parse_column
from muntin.reference import aggregates
from muntin.reference.correlated import Predicate, Term, aggregate, both, compare, either, negation

#: The columns that conditions are about.
TYPES: dict[str, pa.DataType] = {
    "v": pa.float64(),
    "i": pa.int64(),
    "d": pa.decimal128(10, 2),
    "s": pa.string(),
    "b": pa.bool_(),
}
NUMBERS = ("v", "i", "d")
SIGNS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
LITERALS = ("2", "0.5", "1.1", "-3", "0.57", "1e0", "0")


@dataclass(frozen=True)
class Written:
    """SQL text and its meaning; ``plain`` text has no aggregate in it.

    Spark evaluates plain parts, so here they are columns and literals only.
    """

    text: str
    of: Term
    plain: bool = False


def values() -> st.SearchStrategy[dict[str, Any]]:
    """A row; doubles are sixty-fourths, so that sums and products are exact."""
    odd = [float("nan"), float("inf"), float("-inf"), -0.0]
    return st.fixed_dictionaries(
        {
            "v": st.one_of(
                st.none(),
                st.integers(-256, 256).map(lambda n: n / 64),
                st.integers(-4, 4).map(float),
                st.sampled_from(odd),
            ),
            "i": st.one_of(st.none(), st.integers(-5, 5), st.sampled_from([2**58, 2**53 + 1])),
            "d": st.one_of(
                st.none(), st.integers(-(10**9), 10**9).map(lambda n: Decimal(n).scaleb(-2))
            ),
            "s": st.one_of(st.none(), st.sampled_from(["", "a", "B", "é"])),
            "b": st.one_of(st.none(), st.booleans()),
        }
    )


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, pa.Array]:
    return {name: pa.array([row[name] for row in rows], type_) for name, type_ in TYPES.items()}


def column(name: str) -> Written:
    return Written(name, lambda row, _: exact(row[name]), plain=True)


def exact(value: Any) -> Any:
    """Return integers and decimals as fractions; doubles stay doubles."""
    if isinstance(value, bool | float | str) or value is None:
        return value
    return Fraction(value)


@st.composite
def inner(draw: st.DrawFn, depth: int, names: Sequence[str] = NUMBERS) -> Written:
    name = draw(st.sampled_from(names))
    functions = ["min", "max"] if name == "s" else ["count", "sum", "avg", "min", "max"]
    function = draw(st.sampled_from(functions))
    text, where = f"{function}({name})", None
    if depth and draw(st.integers(0, 2)) == 0:
        where = draw(conditions(depth - 1))
        text += f" FILTER (WHERE {where.text})"
    keep: Predicate = (lambda row, rows: True) if where is None else where.of
    meaning = _function(function, name)
    return Written(
        text, lambda _, rows: exact(aggregate(meaning, lambda row, _: row[name], keep, rows))
    )


def _function(function: str, name: str) -> Callable[[Sequence[Any]], Any]:
    if function == "avg" and name == "d":
        return lambda found: aggregates.mean(found, scale=6)
    return aggregates.FUNCTIONS[function]


@st.composite
def terms(draw: st.DrawFn, depth: int, rows: bool) -> Written:
    """Draw a term that is a number of a row, or of the window alone."""
    choice = draw(st.integers(0, 5))
    if choice == 0:
        literal = draw(st.sampled_from(LITERALS))
        value = float(literal) if "e" in literal else Fraction(literal)
        return Written(literal, lambda row, _: value, plain=True)
    if choice <= 2 and depth:
        left, right = draw(terms(depth - 1, rows)), draw(terms(depth - 1, rows))
        right = draw(inner(depth - 1)) if left.plain and right.plain else right
        sign = draw(st.sampled_from("+-*/"))
        return Written(
            f"({left.text} {sign} {right.text})",
            lambda row, scope: arithmetic(sign, left.of(row, scope), right.of(row, scope)),
        )
    if choice == 3 and depth:
        operand = draw(terms(depth - 1, rows))
        operand = draw(inner(depth - 1)) if operand.plain else operand
        return Written(f"abs({operand.text})", lambda row, scope: absolute(operand.of(row, scope)))
    if rows and draw(st.booleans()):
        return column(draw(st.sampled_from(NUMBERS)))
    return draw(inner(depth))


def arithmetic(sign: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if isinstance(left, float) or isinstance(right, float) or sign == "/":
        left, right = float(left), float(right)
    if sign == "/":
        return None if right == 0 else left / right
    return {"+": left.__add__, "-": left.__sub__, "*": left.__mul__}[sign](right)


def absolute(value: Any) -> Any:
    return None if value is None else abs(value)


def compared(sign: str, left: Any, right: Any) -> bool | None:
    if left is not None and right is not None and float in (type(left), type(right)):
        left, right = float(left), float(right)
    return compare(sign, left, right)


@st.composite
def comparisons(draw: st.DrawFn, depth: int) -> Written:
    sign = draw(st.sampled_from(SIGNS))
    if draw(st.integers(0, 7)) == 0:
        left, right = column("s"), draw(inner(depth, ["s"]))
    elif draw(st.booleans()):  # the common case: a column and a value of the window
        left, right = column(draw(st.sampled_from(NUMBERS))), draw(terms(depth, rows=False))
        right = draw(inner(depth)) if right.plain else right
        if draw(st.booleans()):
            left, right = right, left
    else:
        left, right = draw(terms(depth, rows=True)), draw(terms(depth, rows=True))
        right = draw(inner(depth)) if left.plain and right.plain else right
    return Written(
        f"{left.text} {sign} {right.text}",
        lambda row, scope: compared(sign, left.of(row, scope), right.of(row, scope)),
    )


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Written:
    choice = draw(st.integers(0, 9))
    if choice == 0:
        return Written("b", lambda row, _: row["b"], plain=True)
    if choice <= 4 and depth:
        left, right = draw(conditions(depth - 1)), draw(conditions(depth - 1))
        right = draw(comparisons(depth - 1)) if left.plain and right.plain else right
        word = draw(st.sampled_from(["AND", "AND", "OR"]))
        join = both if word == "AND" else either
        return Written(
            f"({left.text} {word} {right.text})",
            lambda row, scope: join(left.of(row, scope), right.of(row, scope)),
        )
    if choice == 5:
        held = draw(comparisons(depth))
        return Written(f"NOT ({held.text})", lambda row, scope: negation(held.of(row, scope)))
    if choice == 6:
        name = draw(st.sampled_from(NUMBERS))
        low, high = draw(terms(depth, rows=False)), draw(terms(depth, rows=False))
        high = draw(inner(depth)) if low.plain and high.plain else high
        return Written(
            f"{name} BETWEEN {low.text} AND {high.text}",
            lambda row, scope: both(
                compared(">=", exact(row[name]), low.of(row, scope)),
                compared("<=", exact(row[name]), high.of(row, scope)),
            ),
        )
    if choice == 7:
        missing = draw(inner(depth))
        return Written(f"{missing.text} IS NULL", lambda row, scope: missing.of(row, scope) is None)
    return draw(comparisons(depth))


@dataclass(frozen=True)
class Asked:
    """A correlated aggregate: its text, its meaning, and its call with the types of its slots."""

    text: str
    meaning: Callable[[Sequence[Any]], Any]

    @property
    def aggregate(self) -> Aggregate:
        (parsed,) = parse_column(self.text, []).aggregates
        return parsed


@st.composite
def correlated(draw: st.DrawFn, depth: int = 2) -> Asked:
    where = draw(conditions(depth).filter(lambda written: not written.plain))
    function = draw(st.sampled_from(["count", "sum", "avg", "min", "max", "rows"]))
    name = draw(st.sampled_from(NUMBERS))
    if function == "rows":
        text, meaning = "count(*)", len
    else:
        text, meaning = f"{function}({name})", _function(function, name)
    return Asked(
        f"{text} FILTER (WHERE {where.text})",
        lambda rows: aggregate(meaning, lambda row, _: row[name], where.of, rows),
    )


def call(aggregate: Aggregate, places: dict[str, int] | None = None) -> AggregateCall:
    """Return the call as a plan makes it; every slot is a column here."""
    names = [str(slot).lower() for slot in aggregate.arguments]
    types = tuple(TYPES.get(name, pa.bool_()) for name in names)
    at = tuple(range(len(names))) if places is None else tuple(places[name] for name in names)
    return AggregateCall(aggregate.function, str(aggregate), at, types, True, aggregate.options)
