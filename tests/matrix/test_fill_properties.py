"""Every kind of window and frame with every two properties of a fill: the reference, or a refusal.

Windows over values and frames are filled while they stream. All kinds of windows are filled in
batches: sessions, windows over rows and the like tell on no stream how far back the next begins.
Properties of frames meet fills in ``test_frame_properties``.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa
import pytest

import muntin as mt
from muntin.errors import ArgumentError
from muntin.operators.fill.segments import OperatorSegments
from muntin.reference.fill import Segment
from muntin.reference.windows import END, MicroBatch, Outcome
from muntin.spark.plan.fill import FillPlan
from muntin.spark.plan.windows import WindowPlan
from muntin.specs.axis import Axis, Domain
from muntin.specs.fill import CLOSED, HALF_OPEN, LEFT_OPEN, Edge, Filling
from muntin.specs.row_windows import Landmarks, RowWindow, SequenceSpec, SlideOnWindow, TupleWindow
from muntin.specs.windows import Landmark, Latch, Window, WindowSpec
from muntin.testing import assert_same_rows
from tests.matrix import test_frame_properties as frames
from tests.matrix import test_window_properties as windows
from tests.properties.arriving import DISTANCES
from tests.properties.fillings import FillCase, Filler, common
from tests.properties.harness import Called

Row = dict[str, Any]
#: An example of each property of a fill; lengths are whole numbers of small units.
PROPERTIES: dict[str, Row] = {
    "nothing": {},
    "before": {"before": 2},
    "after": {"after": 3},
    "shrink": {"shrink": 1},
    "shrunk to nothing": {"shrink": 5},
    "shift": {"shift": -4},
    "shift ahead": {"shift": 3},
    "several shifts": {"shift": [0, -3, 2]},
    "empty": {"empty": "drop"},
    "where": {"chosen": True},
    "rows of all keys": {"keyed": False},
    "rows of each key by itself": {"rule": "per key"},
    "rows that are late": {"slack": 0},
}
LENGTHS = ("before", "after", "shrink")
#: An aggregate that goes by order and one that keeps every value; more would take long.
CALLS: tuple[Called, ...] = (("last", (0,), ()), ("collect", (1,), ()))
#: One kind for each way to find bounds; properties of a fill meet each other there.
TELLING = ("window", "rows", "by_tuple", "session")
#: Frames whose fragments meet every property of a fill; those of all kinds are filled among frames.
IN_FRAGMENTS = ("threshold", "boundary", "trend")
#: Windows that are filled while they stream.
OVER_VALUES = ("window", "window whose slide divides", "window with gaps", "tumbling")


def test_every_property_of_a_fill_is_here() -> None:
    given = {name for options in PROPERTIES.values() for name in options}
    arguments = set(inspect.signature(mt.Windowed.fill).parameters) - {"self", "other", "on"}
    # The key and the condition of rows are said by the two words of a case; regions have `along`.
    assert given - {"keyed", "chosen", "rule", "slack"} == arguments - {"key", "where", "along"}


def filler(domain: Domain, options: Row, along: str | None = None) -> Filler:
    """Return filling rows with some properties; raise if these contradict each other."""
    units = windows.Units(domain)
    own: Row = {name: units.length(options[name]) for name in LENGTHS if name in options}
    match options.get("shift"):
        case list(shifts):
            own["shift"] = [units.length(shift) for shift in shifts]
        case int(shift):
            own["shift"] = units.length(shift)
    batches = windows.arriving(domain, (5, 11, 17))
    placed = [[{**row, "on": _beside(units, row["on"])} for row in rows] for rows in batches]
    return Filler(
        domain=domain,
        rule=options.get("rule", "slack"),
        slack=options.get("slack", 3),
        idle="wait",
        idle_length=0,
        expect=(),
        late="generous",
        batches=placed,
        clocks=(None,) * len(placed),
        filling=Filling(**own, empty=options.get("empty", "keep")),
        calls=CALLS,
        keyed=options.get("keyed", True),
        chosen=options.get("chosen", False),
        along=along,
    )


def _beside(units: windows.Units, on: Any) -> Any:
    """Return a place a little after another, so that some rows lie on bounds and some beside."""
    return None if on is None else on + DISTANCES[units.domain](1)


@dataclass(frozen=True)
class FilledWindow(windows.WindowCase):
    """Windows of any kind on the axis that all inputs share."""

    @property
    def axis(self) -> Axis:
        return common(self.domain)

    @property
    def edge(self) -> Edge:
        match self.spec:
            case RowWindow():
                return CLOSED
            case TupleWindow() | SlideOnWindow():
                return LEFT_OPEN
        return HALF_OPEN

    @property
    def _bounds(self) -> tuple[str, str]:
        if isinstance(self.spec, RowWindow):
            return "on_start", "on_end"
        return "window_start", "window_end"

    def segments(self) -> OperatorSegments:
        over_values = isinstance(self.spec, Window | Landmark)
        edges = self.spec.edges(self.axis) if over_values else None  # type: ignore[union-attr]
        keys = (pa.string(),)
        return OperatorSegments(self.operator(), self.axis, keys, *self._bounds, self.edge, edges)

    def bounds(self, told: Row) -> Segment:
        start, end = self._bounds
        return Segment(told, told[start], told[end])

    def expected_at_once(self) -> Outcome:
        return self.outcome([MicroBatch(self.data(), END)])


def test_plans_know_which_bounds_are_inside() -> None:
    """The plan of a fill decides what this matrix takes for granted."""
    for kind in windows.KINDS:
        case = bounded(kind, {})
        if case is not None:
            plan = FillPlan(WindowPlan(cast(Any, None), case.spec), ())
            assert (plan.edge, plan.bounds) == (case.edge, case._bounds), kind


def bounded(kind: str, options: Row) -> FilledWindow | None:
    """Return windows to be filled; None if they cannot be, or if a property does not suit."""
    case = windows.case_of(kind, options)
    if case is None or not fillable(case.spec):
        return None
    return FilledWindow(**{**vars(case), "calls": ()})


def fillable(spec: SequenceSpec | WindowSpec) -> bool:
    """Return False for windows without a start or an end; ``tests/fill`` shows the refusals."""
    endless = isinstance(spec, Landmarks) and spec.slide is None
    return not isinstance(spec, Latch) and not endless


@pytest.mark.parametrize("domain", [Domain.INTEGER, Domain.DOUBLE], ids=str)
@pytest.mark.parametrize("kind", windows.KINDS)
def test_windows_are_filled_in_a_batch(kind: str, domain: Domain) -> None:
    case = bounded(kind, {"domain": domain})
    for name, options in PROPERTIES.items():
        meet = kind in TELLING and domain is Domain.INTEGER
        for other in [*PROPERTIES][[*PROPERTIES].index(name) :] if meet else ["nothing"]:
            check_batch(case, options, PROPERTIES[other])


@pytest.mark.parametrize("name", windows.PROPERTIES)
@pytest.mark.parametrize("kind", windows.KINDS)
def test_windows_with_a_property_are_filled_in_a_batch(kind: str, name: str) -> None:
    check_batch(bounded(kind, windows.PROPERTIES[name]), {"before": 2, "after": 1}, {"shift": -1})


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize("kind", OVER_VALUES)
def test_windows_are_filled_on_a_stream(kind: str, name: str) -> None:
    case = bounded(kind, {})
    meet = [*PROPERTIES][[*PROPERTIES].index(name) :] if kind in TELLING else ["nothing"]
    for other in meet:
        filled = filled_by(case, PROPERTIES[name], PROPERTIES[other])
        if filled is not None:
            check(filled)


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize("kind", frames.EXAMPLES)
def test_frames_are_filled(kind: str, name: str) -> None:
    spec, column = frames.EXAMPLES[kind]
    fragments = frames.PROPERTIES["fragments"]
    for more in ({}, fragments) if kind in IN_FRAGMENTS else ({},):
        framing = frames.framing_of(spec, more)
        if framing is not None:
            case = replace(frames.framed(framing, column), calls=())
            filled = filled_by(case, PROPERTIES[name], {}, along=case.along)
            if filled is not None:
                check(filled)


def filled_by(case: Any, first: Row, second: Row, along: str | None = None) -> FillCase | None:
    """Return the fill with two properties, or None if they contradict each other."""
    if first is not second and set(first) & set(second):
        return None  # two values of one property
    options = first | second
    if not options.get("keyed", True) and "rule" in options:
        return None  # rows without a key have no punctuation of a key
    try:
        rows = filler(case.domain, options, along)
    except ArgumentError as refusal:
        assert len(str(refusal).split()) >= 8, refusal
        return None
    return FillCase(case, [rows], [len(case.batches), len(rows.batches) + 1])


def check_batch(case: FilledWindow | None, first: Row, second: Row) -> None:
    filled = None if case is None else filled_by(case, first, second)
    if filled is not None:
        ran, wanted = filled.run_at_once(), filled.expected_at_once()
        assert_same_rows([filled.told(row) for row in ran.results], wanted.results)


def check(filled: FillCase) -> None:
    ran, wanted = filled.run(), filled.expected()
    assert_same_rows([filled.told(row) for row in ran.results], wanted.results)
    for place, outcome in enumerate(wanted.outcomes):
        refused = sorted(reason for _, reason in outcome.refused)
        assert sorted(ran.refused[place]) == refused
