"""The as-of join operator: left rows wait until their partner is certain."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

from muntin.operators.join.asof import AsofJoinOperator
from muntin.operators.join.reach import AsofReach
from muntin.operators.join.right_rows import tie_ranks
from muntin.operators.protocol import MemoryState
from muntin.specs.join import Asof
from tests.join.feeding import SIDE, WHOLE, Fed, names


def asof(tolerance: int | None = None, direction: str = "backward", *, exact: bool = True) -> Fed:
    right = replace(SIDE, ties=(pa.string(),))
    return Fed(
        AsofJoinOperator(AsofReach.of(Asof(tolerance, direction, exact), WHOLE), (SIDE, right))
    )


def passed(state: MemoryState) -> list[str]:
    chunks = [state.read("passed:rows", bucket) for bucket in state.buckets("passed:rows")]
    return sorted(name for chunk in chunks for name in chunk["c1"].to_pylist())


def test_backward_takes_the_last_row_at_or_before() -> None:
    r"""
    left              a5        b9
    right   A2  B3         C7
    """
    fed = asof()
    fed.step(left=[("k", 5, "a"), ("k", 9, "b")], right=[("k", 2, "A"), ("k", 7, "C")])
    assert names(fed.step(right=[("k", 3, "B")], complete=(None, 5))) == []
    assert names(fed.step(complete=(None, 6))) == [("a", "B")]
    assert names(fed.step(complete=(None, 10))) == [("b", "C")]
    assert fed.held(0) == []


def test_the_last_row_of_each_key_is_held_however_old_it_is() -> None:
    fed = asof()
    fed.step(right=[("k", 1, "A"), ("k", 2, "B"), ("j", 1, "J")], complete=(None, 100))
    fed.step(complete=(90, None))
    assert (fed.held(1), passed(fed.state)) == ([], ["B", "J"])
    fed.step(right=[("k", 120, "C")], complete=(None, 200))
    assert (fed.held(1), passed(fed.state)) == (["C"], ["B", "J"])
    assert names(fed.step(left=[("k", 119, "a"), ("j", 130, "b"), ("i", 130, "c")])) == [
        ("a", "B"),
        ("b", "J"),
        ("c", None),
    ]
    fed.step(complete=(150, None))
    assert (fed.held(1), passed(fed.state)) == ([], ["C", "J"])


def test_with_a_tolerance_they_are_let_go() -> None:
    fed = asof(10)
    fed.step(right=[("k", 1, "A"), ("j", 5, "J")], complete=(6, 100))
    assert passed(fed.state) == ["A", "J"]
    fed.step(complete=(12, None))
    assert passed(fed.state) == ["J"]
    assert names(fed.step(left=[("j", 15, "a"), ("j", 16, "b")])) == [("a", "J"), ("b", None)]


def test_forward_is_certain_when_the_next_row_is() -> None:
    fed = asof(direction="forward")
    fed.step(left=[("k", 5, "a"), ("j", 5, "b")], right=[("k", 9, "A")])
    assert names(fed.step(complete=(None, 9))) == []
    assert names(fed.step(right=[("k", 9, "B")], complete=(None, 10))) == [("a", "B")]
    assert names(fed.step(right=[("j", 70, "J")], complete=(None, 80))) == [("b", "J")]


def test_forward_is_certain_when_the_tolerance_is_passed() -> None:
    fed = asof(3, "forward")
    fed.step(left=[("k", 5, "a")], right=[("k", 9, "A")])
    assert names(fed.step(complete=(None, 8))) == []
    assert names(fed.step(complete=(None, 9))) == [("a", None)]


def test_nearest_prefers_the_one_before() -> None:
    r"""
    left          b5
    right   A2         C8
    """
    fed = asof(direction="nearest")
    fed.step(left=[("k", 5, "b")], right=[("k", 2, "A"), ("k", 8, "C")])
    assert names(fed.step(complete=(None, 7))) == []
    assert names(fed.step(complete=(None, 8))) == [("b", "A")]  # nothing at 8 is nearer


def test_a_row_in_the_same_place_is_no_partner_unless_exact() -> None:
    left, right = [("k", 5, "a")], [("k", 4, "A"), ("k", 5, "B"), ("k", 7, "C")]
    for direction, partner in (("backward", "A"), ("forward", "C"), ("nearest", "A")):
        fed = asof(direction=direction, exact=False)
        step = fed.step(left, right, ended=(True, True))  # type: ignore[arg-type]
        assert names(step) == [("a", partner)]
        assert fed.state.chunks == {}


def test_the_partner_before_outlasts_one_in_the_same_place() -> None:
    fed = asof(direction="nearest", exact=False)
    fed.step(left=[("k", 50, "a")], right=[("k", 4, "A"), ("k", 50, "B")])
    fed.step(complete=(60, 60))
    assert passed(fed.state) == ["A", "B"]
    assert names(fed.step(complete=(None, 96))) == [("a", "A")]


def test_the_partner_before_is_held_while_a_nearer_one_may_come() -> None:
    fed = asof(10, "nearest")
    fed.step(left=[("k", 50, "a")], right=[("k", 41, "A")], complete=(60, 55))
    assert passed(fed.state) == ["A"]
    assert names(fed.step(complete=(None, 58))) == []
    assert names(fed.step(complete=(None, 59))) == [("a", "A")]


def test_nobody_asks_when_left_rows_are_over() -> None:
    fed = asof()
    fed.step(left=[("k", 5, "a")], right=[("k", 4, "A"), ("k", 9, "B")], ended=(True, False))
    assert fed.held(1) == ["A", "B"]
    assert names(fed.step(complete=(None, 6))) == [("a", "A")]
    assert fed.state.chunks == {}
    fed.step(right=[("k", 10, "C")])
    assert fed.state.chunks == {}


def test_ties_are_equal_where_values_are() -> None:
    ranks = tie_ranks(pa.array(["b", "a", None, "b"]))
    assert ranks[0] == ranks[3] > ranks[1]
    assert ranks[2] > ranks[0]


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_rows_in_one_place_the_greatest_tie_counts(order: int) -> None:
    fed = asof()
    for name in "AB"[::order]:
        fed.step(right=[("k", 5, name)])
    assert names(fed.step(left=[("k", 5, "a")], ended=(False, True))) == [("a", "B")]


def test_an_operator_travels() -> None:
    work = asof(3).work
    assert work.result_schema.names == ["k0", "left0", "left1", "right0", "right1"]
    assert pickle.loads(pickle.dumps(work)) == work
