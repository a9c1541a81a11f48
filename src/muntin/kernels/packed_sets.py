"""Sets of members in few bytes, and loops over the members of many sets.

The sets of a table are in compressed rows: the members of set ``i``, in order, are
``members[offsets[i]:offsets[i + 1]]``. A packed set has the differences between its members, seven
bits to a byte; the highest bit says that the number goes on.
"""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import Bytes, Ints
from muntin.kernels.compile import (
    BYTES,
    INT,
    INTS,
    NONE,
    OUT_BYTES,
    OUT_INTS,
    kernel,
)

#: What a pane of rows is for the windows of a member.
OUTSIDE, LATE, BETWEEN, USED = 0, 1, 2, 3


@kernel(INT, INTS, INTS, OUT_BYTES, OUT_INTS)
def pack_sets(offsets: Ints, members: Ints, out: Bytes, ends: Ints) -> int:
    """Pack sets; return the number of bytes. Ten bytes of room for each member are enough."""
    place = 0
    for number in range(len(offsets) - 1):
        last = np.int64(0)
        for entry in range(offsets[number], offsets[number + 1]):
            rest = members[entry] - last
            last = members[entry]
            while rest >= 128:
                out[place] = np.uint8(rest & 127 | 128)
                rest >>= 7
                place += 1
            out[place] = np.uint8(rest)
            place += 1
        ends[number + 1] = place
    return place


@kernel(INT, BYTES, INTS, OUT_INTS, OUT_INTS)
def unpack_sets(packed: Bytes, ends: Ints, offsets: Ints, members: Ints) -> int:
    """Unpack sets; return the number of members. One entry of room for each byte is enough."""
    count = 0
    for number in range(len(ends) - 1):
        last = np.int64(0)
        part = np.int64(0)
        shift = 0
        for place in range(ends[number], ends[number + 1]):
            part |= np.int64(packed[place] & 127) << shift
            shift += 7
            if packed[place] < 128:
                last += part
                members[count] = last
                count += 1
                part = np.int64(0)
                shift = 0
        offsets[number + 1] = count
    return count


@kernel(NONE, INTS, INTS, INTS, INTS, INTS, INTS, BYTES, INT, OUT_INTS, OUT_BYTES)
def count_members(
    sets: Ints,
    places: Ints,
    rows: Ints,
    offsets: Ints,
    members: Ints,
    edges: Ints,
    status: Bytes,
    width: int,
    counts: Ints,
    usable: Bytes,
) -> None:
    """Add the rows of each cell to the counts of all members of its set, by what they are for each.

    A cell has a set, a place among the columns of ``status`` and a number of rows. ``status`` has a
    row of ``width`` entries for each number in ``edges``, and ``counts`` four entries for each
    member. A cell is ``usable`` if its rows are USED for some member.
    """
    for cell in range(len(sets)):
        for entry in range(offsets[sets[cell]], offsets[sets[cell] + 1]):
            member = members[entry]
            what = status[edges[member] * width + places[cell]]
            counts[4 * member + what] += rows[cell]
            if what == USED:
                usable[cell] = 1
