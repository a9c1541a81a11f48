"""Filling straight from its definition: every row is compared with every segment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin.reference.windows import Evaluate, Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.fill import Edge, Filling
from muntin.specs.lengths import Length


@dataclass(frozen=True)
class Segment:
    """Bounds to fill, and the result row that has them; a fragment is not ``whole``."""

    result_row: Row
    start: Any
    end: Any
    whole: bool = True


@dataclass(frozen=True)
class FillReference:
    """Fills segments by looking at every row for every segment."""

    filling: Filling
    axis: Axis
    on: str
    edge: Edge
    matches: Callable[[Row, Row], bool]
    where: Callable[[Row], bool] = lambda row: True
    aggregates: Mapping[str, Evaluate] = field(default_factory=dict)
    #: The column that lies along the second attribute, if segments are regions.
    along: str | None = None

    def filling_rows(
        self, segment: Segment, shift: Length | None, rows: Sequence[Row]
    ) -> list[Row]:
        """Return the rows that fill a segment when one of the shifts moves it."""
        low, high = self.bounds(segment, shift)
        return [row for row in rows if self._inside(segment, low, high, row)]

    def _inside(self, segment: Segment, low: Any, high: Any, row: Row) -> bool:
        if not (self.matches(segment.result_row, row) and self.where(row)):
            return False
        value = self._key(row[self.on])
        at_start = value >= low if self.edge.start else value > low
        at_end = value <= high if self.edge.end else value < high
        return bool(at_start and at_end and self._inside_along(segment, row))

    def _inside_along(self, segment: Segment, row: Row) -> bool:
        """Return True if a row lies in the rectangle also along the second attribute."""
        if self.along is None:
            return True
        region = segment.result_row
        return bool(region["along_start"] <= row[self.along] <= region["along_end"])

    def bounds(self, segment: Segment, shift: Length | None) -> tuple[Any, Any]:
        """Return the bounds of filling rows; ``after`` does not apply to a fragment."""
        filling = self.filling
        low = self._moved(segment.start, (filling.before, -1), (filling.shrink, 1), (shift, 1))
        after = filling.after if segment.whole else None
        high = self._moved(segment.end, (after, 1), (filling.shrink, -1), (shift, 1))
        return low, high

    def _key(self, value: Any) -> Any:
        """Return a value in a form that can be compared and moved."""
        if self.axis.domain is Domain.DOUBLE:
            return float(value)
        tick = self.axis.tick(value)
        assert tick is not None  # rows without a place are refused on arrival
        return tick

    def _moved(self, value: Any, *by: tuple[Any, int]) -> Any:
        """Return a value moved by one length after the other; doubles are added as doubles."""
        place = self._key(value)
        for length, sign in by:
            if length is not None:
                ticks = sign * self.axis.length("shift", length)
                place += ticks / 10**self.axis.digits if isinstance(place, float) else ticks
        return place
