"""The papers' bracket: ``[RANGE 300 SECONDS SLIDE 60 SECONDS WATTR ts]`` [Window-ids 3.2].

The words come in any order:

    RANGE length | n ROWS     SLIDE length | n ROWS       TUMBLING length | n ROWS
    WATTR attribute           RATTR column                SATTR attribute
    PATTR column, ...|NONE    ORIGIN constant             LANDMARK [constant, ... | WHERE condition]
    SESSION GAP length        WITHIN length               LANDMARK FIRST
    LATCH length              PREFIX text                 TIEBREAK column, ...
    UNFINISHED KEEP|DROP|FLAG DISORDER ...                FRAME ... (see frame_clause)
    FORGET AFTER length       STORED FRAMES ... (see stored_frames_clause)

An attribute is a column, ``row-num`` (rows as they arrive), ``rank(column)`` (rows by a column) or
``arrival-ts``, the time at which Spark reads a row. The kind of windows follows from the words that
are given, and from whether RANGE and SLIDE count rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot.tokenizer_core import TokenType

from muntin.parser import arguments
from muntin.parser.arguments import (
    FORGET,
    PREFIX,
    ROLES,
    Argument,
    Clause,
    Draft,
    Form,
    first_words,
    one_of,
    read_word_argument,
)
from muntin.parser.cursor import Cursor
from muntin.parser.errors import Position, SqlError
from muntin.parser.expressions import (
    LengthLiteral,
    read_constant,
    read_expression,
    read_length,
    read_measure,
)
from muntin.parser.frame_clause import read_frames
from muntin.parser.statements import Method
from muntin.parser.stored_frames_clause import read_stored_frames

#: Attributes that need no column: the order in which rows arrive, and the time at which they do.
ROW_NUM = "row-num"
ARRIVAL = "arrival-ts"


@dataclass(frozen=True)
class Attribute:
    """What a window reaches or slides along: a column, the rank by a column, or arrival."""

    name: str
    ranked: bool = False

    @property
    def counts_rows(self) -> bool:
        return self.ranked or self.name == ROW_NUM


def read_bracket(cursor: Cursor) -> Clause:
    """Read everything between ``[`` and ``]``."""
    if cursor.next_is("FRAME"):
        return read_frames(cursor)
    if cursor.next_is("STORED"):
        return read_stored_frames(cursor)
    draft = Draft(cursor.text)
    start = cursor.offset
    while not cursor.done:
        if not read_word_argument(cursor, WINDOW_ARGUMENTS, _FORM, draft):
            cursor.fail(expected="RANGE, SLIDE, WATTR or another word of a window", known=OPENING)
    return _decide(draft, start)


def _measure(cursor: Cursor, form: Form) -> LengthLiteral:
    return read_measure(cursor)


def _rows(cursor: Cursor, form: Form) -> LengthLiteral:
    measure = read_measure(cursor)
    if measure.number is None:
        cursor.at -= 1
        cursor.fail(expected="a number of rows")
    return LengthLiteral(None, measure.number)


def _attribute(cursor: Cursor, form: Form) -> Attribute:
    if cursor.next_is("RANK") and cursor.calls():
        cursor.take()
        inner = cursor.enclosed()
        name = inner.name("the column that ranks rows")
        inner.finish(")")
        return Attribute(name, ranked=True)
    return Attribute(cursor.name("a column, row-num or rank(column)"))


def _landmarks(cursor: Cursor, form: Form) -> object:
    """Read the landmarks: constants, FIRST, a condition, or nothing if ORIGIN gives one."""
    if cursor.accept("WHERE"):
        return read_expression(cursor.until(form.ends), "a condition such as kind = 'open'")
    if cursor.accept("FIRST"):
        return ("first",)
    if cursor.done or form.ends(cursor):
        return ()
    landmarks = [read_constant(cursor, "a landmark such as '2026-01-01'")]
    while cursor.accept_type(TokenType.COMMA):
        landmarks.append(read_constant(cursor, "another landmark"))
    return tuple(landmarks)


def _gap(cursor: Cursor, form: Form) -> object:
    """Read how long a session waits: a length, or an expression with one for every row."""
    if cursor.opens():
        return read_expression(cursor.enclosed(), "a length for every row")
    return read_length(cursor)


@dataclass(frozen=True)
class _Along:
    """The attributes of a window's range and slide, and the word that gave the first."""

    range: Attribute | None
    slide: Attribute | None
    word: str | None

    @property
    def on(self) -> str | None:
        """The column of the range; None where rows are counted as they arrive."""
        return None if self.range is None or self.range.name == ROW_NUM else self.range.name


@dataclass(frozen=True)
class _Call:
    """A method of ``mt.stream``, its arguments, and which arguments of the bracket they use."""

    method: Method
    arguments: Mapping[str, object]
    used: frozenset[str]


def _decide(draft: Draft, start: int) -> Clause:
    """Return the clause that the words of a bracket make."""
    if "rows" in draft.values:
        draft.put("range", draft.take("rows"), draft.places["rows"], "ROWS")
    along, kind = _along(draft), _kind(draft, start)
    on, by, disorder = draft.take_roles()
    prefix = draft.take("prefix")
    call = _KINDS[kind](draft, along)
    for name in draft.values:
        if name not in call.used:
            problem = f"{draft.words[name]} has no meaning for these windows"
            raise SqlError(problem, draft.text, draft.places[name])
    named = {**call.arguments, "prefix": prefix}
    values = {name: value for name, value in named.items() if value is not None}
    places = _places(draft, kind, values, along)
    return Clause(call.method, values, places, along.on if on is None else on, by, disorder)


def _kind(draft: Draft, start: int) -> str:
    """Return the one argument that decides the kind of windows."""
    kinds = [name for name in _KINDS if name in draft.values]
    if not kinds:
        problem = "this says how windows slide, but not how long they are"
        expected = "RANGE, TUMBLING, LANDMARK, LATCH, SESSION or FRAME"
        raise SqlError(problem, draft.text, start, expected=expected)
    if len(kinds) > 1:
        one, other = (draft.words[kind] for kind in kinds[:2])
        problem = f"{one} and {other} are different kinds of windows"
        raise SqlError(problem, draft.text, draft.places[kinds[1]])
    return kinds[0]


def _places(
    draft: Draft, kind: str, values: Mapping[str, object], along: _Along
) -> dict[str, Position]:
    """Return the places of arguments by the names that the Python method has for them."""
    word_of = {"start": "landmark"} | ({} if kind == "every" else {"every": "slide"})
    first = draft.places[kind]
    places = {name: draft.places.get(word_of.get(name, name), first) for name in values}
    if kind == "length":  # the range and the slide of a tumbling window
        places |= {"range": first, "slide": first}
    places |= {"on": draft.places[along.word]} if along.word else {}
    return places | ({"by": draft.places["by"]} if "by" in draft.places else {})


def _along(draft: Draft) -> _Along:
    both, far, step = (draft.take(word) for word in ("wattr", "rattr", "sattr"))
    for word in ("rattr", "sattr"):
        if both is not None and word in draft.places:
            problem = "WATTR is RATTR and SATTR in one; use WATTR alone or the other two"
            raise SqlError(problem, draft.text, draft.places[word])
    reach = both if both is not None else far
    assert reach is None or isinstance(reach, Attribute)
    assert step is None or isinstance(step, Attribute)
    if reach is None and step is not None and step.ranked:
        # Rows are ranked by the attribute of the range, so this gives that attribute, too.
        return _Along(Attribute(step.name), step, "sattr")
    return _Along(reach, step, "wattr" if both is not None else "rattr" if far else None)


def _check_column(draft: Draft, along: _Along) -> None:
    """Raise unless windows lie along one column and slide along nothing else."""
    if along.slide is not None:
        problem = "SATTR has no meaning for these windows"
        raise SqlError(problem, draft.text, draft.places["sattr"], expected="WATTR alone")
    if along.range is not None and along.range.counts_rows:
        assert along.word is not None
        problem = "these windows lie along a column and count no rows"
        raise SqlError(problem, draft.text, draft.places[along.word], expected="WATTR column")


def _ranged(draft: Draft, along: _Along) -> _Call:
    reach, slide = draft.values["range"], draft.values.get("slide")
    assert isinstance(reach, LengthLiteral)
    assert slide is None or isinstance(slide, LengthLiteral)
    attribute = along.range
    counted = attribute is not None and attribute.counts_rows and reach.number is not None
    if reach.rows is not None or counted:
        return _row_windows(draft, along, reach, slide)
    if attribute is not None and attribute.counts_rows:
        problem = "a range along row-num or a rank counts rows"
        raise SqlError(problem, draft.text, draft.places["range"], expected="a number of ROWS")
    by_rows = along.slide is not None and along.slide.counts_rows
    if slide is None or slide.rows is not None or (by_rows and slide.number is not None):
        return _by_tuple(draft, along, reach, slide)
    if by_rows:
        problem = "a slide along row-num or a rank counts rows"
        raise SqlError(problem, draft.text, draft.places["slide"], expected="a number of ROWS")
    column = None if along.slide in (None, attribute) else along.slide
    arguments = {
        "range": reach.length,
        "slide": slide.length,
        "origin": draft.values.get("origin"),
        "slide_on": None if column is None else column.name,
        "unfinished": draft.values.get("unfinished"),
    }
    return _Call("window", arguments, frozenset({"range", "slide", "origin", "unfinished"}))


def _row_windows(
    draft: Draft, along: _Along, reach: LengthLiteral, slide: LengthLiteral | None
) -> _Call:
    step = None if slide is None else slide.number
    if slide is not None and step is None:
        problem = "a window of so many rows slides by rows"
        raise SqlError(problem, draft.text, draft.places["slide"], expected="a number of ROWS")
    arriving = along.range is not None and along.range.name == ROW_NUM
    by = None if along.range is None else along.range.name
    if along.slide is not None and (not along.slide.counts_rows or along.slide.name != by):
        problem = "a window of so many rows slides by the rows that it counts"
        raise SqlError(problem, draft.text, draft.places["sattr"], expected="WATTR alone")
    arguments = {
        "range": reach.number,
        "slide": step,
        "within": draft.values.get("within"),
        "order": "arrival" if arriving else None,
        "tiebreak": draft.values.get("tiebreak"),
        "unfinished": draft.values.get("unfinished"),
        "forget": draft.values.get("forget"),
    }
    known = {"range", "slide", "within", "tiebreak", "unfinished", "forget"}
    return _Call("rows", arguments, frozenset(known))


def _by_tuple(
    draft: Draft, along: _Along, reach: LengthLiteral, slide: LengthLiteral | None
) -> _Call:
    """Windows that end at every n-th row; without SLIDE at every row, as in CQL."""
    step, attribute = along.slide, along.range
    if step is not None and not step.counts_rows:
        problem = f"a slide of rows is along row-num or rank({step.name})"
        raise SqlError(problem, draft.text, draft.places["sattr"])
    if step is not None and step.ranked and attribute is not None and step.name != attribute.name:
        problem = f"rows are ranked by the attribute of the range, rank({attribute.name})"
        raise SqlError(problem, draft.text, draft.places["sattr"])
    arriving = step is not None and step.name == ROW_NUM
    arguments: dict[str, object] = {
        "range": reach.length,
        "every": None if slide is None else slide.number,
        "order": "arrival" if arriving else None,
    }
    return _Call("by_tuple", arguments, frozenset({"range", "slide"}))


def _tumbling(draft: Draft, along: _Along) -> _Call:
    length = draft.values["length"]
    assert isinstance(length, LengthLiteral)
    counts = along.range is not None and along.range.counts_rows
    if length.rows is not None or (counts and length.number is not None):
        call = _row_windows(draft, along, length, length)
        return replace(call, used=call.used - {"range", "slide"} | {"length"})
    if counts:
        problem = "a length along row-num or a rank counts rows"
        raise SqlError(problem, draft.text, draft.places["length"], expected="a number of ROWS")
    _check_column(draft, along)
    arguments = {
        "length": length.length,
        "origin": draft.values.get("origin"),
        "unfinished": draft.values.get("unfinished"),
    }
    return _Call("tumbling", arguments, frozenset({"length", "origin", "unfinished"}))


def _latch(draft: Draft, along: _Along) -> _Call:
    _check_column(draft, along)
    arguments = {
        "every": draft.values["every"],
        "origin": draft.values.get("origin"),
        "unfinished": draft.values.get("unfinished"),
    }
    return _Call("latch", arguments, frozenset({"every", "origin", "unfinished"}))


def _landmark(draft: Draft, along: _Along) -> _Call:
    _check_column(draft, along)
    landmarks, slide = draft.values["landmark"], draft.values.get("slide")
    if isinstance(slide, LengthLiteral) and slide.length is None:
        problem = "a landmark window slides by a length"
        raise SqlError(problem, draft.text, draft.places["slide"])
    if landmarks != () and "origin" in draft.values:
        problem = "LANDMARK already says where these windows begin"
        raise SqlError(problem, draft.text, draft.places["origin"], expected="LANDMARK alone")
    listed = isinstance(landmarks, tuple)
    origin = draft.values.get("origin") if landmarks == () else landmarks if listed else None
    if isinstance(origin, tuple | list):
        origin = origin[0] if len(origin) == 1 else list(origin)
    arguments = {
        "slide": slide.length if isinstance(slide, LengthLiteral) else None,
        "origin": origin,
        "start": None if listed else landmarks,
        "unfinished": draft.values.get("unfinished"),
    }
    return _Call("landmark", arguments, frozenset({"landmark", "slide", "origin", "unfinished"}))


def _session(draft: Draft, along: _Along) -> _Call:
    _check_column(draft, along)
    return _Call("session", {"gap": draft.values["gap"]}, frozenset({"gap"}))


_KINDS: dict[str, Callable[[Draft, _Along], _Call]] = {
    "gap": _session,
    "landmark": _landmark,
    "every": _latch,
    "length": _tumbling,
    "range": _ranged,
}


ORIGIN = Argument("origin", arguments.constant, ("ORIGIN",))
WITHIN = Argument("within", arguments.length, ("WITHIN",))
TIEBREAK = Argument("tiebreak", arguments.columns, ("TIEBREAK",))
UNFINISHED = Argument("unfinished", one_of("keep", "drop", "flag"), ("UNFINISHED",))
GAP = Argument("gap", _gap, ("SESSION", "SESSION GAP"))
_PARTITION, _DISORDER = (role for role in ROLES if role.name != "on")
#: What the words of a bracket give; `_decide` makes arguments of methods of the first seven.
WINDOW_ARGUMENTS = (
    Argument("range", _measure, ("RANGE",)),
    Argument("slide", _measure, ("SLIDE",)),
    Argument("rows", _rows, ("ROWS",)),
    Argument("wattr", _attribute, ("WATTR",)),
    Argument("rattr", _attribute, ("RATTR",)),
    Argument("sattr", _attribute, ("SATTR",)),
    Argument("landmark", _landmarks, ("LANDMARK",)),
    Argument("length", _measure, ("TUMBLING",)),
    Argument("every", arguments.length, ("LATCH",)),
    ORIGIN,
    GAP,
    WITHIN,
    TIEBREAK,
    UNFINISHED,
    FORGET,
    PREFIX,
    _PARTITION,
    _DISORDER,
)
_FORM = Form(first_words(WINDOW_ARGUMENTS))
#: The words that can come first in a bracket after a relation.
OPENING = (*_FORM.words, "FRAME", "STORED")
