"""The stream driver under faults, without Spark: what it reports is what the reference reports.

A run has random rows in random micro-batches under any rule of disorder. Its micro-batches crash at
calls of the state store, are repeated, and are read by other tasks when they are; messages reach
the shards in any order. A seed stands for a few runs of a kind of query. A failing one is printed:

    MUNTIN_SEEDS=17 pytest tests/faults -k windows
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from muntin.operators.build import early
from muntin.reference.windows import Outcome
from muntin.testing import assert_same_rows
from muntin.testing.step_driver import ArrivingRows, SimulatedCrash, StepDriver, StepOutput
from tests.faults.simulation import Simulated, simulate
from tests.properties import fillings, framings, harness, joinings, resamplings, sequences
from tests.properties.arriving import AHEAD_OF_OTHERS, renamed
from tests.properties.test_early_answers import REFUSED, WORDS, Applied
from tests.properties.test_steps import expected as expected_of_windows
from tests.properties.test_synopses import synopsis_cases
from tests.thorough import share

Row = dict[str, Any]
#: Kinds of frames that can have early answers.
WITH_EARLY = [word for word in framings.KINDS if word not in REFUSED]
#: How many runs a seed stands for. Hypothesis begins with the simplest, so one would be too few.
RUNS_OF_SEED = 5


@dataclass(frozen=True)
class Kind:
    """A kind of query: how its cases are drawn, run, and what the reference reports of them."""

    cases: st.SearchStrategy[Any]
    run: Callable[[Any, int], Simulated]
    expected: Callable[[Any], tuple[Sequence[Row], Sequence[Outcome]]]
    result: Callable[[Any, Row], Row] = lambda case, row: renamed(row)


def of_one(case: Any, faults: int) -> Simulated:
    return simulate(_operator(case), [case], [0], faults)


def _operator(case: Any) -> Any:
    return harness.operator(case) if isinstance(case, harness.Case) else case.operator()


def expected_of_one(case: Any) -> tuple[Sequence[Row], Sequence[Outcome]]:
    if isinstance(case, harness.Case):
        outcome = expected_of_windows(case, harness.CALLS)
    else:
        outcome = case.expected()
    return outcome.results, [outcome]


def of_two(case: Any, faults: int) -> Simulated:
    # A grid has instants of its own, so it has only one side.
    ends = case.ends[-len(case.sides) :]
    return simulate(case.operator(), case.sides, ends, faults)


def of_fill(case: fillings.FillCase, faults: int) -> Simulated:
    return simulate(case.operator(), case.inputs, case.ends, faults)


def expected_of_fill(case: fillings.FillCase) -> tuple[Sequence[Row], Sequence[Outcome]]:
    expected = case.expected()
    return expected.results, expected.outcomes


def of_early(case: Any, faults: int) -> Simulated:
    """Run a case with early answers; its results are the table that the changes make."""
    spec = case.framing if isinstance(case, framings.FrameCase) else case.spec
    operator = early(spec, _operator(case))
    ran = simulate(operator, [case], [0], faults)
    applied = Applied(operator.identity)
    applied.apply(ran.results)
    assert set(applied.final.values()) <= {1}
    assert applied.final.total() == len(applied.rows)
    return replace(ran, results=list(applied.rows.values()))


def known_before_the_end(case: fillings.FillCase) -> bool:
    return not (isinstance(case.bounded, fillings.Framed) and case.bounded.framing.longest)


KINDS = {
    "windows": Kind(harness.cases(), of_one, expected_of_one),
    "rows": Kind(sequences.sequence_cases(), of_one, expected_of_one),
    "frames": Kind(framings.frame_cases(), of_one, expected_of_one),
    "early windows": Kind(harness.cases(), of_early, expected_of_one),
    "early rows": Kind(sequences.sequence_cases(words=WORDS), of_early, expected_of_one),
    "early frames": Kind(
        framings.frame_cases(words=WITH_EARLY).filter(lambda case: case.framing.fragments is None),
        of_early,
        expected_of_one,
    ),
    "synopses": Kind(synopsis_cases(), of_one, expected_of_one),
    "fills": Kind(
        fillings.fill_cases().filter(known_before_the_end),
        of_fill,
        expected_of_fill,
        lambda case, row: case.told(row),
    ),
    "joins": Kind(
        joinings.join_cases(), of_two, lambda case: case.expected(), lambda case, row: row
    ),
    "asof joins": Kind(
        joinings.asof_cases(), of_two, lambda case: case.expected(), lambda case, row: row
    ),
    "resampling": Kind(
        resamplings.resample_cases(), of_two, lambda case: case.expected(), lambda case, row: row
    ),
}


def check(kind: Kind, case: Any, faults: int) -> None:
    ran, (results, outcomes) = kind.run(case, faults), kind.expected(case)
    assert_same_rows([kind.result(case, row) for row in ran.results], results)
    wanted = Counter(reason for outcome in outcomes for _, reason in outcome.refused)
    assert ran.refused == wanted
    assert ran.used == sum(outcome.used for outcome in outcomes)


def seeds() -> list[int]:
    """Return the seeds of this run: 200 runs of all kinds in ``make test``, 10,000 in soak."""
    given_ = os.environ.get("MUNTIN_SEEDS")
    if given_:
        return [int(number) for number in given_.split(",")]
    runs = 10_000 if share(8) == 8 else 200
    return list(range(-(-runs // (RUNS_OF_SEED * len(KINDS)))))


@pytest.mark.parametrize("name", KINDS)
def test_faults_change_nothing(name: str) -> None:
    kind = KINDS[name]
    for number in seeds():

        @seed(number)
        @settings(
            max_examples=RUNS_OF_SEED,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            derandomize=False,
            suppress_health_check=list(HealthCheck),
        )
        @given(kind.cases, st.integers(0, 2**32))
        def run(case: Any, faults: int) -> None:
            check(kind, case, faults)

        try:
            run()
        except BaseException as error:
            error.add_note(f"seed {number}: MUNTIN_SEEDS={number} pytest tests/faults -k {name!r}")
            raise


@settings(max_examples=share(80), database=None)
@given(harness.cases(), AHEAD_OF_OTHERS, st.integers(0, 2**32))
def test_rows_ahead_are_judged_in_the_shards(case: harness.Case, ahead: int, faults: int) -> None:
    check(KINDS["windows"], replace(case, ahead=ahead), faults)


def test_a_micro_batch_that_is_committed_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check itself: with a driver that commits what was only tried, it fails."""

    def committed(
        self: StepDriver,
        inputs: Sequence[ArrivingRows],
        order: random.Random,
        crash_at: int | None = None,
    ) -> StepOutput:
        if crash_at is not None:
            raise SimulatedCrash
        return self.run(inputs, order)

    monkeypatch.setattr(StepDriver, "attempt", committed)
    found = []
    for number in range(3):

        @seed(number)
        @settings(max_examples=RUNS_OF_SEED, phases=[Phase.generate], database=None)
        @given(harness.cases(), st.integers(0, 2**32))
        def run(case: harness.Case, faults: int) -> None:
            try:
                check(KINDS["windows"], case, faults)
            except AssertionError as error:
                found.append(error)

        run()
    assert found
