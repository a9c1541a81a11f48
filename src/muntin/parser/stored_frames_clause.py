"""``[STORED FRAMES START began END ended PATTR router]``: frames that are rows of a relation.

    STORED FRAMES [START column] [END column] [BOUNDS text] [ALONG (column, column)]
                  [PATTR column, ... | PATTR NONE] [DISORDER ...] [PREFIX text]

The words after FRAMES come in any order. BOUNDS says which ends are inside: '[]', '[)', '(]' or
'()'. The table function ``stored_frames(nights, by => router)`` takes the same arguments.
"""

from __future__ import annotations

from muntin.parser import arguments
from muntin.parser.arguments import (
    PREFIX,
    Argument,
    Clause,
    Draft,
    Form,
    first_words,
    read_word_argument,
)
from muntin.parser.cursor import Cursor
from muntin.parser.expressions import read_text


def _bounds(cursor: Cursor, form: Form) -> object:
    return read_text(cursor, "'[]', '[)', '(]' or '()'")


#: The arguments of ``mt.frames``.
STORED_FRAMES_ARGUMENTS = (
    Argument("start", arguments.column, ("START",)),
    Argument("end", arguments.column, ("END",)),
    Argument("bounds", _bounds, ("BOUNDS",)),
    Argument("along", arguments.columns, ("ALONG",)),
    Argument("by", arguments.keys, ("PATTR",)),
    Argument("disorder", arguments.disorder, ("DISORDER",)),
    PREFIX,
)
_FORM = Form(first_words(STORED_FRAMES_ARGUMENTS))


def read_stored_frames(cursor: Cursor) -> Clause:
    """Read the inside of a bracket, from the words STORED FRAMES on."""
    draft = Draft(cursor.text)
    cursor.expect("STORED", "FRAMES")
    while not cursor.done:
        if not read_word_argument(cursor, STORED_FRAMES_ARGUMENTS, _FORM, draft):
            expected = "START, END, PATTR or another word of stored frames"
            cursor.fail(expected=expected, known=_FORM.words)
    return draft.clause("stored_frames")
