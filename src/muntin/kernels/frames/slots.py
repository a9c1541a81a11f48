"""Rows that were due and did not come: the slots of a schedule [Frames, appendix C]."""

from __future__ import annotations

from muntin.kernels.arrays import Ints
from muntin.kernels.compile import INT, INTS, NONE, OUT_INTS, kernel
from muntin.kernels.frames.records import NEVER


@kernel(INT, INTS, INTS, INTS, INTS, INT, OUT_INTS, OUT_INTS, OUT_INTS, OUT_INTS, OUT_INTS)
def fill_slots(
    starts: Ints,
    slot: Ints,
    before: Ints,
    until: Ints,
    lead: int,
    source: Ints,
    filled: Ints,
    covers: Ints,
    new_starts: Ints,
    dealt: Ints,
) -> int:
    """Insert the empty slots between rows; ``source`` is the row, or -1 for an empty slot.

    ``before`` is the last slot of a key that was processed (NEVER if none) and ``until`` the slot
    after the last that is due. Of successive empty slots, ``lead`` are inserted one by one, and one
    more represents all others: ``covers`` is how many slots a row represents. ``new_starts`` is
    where keys then begin, ``dealt`` the last slot of each key that is processed. Call it with an
    empty ``source`` to count.
    """
    written = 0
    room = len(source)
    for key in range(len(starts) - 1):
        new_starts[key] = written
        last = before[key]
        for row in range(starts[key], starts[key + 1] + 1):
            at_end = row == starts[key + 1]
            here = until[key] if at_end else slot[row]
            if last != NEVER and here > last + 1:
                empty = here - last - 1
                single = min(empty, lead)
                rows = single + (1 if empty > single else 0)
                if room:
                    for place in range(rows):
                        source[written + place] = -1
                        filled[written + place] = last + 1 + place
                        covers[written + place] = 1
                    if empty > single:
                        filled[written + single] = here - 1
                        covers[written + single] = empty - single
                written += rows
            if not at_end:
                if room:
                    source[written] = row
                    filled[written] = here
                    covers[written] = 1
                written += 1
                last = here
            elif last != NEVER and here != NEVER:  # NEVER - 1 would overflow
                last = max(last, here - 1)
        dealt[key] = last
    new_starts[len(starts) - 1] = written
    return written


@kernel(NONE, INTS, INTS, INTS, OUT_INTS)
def follow_on(starts: Ints, slot: Ints, before: Ints, final: Ints) -> None:
    """Mark rows as final that follow final ones slot by slot, because none between is missing.

    ``before`` is the last slot that was processed, NEVER if there is none to follow.
    """
    for key in range(len(starts) - 1):
        last = before[key]
        for row in range(starts[key], starts[key + 1]):
            if final[row] or (last != NEVER and slot[row] <= last + 1):
                final[row] = 1
                last = max(last, slot[row])
            else:
                break
