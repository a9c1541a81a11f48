"""What each kind of frame means: its condition, or how its frames are found [Frames 4.3].

Most kinds have a condition on the rows of a frame (:data:`CONDITIONS`). A ``between``, a pattern
and the densities [Frames, appendix H] are found in their own way (:data:`OTHERS`). Regions, which
lie on a grid and not on a line, are in :mod:`muntin.reference.frames.regions`.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from muntin.reference.frames.candidates import (
    Candidates,
    Condition,
    Frame,
    Line,
    chosen,
    one_after_another,
)
from muntin.reference.frames.pattern import matches
from muntin.reference.frames.places import LocalConditions, OnNumbers, RowPlace
from muntin.reference.windows import Evaluate
from muntin.specs.frames.frame_kind import FrameKind, Sign
from muntin.specs.frames.kinds import (
    AggregateCondition,
    Between,
    Boundary,
    Crossing,
    Delta,
    Threshold,
    Trend,
    TrendRuns,
)
from muntin.specs.frames.pattern import Pattern
from muntin.specs.frames.row_kinds import Cluster, Density
from muntin.specs.lengths import Number

_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
#: Enough digits for any chance that a test compares, however small.
_DIGITS = 50


def frames_of(kind: FrameKind, line: Line, aggregate: Evaluate | None) -> list[Frame]:
    """Return the frames of a key by ``frame_start``, before the local conditions are checked."""
    if type(kind) in OTHERS:
        return OTHERS[type(kind)](kind, line, aggregate)
    if type(kind) not in CONDITIONS:
        raise NotImplementedError(f"{kind.label} has no condition over its rows")
    return _by_condition(line, CONDITIONS[type(kind)](kind, aggregate))


def _by_condition(line: Line, condition: Condition) -> list[Frame]:
    candidates = Candidates(line, condition)
    if not line.framing.overlapping:
        return list(one_after_another(candidates))
    return [Frame(candidate.places) for candidate in chosen(candidates)]


# -- Conditions over the real rows of a frame ------------------------------------------------------
# A condition holds throughout a maximal frame, and first at the last row of a minimal one.


def _threshold(kind: Threshold, aggregate: Evaluate | None) -> Condition:
    return lambda places: all(place.reading for place in places)


def _boundary(kind: Boundary, aggregate: Evaluate | None) -> Condition:
    return lambda places: all(place.reading == places[0].reading for place in places)


def _delta(kind: Delta, aggregate: Evaluate | None) -> Condition:
    return lambda places: _within(kind, [place.reading for place in places])


def _trend(kind: Trend, aggregate: Evaluate | None) -> Condition:
    return lambda places: all(
        _related(kind, before.reading, after.reading)
        for before, after in itertools.pairwise(places)
    )


def _crossing(kind: Crossing, aggregate: Evaluate | None) -> Condition:
    assert aggregate is not None, "frames by an aggregate need one"
    return lambda places: compares(
        aggregate([place.row for place in places if place.row is not None]),
        kind.sign,
        kind.limit,
    )


def _aggregate_condition(kind: AggregateCondition, aggregate: Evaluate | None) -> Condition:
    assert aggregate is not None, "frames by a condition on aggregates need its truth"
    return lambda places: (
        aggregate([place.row for place in places if place.row is not None]) is True
    )


def compares(value: Any, sign: Sign, limit: Decimal) -> bool:
    """Return True if ``value sign limit`` holds; false for null and NaN. Doubles meet a double."""
    if value is None:
        return False
    return bool(_SIGNS[sign](value, float(limit) if isinstance(value, float) else limit))


def _within(kind: Delta, values: Sequence[Any]) -> bool:
    """Return True if ``max - min < size`` for a maximal frame, or ``> size`` for a minimal one."""
    if kind.against == "first":
        apart = [abs(_minus(value, values[0])) for value in values[1:]]
    else:
        apart = [_minus(max(values), min(values))] if len(values) > 1 else []
    size = kind.size.value if isinstance(kind.size, Number) else Decimal(kind.size.micros)
    if kind.span == "minimal":
        return any(compares(distance, ">", size) for distance in apart)
    return all(compares(distance, "<", size) for distance in apart)


def _minus(value: Any, other: Any) -> Any:
    """Return a difference; of fractions, because Decimal arithmetic rounds at 28 digits.

    That of times is in microseconds.
    """
    if isinstance(value, date):
        return (value - other) // timedelta(microseconds=1)
    return value - other if isinstance(value, float) else Fraction(value) - Fraction(other)


def _related(kind: Trend, before: Any, after: Any) -> bool:
    if kind.direction == "flat":
        return bool(after == before)
    if after == before:
        return not kind.strict
    return bool(after > before) == (kind.direction == "increasing")


def _trend_runs(kind: TrendRuns, line: Line, aggregate: Evaluate | None) -> list[Frame]:
    """Return the runs of one direction; the reading of each place becomes its direction."""
    places = list(line.places)
    before: int | None = None  # the real place before, unless a missing row broke the run
    for index, place in enumerate(line.places):
        if not place.real:
            before = before if line.policy(place) != "break" else None
            continue
        direction = None
        if before is not None:
            direction = _step(line.places[before].reading, place.reading)
            if places[before].reading is None:  # the first row of a run of rows
                places[before] = replace(places[before], reading=direction)
        places[index] = replace(place, reading=direction)
        before = index

    def of_one_direction(run: Sequence[RowPlace]) -> bool:
        return all(place.reading == run[0].reading for place in run)

    return _by_condition(replace(line, places=places), of_one_direction)


def _step(before: Any, after: Any) -> str:
    if after == before:
        return "flat"
    return "increasing" if after > before else "decreasing"


# -- Between ---------------------------------------------------------------------------------------


def _between(kind: Between, line: Line, aggregate: Evaluate | None) -> list[Frame]:
    return list(_from_start_to_end(line, kind))


def _from_start_to_end(line: Line, kind: Between) -> Iterator[Frame]:
    """Yield a frame from each row that starts one, while none is open, to the next end."""
    reached = -1
    for place in line.places:
        if place.index > reached and place.real and place.reading[0]:
            frame, reached = _until_end(line, kind, place)
            if frame.places:
                yield frame


def _until_end(line: Line, kind: Between, first: RowPlace) -> tuple[Frame, int]:
    """Return the frame that opens with a row, and the last place that no other frame may use."""
    with_start, with_end = kind.inclusive in ("both", "start"), kind.inclusive in ("both", "end")
    ends_too = bool(first.reading[1])
    held = [first] if with_start or (with_end and ends_too) else []
    if ends_too:
        return Frame(tuple(held)), first.index
    carried: list[RowPlace] = []
    for place in line.places[first.index + 1 :]:
        for met in line.following(place, [*held, *carried]):
            policy = None if met.real else line.policy(met)
            if policy == "break":
                return Frame(tuple(held), "partial"), met.index
            if policy is not None and not held:
                continue  # a frame does not begin with a missing row
            if policy == "carry":
                carried.append(met)
            elif policy == "satisfy" or not met.reading[1]:
                held, carried = [*held, *carried, met], []
            elif with_end:
                return Frame((*held, *carried, met)), met.index
            else:
                # The row belongs to no frame yet, so it may open one.
                return Frame(tuple(held)), met.index - 1
    return Frame(tuple(held), "partial"), len(line.places)


# -- Pattern ---------------------------------------------------------------------------------------


def _pattern(kind: Pattern, line: Line, aggregate: Evaluate | None) -> list[Frame]:
    return [Frame(places) for places in matches(kind, line)]


# -- Density ---------------------------------------------------------------------------------------


def _density(kind: Density, line: Line, aggregate: Evaluate | None) -> list[Frame]:
    assert aggregate is not None, "density needs an aggregate"
    places = in_stretches(kind, aggregate, line.local.measure, line.places)

    def in_one_stretch(places: Sequence[RowPlace]) -> bool:
        first = places[0].reading
        return first is not None and all(place.reading == first for place in places)

    return _by_condition(replace(line, places=places), in_one_stretch)


def _cluster(kind: Cluster, line: Line, aggregate: Evaluate | None) -> list[Frame]:
    frames = [Frame(rows) for rows in clusters(kind, line.local, line.places)]
    return sorted(frames, key=lambda frame: frame.places[0].index)


def in_stretches(
    kind: Density, aggregate: Evaluate, measure: OnNumbers, places: Sequence[RowPlace]
) -> list[RowPlace]:
    """Return the places; each one's reading is its stretch of satisfying windows, or None."""
    per = measure.length(kind.per)
    stretches: list[tuple[object, object]] = []  # (start, end], in order and disjoint
    for place in places:
        end = measure.at(place.on)
        start = end - per
        rows = [p.row for p in places if start < measure.at(p.on) <= end and p.row is not None]
        if not compares(aggregate(rows), kind.sign, kind.limit):
            continue
        if stretches and start <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))

    def stretch(place: RowPlace) -> int | None:
        at = measure.at(place.on)
        return next((i for i, (start, end) in enumerate(stretches) if start < at <= end), None)

    return [replace(place, reading=stretch(place)) for place in places]


def clusters(
    kind: Cluster, local: LocalConditions, places: Sequence[RowPlace]
) -> Iterator[tuple[RowPlace, ...]]:
    """Yield unlikely stretches of rows; of those that overlap, only the least likely."""
    candidates = []
    for first, last in itertools.combinations(range(len(places)), 2):
        rows = tuple(places[first : last + 1])
        if local.met(rows):
            chance = by_chance(kind, local, rows)
            if chance < Decimal(kind.p):
                # Nearly equal chances tie, whatever arithmetic they were computed with.
                candidates.append((round(chance.log10(), 9), -len(rows), first, rows))
    taken: set[int] = set()
    for *_, rows in sorted(candidates, key=lambda cluster: cluster[:3]):
        indices = {place.index for place in rows}
        if not indices & taken:
            taken |= indices
            yield rows


def by_chance(kind: Cluster, local: LocalConditions, rows: Sequence[RowPlace]) -> Decimal:
    """Return ``P(N >= k - 1)`` for k rows, where Poisson N counts the rows after the first.

    With weights, the rows after the first count by these; null and numbers below zero as 0.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        duration = Decimal(local.duration(rows))
        mean = Decimal(kind.rate) * duration / Decimal(local.measure.length(kind.per))
        count = len(rows) - 1
        if kind.weight is not None:
            count = sum(max(0, place.reading or 0) for place in rows[1:])
        term = (-mean).exp()
        for j in range(1, count + 1):
            term *= mean / j
        total = term
        # Terms grow as long as j is below the mean, and then fall faster and faster.
        for j in itertools.count(count + 1):
            term *= mean / j
            total += term
            if j > mean and term < total.scaleb(-_DIGITS):
                return total
    raise AssertionError("the series ends")


#: The condition of each kind that has one.
CONDITIONS: Mapping[type[FrameKind], Callable[[Any, Evaluate | None], Condition]] = {
    Threshold: _threshold,
    Boundary: _boundary,
    Delta: _delta,
    Trend: _trend,
    Crossing: _crossing,
    AggregateCondition: _aggregate_condition,
}
#: The kinds whose frames are found in their own way.
OTHERS: Mapping[type[FrameKind], Callable[[Any, Line, Evaluate | None], list[Frame]]] = {
    Between: _between,
    TrendRuns: _trend_runs,
    Density: _density,
    Cluster: _cluster,
    Pattern: _pattern,
}
