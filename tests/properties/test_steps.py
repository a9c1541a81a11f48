"""reference = step function, for any split into micro-batches and any disorder."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings

from muntin.semantics.reference import Outcome, Reference
from muntin.testing import assert_same_rows
from tests.properties.harness import Case, cases, evaluators, run_steps


def expected(case: Case) -> Outcome:
    reference = Reference(
        case.edges, case.axis, "on", ("k",), evaluators(), case.late, case.unfinished
    )
    return reference.run(case.punctuated())


def renamed(row: dict[str, Any]) -> dict[str, Any]:
    return {("k" if name == "k0" else name): value for name, value in row.items()}


@settings(max_examples=2000)
@given(cases())
def test_steps_equal_the_reference(case: Case) -> None:
    ran, wanted = run_steps(case), expected(case)
    assert_same_rows([renamed(row) for row in ran.results], wanted.results)
    assert sorted(ran.refused) == sorted(reason for _, reason in wanted.refused)
    assert ran.used == wanted.used
    assert ran.used + len(ran.refused) == sum(len(rows) for rows in case.batches)


@settings(max_examples=300)
@given(cases())
def test_a_closed_stream_remembers_nothing(case: Case) -> None:
    ran = run_steps(case)
    assert ran.chunks_left == 0 or case.landmark


@settings(max_examples=300)
@given(cases())
def test_late_rows_are_behind_the_punctuation(case: Case) -> None:
    for lateness in run_steps(case).lateness:
        if lateness is not None:
            length = lateness.total_seconds() if hasattr(lateness, "total_seconds") else lateness
            assert math.isfinite(length)
            assert length > 0
