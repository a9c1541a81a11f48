"""reference = step function, for frames under any disorder and any split."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from muntin.specs.axis import Domain
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Threshold
from muntin.testing import assert_same_rows
from tests.properties.arriving import AHEAD_OF_OTHERS, renamed
from tests.properties.framings import KINDS, VALUES, FrameCase, frame_cases
from tests.properties.harness import EVERY_SLOT
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


def test_rows_that_tie_and_wait_are_combined_as_they_came() -> None:
    """Two rows without a value tie; the next real row, a micro-batch later, decides about them."""

    def row(on: int, b: bool | None, v: float) -> dict[str, Any]:
        own = {"on": on, "b": b, "v": v, "i": 1, "until": None}
        return {**VALUES[0], **own, "k": "a", "q": "x", "mark": None}

    batches = [[row(0, True, 1.0), row(1, None, 2.0), row(1, None, 8.0)], [row(2, None, 0.0)]]
    case = FrameCase(
        domain=Domain.INTEGER,
        rule="slack",
        slack=0,
        idle="wait",
        idle_length=0,
        expect=[],
        late="generous",
        batches=[*batches, [row(3, True, 1.0)]],
        clocks=[None] * 3,
        framing=Framing(Threshold("b"), "on", ties="max", missing="carry"),
        column="b",
        calls=(*EVERY_SLOT, ("sum", (0,), ())),
    )
    check_steps(case)
    (frame,) = case.run().results
    assert (frame["n"], frame["n_missing"], frame["r5"]) == (2, 2, 10.0)
