"""From a framing and the types of its columns to the operator that finds its frames."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from muntin.aggregates.binding import Call
from muntin.aggregates.functions import Aggregate
from muntin.operators.frames.asked import DECIDING, fields_of
from muntin.operators.frames.missing import Bridge, Missing
from muntin.operators.frames.operator import Frames
from muntin.operators.frames.overlapping import Overlapping
from muntin.operators.frames.reading import Reading, scale_of
from muntin.operators.frames.sequence import Slots
from muntin.operators.frames.ties import Ties
from muntin.semantics.axis import Axis, Domain
from muntin.semantics.errors import ArgumentError, UnsupportedTypeError
from muntin.semantics.framing.kinds import Boundary, Crossing, Delta, Kind, Starting, Trend
from muntin.semantics.framing.properties import Framing
from muntin.semantics.lengths import Number


@dataclass(frozen=True)
class Typed:
    """Axis and types: what an operator is made of, beside its framing.

    ``read`` are the types of what the kind reads, ``ties`` of the columns that order rows that
    tie, and ``bridge`` the condition on missing rows if there is one.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    calls: tuple[Call, ...]
    bound_type: pa.DataType
    lateness_type: pa.DataType
    read: tuple[pa.DataType, ...]
    ties: tuple[pa.DataType, ...] = ()
    bridge: Bridge | None = None


def build(framing: Framing, typed: Typed) -> Frames:
    """The operator of a framing."""
    reading = reading_of(framing, typed)
    missing: Missing = typed.bridge if typed.bridge is not None else str(framing.missing)
    slots = None
    if framing.schedule is not None:
        slots = Slots(framing.schedule.period(typed.axis), framing.schedule.start(typed.axis))
    given: dict[str, Any] = {
        "axis": typed.axis,
        "keys": typed.keys,
        "calls": typed.calls,
        "bound_type": typed.bound_type,
        "lateness_type": typed.lateness_type,
        "reading": reading,
        "asked": fields_of(framing, typed.axis, reading),
        "missing": missing,
        "ties": Ties(str(framing.ties), typed.ties),
        "slots": slots,
        "longest": framing.longest,
    }
    if framing.overlapping:
        scheme = framing.scheme
        overlap = 0 if scheme.overlap is None else typed.axis.length("overlap", scheme.overlap)
        return Overlapping(**given, scheme=scheme.name, overlap=overlap)
    return Frames(**given)


def reading_of(framing: Framing, typed: Typed) -> Reading:
    """How rows are read, or an error where a type does not suit."""
    kind = framing.kind
    _check_types(kind, typed.read)
    level, every = None, 0
    if isinstance(kind, Boundary) and kind.every is not None:
        level, every = _levels(kind.every, typed.read[0])
    return Reading(
        kind=kind.word,
        types=typed.read,
        function=_function(kind),
        level=level,
        every=every,
        starts=isinstance(kind, Starting) and kind.start is not None,
        until=typed.axis if framing.until is not None else None,
    )


def _function(kind: Kind) -> str:
    if not isinstance(kind, Crossing):
        return ""
    assert isinstance(kind.aggregate, Aggregate)  # made so by the parser alone
    function = kind.aggregate.function
    if function not in DECIDING:
        raise ArgumentError(
            "condition",
            str(kind.aggregate),
            f"an open frame would have to keep all its rows for it; these do not need that: "
            f"{', '.join(DECIDING)}",
        )
    return function


def _check_types(kind: Kind, types: tuple[pa.DataType, ...]) -> None:
    for type_ in types:
        number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
        number = number or pa.types.is_decimal(type_)
        measured = isinstance(kind, Delta) or (
            isinstance(kind, Boundary) and kind.every is not None
        )
        if measured and not number:
            raise UnsupportedTypeError(f"{kind.label} needs a number, but its value is {type_}")
        ordered = number or pa.types.is_temporal(type_) or pa.types.is_boolean(type_)
        if isinstance(kind, Trend) and not ordered:
            raise UnsupportedTypeError(
                f"{kind.label} needs a number, a date or a timestamp, but its value is {type_}"
            )
        if isinstance(kind, Boundary) and pa.types.is_nested(type_):
            raise UnsupportedTypeError(f"{kind.label} cannot compare values of type {type_}")
        if kind.word in ("threshold", "between") and not pa.types.is_boolean(type_):
            raise UnsupportedTypeError(f"{kind.label} needs a condition, but it is {type_}")


def _levels(every: Number, type_: pa.DataType) -> tuple[Axis, int]:
    """The line that boundaries lie on, and how far apart, so that 0.3 is three times 0.1."""
    digits = max(every.digits, scale_of(type_))
    if pa.types.is_floating(type_):
        axis = Axis(Domain.DOUBLE, digits)
    elif pa.types.is_integer(type_) and not digits:
        axis = Axis(Domain.INTEGER)
    else:
        axis = Axis(Domain.DECIMAL, digits)
    return axis, int(Fraction(every.value) * 10**digits)
