"""What tells a frame: the part of ``FRAME`` that differs between kinds [Frames 4.3]."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokenizer_core import TokenType

from muntin.parser.cursor import Cursor
from muntin.parser.expressions import read_expression
from muntin.parser.literals import read_length, read_number
from muntin.parser.statements import Expression, KindOfFrame

#: Words that end an expression of some kind.
KIND_WORDS = (
    "EVERY",
    "SIZE",
    "AGAINST",
    "MINIMAL",
    "MAXIMAL",
    "START",
    "RESTART",
    "INCREASING",
    "DECREASING",
    "FLAT",
    "STRICT",
    "LOOSE",
    "INCLUSIVE",
    "PER",
    "ALONG",
    "EXTENT",
    "PREFER",
)


def read_kind(cursor: Cursor, stops: tuple[str, ...]) -> KindOfFrame:
    """The kind and what it needs; ``stops`` are the words that may follow an expression."""
    place = cursor.place
    word = cursor.choice(*_KINDS)

    def expression(what: str) -> Expression:
        return read_expression(cursor.until(lambda c: c.next_is(*stops)), what)

    return KindOfFrame(word.lower(), _KINDS[word](cursor, expression), place)


_Read = Callable[[str], Expression]


def _threshold(cursor: Cursor, read: _Read) -> dict[str, object]:
    return {"where": read("a condition such as loss_rate > 0.3")}


def _boundary(cursor: Cursor, read: _Read) -> dict[str, object]:
    found: dict[str, object] = {"value": read("a value such as status")}
    if cursor.accept("EVERY"):
        found["every"] = read_number(cursor, "a number")
    return found


def _delta(cursor: Cursor, read: _Read) -> dict[str, object]:
    found: dict[str, object] = {"value": read("a value such as temperature")}
    cursor.expect("SIZE")
    found["size"] = read_number(cursor, "a number")
    if cursor.accept("AGAINST"):
        found["against"] = cursor.choice("FIRST", "RANGE").lower()
    return found | _span(cursor) | _start(cursor)


def _aggregate(cursor: Cursor, read: _Read) -> dict[str, object]:
    found: dict[str, object] = {"condition": read("a comparison such as sum(volume) >= 100")}
    return found | _span(cursor) | _start(cursor)


def _trend(cursor: Cursor, read: _Read) -> dict[str, object]:
    found: dict[str, object] = {"value": read("a value such as temperature")}
    found["direction"] = cursor.choice("INCREASING", "DECREASING", "FLAT").lower()
    if cursor.next_is("STRICT", "LOOSE"):
        found["strict"] = cursor.take().text.upper() == "STRICT"
    return found


def _between(cursor: Cursor, read: _Read) -> dict[str, object]:
    start = _enclosed(cursor, "a condition in parentheses, such as (door = 'open')")
    cursor.expect("AND")
    found: dict[str, object] = {"start": start}
    found["end"] = _enclosed(cursor, "a condition in parentheses, such as (door = 'closed')")
    if cursor.accept("INCLUSIVE"):
        found["inclusive"] = cursor.choice("BOTH", "START", "END", "NEITHER").lower()
    return found


def _density(cursor: Cursor, read: _Read) -> dict[str, object]:
    found: dict[str, object] = {}
    if cursor.next_is("P") and not cursor.next_are("P", "P"):
        cursor.take()
        found["p"] = read_number(cursor, "a chance such as 0.05")
        cursor.expect("RATE")
        found["rate"] = read_number(cursor, "a number of rows")
    else:
        found["condition"] = read("a comparison such as sum(volume) > 30")
    cursor.expect("PER")
    return found | {"per": read_length(cursor, "per")}


def _region(cursor: Cursor, read: _Read) -> dict[str, object]:
    found: dict[str, object] = {"where": read("a condition such as speed < 30")}
    cursor.expect("ALONG")
    found["along"] = cursor.name("a number column such as milepost")
    if cursor.accept("EXTENT"):
        found["min_extent"] = read_number(cursor, "a number")
    if cursor.accept("PREFER"):
        found["prefer"] = cursor.choice("LONGEST", "WIDEST", "ALL").lower()
    return found


def _span(cursor: Cursor) -> dict[str, object]:
    if not cursor.next_is("MINIMAL", "MAXIMAL"):
        return {}
    return {"span": cursor.take().text.lower()}


def _start(cursor: Cursor) -> dict[str, object]:
    """Where frames may open, and what happens when one is open already."""
    if not cursor.accept("START"):
        return {}
    cursor.expect("WHEN")
    found: dict[str, object] = {"start": _enclosed(cursor, "a condition in parentheses")}
    if cursor.accept("RESTART"):
        found["restart"] = cursor.choice("CLOSE", "DROP", "CONTINUE").lower()
    return found


def _enclosed(cursor: Cursor, what: str) -> Expression:
    token = cursor.peek
    if token is None or token.token_type is not TokenType.L_PAREN:
        cursor.fail(expected=what)
    return read_expression(cursor.enclosed(), what)


_KINDS: dict[str, Callable[[Cursor, _Read], dict[str, object]]] = {
    "THRESHOLD": _threshold,
    "BOUNDARY": _boundary,
    "DELTA": _delta,
    "AGGREGATE": _aggregate,
    "TREND": _trend,
    "BETWEEN": _between,
    "DENSITY": _density,
    "REGION": _region,
}
