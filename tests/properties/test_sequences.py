"""reference = step function, for windows over rows under any disorder and any split."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from muntin.testing import assert_same_rows
from tests.properties.arriving import AHEAD_OF_OTHERS, renamed
from tests.properties.sequences import WORDS, SequenceCase, sequence_cases
from tests.thorough import examples


@pytest.mark.parametrize("word", WORDS)
def test_steps_equal_the_reference(word: str) -> None:
    @examples(400)
    @given(sequence_cases(words=[word]))
    def equal(case: SequenceCase) -> None:
        check_steps(case)

    equal()


def check_steps(case: SequenceCase) -> None:
    ran, wanted = case.run(), case.expected()
    assert_same_rows([renamed(row) for row in ran.results], wanted.results)
    assert sorted(ran.refused) == sorted(reason for _, reason in wanted.refused)
    assert ran.used == wanted.used
    assert ran.used + len(ran.refused) == sum(len(rows) for rows in case.batches)
    # No state is left after the stream has ended.
    assert ran.chunks_left == 0


@examples(300)
@given(sequence_cases(), AHEAD_OF_OTHERS)
def test_rows_ahead_are_refused_and_move_nothing(case: SequenceCase, ahead: int) -> None:
    check_steps(replace(case, ahead=ahead))
