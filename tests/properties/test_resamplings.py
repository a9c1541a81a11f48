"""reference = step function, for streams that are resampled."""

from __future__ import annotations

from hypothesis import given

from muntin.testing import assert_same_rows
from tests.properties.resamplings import ResampleCase, resample_cases
from tests.properties.test_joinings import check_steps
from tests.thorough import examples


@examples(2000)
@given(resample_cases())
def test_steps_equal_the_reference(case: ResampleCase) -> None:
    check_steps(case)


@examples(300)
@given(resample_cases())
def test_a_batch_equals_the_reference(case: ResampleCase) -> None:
    ran, (wanted, outcomes) = case.run_at_once(), case.expected_at_once()
    assert_same_rows(ran.results, wanted)
    for place, outcome in enumerate(outcomes):
        assert sorted(ran.refused[place]) == sorted(reason for _, reason in outcome.refused)
