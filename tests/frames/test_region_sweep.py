"""Regions against every rectangle of a grid, tried one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.kernels.numbers.order_keys import doubles_order, order_doubles
from muntin.operators.frames.region_sweep import (
    Limits,
    Positions,
    Rectangles,
    RegionCells,
    RegionSweep,
    regions,
)
from muntin.specs.axis import Axis, Domain

Ints = npt.NDArray[np.int64]
WHOLE = Axis(Domain.INTEGER)
TENTHS = Axis(Domain.DOUBLE, digits=1)
#: A row: (on, position, condition); the condition is 0, 1 or 2 for null.
Row = tuple[int, float, int]
#: A region: (start, low, end, high, n, n_missing, its rows).
Told = tuple[int, float, int, float, int, int, tuple[Row, ...]]


def ints(values: object) -> Ints:
    return np.array(values, np.int64)


@dataclass(frozen=True)
class Grid:
    """The rows of a key, cell by cell."""

    rows: Sequence[Row]
    limits: Limits
    axis: Axis

    @property
    def columns(self) -> list[int]:
        return sorted({on for on, _, _ in self.rows})

    @property
    def positions(self) -> list[float]:
        return sorted({at for _, at, _ in self.rows})

    def tables(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which cells exist, and which of them satisfy."""
        held = {(on, at): condition for on, at, condition in self.rows}
        born = {at: min(on for on, p, _ in self.rows if p == at) for at in self.positions}
        exists = np.array([[born[at] <= on for at in self.positions] for on in self.columns])
        read = [[held.get((on, at), 2) for at in self.positions] for on in self.columns]
        good = (np.array(read) == 1) | (self.limits.bridged & (np.array(read) == 2))
        return exists, exists & good

    def maximal(self) -> list[tuple[int, int, int, int]]:
        """Return the maximal rectangles: (first, last column, first, last position)."""
        exists, good = self.tables()
        spans = itertools.product(_intervals(len(self.columns)), _intervals(len(self.positions)))
        valid = [
            (s, t, a, b)
            for (s, t), (a, b) in spans
            if good[s : t + 1, a].all()
            and good[s : t + 1, b].all()
            and (good | ~exists)[s : t + 1, a : b + 1].all()
        ]
        found: list[tuple[int, int, int, int]] = []
        for r in sorted(valid, key=lambda r: (r[0] - r[1] - 1) * (r[3] - r[2] + 1)):
            s, t, a, b = r
            if not any(q[0] <= s and t <= q[1] and q[2] <= a and b <= q[3] for q in found):
                found.append(r)
        return found

    def told(self, s: int, t: int, a: int, b: int) -> Told:
        start, end, low, high = (
            self.columns[s],
            self.columns[t],
            self.positions[a],
            self.positions[b],
        )
        inside = tuple(r for r in self.rows if start <= r[0] <= end and low <= r[1] <= high)
        n = sum(condition == 1 for _, _, condition in inside)
        cells = int(self.tables()[0][s : t + 1, a : b + 1].sum())
        return start, low, end, high, n, cells - n, inside

    def duration(self, told: Told) -> float:
        if self.axis is TENTHS:
            return told[2] / 10 - told[0] / 10
        return told[2] - told[0]

    def meets(self, told: Told) -> bool:
        limits, count, duration = self.limits, told[4] + told[5], self.duration(told)
        unit = 10 if self.axis is TENTHS else 1
        return (
            told[3] - told[1] >= (limits.min_extent or 0)
            and (limits.min_count or 0) <= count <= (limits.max_count or count)
            and duration >= (limits.min_duration or 0) / unit
            and (limits.max_duration is None or duration <= limits.max_duration / unit)
        )

    def wanted(self) -> list[Told]:
        every = [self.told(*rectangle) for rectangle in self.maximal()] if self.rows else []
        every = [told for told in every if self.meets(told)]
        if self.limits.prefer == "all":
            return sorted(every)
        sizes = {told: (-self.duration(told), told[1] - told[3]) for told in every}
        turn = 1 if self.limits.prefer == "longest" else -1
        taken: list[Told] = []
        for told in sorted(every, key=lambda r: (*sizes[r][::turn], r[0], r[1])):
            if not any(_share(told, other) for other in taken):
                taken.append(told)
        return sorted(taken)


def _share(r: Told, q: Told) -> bool:
    return r[0] <= q[2] and q[0] <= r[2] and r[1] <= q[3] and q[1] <= r[3]


def _intervals(size: int) -> list[tuple[int, int]]:
    return [(low, high) for low in range(size) for high in range(low, size)]


class Stream:
    """Calls :func:`regions` as an operator does, step by step, for some keys."""

    def __init__(self, keys: int, limits: Limits, axis: Axis) -> None:
        self.limits, self.axis = limits, axis
        if not limits.doubles and limits.min_extent is not None:
            self.limits = replace(limits, min_extent=round(limits.min_extent * 2))
        self.held: list[list[Row]] = [[] for _ in range(keys)]
        self.told: list[list[Told]] = [[] for _ in range(keys)]
        self.positions, self.waiting = Positions.none(), Rectangles.none()

    def step(self, new: Sequence[Sequence[Row]], ended: bool = False) -> RegionSweep:
        given_ = [[*held, *more] for held, more in zip(self.held, new, strict=True)]
        rows = [row for mine in given_ for row in mine]
        starts = ints([0, *itertools.accumulate(map(len, given_))])
        cells = RegionCells(
            starts,
            self._orders([on for on, _, _ in rows]),
            self._positions([at for _, at, _ in rows]),
            np.array([condition for _, _, condition in rows], np.uint8),
            ints([len(mine) for mine in self.held]),
        )
        found = regions(
            cells,
            self.positions,
            self.waiting,
            axis=self.axis,
            limits=self.limits,
            ended=ended,
        )
        for key, told in self._told(found, rows):
            self.told[key].append(told)
        self.held = [
            mine[needed - start :]
            for mine, needed, start in zip(given_, found.needed.tolist(), starts, strict=False)
        ]
        self.positions, self.waiting = found.positions, found.waiting
        return found

    def _orders(self, on: list[int]) -> Ints:
        return doubles_order(np.array(on, np.float64) / 10) if self.axis is TENTHS else ints(on)

    def _positions(self, at: list[float]) -> Ints:
        """Return doubles by their order, or counted in halves."""
        return doubles_order(np.array(at)) if self.limits.doubles else ints([a * 2 for a in at])

    def _at(self, position: Any) -> float:
        if self.limits.doubles:
            return float(order_doubles(ints([position]))[0])
        return float(position) / 2

    def _on(self, order: Any) -> int:
        if self.axis is TENTHS:
            return round(float(order_doubles(ints([order]))[0]) * 10)
        return int(order)

    def _told(self, found: RegionSweep, rows: list[Row]) -> Iterator[tuple[int, Told]]:
        r = found.found
        for frame in range(len(r)):
            start, end = self._on(r.start[frame]), self._on(r.end[frame])
            low, high = self._at(r.low[frame]), self._at(r.high[frame])
            inside = tuple(rows[row] for row in found.member[found.member_of == frame])
            counts = int(r.n[frame]), int(r.n_missing[frame])
            yield int(r.key[frame]), (start, low, end, high, *counts, inside)


def drawn(picture: str) -> list[Row]:
    """Return the rows of a grid: a line per position from 0; x true, o false, ? null, . no row."""
    lines = [line.strip() for line in picture.strip().splitlines()]
    conditions = {"o": 0, "x": 1, "?": 2}
    return sorted(
        (on, float(at), conditions[sign])
        for at, line in enumerate(reversed(lines))
        for on, sign in enumerate(line)
        if sign != "."
    )


def boxes(stream: Stream) -> list[tuple[int, int, float, float]]:
    return [(start, end, low, high) for start, low, end, high, *_ in stream.told[0]]


PICTURE = """
    ooxxxxo
    oxxxxoo
    oxxooxx
    oooooxx
"""


def test_prefer() -> None:
    """Regions overlap: at position 2 columns 1 to 4, with 3 from 2 on, with 1 up to 2."""
    every = [
        (1, 4, 2.0, 2.0),
        (1, 2, 1.0, 2.0),
        (2, 2, 1.0, 3.0),
        (2, 4, 2.0, 3.0),
        (2, 5, 3.0, 3.0),
        (5, 6, 0.0, 1.0),
    ]
    wanted = {
        "all": sorted(every, key=lambda r: (r[0], r[2], r[1], r[3])),
        "longest": [(1, 4, 2.0, 2.0), (2, 5, 3.0, 3.0), (5, 6, 0.0, 1.0)],
        "widest": [(2, 2, 1.0, 3.0), (5, 6, 0.0, 1.0)],
    }
    for prefer, told in wanted.items():
        stream = Stream(1, Limits(prefer=prefer), WHOLE)  # type: ignore[arg-type]
        stream.step([drawn(PICTURE)], ended=True)
        assert boxes(stream) == told


def test_a_position_that_comes_later() -> None:
    """A new position between edges does not matter; at an edge a region begins with it."""
    stream = Stream(1, Limits(prefer="all"), WHOLE)
    stream.step([drawn("xxxx\n..xx\nxxxx")], ended=True)
    assert boxes(stream) == [(0, 3, 0.0, 2.0)]
    assert stream.told[0][0][4:6] == (10, 0)
    stream = Stream(1, Limits(prefer="all"), WHOLE)
    stream.step([drawn("..xx\nxxxx")], ended=True)
    assert boxes(stream) == [(0, 3, 0.0, 0.0), (2, 3, 0.0, 1.0)]


def test_bridged_cells() -> None:
    stream = Stream(1, Limits(bridged=True), WHOLE)
    stream.step([drawn("x?x.x\nxxxxx")], ended=True)
    assert [told[:6] for told in stream.told[0]] == [(0, 0.0, 4, 1.0, 8, 2)]


def test_what_is_over_waits_for_what_starts_before_it() -> None:
    stream = Stream(1, Limits(prefer="all"), WHOLE)
    rows = drawn("oxoo\noooo\nxxxo")
    stream.step([rows[:9]])
    assert boxes(stream) == []
    assert stream.held[0] == rows[:9]
    stream.step([rows[9:]])
    assert boxes(stream) == [(0, 2, 0.0, 0.0), (1, 1, 2.0, 2.0)]
    assert stream.held[0] == []


def test_a_rectangle_that_became_too_long_holds_nothing_up() -> None:
    limits = Limits(prefer="longest", max_duration=1)
    stream = Stream(1, limits, WHOLE)
    rows = drawn("oxxo\noooo\nxxxx")
    stream.step([rows])
    assert boxes(stream) == [(1, 2, 2.0, 2.0)]
    assert stream.held[0] == []


@st.composite
def grids(draw: st.DrawFn, largest: int) -> list[Row]:
    columns, positions = draw(st.integers(0, largest)), draw(st.integers(1, largest))
    signs = draw(st.sampled_from(["xxxxxo.", "xxo?.", "xo", "xxxx?."]))
    on = draw(st.lists(st.integers(0, 30), min_size=columns, max_size=columns, unique=True))
    rows = []
    for at in range(positions):
        born = draw(st.integers(0, 3) | st.just(0))
        line = draw(st.lists(st.sampled_from(signs), min_size=columns, max_size=columns))
        rows += [
            (when, at / 2, "ox?".index(sign))
            for when, sign in list(zip(sorted(on), line, strict=True))[born:]
            if sign != "."
        ]
    return sorted(rows)


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    return Limits(
        prefer=draw(st.sampled_from(["longest", "widest", "all"])),
        bridged=draw(st.booleans()),
        doubles=draw(st.booleans()),
        min_extent=draw(st.sampled_from([None, None, 0.5, 1.0])),
        min_duration=draw(st.none() | st.integers(1, 5)),
        max_duration=draw(st.none() | st.integers(5, 20)),
        min_count=draw(st.none() | st.integers(1, 4)),
        max_count=draw(st.none() | st.integers(4, 12)),
    )


AXES = st.sampled_from([WHOLE, TENTHS])


@settings(max_examples=100, deadline=None)
@given(grids(12), limits(), AXES)
def test_all_at_once(rows: list[Row], asked: Limits, axis: Axis) -> None:
    stream = Stream(1, asked, axis)
    stream.step([rows], ended=True)
    assert stream.told[0] == Grid(rows, asked, axis).wanted()


@settings(max_examples=300, deadline=None)
@given(st.lists(grids(7), min_size=1, max_size=3), limits(), AXES, st.data())
def test_any_split_finds_the_same(
    keys: list[list[Row]], asked: Limits, axis: Axis, data: st.DataObject
) -> None:
    cuts = st.lists(st.integers(0, 31), max_size=4).map(lambda on: [-1, *sorted(on), 31])
    edges = data.draw(st.lists(cuts, min_size=len(keys), max_size=len(keys)))
    stream = Stream(len(keys), asked, axis)
    for step in range(max(map(len, edges))):
        upto = [mine[step : step + 2] for mine in edges]
        stream.step(
            [
                [row for row in rows if len(cut) == 2 and cut[0] <= row[0] < cut[1]]
                for rows, cut in zip(keys, upto, strict=True)
            ]
        )
    found = stream.step([[] for _ in keys], ended=True)
    assert stream.told == [Grid(rows, asked, axis).wanted() for rows in keys]
    assert len(found.waiting) == 0
    assert not any(stream.held)


@settings(max_examples=100, deadline=None)
@given(grids(7).filter(bool), limits())
def test_nothing_waits_where_no_position_satisfies(rows: list[Row], asked: Limits) -> None:
    stream = Stream(1, asked, WHOLE)
    rows += [(99, at, 0) for at in sorted({at for _, at, _ in rows})]
    stream.step([rows])
    assert stream.told[0] == Grid(rows, asked, WHOLE).wanted()
    assert stream.held[0] == []
