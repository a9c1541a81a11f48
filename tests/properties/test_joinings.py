"""reference = step function, for joins of two streams with different disorder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given

from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.specs.join import left_only, pads_left, pads_right
from muntin.testing import assert_same_rows
from tests.properties.joinings import (
    AsofCase,
    JoinCase,
    TwoSides,
    Watched,
    asof_cases,
    asof_stream_cases,
    held,
    join_cases,
    limited_cases,
    reports,
    split_cases,
    stream_cases,
)
from tests.thorough import examples

Row = dict[str, Any]


@examples(2000)
@given(join_cases())
def test_steps_equal_the_reference(case: JoinCase) -> None:
    check_steps(case)


@examples(2000)
@given(asof_cases())
def test_asof_steps_equal_the_reference(case: AsofCase) -> None:
    check_steps(case)


def check_steps(case: TwoSides) -> None:
    ran, (wanted, outcomes) = case.run(), case.expected()
    # No state is left after all inputs have ended.
    assert ran.chunks_left == []
    assert_same_rows(ran.results, wanted)
    for place, outcome in enumerate(outcomes):
        arrived = [row for rows in case.sides[place].batches for row in rows]
        assert sorted(ran.refused[place]) == sorted(reason for _, reason in outcome.refused)
        assert ran.used[place] == outcome.used
        assert ran.used[place] + len(ran.refused[place]) == len(arrived)


@examples(300)
@given(join_cases() | asof_cases())
def test_a_batch_equals_the_reference(case: TwoSides) -> None:
    ran, (wanted, outcomes) = case.run_at_once(), case.expected_at_once()
    assert_same_rows(ran.results, wanted)
    for place, outcome in enumerate(outcomes):
        assert sorted(ran.refused[place]) == sorted(reason for _, reason in outcome.refused)


@examples(300)
@given(join_cases())
def test_pairs_come_with_their_second_row(case: JoinCase) -> None:
    case = replace(case, spec=reports(case.spec, "semi" if case.spec.how == "semi" else "inner"))

    def look(watched: Watched) -> None:
        assert_same_rows(watched.results, case.pairs(*watched.came))

    case.run(Watched(case, case.operator(), behind=look))


@examples(300)
@given(stream_cases())
def test_only_rows_that_may_match_are_held(case: JoinCase) -> None:
    """A chunk is rewritten when half of its rows are not needed, so it may hold some of them."""

    def look(watched: Watched, state: MemoryState, arrived: Sequence[InputBatch]) -> None:
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
    """True if a partner may still arrive; the nearest would be the first not complete."""
    if other.over or other.before is None:
        return not other.over
    axis, near = case.left.axis, case.spec.near
    first = axis.value(other.before)
    if row["on"] >= first:
        return True
    return near(axis, first, row["on"]) if place else near(axis, row["on"], first)


def reported(case: JoinCase, watched: Watched, place: int, row: Row) -> bool:
    """True for a left row of a semi or anti join that has had a partner."""
    if place or not left_only(case.spec.how):
        return False
    return any(case.reference.matches(row, partner) for partner in watched.came[1])


@examples(300)
@given(limited_cases())
def test_little_room_loses_pairs_but_no_rows(case: JoinCase) -> None:
    def look(watched: Watched, state: MemoryState, arrived: Sequence[InputBatch]) -> None:
        weights = [
            rows.nbytes for (name, _), rows in state.chunks.items() if name.endswith(":rows")
        ]
        assert case.limit is not None and sum(weights) <= case.limit

    ran = case.run(Watched(case, case.operator(), before=look))
    wanted, outcomes = case.expected()
    assert ran.chunks_left == []
    assert [len(refused) for refused in ran.refused] == [len(o.refused) for o in outcomes]
    if not ran.evicted:
        assert_same_rows(ran.results, wanted)
    for place, name in enumerate(("left3", "right3")):
        check_reported(case, place, reported_by(ran.results, name), reported_by(wanted, name))


def reported_by(
    results: Sequence[Row], name: str
) -> dict[int, list[tuple[int | None, int | None]]]:
    """Return the reported pairs of each row of a side, by the number of the row."""
    pairs: dict[int, list[tuple[int | None, int | None]]] = {}
    for row in results:
        if row.get(name) is not None:
            pairs.setdefault(row[name], []).append((row["left3"], row.get("right3")))
    return pairs


def check_reported(
    case: JoinCase, place: int, found: dict[int, list[Any]], wanted: dict[int, list[Any]]
) -> None:
    """Check that every pair is right, no row is also reported alone, and no row is lost."""
    how = case.spec.how
    for number, pairs in found.items():
        alone = (None, number) if place else (number, None)
        assert pairs == [alone] or set(pairs) <= set(wanted[number])
        assert len(set(pairs)) == len(pairs)
    if pads_right(how) if place else pads_left(how):
        assert set(wanted) <= set(found)


@examples(300)
@given(asof_stream_cases())
def test_left_rows_are_reported_when_their_partner_is_certain(case: AsofCase) -> None:
    """A partner is certain if no later row would change it."""

    def look(watched: Watched, state: MemoryState, arrived: Sequence[InputBatch]) -> None:
        left, right = watched.came
        done = [row for row in left if certain(case, row, right, arrived[1].punctuation)]
        assert_same_rows(watched.results, case.pairs(done, right))
        waiting = [number for _, live in held(state, 0) for number in live]
        assert sorted(waiting) == sorted(row["n"] for row in left if row not in done)

    case.run(Watched(case, case.operator(), before=look))


def certain(case: AsofCase, row: Row, right: Sequence[Row], told: Punctuation) -> bool:
    """True if the nearest rows that may still arrive do not change the partner of a left row."""
    if told.over or told.before is None:
        return told.over
    axis, on = case.left.axis, row["on"]
    first = axis.value(told.before)
    if isinstance(on, float):
        around = [math.nextafter(on, -math.inf), on, math.nextafter(on, math.inf)]
    else:
        tick = axis.tick(on)
        assert tick is not None
        around = [axis.value(near) for near in (tick - 1, tick, tick + 1)]
    to_come = [{**row, "on": on, "s": None, "n": 1000} for on in (first, *around) if on >= first]
    return all(case.reference.partner(row, [*right, new]) is not new for new in to_come)


@examples(300)
@given(asof_stream_cases())
def test_only_right_rows_that_may_be_partners_are_held(case: AsofCase) -> None:
    """Where both inputs are complete, at most ``keeps`` rows of each key are held."""

    def look(watched: Watched, state: MemoryState, arrived: Sequence[InputBatch]) -> None:
        complete = [batch.punctuation for batch in arrived]
        useful = {
            row["n"] for row in watched.came[1] if may_be_partner(case, row, watched, complete)
        }
        for numbers, _ in held(state, 1):
            assert 2 * len(useful.intersection(numbers)) > len(numbers)
        passed = [state.read("passed:rows", b) for b in state.buckets("passed:rows")]
        numbers = [n for rows in passed for n in rows["c3"].to_pylist()]
        assert useful.issuperset(numbers)
        keys = {row["k"] if case.left.keyed else 0 for row in watched.came[1]}
        assert len(numbers) <= len(keys) * case.operator().look.keeps

    case.run(Watched(case, case.operator(), before=look))


def may_be_partner(
    case: AsofCase, row: Row, watched: Watched, complete: Sequence[Punctuation]
) -> bool:
    if complete[0].over and len(watched.results) == len(watched.came[0]):
        return False  # no left row needs a partner any more
    axis, spec, at = case.left.axis, case.spec, case.reference._at
    fronts = [
        math.inf
        if punctuation.over
        else -math.inf
        if punctuation.before is None
        else axis.value(punctuation.before)
        for punctuation in complete
    ]
    done = [
        end if isinstance(end, float) and math.isinf(end) else at({"on": end}) for end in fronts
    ]
    place = at(row)
    if not spec.backward:
        return bool(place >= min(done))
    if spec.tolerance is not None:
        far = axis.length("tolerance", spec.tolerance) * (2 if spec.forward else 1)
        ticks = far + 2 * (spec.forward or isinstance(place, float))
        if place < min(done) - (ticks / 10**axis.digits if isinstance(place, float) else ticks):
            return False
    later = {
        at(other)
        for other in watched.came[1]
        if all(other[name] == row[name] for name in case.left.by) and place < at(other) < min(done)
    }
    return len(later) < case.operator().look.keeps


@examples(200)
@given(split_cases())
def test_results_do_not_depend_on_the_split(cases: tuple[TwoSides, TwoSides]) -> None:
    first, second = (case.run() for case in cases)
    assert first.refused == second.refused == [[], []]
    assert_same_rows(first.results, second.results)
