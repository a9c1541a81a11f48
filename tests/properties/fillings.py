"""Random fillings of random frames and windows, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from muntin.errors import ArgumentError
from muntin.operators.fill.operator import FillOperator
from muntin.operators.fill.segments import OperatorSegments
from muntin.operators.fill.source import FillInput, FillReach
from muntin.operators.rows.ordered_rows import OrderedRowsOperator
from muntin.reference.arrivals import arrive
from muntin.reference.fill import FillReference, Segment
from muntin.reference.windows import END, MicroBatch, Outcome, Reference
from muntin.specs.axis import Axis, Domain
from muntin.specs.fill import CLOSED, HALF_OPEN, LEFT_OPEN, OPEN, Edge, Filling
from muntin.specs.row_windows import Landmarks, RowWindow, SlideOnWindow, TupleWindow
from tests.properties import harness
from tests.properties.arriving import LENGTHS, ON_TYPES, Arrivals, arrivals, row_values, some_rows
from tests.properties.framings import VALUES, FrameCase, frame_cases
from tests.properties.harness import EVERY_SLOT, Called, Case, bound_calls, cases, evaluators
from tests.properties.joining import JointRan, at_once, joint_steps
from tests.properties.sequences import SequenceCase, sequence_cases

Row = dict[str, Any]
#: The aggregates that fill frames.
CALLS: tuple[Called, ...] = (
    ("count", (), ()),
    ("sum", (1,), ()),
    ("first", (0,), ()),
    ("last", (2,), ()),
    ("max", (4,), ()),
    ("median", (0,), ()),
)


def common(domain: Domain) -> Axis:
    """Return an axis that is fine enough for every drawn length, so all inputs share it."""
    return Axis(domain, digits={Domain.DECIMAL: 1, Domain.DOUBLE: 2}.get(domain, 0))


@dataclass(frozen=True)
class Framed(FrameCase):
    """Frames on the axis that all inputs share."""

    @property
    def axis(self) -> Axis:
        return common(self.domain)

    @property
    def edge(self) -> Edge:
        if self.framing.bounds == "liberal":
            return OPEN
        return HALF_OPEN if self.framing.readings == "until_next" else CLOSED

    def segments(self) -> OperatorSegments:
        return OperatorSegments(
            self.operator(),
            self.axis,
            (pa.string(),),
            edge=self.edge,
            fragments=self.framing.fragments is not None,
            along=None if self.along is None else ("along_start", "along_end"),
            overlapping=self.framing.readings == "interval",
        )

    @property
    def along(self) -> str | None:
        """The column along which regions lie."""
        return self.framing.kind.second_axis

    def whole(self, rows: Sequence[Row]) -> Outcome:
        return self.reference().run([MicroBatch(rows, END)])

    def bounds(self, told: Row) -> Segment:
        parts = self.framing.fragments is not None
        whole = not parts or told["status"] == "final"
        return Segment(told, told["frame_start"], told["frame_end"], whole)


@dataclass(frozen=True)
class Windowed(Case):
    """Windows on the axis that all inputs share."""

    @property
    def axis(self) -> Axis:
        return common(self.domain)

    @property
    def edge(self) -> Edge:
        return HALF_OPEN

    @property
    def calls(self) -> Sequence[Called]:
        return EVERY_SLOT

    def segments(self) -> OperatorSegments:
        work = harness.operator(self, EVERY_SLOT)
        names = ("window_start", "window_end")
        return OperatorSegments(work, self.axis, (pa.string(),), *names, self.edge, self.edges)

    def bounds(self, told: Row) -> Segment:
        return Segment(told, told["window_start"], told["window_end"])

    def expected(self) -> Outcome:
        return self._reference.run(self.punctuated())

    def expected_at_once(self) -> Outcome:
        return self.whole(self.data())

    def whole(self, rows: Sequence[Row]) -> Outcome:
        return self._reference.run([MicroBatch(rows, END)])

    @property
    def _reference(self) -> Reference:
        aggregates = evaluators(EVERY_SLOT)
        return Reference(
            self.edges, self.axis, "on", ("k",), aggregates, self.late, self.unfinished
        )


@dataclass(frozen=True)
class Sequenced(SequenceCase):
    """Windows over rows, landmark windows and sessions on the axis that all inputs share."""

    @property
    def axis(self) -> Axis:
        return common(self.domain)

    @property
    def edge(self) -> Edge:
        if isinstance(self.spec, RowWindow):
            return CLOSED
        return LEFT_OPEN if isinstance(self.spec, TupleWindow | SlideOnWindow) else HALF_OPEN

    @property
    def ends(self) -> tuple[str, str]:
        by_rank = isinstance(self.spec, RowWindow)
        return ("on_start", "on_end") if by_rank else ("window_start", "window_end")

    def segments(self) -> OperatorSegments:
        work, back = self.operator(), 0
        if isinstance(work, OrderedRowsOperator):
            work = replace(work, tells_open=True)
        if isinstance(self.spec, TupleWindow | SlideOnWindow):
            back = self.axis.length("range", self.spec.range) + 2
        points = self.spec.points(self.axis) if isinstance(self.spec, Landmarks) else ()
        keys = (pa.string(),)
        return OperatorSegments(
            work, self.axis, keys, *self.ends, self.edge, back=back, points=points
        )

    def bounds(self, told: Row) -> Segment:
        start, end = self.ends
        return Segment(told, told[start], told[end])

    def expected_at_once(self) -> Outcome:
        return self.whole(self.data())

    def whole(self, rows: Sequence[Row]) -> Outcome:
        return self.reference().run([MicroBatch(rows, END)])


@dataclass(frozen=True)
class Filler(Arrivals):
    """Filling rows, the filling, and the aggregates over these rows."""

    filling: Filling
    calls: Sequence[Called]
    keyed: bool = True
    chosen: bool = False
    along: str | None = None

    @property
    def axis(self) -> Axis:
        return common(self.domain)

    @property
    def by(self) -> tuple[str, ...]:
        return ("k",) if self.keyed else ()

    def table(self, rows: Sequence[Row]) -> pa.Table:
        table = super().table(rows)
        fills = pa.array([row["b"] for row in rows], pa.bool_())
        table = table.append_column("w", fills)
        if self.along is not None:
            places = pa.array([row[self.along] for row in rows], self._along_type)
            table = table.append_column("along", places)
        return table if self.keyed else table.drop_columns(["k0"])

    @property
    def _along_type(self) -> pa.DataType:
        assert self.along is not None
        return {"v": pa.float64(), "i": pa.int64(), "d": pa.decimal128(38, 2)}[self.along]

    def fill(self, edge: Edge) -> FillInput:
        axis, filling = self.axis, self.filling

        def ticks(length: Any) -> int:
            return 0 if length is None else axis.length("length", length)

        lengths = [ticks(length) for length in (filling.before, filling.after, filling.shrink)]
        key = ("k0",) if self.keyed else ()
        return FillInput(
            reach=FillReach(axis, edge, *lengths),
            names=key,
            keys=(pa.string(),) * len(key),
            shards=key,
            calls=tuple(bound_calls([called])[0] for called in self.calls),
            lateness_type=pa.duration("us") if axis.domain.temporal else ON_TYPES[axis.domain][1],
            shifts=tuple(ticks(shift) for shift in filling.shifts),
            chosen=self.chosen,
            drops_empty=filling.empty == "drop",
            along=None if self.along is None else self._along_type,
        )

    def _refusal(self, row: Row) -> str | None:
        if self.along is None or (
            row[self.along] is not None and row[self.along] == row[self.along]
        ):
            return None
        return "no_along"

    def fills(self, row: Any) -> bool:
        return not self.chosen or row["b"] is True

    def arrived(self, batches: Sequence[MicroBatch]) -> tuple[list[Any], Outcome]:
        """Return the rows that were in time, and the outcome of all rows."""
        outcome = Outcome()
        by_key = arrive(outcome, batches, self.axis, "on", self.by, self._refusal)
        left_out = [r for r in outcome.refused if r[1] == "late" and not self.fills(r[0])]
        # A late row that could not fill anything counts as used, not as refused.
        outcome.refused = [r for r in outcome.refused if r not in left_out]
        outcome.used += len(left_out)
        return [row for held in by_key.held.values() for row in held], outcome


@dataclass(frozen=True)
class Expected:
    """What the reference gives: the results, and the outcome of each input's rows."""

    results: list[Row]
    outcomes: list[Outcome]


@dataclass(frozen=True)
class FillCase:
    """Frames or windows, and the inputs that fill them."""

    bounded: Framed | Windowed | Sequenced
    fillers: Sequence[Filler]
    ends: Sequence[int]

    @property
    def inputs(self) -> list[Arrivals]:
        return [self.bounded, *self.fillers]

    @property
    def forgets(self) -> bool:
        """True if keys are forgotten, so that a stream is refused."""
        bounded = self.bounded
        spec = bounded.framing if isinstance(bounded, Framed) else getattr(bounded, "spec", None)
        return getattr(spec, "forget", None) is not None

    def operator(self) -> FillOperator:
        fills = tuple(filler.fill(self.bounded.edge) for filler in self.fillers)
        return FillOperator(self.bounded.segments(), fills, ("k0",))

    def run(self) -> JointRan:
        return joint_steps(self.operator(), self.inputs, self.ends)

    def run_at_once(self) -> JointRan:
        return at_once(self.operator(), self.inputs)

    def expected(self) -> Expected:
        rows = [filler.arrived(filler.punctuated()) for filler in self.fillers]
        return self._expected(self.bounded.expected(), rows)

    def expected_at_once(self) -> Expected:
        rows = [filler.arrived([MicroBatch(filler.data(), END)]) for filler in self.fillers]
        return self._expected(self.bounded.expected_at_once(), rows)

    def whole(self, rows: Sequence[Sequence[Row]]) -> Expected:
        """Return what a batch of these rows of each input gives."""
        first, *others = rows
        arrived = [
            filler.arrived([MicroBatch(filling_rows, END)])
            for filler, filling_rows in zip(self.fillers, others, strict=True)
        ]
        return self._expected(self.bounded.whole(first), arrived)

    def _expected(self, bounded: Outcome, arrived: Sequence[tuple[list[Any], Outcome]]) -> Expected:
        segments = [self.bounded.bounds(dict(result)) for result in bounded.results]
        first = len(self.bounded.calls)
        results = []
        for segment in segments:
            for place in range(max(len(filler.filling.shifts) for filler in self.fillers)):
                results += self._filled(segment, place, arrived, first)
        return Expected(results, [bounded, *(outcome for _, outcome in arrived)])

    def _filled(
        self,
        segment: Segment,
        place: int,
        arrived: Sequence[tuple[list[Any], Outcome]],
        first: int,
    ) -> list[Row]:
        """Return the result of a segment and a shift; none if it is empty and dropped."""
        result: Row = {**segment.result_row, "shifted": place}
        has_rows = False
        for filler, (rows, _) in zip(self.fillers, arrived, strict=True):
            shifts = filler.filling.shifts
            reference = self._reference(filler, first)
            shift = shifts[place if len(shifts) > 1 else 0]
            inside = reference.filling_rows(segment, shift, rows)
            result |= {name: evaluate(inside) for name, evaluate in reference.aggregates.items()}
            has_rows |= bool(inside)
            first += len(filler.calls)
        drops = any(filler.filling.empty == "drop" for filler in self.fillers)
        return [result] if has_rows or not drops else []

    def _reference(self, filler: Filler, first: int) -> FillReference:
        return FillReference(
            filler.filling,
            filler.axis,
            "on",
            self.bounded.edge,
            matches=lambda told, row: not filler.keyed or told["k"] == row["k"],
            where=filler.fills,
            aggregates={
                f"r{place + first}": evaluators([called])["r0"]
                for place, called in enumerate(filler.calls)
            },
            along=filler.along,
        )

    def told(self, row: Row) -> Row:
        """Return a result with its key named as in the reference."""
        return {("k" if name == "k0" else name): value for name, value in row.items()}


@st.composite
def fillings(draw: st.DrawFn, domain: Domain, *, many: bool = True) -> Filling:
    length = LENGTHS[domain]
    optional = st.none() | st.integers(0, 6).map(length)
    shift = st.integers(-8, 8).map(length)
    several = st.lists(shift, min_size=2, max_size=3, unique=True)
    options = {
        "before": draw(optional),
        "after": draw(optional),
        "shrink": draw(st.none() | optional),
        "shift": draw(st.none() | shift | (several if many else st.none())),
        "empty": draw(st.sampled_from(["keep", "drop"])),
    }
    try:
        return Filling(**options)
    except ArgumentError:
        return Filling(**{**options, "shrink": None})


@st.composite
def fillers(draw: st.DrawFn, domain: Domain, *, many: bool, along: str | None) -> Filler:
    rows = draw(some_rows(row_values(domain, st.sampled_from(VALUES))))
    keyed = draw(st.integers(0, 3)) > 0
    rules = ("slack", "rows", "marks", "each", *(("per key", "key marks") if keyed else ()))
    calls = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3, unique=True))
    return Filler(
        **draw(arrivals(domain, rows, rules)),
        filling=draw(fillings(domain, many=many)),
        calls=(*EVERY_SLOT, *calls),
        keyed=keyed,
        chosen=draw(st.integers(0, 3)) == 0,
        along=along,
    )


@st.composite
def fill_cases(
    draw: st.DrawFn, domains: Sequence[Domain] = tuple(Domain), *, rows: bool = True
) -> FillCase:
    """Draw frames or windows that rows fill; ``rows`` allows windows over rows among them."""
    domain = draw(st.sampled_from(domains))
    bounded: Framed | Windowed | Sequenced
    over_rows = ["rows"] * 3 if rows else []
    kind = draw(st.sampled_from(["frames"] * 4 + over_rows + ["windows"] * 2))
    if kind == "frames":
        bounded = Framed(**vars(draw(frame_cases([domain]))))
    elif kind == "rows":
        bounded = draw(sequenced(domain))
    else:
        # A latch has no start, so it cannot be filled.
        bounded = Windowed(**{**vars(draw(cases([domain]))), "latch": False})
    count = 1 if draw(st.integers(0, 3)) else 2
    along = bounded.along if isinstance(bounded, Framed) else None
    sources = [draw(fillers(domain, many=place == 0, along=along)) for place in range(count)]
    ends = draw(st.lists(st.integers(0, 5), min_size=count + 1, max_size=count + 1))
    return FillCase(bounded, sources, ends)


@st.composite
def sequenced(draw: st.DrawFn, domain: Domain) -> Sequenced:
    """Draw windows over rows that can be filled: by ``on``, of each key, and with an end."""
    case = draw(sequence_cases([domain], grouped=False))
    spec = case.spec
    if isinstance(spec, RowWindow):
        spec = RowWindow(spec.range, spec.slide, "on", spec.within, "on", spec.forget)
    elif isinstance(spec, Landmarks) and spec.slide is None:
        spec = Landmarks("on", LENGTHS[domain](3), spec.origins, spec.start, first=spec.first)
    return Sequenced(**{**vars(case), "spec": spec, "calls": EVERY_SLOT})
