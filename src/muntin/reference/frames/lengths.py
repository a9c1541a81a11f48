"""How long frames are: whole ticks of the axis, or double arithmetic on a double column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from muntin.reference.frames.places import RowPlace
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Trend
from muntin.specs.lengths import Length


@dataclass(frozen=True)
class OnNumbers:
    """Values of ``on`` as numbers that can be subtracted, and lengths as their differences."""

    axis: Axis

    def at(self, value: Any) -> Any:
        """Where a value lies."""
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
    """What a frame must meet on its own: how long it lasts and how many rows [Frames 4.1]."""

    framing: Framing
    measure: OnNumbers

    def reach(self, places: Sequence[RowPlace]) -> Any:
        """Up to where places hold."""
        return max((place.held_until for place in places), key=self.measure.at)

    def end(self, places: Sequence[RowPlace]) -> Any:
        """Where a frame of these places ends, before any widening.

        Frames that share no row share no time either: a row that holds beyond the one behind the
        frame does not take the frame there.
        """
        reach, behind = self.reach(places), places[-1].behind
        if self.framing.readings != "interval" or self.framing.overlapping or behind is None:
            return reach
        return min(reach, behind, key=self.measure.at)

    def end_so_far(self, places: Sequence[RowPlace], known: Any = None) -> Any:
        """Where an open frame ends at the least, if its next place is not before ``known``."""
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
        """Whether the minimum is met by a frame that ends there."""
        framing = self.framing
        if isinstance(framing.kind, Trend) and sum(place.real for place in places) < 2:
            return False
        if framing.min_count is not None and len(places) < framing.min_count:
            return False
        if framing.min_duration is None:
            return True
        lasted = self.measure.distance(places[0].on, end)
        return bool(lasted >= self.measure.length(framing.min_duration))

    def beyond(self, places: Sequence[RowPlace], end: Any) -> bool:
        """Whether a maximum is exceeded by a frame that ends there."""
        framing = self.framing
        if framing.max_count is not None and len(places) > framing.max_count:
            return True
        if framing.max_duration is None:
            return False
        lasted = self.measure.distance(places[0].on, end)
        return bool(lasted > self.measure.length(framing.max_duration))
