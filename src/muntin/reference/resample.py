"""Resampling straight from its definition: every row is compared with every instant."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muntin.reference.windows import Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.join import comparable
from muntin.specs.resample import Resampling


@dataclass(frozen=True)
class ResampleReference:
    """Resamples rows that were in time; of rows in one place the greatest by ``ties`` counts.

    ``linear`` are the columns that are interpolated; all others have the value at or before the
    instant.
    """

    spec: Resampling
    axis: Axis
    on: str
    by: Sequence[str]
    columns: Sequence[str]
    linear: Sequence[str] = ()
    ties: Sequence[str] = ()

    def run(self, rows: Sequence[Row], instants: Sequence[Row] | None = None) -> list[Row]:
        """Return a row for each instant of a key; the instants may be those of another stream."""
        results: list[Row] = []
        keyed_rows = rows if instants is None else instants
        for key in dict.fromkeys(self._key(row) for row in keyed_rows):
            places = self._places([row for row in rows if self._key(row) == key])
            if instants is None:
                wanted = list(self._grid(places))
            else:
                wanted = sorted({self._at(row) for row in instants if self._key(row) == key})
            names = dict(zip(self.by, key, strict=True))
            results += [{**names, **self._made(instant, places)} for instant in wanted]
        return results

    def _places(self, rows: Sequence[Row]) -> dict[Any, Row]:
        """Return one row for each place, in order."""
        ordered = sorted(rows, key=lambda row: (self._at(row), self._ties(row)))
        return {self._at(row): row for row in ordered}

    def _grid(self, places: Mapping[Any, Row]) -> Iterator[Any]:
        """Yield the instants from the first row of a key to its last."""
        laid = self.spec.grid(self.axis)
        assert laid is not None  # without a grid the instants are an argument
        first, last = min(places), max(places)
        number = math.floor((self._tick(first) - laid.origin) / laid.every) - 1
        while (at := self._value(laid.origin + number * laid.every)) <= last:
            if at >= first:
                yield at
            number += 1

    def _made(self, at: Any, places: Mapping[Any, Row]) -> Row:
        before = max((place for place in places if place <= at), default=None)
        after = min((place for place in places if place >= at), default=None)
        far = self.spec.max_gap
        limit = math.inf if far is None else self._length(self.axis.length("max_gap", far))
        result: dict[str, Any] = {"at": at, "gap": True, **dict.fromkeys(self.columns)}
        if self.spec.how == "linear":
            if before is None or after is None or after - before > limit:
                return result
            return result | {"gap": False} | self._line(at, before, after, places)
        used = before
        if self.spec.how == "nearest" and after is not None:
            used = after if before is None or after - at < at - before else before
        if used is None or abs(at - used) > limit:
            return result
        return result | {"gap": False} | {name: places[used][name] for name in self.columns}

    def _line(self, at: Any, before: Any, after: Any, places: Mapping[Any, Row]) -> dict[str, Any]:
        values = {name: places[before][name] for name in self.columns}
        for name in self.linear:
            low, high = places[before][name], places[after][name]
            if before == after:
                values[name] = None if low is None else float(low)
            elif low is None or high is None:
                values[name] = None
            else:
                share = float(at - before) / float(after - before)
                values[name] = float(low) + (float(high) - float(low)) * share
        return values

    def _key(self, row: Row) -> tuple[Hashable, ...]:
        return tuple(row[name] for name in self.by)

    def _at(self, row: Row) -> Any:
        return comparable(self.axis, row[self.on])

    def _tick(self, place: Any) -> int:
        scale = 10**self.axis.digits if isinstance(place, float) else 1
        tick: int = math.floor(place * scale)
        return tick

    def _value(self, tick: int) -> Any:
        return comparable(self.axis, self.axis.value(tick))

    def _length(self, ticks: int) -> Any:
        return ticks / 10**self.axis.digits if self.axis.domain is Domain.DOUBLE else ticks

    def _ties(self, row: Row) -> tuple[Any, ...]:
        values = [row[name] for name in self.ties]
        return tuple((value is None, 0 if value is None else value) for value in values)
