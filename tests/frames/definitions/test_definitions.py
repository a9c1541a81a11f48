"""Definitions 2 to 4 and the paper's notes on them [Frames 4.1 and 4.3.1], on random rows.

The reference walks; here intervals of rows are enumerated and kept or not as the definitions say.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.kinds import Boundary, Crossing, Delta, Threshold, Trend, TrendRuns
from muntin.specs.frames.row_kinds import Density
from muntin.specs.frames.schemes import Scheme, adjacent, cover, schedule
from muntin.specs.lengths import Number
from tests.frames.definitions.timelines import framed, rows_of, spans

Interval = tuple[int, int]

FEW = settings(max_examples=300, deadline=None)
TRUTHS = st.lists(st.booleans(), max_size=9)
GAPPED = st.lists(st.sampled_from([True, False, None]), max_size=9)
VALUES = st.lists(st.integers(0, 9), max_size=8)
SIZES = st.integers(1, 9)
#: Kinds that have a minimal or maximal frame from every row, with their condition on values.
Judged = tuple[FrameKind, Callable[[Sequence[int]], bool]]


def intervals(count: int) -> list[Interval]:
    """Return the possible frames of Definition 2."""
    return [(s, e) for s in range(count) for e in range(s, count)]


def candidates(values: Sequence[Any], holds: Callable[[Sequence[Any]], bool]) -> list[Interval]:
    """Return those for which the local condition of Definition 3 is true."""
    return [(s, e) for s, e in intervals(len(values)) if holds(values[s : e + 1])]


def maximal(found: Sequence[Interval]) -> list[Interval]:
    """Return the frames of Definition 4: the global condition is that a frame lies in no other."""
    return [
        (s, e)
        for s, e in found
        if not any(a <= s and e <= b and (a, b) != (s, e) for a, b in found)
    ]


# -- Kinds whose candidates are closed under union -------------------------------------------------


@given(TRUTHS, st.integers(1, 3))
@FEW
def test_threshold_frames_are_the_maximal_candidates(values: list[bool], least: int) -> None:
    found = maximal(candidates(values, all))
    assert spans(framed(Threshold("x"), rows_of(values))) == found
    long = [(s, e) for s, e in found if e - s + 1 >= least]
    assert spans(framed(Threshold("x"), rows_of(values), min_count=least)) == long
    assert (
        spans(framed(Threshold("x"), rows_of(values), longest=True))
        == sorted(found, key=lambda frame: frame[0] - frame[1])[:1]
    )


@given(TRUTHS)
@FEW
def test_the_union_of_overlapping_threshold_candidates_is_a_candidate(values: list[bool]) -> None:
    found = candidates(values, all)
    for (s, e), (a, b) in itertools.combinations(found, 2):
        if s <= b and a <= e:
            assert (min(s, a), max(e, b)) in found


@given(st.lists(st.integers(0, 2), max_size=9))
@FEW
def test_boundary_frames_are_the_maximal_candidates_and_leave_no_row_out(values: list[int]) -> None:
    found = spans(framed(Boundary("x"), rows_of(values)))
    assert found == maximal(candidates(values, lambda xs: len(set(xs)) == 1))
    assert [on for s, e in found for on in range(s, e + 1)] == list(range(len(values)))


@given(
    st.lists(st.integers(0, 3), max_size=9),
    st.sampled_from(["increasing", "decreasing", "flat"]),
    st.booleans(),
)
@FEW
def test_trends_are_the_maximal_candidates(values: list[int], direction: str, strict: bool) -> None:
    def holds(xs: Sequence[int]) -> bool:
        steps = [b - a for a, b in itertools.pairwise(xs)]
        if direction == "flat":
            return len(xs) > 1 and not any(steps)
        up = 1 if direction == "increasing" else -1
        return len(xs) > 1 and all(up * step >= strict for step in steps)

    found = spans(framed(Trend("x", direction, strict), rows_of(values)))
    assert found == maximal(candidates(values, holds))


@given(st.lists(st.integers(0, 2), max_size=9))
@FEW
def test_runs_of_any_direction_leave_no_row_out(values: list[int]) -> None:
    """A row has the direction of the step to it, a first row that of the second."""
    steps = [(b > a) - (b < a) for a, b in itertools.pairwise(values)]
    directions = [*steps[:1], *steps] if len(values) > 1 else [None] * len(values)
    found = framed(TrendRuns("x"), rows_of(values))
    assert spans(found) == maximal(candidates(directions, lambda xs: len(set(xs)) == 1))
    words = {1: "increasing", -1: "decreasing", 0: "flat", None: None}
    named = [words[directions[row["frame_start"]]] for row in found.results]
    assert [row["direction"] for row in found.results] == named


@given(GAPPED, st.booleans())
@FEW
def test_missing_rows_of_a_threshold_by_definition(values: list[bool | None], empty: bool) -> None:
    """Candidates hold true and missing rows; they begin, and if carried also end, with a true one.

    Whether a missing row is there without its value or an empty slot makes no difference, but
    slots before the first row are not missing, and those behind the last reach as far as `on`.
    """
    assume(not empty or values[-1:] != [None])
    given_rows = [row for row in rows_of(values) if not empty or row["x"] is not None]

    def policy(missing: str) -> list[Interval]:
        return spans(framed(Threshold("x"), given_rows, missing=missing, schedule=schedule(1)))

    def not_false(xs: Sequence[bool | None]) -> bool:
        return xs[0] is True and False not in xs

    assert policy("break") == maximal(candidates(values, lambda xs: all(x is True for x in xs)))
    assert policy("satisfy") == maximal(candidates(values, not_false))
    assert policy("carry") == maximal(
        candidates(values, lambda xs: not_false(xs) and xs[-1] is True)
    )


# -- Minimal and maximal frames from every row -----------------------------------------------------


def spread(values: Sequence[int]) -> int:
    return max(values) - min(values)


@st.composite
def judged(draw: st.DrawFn, span: str) -> Judged:
    """Return a delta, or an aggregate that grows with every row."""
    size = draw(SIZES)
    if draw(st.booleans()):
        against = draw(st.sampled_from(["range", "first"]))

        def apart(xs: Sequence[int]) -> int:
            return spread(xs) if against == "range" else max(abs(x - xs[0]) for x in xs)

        kind: FrameKind = Delta("x", size, against=against, span=span)
        if span == "minimal":
            return kind, lambda xs: apart(xs) > size
        return kind, lambda xs: apart(xs) < size
    sign = draw(st.sampled_from(["<", "<="] if span == "maximal" else [">", ">="]))
    kind = Crossing("sum(x)", sign, Decimal(size))
    holds: dict[str, Callable[[Sequence[int]], bool]] = {
        "<": lambda xs: sum(xs) < size,
        "<=": lambda xs: sum(xs) <= size,
        ">": lambda xs: sum(xs) > size,
        ">=": lambda xs: sum(xs) >= size,
    }
    return kind, holds[sign]


def from_every_row(values: Sequence[int], judging: Judged) -> list[Interval]:
    """Return the shortest, or the longest, of the candidates from each row."""
    kind, holds = judging
    found = candidates(values, holds)
    best = min if kind.span == "minimal" else max
    starts = sorted({s for s, _ in found})
    return [best((frame for frame in found if frame[0] == s), key=lambda f: f[1]) for s in starts]


SPANS = st.sampled_from(["minimal", "maximal"])


@given(VALUES, SPANS.flatmap(judged))
@FEW
def test_every_c_is_the_shortest_or_longest_candidate_from_its_row(
    values: list[int], judging: Judged
) -> None:
    found = spans(framed(judging[0], rows_of(values), scheme="unconstrained"))
    assert found == from_every_row(values, judging)


@given(VALUES, SPANS.flatmap(judged), st.integers(1, 4), st.integers(0, 4), st.integers(4, 8))
@FEW
def test_every_c_meets_the_whole_local_condition(
    values: list[int], judging: Judged, fewest: int, shortest: int, most: int
) -> None:
    """Definition 3 with a count and a duration: a minimal frame grows until all of it holds."""
    kind, holds = judging
    limits = {"min_count": fewest, "min_duration": shortest or None, "max_count": most}

    def has_limits(xs: Sequence[int]) -> bool:
        return fewest <= len(xs) <= most and len(xs) - 1 >= shortest

    def whole(xs: Sequence[int]) -> bool:
        return holds(xs) and has_limits(xs)

    found = spans(framed(kind, rows_of(values), scheme="unconstrained", **limits))
    if kind.span == "minimal":
        assert found == from_every_row(values, (kind, whole))
    else:
        longest = from_every_row(values, judging)
        assert found == [(s, e) for s, e in longest if has_limits(values[s : e + 1])]


@given(VALUES, SPANS.flatmap(judged))
@FEW
def test_no_frame_from_a_later_start_properly_contains_one_from_an_earlier(
    values: list[int], judging: Judged
) -> None:
    found = spans(framed(judging[0], rows_of(values), scheme="unconstrained"))
    for earlier, later in itertools.combinations(found, 2):
        assert earlier[0] < later[0]
        if getattr(judging[0], "against", "range") == "range":
            # What holds for more rows holds for fewer, so ends never move back either:
            # a frame lies in another only if both end with the same row.
            assert earlier[1] <= later[1]


@given(VALUES, SPANS.flatmap(judged), st.integers(0, 3))
@FEW
def test_what_is_reported_later_contains_nothing_reported_before(
    values: list[int], judging: Judged, overlap: int
) -> None:
    """Frames by their numbers, not sorted here: a later one neither starts nor lies around."""
    for scheme in (Scheme("advancing"), cover(), adjacent(overlap), Scheme("unconstrained")):
        told = framed(judging[0], rows_of(values), scheme=scheme).results
        found = [(row["frame_start"], row["frame_end"]) for row in told]
        assert [row["frame_id"] for row in told] == list(range(len(told)))
        for earlier, later in itertools.combinations(found, 2):
            assert not (later[0] <= earlier[0] and earlier[1] <= later[1])
        if scheme.name == "advancing":
            # None of these lies in another at all.
            assert all(a[1] < b[1] for a, b in itertools.pairwise(found))


POLICIES = ("close", "drop", "continue")


@given(
    VALUES,
    SPANS.flatmap(judged),
    st.sets(st.integers(0, 7)),
    st.sampled_from([None, *POLICIES]),
)
@FEW
def test_starts_given_frames_are_neither_too_short_nor_too_long(
    values: list[int], judging: Judged, starts: set[int], restart: str | None
) -> None:
    """A maximal frame cannot take the next row, and a minimal one cannot lose its last."""
    kind, holds = judging
    if restart is not None:
        kind = _with_starts(kind, restart)
    outcome = framed(kind, rows_of(values), starts=lambda row: row["on"] in starts)
    for s, e in spans(outcome):
        assert restart is None or s in starts
        # Only ``close`` reports a frame that a start ended.
        closed = restart == "close" and e + 1 in starts
        assert holds(values[s : e + 1]) or (closed and kind.span == "minimal")
        if kind.span == "minimal":
            assert s == e or not holds(values[s:e])
        else:
            assert e + 1 == len(values) or closed or not holds(values[s : e + 2])


@given(VALUES, SPANS.flatmap(judged), st.sets(st.integers(0, 7)))
@FEW
def test_a_frame_is_dropped_if_and_only_if_a_start_falls_inside_it(
    values: list[int], judging: Judged, starts: set[int]
) -> None:
    def under(restart: str) -> list[Interval]:
        kind = _with_starts(judging[0], restart)
        return spans(framed(kind, rows_of(values), starts=lambda row: row["on"] in starts))

    def takes_a_start(s: int, e: int) -> bool:
        """Return True if the row after the frame is a start that the frame would have taken."""
        if e + 1 not in starts or e + 1 >= len(values):
            return False
        if judging[0].span == "minimal":
            return not judging[1](values[s : e + 1])
        return judging[1](values[s : e + 2])

    assert under("drop") == [frame for frame in under("close") if not takes_a_start(*frame)]
    whole = dict(under("continue"))
    for s, e in set(under("close")) - set(under("drop")):
        # Up to its own end it would have held a start; a minimal one may never have reached it.
        assert any(s < start <= whole.get(s, len(values)) for start in starts)
        assert whole.get(s, len(values)) > e


def _with_starts(kind: FrameKind, restart: str) -> FrameKind:
    """Return the same kind, with frames only from given rows."""
    if isinstance(kind, Delta):
        return Delta("x", kind.size, kind.against, kind.span, "s", restart)
    assert isinstance(kind, Crossing)
    return Crossing(kind.aggregate, kind.sign, kind.limit, kind.span, "s", restart)


# -- Schemes ---------------------------------------------------------------------------------------


@given(VALUES, SPANS.flatmap(judged), st.integers(0, 3))
@FEW
def test_schemes_by_definition(values: list[int], judging: Judged, overlap: int) -> None:
    every = from_every_row(values, judging)

    def under(scheme: Scheme) -> list[Interval]:
        return spans(framed(judging[0], rows_of(values), scheme=scheme))

    by_start = dict(every)

    def one_by_one(following: Callable[[int, int], int], *, waits: bool) -> list[Interval]:
        """Return frames from the first row that can begin one, then from the row after each."""
        at, found = 0, []
        while at < len(values) and (at in by_start or not waits):
            if at in by_start:
                found.append((at, by_start[at]))
            at = following(at, by_start[at]) if at in by_start else at + 1
        return found

    # A minimal frame that never meets its condition stays open and takes all later rows.
    waits = judging[0].span == "minimal"
    assert under(Scheme("partition")) == one_by_one(lambda start, end: end + 1, waits=waits)
    following = one_by_one(lambda start, end: max(start + 1, end - overlap), waits=False)
    assert under(adjacent(overlap)) == following
    assert under(cover("saturated")) == every

    advancing = under(Scheme("advancing"))
    assert set(advancing) <= set(every)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(advancing))
    for s, e in set(every) - set(advancing):
        pair = [(s, e), *((a, b) for a, b in advancing)]
        assert any(
            (a <= s and e <= b) if judging[0].span == "maximal" else (s <= a and b <= e)
            for a, b in pair[1:]
        )


@given(VALUES, SPANS.flatmap(judged))
@FEW
def test_a_drained_cover_has_the_fewest_frames(values: list[int], judging: Judged) -> None:
    every = from_every_row(values, judging)

    def rows_in(frames: Sequence[Interval]) -> set[int]:
        return {on for s, e in frames for on in range(s, e + 1)}

    drained = spans(framed(judging[0], rows_of(values), scheme=cover()))
    assert rows_in(drained) == rows_in(every)
    for count in range(len(drained)):
        for fewer in itertools.combinations(every, count):
            assert rows_in(fewer) != rows_in(every)


# -- Density ---------------------------------------------------------------------------------------


@given(
    st.dictionaries(st.integers(0, 20), st.integers(0, 4), max_size=8),
    st.integers(1, 5),
    st.integers(0, 8),
)
@FEW
def test_density_is_the_union_of_satisfying_windows(
    volumes: dict[int, int], per: int, limit: int
) -> None:
    dense = [
        v
        for v in sorted(volumes)
        if sum(x for on, x in volumes.items() if v - per < on <= v) > limit
    ]
    # On whole numbers a window (v - per, v] is the points from v - per + 1 to v, and windows touch
    # where no point lies between them.
    points = sorted({point for v in dense for point in range(v - per + 1, v + 1)})
    stretches = [
        [point for _, point in group]
        for _, group in itertools.groupby(enumerate(points), key=lambda pair: pair[1] - pair[0])
    ]
    inside = [[point for point in stretch if point in volumes] for stretch in stretches]
    rows = [{"on": on, "k": "a", "x": x} for on, x in volumes.items()]
    kind = Density("sum(x)", ">", Decimal(limit), Number(Decimal(per)))
    assert spans(framed(kind, rows)) == [(held[0], held[-1]) for held in inside]
