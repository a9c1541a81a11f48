"""Peeking: what an operator would report if its input ended now, while its state stays as it is.

An operator is a pure function of its state. So the results that are open after a step are those of
one more step without rows, up to the end of input, whose changes are thrown away. They are what a
batch over the rows so far would report, apart from the results that are final already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from muntin.operators.protocol import Changes, InputBatch, Operator, Punctuation, State


@dataclass(frozen=True)
class ChangedState:
    """A state as it will be when the changes of a step are written."""

    state: State
    changes: Changes

    def buckets(self, table: str) -> Sequence[int]:
        own = {bucket: chunk for (name, bucket), chunk in self.changes.items() if name == table}
        kept = [bucket for bucket in self.state.buckets(table) if bucket not in own]
        return [*kept, *(bucket for bucket, chunk in own.items() if chunk is not None)]

    def read(self, table: str, bucket: int) -> pa.Table:
        chunk = self.changes.get((table, bucket))
        return self.state.read(table, bucket) if chunk is None else chunk


def open_results(
    operator: Operator, state: State, inputs: Sequence[InputBatch], changes: Changes
) -> pa.Table:
    """Return the results that are open after a step, in the columns of the operator."""
    ends = [replace(batch, partials=(), rows=(), punctuation=_end(batch)) for batch in inputs]
    return operator.step(ChangedState(state, changes), ends).results


def _end(batch: InputBatch) -> Punctuation:
    """Return the punctuation from the end of a step to the end of input."""
    now = batch.punctuation
    by_key = now.by_key
    if by_key is not None and by_key.num_rows:
        place = by_key.schema.get_field_index("before")
        by_key = by_key.set_column(place, "before", by_key["after"])
    return Punctuation(now.after, now.after, now.largest, ended=True, by_key=by_key)
