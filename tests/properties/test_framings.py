"""reference = step function, for frames under any disorder and any split."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from muntin.testing import assert_same_rows
from tests.properties.arriving import AHEAD_OF_OTHERS, renamed
from tests.properties.framings import KINDS, FrameCase, frame_cases
from tests.thorough import examples


@pytest.mark.parametrize("word", KINDS)
def test_steps_equal_the_reference(word: str) -> None:
    @examples(400)
    @given(frame_cases(words=[word]))
    def equal(case: FrameCase) -> None:
        check_steps(case)

    equal()


def check_steps(case: FrameCase) -> None:
    ran, wanted = case.run(), case.expected()
    assert_same_rows([renamed(row) for row in ran.results], wanted.results)
    assert sorted(ran.refused) == sorted(reason for _, reason in wanted.refused)
    assert ran.used == wanted.used
    arrived = [row for rows in case.batches for row in rows]
    assert ran.used + len(ran.refused) == len(arrived)
    # No state is left after the stream has ended.
    assert ran.chunks_left == 0


@examples(300)
@given(frame_cases())
def test_a_batch_equals_the_reference(case: FrameCase) -> None:
    ran, wanted = case.run_at_once(), case.expected_at_once()
    assert_same_rows([renamed(row) for row in ran.results], wanted.results)
    assert sorted(ran.refused) == sorted(reason for _, reason in wanted.refused)


@examples(300)
@given(frame_cases(), AHEAD_OF_OTHERS)
def test_rows_ahead_are_refused_and_move_nothing(case: FrameCase, ahead: int) -> None:
    check_steps(replace(case, ahead=ahead))
