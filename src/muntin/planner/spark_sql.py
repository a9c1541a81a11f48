"""Run Spark's part of a query: names replaced by DataFrames, text written by sqlglot."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from muntin.errors import MuntinError
from muntin.parser.dialect import written
from muntin.planner.relations import Scope, rows_of
from muntin.spark.columns import DataFrame
from muntin.spark.run_sql import select


@dataclass(frozen=True)
class SparkPart:
    """A part of a query that Spark does, and the names in it that are streams."""

    tree: exp.Expr
    streams: frozenset[str]

    @staticmethod
    def of(tree: exp.Expr, scope: Scope, results: Mapping[str, DataFrame]) -> SparkPart:
        return SparkPart(tree, _streams(tree, scope, results))


def evaluate(tree: exp.Expr, scope: Scope, results: Mapping[str, DataFrame]) -> DataFrame:
    """Return the result of a query over the DataFrames of its names: ``results``, then the scope.

    Other names are left to Spark, unless the scope is closed. Every DataFrame gets a unique name.
    """
    tree = tree.copy()
    run = f"muntin_{uuid.uuid4().hex}"
    tables: dict[str, DataFrame] = {}
    for node in list(tree.find_all(exp.Table)):
        df = _dataframe(node, scope, results)
        if df is None:
            _check_left_to_spark(node, scope)
            continue
        unique = f"{run}_{len(tables)}"
        tables[unique] = df
        _rename(node, unique)
    return select(scope.spark, written(tree), tables)


def _check_left_to_spark(node: exp.Table, scope: Scope) -> None:
    """Raise if a relation is neither a CTE nor a call, and Spark's own tables are not there."""
    name = full_name(node)
    if scope.closed and name and not _is_cte(node, name):
        raise MuntinError(f"there is no stream or table {name}")


def _streams(tree: exp.Expr, scope: Scope, results: Mapping[str, DataFrame]) -> frozenset[str]:
    """Return the names of a query that are streams, also its CTEs that read one."""
    streams: set[str] = set()
    ctes = list(tree.find_all(exp.CTE))
    while True:
        known = len(streams)
        for node in tree.find_all(exp.Table):
            df = _dataframe(node, scope, results)
            if df is not None and df.isStreaming:
                streams.add(full_name(node))
        for cte in ctes:
            if any(full_name(node) in streams for node in cte.this.find_all(exp.Table)):
                streams.add(cte.alias)
        if len(streams) == known:
            return frozenset(streams)


def full_name(node: exp.Table) -> str:
    return ".".join(part.name for part in node.parts)


def _dataframe(node: exp.Table, scope: Scope, results: Mapping[str, DataFrame]) -> DataFrame | None:
    """Return the DataFrame of a name; None if it is a CTE or left to Spark."""
    name = full_name(node)
    if name in results:
        return results[name]
    kept = None if _is_cte(node, name) else scope.own(name)
    return None if kept is None else rows_of(kept)


def _is_cte(node: exp.Table, name: str) -> bool:
    """Return whether a name is that of a CTE, which is known neither in itself nor before it."""
    if node.args.get("db"):
        return False  # a name with dots is none, even if somebody wrote WITH `a.b`
    inside: exp.Expr = node
    while (parent := inside.parent) is not None:
        with_ = parent.args.get("with_") if not isinstance(inside, exp.With) else None
        known = with_.expressions if with_ is not None else []
        if isinstance(parent, exp.With) and isinstance(inside, exp.CTE):
            every = parent.expressions
            known = every if parent.args.get("recursive") else every[: every.index(inside)]
        if any(cte.alias.casefold() == name.casefold() for cte in known):
            return True
        inside = parent
    return False


def _rename(node: exp.Table, unique: str) -> None:
    """Give a relation another name, under the alias that it had."""
    alias = node.alias_or_name
    for part in ("db", "catalog"):
        node.set(part, None)
    node.set("this", exp.to_identifier(unique))
    if not node.args.get("alias"):
        node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
