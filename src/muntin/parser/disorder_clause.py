"""``DISORDER SLACK '10 seconds'``: how disordered a stream is, and what happens to late rows.

DISORDER ORDERED
         SLACK length | SLACK n ROWS
         PUNCTUATED [PER KEY] WHERE condition
         PER KEY [SLACK length] [IDLE ...]
         EACH (column, ...) [SLACK length] [EXPECT (value, ...)] [IDLE ...]
         PER PARTITION [SLACK length] [IDLE ...]
         ... [AHEAD length] [LATE GENEROUS | CONSISTENT]
IDLE WAIT | FOLLOW length | CLOCK length
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

from muntin.errors import ArgumentError
from muntin.parser.cursor import Cursor
from muntin.parser.errors import argument_refused
from muntin.parser.expressions import (
    read_constants,
    read_expression,
    read_length,
    read_measure,
)
from muntin.specs import disorder as rules
from muntin.specs.disorder import Disorder, Late
from muntin.specs.idle import Idle, clock, follow, wait

_KINDS = ("ORDERED", "SLACK", "PUNCTUATED", "PER", "EACH")


def read_disorder(cursor: Cursor, stops: Callable[[Cursor], bool]) -> Disorder:
    """Read what follows the word DISORDER; ``stops`` says where a condition in it ends."""
    start = cursor.offset
    kind = cursor.choice(*_KINDS)
    try:
        match kind:
            case "ORDERED":
                return rules.ordered(**_bounds(cursor))
            case "SLACK":
                return _slack(cursor)
            case "PUNCTUATED":
                return _punctuated(cursor, stops)
            case "PER":
                return _per(cursor)
            case _:
                return _each(cursor)
    except ArgumentError as error:
        raise argument_refused(error, cursor.text, start) from None


def _slack(cursor: Cursor) -> Disorder:
    measure = read_measure(cursor)
    if measure.rows is not None:
        return rules.slack(rows=measure.rows, **_bounds(cursor))
    return rules.slack(measure.length, **_bounds(cursor))


def _punctuated(cursor: Cursor, stops: Callable[[Cursor], bool]) -> Disorder:
    by_key = cursor.accept("PER", "KEY")
    cursor.expect("WHERE")
    condition = read_expression(
        cursor.until(lambda c: c.next_is("LATE", "AHEAD") or stops(c)),
        "a condition such as kind = 'mark'",
    )
    return rules.punctuated(condition.text, key=by_key, **_bounds(cursor))


def _per(cursor: Cursor) -> Disorder:
    of_keys = cursor.choice("KEY", "PARTITION") == "KEY"
    slack, idle = _some_slack(cursor), _idle(cursor)
    rule = rules.per_key if of_keys else rules.per_partition
    return rule(slack, idle=idle, **_bounds(cursor))


def _each(cursor: Cursor) -> Disorder:
    columns = cursor.names("a column, or several in parentheses")
    slack = _some_slack(cursor)
    expected: tuple[object, ...] = ()
    if cursor.accept("EXPECT"):
        if not cursor.opens():
            cursor.fail(expected="a list such as ('north', 'south')")
        expected = read_constants(cursor.enclosed(), "a constant")
    return rules.each(columns, slack, idle=_idle(cursor), expect=expected, **_bounds(cursor))


def _some_slack(cursor: Cursor) -> str | None:
    return read_length(cursor) if cursor.accept("SLACK") else None


def _idle(cursor: Cursor) -> Idle:
    if not cursor.accept("IDLE"):
        return wait()
    kind = cursor.choice("WAIT", "FOLLOW", "CLOCK")
    if kind == "WAIT":
        return wait()
    length = read_length(cursor)
    return follow(length) if kind == "FOLLOW" else clock(length)


class _Bounds(TypedDict):
    """What every rule says of rows far from the others: ahead of them, and late."""

    ahead: str | None
    late: Late


def _bounds(cursor: Cursor) -> _Bounds:
    ahead = read_length(cursor) if cursor.accept("AHEAD") else None
    return {"ahead": ahead, "late": _late(cursor)}


def _late(cursor: Cursor) -> Late:
    if not cursor.accept("LATE"):
        return "generous"
    return "generous" if cursor.choice("GENEROUS", "CONSISTENT") == "GENEROUS" else "consistent"
