"""The zones of a summary: the past in stretches of time, coarser the older they are.

A zone of the first granularity ends when the confidence in its counts falls too low, when it is
long enough, or where a granularity's length ends. Zones that are too old for their granularity are
added together to one of the next [Promising tuples 3.3 and 3.5]. Zones lie side by side from the
first row on, so each row that was not forgotten is in one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import EVER, Ints, Words
from muntin.operators.summaries.cell_counts import (
    CellCounts,
    HashedValues,
    empty_counts,
    unpacked_counts,
)
from muntin.specs.summaries import StreamSummary, ZoneLengths

#: How zones are kept in a state.
ZONES = pa.schema(
    [
        *(("granularity", pa.int64()), ("start", pa.int64()), ("end", pa.int64())),
        *(("last", pa.int64()), ("rows", pa.int64()), ("counts", pa.binary())),
    ]
)


@dataclass
class Zone:
    """The rows with an order from ``start`` to below ``end``; the last zone has no end yet.

    ``last`` is the greatest order of its rows.
    """

    granularity: int
    start: int
    end: int
    last: int
    rows: int
    counts: CellCounts

    def add(self, other: Zone) -> None:
        """Take in the zone that follows."""
        self.end, self.last = other.end, max(self.last, other.last)
        self.rows += other.rows
        self.counts.add(other.counts)


@dataclass
class SummaryZones:
    """The zones of a summary, the oldest first. Rows older than all of them are ``forgotten``."""

    spec: StreamSummary
    lengths: ZoneLengths
    zones: list[Zone] = field(default_factory=list)
    forgotten: int = 0

    @classmethod
    def of_table(
        cls, spec: StreamSummary, lengths: ZoneLengths, table: pa.Table, forgotten: int = 0
    ) -> SummaryZones:
        rows = table.select(ZONES.names).to_pylist()
        zones = [Zone(**{**row, "counts": unpacked_counts(spec, row["counts"])}) for row in rows]
        return cls(spec, lengths, zones, forgotten)

    def table(self) -> pa.Table:
        """Return the zones as they are kept."""
        rows = [
            {
                **{name: getattr(zone, name) for name in ZONES.names[:-1]},
                "counts": zone.counts.packed(),
            }
            for zone in self.zones
        ]
        return pa.Table.from_pylist(rows, ZONES)

    @property
    def starts(self) -> Ints:
        return np.array([zone.start for zone in self.zones], np.int64)

    @property
    def rows(self) -> int:
        return sum(zone.rows for zone in self.zones)

    def summarize(self, order: Ints, hashes: Words) -> None:
        """Add rows, in any order; those of earlier zones are added to these."""
        place = np.argsort(order, kind="stable")
        order, values = order[place], HashedValues.of(hashes[place], self.spec)
        if not self.zones and len(order):
            self._open(int(order[0]))
        elif len(order) and order[0] < self.zones[0].start and not self.forgotten:
            self._open_before(int(order[0]))
        for number in range(len(self.zones) - 1):
            self._add_within(self.zones[number], order, values)
        first = int(np.searchsorted(order, self.zones[-1].start)) if self.zones else 0
        if self.zones:
            self.forgotten += int(np.searchsorted(order, self.zones[0].start))
        while first < len(order):
            first = self._fill(order, values, first)

    def _add_within(self, zone: Zone, order: Ints, values: HashedValues) -> None:
        """Add the rows of a zone that has ended: it stays as it is."""
        first, stop = np.searchsorted(order, (zone.start, zone.end)).tolist()
        zone.rows += stop - first
        if first < stop:
            zone.last = max(zone.last, int(order[stop - 1]))
            zone.counts.summarize(values, order, first, zone.end, all_of_them=True)

    def _fill(self, order: Ints, values: HashedValues, first: int) -> int:
        """Add rows to the last zone, or to a new one if that has to end; return the first left."""
        zone = self.zones[-1]
        at = int(order[first])
        doubted = zone.rows > 0 and at > zone.last and zone.counts.confidence() < self.spec.theta
        start = self.lengths.begin(zone.start, at, doubted=doubted)
        if start > zone.start:
            zone.end = start
            zone = self._open(start)
        lengths = self.lengths
        block = (zone.start // lengths.whole + 1) * lengths.whole
        stop = min(block, zone.start + lengths.longest)
        early = min(stop, zone.start + lengths.least)
        # Before it has its least length a zone does not end, whatever the confidence.
        young = at < early
        end = zone.counts.summarize(
            values, order, first, early if young else stop, all_of_them=young
        )
        zone.rows += end - first
        zone.last = max(zone.last, int(order[end - 1]))
        return end

    def _open(self, start: int) -> Zone:
        zone = Zone(1, start, EVER, start, 0, empty_counts(self.spec))
        self.zones.append(zone)
        return zone

    def _open_before(self, start: int) -> None:
        """Open a zone before the first one, which nothing was older than so far."""
        first = self.zones[0]
        zone = Zone(first.granularity, start, first.start, start, 0, empty_counts(self.spec))
        self.zones.insert(0, zone)

    def collapse(self, now: int) -> None:
        """Move what is too old for its granularity to the next one, and forget the oldest."""
        for granularity in range(1, self.lengths.depth + 1):
            cut = now - self.lengths.span(granularity)
            for zone in [zone for zone in self.zones if zone.granularity == granularity]:
                if zone.end > cut:
                    break
                self._move(zone)

    def _move(self, zone: Zone) -> None:
        at = next(place for place, own in enumerate(self.zones) if own is zone)
        zone.granularity += 1
        if zone.granularity > self.lengths.depth:
            self.forgotten += zone.rows
            del self.zones[at]
            return
        before = self.zones[at - 1] if at else None
        length = self.lengths.zone(zone.granularity)
        if before is None or before.granularity != zone.granularity:
            return
        if before.start // length == zone.start // length:
            before.add(zone)
            del self.zones[at]

    def estimates(self, values: HashedValues, among: Sequence[int] | None = None) -> Ints:
        """Return for each zone about how often each value came in it, pruned by levels.

        Zones are added in pairs, pairs in pairs, and so on. Where the estimate of a level is 0, no
        zone below it is looked at [Promising tuples 3.4].
        """
        found = np.zeros((len(self.zones), len(values.hashes)), np.int64)
        of = range(len(self.zones)) if among is None else among
        for granularity in {self.zones[place].granularity for place in of}:
            places = [place for place in of if self.zones[place].granularity == granularity]
            self._descend(places, values, np.arange(len(values.hashes)), found)
        return found

    def _descend(
        self, places: Sequence[int], values: HashedValues, asked: Ints, found: Ints
    ) -> CellCounts:
        """Estimate values in neighbouring zones, and return the counts of all of these zones."""
        if len(places) == 1:
            counts = self.zones[places[0]].counts
            found[places[0], asked] = counts.estimate(values.of_rows(asked, self.spec))
            return counts
        together = empty_counts(self.spec)
        for place in places:
            together.add(self.zones[place].counts)
        likely = asked[together.estimate(values.of_rows(asked, self.spec)) > 0]
        if len(likely):
            half = len(places) // 2
            self._descend(places[:half], values, likely, found)
            self._descend(places[half:], values, likely, found)
        return together
