"""Windows as table functions: ``FROM sliding(traffic, on => ts, range => '5 minutes', ...)``.

The names of arguments are those of the Python methods; a value is written as behind the word of the
bracket that it stands for. ``fill(frames(...), bgp, before => ...)`` takes another function first.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot.tokenizer_core import TokenType

from muntin.sql import arguments
from muntin.sql.arguments import ROLES, Reader, Subquery, read_arguments, read_relation
from muntin.sql.bracket import read_gap
from muntin.sql.cursor import Cursor
from muntin.sql.fill_clause import read_alias, read_shifts, read_table
from muntin.sql.frame_clause import read_schedule, read_scheme, read_tied_columns
from muntin.sql.frame_kinds import KIND_WORDS, read_kind
from muntin.sql.statements import Fill, Method, Windowing
from muntin.sql.values import read_length

_RELATION = "a stream, a table or a query in parentheses"


def is_table_function(name: str) -> bool:
    return name.lower() in WINDOW_FUNCTIONS


def arguments_of(name: str) -> tuple[str, ...]:
    """The names of a function's arguments, without those that describe its relation."""
    return tuple(_FILL) if name == "fill" else (*_FUNCTIONS[name][1], "prefix")


def read_table_function(cursor: Cursor, subquery: Subquery) -> Windowing:
    """A call of one of our table functions, from its name on."""
    place = cursor.place
    name = cursor.take().text.lower()
    inner = cursor.enclosed()
    if name == "fill":
        return _filled(inner, subquery)
    table, alias = read_relation(inner, subquery, _RELATION)
    method, readers = _FUNCTIONS[name]
    known = {**readers, "prefix": arguments.text, **ROLES}
    draft = read_arguments(inner, known, _NEEDED.get(name, ()))
    return draft.clause(method).of(table, alias, (), place)


def _filled(cursor: Cursor, subquery: Subquery) -> Windowing:
    token = cursor.peek
    if token is None or not is_table_function(token.text):
        cursor.fail(expected="what is to be filled, such as frames(...)", known=_FUNCTIONS)
    segments = read_table_function(cursor, subquery)
    cursor.expect_type(TokenType.COMMA, ", and the stream or table that fills")
    place = cursor.place
    table = read_table(cursor, "the stream or table that fills")
    alias = read_alias(cursor, ()) or table.split(".")[-1]
    draft = read_arguments(cursor, _FILL)
    made = Fill(table, alias, draft.values, draft.places, place)
    return replace(segments, fills=(*segments.fills, made))


def _missing(cursor: Cursor) -> object:
    if cursor.next_is("BREAK", "SATISFY", "CARRY"):
        return cursor.take().text.lower()
    token = cursor.peek
    if token is not None and token.token_type is TokenType.STRING:
        return cursor.take().text
    return arguments.condition(cursor)


def _ties(cursor: Cursor) -> object:
    return read_tied_columns(cursor.enclosed()) if arguments.opens(cursor) else _TIES(cursor)


def _shifts(cursor: Cursor) -> object:
    """A length, or several in parentheses."""
    if not arguments.opens(cursor):
        return read_length(cursor, "shift")
    inner = cursor.enclosed()
    found = read_shifts(inner)
    inner.finish(", or )")
    return found


_TIES = arguments.word("fail", "first", "last", "mean", "max", "min", "sum")
_UNFINISHED = arguments.word("keep", "drop", "flag")
_ORDER = arguments.word("on", "arrival")
_FUNCTIONS: dict[str, tuple[Method, dict[str, Reader]]] = {
    "sliding": (
        "window",
        {
            "range": arguments.length("range"),
            "slide": arguments.length("slide"),
            "origin": arguments.constant,
            "slide_on": arguments.column,
            "unfinished": _UNFINISHED,
        },
    ),
    "tumbling": (
        "tumbling",
        {
            "length": arguments.length("length"),
            "origin": arguments.constant,
            "unfinished": _UNFINISHED,
        },
    ),
    "latch": (
        "latch",
        {
            "every": arguments.length("every"),
            "origin": arguments.constant,
            "unfinished": _UNFINISHED,
        },
    ),
    "landmark": (
        "landmark",
        {
            "slide": arguments.length("slide"),
            "origin": arguments.constant,
            "start": arguments.condition,
            "unfinished": _UNFINISHED,
        },
    ),
    "rows": (
        "rows",
        {
            "range": arguments.rows,
            "slide": arguments.rows,
            "within": arguments.length("within"),
            "order": _ORDER,
            "tiebreak": arguments.columns,
            "unfinished": _UNFINISHED,
        },
    ),
    "by_tuple": (
        "by_tuple",
        {"range": arguments.length("range"), "every": arguments.rows, "order": _ORDER},
    ),
    "session": ("session", {"gap": read_gap}),
    "frames": (
        "frames",
        {
            "kind": lambda cursor: read_kind(cursor, KIND_WORDS),
            "min_duration": arguments.length("min_duration"),
            "max_duration": arguments.length("max_duration"),
            "min_count": arguments.count,
            "max_count": arguments.count,
            "cut": arguments.flag,
            "scheme": read_scheme,
            "longest": arguments.flag,
            "fragments": arguments.length("fragments"),
            "missing": _missing,
            "bounds": arguments.word("conservative", "liberal"),
            "ties": _ties,
            "tie_order": arguments.columns,
            "readings": arguments.word("point", "until_next", "interval"),
            "until": arguments.column,
            "schedule": read_schedule,
        },
    ),
}
#: What cannot be left out.
_NEEDED = {
    "sliding": ("range", "slide"),
    "tumbling": ("length",),
    "latch": ("every",),
    "rows": ("range",),
    "by_tuple": ("range",),
    "session": ("gap",),
    "frames": ("kind",),
}
#: The names of all of them.
WINDOW_FUNCTIONS = (*_FUNCTIONS, "fill")
_FILL: dict[str, Reader] = {
    "on": arguments.column,
    "key": arguments.key,
    "before": arguments.length("before"),
    "after": arguments.length("after"),
    "shrink": arguments.length("shrink"),
    "shift": _shifts,
    "where": arguments.condition,
    "empty": arguments.word("keep", "drop"),
}
