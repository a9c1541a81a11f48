"""Regions: maximal rectangles of ``on`` and a second attribute [Frames, appendix H].

:func:`regions` takes the rows of some keys, those it asked to hold and then new ones, and says
which regions are certain. It remembers of every position from when it exists and satisfies
(:class:`Positions`), so that no column is swept twice, and the regions that are over but wait
(:class:`Rectangles`). Rows are held for what they add to a region, not to find it.

A region is over when a column breaks it. Until then any part of it may become one, so what shares
a cell with it is undecided (unless every region is reported), and what starts after it waits:
regions are numbered by their start.
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
    """What a region must be, durations in ticks; ``bridged``: missing cells satisfy.

    Extents are differences of positions, which are orders of ``doubles`` or integers themselves.
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

    ``condition`` is 0 for false, 1 for true and 2 for null; ``held`` how many rows of each key, its
    first, were given before. No row to come lies in a column that is given.
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
    """Every position a key has had, from when it exists and from when it satisfies now."""

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
        """Return the order in which they are numbered."""
        return np.lexsort((self.high, self.end, self.low, self.start, self.key))


@dataclass(frozen=True)
class RegionSweep:
    """Regions that are certain, in the order of their numbers, and what to remember.

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
    """Return the regions that have become certain; with ``ended`` all that are left."""
    swept, positions = _swept(cells, positions, limits)
    rectangles = _rectangles(swept, positions)
    duration = _duration(rectangles, axis)
    over = (swept["open"] == 0) | ended
    met = over & _meets(duration, rectangles.n + rectangles.n_missing, axis, limits)
    # Parts of an open rectangle are as long as it is, and have a cell in every column.
    alive = ~over & _not_beyond(duration, swept["columns"], axis, limits)
    opened = rectangles.take(alive)
    closed = rectangles.take(met).with_(waiting)
    outcome = _outcome(closed, opened, len(cells.held), axis, limits)
    left = outcome != LEFT_OUT
    found, waiting = _in_turn(closed.take(left), outcome[left], opened, len(cells.held))
    member_of, member = _members(cells, found)
    needed = _needed(cells, (opened, waiting))
    return RegionSweep(found, member_of, member, needed, positions, waiting)


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
    # Where nothing is new, that is after the last column of the key.
    column_starts = np.searchsorted(column_key, keys)
    fresh = np.append(column, 0)[np.minimum(cells.starts[:-1] + cells.held, len(column))]
    some_new = cells.held < np.diff(cells.starts)
    found = sweep(
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
    return dict(zip(FOUND, found.T, strict=True)), Positions(key, at, first, since)


def _least_extent(limits: Limits) -> tuple[int, int, float]:
    """What extents are, and what they have to be: more than bits without a sign, or so much."""
    if limits.min_extent is None:
        return ANY_EXTENT, 0, 0.0
    if limits.doubles:
        return REAL_EXTENT, 0, float(limits.min_extent)
    less = int(limits.min_extent) - 1
    return WHOLE_EXTENT, less - 2**64 if less >= 2**63 else less, 0.0


def _narrowness(rectangles: Rectangles, limits: Limits) -> Floats | npt.NDArray[np.uint64]:
    """Numbers that are the less the farther a rectangle reaches along."""
    low, high = (np.ascontiguousarray(edge) for edge in (rectangles.low, rectangles.high))
    if limits.doubles:
        with np.errstate(invalid="ignore"):  # an infinity less itself
            extent = order_doubles(high) - order_doubles(low)
        return np.where(high == low, 0.0, -extent)
    return ~(high.view(np.uint64) - low.view(np.uint64))


def _distinct(key: Ints, value: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distinct pairs in order, and for each pair given the number of its own."""
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
    """In ticks, or on doubles in double arithmetic."""
    if axis.domain is not Domain.DOUBLE:
        return rectangles.end - rectangles.start
    return order_doubles(rectangles.end) - order_doubles(rectangles.start)


def _length(ticks: int, axis: Axis) -> float:
    """Return a length to compare durations with."""
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
    """Return what becomes of each rectangle that is over."""
    if limits.prefer == "all":
        return np.full(len(closed), TAKEN)
    sizes = [np.negative(_duration(closed, axis)), _narrowness(closed, limits)]
    if limits.prefer == "widest":
        sizes.reverse()
    ranked = np.lexsort((closed.low, closed.start, sizes[1], sizes[0], closed.key))
    mine, outcome = closed.take(ranked), np.empty(len(closed), np.int64)
    every = np.arange(keys + 1)
    prefer(
        np.searchsorted(mine.key, every),
        mine.start,
        mine.end,
        mine.low,
        mine.high,
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
    """Those taken that nothing still undecided can come before, and the rest, which waits.

    What an open rectangle becomes has its start, no smaller ``low``, and ends after all others.
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


def _members(cells: RegionCells, found: Rectangles) -> tuple[Ints, Ints]:
    """Return the rows of each rectangle, as pairs."""
    given = (
        *(cells.starts, cells.order, cells.position),
        *(found.key, found.start, found.end, found.low, found.high),
    )
    count = members(*given, _NO_INTS, _NO_INTS)
    of, row = np.empty(count, np.int64), np.empty(count, np.int64)
    members(*given, of, row)
    return of, row


def _needed(cells: RegionCells, undecided: tuple[Rectangles, ...]) -> Ints:
    """Return the first row of each key that lies in something undecided, or after its start."""
    earliest = np.full(len(cells.held), EVER)
    for rectangles in undecided:
        np.minimum.at(earliest, rectangles.key, rectangles.start)
    key = cells.key
    held = np.bincount(key[cells.order >= earliest[key]], minlength=len(earliest))
    needed: Ints = cells.starts[1:] - held
    return needed
