"""Which windows the words of a bracket ask for [Window-ids 3.2].

The kind is told by the words that are there, and by whether RANGE and SLIDE count rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from muntin.parser.clause import Clause, Draft
from muntin.parser.errors import SqlError
from muntin.parser.literals import LengthLiteral
from muntin.parser.positions import Position
from muntin.parser.statements import Method
from muntin.specs.disorder import Disorder

#: Attributes that no column has to be: rows as they arrive, and when they do.
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


@dataclass(frozen=True)
class _Along:
    """The attributes of a window, and the word that named the first."""

    range: Attribute | None
    slide: Attribute | None
    word: str | None

    @property
    def on(self) -> str | None:
        """The column of the range; None where rows are counted as they arrive."""
        return None if self.range is None or self.range.name == ROW_NUM else self.range.name


@dataclass(frozen=True)
class _Asked:
    """A method of ``mt.stream``, its arguments, and the words that they come from."""

    method: Method
    arguments: Mapping[str, object]
    words: frozenset[str]


def decided(draft: Draft, start: int) -> Clause:
    """The clause that the words make."""
    if "rows" in draft.values:
        draft.put("range", draft.take("rows"), draft.at("rows"))
    along, kind = _along(draft), _kind(draft, start)
    by, disorder, prefix = (draft.take(word) for word in ("pattr", "disorder", "prefix"))
    assert by is None or isinstance(by, tuple)
    assert disorder is None or isinstance(disorder, Disorder)
    asked = _KINDS[kind](draft, along)
    for word in draft.values:
        if word not in asked.words:
            problem = f"{word.upper()} has no meaning for these windows"
            raise SqlError(problem, draft.text, draft.at(word))
    said = {**asked.arguments, "prefix": prefix}
    given = {name: value for name, value in said.items() if value is not None}
    return Clause(asked.method, given, _places(draft, kind, given, along), along.on, by, disorder)


def _kind(draft: Draft, start: int) -> str:
    """The one word that tells the kind of windows."""
    kinds = [word for word in _KINDS if word in draft.values]
    if not kinds:
        problem = "this says how windows slide, and not how long they are"
        expected = "RANGE, TUMBLING, LANDMARK, LATCH, SESSION or FRAME"
        raise SqlError(problem, draft.text, start, expected=expected)
    if len(kinds) > 1:
        problem = f"{kinds[0].upper()} and {kinds[1].upper()} are different kinds of windows"
        raise SqlError(problem, draft.text, draft.at(kinds[1]))
    return kinds[0]


def _places(
    draft: Draft, kind: str, given: Mapping[str, object], along: _Along
) -> dict[str, Position]:
    """Where arguments stand, by the names that Python gives them."""
    word_of = {"length": "tumbling", "gap": "session", "every": "slide", "start": "landmark"}
    found = {name: draft.places.get(word_of.get(name, name), draft.at(kind)) for name in given}
    if kind == "latch":
        found["every"] = draft.at(kind)
    if kind == "tumbling":  # Python calls its length by both names
        found |= {"range": draft.at(kind), "slide": draft.at(kind)}
    found |= {"on": draft.at(along.word)} if along.word else {}
    return found | ({"by": draft.at("pattr")} if "pattr" in draft.places else {})


def _along(draft: Draft) -> _Along:
    both, far, step = (draft.take(word) for word in ("wattr", "rattr", "sattr"))
    for word in ("rattr", "sattr"):
        if both is not None and word in draft.places:
            problem = "WATTR is RATTR and SATTR in one; use WATTR alone or the other two"
            raise SqlError(problem, draft.text, draft.at(word))
    reach = both if both is not None else far
    assert reach is None or isinstance(reach, Attribute)
    assert step is None or isinstance(step, Attribute)
    if reach is None and step is not None and step.ranked:
        # Rows are ranked by the attribute of the range, so this names that, too.
        return _Along(Attribute(step.name), step, "sattr")
    return _Along(reach, step, "wattr" if both is not None else "rattr" if far else None)


def _check_column(draft: Draft, along: _Along) -> None:
    """Windows with one attribute: a column, which nothing slides along beside."""
    if along.slide is not None:
        problem = "SATTR has no meaning for these windows"
        raise SqlError(problem, draft.text, draft.at("sattr"), expected="WATTR alone")
    if along.range is not None and along.range.counts_rows:
        assert along.word is not None
        problem = "these windows lie along a column and count no rows"
        raise SqlError(problem, draft.text, draft.at(along.word), expected="WATTR column")


def _ranged(draft: Draft, along: _Along) -> _Asked:
    reach, slide = draft.values["range"], draft.values.get("slide")
    assert isinstance(reach, LengthLiteral)
    assert slide is None or isinstance(slide, LengthLiteral)
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
    return _Asked("window", arguments, frozenset({"range", "slide", "origin", "unfinished"}))


def _row_windows(
    draft: Draft, along: _Along, reach: LengthLiteral, slide: LengthLiteral | None
) -> _Asked:
    step = None if slide is None else slide.number
    if slide is not None and step is None:
        problem = "a window of so many rows slides by rows"
        raise SqlError(problem, draft.text, draft.at("slide"), expected="a number of ROWS")
    arriving = along.range is not None and along.range.name == ROW_NUM
    by = None if along.range is None else along.range.name
    if along.slide is not None and (not along.slide.counts_rows or along.slide.name != by):
        problem = "a window of so many rows slides by the rows that it counts"
        raise SqlError(problem, draft.text, draft.at("sattr"), expected="WATTR alone")
    arguments = {
        "range": reach.number,
        "slide": step,
        "within": draft.values.get("within"),
        "order": "arrival" if arriving else None,
        "tiebreak": draft.values.get("tiebreak"),
        "unfinished": draft.values.get("unfinished"),
    }
    return _Asked(
        "rows", arguments, frozenset({"range", "slide", "within", "tiebreak", "unfinished"})
    )


def _by_tuple(
    draft: Draft, along: _Along, reach: LengthLiteral, slide: LengthLiteral | None
) -> _Asked:
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
    return _Asked("by_tuple", arguments, frozenset({"range", "slide"}))


def _tumbling(draft: Draft, along: _Along) -> _Asked:
    length = draft.values["tumbling"]
    assert isinstance(length, LengthLiteral)
    counts = along.range is not None and along.range.counts_rows
    if length.rows is not None or (counts and length.number is not None):
        asked = _row_windows(draft, along, length, length)
        return replace(asked, words=asked.words - {"range", "slide"} | {"tumbling"})
    if counts:
        problem = "a length along row-num or a rank counts rows"
        raise SqlError(problem, draft.text, draft.at("tumbling"), expected="a number of ROWS")
    _check_column(draft, along)
    arguments = {
        "length": length.length,
        "origin": draft.values.get("origin"),
        "unfinished": draft.values.get("unfinished"),
    }
    return _Asked("tumbling", arguments, frozenset({"tumbling", "origin", "unfinished"}))


def _latch(draft: Draft, along: _Along) -> _Asked:
    _check_column(draft, along)
    arguments = {
        "every": draft.values["latch"],
        "origin": draft.values.get("origin"),
        "unfinished": draft.values.get("unfinished"),
    }
    return _Asked("latch", arguments, frozenset({"latch", "origin", "unfinished"}))


def _landmark(draft: Draft, along: _Along) -> _Asked:
    _check_column(draft, along)
    found, slide = draft.values["landmark"], draft.values.get("slide")
    if isinstance(slide, LengthLiteral) and slide.length is None:
        problem = "a landmark window slides by a length"
        raise SqlError(problem, draft.text, draft.at("slide"))
    if found != () and "origin" in draft.values:
        problem = "LANDMARK says already where these windows begin"
        raise SqlError(problem, draft.text, draft.at("origin"), expected="LANDMARK alone")
    listed = isinstance(found, tuple)
    origin = draft.values.get("origin") if found == () else found if listed else None
    if isinstance(origin, tuple):
        origin = origin[0] if len(origin) == 1 else list(origin)
    arguments = {
        "slide": slide.length if isinstance(slide, LengthLiteral) else None,
        "origin": origin,
        "start": None if listed else found,
        "unfinished": draft.values.get("unfinished"),
    }
    return _Asked("landmark", arguments, frozenset({"landmark", "slide", "origin", "unfinished"}))


def _session(draft: Draft, along: _Along) -> _Asked:
    _check_column(draft, along)
    return _Asked("session", {"gap": draft.values["session"]}, frozenset({"session"}))


_KINDS: dict[str, Callable[[Draft, _Along], _Asked]] = {
    "session": _session,
    "landmark": _landmark,
    "latch": _latch,
    "tumbling": _tumbling,
    "range": _ranged,
}
