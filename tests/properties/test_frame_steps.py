"""When frames are reported: as soon as they are certain, and never earlier.

A frame is certain after a micro-batch if the reference finds it however the stream goes on. So the
reference runs on the rows that punctuation has passed many times, each time with other rows after
them. The frames that it finds every time are compared with those reported by then.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from hypothesis import example, given

from muntin.operators.protocol import InputBatch, MapSide, Operator, State, Step
from muntin.reference.arrivals import Arrivals, arrive
from muntin.reference.windows import END, MicroBatch, Outcome
from muntin.specs.axis import Domain
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Between, Boundary
from muntin.specs.frames.pattern import Pattern
from muntin.specs.frames.row_kinds import Cluster, Density, Region
from muntin.specs.frames.schemes import Schedule
from tests.properties.arriving import ON_TYPES, renamed
from tests.properties.framings import VALUES, FrameCase, Row, frame_cases
from tests.thorough import examples

#: Values of the rows with which streams go on.
NEXT = [value for value in VALUES[:16] if value["v"] is None or value["v"] == value["v"]]
Told = Counter[tuple[Any, ...]]


@dataclass
class Watched:
    """An operator that records the results of each step."""

    work: Operator
    told: list[list[Row]] = field(default_factory=list)

    @property
    def map_sides(self) -> Sequence[MapSide]:
        return self.work.map_sides

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        step = self.work.step(state, inputs)
        self.told.append([renamed(row) for row in step.results.to_pylist()])
        return step


@dataclass(frozen=True)
class Prefix:
    """A stream up to one of its micro-batches."""

    case: FrameCase
    batches: Sequence[MicroBatch]

    def certain(self) -> Told:
        """Return the frames that the reference finds however the stream goes on."""
        always: Told | None = None
        for rows in self.futures():
            batches = [*self._passed(), MicroBatch(rows, END)]
            frames = counted(self.case.reference().run(batches).results)
            always = frames if always is None else always & frames
        assert always is not None
        return always

    @property
    def _known(self) -> Arrivals:
        case = self.case
        return arrive(Outcome(), self.batches, case.axis, "on", case.by, lambda row: None)

    def _passed(self) -> list[MicroBatch]:
        """Return the micro-batches with their final rows only; others may still change."""
        known = self._known
        if self._follows_on:
            return list(self.batches)
        return [
            replace(batch, rows=[row for row in batch.rows if self._is_final(row, known)])
            for batch in self.batches
        ]

    @property
    def _follows_on(self) -> bool:
        """True if rows are final without punctuation, because no slot of a schedule is missing."""
        return self.case.framing.schedule is not None and self.case.framing.ties == "fail"

    def _is_final(self, row: Row, known: Arrivals) -> bool:
        tick, complete = self.case.axis.tick(row["on"]), known.complete((row["k"],))
        if row["on"] is None or row["on"] != row["on"] or tick is None:
            return True  # the row is refused
        return complete is not None and self._slot(tick) < self._slot(complete)

    def _slot(self, tick: int) -> int:
        schedule, axis = self.case.framing.schedule, self.case.axis
        if schedule is None:
            return tick
        return (tick - schedule.start(axis)) // schedule.period(axis)

    def futures(self) -> Iterator[list[Row]]:
        """Yield rows that may follow: none, one that is near or far, or two.

        A frame may go on with the values that it has, so rows that came also follow once more.
        """
        yield []
        for value in self._values():
            yield self._coming(0, [value])
        for place, value in enumerate(NEXT):
            yield self._coming(place % 3 if place % 5 else 40, [value])
        for place, value in enumerate(NEXT[:4]):
            yield self._coming(place % 2, [value, NEXT[-1 - place]])

    def _values(self) -> list[Row]:
        """Return the values of the rows so far, each once."""
        came = [row for batch in self.batches for row in batch.rows]
        values: list[Row] = [{name: row[name] for name in NEXT[0]} for row in came]
        return [value for place, value in enumerate(values) if value not in values[:place]]

    def _coming(self, ahead: int, values: Sequence[Row]) -> list[Row]:
        known = self._known
        lowest = self._lowest
        following = []
        taken = set()
        for row in (row for batch in self.batches for row in batch.rows if self._follows_on):
            tick = self.case.axis.tick(row["on"]) if _on(row) else None
            taken |= set() if tick is None else {(row["k"], self._slot(tick))}
        for key in ("a", "b", None):
            complete = known.complete((key,))
            tick = (
                lowest - 2 * self.case.unit if complete is None else complete
            ) + ahead * self.case.unit
            for value in values:
                until = self.case.axis.value(tick + value["tie"] % 4 * self.case.unit)
                on = {"on": self.case.axis.value(tick), "until": until}
                if (key, self._slot(tick)) not in taken:
                    following.append({**value, **on, "k": key, "q": None, "mark": False})
                tick += (
                    1 + value["tie"] % 3 + (5 if self.case.framing.schedule else 0)
                ) * self.case.unit
        return following

    @property
    def _lowest(self) -> int:
        """The lowest tick of the rows so far, or one near the rows that come."""
        axis = self.case.axis
        came = [axis.tick(row["on"]) for batch in self.batches for row in batch.rows if _on(row)]
        # Tick 0 may be years from the punctuation, and the reference lays out all slots between.
        near = axis.tick(ON_TYPES[self.case.domain][2](0))
        assert near is not None
        return min((tick for tick in came if tick is not None), default=near)


def _on(row: Row) -> bool:
    return row["on"] is not None and row["on"] == row["on"]


def counted(rows: Sequence[Row]) -> Told:
    names = ("k", "frame_id", "frame_start", "frame_end", "n", "n_missing", "status")
    return Counter(tuple(row[name] for name in names) for row in rows)


def is_told_at_once(case: FrameCase) -> bool:
    """True if frames are reported in the micro-batch that makes them certain.

    Frames that overlap or depend on the rows around them may wait longer. Rows of a schedule wait
    for the rows before them.
    """
    framing = case.framing
    around = isinstance(framing.kind, Density | Cluster | Region | Pattern)
    return not (framing.overlapping or around or framing.schedule is not None)


#: No rows come first. The second row changes the value and is not passed, so the frame of the first
#: row is open: a row that comes beside the second may belong to it.
OPEN = FrameCase(
    domain=Domain.TIMESTAMP,
    rule="slack",
    slack=0,
    idle="wait",
    idle_length=0,
    expect=[],
    late="generous",
    batches=[
        [],
        [
            {**VALUES[0], "on": at, "until": at, "k": "a", "q": "x", "mark": None, "v": value}
            for at, value in zip(
                map(ON_TYPES[Domain.TIMESTAMP][2], (-8, -7)), (1.5, 2.0), strict=True
            )
        ],
    ],
    clocks=[None, None],
    framing=Framing(Boundary("v"), "on"),
    column="v",
)
#: A key is punctuated before any row comes, and slots are due from the first row on.
PUNCTUATED = replace(
    OPEN,
    rule="per key",
    told=[("a", 7), None],
    framing=Framing(Boundary("v"), "on", schedule=Schedule("5 seconds")),
)


@examples(200)
@given(frame_cases().filter(lambda case: not case.framing.longest))
@example(OPEN)
@example(PUNCTUATED)
def test_frames_are_reported_when_they_are_certain(case: FrameCase) -> None:
    case = replace(case, calls=())
    watched = Watched(case.operator())
    case.run(watched)  # type: ignore[arg-type]
    batches = case.punctuated()
    reported: Told = Counter()
    for place, batch in enumerate(watched.told[:-1]):
        reported += counted(batch)
        certain = Prefix(case, batches[: place + 1]).certain()
        assert reported <= certain, "earlier than certain"
        assert reported == certain or not is_told_at_once(case), "later than certain"


def test_streams_go_on_near_the_rows_that_come() -> None:
    prefix = Prefix(PUNCTUATED, PUNCTUATED.punctuated()[:1])
    later = [row["on"] for rows in prefix.futures() for row in rows]
    assert max(later) - min(later) < timedelta(minutes=5)


@examples(300)
@given(frame_cases().filter(lambda case: case.framing.fragments is not None))
def test_fragments_lead_to_their_frame(case: FrameCase) -> None:
    case = replace(case, calls=())
    frames = defaultdict(list)
    for row in case.run().results:
        frames[row["k0"], row["frame_id"]].append(row)
    for fragments in frames.values():
        assert len({row["frame_start"] for row in fragments}) == 1
        ends = [row["frame_end"] for row in fragments]
        assert ends == sorted(ends)
        assert [row["n"] for row in fragments] == sorted(row["n"] for row in fragments)
        assert all(row["status"] == "partial" for row in fragments[:-1])
        # The end of a `between` may be missing.
        assert fragments[-1]["status"] == "final" or isinstance(case.framing.kind, Between)
