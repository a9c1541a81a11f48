"""Frames of dense rows: unions of windows, and clusters rare by chance [Frames, appendix H]."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext

from muntin.reference.frames.conditions import compares
from muntin.reference.frames.places import LocalConditions, OnNumbers, RowPlace
from muntin.reference.windows import Evaluate
from muntin.specs.frames.row_kinds import Cluster, Density

#: Enough digits for any chance that a test compares, however small; exponents have no bound here.
_DIGITS = 50


def in_stretches(
    kind: Density, aggregate: Evaluate, measure: OnNumbers, places: Sequence[RowPlace]
) -> list[RowPlace]:
    """The places, each with the stretch of satisfying windows it lies in, or none, as reading."""
    per = measure.length(kind.per)
    stretches: list[tuple[object, object]] = []  # (start, end], in order and apart
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
    """Stretches of rows that chance would rarely bring, the least likely of those that overlap."""
    found = []
    for first, last in itertools.combinations(range(len(places)), 2):
        rows = tuple(places[first : last + 1])
        if local.met(rows):
            chance = by_chance(kind, local, rows)
            if chance < Decimal(kind.p):
                # Nearly equal chances tie, whatever arithmetic they were computed with.
                found.append((round(chance.log10(), 9), -len(rows), first, rows))
    taken: set[int] = set()
    for *_, rows in sorted(found, key=lambda cluster: cluster[:3]):
        indices = {place.index for place in rows}
        if not indices & taken:
            taken |= indices
            yield rows


def by_chance(kind: Cluster, local: LocalConditions, rows: Sequence[RowPlace]) -> Decimal:
    """``P(N >= k - 1)`` for k rows, N Poisson: the rows behind the first in their duration."""
    with localcontext() as context:
        context.prec = _DIGITS
        duration = Decimal(local.duration(rows))
        mean = Decimal(kind.rate) * duration / Decimal(local.measure.length(kind.per))
        count = len(rows) - 1
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
