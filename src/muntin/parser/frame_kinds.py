"""The part of SQL's ``FRAME`` clause that differs between kinds of frames [Frames 4.3].

One function for each kind reads its arguments; the table at the end names the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot.tokenizer_core import TokenType

from muntin.parser.cursor import Cursor
from muntin.parser.expressions import read_expression
from muntin.parser.literals import read_length, read_number
from muntin.parser.statements import Expression, KindOfFrame


def read_kind(cursor: Cursor, stops: tuple[str, ...]) -> KindOfFrame:
    """Return the kind and its arguments; ``stops`` are the words that may follow an expression."""
    place = cursor.place
    word = cursor.choice(*_KINDS)

    def expression(what: str) -> Expression:
        return read_expression(cursor.until(lambda c: c.next_is(*stops)), what)

    return KindOfFrame(word.lower(), _KINDS[word].read(cursor, expression), place)


_Read = Callable[[str], Expression]


def _threshold(cursor: Cursor, read: _Read) -> dict[str, object]:
    return {"where": read("a condition such as loss_rate > 0.3")}


def _boundary(cursor: Cursor, read: _Read) -> dict[str, object]:
    arguments: dict[str, object] = {"value": read("a value such as status")}
    if cursor.accept("EVERY"):
        arguments["every"] = read_number(cursor, "a number")
    return arguments


def _delta(cursor: Cursor, read: _Read) -> dict[str, object]:
    arguments: dict[str, object] = {"value": read("a value such as temperature")}
    cursor.expect("SIZE")
    arguments["size"] = read_number(cursor, "a number")
    if cursor.accept("AGAINST"):
        arguments["against"] = cursor.choice("FIRST", "RANGE").lower()
    return arguments | _span(cursor) | _start(cursor)


def _aggregate(cursor: Cursor, read: _Read) -> dict[str, object]:
    arguments: dict[str, object] = {"condition": read("a comparison such as sum(volume) >= 100")}
    return arguments | _span(cursor) | _start(cursor)


def _trend(cursor: Cursor, read: _Read) -> dict[str, object]:
    arguments: dict[str, object] = {"value": read("a value such as temperature")}
    arguments["direction"] = cursor.choice("INCREASING", "DECREASING", "FLAT").lower()
    if cursor.next_is("STRICT", "LOOSE"):
        arguments["strict"] = cursor.take().text.upper() == "STRICT"
    return arguments


def _between(cursor: Cursor, read: _Read) -> dict[str, object]:
    start = _enclosed(cursor, "a condition in parentheses, such as (door = 'open')")
    cursor.expect("AND")
    arguments: dict[str, object] = {"start": start}
    arguments["end"] = _enclosed(cursor, "a condition in parentheses, such as (door = 'closed')")
    if cursor.accept("INCLUSIVE"):
        arguments["inclusive"] = cursor.choice("BOTH", "START", "END", "NEITHER").lower()
    return arguments


def _density(cursor: Cursor, read: _Read) -> dict[str, object]:
    arguments: dict[str, object] = {}
    if cursor.next_is("P") and not cursor.next_are("P", "P"):
        cursor.take()
        arguments["p"] = read_number(cursor, "a chance such as 0.05")
        cursor.expect("RATE")
        arguments["rate"] = read_number(cursor, "a number of rows")
    else:
        arguments["condition"] = read("a comparison such as sum(volume) > 30")
    cursor.expect("PER")
    return arguments | {"per": read_length(cursor, "per")}


def _region(cursor: Cursor, read: _Read) -> dict[str, object]:
    arguments: dict[str, object] = {"where": read("a condition such as speed < 30")}
    cursor.expect("ALONG")
    arguments["along"] = cursor.name("a number column such as milepost")
    if cursor.accept("EXTENT"):
        arguments["min_extent"] = read_number(cursor, "a number")
    if cursor.accept("PREFER"):
        arguments["prefer"] = cursor.choice("LONGEST", "WIDEST", "ALL").lower()
    return arguments


def _span(cursor: Cursor) -> dict[str, object]:
    if not cursor.next_is("MINIMAL", "MAXIMAL"):
        return {}
    return {"span": cursor.take().text.lower()}


def _start(cursor: Cursor) -> dict[str, object]:
    """Read the condition of rows that open a frame, and what happens to a frame that is open."""
    if not cursor.accept("START"):
        return {}
    cursor.expect("WHEN")
    arguments: dict[str, object] = {"start": _enclosed(cursor, "a condition in parentheses")}
    if cursor.accept("RESTART"):
        arguments["restart"] = cursor.choice("CLOSE", "DROP", "CONTINUE").lower()
    return arguments


def _enclosed(cursor: Cursor, what: str) -> Expression:
    token = cursor.peek
    if token is None or token.token_type is not TokenType.L_PAREN:
        cursor.fail(expected=what)
    return read_expression(cursor.enclosed(), what)


@dataclass(frozen=True)
class KindClause:
    """The function that reads the arguments of a kind, and the words that end an expression."""

    read: Callable[[Cursor, _Read], dict[str, object]]
    words: tuple[str, ...] = ()


_SPAN_AND_START = ("MINIMAL", "MAXIMAL", "START", "RESTART")
_KINDS = {
    "THRESHOLD": KindClause(_threshold),
    "BOUNDARY": KindClause(_boundary, ("EVERY",)),
    "DELTA": KindClause(_delta, ("SIZE", "AGAINST", *_SPAN_AND_START)),
    "AGGREGATE": KindClause(_aggregate, _SPAN_AND_START),
    "TREND": KindClause(_trend, ("INCREASING", "DECREASING", "FLAT", "STRICT", "LOOSE")),
    "BETWEEN": KindClause(_between, ("INCLUSIVE",)),
    "DENSITY": KindClause(_density, ("PER",)),
    "REGION": KindClause(_region, ("ALONG", "EXTENT", "PREFER")),
}
#: The words that end an expression, of every kind.
KIND_WORDS = tuple(dict.fromkeys(word for kind in _KINDS.values() for word in kind.words))
