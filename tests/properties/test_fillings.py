"""reference = step function, for filled frames whose two inputs are disordered each in its way."""

from __future__ import annotations

from hypothesis import given, settings

from muntin.testing import assert_same_rows
from tests.properties.fillings import FillCase, fill_cases


@settings(max_examples=2000)
@given(fill_cases())
def test_steps_equal_the_reference(case: FillCase) -> None:
    if case.frames.framing.longest:  # only where input ends
        ran, (wanted, framed, filled) = case.run_at_once(), case.expected_at_once()
        came = [case.frames.data(), case.filler.data()]
    else:
        ran, (wanted, framed, filled) = case.run(), case.expected()
        came = [[r for rows in one.batches for r in rows] for one in (case.frames, case.filler)]
        # Inputs that have ended are remembered by nobody.
        assert ran.chunks_left == []
    assert_same_rows([case.told(row) for row in ran.results], wanted)
    for place, outcome in enumerate((framed, filled)):
        assert sorted(ran.refused[place]) == sorted(reason for _, reason in outcome.refused)
        assert ran.used[place] == outcome.used
        assert ran.used[place] + len(ran.refused[place]) == len(came[place])


@settings(max_examples=300)
@given(fill_cases())
def test_a_batch_equals_the_reference(case: FillCase) -> None:
    ran, (wanted, framed, filled) = case.run_at_once(), case.expected_at_once()
    assert_same_rows([case.told(row) for row in ran.results], wanted)
    for place, outcome in enumerate((framed, filled)):
        assert sorted(ran.refused[place]) == sorted(reason for _, reason in outcome.refused)
