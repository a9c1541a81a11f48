"""Places of a key along ``on``: its rows, and places without one [Frames, appendix C]."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muntin.errors import TieError
from muntin.reference.windows import Key, Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.schemes import Schedule
from muntin.specs.lengths import Length

#: The most slots that a key may have here, because each becomes a place in memory.
MOST_SLOTS = 1_000_000


@dataclass(frozen=True)
class RowPlace:
    """A row, or a place where one is missing.

    ``reading`` is the value that the kind reads from the row, ``held_until`` the end up to which
    the row holds, ``index`` its number among the places of its key, and ``next_value`` the ``on``
    of the next place. A gap exists only inside a frame and has the index of the place before it.
    """

    index: int
    on: Any
    row: Row | None
    reading: Any
    real: bool
    held_until: Any
    next_value: Any = None


@dataclass(frozen=True)
class Layout:
    """How the rows of a key become its places."""

    framing: Framing
    axis: Axis
    reading: Callable[[Row], Any]
    until: Callable[[Row], Any]
    along: Callable[[Row], Any] | None
    tie: Callable[[Row], Any]
    combine: Callable[[Sequence[Row]], Row]
    reading_after: Callable[[Row | None, Row], Any] | None = None

    def one_each(self, key: Key, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
        """Return the rows in order, one for each spot, and those that lost a tie."""
        spots: dict[Any, list[Row]] = {}
        for row in rows:
            spots.setdefault(self._spot(row), []).append(row)
        kept: list[Row] = []
        left_out: list[Row] = []
        for spot in sorted(spots):
            tied = spots[spot]
            if len(tied) > 1 and self.framing.ties == "refuse":
                left_out += tied
                continue
            row = self._only(key, tied)
            kept.append(row)
            if self.framing.ties in ("first", "last"):
                left_out += [other for other in tied if other is not row]
        return kept, left_out

    def _spot(self, row: Row) -> Any:
        """Return the spot that only one row may have: a value of ``on``, a slot, or a cell."""
        on = row[self.framing.on]
        if self.framing.schedule is not None:
            return self._slot(self.framing.schedule, on)
        if self.along is not None:
            return (on, self.along(row))
        return on

    def _only(self, key: Key, tied: Sequence[Row]) -> Row:
        on = self.framing.on
        if len(tied) == 1:
            return tied[0]
        # In a slot rows have different ``on``, which decides if the tie order does not.
        tied = sorted(tied, key=lambda row: row[on])
        match self.framing.ties:
            case "fail":
                raise TieError(key, tied[1][on])
            case "first":
                return min(tied, key=self.tie)
            case "last":
                return max(reversed(tied), key=self.tie)
            case _:
                # Rows of a slot may have different ``on``; the combined row has the first.
                return {**self.combine(tied), on: min(row[on] for row in tied)}

    def places(self, rows: Sequence[Row], largest: int, complete: int | None) -> list[RowPlace]:
        """Return places of rows, and of empty slots as far as the input is known to reach.

        ``largest`` is the largest tick of the whole input, ``complete`` the punctuation.
        """
        if not rows:  # all rows of the key were refused
            return []
        if self.reading_after is not None:
            read = _reading_after(self.reading_after, rows)
            return replace(self, reading=read, reading_after=None).places(rows, largest, complete)
        if self.framing.schedule is None:
            laid = [self._place(row[self.framing.on], row) for row in rows]
        else:
            laid = self._slots(self.framing.schedule, rows, largest, complete)
        placed = [replace(place, index=index) for index, place in enumerate(laid)]
        pairs = itertools.pairwise(placed)
        placed = [*(replace(place, next_value=after.on) for place, after in pairs), *placed[-1:]]
        if self.framing.readings != "until_next":
            return placed
        known = self.axis.value(largest if complete is None else max(largest, complete))
        # The last row holds as far as the input is known to reach.
        last = placed[-1].on if placed[-1].on > known else known
        return [
            replace(place, held_until=last if place.next_value is None else place.next_value)
            for place in placed
        ]

    def _slots(
        self, schedule: Schedule, rows: Sequence[Row], largest: int, complete: int | None
    ) -> list[RowPlace]:
        period, start = schedule.period(self.axis), schedule.start(self.axis)
        due: Mapping[int, Row] = {self._slot(schedule, row[self.framing.on]): row for row in rows}
        last = (largest - start) // period
        if complete is not None:
            last = max(last, (complete - start) // period - 1)
        slots = range(min(due), max(last, *due) + 1)
        if len(slots) > MOST_SLOTS:
            raise ValueError(
                f"the rows of a key spread over {len(slots):,} slots of the schedule, and the "
                f"reference lays out each of them, at most {MOST_SLOTS:,}; use rows that are closer"
            )
        return [
            self._place(due[slot][self.framing.on], due[slot])
            if slot in due
            else self._place(self.axis.value(start + slot * period), None)
            for slot in slots
        ]

    def _slot(self, schedule: Schedule, on: Any) -> int:
        tick = self.axis.tick(on)
        assert tick is not None  # rows without a place on the axis are refused on arrival
        return (tick - schedule.start(self.axis)) // schedule.period(self.axis)

    def _place(self, on: Any, row: Row | None) -> RowPlace:
        reading = None if row is None else self.reading(row)
        always = row is not None and not self.framing.kind.null_is_missing
        read = reading is not None and reading == reading  # NaN is no value
        held = self.until(row) if row is not None and self.framing.readings == "interval" else on
        return RowPlace(0, on, row, reading, always or read, held)


def _reading_after(
    read: Callable[[Row | None, Row], Any], rows: Sequence[Row]
) -> Callable[[Row], Any]:
    """Return the reading of each of these rows, given the row before it; the first has none."""
    before = dict(zip(map(id, rows), [None, *rows], strict=False))
    return lambda row: read(before[id(row)], row)


def gap_before(
    place: RowPlace, held: Sequence[RowPlace], at: Callable[[Any], Any]
) -> list[RowPlace]:
    """Return the missing row between the end of the rows held so far and a place, if any."""
    if not held:
        return []
    reach = max((other.held_until for other in held), key=at)
    if at(place.on) <= at(reach):
        return []
    return [RowPlace(place.index - 1, reach, None, None, False, place.on, place.on)]


@dataclass(frozen=True)
class OnNumbers:
    """Values of ``on`` as numbers that can be subtracted, and lengths as their differences."""

    axis: Axis

    def at(self, value: Any) -> Any:
        """Return the number of a value."""
        if self.axis.domain is Domain.DOUBLE:
            return value
        tick = self.axis.tick(value)
        assert tick is not None  # rows without a place on the axis are refused on arrival
        return tick

    def length(self, length: Length) -> Any:
        ticks = self.axis.length("length", length)
        return ticks / 10**self.axis.digits if self.axis.domain is Domain.DOUBLE else ticks

    def distance(self, start: Any, end: Any) -> Any:
        return self.at(end) - self.at(start)


@dataclass(frozen=True)
class LocalConditions:
    """The conditions on a single frame: how long it lasts and how many rows it has [Frames 4.1]."""

    framing: Framing
    measure: OnNumbers

    def reach(self, places: Sequence[RowPlace]) -> Any:
        """Return the end up to which places hold."""
        return max((place.held_until for place in places), key=self.measure.at)

    def end(self, places: Sequence[RowPlace]) -> Any:
        """Return where a frame of these places ends, before liberal bounds widen it.

        Frames that share no row share no time either. So if a row holds beyond the next row, the
        frame ends at the next row.
        """
        reach, next_on = self.reach(places), places[-1].next_value
        if self.framing.readings != "interval" or self.framing.overlapping or next_on is None:
            return reach
        return min(reach, next_on, key=self.measure.at)

    def least_end(self, places: Sequence[RowPlace]) -> Any:
        """Return the least end that a frame of these places has, whatever comes after them."""
        if self.framing.readings == "interval" and self.framing.overlapping:
            return self.reach(places)
        return places[-1].on

    def end_so_far(self, places: Sequence[RowPlace], known: Any = None) -> Any:
        """Return the least end of an open frame if its next place is not before ``known``."""
        last = places[-1].on
        if known is None or self.framing.readings == "point":
            return last
        sure = max(last, known, key=self.measure.at)
        if self.framing.readings == "until_next":
            return sure
        return min(sure, self.reach(places), key=self.measure.at)

    def duration(self, places: Sequence[RowPlace]) -> Any:
        return self.measure.distance(places[0].on, self.end(places))

    def met(self, places: Sequence[RowPlace]) -> bool:
        end = self.end(places)
        return self.at_least(places, end) and not self.beyond(places, end)

    def at_least(self, places: Sequence[RowPlace], end: Any) -> bool:
        """Return True if a frame that ends there meets its minima."""
        framing = self.framing
        if sum(place.real for place in places) < framing.kind.least_rows:
            return False
        if framing.min_count is not None and len(places) < framing.min_count:
            return False
        if framing.min_duration is None:
            return True
        lasted = self.measure.distance(places[0].on, end)
        return bool(lasted >= self.measure.length(framing.min_duration))

    def beyond(self, places: Sequence[RowPlace], end: Any) -> bool:
        """Return True if a frame that ends there exceeds a maximum."""
        framing = self.framing
        if framing.max_count is not None and len(places) > framing.max_count:
            return True
        if framing.max_duration is None:
            return False
        lasted = self.measure.distance(places[0].on, end)
        return bool(lasted > self.measure.length(framing.max_duration))
