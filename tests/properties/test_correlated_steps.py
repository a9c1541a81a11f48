"""reference = step function for correlated aggregates: panes of rows through batches and state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given

from muntin.reference.windows import Reference
from muntin.testing import assert_same_rows
from tests.aggregates.correlations import Asked, call, correlated
from tests.properties.arriving import SLOTS
from tests.properties.harness import Case, cases, operator, run_steps
from tests.thorough import examples


def steps(case: Case, asked: Asked) -> list[dict[str, Any]]:
    places = {name: place for place, name in enumerate(SLOTS)}
    # Other aggregates share the panes, so that every slot of the harness is read.
    beside = operator(case).calls
    calls = (call(asked.aggregate, places), *beside[:2], *beside[10:])
    work = replace(operator(case), calls=calls)
    rows = run_steps(case, work).results
    return [{"k" if n == "k0" else n: v for n, v in row.items() if n in SHOWN} for row in rows]


SHOWN = {"k0", "window_start", "window_end", "complete", "r0", "r1"}


@examples(500)
@given(cases(), correlated(1))
def test_steps_equal_the_reference(case: Case, asked: Asked) -> None:
    reference = Reference(
        case.edges,
        case.axis,
        "on",
        ("k",),
        {"r0": asked.meaning, "r1": len},
        case.late,
        case.unfinished,
    )
    wanted = reference.run(case.punctuated())
    assert_same_rows(steps(case, asked), wanted.results)
