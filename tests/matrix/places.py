"""Every place where aggregates are computed, run step by step and compared with the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from muntin.aggregates.definition import AggregateCall
from muntin.operators.build import WindowOperatorInputs, build
from muntin.operators.fill.operator import FillOperator
from muntin.operators.fill.segments import OperatorSegments
from muntin.operators.fill.source import FillInput, FillReach
from muntin.operators.frames.arrow_kind import FrameOperatorInputs
from muntin.operators.frames.build import build as build_frames
from muntin.operators.join.side import SideRows
from muntin.operators.protocol import Operator
from muntin.operators.resample.operator import GridResampleOperator
from muntin.reference.fill import FillReference, Segment
from muntin.reference.frames.frames import FrameReference
from muntin.reference.rows import SequenceReference
from muntin.reference.windows import MicroBatch, Reference
from muntin.specs.axis import Axis, Domain
from muntin.specs.fill import CLOSED, HALF_OPEN, Filling
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Threshold
from muntin.specs.lengths import positive_length
from muntin.specs.resample import Instants
from muntin.specs.row_windows import (
    Landmarks,
    RowWindow,
    Session,
    SlideOnWindow,
    TupleWindow,
)
from muntin.specs.windows import Landmark, Latch, Window
from tests.matrix.aggregates import ROWS, Example, Row
from tests.properties.arriving import Arrivals, steps
from tests.properties.joining import joint_steps

AXIS = Axis(Domain.INTEGER)
_INT = pa.int64()


@dataclass(frozen=True)
class Input(Arrivals):
    """The rows of the matrix in three micro-batches, with the columns that examples read."""

    examples: Sequence[Example] = ()

    @property
    def axis(self) -> Axis:
        return AXIS

    def table(self, rows: Sequence[Any]) -> pa.Table:
        columns: dict[str, pa.Array] = {
            "on": pa.array([row["on"] for row in rows], pa.int32()),
            "k0": pa.array([row["k"] for row in rows], pa.string()),
            "t0": pa.array([row["on"] for row in rows], _INT),
            "f0": pa.array([row["b"] for row in rows], pa.bool_()),
            "lacks": pa.array([row["b"] is None for row in rows], pa.bool_()),
            "starts": pa.array([row["b"] is False for row in rows], pa.bool_()),
            "slide_on": pa.array([row["on"] for row in rows], _INT),
        }
        for call, example in zip(self.calls(), self.examples, strict=True):
            columns |= example.slots(rows, call.slots[0] if call.slots else 0)
        columns[f"s{self.width}"] = columns["on"]
        return pa.table(columns)

    def calls(self) -> tuple[AggregateCall, ...]:
        calls: list[AggregateCall] = []
        first = 0
        for example in self.examples:
            calls.append(example.call(first))
            first += len(calls[-1].slots)
        return tuple(calls)

    @property
    def width(self) -> int:
        """The number of slots."""
        return sum(len(call.slots) for call in self.calls())


def _input(examples: Sequence[Example]) -> Input:
    common = {"idle": "wait", "idle_length": 0, "expect": (), "late": "generous"}
    return Input(
        domain=Domain.INTEGER,
        rule="slack",
        slack=3,
        batches=ROWS,  # type: ignore[arg-type]
        clocks=(None,) * len(ROWS),
        examples=examples,
        **common,  # type: ignore[arg-type]
    )


def _meanings(examples: Sequence[Example], first: int = 0) -> dict[str, Any]:
    return {f"r{first + place}": example.meaning for place, example in enumerate(examples)}


@dataclass(frozen=True)
class Place:
    """A place: how to run examples there, and what the reference reports."""

    name: str
    run: Callable[[Sequence[Example]], tuple[list[Row], list[Row]]]
    slides: bool = False  # True where synopses slide, and may answer within their bounds

    def __str__(self) -> str:
        return self.name


def _windows(spec: Any) -> Callable[[Sequence[Example]], tuple[list[Row], list[Row]]]:
    def run(examples: Sequence[Example]) -> tuple[list[Row], list[Row]]:
        case = _input(examples)
        calls = case.calls()
        if isinstance(spec, RowWindow):
            on = [AggregateCall(f, f, (case.width,), (pa.int32(),), True) for f in _EDGES]
            calls = (*on, *calls)
        work = build(
            spec,
            WindowOperatorInputs(
                axis=AXIS,
                keys=(pa.string(),),
                ranked_keys=1,
                calls=calls,
                bound_type=_INT,
                lateness_type=_INT,
                late="generous",
                unfinished="keep",
                lag=3,
                slide_axis=AXIS,
                ties=(_INT,) if isinstance(spec, RowWindow) else (),
            ),
        )
        ran = steps(work, case, [(batch[:2], batch[2:]) for batch in case.batches])
        assert not ran.refused
        return ran.results, _windows_expected(spec, case)

    return run


_EDGES = ("first", "last")


def _windows_expected(spec: Any, case: Input) -> list[Row]:
    meanings = _meanings(case.examples)
    if isinstance(spec, Window | Landmark | Latch):
        outcome = Reference(spec.edges(AXIS), AXIS, "on", ("k",), meanings).run(case.punctuated())
    else:
        outcome = SequenceReference(
            spec,
            AXIS,
            ("k",),
            (),
            meanings,
            tie=lambda row: row["on"],
            landmark=lambda row: row["b"] is False,
            slide_axis=AXIS,
        ).run(case.punctuated())
    assert not outcome.refused
    return list(outcome.results)


_FRAMING = Framing(Threshold("b"), "on")


def frame_operator(
    framing: Framing, calls: tuple[AggregateCall, ...], read: tuple[pa.DataType, ...]
) -> Operator:
    return build_frames(
        framing,
        FrameOperatorInputs(
            axis=AXIS,
            keys=(pa.string(),),
            calls=calls,
            bound_type=_INT,
            lateness_type=_INT,
            read=read,
            ties=(),
            bridge=None,
            combined=None,
        ),
    )


def _frames_expected(examples: Sequence[Example], batches: Sequence[MicroBatch]) -> list[Row]:
    reference = FrameReference(
        framing=_FRAMING,
        axis=AXIS,
        by=("k",),
        reading=lambda row: row["b"],
        aggregate=None,
        aggregates=_meanings(examples),
    )
    return list(reference.run(batches).results)


def _frames(examples: Sequence[Example]) -> tuple[list[Row], list[Row]]:
    case = _input(examples)
    work = frame_operator(_FRAMING, case.calls(), (pa.bool_(),))
    ran = steps(work, case, [(batch[:2], batch[2:]) for batch in case.batches])
    return ran.results, _frames_expected(examples, case.punctuated())


def _filled(
    segments: OperatorSegments,
    bounds: Sequence[Segment],
    filling: Filling,
    case: Input,
    instants: Input,
) -> tuple[list[Row], list[Row]]:
    before, after = (
        (0 if n is None else AXIS.length("n", n)) for n in (filling.before, filling.after)
    )
    fill = FillInput(
        reach=FillReach(AXIS, segments.edge, before, after, 0),
        names=("k0",),
        keys=(pa.string(),),
        shards=("k0",),
        calls=case.calls(),
        lateness_type=_INT,
    )
    work = FillOperator(segments, (fill,), ("k0",))
    ran = joint_steps(work, [instants, case], [len(ROWS), len(ROWS)])
    reference = FillReference(
        filling,
        AXIS,
        "on",
        segments.edge,
        matches=lambda segment, row: segment["k"] == row["k"],
        aggregates=_meanings(case.examples),
    )
    rows = [row for batch in ROWS for row in batch]
    expected = []
    for segment in bounds:
        inside = reference.filling_rows(segment, None, rows)
        answers = {name: evaluate(inside) for name, evaluate in reference.aggregates.items()}
        expected.append({**segment.result_row, "shifted": 0, **answers})
    return ran.results, expected


def _fill_frames(examples: Sequence[Example]) -> tuple[list[Row], list[Row]]:
    case = _input(examples)
    segments = OperatorSegments(
        frame_operator(_FRAMING, (), (pa.bool_(),)), AXIS, (pa.string(),), edge=CLOSED
    )
    frames = _frames_expected((), case.punctuated())
    bounds = [Segment(frame, frame["frame_start"], frame["frame_end"]) for frame in frames]
    return _filled(segments, bounds, Filling(before=2, after=1), case, _input(()))


def _fill_windows(examples: Sequence[Example]) -> tuple[list[Row], list[Row]]:
    case, spec = _input(examples), Window(4, 2, "on")
    edges, names = spec.edges(AXIS), ("window_start", "window_end")
    work = build(
        spec,
        WindowOperatorInputs(
            AXIS, (pa.string(),), 1, (), _INT, _INT, "generous", "keep", 3, None, ()
        ),
    )
    segments = OperatorSegments(work, AXIS, (pa.string(),), *names, HALF_OPEN, edges)
    windows = Reference(edges, AXIS, "on", ("k",), {}).run(case.punctuated()).results
    bounds = [Segment(row, row["window_start"], row["window_end"]) for row in windows]
    return _filled(segments, bounds, Filling(), case, _input(()))


def _resample(examples: Sequence[Example]) -> tuple[list[Row], list[Row]]:
    case = _input(examples)
    grid = Instants("on", positive_length("every", 3), None).grid(AXIS)
    side = SideRows(AXIS, (pa.string(),), (), _INT)
    work = GridResampleOperator(side, grid, None, _INT)
    segments = OperatorSegments(work, AXIS, (pa.string(),), edge=CLOSED)
    bounds = []
    for key in ("x", "y"):
        places = [row["on"] for batch in ROWS for row in batch if row["k"] == key]
        for at in range(min(places), max(places) + 1):
            if at % 3 == 0:
                row = {"k": key, "frame_start": at, "frame_end": at}
                bounds.append(Segment(row, at, at))
    return _filled(segments, bounds, Filling(before=2, after=2), case, _input(()))


PLACES = (
    Place("tumbling", _windows(Window(5, 5, "on")), slides=True),
    Place("sliding", _windows(Window(7, 3, "on")), slides=True),
    Place("landmark", _windows(Landmark(4, "on", 0)), slides=True),
    Place("latch", _windows(Latch(4, "on", None))),
    Place("rows", _windows(RowWindow(3, 2, "on", None, "on"))),
    Place("rows within", _windows(RowWindow(3, 2, "on", 4, "on"))),
    Place("rows by arrival", _windows(RowWindow(3, 2, "on", None, "arrival"))),
    Place("by_tuple", _windows(TupleWindow(5, "on", 1)), slides=True),
    Place("by_tuple by arrival", _windows(TupleWindow(5, "on", 2, "arrival"))),
    Place("slide_on", _windows(SlideOnWindow(5, 3, "on", "on"))),
    Place("landmarks", _windows(Landmarks("on", 2, (0, 6)))),
    Place("landmarks at the first row", _windows(Landmarks("on", 3, first=True))),
    Place("landmarks by condition", _windows(Landmarks("on", None, start="b = false"))),
    Place("session", _windows(Session("on", 3))),
    Place("frames", _frames),
    Place("fill of frames", _fill_frames),
    Place("fill of windows", _fill_windows),
    Place("resample", _resample),
)
