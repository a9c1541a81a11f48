"""Parts of the keys, so that a step reads and writes only those that it is about.

Each part has a chunk of every table. There are more parts when there are more keys: few large
chunks are read faster than many small ones as long as most keys have rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.operators.common.buckets import key_buckets
from muntin.operators.protocol import Changes, State, ints

#: The chunk that lists the parts.
PARTS = "parts"
#: How many parts there are on each level. They are primes, as the buckets of keys are.
_SIZES = (13, 127, 1021)
#: With more keys to a part than this the next level begins.
_MOST_KEYS = 1024
#: The numbers of the parts of a level begin here, times the level.
_LEVEL = 10_000


@dataclass(frozen=True)
class KeyPartitions:
    """The parts that have keys: their numbers, how many keys, and the least order of a last row."""

    level: int
    numbers: Ints
    keys: Ints
    soonest: Ints

    @classmethod
    def of(cls, state: State) -> KeyPartitions:
        if not state.buckets(PARTS):
            nothing = np.empty(0, np.int64)
            return cls(0, nothing, nothing, nothing)
        table = state.read(PARTS, 0)
        numbers = ints(table["part"])
        return cls(int(numbers[0]) // _LEVEL, numbers, ints(table["keys"]), ints(table["soonest"]))

    @property
    def next_level(self) -> int:
        """The level on which this step writes."""
        most = _SIZES[self.level] * _MOST_KEYS
        return self.level + (self.level + 1 < len(_SIZES) and int(self.keys.sum()) > most)

    def part_of(self, keys: pa.Table, names: Sequence[str], level: int | None = None) -> Ints:
        """Return the part of each key, on this level or another one."""
        level = self.level if level is None else level
        return level * _LEVEL + key_buckets(keys, names, _SIZES[level])

    def after(self, read: Mask, part: Ints, last: Ints, level: int) -> Changes:
        """Return the change of the list after a step.

        ``read`` are the parts that were read. ``part`` and ``last`` are of the keys in them now.
        """
        if not read.any() and not len(part):
            return {}
        numbers, place = np.unique(part, return_inverse=True)
        soonest = np.full(len(numbers), np.iinfo(np.int64).max)
        np.minimum.at(soonest, place, last)
        table = pa.table(
            {
                "part": np.concatenate([self.numbers[~read], numbers]),
                "keys": np.concatenate([self.keys[~read], np.bincount(place, minlength=0)]),
                "soonest": np.concatenate([self.soonest[~read], soonest]),
            }
        )
        return {(PARTS, 0): table if table.num_rows else None}


def write_parts(
    name: str, rows: pa.Table, part: Ints, read: Mapping[int, pa.Table], dirty: Sequence[int]
) -> Changes:
    """Return the changes of a table: the ``dirty`` parts as they are now, where they changed.

    ``part`` has the part of each row, and ``read`` the chunks that were read.
    """
    changes: Changes = {}
    order = np.argsort(part, kind="stable")
    low = np.searchsorted(part[order], dirty, side="left").tolist()
    high = np.searchsorted(part[order], dirty, side="right").tolist()
    for number, start, stop in zip(dirty, low, high, strict=True):
        chunk = rows.take(pa.array(order[start:stop])) if stop > start else None
        before = read.get(number)
        if chunk is None and before is not None:
            changes[name, number] = None
        elif chunk is not None and (before is None or not chunk.equals(before)):
            changes[name, number] = chunk
    return changes
