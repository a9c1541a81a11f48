"""Splitting a table by the shards of its keys.

Panes come sorted by key, so that long runs of rows have the same key. Their shards are found once
for each run, and a shard's part is made of whole runs. Rows as they were read have no such runs;
every row finds its own shard.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Ints
from muntin.kernels.hashing import shard_of

#: Rows of a table that are looked at first, and rows that a run has at least on average.
_LOOKED_AT, _LONG = 4_096, 32
#: Types whose values are equal exactly if their bytes are, which runs rely on.
_BY_BYTES: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_integer,
    pa.types.is_string,
    pa.types.is_date,
    pa.types.is_timestamp,
)


def split(table: pa.Table, key_names: Sequence[str], shards: int) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of each shard that has some, in their order."""
    keys = [table[name].combine_chunks() for name in key_names]
    ends = _run_ends(keys)
    if ends is None:
        yield from _by_row(table, keys, shards)
        return
    heads = pa.array(np.concatenate([[0], ends[:-1]]))
    shard = shard_of([key.take(heads) for key in keys], len(ends), shards)
    runs = list(itertools.pairwise([0, *ends.tolist()]))
    for number in np.unique(shard).tolist():
        own = np.flatnonzero(shard == number).tolist()
        parts = [table.slice(start, end - start) for start, end in (runs[run] for run in own)]
        yield number, pa.concat_tables(parts).combine_chunks()


def _by_row(
    table: pa.Table, keys: Sequence[pa.Array], shards: int
) -> Iterator[tuple[int, pa.Table]]:
    shard = shard_of(keys, table.num_rows, shards)
    # NumPy sorts 16-bit numbers by radix, which is several times faster.
    small = shard.astype(np.uint16) if shards <= 2**16 else shard
    order = np.argsort(small, kind="stable")
    table, shard = table.take(pa.array(order)), shard[order]
    cuts = [0, *(np.flatnonzero(np.diff(shard)) + 1).tolist(), len(shard)]
    for start, end in itertools.pairwise(cuts):
        yield int(shard[start]), table.slice(start, end - start)


def _run_ends(keys: Sequence[pa.Array]) -> Ints | None:
    """Return where runs of equal keys end; None if they are too short to be worth it."""
    if not keys or not all(any(has(key.type) for has in _BY_BYTES) for key in keys):
        return None
    for rows in (min(_LOOKED_AT, len(keys[0])), len(keys[0])):
        encoded = [pc.run_end_encode(key.slice(0, rows), pa.int64()) for key in keys]
        ends: Ints = np.unique(np.concatenate([each.run_ends.to_numpy() for each in encoded]))
        if len(ends) * _LONG > rows:
            return None
    return ends
