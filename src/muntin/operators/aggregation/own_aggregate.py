"""Sliding a user's own aggregate over panes, with few calls on long columns.

A user's ``merge`` works on whole columns, and each call is a call into Python, so it must not be
called once per pane. The two-stacks method (docs, Panes) needs, for stretches that share a middle,
every running merge up to the middle and every running merge from it. Both are scans. A scan over n
rows is made from a scan over the n/2 pairs of neighbours. This takes about 2n merged pairs in 2
log(longest stretch) calls, for any overlap. With ``remove``, one scan and one removal per window
are enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from muntin.aggregates.own_aggregate import CheckedAggregate
from muntin.kernels.arrays import Ints
from muntin.kernels.sliding import middles

Columns = Sequence[pa.Array]
#: About how many bytes of panes a scan takes at once.
BYTES_AT_ONCE = 64 * 2**20


def slide_own(own: CheckedAggregate, columns: Columns, low: Ints, high: Ints) -> list[pa.Array]:
    """Return one partial row per stretch ``[low, high)``; none is empty, both ends only rise."""
    if len(low) == 0:
        return [column.slice(0, 0) for column in columns]
    if (high - low == 1).all():
        return _taken(columns, low)
    method = _by_removal if own.own.differential else _by_two_stacks
    pieces = [method(own, columns, low[cut], high[cut]) for cut in _cuts(columns, low, high)]
    return [pa.concat_arrays(parts) for parts in zip(*pieces, strict=True)]


def _cuts(columns: Columns, low: Ints, high: Ints) -> Iterator[slice]:
    """Yield the windows to make together; scans copy what they merge, and sketches are large.

    Each cut scans one longest stretch again, so a cut covers several times that length.
    """
    size = sum(column.nbytes for column in columns) / max(1, len(columns[0]))
    rows = max(4 * int((high - low).max()), int(BYTES_AT_ONCE / max(1.0, size)))
    start = 0
    while start < len(low):
        stop = int(np.searchsorted(high, low[start] + rows, side="right"))
        yield slice(start, stop)
        start = stop


def _by_two_stacks(
    own: CheckedAggregate, columns: Columns, low: Ints, high: Ints
) -> list[pa.Array]:
    middle = np.empty(len(low), np.int64)
    middles(low, high, middle)
    rows = np.arange(low[0], high[-1])
    # A segment is the rows between two middles; a running merge stays within its segment.
    segment = np.searchsorted(np.unique(middle), rows, side="right")
    parts = _taken(columns, rows)
    backwards = np.arange(len(rows))[::-1]
    older = _running(own, _taken(parts, backwards), segment[::-1])
    # A stretch has older rows up to its middle, and may have newer rows after it.
    first_parts = _taken(older, len(rows) - 1 - (low - low[0]))
    both = np.flatnonzero(high > middle)
    if len(both) == 0:
        return first_parts
    newer = _running(own, parts, segment)
    ends = _taken(newer, high[both] - 1 - low[0])
    number = np.concatenate([np.arange(len(low)), both])
    return own.merge(_joined(first_parts, ends), number, len(low))


def _by_removal(own: CheckedAggregate, columns: Columns, low: Ints, high: Ints) -> list[pa.Array]:
    """Remove the running merge up to the start from the running merge up to the end."""
    rows = np.arange(low[0], high[-1])
    # A stretch that overlaps no earlier one begins a new segment; so every key begins one.
    fresh = np.append(True, low[1:] >= np.maximum.accumulate(high)[:-1])
    start = low[np.maximum.accumulate(np.where(fresh, np.arange(len(low)), 0))]
    segment = np.searchsorted(low[fresh], rows, side="right")
    running = _running(own, _taken(columns, rows), segment)
    up_to_end = _taken(running, high - 1 - low[0])
    later = np.flatnonzero(low > start)
    if len(later) == 0:
        return up_to_end
    before = _taken(running, low[later] - 1 - low[0])
    rest = own.remove(_taken(up_to_end, later), before)
    place = np.arange(len(low))
    place[later] = len(low) + np.arange(len(later))
    return _taken(_joined(up_to_end, rest), place)


def _running(own: CheckedAggregate, columns: Columns, segment: Ints) -> list[pa.Array]:
    """Merge every row with all earlier rows of its segment; rows are sorted by segment.

    Pairs of neighbours are merged, and the pairs are scanned in the same way. Then each row that
    does not end a pair is merged with the pair before it.
    """
    rows = len(segment)
    place = np.arange(rows)
    begins = np.append(True, segment[1:] != segment[:-1])
    inside = place - np.maximum.accumulate(np.where(begins, place, 0))
    if not inside.any():
        return list(columns)
    pair = np.cumsum(inside % 2 == 0) - 1
    pairs = own.merge(columns, pair, int(pair[-1]) + 1)
    second = inside % 2 == 1
    scanned = _running(own, pairs, segment[inside % 2 == 0])
    # The first row of a segment stays as it is; the second row of a pair takes the pair.
    joined = _joined(columns, scanned)
    taken = _taken(joined, np.where(second, rows + pair, place))
    third = np.flatnonzero((inside % 2 == 0) & (inside > 0))
    if len(third) == 0:
        return taken
    before = _taken(scanned, pair[third] - 1)
    both = np.tile(np.arange(len(third)), 2)
    merged = own.merge(_joined(before, _taken(columns, third)), both, len(third))
    place[third] = rows + np.arange(len(third))
    return _taken(_joined(taken, merged), place)


def _taken(columns: Columns, rows: Ints) -> list[pa.Array]:
    places = pa.array(rows)
    return [column.take(places) for column in columns]


def _joined(first: Columns, second: Columns) -> list[pa.Array]:
    return [pa.concat_arrays([above, below]) for above, below in zip(first, second, strict=True)]
