"""Streams, questions and slow references for the tests of synopses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from muntin.aggregates.synopses.protocol import SynopsisKind
from muntin.kernels.arrays import Floats, Ints


@dataclass(frozen=True)
class Stream:
    """Rows in order, questions, and where the rows are cut into runs."""

    ticks: Ints
    values: Floats
    starts: Ints
    ends: Ints
    cuts: tuple[int, ...]

    def inside(self, question: int) -> Floats:
        """Return the values of the rows that a question is about, without nulls."""
        rows = (self.ticks >= self.starts[question]) & (self.ticks < self.ends[question])
        chosen: Floats = self.values[rows]
        return chosen[~np.isnan(chosen)]


def answers(
    kind: SynopsisKind, stream: Stream, columns: Sequence[Floats] | None = None
) -> list[Floats]:
    """Feed the stream's runs; between them dump, load, and forget what is not needed any more."""
    columns = [stream.values] if columns is None else columns
    stops = np.searchsorted(stream.ticks, stream.ends)
    synopsis = kind.new()
    collected = []
    answered, begin = 0, 0
    for cut in (*stream.cuts, len(stream.ticks)):
        until = int(np.searchsorted(stops, cut, side="right"))
        rows, questions = slice(begin, cut), slice(answered, until)
        columns_of_run = synopsis.run(
            stream.ticks[rows],
            [column[rows] for column in columns],
            stream.starts[questions],
            stream.ends[questions],
        )
        collected.append(columns_of_run)
        begin, answered = cut, until
        if answered < len(stream.starts):
            synopsis.forget(int(stream.starts[answered]))
        synopsis = kind.load(synopsis.dump())
    return [np.concatenate(parts) for parts in zip(*collected, strict=True)]


def streams(
    values: st.SearchStrategy[float | None], longest: int = 80
) -> st.SearchStrategy[Stream]:
    """Draw streams with ties and gaps, windows that slide by any steps, and any cuts."""
    gaps = st.sampled_from([0, 0, 1, 1, 1, 2, 7, 40])

    @st.composite
    def made(draw: st.DrawFn) -> Stream:
        rows = draw(st.lists(st.tuples(gaps, values), max_size=longest))
        ticks = np.cumsum([gap for gap, _ in rows], dtype=np.int64)
        given = np.array([np.nan if v is None else v for _, v in rows], np.float64)
        end = int(ticks[-1]) + 2 if len(ticks) else 2
        ends = np.sort(draw(st.lists(st.integers(0, end), max_size=12)))
        lengths = draw(st.lists(st.integers(1, end), min_size=len(ends), max_size=len(ends)))
        starts = np.maximum.accumulate(np.array(ends, np.int64) - np.array(lengths, np.int64))
        cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=4)))
        return Stream(ticks, given, starts, np.array(ends, np.int64), tuple(cuts))

    return made()


class StepByStep:
    """Algorithm Insert of [Exponential histograms 2.1], one unit at a time.

    Each bucket has a timestamp.
    """

    def __init__(self, half_k: int) -> None:
        self.half_k = half_k
        self.buckets: list[tuple[int, int]] = []  # (tick, size), the oldest first

    def insert(self, tick: int, units: int = 1) -> None:
        for _ in range(units):
            self.buckets.append((tick, 1))
            size = 1
            while sum(other == size for _, other in self.buckets) == self.half_k + 2:
                place = next(i for i, (_, other) in enumerate(self.buckets) if other == size)
                newer = self.buckets[place + 1][0]
                self.buckets[place : place + 2] = [(newer, 2 * size)]
                size *= 2

    def forget(self, below: int) -> None:
        self.buckets = [bucket for bucket in self.buckets if bucket[0] >= below]

    def total_and_last(self, start: int) -> tuple[int, int]:
        sizes = [size for tick, size in self.buckets if tick >= start]
        return sum(sizes), sizes[0] if sizes else 0
