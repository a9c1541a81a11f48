"""The part of a query that is Spark's: names replaced by DataFrames, text written by sqlglot."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from sqlglot import exp

from muntin.engine.scope import Scope, rows_of
from muntin.spark.relational import select
from muntin.spark.types import DataFrame
from muntin.sql.dialect import written


def evaluate(tree: exp.Expr, scope: Scope, made: Mapping[str, DataFrame]) -> DataFrame:
    """The result of a query over what its names stand for: ``made`` first, then the scope.

    Names of neither are left to Spark. Every DataFrame gets a name that nobody can have written.
    """
    tree = tree.copy()
    run = f"muntin_{uuid.uuid4().hex}"
    tables: dict[str, DataFrame] = {}
    hidden = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
    for node in list(tree.find_all(exp.Table)):
        name = ".".join(part.name for part in node.parts)
        found = made.get(name)
        if found is None and name.casefold() not in hidden:
            kept = scope.own(name)
            found = None if kept is None else rows_of(kept)
        if found is None:
            continue
        unique = f"{run}_{len(tables)}"
        tables[unique] = found
        _rename(node, unique)
    return select(scope.spark, written(tree), tables)


def _rename(node: exp.Table, unique: str) -> None:
    """Another name for a relation, under the alias that it had."""
    alias = node.alias_or_name
    for part in ("db", "catalog"):
        node.set(part, None)
    node.set("this", exp.to_identifier(unique))
    if not node.args.get("alias"):
        node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
