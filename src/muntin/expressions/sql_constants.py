"""Reads constants of conditions: numbers, patterns, intervals, times, and types of casts."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from muntin.errors import ArgumentError, ExpressionError
from muntin.expressions.nodes import Constant, IntervalConstant, TimeConstant
from muntin.specs.axis import Axis, Domain
from muntin.specs.lengths import Duration, parse_length

_TIME_TYPES = {
    exp.DType.TIMESTAMPTZ: (Domain.TIMESTAMP, pa.timestamp("us", tz="UTC")),
    exp.DType.TIMESTAMPLTZ: (Domain.TIMESTAMP, pa.timestamp("us", tz="UTC")),
    exp.DType.TIMESTAMPNTZ: (Domain.TIMESTAMP_NTZ, pa.timestamp("us")),
    exp.DType.DATE: (Domain.DATE, pa.date32()),
}
_TYPES = {
    exp.DType.BOOLEAN: pa.bool_(),
    exp.DType.TINYINT: pa.int8(),
    exp.DType.SMALLINT: pa.int16(),
    exp.DType.INT: pa.int32(),
    exp.DType.BIGINT: pa.int64(),
    exp.DType.FLOAT: pa.float32(),
    exp.DType.DOUBLE: pa.float64(),
    exp.DType.TEXT: pa.string(),
} | {kind: type_ for kind, (_, type_) in _TIME_TYPES.items()}


def cast_type(type_: exp.DataType) -> pa.DataType | None:
    """Return the Arrow type of a type in a cast; None if it has none here."""
    if type_.this == exp.DType.DECIMAL:
        digits = [int(part.this.this) for part in type_.expressions]
        return pa.decimal128(*digits) if len(digits) == 2 else None
    return None if type_.expressions else _TYPES.get(type_.this)


def number_constant(tree: exp.Expr) -> Constant | None:
    """Return the number that a tree is, with its sign; None if it is something else."""
    if isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal):
        positive = number_constant(tree.this)
        return None if positive is None else Constant(-positive.value)
    if not isinstance(tree, exp.Literal) or tree.is_string:
        return None
    digits = str(tree.this)
    # As in Spark: 1.5 is a decimal, 15e-1 a double.
    return Constant(float(digits) if "e" in digits.lower() else Decimal(digits))


def like_pattern(pattern: str, escape: str, text: str) -> str:
    """Return a pattern of LIKE with a backslash as its escape instead of ``escape``."""
    backslashed, rest = "", iter(pattern)
    for letter in rest:
        if letter == escape:
            letter = next(rest, "")
            if letter not in ("_", "%", escape):
                raise ExpressionError(f"in LIKE {escape!r} stands before _ or % or itself", text)
            backslashed += f"\\{letter}"
        else:
            backslashed += "\\\\" if letter == "\\" else letter
    return backslashed


def interval_constant(tree: exp.Interval, text: str) -> IntervalConstant:
    """Return the interval of a tree; raise if it has several units, months or years."""
    amount, unit = tree.args.get("this"), tree.args.get("unit")
    length_text = "" if amount is None else str(amount.this)
    if isinstance(unit, exp.Var):
        length_text = f"{length_text} {unit.name}"
    negative = length_text.startswith("-")
    try:
        length = parse_length("INTERVAL", length_text.removeprefix("-").strip())
    except ArgumentError:
        length = None
    if not isinstance(length, Duration) or isinstance(unit, exp.IntervalSpan):
        raise ExpressionError(
            "an interval has one unit here, from days to microseconds: INTERVAL 90 SECONDS", text
        )
    days = length_text.rstrip("sS").upper().endswith(("DAY", "WEEK"))
    return IntervalConstant(-length.micros if negative else length.micros, days)


def time_constant(tree: exp.Cast, zone: str, text: str) -> TimeConstant | None:
    """Return the instant or day of a cast text; None if it is cast to no time."""
    if tree.to.this not in _TIME_TYPES:
        return None
    domain, type_ = _TIME_TYPES[tree.to.this]
    try:
        return TimeConstant(Axis(domain, zone=zone).point("condition", str(tree.this.this)), type_)
    except ArgumentError:
        raise ExpressionError(
            f"{tree.this.this!r} is no time; write TIMESTAMP '2026-01-31 12:00:00' or "
            "DATE '2026-01-31'",
            text,
        ) from None
