"""Rows of the stream that are punctuation, promised by the source itself [Window-ids 5.1].

Spark evaluates the condition into a column ``p``. A marked row without a place on the axis (null or
NaN) promises nothing. It stays among the rows and is refused like any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints
from muntin.kernels.ticks import to_ticks
from muntin.operators.progress.per_key import PerKeyPunctuator, told_by
from muntin.operators.progress.progress import (
    AdvancedShard,
    ObservedRows,
    Progress,
    ProgressMessages,
    Punctuator,
    greatest,
    punctuation,
)
from muntin.operators.protocol import State
from muntin.specs.axis import Axis


@dataclass(frozen=True)
class MarkPunctuator(Punctuator):
    """Marked rows are punctuation for the whole stream."""

    axis: Axis

    def observe(self, rows: pa.Table) -> ObservedRows:
        data, marks, ticks = separate(rows, self.axis)
        if not marks.num_rows:
            return ObservedRows(data)
        largest = pa.table({"tick": pa.array([int(ticks.max())], pa.int64())})
        return ObservedRows(data, everywhere=largest, punctuations=marks.num_rows)

    @property
    def in_batch(self) -> Punctuator:
        """The same rule: in a batch, marked rows are not data either."""
        return self

    def advance(self, state: State, progress: Progress, heard: ProgressMessages) -> AdvancedShard:
        after = progress.after(heard, self.slack)
        marks = [tick for table in heard.everywhere for tick in table["tick"].to_pylist()]
        after = after.reaching(greatest(marks))
        return AdvancedShard(after, punctuation(progress, after))


@dataclass(frozen=True)
class KeyMarkPunctuator(PerKeyPunctuator):
    """Marked rows are punctuation for their own key."""

    def observe(self, rows: pa.Table) -> ObservedRows:
        data, marks, ticks = separate(rows, self.axis)
        message = told_by(self.names_of(marks), ticks)
        return ObservedRows(data, keyed=message, punctuations=marks.num_rows)

    @property
    def in_batch(self) -> Punctuator:
        """The same rule: in a batch, marked rows are not data either."""
        return self


def separate(rows: pa.Table, axis: Axis) -> tuple[pa.Table, pa.Table, Ints]:
    """Split rows into data and punctuation; also return the ticks of the punctuation."""
    marked = np.flatnonzero(rows["p"].fill_null(False).to_numpy())
    data = rows.drop_columns(["p"])
    if len(marked) == 0:
        return data, data.slice(0, 0), np.empty(0, np.int64)
    ticks = to_ticks(rows["on"].take(pa.array(marked)).combine_chunks(), axis)
    placed = ticks.refusal == 0
    marked = marked[placed]
    kept = np.ones(rows.num_rows, np.bool_)
    kept[marked] = False
    return data.filter(pa.array(kept)), data.take(pa.array(marked)), ticks.tick[placed]
