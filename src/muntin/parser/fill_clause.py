"""``FILL Bgp BEFORE 30 SECONDS WHERE kind = 'update'``: the rows that fill frames or windows.

    FILL table [AS alias] [ON column] [ALONG column] [MATCHING (own = other, ...) | MATCHING NONE]
         [BEFORE length] [AFTER length] [SHRINK length] [SHIFT length, ...] [EMPTY KEEP | DROP]
         [WHERE condition]

WHERE comes last and applies to the filling rows; a second WHERE is that of the query. The table
function ``fill(frames(...), bgp, before => 30 SECONDS)`` takes the same arguments.
"""

from __future__ import annotations

from muntin.parser import arguments
from muntin.parser.arguments import (
    Argument,
    Draft,
    Form,
    first_words,
    read_alias,
    read_table,
    read_word_argument,
)
from muntin.parser.cursor import Cursor
from muntin.parser.lexer import AFTER_RELATION
from muntin.parser.statements import FillClause

FILL_ARGUMENTS = (
    Argument("on", arguments.column, ("ON",)),
    Argument("along", arguments.column, ("ALONG",)),
    Argument("key", arguments.matching, ("MATCHING",)),
    Argument("before", arguments.length, ("BEFORE",)),
    Argument("after", arguments.length, ("AFTER",)),
    Argument("shrink", arguments.length, ("SHRINK",)),
    Argument("shift", arguments.lengths, ("SHIFT",)),
    Argument("where", arguments.condition, ("WHERE",)),
    Argument("empty", arguments.one_of("keep", "drop"), ("EMPTY",)),
)
_FOLLOWING = (*first_words(FILL_ARGUMENTS), *AFTER_RELATION)
#: The condition of WHERE is the last part, so only words of the query end it.
_FORM = Form(AFTER_RELATION)


def read_fill(cursor: Cursor) -> FillClause:
    """Read what follows the word FILL, up to where the query continues."""
    place = cursor.place
    table, alias = read_filling_table(cursor, _FOLLOWING)
    draft = Draft(cursor.text)
    while "where" not in draft.values and read_word_argument(cursor, FILL_ARGUMENTS, _FORM, draft):
        pass
    return FillClause(table, alias, draft.values, draft.places, place)


def read_filling_table(cursor: Cursor, following: tuple[str, ...] = ()) -> tuple[str, str]:
    """Read the table that fills and its alias."""
    table = read_table(cursor, "the stream or table that fills")
    return table, read_alias(cursor, following) or table.split(".")[-1]
