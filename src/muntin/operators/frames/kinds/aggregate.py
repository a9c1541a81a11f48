"""Aggregate frames on Arrow columns: aggregates of a frame's rows meet a condition.

Kernels compare one aggregate that needs only a few numbers (:data:`KNOWN_TO_KERNELS`) with a limit.
All other conditions are evaluated row by row (:mod:`muntin.operators.frames.row_by_row`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate, slots_of
from muntin.errors import ArgumentError
from muntin.expressions.nodes import Comparison, Constant, Node, Slot, walk
from muntin.expressions.types import check, no_aggregate
from muntin.kernels.frames import records
from muntin.kernels.frames.kinds import AVERAGE_UNITS
from muntin.operators.frames.arrow_kind import (
    ArrowKind,
    FrameOperatorInputs,
    any_missing,
    check_digits,
    check_result,
    is_whole,
    nearest_doubles,
    number_columns,
    scale_of,
    signed,
)
from muntin.operators.frames.operator import FrameOperator
from muntin.operators.frames.row_by_row import AggregateRowByRow, duration_type
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import AggregateCondition, Crossing

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
#: The aggregates that kernels compute: they need no more than a few numbers.
KNOWN_TO_KERNELS = tuple(_FUNCTIONS)
#: Frames compute these with doubles, as Spark does.
_VARIANCES = ("var_samp", "var_pop", "stddev_samp", "stddev_pop")
_SIGNS = {"<": records.LESS, "<=": records.AT_MOST, ">": records.MORE, ">=": records.AT_LEAST}


@dataclass(frozen=True)
class ArrowAggregate(ArrowKind):
    """Reads the arguments of an aggregate; ``function`` is its name where kernels compute it."""

    function: str = ""

    @property
    def number(self) -> int:  # type: ignore[override]  # it depends on the function
        """The number of the kind: an aggregate that kernels compute, or one by answers."""
        return records.AGGREGATE if self.function else records.OWN

    @classmethod
    def arguments(cls, framing: Framing, inputs: FrameOperatorInputs) -> dict[str, Any]:
        function = _known_function(framing, inputs)
        return {**super().arguments(framing, inputs), "function": function}

    @property
    def value_names(self) -> Sequence[str]:
        if not self.types:
            return ("lacks",)
        if not self.function:
            return ("lacks", *(f"f{place}" for place in range(len(self.types))))
        if self.function in ("count", "count_if"):
            return ("lacks", "counts")
        value = "whole" if self.measures_whole else "real"
        weight = ("weight",) if self.function == "weighted_avg" else ()
        return ("lacks", "counts", value, *weight)

    @property
    def measures_whole(self) -> bool:
        """True if the aggregate is computed with exact integers."""
        exact = ("sum", "avg", "min", "max", "first", "last", "any", "all")
        return self.function in exact and bool(self.types) and is_whole(self.types[0])

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        if not self.function or not operands:
            return {f"f{place}": column for place, column in enumerate(operands)}
        columns = {"counts": pc.is_valid(operands[0])}
        if self.function in ("first", "last") and len(operands) == 2:
            columns["counts"] = operands[1].fill_null(False)
        if self.function in _VARIANCES:
            columns["real"] = nearest_doubles(operands[0])
        elif self.function not in ("count", "count_if"):
            columns |= number_columns(operands[0])
        if self.function == "weighted_avg":
            columns["weight"] = operands[1].cast(pa.float64()).fill_null(0.0)
        return columns

    def missing_rows(self, rows: pa.Table, operands: list[pa.Array]) -> dict[str, pa.Array]:
        """Return the rows that lack an argument, where Spark has not found them already."""
        if "lacks" in rows.column_names:
            return {"lacks": rows["lacks"].combine_chunks().fill_null(False)}
        return {"lacks": any_missing(operands, rows.num_rows)}

    def record_fields(self, kind: Crossing) -> dict[str, int | float]:
        if not self.function:
            return {}
        fields: dict[str, int | float] = {
            "function": _FUNCTIONS[self.function],
            "sign": _SIGNS[kind.sign],
            "below": kind.sign in ("<", "<="),
            "whole": self.measures_whole,
            "limit": float(kind.limit),
        }
        scale = scale_of(self.types[0]) if self.measures_whole else 0
        if self.function == "avg" and self.measures_whole:
            averaged = _averaged(kind, scale) if pa.types.is_decimal(self.types[0]) else {}
            return fields | averaged
        least = max(-(2**126), min(2**126, _least(kind, scale)))
        return fields | {"least_upper": least >> 64, "least_lower": signed(least % 2**64)}

    def own_operator(
        self, framing: Framing, inputs: FrameOperatorInputs
    ) -> tuple[type[FrameOperator], dict[str, Any]] | None:
        if self.function:
            return None
        kind = framing.kind
        deciding = tuple(_calls(kind, inputs.read))
        if isinstance(kind, Crossing):
            where: Node = Comparison(kind.sign, Slot(0), Constant(kind.limit))
            return AggregateRowByRow, {"deciding": deciding, "where": where, "as_numbers": True}
        where = _where(kind)
        reads_duration = any(node == Slot(len(deciding)) for node in walk(where))
        more = {"deciding": deciding, "where": where, "reads_duration": reads_duration}
        return AggregateRowByRow, more


def _known_function(framing: Framing, inputs: FrameOperatorInputs) -> str:
    """Return the aggregate's name if kernels compute it, "" if it is computed row by row."""
    kind, types = framing.kind, inputs.read
    assert isinstance(kind, Crossing | AggregateCondition)
    bound = [bind(call) for call in _calls(kind, types)]
    if isinstance(kind, Crossing):
        check_result(kind, bound[0])
        function = _aggregates(kind)[0].function
        if function in KNOWN_TO_KERNELS:
            if function not in ("count", "count_if", *_VARIANCES):
                check_digits(kind, types[0])
            return function
    else:
        results = [each.type for each in bound]
        check(_where(kind), [*results, duration_type(inputs.axis)], no_aggregate, kind.label)
    if framing.overlapping:
        raise ArgumentError(
            "condition",
            kind.condition_text,
            "it is computed row by row for one open frame, so frames cannot overlap; leave out "
            "scheme= and restart='continue', or compare one of "
            f"{', '.join(KNOWN_TO_KERNELS)} with a number",
        )
    return ""


def refuse_unbounded(framing: Framing, operator: FrameOperator) -> None:
    """Raise if an open frame of a stream would keep more and more for its aggregates."""
    is_plain = not isinstance(operator, AggregateRowByRow) or operator.is_bounded
    if is_plain or framing.has_bounded_frames:
        return
    kind = framing.kind
    assert isinstance(kind, Crossing | AggregateCondition)
    cut = "" if kind.span == "minimal" else " with cut=True"
    raise ArgumentError(
        "condition",
        kind.condition_text,
        "an open frame would have to keep all its values for it, and on a stream it may grow "
        f"without end; give max_count= or max_duration={cut}, or read a batch; these keep a few "
        f"numbers: {', '.join(KNOWN_TO_KERNELS)}, sketches, and your own if they are bounded",
    )


def _where(kind: FrameKind) -> Node:
    assert isinstance(kind, AggregateCondition) and isinstance(kind.where, Node)
    return kind.where


def _aggregates(kind: FrameKind) -> list[Aggregate]:
    return [each for each in kind.running_aggregates if isinstance(each, Aggregate)]


def _calls(kind: FrameKind, types: tuple[pa.DataType, ...]) -> Iterator[AggregateCall]:
    """Yield the calls of the deciding aggregates; each operand of the kind is there once."""
    aggregates = _aggregates(kind)
    operands = list(dict.fromkeys(slot for each in aggregates for slot in slots_of(each)))
    for each in aggregates:
        slots = tuple(operands.index(slot) for slot in slots_of(each))
        slot_types = tuple(types[place] for place in slots)
        yield AggregateCall(each.function, str(each), slots, slot_types, True, each.options)


def _least(kind: Crossing, scale: int) -> int:
    """Return the least integer that reaches the limit, in units of ``scale`` decimals."""
    exact = Fraction(kind.limit) * Fraction(10**scale)
    return math.ceil(exact) if kind.sign in (">=", "<") else math.floor(exact) + 1


def _averaged(kind: Crossing, scale: int) -> dict[str, int | float]:
    """Return the fields for an average of decimals: a bound on the sum less ``n * offset``.

    An average has four decimals more and is rounded half up, away from zero (as Spark rounds). So
    the bound is half a unit before the least average that reaches the limit:
    ``n * share / AVERAGE_UNITS`` (``muntin.kernels.frames.kinds``).
    """
    least = _least(kind, scale + 4)
    offset, share = divmod(2 * least - 1, AVERAGE_UNITS)
    if abs(offset) > 2**62:  # farther out than decimals of 18 digits
        offset, share = (2**62 if offset > 0 else -(2**62)), 0
    return {"decimals": 1, "offset": offset, "share": share, "strictly": least <= 0}
