"""The papers' bracket: ``[RANGE 300 SECONDS SLIDE 60 SECONDS WATTR ts]`` [Window-ids 3.2].

The words come in any order:

    RANGE length | n ROWS     SLIDE length | n ROWS       TUMBLING length | n ROWS
    WATTR attribute           RATTR column                SATTR attribute
    PATTR column, ...|NONE    ORIGIN constant             LANDMARK [constant, ... | WHERE condition]
    SESSION GAP length        WITHIN length               TIEBREAK column, ...
    LATCH length              PREFIX text
    UNFINISHED KEEP|DROP|FLAG DISORDER ...                FRAME ... (see frame_clause)

An attribute is a column, ``row-num`` (rows as they arrive), ``rank(column)`` (rows by a column) or
``arrival-ts``, the time at which Spark reads a row.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokenizer_core import TokenType

from muntin.parser.clause import COMMON, Clause, Draft, read_partition, read_rule
from muntin.parser.cursor import Cursor
from muntin.parser.expressions import read_expression
from muntin.parser.frame_clause import read_frames
from muntin.parser.literals import (
    LengthLiteral,
    read_constant,
    read_length,
    read_measure,
    read_text,
)
from muntin.parser.window_kinds import Attribute, decided

WORDS = (
    *COMMON,
    "RANGE",
    "SLIDE",
    "TUMBLING",
    "LATCH",
    "SATTR",
    "ORIGIN",
    "LANDMARK",
    "SESSION",
    "WITHIN",
    "TIEBREAK",
    "UNFINISHED",
    "ROWS",
)
#: What can be the first word in a bracket behind a relation.
OPENING = (*WORDS, "FRAME")


def read_bracket(cursor: Cursor) -> Clause:
    """Everything between ``[`` and ``]``."""
    if cursor.next_is("FRAME"):
        return read_frames(cursor)
    draft = Draft(cursor.text)
    start = cursor.offset
    while not cursor.done:
        if not cursor.next_is(*WORDS):
            cursor.fail(expected="RANGE, SLIDE, WATTR or another word of a window", known=OPENING)
        place, word = cursor.place, cursor.take().text.upper()
        draft.put(word.lower(), _READERS[word](cursor), place)
    return decided(draft, start)


def _attribute(cursor: Cursor) -> Attribute:
    if cursor.next_is("RANK") and cursor.calls():
        cursor.take()
        inner = cursor.enclosed()
        name = inner.name("the column that ranks rows")
        inner.finish(")")
        return Attribute(name, ranked=True)
    return Attribute(cursor.name("a column, row-num or rank(column)"))


def _landmarks(cursor: Cursor) -> object:
    """The landmarks: constants, a condition that tells them, or nothing yet."""
    if cursor.accept("WHERE"):
        inside = cursor.until(lambda c: c.next_is(*WORDS))
        return read_expression(inside, "a condition such as kind = 'open'")
    if cursor.done or cursor.next_is(*WORDS):
        return ()
    found = [read_constant(cursor, "a landmark such as '2026-01-01'")]
    while cursor.accept_type(TokenType.COMMA):
        found.append(read_constant(cursor, "another landmark"))
    return tuple(found)


def _session(cursor: Cursor) -> object:
    cursor.accept("GAP")
    return read_gap(cursor)


def read_gap(cursor: Cursor) -> object:
    """How long a session waits: a length, or an expression with one for every row."""
    token = cursor.peek
    if token is not None and token.token_type is TokenType.L_PAREN:
        return read_expression(cursor.enclosed(), "a length for every row")
    return read_length(cursor, "gap")


def _rows(cursor: Cursor) -> LengthLiteral:
    measure = read_measure(cursor, "rows")
    if measure.number is None:
        cursor.at -= 1
        cursor.fail(expected="a number of rows")
    return LengthLiteral(None, measure.number)


_READERS: dict[str, Callable[[Cursor], object]] = {
    "RANGE": lambda cursor: read_measure(cursor, "range"),
    "SLIDE": lambda cursor: read_measure(cursor, "slide"),
    "ROWS": _rows,
    "TUMBLING": lambda cursor: read_measure(cursor, "length"),
    "LATCH": lambda cursor: read_length(cursor, "every"),
    "WATTR": _attribute,
    "RATTR": _attribute,
    "SATTR": _attribute,
    "PATTR": read_partition,
    "ORIGIN": lambda cursor: read_constant(cursor, "an origin such as '2026-01-01'"),
    "LANDMARK": _landmarks,
    "SESSION": _session,
    "WITHIN": lambda cursor: read_length(cursor, "within"),
    "TIEBREAK": lambda cursor: cursor.names("a column"),
    "UNFINISHED": lambda cursor: cursor.choice("KEEP", "DROP", "FLAG").lower(),
    "DISORDER": lambda cursor: read_rule(cursor, WORDS),
    "PREFIX": lambda cursor: read_text(cursor, "a text such as 'mt_'"),
}
