"""What the live queries of a stream need of its source: columns, values and granularity.

A source that knows it can leave out what nobody needs [FJ-27, FJ-28]. The demand is the union of
what queries need, so a source that obeys it changes no answer, provided that the largest value of
``on`` still comes: it makes the punctuation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.engine.registry_records import QueryRecord
from muntin.expressions.nodes import Slot
from muntin.expressions.predicates.compared_part import ComparedPart
from muntin.expressions.predicates.terms import TermReader
from muntin.expressions.predicates.value_ranges import Edge, ValueRanges
from muntin.expressions.row_expression import RowExpression
from muntin.operators.shared.network import StreamRule
from muntin.operators.shared.program import QueryProgram
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.axis import Axis

_MICROSECONDS = 1_000_000
_SIGN = 2**63 - 1


@dataclass(frozen=True)
class NeededRange:
    """Values of a column between two others; a bound that is None is not there.

    ``with_low`` and ``with_high`` are true if the bound itself is needed. NaN is above all numbers.
    """

    low: float | int | str | None
    high: float | int | str | None
    with_low: bool
    with_high: bool


@dataclass(frozen=True)
class NeededValues:
    """The values of a column that are needed: ranges, and NULL or not."""

    ranges: tuple[NeededRange, ...]
    null: bool = False


@dataclass(frozen=True)
class StreamDemand:
    """What the live queries of a stream need.

    Attributes:
        stream: The stream.
        queries: Their names. Without any, nothing is needed: the source may sleep.
        columns: The columns that somebody reads, the one that progresses and the keys among them.
        alternatives: A row is needed if for one of these, each column in it has a needed value; a
            row is always needed if one of them is empty.
        granularity: The length along ``on`` in which rows are only used together, in seconds or in
            the unit of the column; None if somebody uses single rows.
        until: The value of ``on`` from which nothing is needed; None if some query goes on.
        kept: Whether rows are kept for queries to come, which may need other rows.
    """

    stream: str
    queries: tuple[str, ...]
    columns: tuple[str, ...]
    alternatives: tuple[Mapping[str, NeededValues], ...]
    granularity: float | None
    until: str | None
    kept: bool

    @property
    def asleep(self) -> bool:
        """True if nobody needs anything."""
        return not self.queries

    @property
    def ranges(self) -> dict[str, NeededValues]:
        """Return for each column that all alternatives limit the values that somebody needs."""
        if not self.alternatives:
            return {}
        limited = set.intersection(*(set(one) for one in self.alternatives))
        return {
            name: _union([one[name] for one in self.alternatives])
            for name in self.columns
            if name in limited
        }

    @property
    def json(self) -> dict[str, object]:
        """The demand as plain data, as a source can read it."""
        return asdict(self)

    @classmethod
    def of_json(cls, data: Mapping[str, object]) -> StreamDemand:
        """Return the demand that :attr:`json` describes."""
        values: dict[str, Any] = dict(data)
        values["alternatives"] = tuple(
            {name: _values_of_json(needed) for name, needed in one.items()}
            for one in values["alternatives"]
        )
        values |= {name: tuple(values[name]) for name in ("queries", "columns")}
        return cls(**values)

    def __str__(self) -> str:
        if self.asleep:
            return f"{self.stream}: nobody needs anything"
        limits = [f"{name} {_in_words(values)}" for name, values in self.ranges.items()]
        single = "single rows" if self.granularity is None else f"rows of {self.granularity:g}"
        lines = [
            f"{self.stream}: needed by {len(self.queries)} queries",
            f"  columns: {', '.join(self.columns)}",
            f"  values: {'; '.join(limits) or 'all'}",
            f"  together: {single}",
        ]
        lines += [] if self.until is None else [f"  until: {self.until}"]
        lines += ["  rows are kept for queries to come, which may need others"] * self.kept
        return "\n".join(lines)


def demand_of(
    stream: str,
    rule: StreamRule,
    wanting: Iterable[tuple[QueryRecord, QueryProgram]],
    order: Sequence[str],
    *,
    kept: bool,
) -> StreamDemand:
    """Return what queries need of a stream whose columns have an order."""
    pairs = [*wanting]
    programs = [program for _, program in pairs]
    needed = {name for program in programs for name in _columns(program)}
    needed |= {*rule.columns.names} if programs else set()
    untils = [record.until for record, _ in pairs]
    points = [u for u in untils if u is not None]
    last = max(points, key=lambda u: rule.axis.point("until", u), default=None)
    return StreamDemand(
        stream=stream,
        queries=tuple(record.name or record.id for record, _ in pairs),
        columns=tuple(name for name in order if name in needed),
        alternatives=_alternatives([own.predicate for p in programs for own in p.inputs]),
        granularity=_granularity(programs, rule.axis),
        until=last if len(points) == len(untils) else None,
        kept=kept,
    )


def _columns(program: QueryProgram) -> Iterable[str]:
    """Yield the columns of the stream that a query reads."""
    for own in program.inputs:
        yield from own.columns.names
        if own.predicate is not None:
            yield from own.predicate.columns
    if program.operator is None and program.answers is not None:
        for _, expression in program.answers.columns:
            yield from expression.columns


def _granularity(programs: Sequence[QueryProgram], axis: Axis) -> float | None:
    """Return the longest stretch that no edge of a window cuts; None if rows are used alone."""
    lengths = []
    for program in programs:
        operator = program.operator
        if not isinstance(operator, WindowOperator):
            return None
        edges = operator.edges
        lengths += [edges.slide, edges.origin]
        lengths += [] if edges.landmark else [edges.range]
    ticks = math.gcd(*lengths)
    if not ticks:
        return None
    return ticks / (_MICROSECONDS if _in_time(axis) else 10**axis.digits)


def _in_time(axis: Axis) -> bool:
    return axis.domain.temporal and str(axis.domain) != "date"


# Values


def _alternatives(
    predicates: Sequence[RowExpression | None],
) -> tuple[Mapping[str, NeededValues], ...]:
    """Return what rows must have for one of some predicates to be true, or for more than that."""
    reader, found = TermReader(), []
    for predicate in predicates:
        for term in [{}] if predicate is None else reader.terms(predicate):
            names = [*reader.columns]
            limits: dict[str, NeededValues] = {}
            for part, ranges in term.items():
                name = _column(reader.parts[part], names)
                values = None if name is None else _values(reader.parts[part], ranges)
                if name is not None and values is not None and name not in limits:
                    limits[name] = values
            found.append(limits)
    if any(not limits for limits in found):
        return ({},)
    return tuple(one for place, one in enumerate(found) if one not in found[:place])


def _column(
    part: ComparedPart, columns: Sequence[tuple[tuple[str, ...], pa.DataType]]
) -> str | None:
    """Return the column that a part is; None if it is made of columns."""
    if not isinstance(part.node, Slot) or part.scale or part.order == "whole":
        return None
    path, _ = columns[part.node.place]
    return path[0] if len(path) == 1 else None


def _values(part: ComparedPart, ranges: ValueRanges) -> NeededValues | None:
    """Return ranges of a part as values; None if they cannot be written so."""
    found = []
    for low, high in ranges.pairs:
        bounds = [_point(part, edge) for edge in (low, high)]
        if any(isinstance(bound, float) and not math.isfinite(bound) for bound in bounds):
            return None
        # Just before a point, or just after it.
        with_low, with_high = low[-1] == 0 and len(low) == 3, high[-1] == 1 and len(high) == 3
        found.append(NeededRange(bounds[0], bounds[1], with_low, with_high))
    return NeededValues(tuple(found), ranges.null)


def _point(part: ComparedPart, edge: Edge) -> float | int | str | None:
    if len(edge) != 3:
        return None
    point = edge[1]
    if part.order != "double" or isinstance(point, str):
        return point
    bits = point if point >= 0 else point ^ _SIGN
    return float(np.array([bits], np.int64).view(np.float64)[0])


def _union(values: Sequence[NeededValues]) -> NeededValues:
    """Return all that is needed by one or the other."""
    ranges = tuple(dict.fromkeys(one for needed in values for one in needed.ranges))
    return NeededValues(_joined(ranges), any(needed.null for needed in values))


def _joined(ranges: Sequence[NeededRange]) -> tuple[NeededRange, ...]:
    """Return ranges in order, those that overlap as one."""
    if not ranges:
        return ()
    lowest = min((r for r in ranges), key=_by_low)
    ordered, joined = sorted(ranges, key=_by_low), [lowest]
    for own in ordered[1:]:
        last = joined[-1]
        if last.high is None or (own.low is not None and own.low > last.high):  # type: ignore[operator]
            joined += [] if last.high is None else [own]
            continue
        if own.low == last.high and not (own.with_low or last.with_high):
            joined.append(own)
            continue
        higher = own if _above(own, last) else last
        joined[-1] = NeededRange(last.low, higher.high, last.with_low, higher.with_high)
    return tuple(joined)


def _by_low(own: NeededRange) -> tuple[bool, object, bool]:
    return own.low is not None, 0 if own.low is None else own.low, not own.with_low


def _above(own: NeededRange, other: NeededRange) -> bool:
    """Return whether a range reaches farther up than another, which ends."""
    if own.high is None:
        return True
    if own.high == other.high:
        return own.with_high
    return own.high > other.high  # type: ignore[operator]


def _values_of_json(data: Mapping[str, object]) -> NeededValues:
    ranges = data["ranges"]
    assert isinstance(ranges, Sequence)
    return NeededValues(tuple(NeededRange(**one) for one in ranges), bool(data["null"]))


def _in_words(values: NeededValues) -> str:
    parts = [*map(_range_in_words, values.ranges), *(["NULL"] if values.null else [])]
    return " or ".join(parts)


def _range_in_words(own: NeededRange) -> str:
    if own.low == own.high and own.low is not None:
        return f"= {own.low}"
    low = "" if own.low is None else f"{'>=' if own.with_low else '>'} {own.low}"
    high = "" if own.high is None else f"{'<=' if own.with_high else '<'} {own.high}"
    return f"{low} and {high}" if low and high else low or high or "any value"
