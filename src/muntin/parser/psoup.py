"""PSoup's window: ``BEGIN (NOW - 10) END (NOW)`` after a query [PS-4, PS-5].

    BEGIN end_of_window END end_of_window [EVERY length] [ON column]

An end is a constant, NOW, or a length before NOW. Without EVERY, NOW is at every row.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from muntin.parser.arguments import Clause
from muntin.parser.cursor import Cursor
from muntin.parser.errors import SqlError
from muntin.parser.expressions import read_constant, read_length
from muntin.parser.statements import Constant, PsoupInterval

_NOW = "0"


def read_interval(cursor: Cursor) -> Clause:
    """Read the window, from the word BEGIN on."""
    place = cursor.place
    cursor.expect("BEGIN")
    begin, begin_back = _end(cursor)
    cursor.expect("END")
    end_place = cursor.place
    end, end_back = _end(cursor)
    every = read_length(cursor) if cursor.accept("EVERY") else None
    on = cursor.name("a column") if cursor.accept("ON") else None
    if begin_back is not None and end_back is None:
        problem = "a window that begins relative to NOW and ends at a constant would shrink"
        raise SqlError(problem, cursor.text, end_place, expected="END (NOW), or a constant BEGIN")
    interval = PsoupInterval(begin, begin_back, end, end_back, every)
    places = {"range": place, "slide": place, "origin": place, "on": place}
    return Clause("window", {}, places, on=on, interval=interval)


def _end(cursor: Cursor) -> tuple[Constant, str | None]:
    """Read a constant, or a length before NOW."""
    inner = cursor.enclosed() if cursor.opens() else cursor
    if inner.accept("NOW"):
        if inner is not cursor:
            back = read_length(inner) if inner.accept_type(TokenType.DASH) else _NOW
            inner.finish(")")
            return None, back
        return None, _NOW
    value = read_constant(inner, "a constant, NOW or (NOW - length)")
    if inner is not cursor:
        inner.finish(")")
    return value, None
