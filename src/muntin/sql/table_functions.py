"""Windows as table functions: ``FROM sliding(traffic, on => ts, range => '5 minutes', ...)``.

The names of arguments are those of the Python methods; a value is written as behind the word of the
bracket that it stands for. ``fill(frames(...), bgp, before => ...)`` takes another function first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot.tokenizer_core import TokenType

from muntin.sql.cursor import Cursor
from muntin.sql.disorder_clause import read_disorder
from muntin.sql.draft import Draft
from muntin.sql.expressions import read_expression
from muntin.sql.fill_clause import read_alias, read_table
from muntin.sql.frame_clause import read_schedule, read_scheme
from muntin.sql.frame_kinds import KIND_WORDS, read_kind
from muntin.sql.statements import Fill, Method, Query, Windowing
from muntin.sql.values import read_constant, read_count, read_length, read_measure

Subquery = Callable[[Cursor], Query]
_Reader = Callable[[Cursor], object]


def is_table_function(name: str) -> bool:
    return name.lower() in _FUNCTIONS or name.lower() == "fill"


def read_table_function(cursor: Cursor, subquery: Subquery) -> Windowing:
    """A call of one of our table functions, from its name on."""
    place = cursor.place
    name = cursor.take().text.lower()
    inner = cursor.enclosed()
    if name == "fill":
        return _filled(inner, subquery)
    table, alias = _first(inner, subquery)
    method, readers = _FUNCTIONS[name]
    draft = _arguments(inner, {**readers, **_ROLES})
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
    draft = _arguments(cursor, _FILL)
    made = Fill(table, alias, draft.values, draft.places, place)
    return replace(segments, fills=(*segments.fills, made))


def _first(cursor: Cursor, subquery: Subquery) -> tuple[str | Query, str]:
    """The relation: a name, ``TABLE name`` or a query in parentheses."""
    cursor.accept("TABLE")
    token = cursor.peek
    if token is not None and token.token_type is TokenType.L_PAREN:
        query = subquery(cursor.enclosed())
        return query, read_alias(cursor, ()) or "subquery"
    table = read_table(cursor, "a stream, a table or a query in parentheses")
    return table, read_alias(cursor, ()) or table.split(".")[-1]


def _arguments(cursor: Cursor, readers: Mapping[str, _Reader]) -> Draft:
    """``, name => value`` to the end."""
    draft = Draft(cursor.text)
    while not cursor.done:
        cursor.expect_type(TokenType.COMMA, ",")
        place, token = cursor.place, cursor.peek
        if token is None or token.text.lower() not in readers:
            known = ", ".join(readers)
            problem = None if token is None else f"there is no argument {token.text}"
            cursor.fail(problem, expected=f"one of {known}", known=readers)
        name = cursor.take().text.lower()
        cursor.expect_type(TokenType.FARROW, "=>")
        value = readers[name](cursor)
        draft.put(
            name, list(value) if name == "origin" and isinstance(value, tuple) else value, place
        )
    return draft


def _length(argument: str) -> _Reader:
    return lambda cursor: read_length(cursor, argument)


def _rows(cursor: Cursor) -> object:
    measure = read_measure(cursor, "rows")
    return measure.length if measure.number is None else measure.number


def _columns(cursor: Cursor) -> object:
    token = cursor.peek
    if token is not None and token.token_type is TokenType.L_PAREN:
        return cursor.names("a column")
    return (cursor.name("a column, or several in parentheses"),)


def _column(cursor: Cursor) -> object:
    return cursor.name("a column")


def _word(*words: str) -> _Reader:
    """One of some words, as it is or as a text."""

    def read(cursor: Cursor) -> object:
        token = cursor.peek
        if token is None or token.text.lower() not in words:
            cursor.fail(expected=" or ".join(f"'{word}'" for word in words), known=words)
        return cursor.take().text.lower()

    return read


def _condition(cursor: Cursor) -> object:
    return read_expression(cursor.until(lambda c: False), "a condition")


def _flag(cursor: Cursor) -> object:
    return cursor.choice("TRUE", "FALSE") == "TRUE"


def _count(cursor: Cursor) -> object:
    return read_count(cursor, "a whole number")


def _constant(cursor: Cursor) -> object:
    return read_constant(cursor, "a constant such as '2026-01-01'")


def _missing(cursor: Cursor) -> object:
    if cursor.next_is("BREAK", "SATISFY", "CARRY"):
        return cursor.take().text.lower()
    token = cursor.peek
    if token is not None and token.token_type is TokenType.STRING:
        return cursor.take().text
    return _condition(cursor)


_UNFINISHED = _word("keep", "drop", "flag")
_ORDER = _word("on", "arrival")
_ROLES: dict[str, _Reader] = {
    "on": _column,
    "by": _columns,
    "disorder": lambda cursor: read_disorder(cursor, lambda c: False),
}
_FUNCTIONS: dict[str, tuple[Method, dict[str, _Reader]]] = {
    "sliding": (
        "window",
        {
            "range": _length("range"),
            "slide": _length("slide"),
            "origin": _constant,
            "slide_on": _column,
            "unfinished": _UNFINISHED,
        },
    ),
    "tumbling": (
        "tumbling",
        {"length": _length("length"), "origin": _constant, "unfinished": _UNFINISHED},
    ),
    "latch": (
        "latch",
        {"every": _length("every"), "origin": _constant, "unfinished": _UNFINISHED},
    ),
    "landmark": (
        "landmark",
        {
            "slide": _length("slide"),
            "origin": _constant,
            "start": _condition,
            "unfinished": _UNFINISHED,
        },
    ),
    "rows": (
        "rows",
        {
            "range": _rows,
            "slide": _rows,
            "within": _length("within"),
            "order": _ORDER,
            "tiebreak": _columns,
            "unfinished": _UNFINISHED,
        },
    ),
    "by_tuple": ("by_tuple", {"range": _length("range"), "every": _rows, "order": _ORDER}),
    "session": ("session", {"gap": _length("gap")}),
    "frames": (
        "frames",
        {
            "kind": lambda cursor: read_kind(cursor, KIND_WORDS),
            "min_duration": _length("min_duration"),
            "max_duration": _length("max_duration"),
            "min_count": _count,
            "max_count": _count,
            "cut": _flag,
            "scheme": read_scheme,
            "longest": _flag,
            "fragments": _length("fragments"),
            "missing": _missing,
            "bounds": _word("conservative", "liberal"),
            "ties": _word("fail", "first", "last", "mean", "max", "min", "sum"),
            "tie_order": _columns,
            "readings": _word("point", "until_next", "interval"),
            "until": _column,
            "schedule": read_schedule,
        },
    ),
}
_FILL: dict[str, _Reader] = {
    "on": _column,
    "key": _columns,
    "before": _length("before"),
    "after": _length("after"),
    "shrink": _length("shrink"),
    "shift": _length("shift"),
    "where": _condition,
    "empty": _word("keep", "drop"),
}
