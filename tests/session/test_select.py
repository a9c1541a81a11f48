"""How a SELECT over windows is read, without Spark."""

from __future__ import annotations

import pytest
from sqlglot import exp

from muntin.parser.dialect import written
from muntin.parser.errors import SqlError
from muntin.parser.parse import parse_query
from muntin.planner.aggregates import known_aggregates
from muntin.planner.relations import Columns
from muntin.planner.select import SelectParts, take_apart

KNOWN = known_aggregates(["geometric_mean"])


def asked(text: str, joined: list[str] | None = None, *, grouped: bool = False) -> SelectParts:
    query = parse_query(text)
    assert isinstance(query.tree, exp.Select)
    columns = Columns("t", ["k", "x", "v"], joined or [])
    return take_apart(query, query.tree, columns, KNOWN, grouped=grouped)


def texts(*trees: exp.Expr | None) -> list[str]:
    return [written(tree) for tree in trees if tree is not None]


def test_aggregates_are_found_once_and_named() -> None:
    parts = asked("SELECT max(v) - min(v) AS s, max(v) FROM t HAVING min(v) > 1 ORDER BY max(v)")
    assert texts(*parts.aggregates) == ["max(v)", "min(v)"]
    assert texts(*parts.items) == [
        "`_aggregate_0` - `_aggregate_1` AS s",
        "`_aggregate_0` AS `max(v)`",
    ]
    assert texts(parts.having) == ["`_aggregate_1` > 1"]
    assert texts(parts.order) == ["ORDER BY `_aggregate_0`"]


@pytest.mark.parametrize(
    ("text", "aggregate"),
    [
        ("count(*) FILTER (WHERE v >= avg(v))", "count(*) FILTER(WHERE v >= avg(v))"),
        ("first(v) IGNORE NULLS", "first(v) IGNORE NULLS"),
        ("COUNT(DISTINCT k)", "COUNT(DISTINCT k)"),
        (
            "approx_percentile(v, array(0.5, 0.9), 100)",
            "approx_percentile(v, ARRAY(0.5, 0.9), 100)",
        ),
        ("geometric_mean(v)", "geometric_mean(v)"),
        ("any(v > 1)", "ANY(v > 1)"),
    ],
)
def test_every_form_of_an_aggregate(text: str, aggregate: str) -> None:
    parts = asked(f"SELECT {text} AS a FROM t")
    assert texts(*parts.aggregates) == [aggregate]
    assert texts(*parts.items) == ["`_aggregate_0` AS a"]


def test_a_window_function_is_of_the_results() -> None:
    parts = asked("SELECT sum(max(v)) OVER (ORDER BY window_end) AS run FROM t")
    assert texts(*parts.aggregates) == ["max(v)"]
    assert texts(*parts.items) == ["sum(`_aggregate_0`) OVER (ORDER BY window_end) AS run"]


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("SELECT k, max(v) FROM t", ("k",)),
        ("SELECT t.k AS key, max(v) FROM t", ("k",)),
        ("SELECT K, max(v) FROM t GROUP BY K", ("k",)),
        ("SELECT k, window_end, max(v) FROM t", ("k",)),
        ("SELECT max(v) FROM t", ()),
        ("SELECT k, max(v) FROM t GROUP BY 1, window_end", ("k",)),
        ("SELECT x % 2 AS odd, max(v) FROM t GROUP BY odd, k", ("_group_0", "k")),
        ("SELECT k, v FROM t", ()),
        ("SELECT t.v.field, max(x) FROM t", ("_group_0",)),
    ],
)
def test_groups(text: str, groups: tuple[str, ...]) -> None:
    assert asked(text).groups == groups


def test_frames_are_grouped_without_aggregates() -> None:
    assert asked("SELECT k, frame_start FROM t", grouped=True).groups == ("k",)


def test_a_computed_group_is_replaced_wherever_it_stands() -> None:
    parts = asked("SELECT x % 2, count(*) FROM t GROUP BY x % 2 HAVING x % 2 = 1 ORDER BY x % 2")
    assert texts(*parts.computed.values()) == ["x % 2"]
    assert texts(*parts.items)[0] == "`_group_0` AS `x % 2`"
    assert texts(parts.having, parts.order) == ["`_group_0` = 1", "ORDER BY `_group_0`"]


def test_columns_of_joined_tables_are_computed_before() -> None:
    parts = asked("SELECT n.name, max(t.v * n.k) AS m FROM t JOIN n GROUP BY n.name", ["n"])
    assert {name: written(tree) for name, tree in parts.computed.items()} == {
        "name": "n.name",
        "n_k": "n.k",
    }
    assert parts.groups == ("name",)
    assert texts(*parts.aggregates) == ["max(t.v * `n_k`)"]
    assert texts(*parts.items)[0] == "`name`"


def test_having_may_use_names_of_the_list_and_means_results() -> None:
    parts = asked("SELECT max(v) AS v FROM t HAVING v > 1 AND max(v) < 9")
    assert texts(parts.having) == ["(`_aggregate_0`) > 1 AND `_aggregate_0` < 9"]


@pytest.mark.parametrize(
    ("text", "problem", "column"),
    [
        ("SELECT max(v) FROM t GROUP BY z", "there is no column z", 31),
        ("SELECT k, max(v) FROM t GROUP BY ROLLUP (k)", "GROUP BY ROLLUP is not allowed", 42),
    ],
)
def test_groups_that_cannot_be(text: str, problem: str, column: int) -> None:
    with pytest.raises(SqlError) as error:
        asked(text)
    assert error.value.problem.startswith(problem)
    assert error.value.place.column == column


def test_a_star_beside_aggregates_is_refused_over_frames_too() -> None:
    with pytest.raises(SqlError, match="is not allowed beside aggregates"):
        asked("SELECT *, max(v) FROM t", grouped=True)
    assert texts(*asked("SELECT * FROM t", grouped=True).items) == ["*"]


def test_columns_of_windows_under_a_prefix_are_no_groups() -> None:
    windows = "FROM t [TUMBLING 5 WATTR x PREFIX 'mt_']"
    assert asked(f"SELECT k, mt_window_end, max(v) {windows}").groups == ("k",)
    with pytest.raises(SqlError, match="there is no column mt_k"):
        asked(f"SELECT mt_k, max(v) {windows}")
    with pytest.raises(SqlError, match="have no wid"):
        asked(f"SELECT wid, max(v) {windows}")
    # The windows of another SELECT do not change the columns of this one.
    query = parse_query(
        f"SELECT wid, max(v) FROM t [TUMBLING 5] UNION ALL SELECT 1, max(v) {windows}"
    )
    assert isinstance(query.tree, exp.Union)
    assert isinstance(query.tree.left, exp.Select)
    assert take_apart(query, query.tree.left, Columns("t", ["k", "x", "v"], []), KNOWN).groups == ()
