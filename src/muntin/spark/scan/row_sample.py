"""A sample of the rows of files: which are kept when there is too much [AU-38, AV-42].

Whether a row is kept is a hash of its place: of its file, its row group and its place in it. So a
row that is read again is kept again, equal rows are kept or not by themselves, and what a rate
keeps a larger one keeps too.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Mask

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_OF_ALL = 2.0**64


@dataclass
class RowSample:
    """Keeps a share of the rows that a task reads, and counts the others in ``shed``."""

    kept: float
    shed: int = 0

    def of(self, rows: pa.Table, path: str, group: int, first: int) -> pa.Table:
        """Return the rows that are kept of some that follow each other in a row group."""
        if self.kept >= 1 or not rows.num_rows:
            return rows
        seed = crc32(path.encode()) + (group << 32)
        sampled = rows.filter(pa.array(sampled_places(seed, first, rows.num_rows, self.kept)))
        self.shed += rows.num_rows - sampled.num_rows
        return sampled


def sampled_places(seed: int, first: int, count: int, kept: float) -> Mask:
    """Return a mask of the places, from ``first`` on, that are in a sample."""
    with np.errstate(over="ignore"):
        mixed = np.arange(first + 1, first + count + 1, dtype=np.uint64) * _STEP
        mixed += np.uint64(seed % 2**64) * _FIRST
        # The finaliser of SplitMix64: each bit depends on all bits of the place.
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        mixed ^= mixed >> np.uint64(31)
    return mixed < np.uint64(min(kept * _OF_ALL, _OF_ALL - 2048))
