"""Tables of sets of members, as arrays and as the bytes in which cells carry them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.packed_sets import pack_sets, unpack_sets

#: The column of the set of a cell: a place among packed sets, which travel beside the cells.
SET_TYPE = pa.dictionary(pa.int32(), pa.binary())


@dataclass(frozen=True)
class MemberSets:
    """Sets in compressed rows: the members of set i are ``members[offsets[i]:offsets[i + 1]]``.

    >>> sets = MemberSets(np.array([0, 2, 3]), np.array([1, 300, 7]))
    >>> MemberSets.unpacked(sets.packed).members.tolist()
    [1, 300, 7]
    """

    offsets: Ints
    members: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> Ints:
        """The number of members of each set."""
        return np.diff(self.offsets)

    @cached_property
    def owners(self) -> Ints:
        """For each entry of ``members``, the set that it belongs to."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def packed(self) -> pa.Array:
        """The sets as binary values; equal sets have equal bytes."""
        out = np.empty(10 * len(self.members) + 1, np.uint8)
        ends = np.zeros(len(self) + 1, np.int64)
        size = pack_sets(
            np.ascontiguousarray(self.offsets, np.int64),
            np.ascontiguousarray(self.members, np.int64),
            out,
            ends,
        )
        buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(out[:size].copy())]
        return pa.Array.from_buffers(pa.binary(), len(self), buffers)

    @classmethod
    def unpacked(cls, packed: pa.Array) -> MemberSets:
        """Return sets from their bytes."""
        whole = pa.concat_arrays([packed]) if packed.offset else packed
        _, offsets, data = whole.buffers()
        if not len(whole):
            return cls(np.zeros(1, np.int64), np.empty(0, np.int64))
        ends = np.frombuffer(offsets, np.int32)[: len(whole) + 1].astype(np.int64)
        content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
        starts = np.zeros(len(whole) + 1, np.int64)
        members = np.empty(int(ends[-1] - ends[0]), np.int64)
        count = unpack_sets(np.ascontiguousarray(content), ends, starts, members)
        return cls(starts, members[:count])

    @classmethod
    def of_pairs(cls, owner: Ints, member: Ints, count: int) -> MemberSets:
        """Return ``count`` sets from pairs of a set and a member, which may repeat."""
        pairs = np.unique(np.column_stack([owner, member]), axis=0).reshape(-1, 2)
        offsets = np.searchsorted(pairs[:, 0], np.arange(count + 1)).astype(np.int64)
        return cls(offsets, np.ascontiguousarray(pairs[:, 1], np.int64))

    def replaced(self, members: Ints, kept: Mask) -> MemberSets:
        """Return sets with other entries, of which some are kept."""
        before = np.concatenate([[0], np.cumsum(kept)])
        return MemberSets(before[self.offsets], np.ascontiguousarray(members[kept], np.int64))

    def transposed(self, count: int) -> MemberSets:
        """Return for each of ``count`` members the sets that have it."""
        order = np.argsort(self.members, kind="stable")
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(self.members, minlength=count), out=offsets[1:])
        return MemberSets(offsets, np.ascontiguousarray(self.owners[order], np.int64))

    def having(self, member: int) -> Mask:
        """Mask of the sets that have a member."""
        mask = np.zeros(len(self), np.bool_)
        mask[self.owners[self.members == member]] = True
        return mask

    def greatest(self, values: Ints, missing: int) -> Ints:
        """Return the greatest value of the members of each set; ``missing`` for an empty set."""
        largest = np.full(len(self), missing, np.int64)
        some = self.sizes > 0
        if some.any():
            starts = self.offsets[:-1][some]
            largest[some] = np.maximum.reduceat(values[self.members], starts)
        return largest
