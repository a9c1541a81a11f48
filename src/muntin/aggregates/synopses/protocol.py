"""Synopses: bounded summaries of one key's rows, fed in order of ``on``.

An accumulator can be merged, so panes keep it. A synopsis cannot be merged, or not within its
bounds: it must see the rows one after the other. In return it needs little memory for any number of
rows. The operator holds rows back until punctuation has passed them, feeds them in order, and asks
for an answer where a window ends.

Where rows are grouped in other ways (frames, fills, sessions, windows over rows) there is nothing
to slide over. There accumulators keep what the exact answer needs, and the bounds of the answer are
the answer itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from muntin.aggregates.accumulators import RowsInOrder
from muntin.aggregates.definition import AggregateCall, BoundAggregate, Columns, Definition, where
from muntin.errors import ArgumentError
from muntin.expressions.spark_expressions import AsDouble, Expression, Hashed
from muntin.kernels.arrays import Floats, Ints
from muntin.specs.lengths import Duration, Length, Number


class Synopsis(Protocol):
    """The summary of one key; it changes as it is fed."""

    def run(
        self, ticks: Ints, values: Sequence[Floats], starts: Ints, ends: Ints
    ) -> Sequence[Floats]:
        """Feed rows, answer questions in between, and return the answer's columns, NaN for null.

        ``ticks`` never fall. Question ``i`` asks about the rows in ``[starts[i], ends[i])``; it is
        answered after all rows below ``ends[i]`` and before all others. Neither ends nor starts
        ever fall. Every question is answered by this call; rows beyond the last end are fed as
        well.
        """

    def forget(self, below: int) -> None:
        """Drop rows below this tick; no later question starts below it."""

    def dump(self) -> bytes:
        """Return everything it remembers."""


class SynopsisKind(Protocol):
    """Makes the synopses of one aggregate; a frozen value that can be pickled."""

    @property
    def result(self) -> pa.DataType:
        """The type of the aggregate, made of the columns that :meth:`Synopsis.run` returns.

        A double (one column), a struct of doubles with a field per column, or a list of doubles
        with an element per column; the number of columns never changes.
        """

    def new(self) -> Synopsis:
        """Return an empty synopsis."""

    def load(self, dumped: bytes) -> Synopsis:
        """Return the synopsis whose :meth:`Synopsis.dump` returned these bytes."""


class RowsOfSegments(Protocol):
    """The rows of some frames, fills, sessions or windows over rows."""

    def __len__(self) -> int:
        """The number of segments."""

    def rows(self, segment: int) -> Sequence[Floats]:
        """Return the slots of a segment's rows in order of ``on``; NaN is null."""


class ExactKind(SynopsisKind, Protocol):
    """A kind of synopsis that can also answer exactly, given all rows."""

    def exactly(self, values: Sequence[Floats]) -> Sequence[float]:
        """Return the columns of the answer for rows in their order; NaN is null."""


@dataclass(frozen=True)
class SynopsisDefinition(Definition):
    """An aggregate that a synopsis answers.

    Its first option is ``within``, a length or None; the rest are the arguments of ``make``, in
    order. A ``within`` shorter than the window's range only makes questions start later, so kinds
    do not need it.
    """

    _: KW_ONLY
    make: Callable[..., SynopsisKind]
    hashed: int = 0  # how many of the first arguments are only compared for equality

    def slots(
        self, arguments: tuple[Expression, ...], condition: Expression | None
    ) -> list[Expression]:
        """Return columns of doubles: numbers as they are, values to compare as hashes."""
        columns: list[Expression] = [Hashed(argument) for argument in arguments[: self.hashed]]
        columns += [AsDouble(argument) for argument in arguments[self.hashed :]]
        return [where(condition, column) for column in columns]

    def kind(self, options: Sequence[Any], length: int | None, origin: int) -> SynopsisKind:
        """Return the kind of synopsis for windows of ``length`` ticks; None if they only grow."""
        return self.make(*options[1:])

    def within(self, options: Sequence[object]) -> Length | None:
        """Return the part before a window's end to ask about; None for the whole window."""
        within = options[0]
        assert within is None or isinstance(within, Duration | Number)
        return within

    def bind(self, call: AggregateCall) -> BoundAggregate:
        """Return what answers exactly where there is nothing to slide over; see the module."""
        if (within := self.within(call.options)) is not None:
            raise ArgumentError(
                "within",
                str(within),
                f"{call.label} can ask about a last part only in window(), tumbling(), landmark() "
                "and by_tuple(); leave `within` out here, or use a shorter window",
            )
        return self.exact(call)

    def exact(self, call: AggregateCall) -> BoundAggregate:
        """Return the accumulators and the result of the exact answer."""
        raise NotImplementedError


@dataclass(frozen=True)
class KeptRowsSynopsis(SynopsisDefinition):
    """A synopsis whose exact answer needs the rows themselves."""

    _: KW_ONLY
    make: Callable[..., ExactKind]

    def kind(self, options: Sequence[Any], length: int | None, origin: int) -> ExactKind:
        return self.make(*options[1:])

    def exact(self, call: AggregateCall) -> BoundAggregate:
        kind = self.kind(call.options, None, 0)

        def finish(columns: Columns) -> pa.Array:
            segments: RowsOfSegments = columns[0][0]
            answers = [kind.exactly(segments.rows(number)) for number in range(len(segments))]
            if not answers:
                return pa.array([], kind.result)
            return result_column(
                kind.result, [np.array(part) for part in zip(*answers, strict=True)]
            )

        return BoundAggregate((RowsInOrder(call.slots),), kind.result, finish)


#: An estimate with bounds that are certain.
BOUNDED = pa.struct([(name, pa.float64()) for name in ("estimate", "low", "high")])


def result_column(result: pa.DataType, answers: Sequence[Floats]) -> pa.Array:
    """Return the result column of the kind's type; NaN is null.

    A struct is null where its first field is null. A list is never null, but its elements may be.

    >>> result_column(pa.list_(pa.float64()), [np.array([1.0, 2.0]), np.array([np.nan, 3.0])])
    <pyarrow.lib.ListArray object at ...>
    [
      [
        1,
        null
      ],
      [
        2,
        3
      ]
    ]
    """
    columns = [pa.array(answer, pa.float64(), from_pandas=True) for answer in answers]
    if pa.types.is_struct(result):
        return pa.StructArray.from_arrays(columns, fields=list(result), mask=columns[0].is_null())
    if pa.types.is_list(result):
        flat = np.stack(answers, axis=1).ravel()
        offsets = np.arange(len(answers[0]) + 1, dtype=np.int32) * len(answers)
        return pa.ListArray.from_arrays(offsets, pa.array(flat, pa.float64(), from_pandas=True))
    return columns[0]
