"""reference = step function, for windows over rows under any disorder and any split."""

from __future__ import annotations

from hypothesis import given, settings

from muntin.semantics.sequence import Landmarks
from muntin.testing import assert_same_rows
from tests.properties.sequences import SequenceCase, run_sequence, sequence_cases
from tests.properties.test_steps import renamed


@settings(max_examples=1500)
@given(sequence_cases())
def test_steps_equal_the_reference(case: SequenceCase) -> None:
    ran, wanted = run_sequence(case), case.reference().run(case.arrivals())
    assert_same_rows([renamed(row) for row in ran.results], wanted.results)
    assert sorted(ran.refused) == sorted(reason for _, reason in wanted.refused)
    assert ran.used == wanted.used
    assert ran.used + len(ran.refused) == sum(len(rows) for rows in case.batches)


@settings(max_examples=300)
@given(sequence_cases())
def test_an_ended_stream_remembers_nothing(case: SequenceCase) -> None:
    assert run_sequence(case).chunks_left == 0 or isinstance(case.spec, Landmarks)
