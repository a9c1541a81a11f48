"""How long frames are: whole ticks of the axis, or double arithmetic on a double column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from muntin.semantics.axis import Axis, Domain
from muntin.semantics.framing.kinds import Trend
from muntin.semantics.framing.places import Place
from muntin.semantics.framing.properties import Framing
from muntin.semantics.lengths import Length


@dataclass(frozen=True)
class Measure:
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
    """What a frame must meet on its own: how long it lasts and how many rows it has (4.1)."""

    framing: Framing
    measure: Measure

    def end(self, places: Sequence[Place]) -> Any:
        """Where a frame of these places ends, before any widening."""
        return max((place.held_until for place in places), key=self.measure.at)

    def end_so_far(self, places: Sequence[Place]) -> Any:
        """Where an open frame ends while nobody knows what follows."""
        if self.framing.readings == "until_next":
            return places[-1].on
        return self.end(places)

    def duration(self, places: Sequence[Place]) -> Any:
        return self.measure.distance(places[0].on, self.end(places))

    def met(self, places: Sequence[Place]) -> bool:
        return self.at_least(places, self.end(places)) and not self.beyond(places)

    def at_least(self, places: Sequence[Place], end: Any) -> bool:
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

    def beyond(self, places: Sequence[Place]) -> bool:
        """Whether a maximum is exceeded."""
        framing = self.framing
        if framing.max_count is not None and len(places) > framing.max_count:
            return True
        if framing.max_duration is None:
            return False
        return bool(self.duration(places) > self.measure.length(framing.max_duration))
