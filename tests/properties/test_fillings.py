"""reference = step function, for fills whose inputs have different disorder."""

from __future__ import annotations

from hypothesis import given

from muntin.testing import assert_same_rows
from tests.properties.fillings import FillCase, Framed, fill_cases
from tests.thorough import examples


@examples(2000)
@given(fill_cases().filter(lambda case: not case.forgets))
def test_steps_equal_the_reference(case: FillCase) -> None:
    if isinstance(case.bounded, Framed) and case.bounded.framing.longest:
        ran, wanted = case.run_at_once(), case.expected_at_once()  # known only at the end of input
        rows_of_inputs = [arriving.data() for arriving in case.inputs]
    else:
        ran, wanted = case.run(), case.expected()
        rows_of_inputs = [
            [row for rows in arriving.batches for row in rows] for arriving in case.inputs
        ]
        # Only the layout of the state is left after all inputs have ended.
        kept = {"layout", "fanout"} if not isinstance(case.bounded, Framed) else set()
        assert {*ran.chunks_left} <= kept or getattr(case.bounded, "landmark", False)
    assert_same_rows([case.told(row) for row in ran.results], wanted.results)
    for place, outcome in enumerate(wanted.outcomes):
        assert sorted(ran.refused[place]) == sorted(reason for _, reason in outcome.refused)
        assert ran.used[place] == outcome.used
        assert ran.used[place] + len(ran.refused[place]) == len(rows_of_inputs[place])


@examples(300)
@given(fill_cases())
def test_a_batch_equals_the_reference(case: FillCase) -> None:
    ran, wanted = case.run_at_once(), case.expected_at_once()
    assert_same_rows([case.told(row) for row in ran.results], wanted.results)
    for place, outcome in enumerate(wanted.outcomes):
        assert sorted(ran.refused[place]) == sorted(reason for _, reason in outcome.refused)
