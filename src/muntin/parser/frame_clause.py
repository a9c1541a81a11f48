"""``[FRAME THRESHOLD loss_rate > 0.3 LASTING 5 MINUTES WATTR ts PATTR router]``.

    FRAME THRESHOLD condition
          BOUNDARY expression [EVERY number]
          DELTA expression SIZE number [AGAINST FIRST | RANGE] [MINIMAL | MAXIMAL] [START ...]
          AGGREGATE comparison [MINIMAL | MAXIMAL] [START ...]
          TREND expression INCREASING | DECREASING | FLAT [STRICT | LOOSE]
          BETWEEN (condition) AND (condition) [INCLUSIVE BOTH | START | END | NEITHER]
          DENSITY comparison PER length  |  DENSITY P number RATE number PER length
          REGION condition ALONG column [EXTENT number] [PREFER LONGEST | WIDEST | ALL]
    START WHEN (condition) [RESTART CLOSE | DROP | CONTINUE]

then, in any order, what every frame can have:

    LASTING [AT LEAST | AT MOST] length     HOLDING [AT LEAST | AT MOST] n ROWS
    CUT   LONGEST   FRAGMENTS length        SCHEME name     MISSING policy | WHERE condition
    BOUNDS CONSERVATIVE | LIBERAL           TIES ...        READINGS POINT | UNTIL NEXT | column
    WATTR column   PATTR column, ...        DISORDER ...    SCHEDULE length [ORIGIN constant]
    PREFIX text
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokenizer_core import TokenType

from muntin.errors import ArgumentError
from muntin.parser.clause import COMMON, Clause, Draft, read_partition, read_rule
from muntin.parser.cursor import Cursor
from muntin.parser.errors import SqlError
from muntin.parser.expressions import read_expression
from muntin.parser.frame_kinds import KIND_WORDS, read_kind
from muntin.parser.literals import read_constant, read_count, read_length, read_text
from muntin.specs.frames.schemes import Schedule, Scheme, adjacent, cover

WORDS = (
    *COMMON,
    "LASTING",
    "HOLDING",
    "CUT",
    "LONGEST",
    "FRAGMENTS",
    "SCHEME",
    "MISSING",
    "BOUNDS",
    "TIES",
    "READINGS",
    "SCHEDULE",
)
_STOPS = (*WORDS, *KIND_WORDS)


def read_frames(cursor: Cursor) -> Clause:
    """Everything between ``[`` and ``]``, from the word FRAME on."""
    draft = Draft(cursor.text)
    place = cursor.place
    cursor.expect("FRAME")
    draft.put("kind", read_kind(cursor, _STOPS), place)
    while not cursor.done:
        if not cursor.next_is(*WORDS):
            cursor.fail(expected="LASTING, WATTR or another word of a frame", known=_STOPS)
        place, word = cursor.place, cursor.take().text.upper()
        for name, value in _READERS[word](cursor).items():
            draft.put(name, value, place)
    return draft.clause("frames")


_Reader = Callable[[Cursor], dict[str, object]]


def _limits(least: str, most: str, read: Callable[[Cursor], object]) -> _Reader:
    """Readers of LASTING and HOLDING: at least so much, unless it says at most."""

    def reader(cursor: Cursor) -> dict[str, object]:
        name = least
        if cursor.accept("AT"):
            name = least if cursor.choice("LEAST", "MOST") == "LEAST" else most
        return {name: read(cursor)}

    return reader


def _counted(cursor: Cursor) -> int:
    count = read_count(cursor, "a number of rows")
    cursor.expect("ROWS" if not cursor.next_is("ROW") else "ROW")
    return count


def read_scheme(cursor: Cursor) -> Scheme:
    """How frames lie to each other [Frames 4.2]."""
    name = cursor.choice("DISJOINT", "PARTITION", "ADVANCING", "ADJACENT", "COVER", "UNCONSTRAINED")
    if name == "ADJACENT":
        return adjacent(read_length(cursor, "overlap"))
    if name == "COVER":
        filled = "drained"
        if cursor.next_is("DRAINED", "SATURATED"):
            filled = cursor.take().text.lower()
        return cover(filled)
    return Scheme(name.lower())


def _missing(cursor: Cursor) -> dict[str, object]:
    if cursor.accept("WHERE"):
        inside = cursor.until(lambda c: c.next_is(*WORDS))
        return {"missing": read_expression(inside, "a condition on prev and next")}
    return {"missing": cursor.choice("BREAK", "SATISFY", "CARRY").lower()}


def _ties(cursor: Cursor) -> dict[str, object]:
    token = cursor.peek
    if token is not None and token.token_type is TokenType.L_PAREN:
        return {"ties": read_tied_columns(cursor.enclosed())}
    how = cursor.choice("FAIL", "FIRST", "LAST", "MEAN", "MAX", "MIN", "SUM").lower()
    if how not in ("first", "last"):
        return {"ties": how}
    cursor.expect("BY")
    return {"ties": how, "tie_order": cursor.names("a column")}


def read_tied_columns(cursor: Cursor) -> dict[str, str]:
    """How rows at one instant are made one, column by column: ``speed MEAN, volume SUM``."""
    found: dict[str, str] = {}
    while not cursor.done:
        column = cursor.name("a column")
        found[column] = cursor.choice("MEAN", "MAX", "MIN", "SUM").lower()
        if not cursor.done:
            cursor.expect_type(TokenType.COMMA, ",")
    return found


def _readings(cursor: Cursor) -> dict[str, object]:
    if cursor.choice("POINT", "UNTIL") == "POINT":
        return {"readings": "point"}
    if cursor.accept("NEXT"):
        return {"readings": "until_next"}
    return {"readings": "interval", "until": cursor.name("NEXT, or the column that ends a reading")}


def read_schedule(cursor: Cursor) -> Schedule:
    """When rows are due: a length, and an origin if there is one."""
    start = cursor.offset
    every = read_length(cursor, "schedule")
    origin = read_constant(cursor, "an origin") if cursor.accept("ORIGIN") else None
    try:
        return Schedule(every, origin)
    except ArgumentError as error:
        raise SqlError(str(error), cursor.text, start) from None


_READERS: dict[str, _Reader] = {
    "LASTING": _limits("min_duration", "max_duration", lambda c: read_length(c, "lasting")),
    "HOLDING": _limits("min_count", "max_count", _counted),
    "CUT": lambda cursor: {"cut": True},
    "LONGEST": lambda cursor: {"longest": True},
    "FRAGMENTS": lambda cursor: {"fragments": read_length(cursor, "fragments")},
    "SCHEME": lambda cursor: {"scheme": read_scheme(cursor)},
    "MISSING": _missing,
    "BOUNDS": lambda cursor: {"bounds": cursor.choice("CONSERVATIVE", "LIBERAL").lower()},
    "TIES": _ties,
    "READINGS": _readings,
    "SCHEDULE": lambda cursor: {"schedule": read_schedule(cursor)},
    "WATTR": lambda cursor: {"on": cursor.name("a column")},
    "RATTR": lambda cursor: {"on": cursor.name("a column")},
    "PATTR": lambda cursor: {"by": read_partition(cursor)},
    "DISORDER": lambda cursor: {"disorder": read_rule(cursor, WORDS)},
    "PREFIX": lambda cursor: {"prefix": read_text(cursor, "a text such as 'mt_'")},
}
