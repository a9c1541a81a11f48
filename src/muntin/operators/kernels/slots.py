"""Rows that were due and did not come: the slots of a schedule (frames.txt, appendix C)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from muntin.aggregates.compiled import INT, INTS, NONE, OUT_INTS, kernel
from muntin.operators.kernels.records import NEVER

Ints = npt.NDArray[np.int64]


@kernel(INT, INTS, INTS, INTS, INTS, INT, OUT_INTS, OUT_INTS, OUT_INTS, OUT_INTS)
def fill_slots(
    starts: Ints,
    slot: Ints,
    before: Ints,
    until: Ints,
    ends_only: int,
    source: Ints,
    filled: Ints,
    new_starts: Ints,
    dealt: Ints,
) -> int:
    """Rows with the empty slots between them; ``source`` is the row, or -1 for an empty slot.

    ``before`` is the last slot that was dealt with for a key (NEVER if none) and ``until`` the
    slot behind the last that is due. Where one missing row ends a frame as well as many do,
    ``ends_only`` puts in the first and the last of them. ``new_starts`` is where keys then begin,
    ``dealt`` the last slot of each that is dealt with. Call it with an empty ``source`` to count.
    """
    made = 0
    room = len(source)
    for key in range(len(starts) - 1):
        new_starts[key] = made
        last = before[key]
        for row in range(starts[key], starts[key + 1] + 1):
            at_end = row == starts[key + 1]
            here = until[key] if at_end else slot[row]
            if last != NEVER and here > last + 1:
                stride = max(1, here - last - 2) if ends_only else 1
                for empty in range(last + 1, here, stride):
                    if made < room:
                        source[made] = -1
                        filled[made] = empty
                    made += 1
            if not at_end:
                if made < room:
                    source[made] = row
                    filled[made] = here
                made += 1
                last = here
            elif last != NEVER and here != NEVER:  # one below NEVER is no number
                last = max(last, here - 1)
        dealt[key] = last
    new_starts[len(starts) - 1] = made
    return made


@kernel(NONE, INTS, INTS, INTS, OUT_INTS)
def follow_on(starts: Ints, slot: Ints, before: Ints, final: Ints) -> None:
    """Mark rows final that follow final ones slot by slot: none that is due is missing.

    ``before`` is the last slot that was dealt with, NEVER if there is none to follow.
    """
    for key in range(len(starts) - 1):
        last = before[key]
        for row in range(starts[key], starts[key + 1]):
            if final[row] or (last != NEVER and slot[row] <= last + 1):
                final[row] = 1
                last = max(last, slot[row])
            else:
                break
