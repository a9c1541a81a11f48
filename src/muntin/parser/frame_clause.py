"""``[FRAME THRESHOLD loss_rate > 0.3 LASTING 5 MINUTES WATTR ts PATTR router]``.

The kind of frame comes first [Frames 4.3]:

    FRAME THRESHOLD condition
          BOUNDARY expression [EVERY number | length]
          DELTA expression SIZE number | length [AGAINST FIRST | RANGE] [MINIMAL | MAXIMAL]
                [START ...]
          AGGREGATE comparison [MINIMAL | MAXIMAL] [START ...]
          TREND expression INCREASING | DECREASING | FLAT [STRICT | LOOSE]
          BETWEEN (condition) AND (condition) [INCLUSIVE BOTH | START | END | NEITHER]
          DENSITY comparison PER length
          DENSITY P number RATE number PER length [WEIGHT expression]
          FUNCTION name
          REGION condition ALONG column [EXTENT number] [PREFER LONGEST | WIDEST | ALL]
          PATTERN (names with ? * + {m,n}, groups, |) DEFINE name AS condition, ...
    START WHEN (condition) [RESTART CLOSE | DROP | CONTINUE]

The arguments that all kinds have follow in any order:

    LASTING [AT LEAST | AT MOST] length     HOLDING [AT LEAST | AT MOST] n ROWS
    CUT   LONGEST   FRAGMENTS length        SCHEME name     MISSING policy | WHERE condition
    BOUNDS CONSERVATIVE | LIBERAL           TIES ...        READINGS POINT | UNTIL NEXT | column
    WATTR column   PATTR column, ...        DISORDER ...
    SCHEDULE length [ORIGIN constant]        SCHEDULE NONE
    FORGET AFTER length        PREFIX text
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sqlglot.tokenizer_core import TokenType

from muntin.errors import ArgumentError, ExpressionError
from muntin.parser import arguments
from muntin.parser.arguments import (
    FORGET,
    PREFIX,
    ROLES,
    Argument,
    Clause,
    Draft,
    Form,
    Together,
    first_words,
    one_of,
    read_word_argument,
)
from muntin.parser.cursor import Cursor
from muntin.parser.errors import Position, SqlError, argument_refused
from muntin.parser.expressions import (
    read_constant,
    read_expression,
    read_length,
    read_number,
    read_size,
)
from muntin.parser.lexer import is_name, is_word
from muntin.parser.statements import Expression, KindOfFrame
from muntin.specs.frames.pattern import parse_pattern
from muntin.specs.frames.schemes import Schedule, Scheme, adjacent, cover


def read_frames(cursor: Cursor) -> Clause:
    """Read the inside of a bracket, from the word FRAME on."""
    draft = Draft(cursor.text)
    place = cursor.place
    cursor.expect("FRAME")
    draft.put("kind", read_kind(cursor, _FORM), place, "FRAME")
    while not cursor.done:
        if not read_word_argument(cursor, FRAME_ARGUMENTS, _FORM, draft):
            known = (*_FORM.words, *_KIND_WORDS)
            cursor.fail(expected="LASTING, WATTR or another word of a frame", known=known)
    return draft.clause("frames")


def read_kind(cursor: Cursor, form: Form) -> KindOfFrame:
    """Read the kind of frame and its own arguments."""
    place = cursor.place
    word = cursor.choice(*_KINDS, "PATTERN")
    stops = (*form.words, *_KIND_WORDS)

    def expression(what: str) -> Expression:
        return read_expression(cursor.until(lambda c: c.next_is(*stops)), what)

    if word == "PATTERN":
        return _pattern(cursor, expression, place)
    return KindOfFrame(word.lower(), _KINDS[word].read(cursor, expression), place)


_ReadExpression = Callable[[str], Expression]


def _threshold(cursor: Cursor, read: _ReadExpression) -> dict[str, object]:
    return {"where": read("a condition such as loss_rate > 0.3")}


def _boundary(cursor: Cursor, read: _ReadExpression) -> dict[str, object]:
    kind: dict[str, object] = {"value": read("a value such as status")}
    if cursor.accept("EVERY"):
        kind["every"] = read_size(cursor)
    return kind


def _delta(cursor: Cursor, read: _ReadExpression) -> dict[str, object]:
    kind: dict[str, object] = {"value": read("a value such as temperature")}
    cursor.expect("SIZE")
    kind["size"] = read_size(cursor)
    if cursor.accept("AGAINST"):
        kind["against"] = cursor.choice("FIRST", "RANGE").lower()
    return kind | _span(cursor) | _start(cursor)


def _aggregate(cursor: Cursor, read: _ReadExpression) -> dict[str, object]:
    kind: dict[str, object] = {"condition": read("a comparison such as sum(volume) >= 100")}
    return kind | _span(cursor) | _start(cursor)


def _trend(cursor: Cursor, read: _ReadExpression) -> dict[str, object]:
    kind: dict[str, object] = {"value": read("a value such as temperature")}
    if not cursor.next_is("INCREASING", "DECREASING", "FLAT"):
        return kind
    kind["direction"] = cursor.choice("INCREASING", "DECREASING", "FLAT").lower()
    if cursor.next_is("STRICT", "LOOSE"):
        kind["strict"] = cursor.take().text.upper() == "STRICT"
    return kind


def _between(cursor: Cursor, read: _ReadExpression) -> dict[str, object]:
    start = _enclosed(cursor, "a condition in parentheses, such as (door = 'open')")
    cursor.expect("AND")
    kind: dict[str, object] = {"start": start}
    kind["end"] = _enclosed(cursor, "a condition in parentheses, such as (door = 'closed')")
    if cursor.accept("INCLUSIVE"):
        kind["inclusive"] = cursor.choice("BOTH", "START", "END", "NEITHER").lower()
    return kind


def _density(cursor: Cursor, read: _ReadExpression) -> dict[str, object]:
    kind: dict[str, object] = {}
    if cursor.next_is("P") and not cursor.next_are("P", "P"):
        cursor.take()
        kind["p"] = read_number(cursor, "a chance such as 0.05")
        cursor.expect("RATE")
        kind["rate"] = read_number(cursor, "a number of rows")
    else:
        kind["condition"] = read("a comparison such as sum(volume) > 30")
    cursor.expect("PER")
    kind["per"] = read_length(cursor)
    if "p" in kind and cursor.accept("WEIGHT"):
        kind["weight"] = read("a number of events such as vehicles")
    return kind


def _region(cursor: Cursor, read: _ReadExpression) -> dict[str, object]:
    kind: dict[str, object] = {"where": read("a condition such as speed < 30")}
    cursor.expect("ALONG")
    kind["along"] = cursor.name("a number column such as milepost")
    if cursor.accept("EXTENT"):
        kind["min_extent"] = read_number(cursor, "a number")
    if cursor.accept("PREFER"):
        kind["prefer"] = cursor.choice("LONGEST", "WIDEST", "ALL").lower()
    return kind


def _pattern(cursor: Cursor, read: _ReadExpression, place: Position) -> KindOfFrame:
    """Read a pattern and the conditions of its names; a name's case does not matter."""
    if not cursor.opens():
        cursor.fail(expected="a pattern in parentheses, such as (rise+ fall)")
    first = cursor.offset + 1
    pattern = cursor.text[first : cursor.enclosed().end]
    try:
        tree = parse_pattern(pattern)
    except ExpressionError as error:
        raise SqlError(error.problem, cursor.text, first + (error.position or 0)) from None
    except ArgumentError as error:
        raise argument_refused(error, cursor.text, first) from None
    names = dict.fromkeys(tree.names)
    conditions = _definitions(cursor, read, tuple(names))
    for name in names:
        if name not in conditions:
            match = re.search(rf"\b{name}\b", pattern)
            at = first + (0 if match is None else match.start())
            problem = f"{name} has no condition"
            raise SqlError(problem, cursor.text, at, expected=f"{name} AS condition after DEFINE")
    return KindOfFrame("pattern", conditions, place, (str(tree),))


def _definitions(
    cursor: Cursor, read: _ReadExpression, names: tuple[str, ...]
) -> dict[str, Expression]:
    """Read ``DEFINE rise AS x > prev.x, fall AS x < prev.x``."""
    known = {**{name.casefold(): name for name in names}, **{name: name for name in names}}
    conditions: dict[str, Expression] = {}
    cursor.expect("DEFINE")
    while True:
        if cursor.peek is None or not is_name(cursor.peek):
            cursor.fail(expected="a name of the pattern")
        written = cursor.peek.text
        name = known.get(written, known.get(written.casefold()))
        if name is None:
            cursor.fail(f"the pattern has no name {written}", expected=_listed(names), known=names)
        if name in conditions:
            cursor.fail(f"{name} is defined twice", expected="one condition for each name")
        cursor.take()
        cursor.expect("AS")
        conditions[name] = read("a condition such as x > prev.x")
        following = cursor.tokens[cursor.at + 1 : cursor.at + 3]
        goes_on = len(following) == 2 and is_name(following[0]) and is_word(following[1], "AS")
        # After a comma that is followed by something else, the next argument of a function begins.
        if not goes_on or not cursor.accept_type(TokenType.COMMA):
            return conditions


def _listed(names: tuple[str, ...]) -> str:
    return f"one of {', '.join(names)}" if len(names) > 1 else names[0]


def _function(cursor: Cursor, read: _ReadExpression) -> dict[str, object]:
    return {"name": cursor.name("the name of a framing function of your own")}


def _span(cursor: Cursor) -> dict[str, object]:
    if not cursor.next_is("MINIMAL", "MAXIMAL"):
        return {}
    return {"span": cursor.take().text.lower()}


def _start(cursor: Cursor) -> dict[str, object]:
    """Read where frames may open, and what happens if one is open already."""
    if not cursor.accept("START"):
        return {}
    cursor.expect("WHEN")
    start: dict[str, object] = {"start": _enclosed(cursor, "a condition in parentheses")}
    if cursor.accept("RESTART"):
        start["restart"] = cursor.choice("CLOSE", "DROP", "CONTINUE").lower()
    return start


def _enclosed(cursor: Cursor, what: str) -> Expression:
    if not cursor.opens():
        cursor.fail(expected=what)
    return read_expression(cursor.enclosed(), what)


@dataclass(frozen=True)
class KindClause:
    """The function that reads the arguments of a kind, and the words that end an expression."""

    read: Callable[[Cursor, _ReadExpression], dict[str, object]]
    words: tuple[str, ...] = ()


_SPAN_AND_START = ("MINIMAL", "MAXIMAL", "START", "RESTART")
_KINDS = {
    "THRESHOLD": KindClause(_threshold),
    "BOUNDARY": KindClause(_boundary, ("EVERY",)),
    "DELTA": KindClause(_delta, ("SIZE", "AGAINST", *_SPAN_AND_START)),
    "AGGREGATE": KindClause(_aggregate, _SPAN_AND_START),
    "TREND": KindClause(_trend, ("INCREASING", "DECREASING", "FLAT", "STRICT", "LOOSE")),
    "BETWEEN": KindClause(_between, ("INCLUSIVE",)),
    "DENSITY": KindClause(_density, ("PER",)),
    "REGION": KindClause(_region, ("ALONG", "EXTENT", "PREFER")),
    "FUNCTION": KindClause(_function),
}
#: The words of the kinds of frames.
FRAME_WORDS = (*_KINDS, "PATTERN")
#: The words that end an expression, of every kind.
_KIND_WORDS = tuple(dict.fromkeys(word for kind in _KINDS.values() for word in kind.words))


def _scheme(cursor: Cursor, form: Form) -> Scheme:
    """Read how frames may overlap [Frames 4.2]."""
    name = cursor.choice("DISJOINT", "PARTITION", "ADVANCING", "ADJACENT", "COVER", "UNCONSTRAINED")
    if name == "ADJACENT":
        return adjacent(read_length(cursor))
    if name == "COVER":
        how = cursor.take().text.lower() if cursor.next_is("DRAINED", "SATURATED") else "drained"
        return cover(how)
    return Scheme(name.lower())


def _missing(cursor: Cursor, form: Form) -> object:
    """Read a policy for missing rows, or a condition: after a word it follows WHERE."""
    if cursor.next_is("BREAK", "SATISFY", "CARRY"):
        return cursor.take().text.lower()
    if form.by_name and cursor.next_is_text():
        return cursor.take().text
    if not form.by_name and not cursor.accept("WHERE"):
        cursor.fail_choice(("BREAK", "SATISFY", "CARRY", "WHERE"))
    return read_expression(cursor.until(form.ends), "a condition on prev and next")


_read_ties = one_of("fail", "refuse", "first", "last", "mean", "max", "min", "sum")


def _ties(cursor: Cursor, form: Form) -> object:
    """Read what happens to rows at one instant; after a word, BY orders those that tie."""
    if cursor.opens():
        return _tied_columns(cursor.enclosed())
    ties = _read_ties(cursor, form)
    if form.by_name or ties not in ("first", "last"):
        return ties
    cursor.expect("BY")
    return Together(ties=ties, tie_order=cursor.names("a column"))


def _tied_columns(cursor: Cursor) -> dict[str, str]:
    """Read how rows at one instant are combined, by column: ``speed MEAN, volume SUM``."""
    ways: dict[str, str] = {}
    while not cursor.done:
        column = cursor.name("a column")
        ways[column] = cursor.choice("MEAN", "MAX", "MIN", "SUM").lower()
        if not cursor.done:
            cursor.expect_type(TokenType.COMMA, ",")
    return ways


_read_readings = one_of("point", "until_next", "interval")


def _readings(cursor: Cursor, form: Form) -> object:
    """Read how long a row holds: a name, or after a word POINT, UNTIL NEXT or UNTIL column."""
    if form.by_name:
        return _read_readings(cursor, form)
    if cursor.choice("POINT", "UNTIL") == "POINT":
        return "point"
    if cursor.accept("NEXT"):
        return "until_next"
    until = cursor.name("NEXT, or the column that ends a reading")
    return Together(readings="interval", until=until)


def read_schedule(cursor: Cursor) -> Schedule:
    """Read when rows are due: a length, and an origin if there is one."""
    start = cursor.offset
    every = read_length(cursor)
    origin = read_constant(cursor, "an origin") if cursor.accept("ORIGIN") else None
    try:
        return Schedule(every, origin)
    except ArgumentError as error:
        raise argument_refused(error, cursor.text, start) from None


def _schedule(cursor: Cursor, form: Form) -> object:
    """Read a schedule; NONE leaves out that of the stream, which some kinds cannot have."""
    return "none" if cursor.accept("NONE") else read_schedule(cursor)


#: The arguments that frames of every kind have.
FRAME_ARGUMENTS = (
    Argument("min_duration", arguments.length, ("LASTING", "LASTING AT LEAST")),
    Argument("max_duration", arguments.length, ("LASTING AT MOST",)),
    Argument("min_count", arguments.row_count, ("HOLDING", "HOLDING AT LEAST")),
    Argument("max_count", arguments.row_count, ("HOLDING AT MOST",)),
    Argument("cut", arguments.flag, ("CUT",)),
    Argument("scheme", _scheme, ("SCHEME",)),
    Argument("longest", arguments.flag, ("LONGEST",)),
    Argument("fragments", arguments.length, ("FRAGMENTS",)),
    Argument("missing", _missing, ("MISSING",)),
    Argument("bounds", one_of("conservative", "liberal"), ("BOUNDS",)),
    Argument("ties", _ties, ("TIES",)),
    Argument("tie_order", arguments.columns, inside="BY"),
    Argument("readings", _readings, ("READINGS",)),
    Argument("until", arguments.column, inside="UNTIL"),
    Argument("schedule", _schedule, ("SCHEDULE",)),
    FORGET,
    PREFIX,
    *ROLES,
)
_FORM = Form(first_words(FRAME_ARGUMENTS))
