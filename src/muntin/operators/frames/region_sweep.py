"""Regions: maximal rectangles of ``on`` and a second attribute [Frames, appendix H].

:func:`regions` takes the rows of some keys, first the rows that it asked to hold and then new ones,
and returns the regions that are certain. It remembers from when every position exists and satisfies
(:class:`Positions`), so that no column is swept twice, and the regions that are over but wait
(:class:`Rectangles`). Rows are held because regions aggregate them, not because they find regions.

A region is over when a column breaks it. Until then any part of it may become a region. So every
rectangle that shares a cell with it is undecided (unless every region is reported), and every
rectangle that starts after it waits, because regions are numbered by their start.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import Floats, Ints, Mask
from muntin.kernels.frames.regions import (
    ANY_EXTENT,
    EVER,
    FOUND,
    LEFT_OUT,
    REAL_EXTENT,
    TAKEN,
    UNDECIDED,
    WHOLE_EXTENT,
    members,
    prefer,
    sweep,
)
from muntin.kernels.numbers.order_keys import order_doubles
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.row_kinds import Prefer


@dataclass(frozen=True)
class Limits:
    """The conditions on a region, with durations in ticks; ``bridged``: missing cells satisfy.

    Extents are differences of positions. Positions are orders of ``doubles``, or integers.
    """

    prefer: Prefer = "longest"
    bridged: bool = False
    doubles: bool = False
    min_extent: int | float | None = None
    min_duration: int | None = None
    max_duration: int | None = None
    min_count: int | None = None
    max_count: int | None = None


@dataclass(frozen=True)
class RegionCells:
    """Rows key by key and in order of ``on``; ``starts`` has the row where each key begins.

    ``condition`` is 0 for false, 1 for true and 2 for null. ``held`` is the number of rows of each
    key, its first ones, that came in an earlier step. No later row lies in one of these columns.
    """

    starts: Ints
    order: Ints
    position: Ints
    condition: npt.NDArray[np.uint8]
    held: Ints

    @property
    def key(self) -> Ints:
        return np.repeat(np.arange(len(self.held)), np.diff(self.starts))


@dataclass(frozen=True)
class Positions:
    """Every position of a key: the column since which it exists, and since which it satisfies."""

    key: Ints
    at: Ints
    first: Ints
    since: Ints

    @staticmethod
    def none() -> Positions:
        return Positions(*(_NO_INTS,) * 4)


@dataclass(frozen=True)
class Rectangles:
    """Columns from ``start`` to ``end`` (orders) and positions from ``low`` to ``high``."""

    key: Ints
    start: Ints
    end: Ints
    low: Ints
    high: Ints
    n: Ints
    n_missing: Ints

    @staticmethod
    def none() -> Rectangles:
        return Rectangles(*(_NO_INTS,) * 7)

    def __len__(self) -> int:
        return len(self.key)

    def take(self, which: Ints | Mask) -> Rectangles:
        return Rectangles(*(getattr(self, part.name)[which] for part in fields(self)))

    def with_(self, other: Rectangles) -> Rectangles:
        both = ((getattr(self, part.name), getattr(other, part.name)) for part in fields(self))
        return Rectangles(*(np.concatenate(pair) for pair in both))

    def by_start(self) -> Ints:
        """Return the order in which rectangles are numbered."""
        return np.lexsort((self.high, self.end, self.low, self.start, self.key))


@dataclass(frozen=True)
class RegionSweep:
    """The regions that are certain, in the order of their numbers, and what to remember.

    Region ``member_of[i]`` has the row ``member[i]``. A key's rows from ``needed`` on must be held.
    """

    found: Rectangles
    member_of: Ints
    member: Ints
    needed: Ints
    positions: Positions
    waiting: Rectangles


_NO_INTS = np.empty(0, np.int64)


def regions(
    cells: RegionCells,
    positions: Positions,
    waiting: Rectangles,
    *,
    axis: Axis,
    limits: Limits,
    ended: bool,
) -> RegionSweep:
    """Return the regions that have become certain; if ``ended``, all that are left."""
    swept, positions = _swept(cells, positions, limits)
    rectangles = _rectangles(swept, positions)
    duration = _duration(rectangles, axis)
    over = (swept["open"] == 0) | ended
    met = over & _meets(duration, rectangles.n + rectangles.n_missing, axis, limits)
    # Parts of an open rectangle last as long as it does, and have a cell in every column.
    alive = ~over & _not_beyond(duration, swept["columns"], axis, limits)
    opened = rectangles.take(alive)
    closed = rectangles.take(met).with_(waiting)
    outcome = _outcome(closed, opened, len(cells.held), axis, limits)
    left = outcome != LEFT_OUT
    certain, waiting = _in_turn(closed.take(left), outcome[left], opened, len(cells.held))
    member_of, member = _members(cells, certain)
    needed = _needed(cells, (opened, waiting))
    return RegionSweep(certain, member_of, member, needed, positions, waiting)


def _swept(
    cells: RegionCells, known: Positions, limits: Limits
) -> tuple[dict[str, Ints], Positions]:
    """Return the rectangles of all keys, and the positions up to the last column."""
    keys = np.arange(len(cells.held) + 1)
    place = np.concatenate([known.at, cells.position])
    key, at, number = _distinct(np.concatenate([known.key, cells.key]), place)
    first, since = np.full(len(key), EVER), np.full(len(key), EVER)
    first[number[: len(known.key)]] = known.first
    since[number[: len(known.key)]] = known.since
    column_key, column_order, column = _distinct(cells.key, cells.order)
    # A key without new rows begins after its last column.
    column_starts = np.searchsorted(column_key, keys)
    fresh = np.append(column, 0)[np.minimum(cells.starts[:-1] + cells.held, len(column))]
    some_new = cells.held < np.diff(cells.starts)
    swept = sweep(
        cells.starts,
        column,
        number[len(known.key) :],
        cells.condition,
        column_starts,
        column_order,
        np.where(some_new, fresh, column_starts[1:]),
        np.searchsorted(key, keys),
        at,
        int(limits.bridged),
        *_least_extent(limits),
        first,
        since,
    )
    return dict(zip(FOUND, swept.T, strict=True)), Positions(key, at, first, since)


def _least_extent(limits: Limits) -> tuple[int, int, float]:
    """Return the kind of extents, and the bound: more than an unsigned integer, or a double."""
    if limits.min_extent is None:
        return ANY_EXTENT, 0, 0.0
    if limits.doubles:
        return REAL_EXTENT, 0, float(limits.min_extent)
    less = int(limits.min_extent) - 1
    return WHOLE_EXTENT, less - 2**64 if less >= 2**63 else less, 0.0


def _narrowness(rectangles: Rectangles, limits: Limits) -> Floats | npt.NDArray[np.uint64]:
    """Return numbers that are smaller the wider a rectangle is along the second axis."""
    low, high = (np.ascontiguousarray(edge) for edge in (rectangles.low, rectangles.high))
    if limits.doubles:
        with np.errstate(invalid="ignore"):  # an infinity minus itself
            extent = order_doubles(high) - order_doubles(low)
        return np.where(high == low, 0.0, -extent)
    return ~(high.view(np.uint64) - low.view(np.uint64))


def _distinct(key: Ints, value: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distinct pairs in order, and for each given pair its number among them."""
    place = np.lexsort((value, key))
    key, value = key[place], value[place]
    begins = np.ones(len(key), np.bool_)
    begins[1:] = (key[1:] != key[:-1]) | (value[1:] != value[:-1])
    number = np.empty(len(key), np.int64)
    number[place] = np.cumsum(begins) - 1
    return key[begins], value[begins], number


def _rectangles(swept: dict[str, Ints], positions: Positions) -> Rectangles:
    key, n = swept["key"], swept["n"]
    base = np.searchsorted(positions.key, key)
    low, high = (positions.at[base + swept[edge]] for edge in ("low", "high"))
    return Rectangles(key, swept["start"], swept["end"], low, high, n, swept["cells"] - n)


def _duration(rectangles: Rectangles, axis: Axis) -> Ints | Floats:
    """Return durations in ticks, or on a double axis as doubles."""
    if axis.domain is not Domain.DOUBLE:
        return rectangles.end - rectangles.start
    return order_doubles(rectangles.end) - order_doubles(rectangles.start)


def _length(ticks: int, axis: Axis) -> float:
    """Return a length in the unit of durations."""
    return ticks / 10**axis.digits if axis.domain is Domain.DOUBLE else ticks


def _meets(duration: Ints | Floats, count: Ints, axis: Axis, limits: Limits) -> Mask:
    met = _not_beyond(duration, count, axis, limits)
    if limits.min_duration is not None:
        met &= duration >= _length(limits.min_duration, axis)
    if limits.min_count is not None:
        met &= count >= limits.min_count
    return met


def _not_beyond(duration: Ints | Floats, count: Ints, axis: Axis, limits: Limits) -> Mask:
    within: Mask = np.ones(len(count), np.bool_)
    if limits.max_duration is not None:
        within &= duration <= _length(limits.max_duration, axis)
    if limits.max_count is not None:
        within &= count <= limits.max_count
    return within


def _outcome(closed: Rectangles, opened: Rectangles, keys: int, axis: Axis, limits: Limits) -> Ints:
    """Return the outcome of each rectangle that is over: taken, left out or undecided."""
    if limits.prefer == "all":
        return np.full(len(closed), TAKEN)
    sizes = [np.negative(_duration(closed, axis)), _narrowness(closed, limits)]
    if limits.prefer == "widest":
        sizes.reverse()
    ranked = np.lexsort((closed.low, closed.start, sizes[1], sizes[0], closed.key))
    candidates, outcome = closed.take(ranked), np.empty(len(closed), np.int64)
    every = np.arange(keys + 1)
    prefer(
        np.searchsorted(candidates.key, every),
        candidates.start,
        candidates.end,
        candidates.low,
        candidates.high,
        np.searchsorted(opened.key, every),
        opened.start,
        opened.low,
        opened.high,
        outcome,
    )
    back = np.empty(len(closed), np.int64)
    back[ranked] = outcome
    return back


def _in_turn(
    closed: Rectangles, outcome: Ints, opened: Rectangles, keys: int
) -> tuple[Rectangles, Rectangles]:
    """Return the taken rectangles that no undecided one can precede, and the rest, which waits.

    A region that grows from an open rectangle has its start, no smaller ``low``, and a later end
    than all others.
    """
    place = closed.by_start()
    closed, undecided = closed.take(place), outcome[place] == UNDECIDED
    so_far = np.append(0, np.cumsum(undecided))
    blocked = so_far[1:] > so_far[np.searchsorted(closed.key, closed.key)]
    opened = opened.take(opened.by_start())
    some, earliest = np.unique(opened.key, return_index=True)
    start, low = np.full(keys, EVER), np.full(keys, EVER)
    start[some], low[some] = opened.start[earliest], opened.low[earliest]
    blocked |= closed.start > start[closed.key]
    blocked |= (closed.start == start[closed.key]) & (closed.low > low[closed.key])
    return closed.take(~blocked), closed.take(blocked)


def _members(cells: RegionCells, rectangles: Rectangles) -> tuple[Ints, Ints]:
    """Return the rows of each rectangle, as pairs of rectangle and row."""
    columns = (
        *(cells.starts, cells.order, cells.position),
        *(rectangles.key, rectangles.start, rectangles.end, rectangles.low, rectangles.high),
    )
    count = members(*columns, _NO_INTS, _NO_INTS)
    of, row = np.empty(count, np.int64), np.empty(count, np.int64)
    members(*columns, of, row)
    return of, row


def _needed(cells: RegionCells, undecided: tuple[Rectangles, ...]) -> Ints:
    """Return the first row of each key at or after the start of its undecided rectangles."""
    earliest = np.full(len(cells.held), EVER)
    for rectangles in undecided:
        np.minimum.at(earliest, rectangles.key, rectangles.start)
    key = cells.key
    held = np.bincount(key[cells.order >= earliest[key]], minlength=len(earliest))
    needed: Ints = cells.starts[1:] - held
    return needed
