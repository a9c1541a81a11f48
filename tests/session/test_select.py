"""How a SELECT over windows is read, without Spark."""

from __future__ import annotations

import pytest
from sqlglot import exp

from muntin.parser.dialect import written
from muntin.parser.errors import SqlError
from muntin.parser.parse import parse_query
from muntin.planner.aggregates import known_aggregates
from muntin.planner.order_limit import split
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
        ("SELECT x % 2 AS Odd FROM t GROUP BY oDD", ("_group_0",)),
        ("SELECT k, v FROM t", ()),
        ("SELECT t.v.field, max(x) FROM t", ("_group_0",)),
    ],
)
def test_groups(text: str, groups: tuple[str, ...]) -> None:
    assert asked(text).groups == groups


@pytest.mark.parametrize(
    "text",
    ["SELECT k FROM t GROUP BY k", "SELECT k FROM t HAVING k = 'a'", "SELECT 1 FROM t HAVING true"],
)
def test_group_by_and_having_without_aggregates_count_rows(text: str) -> None:
    parts = asked(text)
    assert texts(*parts.aggregates) == ["count(*)"]
    assert asked(text, grouped=True).aggregates == ()  # a frame is one result anyway


def test_subqueries_stay_as_they_are() -> None:
    parts = asked(
        "SELECT v % 2, (SELECT max(v % 2) FROM u) AS m FROM t GROUP BY v % 2 "
        "HAVING count(*) > (SELECT count(*) FROM u)"
    )
    assert texts(*parts.aggregates) == ["count(*)"]
    assert texts(parts.items[1], parts.having) == [
        "(SELECT max(v % 2) FROM u) AS m",
        "`_aggregate_0` > (SELECT count(*) FROM u)",
    ]
    assert asked("SELECT (SELECT max(v) FROM u) AS m, k FROM t").aggregates == ()


def test_other_parts_are_over_results() -> None:
    parts = asked("SELECT k, rank() OVER w AS r FROM t QUALIFY sum(v) > 1 SORT BY max(v)")
    assert texts(*parts.aggregates) == ["sum(v)", "max(v)"]
    assert {name: written(part) for name, part in parts.others.items()} == {  # type: ignore[arg-type]
        "qualify": "QUALIFY `_aggregate_0` > 1",
        "sort": "SORT BY `_aggregate_1`",
    }


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
        ("SELECT k FROM t GROUP BY CUBE (k)", "GROUP BY CUBE is not allowed", 32),
        ("SELECT k FROM t GROUP BY k WITH ROLLUP", "GROUP BY ROLLUP is not allowed", 26),
        ("SELECT k FROM t GROUP BY GROUPING SETS ((k), ())", "GROUP BY GROUPINGSETS is not", 42),
        ("SELECT k FROM t GROUP BY ALL", "GROUP BY ALL is not allowed", 1),
        ("SELECT k, max(v) FROM t GROUP BY k, 2", "groups are made before max(v)", 11),
        ("SELECT k, max(v) AS m FROM t GROUP BY k, m", "groups are made before max(v)", 11),
        ("SELECT k FROM t GROUP BY 2", "GROUP BY 2 names no item of the select list", 26),
    ],
)
def test_groups_that_cannot_be(text: str, problem: str, column: int) -> None:
    with pytest.raises(SqlError) as error:
        asked(text)
    assert error.value.problem.startswith(problem)
    assert error.value.place.column == column


def test_a_star_beside_aggregates_is_refused_over_frames_too() -> None:
    for text in ("SELECT *, max(v) FROM t", "SELECT * FROM t GROUP BY k"):
        with pytest.raises(SqlError, match="is not allowed beside aggregates, GROUP BY or HAVING"):
            asked(text, grouped=True)
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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SELECT k, sum(n) OVER (ORDER BY window_end) AS s FROM t", "looks at rows of several"),
        ("SELECT DISTINCT k FROM t", "DISTINCT is about all of them"),
        ("SELECT k FROM t LIMIT 3", "a stream has no end, so it has no first rows"),
    ],
)
def test_micro_batches_are_sorted_apart(text: str, problem: str) -> None:
    query = parse_query(text)
    with pytest.raises(SqlError, match=problem):
        split(query, query.tree, {"t": None})  # type: ignore[dict-item]


def test_a_window_function_of_one_window_is_done_in_its_micro_batch() -> None:
    query = parse_query("SELECT rank() OVER (PARTITION BY window_end ORDER BY n) AS r FROM t")
    assert split(query, query.tree, {"t": None}) == ("t", query.tree)  # type: ignore[dict-item]
