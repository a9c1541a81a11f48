"""A decision about overload is data, logged as a command, and part of a version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from muntin.engine.commit import with_complete
from muntin.engine.registry import Registry
from muntin.engine.registry_records import VersionChange
from muntin.errors import ArgumentError, EngineError
from muntin.operators.shared.as_json import from_json, to_json
from muntin.spark.exchange.pinned_versions import VersionFiles, overload_of, programs_of
from muntin.specs.overload import OverloadDecision, PinnedOverload, Policy, QueryBudget

GRAPH = ((0, 1), (40, 1), (60, 0))
RANDOM = Policy("random", seed=3)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    registry = Registry(tmp_path)
    registry.log("traffic", "create_stream", None, {"on": "ts"})
    for name in "abc":
        registry.add("traffic", name, "SELECT 1", "{}")
    yield registry
    registry.close()


def take(registry: Registry) -> VersionChange:
    change = registry.next_version("traffic")
    assert change is not None
    registry.record_version("traffic", change.number, f"digest {change.number}")
    return change


def pinned(change: VersionChange) -> PinnedOverload:
    assert change.overload is not None
    found = from_json(change.overload)
    assert isinstance(found, PinnedOverload)
    return found


class TestDecision:
    def test_it_is_the_same_after_json(self) -> None:
        own = QueryBudget(share=0.5, policy=Policy("value", "speed", GRAPH), waiting=7)
        decision = OverloadDecision(100, policy=RANDOM, queries={"q1": own}, kept=0.25, seconds=2.0)
        assert from_json(to_json(decision)) == decision
        made = decision.pinned({1: "q1", 5: "q2"})
        assert from_json(to_json(made)) == made

    def test_a_query_has_the_smaller_of_its_own_and_its_part(self) -> None:
        queries = {"q1": QueryBudget(units=10), "q2": QueryBudget(units=80)}
        decision = OverloadDecision(100, policy=RANDOM, queries=queries)
        budgets = decision.pinned({1: "q1", 2: "q2"}).budgets
        assert (budgets[1].units, budgets[2].units) == (10, 50)

    def test_a_query_without_a_policy_loses_nothing(self) -> None:
        decision = OverloadDecision(100, queries={"q1": QueryBudget()})
        assert decision.pinned({1: "q1", 2: "q2"}).budgets == {1: QueryBudget(units=50)}
        assert OverloadDecision().pinned({1: "q1"}).is_none

    def test_no_budget_among_all_is_none(self) -> None:
        decision = OverloadDecision(policy=RANDOM, queries={"q1": QueryBudget()})
        assert decision.pinned({1: "q1", 2: "q2"}).is_none

    @pytest.mark.parametrize(
        ("budget", "exact", "units"),
        [
            (QueryBudget(units=10), 100, 2),
            (QueryBudget(units=10), 1, 2),
            (QueryBudget(share=0.1), 35, 3),
            (QueryBudget(units=10, share=0.01), 100, 1),
            (QueryBudget(), 100, 100),
        ],
    )
    def test_shards_have_equal_parts(self, budget: QueryBudget, exact: int, units: int) -> None:
        assert budget.units_here(4, exact) == units

    @pytest.mark.parametrize(("x", "value"), [(-5, 1), (0, 1), (40, 1), (50, 0.5), (70, 0)])
    def test_the_graph_is_joined_by_lines(self, x: float, value: float) -> None:
        assert Policy("value", "speed", GRAPH).value_at(x) == value

    def test_refusals(self) -> None:
        with pytest.raises(ArgumentError, match=r"policy=.best. .*.random., .oldest."):
            Policy("best")
        with pytest.raises(ArgumentError, match="a column and a graph"):
            Policy("value", "speed")
        with pytest.raises(ArgumentError, match="only 'value' has a column"):
            Policy("oldest", "speed")
        with pytest.raises(ArgumentError, match="first numbers rise"):
            Policy("value", "speed", [(1, 0), (1, 1)])
        with pytest.raises(ArgumentError, match="units=-1"):
            QueryBudget(units=-1)
        with pytest.raises(ArgumentError, match=r"share=1\.5"):
            OverloadDecision(share=1.5)
        with pytest.raises(ArgumentError, match="kept=0"):
            OverloadDecision(kept=0)
        with pytest.raises(ArgumentError, match="waiting=-1"):
            QueryBudget(waiting=-1)


class TestLog:
    def test_a_decision_is_a_command_and_a_version(self, registry: Registry) -> None:
        assert take(registry).overload is None
        seq = registry.decide("traffic", OverloadDecision(90, policy=RANDOM))
        assert registry.commands(seq - 1)[0].kind == "overload"
        change = take(registry)
        assert change.commands == (seq,)
        assert pinned(change).budgets[3] == QueryBudget(units=30, policy=RANDOM)

    def test_members_that_come_later_have_their_part(self, registry: Registry) -> None:
        registry.decide("traffic", OverloadDecision(90, policy=RANDOM))
        assert [*pinned(take(registry)).budgets] == [1, 2, 3]
        registry.add_generation("q1", "SELECT 2", "{2}")
        registry.log("traffic", "drop", "q2", {})
        budgets = pinned(take(registry)).budgets
        assert {member: budget.units for member, budget in budgets.items()} == {3: 45, 4: 45}

    def test_the_last_decision_replaces_the_others(self, registry: Registry) -> None:
        registry.decide("traffic", OverloadDecision(90, policy=RANDOM))
        registry.decide("traffic", OverloadDecision())
        assert registry.decision("traffic") == OverloadDecision()
        assert take(registry).overload is None

    def test_a_version_that_is_begun_stays(self, registry: Registry, tmp_path: Path) -> None:
        registry.decide("traffic", OverloadDecision(90, policy=RANDOM))
        begun = registry.next_version("traffic")
        registry.decide("traffic", OverloadDecision(9, policy=RANDOM))
        registry.close()
        again = Registry(tmp_path)
        assert again.next_version("traffic") == begun
        assert pinned(take(again)).budgets[1].units == 30
        assert pinned(take(again)).budgets[1].units == 3
        again.close()

    def test_a_stream_that_is_not_there(self, registry: Registry) -> None:
        with pytest.raises(EngineError, match="no stream 'other'"):
            registry.decide("other", OverloadDecision())


def test_the_file_of_a_version_has_the_whole_decision(tmp_path: Path) -> None:
    files = VersionFiles(str(tmp_path))
    decided = to_json(OverloadDecision(90, policy=RANDOM).pinned({1: "q1"}))
    first = files.write(1, None, {1: "{}"}, overload=decided)
    second = files.write(2, first, {2: "{}"})
    assert overload_of(files.folder, first) == decided
    assert overload_of(files.folder, second) is None
    assert programs_of(files.folder, second) == {1: "{}", 2: "{}"}
    assert files.write(3, second, {}, overload=decided).digest != first.digest


def test_answers_that_spark_finishes_are_as_complete_as_their_rows() -> None:
    about = {
        "complete": [False, True],
        "completeness": [0.25, 1.0],
        "completeness_by": ["count"] * 2,
    }
    flat = pa.table({"a": [1, 2], **about})
    assert with_complete(pa.table({"b": [2, 4]}), flat).to_pydict() == {"b": [2, 4], **about}
    (one,) = with_complete(pa.table({"b": [6]}), flat).to_pylist()
    assert one == {"b": 6, "complete": False, "completeness": 0.25, "completeness_by": "count"}
    exact = with_complete(pa.table({"b": [6]}), flat.select(["a", "complete"]))
    assert exact.to_pylist() == [{"b": 6, "complete": False}]
