"""Every kind of frame with every two properties: the frames of the reference, or a refusal.

Frames are computed with their own aggregates, and filled with rows of another input. Random cases
(``tests/properties``) draw more of each; here no combination is left out.
"""

from __future__ import annotations

import inspect
import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from muntin.aggregates.functions import Aggregate
from muntin.errors import ArgumentError
from muntin.expressions.spark_expressions import Sql
from muntin.reference.windows import Outcome
from muntin.specs.axis import Domain
from muntin.specs.fill import Filling
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import (
    Between,
    Boundary,
    Crossing,
    Delta,
    Threshold,
    Trend,
    TrendRuns,
)
from muntin.specs.frames.pattern import Pattern
from muntin.specs.frames.row_kinds import Cluster, Density, Region
from muntin.specs.frames.schemes import Schedule, Scheme
from muntin.testing import assert_same_rows
from tests.properties import measures
from tests.properties.arriving import renamed
from tests.properties.fillings import CALLS as FILL_CALLS
from tests.properties.fillings import FillCase, Filler, Framed
from tests.properties.framings import BRIDGES, CALLS, KINDS, VALUES, FrameCase
from tests.properties.harness import EVERY_SLOT

_COUNT, _SUM = Aggregate("count", ()), Aggregate("sum", (Sql("i"),))
#: An example of each kind, and the column that it reads.
EXAMPLES: dict[str, tuple[FrameKind, str]] = {
    "threshold": (Threshold("b"), "b"),
    "boundary": (Boundary("s", None), "s"),
    "boundary of times": (Boundary("t", "90 minutes"), "t"),
    "delta": (Delta("v", "1", "range", "maximal", None, None), "v"),
    "delta of times": (Delta("n", "90 minutes", "range", "maximal", None, None), "n"),
    "delta minimal": (Delta("v", "1", "range", "minimal", None, None), "v"),
    "delta with start": (Delta("v", "1", "first", "maximal", "s = 'a'", "continue"), "v"),
    "measure": (Crossing(_SUM, "<=", Decimal(4), None, None, None), "i"),
    "measure minimal": (Crossing(_SUM, ">=", Decimal(4), None, None, None), "i"),
    "measure with start": (Crossing(_SUM, ">=", Decimal(4), None, "s = 'a'", "close"), "i"),
    "condition": (measures.condition(next(iter(measures.CONDITIONS)), None, None, None), "*"),
    "trend": (Trend("i", "increasing", False), "i"),
    "trend of any direction": (TrendRuns("i"), "i"),
    "between": (Between("b", "s = 'a'", "both"), "b"),
    "density": (Density(_COUNT, ">=", Decimal(2), 4), "*"),
    "cluster": (Cluster(0.4, 0.5, 4), "*"),
    "cluster with weights": (Cluster(0.4, 0.5, 4, "i"), "i"),
    "region": (Region("b", "i", None, "longest"), "i"),
    "pattern": (Pattern("(x | x y) z{0,2}", {"x": "b", "y": "s = 'a'", "z": "b"}), "b"),
    "pattern of two rows": (Pattern("x+ y?", {"x": "i > prev.i", "y": "prev.b"}), "b"),
}
#: An example of each property; tests name them by these words.
PROPERTIES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "min_count": {"min_count": 2},
    "max_count": {"max_count": 4},
    "min_duration": {"min_duration": 3},
    "max_duration": {"max_duration": 9},
    "cut": {"cut": True, "max_count": 3},
    "advancing": {"scheme": "advancing"},
    "unconstrained": {"scheme": "unconstrained"},
    "adjacent": {"scheme": Scheme("adjacent", overlap=2)},
    "cover": {"scheme": Scheme("cover")},
    "longest": {"longest": True},
    "fragments": {"fragments": 2},
    "satisfy": {"missing": "satisfy"},
    "carry": {"missing": "carry"},
    "bridge": {"missing": next(iter(BRIDGES))},
    "liberal": {"bounds": "liberal"},
    "first": {"ties": "first", "tie_order": "tie"},
    "combined": {"ties": "max"},
    "until_next": {"readings": "until_next"},
    "interval": {"readings": "interval", "until": "until"},
    "schedule": {"schedule": Schedule(2, None)},
    "forget": {"forget": 4},
}


def test_every_kind_and_every_property_is_here() -> None:
    assert {name.split()[0] for name in EXAMPLES} == set(KINDS)
    arguments = set(inspect.signature(Framing).parameters) - {"kind", "on"}
    assert {name for options in PROPERTIES.values() for name in options} == arguments


def _rows(tied: bool, spread: int) -> list[list[dict[str, Any]]]:
    """Return three micro-batches of two keys; of ``tied`` rows two have the same place."""
    rows = []
    for place in range(24):
        on = place // 2 * spread - (2 if tied and place % 8 == 6 else 0)
        whose = {"k": "ab"[place % 2], "q": "x", "mark": None}
        rows.append({"on": on, **whose, **VALUES[place], "tie": place, "until": on + place % 4})
    return [rows[:8], rows[8:14], rows[14:]]


_ARRIVING: dict[str, Any] = {
    "domain": Domain.INTEGER,
    "rule": "slack",
    "slack": 3,
    "idle": "wait",
    "idle_length": 0,
    "expect": (),
    "late": "generous",
    "clocks": (None,) * 3,
}


def framings(kind: FrameKind, name: str) -> Iterator[Framing]:
    """Yield the framings with a property and each other one; a contradiction is refused."""
    for other in itertools.islice(PROPERTIES, [*PROPERTIES].index(name), None):
        if (framing := framing_of(kind, PROPERTIES[name] | PROPERTIES[other])) is not None:
            yield framing


def framing_of(kind: FrameKind, options: dict[str, Any]) -> Framing | None:
    """Return the framing, or None if it is refused with a sentence."""
    needed = {"max_duration": 12} if isinstance(kind, Cluster) else {}
    try:
        return Framing(kind, "on", **(needed | options))
    except ArgumentError as refusal:
        assert len(str(refusal).split()) >= 8, refusal
        return None


def framed(framing: Framing, column: str) -> Framed:
    spread = 2 if framing.schedule is not None else 1
    tied = framing.ties != "fail" and framing.schedule is None
    calls = (*EVERY_SLOT, *CALLS)
    batches = _rows(tied, spread)
    return Framed(framing=framing, column=column, calls=calls, batches=batches, **_ARRIVING)


def run(case: FrameCase) -> tuple[list[Any], Outcome]:
    return case.run().results, case.expected()


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize("kind", EXAMPLES)
def test_frames_and_their_aggregates(kind: str, name: str) -> None:
    spec, column = EXAMPLES[kind]
    for framing in framings(spec, name):
        case = framed(framing, column)
        try:
            results, wanted = run(case)
        except ArgumentError as refusal:  # the operator may refuse what a spec allows
            assert len(str(refusal).split()) >= 8, str(framing)
            continue
        assert_same_rows([renamed(row) for row in results], wanted.results)
        bare = replace(case, calls=())
        assert [row["frame_start"] for row in run(bare)[0]] == [
            row["frame_start"] for row in results
        ]


@pytest.mark.parametrize("reading", ["until_next", "interval"])
@pytest.mark.parametrize("kind", EXAMPLES)
def test_fragments_on_a_schedule_are_reported_by_rows_alone(kind: str, reading: str) -> None:
    """Readings that hold grow by punctuation, but not on a schedule, where rows come soon."""
    spec, column = EXAMPLES[kind]
    three = PROPERTIES["fragments"] | PROPERTIES["schedule"] | PROPERTIES[reading]
    for name in ("nothing", "min_count", "min_duration", "carry", "satisfy"):
        framing = framing_of(spec, three | PROPERTIES[name])
        if framing is not None:
            case = framed(framing, column)
            assert_same_rows([renamed(row) for row in case.run().results], case.expected().results)


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize("kind", EXAMPLES)
def test_filled_frames(kind: str, name: str) -> None:
    spec, column = EXAMPLES[kind]
    framing = framing_of(spec, PROPERTIES[name])
    if framing is not None:  # frames that do not exist are not filled either
        check_filled(framing, column)


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize("kind", EXAMPLES)
def test_filled_fragments(kind: str, name: str) -> None:
    """Fragments decide how long filling rows are held, so they meet every other property."""
    spec, column = EXAMPLES[kind]
    framing = framing_of(spec, PROPERTIES["fragments"] | PROPERTIES[name])
    if framing is not None:
        check_filled(framing, column)


def check_filled(framing: Framing, column: str) -> None:
    case = framed(framing, column)
    filler = Filler(
        batches=_rows(True, 1),
        filling=Filling(before=1, after=2),
        calls=(*EVERY_SLOT, *FILL_CALLS),
        along=case.along,
        **_ARRIVING,
    )
    filled = FillCase(case, [filler], [4, 4])
    # The plan of a stream refuses to fill these.
    whole = framing.longest or framing.forget is not None
    try:
        ran = filled.run_at_once() if whole else filled.run()
    except ArgumentError as refusal:  # the operator may refuse what a spec allows
        assert len(str(refusal).split()) >= 8, str(framing)
        return
    wanted = filled.expected_at_once() if whole else filled.expected()
    assert_same_rows([filled.told(row) for row in ran.results], wanted.results)


def _walk(chance: random.Random, count: int, steps: tuple[int, ...]) -> list[list[dict[str, Any]]]:
    """Return three micro-batches of one key, whose rows may last beyond the rows after them."""
    rows, on = [], 0
    for place in range(count):
        on += chance.choice(steps)
        whose = {"k": "a", "q": "x", "mark": None, "tie": place, "until": on + chance.randint(0, 8)}
        rows.append({"on": on, **chance.choice(VALUES), **whose})
    first, second = sorted(chance.sample(range(count), 2))
    return [rows[:first], rows[first:second], rows[second:]]


@pytest.mark.parametrize("seed", range(60, 160))
def test_filled_fragments_of_intervals_that_overlap(seed: int) -> None:
    """A frame may begin before the interval of the row before it ends, and asks for rows there."""
    chance = random.Random(seed)
    spec, column = EXAMPLES[chance.choice(["boundary", "threshold", "measure", "delta"])]
    options = PROPERTIES["interval"] | {"fragments": chance.randint(1, 5)}
    case = replace(
        framed(Framing(spec, "on", **options), column),
        batches=_walk(chance, 14, (1, 1, 2)),
        slack=0,
        calls=(),
    )
    filler = Filler(
        batches=_walk(chance, 20, (0, 1, 1, 2, 3)),
        filling=Filling(before=chance.choice([1, 3, 6])),
        calls=EVERY_SLOT,
        **(_ARRIVING | {"slack": 0}),
    )
    filled = FillCase(case, [filler], [4, 4])
    ran, wanted = filled.run(), filled.expected()
    assert_same_rows([filled.told(row) for row in ran.results], wanted.results)
