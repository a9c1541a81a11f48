"""Random fillings of random frames and windows, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from muntin.operators.filling.fill import Fill, Reach
from muntin.operators.filling.operator import Filled
from muntin.operators.filling.segments import Segments
from muntin.semantics.arrivals import arrive
from muntin.semantics.axis import Axis, Domain
from muntin.semantics.errors import ArgumentError
from muntin.semantics.filling import (
    CLOSED,
    HALF_OPEN,
    OPEN,
    Edge,
    Filling,
    FillReference,
    Segment,
)
from muntin.semantics.reference import END, MicroBatch, Outcome
from tests.properties.arriving import LENGTHS, ON_TYPES, Arrivals, arrivals, row_values
from tests.properties.framings import VALUES, FrameCase, frame_cases
from tests.properties.harness import EVERY_SLOT, Called, bound_calls, evaluators
from tests.properties.joining import JointRan, at_once, joint_steps

Row = dict[str, Any]
#: What frames are filled with.
CALLS: tuple[Called, ...] = (
    ("count", (), ()),
    ("sum", (1,), ()),
    ("first", (0,), ()),
    ("last", (2,), ()),
    ("max", (4,), ()),
    ("median", (0,), ()),
)


def common(domain: Domain) -> Axis:
    """Fine enough for every length that is drawn, so that all inputs have one axis."""
    return Axis(domain, digits={Domain.DECIMAL: 1, Domain.DOUBLE: 2}.get(domain, 0))


@dataclass(frozen=True)
class Framed(FrameCase):
    """Frames on the axis that all inputs have."""

    @property
    def axis(self) -> Axis:
        return common(self.domain)


@dataclass(frozen=True)
class Filler(Arrivals):
    """Rows that fill."""

    keyed: bool = True
    chosen: bool = False

    @property
    def axis(self) -> Axis:
        return common(self.domain)

    @property
    def by(self) -> tuple[str, ...]:
        return ("k",) if self.keyed else ()

    def table(self, rows: Sequence[Row]) -> pa.Table:
        made = super().table(rows)
        fills = pa.array([row["b"] for row in rows], pa.bool_())
        made = made.append_column("w", fills)
        return made if self.keyed else made.drop_columns(["k0"])


@dataclass(frozen=True)
class FillCase:
    """Frames, a filling of them, and the rows that fill."""

    frames: Framed
    filler: Filler
    filling: Filling
    calls: Sequence[Called]
    ends: tuple[int, int]

    @property
    def edge(self) -> Edge:
        framing = self.frames.framing
        if framing.bounds == "liberal":
            return OPEN
        return HALF_OPEN if framing.readings == "until_next" else CLOSED

    def operator(self) -> Filled:
        framing, axis = self.frames.framing, self.frames.axis

        def ticks(length: Any) -> int:
            return 0 if length is None else axis.length("length", length)

        segments = Segments(
            operator=self.frames.operator(),
            axis=axis,
            keys=(pa.string(),),
            edge=self.edge,
            fragments=framing.fragments is not None,
        )
        filling = self.filling
        fill = Fill(
            reach=Reach(
                axis, self.edge, ticks(filling.before), ticks(filling.after), ticks(filling.shrink)
            ),
            names=("k0",) if self.filler.keyed else (),
            keys=(pa.string(),) if self.filler.keyed else (),
            shards=("k0",) if self.filler.keyed else (),
            calls=tuple(bound_calls([called])[0] for called in self.calls),
            lateness_type=ON_TYPES[self.frames.domain][1],
            shifts=tuple(ticks(shift) for shift in filling.shifts),
            chosen=self.filler.chosen,
            drops_empty=filling.empty == "drop",
        )
        if self.frames.domain.temporal:
            fill = replace(fill, lateness_type=pa.duration("us"))
        return Filled(segments, (fill,), ("k0",))

    def run(self) -> JointRan:
        return joint_steps(self.operator(), [self.frames, self.filler], self.ends)

    def run_at_once(self) -> JointRan:
        return at_once(self.operator(), [self.frames, self.filler])

    def expected(self) -> tuple[list[Row], Outcome, Outcome]:
        framed = self.frames.expected()
        return self._expected(framed, self.filler.punctuated())

    def expected_at_once(self) -> tuple[list[Row], Outcome, Outcome]:
        framed = self.frames.expected_at_once()
        return self._expected(framed, [MicroBatch(self.filler.data(), END)])

    def _expected(
        self, framed: Outcome, batches: Sequence[MicroBatch]
    ) -> tuple[list[Row], Outcome, Outcome]:
        filler, fragments = self.filler, self.frames.framing.fragments is not None
        filled = Outcome()
        came = arrive(filled, batches, filler.axis, "on", filler.by, lambda row: None)
        left_out = [r for r in filled.refused if r[1] == "late" and not self._fills(r[0])]
        # Nobody misses a late row that would not have filled anything.
        filled.refused = [r for r in filled.refused if r not in left_out]
        filled.used += len(left_out)
        rows = [row for held in came.held.values() for row in held]
        segments = [
            Segment(
                told,
                told["frame_start"],
                told["frame_end"],
                not fragments or told["status"] == "final",
            )
            for told in framed.results
        ]
        reference = FillReference(
            self.filling,
            filler.axis,
            "on",
            self.edge,
            matches=lambda told, row: not filler.keyed or told["k"] == row["k"],
            where=self._fills,
            aggregates={
                f"r{place + len(self.frames.calls)}": evaluators([called])["r0"]
                for place, called in enumerate(self.calls)
            },
        )
        return reference.run(segments, rows), framed, filled

    def _fills(self, row: Any) -> bool:
        return not self.filler.chosen or row["b"] is True

    def told(self, row: Row) -> Row:
        """A result as the reference says it."""
        made = {("k" if name == "k0" else name): value for name, value in row.items()}
        shift = self.filling.shifts[made["shifted"]]
        return {
            ("shift" if name == "shifted" else name): str(shift) if name == "shifted" else value
            for name, value in made.items()
            if name != "shifted" or self.filling.compares
        }


@st.composite
def fillings(draw: st.DrawFn, domain: Domain) -> Filling:
    length = LENGTHS[domain]
    some = st.none() | st.integers(0, 6).map(length)
    shift = st.integers(-8, 8).map(length)
    given = {
        "before": draw(some),
        "after": draw(some),
        "shrink": draw(st.none() | some),
        "shift": draw(st.none() | shift | st.lists(shift, min_size=1, max_size=3, unique=True)),
        "empty": draw(st.sampled_from(["keep", "drop"])),
    }
    try:
        return Filling(**given)
    except ArgumentError:
        return Filling(**{**given, "shrink": None})


@st.composite
def fill_cases(draw: st.DrawFn, domains: Sequence[Domain] = tuple(Domain)) -> FillCase:
    domain = draw(st.sampled_from(domains))
    plain = draw(frame_cases([domain]))
    framed = Framed(**vars(plain))
    values = st.sampled_from(VALUES)
    rows = draw(st.lists(row_values(domain, values), max_size=14))
    keyed = draw(st.integers(0, 3)) > 0
    rules = ("slack", "rows", "marks", "each", *(("per key", "key marks") if keyed else ()))
    filler = Filler(
        **draw(arrivals(domain, rows, rules)), keyed=keyed, chosen=draw(st.integers(0, 3)) == 0
    )
    ends = draw(st.tuples(st.integers(0, 5), st.integers(0, 5)))
    calls = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3, unique=True))
    return FillCase(framed, filler, draw(fillings(domain)), (*EVERY_SLOT, *calls), ends)
