"""From a framing and the types of its columns to the operator that finds its frames."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall, BoundAggregate
from muntin.aggregates.functions import Aggregate
from muntin.errors import ArgumentError, UnsupportedTypeError
from muntin.kernels.frames.clusters import Scan
from muntin.operators.frames.aggregate_row_by_row import AggregateRowByRow
from muntin.operators.frames.clusters import ClusterFrames
from muntin.operators.frames.compare_limit import comparable
from muntin.operators.frames.density import DensityFrames
from muntin.operators.frames.kernel_record import DECIDING, fields_of
from muntin.operators.frames.kind_columns import WHOLE_DIGITS, KindColumns, is_wide, scale_of
from muntin.operators.frames.missing_rows import Bridge, Missing
from muntin.operators.frames.operator import FrameOperator
from muntin.operators.frames.overlapping import OverlappingFrames
from muntin.operators.frames.own_function import OwnFrames
from muntin.operators.frames.region_sweep import Limits
from muntin.operators.frames.regions import RegionFrames
from muntin.operators.frames.sequencer import Slots
from muntin.operators.frames.tied_rows import CombinedTies
from muntin.operators.frames.ties import Ties
from muntin.specs.axis import Axis
from muntin.specs.frames.frame_kind import FrameKind, Starting
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Boundary, Crossing, Delta, Trend
from muntin.specs.frames.own_function import CompiledFraming, FramingFunction, OwnKind
from muntin.specs.frames.row_kinds import Cluster, Density, Region


@dataclass(frozen=True)
class FrameOperatorInputs:
    """Axis and types: what an operator is made of, beside its framing.

    ``read`` are the types of what the kind reads, ``ties`` of the columns that order rows that
    tie, ``bridge`` the condition on missing rows if there is one, and ``digest`` tells a user's own
    framing function from others. ``combined`` says how rows that tie become one.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    calls: tuple[AggregateCall, ...]
    bound_type: pa.DataType
    lateness_type: pa.DataType
    read: tuple[pa.DataType, ...]
    ties: tuple[pa.DataType, ...] = ()
    bridge: Bridge | None = None
    digest: str = ""
    combined: CombinedTies | None = None


def build(framing: Framing, typed: FrameOperatorInputs) -> FrameOperator:
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
        "combined": typed.combined,
    }
    kind = framing.kind
    if isinstance(kind, Density):
        _check_result(kind, bind(typed.calls[0]))
        per = typed.axis.length("per", kind.per)
        return DensityFrames(**given, per=per, sign=kind.sign, limit=kind.limit)
    if isinstance(kind, Cluster):
        return ClusterFrames(**given, scan=_scan(kind, framing, typed.axis))
    if isinstance(kind, Region):
        limits = _limits(kind, framing, typed.axis, typed.read[1])
        return RegionFrames(**given, limits=limits)
    if isinstance(kind, OwnKind):
        assert isinstance(kind.framing, FramingFunction | CompiledFraming)
        return OwnFrames(**given, own=kind.framing, digest=typed.digest)
    if isinstance(kind, Crossing) and not reading.function:
        call = _deciding(kind, typed.read)
        return AggregateRowByRow(**given, call=call, sign=kind.sign, limit=kind.limit)
    if framing.overlapping:
        scheme = framing.scheme
        overlap = 0 if scheme.overlap is None else typed.axis.length("overlap", scheme.overlap)
        # A cover that no frame can be added to has all of them.
        name = "unconstrained" if scheme.fill == "saturated" else scheme.name
        return OverlappingFrames(**given, scheme=name, overlap=overlap)
    return FrameOperator(**given)


def reading_of(framing: Framing, typed: FrameOperatorInputs) -> KindColumns:
    """How rows are read, or an error where a type does not suit."""
    kind = framing.kind
    _check_types(kind, typed.read)
    return KindColumns(
        kind=kind.word,
        types=typed.read,
        function=_function(framing, typed.read),
        every=kind.every if isinstance(kind, Boundary) else None,
        starts=isinstance(kind, Starting) and kind.start is not None,
        until=typed.axis if framing.until is not None else None,
    )


def _function(framing: Framing, types: tuple[pa.DataType, ...]) -> str:
    """The aggregate that decides where kernels know it; none where it is found row by row."""
    kind = framing.kind
    if not isinstance(kind, Crossing):
        return ""
    assert isinstance(kind.aggregate, Aggregate)  # made so by the parser alone
    function = kind.aggregate.function
    known = f"{', '.join(DECIDING)}, and those whose state is bounded: sketches and your own"
    if function not in (*DECIDING, "own"):
        raise ArgumentError(
            "condition",
            str(kind.aggregate),
            f"an open frame would have to keep all its rows for it; these do not need that: "
            f"{known}",
        )
    bound = bind(_deciding(kind, types))
    _check_result(kind, bound)
    if function in DECIDING:
        if function not in ("count", "count_if"):
            _check_digits(kind, types[0])
        return function
    if not all(accumulator.bounded for accumulator in bound.accumulators):
        raise ArgumentError(
            "condition",
            str(kind.aggregate),
            f"its state grows with the rows of an open frame (bounded = False); these do not: "
            f"{known}",
        )
    if framing.overlapping:
        raise ArgumentError(
            "condition",
            str(kind.aggregate),
            f"it is computed row by row for one open frame, so frames cannot overlap; leave out "
            f"scheme= and restart='continue', or use one of {', '.join(DECIDING)}",
        )
    return ""


def _deciding(kind: Crossing, types: tuple[pa.DataType, ...]) -> AggregateCall:
    """The aggregate that decides, over what is read of rows."""
    assert isinstance(kind.aggregate, Aggregate)
    found = kind.aggregate
    slots = tuple(range(len(types)))
    return AggregateCall(found.function, str(found), slots, types, True, found.options)


def _check_result(kind: Crossing | Density, bound: BoundAggregate) -> None:
    if not comparable(bound.type):
        raise UnsupportedTypeError(
            f"{kind.label} compares with a number, but {kind.aggregate} is {bound.type}"
        )


def _check_types(kind: FrameKind, types: tuple[pa.DataType, ...]) -> None:
    for type_ in types:
        number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
        number = number or pa.types.is_decimal(type_)
        measured = isinstance(kind, Delta) or (
            isinstance(kind, Boundary) and kind.every is not None
        )
        if measured and not number:
            raise UnsupportedTypeError(f"{kind.label} needs a number, but its value is {type_}")
        if isinstance(kind, Delta):
            _check_digits(kind, type_)
        ordered = number or pa.types.is_temporal(type_) or pa.types.is_boolean(type_)
        if isinstance(kind, Trend) and not ordered:
            raise UnsupportedTypeError(
                f"{kind.label} needs a number, a date or a timestamp, but its value is {type_}"
            )
        if isinstance(kind, Boundary) and pa.types.is_nested(type_):
            raise UnsupportedTypeError(f"{kind.label} cannot compare values of type {type_}")
        if kind.word in ("threshold", "between") and not pa.types.is_boolean(type_):
            raise UnsupportedTypeError(f"{kind.label} needs a condition, but it is {type_}")
    if isinstance(kind, OwnKind) and isinstance(kind.framing, CompiledFraming):
        for type_ in types:
            if not (pa.types.is_boolean(type_) or pa.types.is_integer(type_) or _is_real(type_)):
                raise UnsupportedTypeError(
                    f"{kind.label} is compiled and takes numbers, but a column is {type_}"
                )
    if isinstance(kind, Region):
        where, along = types
        if not pa.types.is_boolean(where):
            raise UnsupportedTypeError(f"{kind.label} needs a condition, but it is {where}")
        if not (pa.types.is_integer(along) or pa.types.is_floating(along) or _is_decimal(along)):
            raise UnsupportedTypeError(f"{kind.label} needs a number along, but it is {along}")
        _check_digits(kind, along)


def _check_digits(kind: FrameKind, type_: pa.DataType) -> None:
    """Differences are computed in 64 bits."""
    if is_wide(type_):
        raise UnsupportedTypeError(
            f"{kind.label} computes with decimals of up to {WHOLE_DIGITS} digits, and this is "
            f"{type_}; cast it to decimal({WHOLE_DIGITS}, {min(type_.scale, 9)}) or double"
        )


def _is_real(type_: pa.DataType) -> bool:
    return bool(pa.types.is_floating(type_) or pa.types.is_decimal(type_))


def _is_decimal(type_: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(type_))


def _scan(kind: Cluster, framing: Framing, axis: Axis) -> Scan:
    return Scan(kind.p, kind.rate, axis.length("per", kind.per), *_local(framing, axis))


def _limits(kind: Region, framing: Framing, axis: Axis, along: pa.DataType) -> Limits:
    extent: int | float | None = None
    if kind.min_extent is not None:
        extent = float(kind.min_extent.value)
        if not pa.types.is_floating(along):
            # Between integers, "at least 2.5" is "at least 3"; and none are farther apart than so.
            exact = Fraction(kind.min_extent.value) * 10 ** scale_of(along)
            extent = min(math.ceil(exact), 2**64)
    least, most, shortest, longest = _local(framing, axis)
    return Limits(
        prefer=kind.prefer,
        doubles=bool(pa.types.is_floating(along)),
        bridged=framing.missing == "satisfy",
        min_extent=extent,
        min_duration=shortest,
        max_duration=longest,
        min_count=least,
        max_count=most,
    )


def _local(framing: Framing, axis: Axis) -> tuple[int | None, int | None, int | None, int | None]:
    """The local conditions: counts, and durations in ticks."""
    shortest, longest = framing.min_duration, framing.max_duration
    return (
        framing.min_count,
        framing.max_count,
        None if shortest is None else axis.length("min_duration", shortest),
        None if longest is None else axis.length("max_duration", longest),
    )
