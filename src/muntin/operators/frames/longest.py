"""The longest frame of each key: among the frames of a step, and among those of all steps.

Which frame is the longest is known only when the input ends. Until then the longest frame so far of
each key is kept, with its aggregates. Of equally long frames the first is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints
from muntin.kernels.grouping import KeyedTables
from muntin.kernels.numbers.order_keys import order_doubles
from muntin.operators.common.buckets import BucketedTable, key_buckets
from muntin.operators.protocol import Changes, State, forget, ints
from muntin.specs.axis import Axis, Domain

LONGEST = "longest"
#: The bounds that count for the length of a frame; liberal bounds do not lengthen it.
HELD_BOUNDS = ("held_from", "held_to")


def longest(found: np.ndarray, axis: Axis) -> np.ndarray:
    """Return for each key the first of its longest frames."""
    start, end = (np.ascontiguousarray(found[name]) for name in HELD_BOUNDS)
    chosen = found[_first_longest(found["key"], start, end, axis)].copy()
    chosen["id"] = 0
    return chosen


def with_held_bounds(columns: list[pa.Array], found: np.ndarray, schema: pa.Schema) -> pa.Table:
    """Return the columns of frames as a table that also has :data:`HELD_BOUNDS`."""
    held = [pa.array(np.ascontiguousarray(found[name])) for name in HELD_BOUNDS]
    return pa.Table.from_arrays([*columns, *held], schema=_with_held(schema))


@dataclass(frozen=True)
class LongestSoFar:
    """The longest frame of each key in the steps so far; ``schema`` is that of results."""

    axis: Axis
    key_names: Sequence[str]
    schema: pa.Schema
    buckets: int

    def after(self, state: State, found: pa.Table, ended: bool) -> tuple[pa.Table, Changes]:
        """Return the longest frames if the input has ended, else none; and changes of the state."""
        table = BucketedTable(state, LONGEST)
        if ended:
            both, key = self._both(table.load(_with_held(self.schema)), found)
            frames = self._chosen(both, key)
            return frames.select(self.schema.names), forget(state, LONGEST)
        nothing = self.schema.empty_table()
        if not found.num_rows:
            return nothing, {}
        touched = set(key_buckets(found, self.key_names, self.buckets).tolist())
        chunks = [state.read(LONGEST, b) for b in sorted(touched & set(state.buckets(LONGEST)))]
        kept = pa.concat_tables([_with_held(self.schema).empty_table(), *chunks])
        frames = self._chosen(*self._both(kept, found))
        bucket = key_buckets(frames, self.key_names, self.buckets)
        return nothing, table.write(frames, bucket, touched)

    def _both(self, kept: pa.Table, found: pa.Table) -> tuple[pa.Table, Ints]:
        """Return kept frames and, after them, new ones; and the number of the key of each."""
        keyed = KeyedTables.of(list(self.key_names), [kept, found])
        return pa.concat_tables([kept, found]), np.concatenate(keyed.numbers)

    def _chosen(self, frames: pa.Table, key: Ints) -> pa.Table:
        start, end = (ints(frames[name]) for name in HELD_BOUNDS)
        return frames.take(pa.array(_first_longest(key, start, end, self.axis)))


def _first_longest(key: Ints, start: Ints, end: Ints, axis: Axis) -> Ints:
    """Return the place of the first of the longest frames of each key."""
    doubles = axis.domain is Domain.DOUBLE
    lasted = order_doubles(end) - order_doubles(start) if doubles else end - start
    place = np.lexsort((np.arange(len(key)), -lasted, key))
    first: Ints = place[np.diff(key[place], prepend=-1) > 0]
    return first


def _with_held(schema: pa.Schema) -> pa.Schema:
    return pa.schema([*schema, *(pa.field(name, pa.int64()) for name in HELD_BOUNDS)])
