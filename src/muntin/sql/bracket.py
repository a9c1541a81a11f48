"""The papers' bracket: ``[RANGE 300 SECONDS SLIDE 60 SECONDS WATTR ts]`` (window-id.txt 3.2).

The words come in any order:

    RANGE length | n ROWS     SLIDE length | n ROWS       TUMBLING length
    WATTR attribute           RATTR column                SATTR attribute
    PATTR column, ...|NONE    ORIGIN constant             LANDMARK [constant, ... | WHERE condition]
    SESSION GAP length        WITHIN length               TIEBREAK column, ...
    UNFINISHED KEEP|DROP|FLAG DISORDER ...                FRAME ... (see frame_clause)

An attribute is a column, ``row-num`` (rows as they arrive), ``rank(column)`` (rows by a column) or
``arrival-ts``, the time at which Spark reads a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot.tokenizer_core import TokenType

from muntin.sql.cursor import Cursor
from muntin.sql.draft import COMMON, Clause, Draft, read_partition, read_rule
from muntin.sql.errors import SqlError
from muntin.sql.expressions import read_expression
from muntin.sql.frame_clause import read_frames
from muntin.sql.values import Measure, read_constant, read_length, read_measure

WORDS = (
    *COMMON,
    "RANGE",
    "SLIDE",
    "TUMBLING",
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
ROW_NUM = "row-num"
ARRIVAL = "arrival-ts"


@dataclass(frozen=True)
class Attribute:
    """Along what a window reaches or slides: a column, the rank by one, or arrival."""

    name: str
    ranked: bool = False

    @property
    def counts_rows(self) -> bool:
        return self.ranked or self.name == ROW_NUM


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
    return _decided(draft, start)


def _attribute(cursor: Cursor) -> Attribute:
    behind = cursor.tokens[cursor.at + 1 : cursor.at + 2]
    if cursor.next_is("RANK") and behind and behind[0].token_type is TokenType.L_PAREN:
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


def _gap(cursor: Cursor) -> object:
    """How long a session waits: a length, or an expression with one for every row."""
    cursor.accept("GAP")
    token = cursor.peek
    if token is not None and token.token_type is TokenType.L_PAREN:
        return read_expression(cursor.enclosed(), "a length for every row")
    return read_length(cursor, "gap")


def _rows(cursor: Cursor) -> Measure:
    measure = read_measure(cursor, "rows")
    if measure.number is None:
        cursor.at -= 1
        cursor.fail(expected="a number of rows")
    return Measure(None, measure.number)


_READERS: dict[str, Callable[[Cursor], object]] = {
    "RANGE": lambda cursor: read_measure(cursor, "range"),
    "SLIDE": lambda cursor: read_measure(cursor, "slide"),
    "ROWS": _rows,
    "TUMBLING": lambda cursor: read_length(cursor, "length"),
    "WATTR": _attribute,
    "RATTR": _attribute,
    "SATTR": _attribute,
    "PATTR": read_partition,
    "ORIGIN": lambda cursor: read_constant(cursor, "an origin such as '2026-01-01'"),
    "LANDMARK": _landmarks,
    "SESSION": _gap,
    "WITHIN": lambda cursor: read_length(cursor, "within"),
    "TIEBREAK": lambda cursor: cursor.names("a column"),
    "UNFINISHED": lambda cursor: cursor.choice("KEEP", "DROP", "FLAG").lower(),
    "DISORDER": lambda cursor: read_rule(cursor, WORDS),
}


def _decided(draft: Draft, start: int) -> Clause:
    """Which windows the words ask for."""
    if "rows" in draft.values:
        draft.put("range", draft.take("rows"), draft.at("rows"))
    along = _along(draft)
    kinds = [word for word in ("session", "landmark", "tumbling", "range") if word in draft.values]
    if not kinds:
        problem = "this says how windows slide, and not how long they are"
        expected = "RANGE, TUMBLING, LANDMARK, SESSION or FRAME"
        raise SqlError(problem, draft.text, start, expected=expected)
    if len(kinds) > 1:
        problem = f"{kinds[0].upper()} and {kinds[1].upper()} are different kinds of windows"
        raise SqlError(problem, draft.text, draft.at(kinds[1]))
    by, disorder = draft.take("pattr"), draft.take("disorder")
    method, arguments, used = _KINDS[kinds[0]](draft, along)
    for word in draft.values:
        if word not in used:
            problem = f"{word.upper()} has no meaning for these windows"
            raise SqlError(problem, draft.text, draft.at(word))
    given = {name: value for name, value in arguments.items() if value is not None}
    places = {
        name: draft.places.get(_WORD_OF.get(name, name), draft.at(kinds[0])) for name in given
    }
    if method == "tumbling":  # Python calls its length by both names
        places |= {"range": draft.at("tumbling"), "slide": draft.at("tumbling")}
    places |= {"on": draft.at(along.word)} if along.word else {}
    places |= {"by": draft.at("pattr")} if by is not None else {}
    on = None if along.range is None or along.range.name == ROW_NUM else along.range.name
    return Clause(method, given, places, on, by, disorder)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Along:
    """The attributes of a window, and the word that named the first."""

    range: Attribute | None
    slide: Attribute | None
    word: str | None


#: The words that arguments of other names come from.
_WORD_OF = {"length": "tumbling", "gap": "session", "every": "slide", "start": "landmark"}
_Asked = tuple[object, dict[str, object], set[str]]


def _along(draft: Draft) -> _Along:
    both, far, step = (draft.take(word) for word in ("wattr", "rattr", "sattr"))
    if both is not None and far is not None:
        problem = "WATTR is RATTR and SATTR in one; use WATTR alone or the other two"
        raise SqlError(problem, draft.text, draft.at("rattr"))
    word = "wattr" if both is not None else "rattr" if far is not None else None
    reach = both if both is not None else far
    assert reach is None or isinstance(reach, Attribute)
    assert step is None or isinstance(step, Attribute)
    return _Along(reach, step, word)


def _ranged(draft: Draft, along: _Along) -> _Asked:
    reach, slide = draft.values["range"], draft.values.get("slide")
    assert isinstance(reach, Measure)
    assert slide is None or isinstance(slide, Measure)
    attribute = along.range
    counted = attribute is not None and attribute.counts_rows and reach.number is not None
    if reach.rows is not None or counted:
        return _row_windows(draft, along, reach, slide)
    if attribute is not None and attribute.counts_rows:
        problem = "a range along row-num or a rank counts rows"
        raise SqlError(problem, draft.text, draft.at("range"), expected="a number of ROWS")
    by_rows = along.slide is not None and along.slide.counts_rows
    if slide is None or slide.rows is not None or (by_rows and slide.number is not None):
        return _by_tuple(draft, along, reach, slide)
    if by_rows:
        problem = "a slide along row-num or a rank counts rows"
        raise SqlError(problem, draft.text, draft.at("slide"), expected="a number of ROWS")
    column = None if along.slide in (None, attribute) else along.slide
    arguments = {
        "range": reach.length,
        "slide": slide.length,
        "origin": draft.values.get("origin"),
        "slide_on": None if column is None else column.name,
        "unfinished": draft.values.get("unfinished"),
    }
    return "window", arguments, {"range", "slide", "origin", "unfinished"}


def _row_windows(draft: Draft, along: _Along, reach: Measure, slide: Measure | None) -> _Asked:
    step = None if slide is None else slide.number
    if slide is not None and step is None:
        problem = "a window of so many rows slides by rows"
        raise SqlError(problem, draft.text, draft.at("slide"), expected="a number of ROWS")
    arriving = along.range is not None and along.range.name == ROW_NUM
    if along.slide is not None and along.slide.counts_rows is False:
        problem = "a window of so many rows slides by rows"
        raise SqlError(problem, draft.text, draft.at("sattr"), expected="WATTR alone")
    arguments = {
        "range": reach.number,
        "slide": step,
        "within": draft.values.get("within"),
        "order": "arrival" if arriving else None,
        "tiebreak": draft.values.get("tiebreak"),
        "unfinished": draft.values.get("unfinished"),
    }
    return "rows", arguments, {"range", "slide", "within", "tiebreak", "unfinished"}


def _by_tuple(draft: Draft, along: _Along, reach: Measure, slide: Measure | None) -> _Asked:
    """A window that ends at every row, or at every n-th; without SLIDE at every one, as in CQL."""
    step, attribute = along.slide, along.range
    if step is not None and not step.counts_rows:
        problem = f"a slide of rows is along row-num or rank({step.name})"
        raise SqlError(problem, draft.text, draft.at("sattr"))
    if step is not None and step.ranked and attribute is not None and step.name != attribute.name:
        problem = f"rows are ranked by the attribute of the range, rank({attribute.name})"
        raise SqlError(problem, draft.text, draft.at("sattr"))
    arriving = step is not None and step.name == ROW_NUM
    arguments: dict[str, object] = {
        "range": reach.length,
        "every": None if slide is None else slide.number,
        "order": "arrival" if arriving else None,
    }
    return "by_tuple", arguments, {"range", "slide"}


def _tumbling(draft: Draft, along: _Along) -> _Asked:
    arguments = {
        "length": draft.values["tumbling"],
        "origin": draft.values.get("origin"),
        "unfinished": draft.values.get("unfinished"),
    }
    return "tumbling", arguments, {"tumbling", "origin", "unfinished"}


def _landmark(draft: Draft, along: _Along) -> _Asked:
    found, slide = draft.values["landmark"], draft.values.get("slide")
    if isinstance(slide, Measure) and slide.length is None:
        problem = "a landmark window slides by a length"
        raise SqlError(problem, draft.text, draft.at("slide"))
    listed = isinstance(found, tuple)
    origin = draft.values.get("origin") if found == () else found if listed else None
    if isinstance(origin, tuple):
        origin = origin[0] if len(origin) == 1 else list(origin)
    arguments = {
        "slide": slide.length if isinstance(slide, Measure) else None,
        "origin": origin,
        "start": None if listed else found,
        "unfinished": draft.values.get("unfinished"),
    }
    return "landmark", arguments, {"landmark", "slide", "origin", "unfinished"}


def _session(draft: Draft, along: _Along) -> _Asked:
    return "session", {"gap": draft.values["session"]}, {"session"}


_KINDS: dict[str, Callable[[Draft, _Along], _Asked]] = {
    "range": _ranged,
    "tumbling": _tumbling,
    "landmark": _landmark,
    "session": _session,
}
