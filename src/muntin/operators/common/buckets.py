"""Tables of state cut into chunks, so that a micro-batch reads and writes what it touches.

A :class:`BucketedTable` keeps its rows by a number, such as a hash of their key. Rows that wait for
punctuation are cut by tick: a chunk is named by the least tick in it, so which ones are due does
not depend on how rows were cut into chunks. A slack may change when a query is started again.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.hashing import shard_of
from muntin.operators.common.arrow_columns import ints
from muntin.operators.protocol import Changes, State

PENDING = "pending"
#: About so many rows are a chunk, unless fewer came; so many chunks are put together again.
_CHUNK_ROWS, _CHUNKS = 16_384, 256
#: Keys are spread over so many chunks, so that few of them cost little to write. A prime: the
#: keys of one shard have hashes that are equal modulo the number of shards.
_BUCKETS = 13


def key_buckets(table: pa.Table, names: Sequence[str]) -> Ints:
    """Return for each row the bucket that its key is kept in."""
    columns = [table[name].combine_chunks() for name in names]
    return shard_of(columns, table.num_rows, _BUCKETS).astype(np.int64)


@dataclass(frozen=True)
class BucketedTable:
    """A table of state whose rows are kept in buckets."""

    state: State
    name: str

    def load(self, schema: pa.Schema) -> pa.Table:
        """All rows, bucket by bucket."""
        buckets = sorted(self.state.buckets(self.name))
        chunks = [self.state.read(self.name, bucket) for bucket in buckets]
        return pa.concat_tables([schema.empty_table(), *chunks])

    def write(
        self,
        rows: pa.Table,
        bucket: Ints,
        changed: Collection[int],
        live: Mask | None = None,
        sparse: Collection[int] = (),
    ) -> Changes:
        """Write the ``live`` rows of each changed bucket; a bucket without any is forgotten.

        ``bucket`` is that of each row. Buckets that may have become ``sparse`` are written if at
        most half of their rows are live.
        """
        known = set(self.state.buckets(self.name))
        changes: Changes = {}
        for number in sorted({*changed, *sparse}):
            inside = bucket == number
            kept = inside if live is None else inside & live
            count = np.count_nonzero(kept)
            if number not in changed and 2 * count > np.count_nonzero(inside):
                continue
            if count:
                changes[self.name, number] = rows.filter(pa.array(kept))
            elif number in known:
                changes[self.name, number] = None
        return changes


def due(state: State, latest: int) -> Sequence[int]:
    """Return the chunks with a row below a tick; all of them when they have become too many."""
    chunks = sorted(state.buckets(PENDING))
    return chunks if len(chunks) > _CHUNKS else [least for least in chunks if least < latest]


def hold(state: State, waiting: pa.Table, read: Sequence[int]) -> Changes:
    """Keep rows that wait; the chunks that were ``read`` are among them or over."""
    changes: Changes = dict.fromkeys([(PENDING, least) for least in read])
    if not waiting.num_rows:
        return changes
    tick = ints(waiting["tick"])
    place = np.argsort(tick, kind="stable")
    waiting, tick = waiting.take(pa.array(place)), tick[place]
    # Rows of one tick stay together, or two chunks would have one name.
    chunk = np.searchsorted(tick, tick) // _CHUNK_ROWS
    starts = np.flatnonzero(np.diff(chunk, prepend=-1))
    unread = set(state.buckets(PENDING)).difference(read)
    for start, stop in itertools.pairwise([*starts.tolist(), len(tick)]):
        least, rows = int(tick[start]), waiting.slice(start, stop - start)
        if least in unread:
            both = [rows, state.read(PENDING, least)]
            rows = pa.concat_tables(both, promote_options="default")
        changes[PENDING, least] = rows
    return changes
