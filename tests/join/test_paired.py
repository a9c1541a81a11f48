"""The join operator: rows match, wait for a partner, and are dropped."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from muntin.expressions.nodes import Comparison, Slot
from muntin.operators.join.candidate_pairs import PairCondition
from muntin.operators.join.operator import PairJoinOperator
from muntin.operators.join.reach import Around, IntervalReach
from muntin.operators.protocol import Step
from muntin.specs.join import Distance, Zipper
from tests.join.feeding import SIDE, WHOLE, Fed, names


def within(length: int, direction: str = "both", how: str = "inner") -> Fed:
    return Fed(PairJoinOperator(Around.of(Distance(length, direction), WHOLE), (SIDE, SIDE), how))


def test_pairs_come_as_soon_as_both_rows_are_there() -> None:
    r"""
    left    a5        a8
    right       A7
    """
    fed = within(2)
    assert names(fed.step(left=[("k", 5, "a5")])) == []
    assert names(fed.step(right=[("k", 7, "A7"), ("j", 5, "J5")])) == [("a5", "A7")]
    assert names(fed.step(left=[("k", 8, "a8")])) == [("a8", "A7")]


def test_a_null_key_is_a_key() -> None:
    fed = within(0)
    step = fed.step(left=[(None, 1, "a")], right=[(None, 1, "A"), ("k", 1, "K")])
    assert names(step) == [("a", "A")]


def test_a_row_without_partner_waits_until_none_can_come() -> None:
    fed = within(2, how="full")
    fed.step(left=[("k", 5, "a")], right=[("k", 20, "Z")])
    assert names(fed.step(complete=(None, 7))) == []
    assert names(fed.step(complete=(None, 8))) == [("a", None)]
    assert fed.held(0) == []
    assert names(fed.step(complete=(22, None))) == []
    assert names(fed.step(complete=(23, None))) == [(None, "Z")]
    assert fed.state.chunks == {}


def test_a_row_that_has_met_is_not_reported_alone() -> None:
    fed = within(2, how="left")
    fed.step(left=[("k", 5, "a"), ("k", 5, "b"), ("j", 5, "c")])
    assert names(fed.step(right=[("k", 6, "A")])) == [("a", "A"), ("b", "A")]
    assert names(fed.step(ended=(False, True))) == [("c", None)]


def test_semi_reports_once_and_at_once() -> None:
    fed = within(2, how="semi")
    fed.step(left=[("k", 5, "a"), ("k", 9, "b"), ("k", 30, "c")])
    step = fed.step(right=[("k", 6, "A"), ("k", 7, "B")])
    assert names(step) == [("a", None), ("b", None)]
    assert step.results.column_names == ["k0", "left0", "left1"]
    assert fed.held(0) == ["c"]
    assert names(fed.step(right=[("k", 7, "C")])) == []


@pytest.mark.parametrize(("how", "wanted"), [("semi", [("a", None)]), ("anti", [])])
def test_what_is_reported_stays_reported_while_others_of_its_chunk_wait(
    how: str, wanted: list[tuple[str, None]]
) -> None:
    fed = within(1, how=how)
    fed.step(left=[("k", 5, "a"), ("k", 15, "b"), ("k", 16, "c"), ("k", 17, "d")])
    pairs_of_steps = [names(fed.step(right=[("k", 5, "A")])) for _ in range(4)]
    assert [pair for step in pairs_of_steps for pair in step] == wanted
    assert fed.held(0) == [
        "a",
        "b",
        "c",
        "d",
    ]  # the chunk is unchanged; its marks say that a is gone
    assert names(fed.step(complete=(None, 8))) == []


def test_anti_reports_when_no_match_can_come() -> None:
    fed = within(2, "forward", "anti")
    fed.step(left=[("k", 5, "a"), ("k", 9, "b")], right=[("k", 10, "A")])
    assert names(fed.step(complete=(None, 8))) == [("a", None)]
    assert names(fed.step(ended=(True, True))) == []
    assert fed.state.chunks == {}


def test_late_rows_count_nowhere() -> None:
    fed = within(10)
    fed.step(left=[("k", 5, "a")], complete=(5, 8))
    step = fed.step(left=[("k", 4, "b")], right=[("k", 7, "A"), ("k", 8, "B")])
    assert names(step) == [("a", "B")]
    assert [(counts.used, counts.late) for counts in step.rows] == [(0, 1), (1, 1)]


def test_a_condition_that_is_null_is_no_match() -> None:
    tree = Comparison("<", Slot(0), Slot(1))
    where = PairCondition(tree, ((0, 1), (1, 1)))
    fed = Fed(PairJoinOperator(Around(WHOLE, 0, 0), (SIDE, SIDE), "full", where))
    left = [("k", 1, "b"), ("k", 1, None)]
    step = fed.step(left, [("k", 1, "a"), ("k", 1, "c")], ended=(True, True))  # type: ignore[arg-type]
    assert names(step) == [("b", "c"), (None, "a"), (None, None)]


def test_intervals_are_zipped() -> None:
    r"""
    left    a1  b8 | c12      |
    right   A3     |      B19 | C20
    """
    fed = Fed(PairJoinOperator(IntervalReach.of(Zipper(10), WHOLE), (SIDE, SIDE), "full"))
    step = fed.step(left=[("k", 1, "a"), ("k", 8, "b"), ("k", 12, "c")], right=[("k", 3, "A")])
    assert names(step) == [("a", "A"), ("b", "A")]
    assert names(fed.step(right=[("k", 19, "B"), ("k", 20, "C")])) == [("c", "B")]
    assert names(fed.step(complete=(29, 20))) == []
    assert fed.held(0) == []
    assert names(fed.step(complete=(30, None))) == [(None, "C")]


@pytest.mark.parametrize("how", ["inner", "full", "semi"])
def test_an_operator_travels(how: str) -> None:
    work = within(2, how=how).work
    assert work.result_schema.field("left0").type == pa.int64()  # derived before it travels
    assert pickle.loads(pickle.dumps(work)) == work


def limited(limit: int, how: str) -> Fed:
    work = PairJoinOperator(Around.of(Distance(100), WHOLE), (SIDE, SIDE), how, limit=limit)
    return Fed(work)


def test_the_oldest_of_both_sides_go_when_there_is_no_room() -> None:
    rows = [("k", place, f"{place:02}") for place in range(10, 30)]
    roomy = within(100)
    roomy.step(rows[::2], rows[1::2])
    chunks = [rows for (name, _), rows in roomy.state.chunks.items() if name.endswith(":rows")]
    limit = sum(chunk.nbytes for chunk in chunks) // 2
    fed = limited(limit, "full")
    step = fed.step(rows[::2], rows[1::2])
    assert step.evicted == 20 - len(fed.held(0)) - len(fed.held(1))
    assert 5 < step.evicted < 15
    youngest = [name for _, _, name in rows[step.evicted :]]
    assert sorted(fed.held(0) + fed.held(1)) == youngest
    assert names(step) == names(
        roomy_step(rows)
    )  # pairs were reported before the rows were dropped


def roomy_step(rows: list[tuple[str, int, str]]) -> Step:
    return within(100, how="full").step(rows[::2], rows[1::2])


@pytest.mark.parametrize("how", ["left", "full", "anti"])
def test_a_row_that_goes_without_a_partner_is_reported(how: str) -> None:
    fed = limited(0, how)
    step = fed.step(left=[("k", 1, "a"), ("j", 2, "b")])
    assert (names(step), step.evicted) == ([("a", None), ("b", None)], 2)
    assert fed.state.chunks == {}
    assert step.changes == {}
    step = fed.step(right=[("k", 1, "A")], ended=(True, True))
    assert names(step) == ([(None, "A")] if how == "full" else [])


def test_rows_that_nobody_needs_make_room_and_are_not_counted() -> None:
    first = [("k", 1, "a"), ("k", 200, "b"), ("k", 201, "c")]
    roomy = within(100)
    roomy.step(left=first)
    (weight,) = [rows.nbytes for (name, _), rows in roomy.state.chunks.items() if "rows" in name]
    fed = limited(weight * 3 // 2, "inner")
    fed.step(left=first)
    fed.step(complete=(None, 150))
    assert fed.held(0) == ["a", "b", "c"]  # one dropped row in three does not rewrite a chunk
    step = fed.step(left=[("k", 202, "d"), ("k", 203, "e")])
    assert fed.held(0) == ["b", "c", "d", "e"]
    assert step.evicted == 0


def test_shards_divide_the_limit() -> None:
    work = PairJoinOperator(Around.of(Distance(100), WHOLE), (SIDE, SIDE), limit=1000)
    assert work.among(4).limit == 250
    assert work.among(5000).limit == 1
    assert PairJoinOperator(work.reach, work.sides).among(4).limit is None
