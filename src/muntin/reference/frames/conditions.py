"""The condition of each kind, over the real rows of a frame [Frames 4.3]."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from muntin.reference.frames.places import RowPlace
from muntin.reference.windows import Evaluate
from muntin.specs.frames.frame_kind import FrameKind, Sign
from muntin.specs.frames.kinds import Boundary, Crossing, Delta, Threshold, Trend
from muntin.specs.frames.row_kinds import Density

#: Whether a frame with these real rows, in order, is as its kind asks.
Condition = Callable[[Sequence[RowPlace]], bool]

_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def condition(kind: FrameKind, aggregate: Evaluate | None) -> Condition:
    """Holds throughout a maximal frame, and first at the last row of a minimal one."""
    match kind:
        case Threshold():
            return lambda places: all(place.reading for place in places)
        case Boundary():
            return lambda places: all(place.reading == places[0].reading for place in places)
        case Density():
            # What is read of a row here is which stretch of satisfying windows it lies in.
            return lambda places: (
                places[0].reading is not None
                and all(place.reading == places[0].reading for place in places)
            )
        case Delta():
            return lambda places: _within(kind, [place.reading for place in places])
        case Trend():
            return lambda places: all(
                _related(kind, before.reading, after.reading)
                for before, after in itertools.pairwise(places)
            )
        case Crossing():
            assert aggregate is not None, "frames by an aggregate need one"
            return lambda places: compares(
                aggregate([place.row for place in places if place.row is not None]),
                kind.sign,
                kind.limit,
            )
        case _:
            raise NotImplementedError(f"{kind.label} has no condition over its rows")


def compares(value: Any, sign: Sign, limit: Decimal) -> bool:
    """Whether a value lies so to a limit; null and NaN do not, doubles meet the nearest double."""
    if value is None:
        return False
    return bool(_SIGNS[sign](value, float(limit) if isinstance(value, float) else limit))


def _within(kind: Delta, values: Sequence[Any]) -> bool:
    """``max - min < size`` of a maximal frame, ``> size`` of a minimal one."""
    if kind.against == "first":
        apart = [abs(_minus(value, values[0])) for value in values[1:]]
    else:
        apart = [_minus(max(values), min(values))] if len(values) > 1 else []
    if kind.span == "minimal":
        return any(compares(distance, ">", kind.size.value) for distance in apart)
    return all(compares(distance, "<", kind.size.value) for distance in apart)


def _minus(value: Any, other: Any) -> Any:
    """A difference; fractions, because Decimal arithmetic rounds at 28 digits."""
    return value - other if isinstance(value, float) else Fraction(value) - Fraction(other)


def _related(kind: Trend, before: Any, after: Any) -> bool:
    if kind.direction == "flat":
        return bool(after == before)
    if after == before:
        return not kind.strict
    return bool(after > before) == (kind.direction == "increasing")
