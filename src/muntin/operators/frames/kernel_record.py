"""A framing in numbers: the record that kernels are asked with."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa

from muntin.kernels.frames import records
from muntin.kernels.frames.kinds import AVERAGE_UNITS
from muntin.operators.frames.kind_columns import KindColumns, is_whole, scale_of
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.frame_kind import FrameKind, Starting
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Between, Crossing, Delta, Trend
from muntin.specs.lengths import Length

#: Fields of the record that a framing sets; the others are 0, or -1 where that means none.
Fields = tuple[tuple[str, int | float], ...]
_KINDS = {
    "threshold": records.THRESHOLD,
    "boundary": records.BOUNDARY,
    "delta": records.DELTA,
    "aggregate": records.AGGREGATE,
    "trend": records.TREND,
    "between": records.BETWEEN,
    "density": records.DENSITY,
    "own": records.OWN,
}
_FUNCTIONS = {
    "count": records.COUNT,
    "count_if": records.COUNT,
    "sum": records.SUM,
    "min": records.MIN,
    "all": records.MIN,
    "max": records.MAX,
    "any": records.MAX,
    "avg": records.AVG,
    "var_samp": records.VAR_SAMP,
    "var_pop": records.VAR_POP,
    "stddev_samp": records.STDDEV_SAMP,
    "stddev_pop": records.STDDEV_POP,
    "first": records.FIRST,
    "last": records.LAST,
    "weighted_avg": records.WEIGHTED,
}
#: The aggregates that kernels know: they need no more than a few numbers.
DECIDING = tuple(_FUNCTIONS)
_SIGNS = {"<": records.LESS, "<=": records.AT_MOST, ">": records.MORE, ">=": records.AT_LEAST}
_DIRECTIONS = {
    "increasing": records.INCREASING,
    "decreasing": records.DECREASING,
    "flat": records.FLAT,
}
_READINGS = {
    "point": records.POINT,
    "until_next": records.UNTIL_NEXT,
    "interval": records.INTERVAL,
}
_RESTARTS = {"close": records.CLOSE, "drop": records.DROP}
_NONE = ("min_count", "max_count", "min_duration", "max_duration", "fragments")


def fields_of(framing: Framing, axis: Axis, reading: KindColumns) -> Fields:
    """The fields of the record for a framing on an axis."""
    made: dict[str, int | float] = {
        "kind": _KINDS.get(framing.kind.word, records.THRESHOLD),
        "minimal": framing.kind.span == "minimal",
        "reading": _READINGS[framing.readings],
        "liberal": framing.bounds == "liberal",
        "cut": framing.cut,
        "doubles": axis.domain is Domain.DOUBLE,
        "every_candidate": framing.overlapping,
    }
    for name in ("min_count", "max_count"):
        made |= {} if getattr(framing, name) is None else {name: getattr(framing, name)}
    lengths = (("min_duration", "min_length"), ("max_duration", "max_length"))
    for name, real in (*lengths, ("fragments", "fragment_length")):
        length = getattr(framing, name)
        made |= {} if length is None else _length(axis, name, real, length)
    made |= _of_kind(framing.kind, reading)
    if isinstance(framing.kind, Crossing) and not reading.function:
        made["kind"] = records.OWN  # what kernels are told of each row, not its value, decides
    return tuple((name, value) for name, value in made.items())


def record(fields: Fields) -> np.ndarray:
    """The record itself, as an array of one."""
    made = np.zeros(1, records.ASKED)
    for name in _NONE:
        made[name] = -1
    for name, value in fields:
        made[name] = value
    return made


def _length(axis: Axis, name: str, real: str, length: Length) -> dict[str, int | float]:
    ticks = axis.length(name, length)
    return {name: ticks, real: ticks / 10**axis.digits}


def _of_kind(kind: FrameKind, reading: KindColumns) -> dict[str, int | float]:
    made: dict[str, int | float] = {}
    if isinstance(kind, Starting) and kind.start is not None:
        made["restart"] = _RESTARTS.get(kind.restart, records.NOWHERE)
    match kind:
        case Trend():
            made |= {"direction": _DIRECTIONS[kind.direction], "strict": kind.strict}
            made["least_rows"] = 2
        case Between():
            made["with_start"] = kind.inclusive in ("both", "start")
            made["with_end"] = kind.inclusive in ("both", "end")
        case Delta():
            made |= _size(kind, reading.types[0])
        case Crossing() if reading.function:
            made |= _limit(kind, reading)
    return made


def _size(kind: Delta, type_: pa.DataType) -> dict[str, int | float]:
    from_first = kind.against == "first"
    if not is_whole(type_):
        return {"from_first": from_first, "size_real": float(kind.size.value)}
    exact = Fraction(kind.size.value) * 10 ** scale_of(type_)
    # The furthest that integers may be apart: "less than 2.5" and "at most 2.5" are "at most 2".
    size = math.floor(exact) if kind.span == "minimal" else math.ceil(exact) - 1
    return {"from_first": from_first, "whole": 1, "size": _signed(min(size, 2**64 - 1))}


def _limit(kind: Crossing, reading: KindColumns) -> dict[str, int | float]:
    made: dict[str, int | float] = {
        "function": _FUNCTIONS[reading.function],
        "sign": _SIGNS[kind.sign],
        "below": kind.sign in ("<", "<="),
        "whole": reading.measures_whole,
        "limit": float(kind.limit),
    }
    scale = scale_of(reading.types[0]) if reading.measures_whole else 0
    if reading.function == "avg" and reading.measures_whole:
        averaged = _averaged(kind, scale) if pa.types.is_decimal(reading.types[0]) else {}
        return made | averaged
    least = max(-(2**126), min(2**126, _least(kind, scale)))
    return made | {"least_upper": least >> 64, "least_lower": _signed(least % 2**64)}


def _least(kind: Crossing, scale: int) -> int:
    """The least integer that is not below the limit, or above it where it has to be.

    It counts units of so many decimals.
    """
    exact = Fraction(kind.limit) * Fraction(10**scale)
    return math.ceil(exact) if kind.sign in (">=", "<") else math.floor(exact) + 1


def _averaged(kind: Crossing, scale: int) -> dict[str, int | float]:
    """What the sum of decimals less ``n * offset`` has to reach for an average to reach its least.

    An average has four decimals more and is rounded half up, away from zero (as Spark's), so this
    is what lies half a unit before it: ``n * share / AVERAGE_UNITS`` (kernels/measures.py).
    """
    least = _least(kind, scale + 4)
    offset, share = divmod(2 * least - 1, AVERAGE_UNITS)
    if abs(offset) > 2**62:  # farther out than decimals of 18 digits
        offset, share = (2**62 if offset > 0 else -(2**62)), 0
    return {"decimals": 1, "offset": offset, "share": share, "strictly": least <= 0}


def _signed(word: int) -> int:
    """64 bits without a sign as the integer with one that has the same bits."""
    return word - 2**64 if word >= 2**63 else word
