"""Rows that wait until punctuation has passed them, in chunks that are read when they are due.

A chunk is named by the least tick in it, so which ones are due does not depend on how rows were
cut into chunks: not on a slack, which may change when a query is started again.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from muntin.operators.common.columns import ints
from muntin.operators.protocol import Changes, State

PENDING = "pending"
#: About so many rows are a chunk, unless fewer came; so many chunks are put together again.
_CHUNK_ROWS, _CHUNKS = 16_384, 256


def due(state: State, latest: int) -> Sequence[int]:
    """The chunks with a row below a tick; all of them when they have become too many."""
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
