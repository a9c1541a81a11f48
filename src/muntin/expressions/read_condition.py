"""The parts of conditions that are no arithmetic and no comparison, from the parser's tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import pyarrow as pa
from sqlglot import exp

from muntin.errors import ArgumentError, ExpressionError
from muntin.expressions.condition_nodes import (
    BooleanConstant,
    Choice,
    Dated,
    Elapsed,
    IntervalConstant,
    LeastOrGreatest,
    Like,
    Null,
    TimeConstant,
)
from muntin.expressions.nodes import Comparison, Missing, Negation, Node, Text, conjunction
from muntin.specs.axis import Axis, Domain
from muntin.specs.lengths import Duration, parse_length

#: What messages say that can be used.
PARTS = (
    "IN, LIKE, % and div, coalesce, nullif, if, CASE, least, greatest, timestampdiff, datediff, "
    "intervals, constants"
)
_SECOND = 10**6
_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": _SECOND,
    "MINUTE": 60 * _SECOND,
    "HOUR": 3600 * _SECOND,
    "DAY": 86_400 * _SECOND,
    "WEEK": 7 * 86_400 * _SECOND,
}
_MOMENTS = {
    exp.DType.TIMESTAMPTZ: (Domain.TIMESTAMP, pa.timestamp("us", tz="UTC")),
    exp.DType.TIMESTAMPLTZ: (Domain.TIMESTAMP, pa.timestamp("us", tz="UTC")),
    exp.DType.TIMESTAMPNTZ: (Domain.TIMESTAMP_NTZ, pa.timestamp("us")),
    exp.DType.DATE: (Domain.DATE, pa.date32()),
}
Read = Callable[[exp.Expr], Node]


def read_part(tree: exp.Expr, read: Read, zone: str, text: str) -> Node | None:
    """One of these parts, or None where it is something else; ``read`` reads what is in it."""
    match tree:
        case exp.Boolean():
            return BooleanConstant(bool(tree.this))
        case exp.Null():
            return Null()
        case exp.Literal():
            return Text(str(tree.this))
        case exp.In() if tree.expressions:
            value = read(tree.this)
            among = [Comparison("=", value, read(one)) for one in tree.expressions]
            return Negation(conjunction([Negation(one) for one in among]))
        case exp.NullSafeNEQ():
            return Negation(Comparison("<=>", read(tree.this), read(tree.expression)))
        case exp.Like() | exp.Escape():
            return _like(tree, read, text)
        case exp.Interval():
            return _interval(tree, text)
        case exp.Cast() if isinstance(tree.this, exp.Literal) and tree.this.is_string:
            return _moment(tree, zone, text)
        case exp.TsOrDsToDate():
            return Dated(read(tree.this), zone)
        case exp.TimestampDiff():
            return _elapsed(tree, read, zone, text)
        case exp.DateDiff() if tree.args.get("unit") is None:
            return Elapsed(_UNITS["DAY"], read(tree.expression), read(tree.this), zone)
    return _choice(tree, read)


def _choice(tree: exp.Expr, read: Read) -> Node | None:
    match tree:
        case exp.Coalesce():
            *firsts, last = map(read, (tree.this, *tree.expressions))
            return Choice(tuple((Negation(Missing(one)), one) for one in firsts), last)
        case exp.Nullif():
            value = read(tree.this)
            return Choice(((Comparison("=", value, read(tree.expression)), Null()),), value)
        case exp.If():
            return Choice(
                ((read(tree.this), read(tree.args["true"])),), _default(tree, "false", read)
            )
        case exp.Case():
            operand = tree.args.get("this")
            ifs = tree.args["ifs"]
            when = [
                read(one.this)
                if operand is None
                else Comparison("=", read(operand), read(one.this))
                for one in ifs
            ]
            then = [read(one.args["true"]) for one in ifs]
            return Choice(tuple(zip(when, then, strict=True)), _default(tree, "default", read))
        case exp.Least() | exp.Greatest():
            which: Literal["least", "greatest"]
            which = "least" if isinstance(tree, exp.Least) else "greatest"
            return LeastOrGreatest(which, tuple(map(read, (tree.this, *tree.expressions))))
    return None


def _default(tree: exp.Expr, name: str, read: Read) -> Node:
    given = tree.args.get(name)
    return Null() if given is None else read(given)


def _like(tree: exp.Expr, read: Read, text: str) -> Node:
    like, escape = (tree.this, tree.expression) if isinstance(tree, exp.Escape) else (tree, None)
    pattern = like.expression
    constant = isinstance(pattern, exp.Literal) and pattern.is_string
    if not isinstance(like, exp.Like) or not constant:
        raise ExpressionError("LIKE takes a constant pattern here, such as 'a%'", text)
    by = "\\" if escape is None else str(escape.this)
    found = Like(read(like.this), _regular(str(pattern.this), by, text))
    return Negation(found) if like.args.get("negate") else found


def _regular(pattern: str, escape: str, text: str) -> str:
    """A pattern of LIKE as a regular expression."""
    made, rest = "", iter(pattern)
    for letter in rest:
        if letter == escape:
            letter = next(rest, "")
            if letter not in ("_", "%", escape):
                raise ExpressionError(f"in LIKE {escape!r} stands before _ or % or itself", text)
            made += re.escape(letter)
        else:
            made += {"%": ".*", "_": "."}.get(letter, re.escape(letter))
    return rf"(?s)\A{made}\z"


def _interval(tree: exp.Interval, text: str) -> IntervalConstant:
    amount, unit = tree.args.get("this"), tree.args.get("unit")
    written = "" if amount is None else str(amount.this)
    if isinstance(unit, exp.Var):
        written = f"{written} {unit.name}"
    negative = written.startswith("-")
    try:
        length = parse_length("INTERVAL", written.removeprefix("-").strip())
    except ArgumentError:
        length = None
    if not isinstance(length, Duration) or isinstance(unit, exp.IntervalSpan):
        raise ExpressionError(
            "an interval has one unit here, from days to microseconds: INTERVAL 90 SECONDS", text
        )
    days = written.rstrip("sS").upper().endswith(("DAY", "WEEK"))
    return IntervalConstant(-length.micros if negative else length.micros, days)


def _moment(tree: exp.Cast, zone: str, text: str) -> TimeConstant | None:
    found = _MOMENTS.get(tree.to.this)
    if found is None:
        return None
    domain, type_ = found
    try:
        return TimeConstant(Axis(domain, zone=zone).point("condition", str(tree.this.this)), type_)
    except ArgumentError:
        raise ExpressionError(
            f"{tree.this.this!r} is no time; write TIMESTAMP '2026-01-31 12:00:00' or "
            "DATE '2026-01-31'",
            text,
        ) from None


def _elapsed(tree: exp.TimestampDiff, read: Read, zone: str, text: str) -> Elapsed:
    unit = str(tree.args["unit"].name).upper()
    if unit not in _UNITS:
        raise ExpressionError(f"timestampdiff counts {', '.join(_UNITS)}, not {unit}", text)
    return Elapsed(_UNITS[unit], read(tree.expression), read(tree.this), zone)
