"""Schemes: which of the frames from every row are the frames of a framing [Frames 4.2].

Every row has the frame that begins there (see ``walk.candidates``). Its ``fits`` is 1 or 0 by the
local conditions, -1 if there is no frame, -2 if that is not known yet. A scheme goes over these
frames in order and stops where it has to wait.
"""

from __future__ import annotations

from typing import Any

from muntin.kernels.arrays import Bytes, Ints
from muntin.kernels.compile import (
    BYTES,
    FLOAT,
    INT,
    INTS,
    NONE,
    OUT_BYTES,
    OUT_INTS,
    kernel,
)
from muntin.kernels.frames.records import FOUND_ARRAY, NEVER, REAL
from muntin.kernels.frames.step import double_of


@kernel(NONE, INTS, INTS, FOUND_ARRAY, OUT_BYTES, OUT_INTS)
def choose_all(starts: Ints, since: Ints, found: Any, chosen: Bytes, needed: Ints) -> None:
    """Choose every frame; ``needed`` becomes the first undecided row of each key."""
    for key in range(len(starts) - 1):
        row = since[key]
        while row < starts[key + 1] and found[row].fits != -2:
            chosen[row] = found[row].fits == 1
            row += 1
        needed[key] = row


@kernel(NONE, INTS, INTS, INTS, FOUND_ARRAY, INT, OUT_BYTES, OUT_INTS, OUT_INTS)
def choose_advancing(
    starts: Ints,
    since: Ints,
    order: Ints,
    found: Any,
    minimal: int,
    chosen: Bytes,
    needed: Ints,
    furthest: Ints,
) -> None:
    """Choose frames that contain no other (minimal), or that lie in no other (maximal).

    ``furthest`` has for each key the last row of all frames that began before ``since``.
    """
    for key in range(len(starts) - 1):
        stop = since[key]
        while stop < starts[key + 1] and found[stop].fits != -2:
            stop += 1
        needed[key] = stop
        if minimal:
            # A frame contains another if that begins later and ends no later. A frame that is not
            # known yet ends after all known ones.
            earliest = starts[key + 1] + 1
            for row in range(starts[key + 1] - 1, since[key] - 1, -1):
                if found[row].fits == 1:
                    chosen[row] = row < stop and found[row].high < earliest
                    earliest = min(earliest, found[row].high)
            continue
        for row in range(since[key], stop):
            if found[row].fits == 1:
                last = order[found[row].high - 1]
                chosen[row] = last > furthest[key]
                furthest[key] = max(furthest[key], last)


@kernel(NONE, INTS, INTS, INTS, BYTES, FOUND_ARRAY, INT, INT, FLOAT, OUT_BYTES, OUT_INTS, OUT_INTS)
def choose_adjacent(
    starts: Ints,
    since: Ints,
    order: Ints,
    what: Bytes,
    found: Any,
    doubles: int,
    overlap: int,
    overlap_real: float,
    chosen: Bytes,
    needed: Ints,
    end: Ints,
) -> None:
    """Choose frames in turn, each from the first row at or after the last end less the overlap.

    ``end`` has for each key where the last frame ended, or NEVER.
    """
    for key in range(len(starts) - 1):
        row = since[key]
        while row < starts[key + 1]:
            reached = end[key] == NEVER
            if not reached and doubles:
                reached = double_of(order[row]) >= double_of(end[key]) - overlap_real
            elif not reached:
                reached = order[row] >= end[key] - overlap
            if reached and what[row] == REAL:
                if found[row].fits == -2:
                    break
                if found[row].fits >= 0:
                    chosen[row] = found[row].fits == 1
                    end[key] = found[row].end
            row += 1
        needed[key] = row


@kernel(NONE, INTS, INTS, BYTES, FOUND_ARRAY, OUT_BYTES, OUT_INTS, OUT_INTS)
def choose_cover(
    starts: Ints,
    order: Ints,
    what: Bytes,
    found: Any,
    chosen: Bytes,
    needed: Ints,
    covered: Ints,
) -> None:
    """Choose the fewest frames that leave out no row that lies in one.

    Of the frames that hold the first uncovered row, the one that ends last is chosen. ``covered``
    has for each key the last row that has been processed.
    """
    for key in range(len(starts) - 1):
        row = starts[key]
        oldest = row  # no frame from before it holds an uncovered row
        while row < starts[key + 1]:
            if what[row] != REAL or order[row] <= covered[key]:
                row += 1
                continue
            best = -1
            known = True
            for first in range(oldest, row + 1):
                if found[first].fits == -2:
                    known = False
                    break
                holds = found[first].fits == 1 and found[first].high > row
                if holds and (best < 0 or found[first].high >= found[best].high):
                    best = first
            if not known:
                break
            covered[key] = order[row]
            if best >= 0:
                chosen[best] = 1
                covered[key] = order[found[best].high - 1]
            row += 1
            # The chosen frame reaches farthest of those up to here, and all its rows are covered.
            oldest = row
        while (
            oldest < row
            and found[oldest].fits != -2
            and not (found[oldest].fits == 1 and found[oldest].high > row)
        ):
            oldest += 1
        needed[key] = oldest
