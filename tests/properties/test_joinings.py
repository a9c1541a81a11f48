"""reference = step function, for joins of two streams that are disordered each in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings

from muntin.operators.joint import Arrived
from muntin.operators.protocol import MemoryState, Punctuation
from muntin.semantics.joining.how import left_only
from muntin.testing import assert_same_rows
from tests.properties.joinings import (
    JoinCase,
    Watched,
    held,
    join_cases,
    reports,
    split_cases,
    stream_cases,
)

Row = dict[str, Any]


@settings(max_examples=2000)
@given(join_cases())
def test_steps_equal_the_reference(case: JoinCase) -> None:
    ran, (wanted, outcomes) = case.run(), case.expected()
    # Inputs that have ended are remembered by nobody.
    assert ran.chunks_left == []
    assert_same_rows(ran.results, wanted)
    for place, outcome in enumerate(outcomes):
        came = [row for rows in case.sides[place].batches for row in rows]
        assert sorted(ran.refused[place]) == sorted(reason for _, reason in outcome.refused)
        assert ran.used[place] == outcome.used
        assert ran.used[place] + len(ran.refused[place]) == len(came)


@settings(max_examples=300)
@given(join_cases())
def test_a_batch_equals_the_reference(case: JoinCase) -> None:
    ran, (wanted, outcomes) = case.run_at_once(), case.expected_at_once()
    assert_same_rows(ran.results, wanted)
    for place, outcome in enumerate(outcomes):
        assert sorted(ran.refused[place]) == sorted(reason for _, reason in outcome.refused)


@settings(max_examples=2000)
@given(join_cases())
def test_pairs_come_with_their_second_row(case: JoinCase) -> None:
    case = replace(case, spec=reports(case.spec, "semi" if case.spec.how == "semi" else "inner"))

    def look(watched: Watched) -> None:
        pairs = case.reference.run(*watched.came)
        assert_same_rows(watched.results, [case.told(left, right) for left, right in pairs])

    case.run(Watched(case, case.operator(), behind=look))


@settings(max_examples=2000)
@given(stream_cases())
def test_only_rows_that_may_match_are_held(case: JoinCase) -> None:
    """A chunk is written again once half of it is needless, so a little less than that may be."""

    def look(watched: Watched, state: MemoryState, arrived: Sequence[Arrived]) -> None:
        for place in (0, 1):
            other = arrived[1 - place].punctuation
            needed = {
                row["n"]
                for row in watched.came[place]
                if may_match(case, place, row, other) and not reported(case, watched, place, row)
            }
            chunks = list(held(state, place))
            assert needed <= {number for _, live in chunks for number in live}
            for numbers, live in chunks:
                assert 2 * len(needed.intersection(numbers)) > len(numbers)
                assert not watched.work.remembers[place] or needed.issuperset(live)

    case.run(Watched(case, case.operator(), before=look))


def may_match(case: JoinCase, place: int, row: Row, other: Punctuation) -> bool:
    """Whether a partner may still come: the nearest would be the first that is not complete."""
    if other.over or other.before is None:
        return not other.over
    axis, near = case.left.axis, case.spec.near
    first = axis.value(other.before)
    if row["on"] >= first:
        return True
    return near(axis, first, row["on"]) if place else near(axis, row["on"], first)


def reported(case: JoinCase, watched: Watched, place: int, row: Row) -> bool:
    """Whether nothing more can become of a left row that is reported by itself."""
    if place or not left_only(case.spec.how):
        return False
    return any(case.reference.matches(row, partner) for partner in watched.came[1])


@settings(max_examples=1000)
@given(split_cases())
def test_results_do_not_depend_on_the_split(cases: tuple[JoinCase, JoinCase]) -> None:
    one, other = (case.run() for case in cases)
    assert one.refused == other.refused == [[], []]
    assert_same_rows(one.results, other.results)
