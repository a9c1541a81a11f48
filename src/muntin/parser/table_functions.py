"""Windows as table functions: ``FROM sliding(traffic, on => ts, range => '5 minutes', ...)``.

The names of arguments are those of the Python methods; a value is written as behind the word of the
bracket that it stands for. ``fill(frames(...), bgp, before => ...)`` takes another function first.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot.tokenizer_core import TokenType

from muntin.parser import named_arguments
from muntin.parser.bracket import read_gap
from muntin.parser.cursor import Cursor
from muntin.parser.fill_clause import read_alias, read_shifts, read_table
from muntin.parser.frame_clause import read_schedule, read_scheme, read_tied_columns
from muntin.parser.frame_kinds import KIND_WORDS, read_kind
from muntin.parser.literals import read_length
from muntin.parser.named_arguments import ROLES, Reader, Subquery, read_arguments, read_relation
from muntin.parser.statements import FillClause, Method, Windowing

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
    known = {**readers, "prefix": named_arguments.text, **ROLES}
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
    made = FillClause(table, alias, draft.values, draft.places, place)
    return replace(segments, fills=(*segments.fills, made))


def _missing(cursor: Cursor) -> object:
    if cursor.next_is("BREAK", "SATISFY", "CARRY"):
        return cursor.take().text.lower()
    token = cursor.peek
    if token is not None and token.token_type is TokenType.STRING:
        return cursor.take().text
    return named_arguments.condition(cursor)


def _ties(cursor: Cursor) -> object:
    return read_tied_columns(cursor.enclosed()) if named_arguments.opens(cursor) else _TIES(cursor)


def _shifts(cursor: Cursor) -> object:
    """A length, or several in parentheses."""
    if not named_arguments.opens(cursor):
        return read_length(cursor, "shift")
    inner = cursor.enclosed()
    found = read_shifts(inner)
    inner.finish(", or )")
    return found


_TIES = named_arguments.word("fail", "first", "last", "mean", "max", "min", "sum")
_UNFINISHED = named_arguments.word("keep", "drop", "flag")
_ORDER = named_arguments.word("on", "arrival")
_FUNCTIONS: dict[str, tuple[Method, dict[str, Reader]]] = {
    "sliding": (
        "window",
        {
            "range": named_arguments.length("range"),
            "slide": named_arguments.length("slide"),
            "origin": named_arguments.constant,
            "slide_on": named_arguments.column,
            "unfinished": _UNFINISHED,
        },
    ),
    "tumbling": (
        "tumbling",
        {
            "length": named_arguments.length("length"),
            "origin": named_arguments.constant,
            "unfinished": _UNFINISHED,
        },
    ),
    "latch": (
        "latch",
        {
            "every": named_arguments.length("every"),
            "origin": named_arguments.constant,
            "unfinished": _UNFINISHED,
        },
    ),
    "landmark": (
        "landmark",
        {
            "slide": named_arguments.length("slide"),
            "origin": named_arguments.constant,
            "start": named_arguments.condition,
            "unfinished": _UNFINISHED,
        },
    ),
    "rows": (
        "rows",
        {
            "range": named_arguments.rows,
            "slide": named_arguments.rows,
            "within": named_arguments.length("within"),
            "order": _ORDER,
            "tiebreak": named_arguments.columns,
            "unfinished": _UNFINISHED,
        },
    ),
    "by_tuple": (
        "by_tuple",
        {"range": named_arguments.length("range"), "every": named_arguments.rows, "order": _ORDER},
    ),
    "session": ("session", {"gap": read_gap}),
    "frames": (
        "frames",
        {
            "kind": lambda cursor: read_kind(cursor, KIND_WORDS),
            "min_duration": named_arguments.length("min_duration"),
            "max_duration": named_arguments.length("max_duration"),
            "min_count": named_arguments.count,
            "max_count": named_arguments.count,
            "cut": named_arguments.flag,
            "scheme": read_scheme,
            "longest": named_arguments.flag,
            "fragments": named_arguments.length("fragments"),
            "missing": _missing,
            "bounds": named_arguments.word("conservative", "liberal"),
            "ties": _ties,
            "tie_order": named_arguments.columns,
            "readings": named_arguments.word("point", "until_next", "interval"),
            "until": named_arguments.column,
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
    "on": named_arguments.column,
    "key": named_arguments.key,
    "before": named_arguments.length("before"),
    "after": named_arguments.length("after"),
    "shrink": named_arguments.length("shrink"),
    "shift": _shifts,
    "where": named_arguments.condition,
    "empty": named_arguments.word("keep", "drop"),
}
