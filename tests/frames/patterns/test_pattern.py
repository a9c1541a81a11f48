"""Pattern frames as their rows arrive: what is reported when, and what is kept until then."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.parse_conditions import parse_with_previous
from muntin.errors import EmptySlotsError, UnsupportedTypeError
from muntin.kernels.arrays import EVER
from muntin.kernels.frames.pattern import automaton
from muntin.operators.frames.arrow_kind import FrameOperatorInputs
from muntin.operators.frames.build import build
from muntin.operators.frames.operator import FrameOperator
from muntin.operators.frames.ordered_rows import RowCondition
from muntin.operators.protocol import InputBatch, OneInput, Routed, State, Step
from muntin.reference.frames.frames import FrameReference
from muntin.reference.windows import END, MicroBatch
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.pattern import Pattern, parse_pattern
from muntin.specs.frames.schemes import Schedule
from tests.frames.feeding import COUNT, SUM, Feeding
from tests.properties.framings import patterns
from tests.thorough import examples

INTEGER = Axis(Domain.INTEGER)
NAMES = "abc"
NULL = 1 << 10


@dataclass(frozen=True)
class Lettered(OneInput):
    """An operator over rows with the bits of their letters in ``v``; NULL is a null condition."""

    frames: FrameOperator
    names: tuple[str, ...]

    def route(self, rows: pa.Table) -> Routed:
        bits = rows["s0"].to_numpy()
        for place, name in enumerate(self.names):
            holds = (bits >> NAMES.index(name)) & 1 > 0
            column = pa.array(holds, pa.bool_(), mask=(bits & NULL) > 0)
            rows = rows.append_column(f"f{place}", column)
        return self.frames.route(rows)

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        return self.frames.step(state, inputs)


def framing_of(text: str, **properties: Any) -> Framing:
    names = dict.fromkeys(parse_pattern(text).names)
    return Framing(Pattern(text, {name: f"is_{name}" for name in names}), "on", **properties)


def inputs(read: Sequence[pa.DataType], **more: Any) -> FrameOperatorInputs:
    types: dict[str, Any] = {"axis": INTEGER, "keys": (pa.string(),), "bound_type": pa.int64()}
    types |= {"lateness_type": pa.int64(), "calls": (), "read": tuple(read)}
    return FrameOperatorInputs(**(types | more))


def matching(text: str, calls: Sequence[AggregateCall] = (), **properties: Any) -> Feeding:
    framing = framing_of(text, **properties)
    assert isinstance(framing.kind, Pattern)
    names = framing.kind.names
    built = build(framing, inputs([pa.bool_()] * len(names), calls=tuple(calls)))
    return Feeding(Lettered(built, names))  # type: ignore[arg-type]


def rows_of(line: str, first: int = 0, k: str = "a") -> list[dict[str, Any]]:
    """A row for each word: the letters that it satisfies, ``-`` none, ``?`` null, ``.`` no row."""
    return [
        {"on": on, "k": k, "v": _bits(word)}
        for on, word in enumerate(line.split(), first)
        if word != "."
    ]


def _bits(word: str) -> int:
    return NULL if word == "?" else sum(1 << NAMES.index(letter) for letter in word.strip("-"))


def _letters(row: dict[str, Any]) -> frozenset[str] | None:
    if row["v"] & NULL:
        return None
    return frozenset(name for place, name in enumerate(NAMES) if row["v"] >> place & 1)


def ends_of(frames: Sequence[tuple[Any, ...]]) -> list[tuple[int, int]]:
    return [(frame[1], frame[2]) for frame in frames]


# -- When a match is reported ----------------------------------------------------------------------


# on     0 1 2 3 4 5        a+ b: the match is over with b, as no row can extend it
# row    a a b a - b
def test_a_match_is_reported_when_no_row_can_extend_it() -> None:
    fed = matching("a+ b")
    assert fed.frames(rows_of("a a"), upto=2) == []
    assert fed.frames(rows_of("b", 2), upto=3) == [(0, 0, 2, 3, 0, "final")]
    assert fed.kept == {"keys": 1}
    assert fed.frames(rows_of("a - b", 3), upto=6) == []
    assert fed.kept == {"keys": 1}
    assert fed.frames(end=True) == []


# on     0 1 2 3 4         a (b+ c)?: a is a match, but b may bring a longer one
# row    a b b a b
def test_a_match_waits_while_a_longer_one_may_come() -> None:
    fed = matching("a (b+ c)?")
    assert fed.frames(rows_of("a b b"), upto=3) == []
    assert fed.kept == {"keys": 1, "held": 3}
    assert fed.frames(rows_of("a", 3), upto=4) == [(0, 0, 0, 1, 0, "final")]
    assert fed.kept == {"keys": 1, "held": 1}  # the a at 3, from which a match may grow
    assert fed.frames(rows_of("b", 4), upto=5) == []
    # At the end of input the longest complete match is final.
    assert fed.frames(end=True) == [(1, 3, 3, 1, 0, "final")]
    assert fed.kept == {}


# A later match waits while an earlier one may still come and hold its rows.
def test_a_later_match_waits_for_an_earlier_one() -> None:
    fed = matching("a b* c | b")
    assert fed.frames(rows_of("a b b b"), upto=4) == []
    assert ends_of(fed.frames(rows_of("-", 4), upto=5)) == [(1, 1), (2, 2), (3, 3)]
    other = matching("a b* c | b")
    other.frames(rows_of("a b b b"), upto=4)
    assert ends_of(other.frames(rows_of("c", 4), upto=5)) == [(0, 4)]


def test_a_maximum_ends_the_wait() -> None:
    by_count = matching("a+", max_count=3)
    assert by_count.frames(rows_of("a a"), upto=2) == []
    assert ends_of(by_count.frames(rows_of("a a a a", 2), upto=6)) == [(0, 2), (3, 5)]
    assert by_count.kept == {"keys": 1}
    by_duration = matching("a+", max_duration=3)
    assert by_duration.frames(rows_of("a a"), upto=3) == []
    assert by_duration.kept == {"keys": 1, "held": 2}
    # Punctuation alone: the next row lies more than three after the first.
    assert ends_of(by_duration.frames(upto=4)) == [(0, 1)]
    assert by_duration.kept == {"keys": 1}


def test_a_maximum_that_is_too_near_to_be_met_ends_the_wait() -> None:
    fed = matching("a (a a a)?", max_count=4)
    # From 0 a match of four rows may come; from 1 too.
    assert fed.frames(rows_of("a a"), upto=2) == []
    short = matching("a (a a a)?", max_count=3)
    assert ends_of(short.frames(rows_of("a a"), upto=2)) == [(0, 0), (1, 1)]


# on     0 1 2 3 4         a carried row is never the last one, also within a maximum
# row    a ? a a
def test_carried_rows_meet_maxima() -> None:
    by_count = matching("a+", max_count=2, missing="carry")
    assert ends_of(by_count.frames(rows_of("a ? a a"), end=True)) == [(0, 0), (2, 3)]
    # A real row after 5 is too far to carry the missing row to the first one.
    by_duration = matching("a+", max_duration=3, missing="carry")
    assert by_duration.frames(rows_of("a ?"), upto=5) == [(0, 0, 0, 1, 0, "final")]


def test_keys_wait_apart() -> None:
    fed = matching("a+ b")
    rows = [*rows_of("a b"), *rows_of("a a", k="b")]
    assert ends_of(fed.frames(rows, upto=2)) == [(0, 1)]
    assert fed.kept == {"keys": 2, "held": 2}
    assert ends_of(fed.frames(rows_of("b", 2, k="b"), upto=3)) == [(0, 2)]


def test_late_rows_count_nowhere_and_rows_wait_for_punctuation() -> None:
    fed = matching("a b")
    assert fed.frames(rows_of("a b"), upto=1) == []
    assert fed.kept == {"keys": 1, "held": 1, "pending": 1}
    assert fed.frames(rows_of("-"), upto=1) == []  # late: 0 was complete
    assert fed.last is not None and fed.last.rows[0].late == 1
    assert ends_of(fed.frames(end=True)) == [(0, 1)]


def test_aggregates_are_those_of_the_rows_of_a_match() -> None:
    fed = matching("a+ b", [COUNT, SUM])
    fed.step(rows_of("- a"), upto=2)
    (found,) = fed.step(rows_of("a b a", 2), upto=5)
    assert (found["r0"], found["r1"]) == (3, 1 + 1 + 2)


# on     0 1 2 3 4 5        a row is due in every slot
# row    a . b a . .
def test_empty_slots_follow_the_missing_policy() -> None:
    def frames(missing: str) -> list[tuple[Any, ...]]:
        fed = matching("a b+", schedule=Schedule(1), missing=missing)
        early = fed.frames(rows_of("a . b a"), upto=4)
        return [*early, *fed.frames(rows_of("-", 8), upto=9), *fed.frames(end=True)]

    assert frames("break") == []
    assert frames("carry") == [(0, 0, 2, 2, 1, "final")]
    assert frames("satisfy") == [(0, 0, 2, 2, 1, "final"), (1, 3, 7, 1, 4, "final")]


def test_too_many_empty_slots_are_an_error_that_says_why() -> None:
    fed = matching("a b+", schedule=Schedule(1), missing="satisfy")
    with pytest.raises(EmptySlotsError, match="with this missing= and with a pattern each of them"):
        fed.frames([*rows_of("a"), *rows_of("a", 20_000_000)], upto=20_000_001)


def test_a_condition_must_be_one() -> None:
    with pytest.raises(UnsupportedTypeError, match=r"pattern\(a, a=is_a\) needs a condition"):
        build(framing_of("a"), inputs([pa.int64()]))


# -- The row before --------------------------------------------------------------------------------


def rising(**properties: Any) -> Feeding:
    """Return frames of rows that rise and then fall, of the column ``v``."""
    texts = {"up": "v > prev.v", "down": "v < prev.v"}
    framing = Framing(Pattern("up+ down+", texts), "on", **properties)
    conditions = []
    for text in texts.values():
        read = parse_with_previous(text)
        assert read is not None
        tree, parts = read
        assert [part.text for part in parts] == ["`v`", "`v`"]
        conditions.append(RowCondition(tree, tuple((part.row, 0) for part in parts)))
    built = build(framing, inputs([pa.int64()], row_conditions=tuple(conditions)))
    return Feeding(_Valued(built))  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Valued(OneInput):
    """An operator that reads the column ``v`` itself."""

    frames: FrameOperator

    def route(self, rows: pa.Table) -> Routed:
        return self.frames.route(rows.append_column("f0", rows["s0"]))

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        return self.frames.step(state, inputs)


def valued(*values: int | None, first: int = 0) -> list[dict[str, Any]]:
    return [{"on": on, "k": "a", "v": value} for on, value in enumerate(values, first)]


def test_the_row_before_is_remembered_across_steps() -> None:
    fed = rising()
    assert fed.frames(valued(1), upto=1) == []
    assert fed.kept == {"keys": 1}  # nothing can match yet, and the value is remembered
    assert fed.frames(valued(2, 3, first=1), upto=3) == []
    assert fed.frames(valued(2, first=3), upto=4) == []
    assert fed.frames(valued(4, first=4), upto=5) == [(0, 1, 3, 3, 0, "final")]
    assert fed.frames(valued(3, first=5), end=True) == [(1, 4, 5, 2, 0, "final")]
    assert fed.kept == {}


def test_a_null_makes_its_row_and_the_next_one_missing() -> None:
    rows = valued(1, 2, None, 3, 2)
    assert rising().frames(rows, end=True) == []
    # The two missing rows are rows of the pattern.
    assert rising(missing="satisfy").frames(rows, end=True) == [(0, 1, 4, 2, 2, "final")]


def test_missing_rows_that_wait_are_read_again_with_the_same_row_before() -> None:
    fed = rising(missing="carry")
    assert fed.frames(valued(1, 2, None), upto=3) == []
    assert fed.kept == {"pending": 1, "keys": 1, "held": 1}
    assert fed.frames(valued(5, first=3), upto=4) == []
    assert fed.frames(valued(4, first=4), end=True) == [(0, 1, 4, 2, 2, "final")]


# -- The automaton ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "steps", "edges"),
    [("a", 1, 1), ("a+ b", 2, 3), ("a{2,4}", 4, 4), ("a{1,500}", 500, 500), ("a{3,}", 3, 4)],
)
def test_a_repetition_adds_few_edges(text: str, steps: int, edges: int) -> None:
    built = automaton(parse_pattern(text), ("a", "b"))
    assert (len(built.bit), len(built.follows)) == (steps, edges)


def test_each_step_knows_how_many_rows_are_left() -> None:
    built = automaton(parse_pattern("a b c+"), ("a", "b", "c"))
    assert built.rows_left.tolist() == [2, 1, 1, 3]
    assert automaton(parse_pattern("a b"), ("a", "b")).rows_left.tolist() == [1, EVER, 2]


# -- Properties ------------------------------------------------------------------------------------

PATTERNS = (
    *("a+", "a b", "a+ b", "a (b+ c)?", "a b? c?", "(a | b c)+", "a{2,3}", "a (b a)* c?"),
    *("(a b?){2,} c", "a b* c | b", "(a | a b) (c | b c)", "c? a+ b?", "(a | b){3}"),
)
WORDS = st.sampled_from(["a", "b", "c", "ab", "bc", "abc", "a", "b", "-", "?"])
LIMITS: tuple[dict[str, Any], ...] = (
    *({}, {}, {"min_count": 3}, {"max_count": 3}, {"min_duration": 2}, {"max_duration": 2}),
    *({"min_count": 3, "max_count": 4}, {"missing": "satisfy"}, {"missing": "carry"}),
    {"missing": "satisfy", "max_count": 4},
)


def expected(framing: Framing, rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    reference = FrameReference(framing, INTEGER, ["k"], reading=_letters)
    names = ("frame_id", "frame_start", "frame_end", "n", "n_missing", "status")
    outcome = reference.run([MicroBatch(list(rows), END)])
    return [tuple(row[name] for name in names) for row in outcome.results]


@st.composite
def streams(draw: st.DrawFn, most: int) -> tuple[str, dict[str, Any], list[str]]:
    """Draw a pattern, its properties, and the rows of each micro-batch."""
    text, limits = draw(st.sampled_from(PATTERNS)), draw(st.sampled_from(LIMITS))
    tree = parse_pattern(text)
    if tree.most is not None and limits.get("min_count", 0) > tree.most:
        limits = {}
    words = draw(st.lists(WORDS, max_size=most))
    cuts = sorted(draw(st.lists(st.integers(0, len(words)), max_size=4)))
    parts = itertools.pairwise([0, *cuts, len(words)])
    return text, limits, [" ".join(words[low:high]) for low, high in parts]


@examples(1500)
@given(streams(24))
def test_any_split_finds_the_matches_of_the_reference(
    stream: tuple[str, dict[str, Any], list[str]],
) -> None:
    text, limits, lines = stream
    fed, first, found = matching(text, **limits), 0, []
    for line in lines:
        rows = rows_of(line, first)
        first += len(rows)
        found += fed.frames(rows, upto=first)
    found += fed.frames(end=True)
    assert found == expected(framing_of(text, **limits), rows_of(" ".join(lines)))
    assert fed.kept == {}


#: Rows with which streams go on: every sequence of up to three of these words.
FUTURES = [
    " ".join(words)
    for count in range(4)
    for words in itertools.product(("a", "b", "abc", "-"), repeat=count)
]


@examples(120)
@given(streams(7).filter(lambda stream: "missing" not in stream[1]))
def test_matches_are_reported_when_they_are_certain(
    stream: tuple[str, dict[str, Any], list[str]],
) -> None:
    """As soon as the reference finds a match however the stream goes on, and never earlier."""
    text, limits, lines = stream
    framing, fed, came = framing_of(text, **limits), matching(text, **limits), ""
    found: list[tuple[Any, ...]] = []
    for line in lines:
        found += fed.frames(rows_of(line, len(came.split())), upto=len((came + line).split()))
        came = f"{came} {line} "
        futures = [set(expected(framing, rows_of(came + future))) for future in FUTURES]
        assert set(found) == set.intersection(*futures), "not when it was certain"


@examples(500)
@given(st.lists(st.sampled_from(["", "+", "?", "*", "{2}", "{1,3}"]), min_size=3, max_size=3))
def test_greedy_patterns_match_as_in_python(signs: list[str]) -> None:
    """Without groups and alternatives, and with one letter a row, ``re`` finds the same."""
    if all(sign in ("?", "*") for sign in signs):
        signs[0] = "+"
    pairs = [name + sign for name, sign in zip(NAMES, signs, strict=True)]
    letters = "".join(np.random.default_rng(len(str(signs))).choice([*"aabbbccc-"], 400))
    spans = [match.span() for match in re.finditer("".join(pairs), letters)]
    found = matching(" ".join(pairs)).frames(rows_of(" ".join(letters)), end=True)
    assert [(start, end + 1) for start, end in ends_of(found)] == spans


@given(patterns())
def test_drawn_patterns_write_themselves(kind: Pattern) -> None:
    assert parse_pattern(str(kind.tree)) == kind.tree
