"""reference = step function, for any split into micro-batches and any disorder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given

from muntin.reference.windows import Outcome, Reference
from muntin.testing import assert_same_rows
from tests.properties.arriving import AHEAD_OF_OTHERS, renamed
from tests.properties.harness import (
    EVERY_SLOT,
    Called,
    Case,
    cases,
    evaluators,
    operator,
    run_steps,
    some_calls,
)
from tests.thorough import examples


def expected(case: Case, calls: Sequence[Called]) -> Outcome:
    reference = Reference(
        case.edges, case.axis, "on", ("k",), evaluators(calls), case.late, case.unfinished
    )
    return reference.run(case.punctuated())


@examples(2000)
@given(cases(), some_calls())
def test_steps_equal_the_reference(case: Case, calls: Sequence[Called]) -> None:
    ran, wanted = run_steps(case, operator(case, calls)), expected(case, calls)
    assert_same_rows([renamed(row) for row in ran.results], wanted.results)
    assert sorted(ran.refused) == sorted(reason for _, reason in wanted.refused)
    assert ran.used == wanted.used
    assert ran.used + len(ran.refused) == sum(len(rows) for rows in case.batches)


@examples(600)
@given(cases(), AHEAD_OF_OTHERS)
def test_rows_ahead_are_refused_and_move_nothing(drawn: Case, ahead: int) -> None:
    case = replace(drawn, ahead=ahead)
    ran, wanted = run_steps(case, operator(case, EVERY_SLOT)), expected(case, EVERY_SLOT)
    assert_same_rows([renamed(row) for row in ran.results], wanted.results)
    assert sorted(ran.refused) == sorted(reason for _, reason in wanted.refused)
    assert ran.used == wanted.used


@examples(300)
@given(cases())
def test_a_closed_stream_remembers_nothing(case: Case) -> None:
    ran = run_steps(case, operator(case, EVERY_SLOT))
    assert ran.chunks_left == 0 or case.landmark or case.latch


@examples(300)
@given(cases())
def test_late_rows_are_below_the_punctuation(case: Case) -> None:
    for lateness in run_steps(case, operator(case, EVERY_SLOT)).lateness:
        if lateness is not None:
            length = lateness.total_seconds() if hasattr(lateness, "total_seconds") else lateness
            assert math.isfinite(length)
            assert length > 0
