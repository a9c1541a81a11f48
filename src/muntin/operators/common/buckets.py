"""Tables of state split into chunks, so that a micro-batch reads and writes few of them.

A :class:`BucketedTable` keeps its rows by a number, such as a hash of their key. Rows that wait for
punctuation are split by tick. The name of such a chunk is the least tick in it. So which chunks are
due does not depend on how the rows were split, which changes if a query is restarted with another
slack.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.hashing import shard_of
from muntin.operators.protocol import Changes, State, ints

PENDING = "pending"
#: A chunk has about this many rows or fewer. More chunks than this are all read and split anew.
_CHUNK_ROWS, _CHUNKS = 16_384, 256
#: Keys are spread over this many chunks, so that a change of few keys is cheap to write. It is a
#: prime, because the hashes of the keys of one shard are equal modulo the number of shards.
BUCKETS = 13


def key_buckets(table: pa.Table, names: Sequence[str], buckets: int = BUCKETS) -> Ints:
    """Return for each row the bucket of its key."""
    columns = [table[name].combine_chunks() for name in names]
    return shard_of(columns, table.num_rows, buckets).astype(np.int64)


@dataclass(frozen=True)
class BucketedTable:
    """A table of state whose rows are kept in buckets."""

    state: State
    name: str

    def load(self, schema: pa.Schema) -> pa.Table:
        """Return all rows, bucket by bucket."""
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
        """Write the ``live`` rows of each changed bucket; delete a bucket without live rows.

        ``bucket`` has the bucket of each row. A ``sparse`` bucket is one that may have lost rows:
        it is written if at most half of its rows are live.
        """
        known, rewritten = set(self.state.buckets(self.name)), set(changed)
        numbers = np.unique(np.array([*changed, *sparse], np.int64))
        inside = np.flatnonzero(np.isin(bucket, numbers))
        inside = inside[np.argsort(bucket[inside], kind="stable")]
        ends = np.searchsorted(bucket[inside], numbers, side="right").tolist()
        changes: Changes = {}
        for number, start, stop in zip(numbers.tolist(), [0, *ends], ends, strict=False):
            places = inside[start:stop]
            kept = places if live is None else places[live[places]]
            if number not in rewritten and 2 * len(kept) > len(places):
                continue
            if len(kept):
                changes[self.name, number] = rows.take(pa.array(kept))
            elif number in known:
                changes[self.name, number] = None
        return changes


def due(state: State, latest: int) -> Sequence[int]:
    """Return the chunks with a row below a tick; all chunks if there are too many of them."""
    chunks = sorted(state.buckets(PENDING))
    return chunks if len(chunks) > _CHUNKS else [least for least in chunks if least < latest]


def hold(state: State, waiting: pa.Table, read: Sequence[int]) -> Changes:
    """Keep the ``waiting`` rows, which replace the chunks that were ``read``."""
    changes: Changes = dict.fromkeys([(PENDING, least) for least in read])
    if not waiting.num_rows:
        return changes
    tick = ints(waiting["tick"])
    place = np.argsort(tick, kind="stable")
    waiting, tick = waiting.take(pa.array(place)), tick[place]
    # Rows with equal ticks stay together, or two chunks would have the same name.
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
