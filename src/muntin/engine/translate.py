"""A query as a DataFrame: windows by Muntin, everything around them by Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from muntin.engine.blame import located
from muntin.engine.core import translate_core
from muntin.engine.per_window import ranked, split
from muntin.engine.scope import Scope, rows_of
from muntin.engine.spark_sql import evaluate
from muntin.spark.plan import Plan
from muntin.spark.types import DataFrame
from muntin.sql.errors import SqlError
from muntin.sql.parse import parse_query
from muntin.sql.statements import Query

#: What is left to do with the rows of every micro-batch.
Finish = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, eq=False)
class Answer:
    """The results of a query, and the plans behind them by the names of their relations.

    ``rest`` is what Spark does with the results of windows, or the whole query if it has none.
    A stream cannot be sorted. Where a query asks for an order, or for the first rows of every
    window, ``finish`` does that with the rows of a micro-batch: a sink calls it on each.
    """

    query: Query
    df: DataFrame
    plans: Mapping[str, Plan]
    rest: exp.Query
    finish: Finish | None = None

    @property
    def is_streaming(self) -> bool:
        return bool(self.df.isStreaming)


def translate(query: Query, scope: Scope) -> Answer:
    """The results of a query over the names of a scope."""
    query = with_known_columns(query, scope)
    tree = query.tree.copy()
    plans: dict[str, Plan] = {}
    with located(query):
        if not query.windowings:
            return Answer(query, evaluate(tree, scope, {}), plans, tree)
        scope = _with_ctes(query, tree, scope, plans)
        made = _cores(query, tree, scope, plans)
        return _finished(query, tree, scope, made, plans)


def with_known_columns(query: Query, scope: Scope) -> Query:
    """The query read again where words with hyphens in it turn out to be columns."""
    known = _hyphenated_columns(query, scope)
    if not known:
        return query
    # Blanks in front keep every place where it is in the user's text.
    blank = "".join(char if char == "\n" else " " for char in query.text[: query.start])
    text = blank + query.text[query.start : query.end]
    return replace(parse_query(text, known), text=query.text)


def _hyphenated_columns(query: Query, scope: Scope) -> set[str]:
    """Columns with hyphens, of the tables that a query names, that stand in it."""
    words = {word.casefold() for word in query.hyphenated}
    if not words:
        return set()
    tables = [scope.find(name) for name in set(tables_of(query))]
    names = {name for table in tables if table is not None for name in rows_of(table).columns}
    virtual = {"arrival-ts"}
    return {name for name in names | virtual if name.casefold() in words}


def tables_of(query: Query) -> Iterator[str]:
    """The names of relations in a query; those of its CTEs are among them."""
    for table in query.tree.find_all(exp.Table):
        if table.name not in query.windowings:
            yield ".".join(part.name for part in table.parts)
    for windowing in query.windowings.values():
        if isinstance(windowing.table, Query):
            yield from tables_of(windowing.table)
        else:
            yield windowing.table
        yield from (fill.table for fill in windowing.fills)


def _with_ctes(query: Query, tree: exp.Expr, scope: Scope, plans: dict[str, Plan]) -> Scope:
    """CTEs become names of the scope, in their order, so that windows can be over them."""
    with_ = tree.args.get("with_")
    if with_ is None:
        return scope
    if with_.args.get("recursive"):
        problem = "a recursive WITH and windows cannot stand in one query"
        raise SqlError(problem, query.text, query.place)
    for cte in with_.expressions:
        inner = cte.this
        made = _cores(query, inner, scope, plans)
        scope = scope.having(cte.alias, evaluate(inner, scope, made))
    tree.set("with_", None)
    return scope


def _cores(
    query: Query, tree: exp.Expr, scope: Scope, plans: dict[str, Plan]
) -> dict[str, DataFrame]:
    """The results of every SELECT over windows, by the name that stands for them."""
    made: dict[str, DataFrame] = {}
    for node in list(tree.find_all(exp.Table)):
        if node.name not in query.windowings:
            continue
        select = node.find_ancestor(exp.Select)
        assert select is not None  # a relation stands in FROM
        found = translate_core(query, select, node, scope, lambda inner: translate(inner, scope).df)
        made[node.name] = found.df
        if found.plan is not None:
            plans[_free(query.windowings[node.name].alias, plans)] = found.plan
    return made


def _free(name: str, taken: Mapping[str, Plan]) -> str:
    """A name for a plan, told apart from others of the same relation."""
    if name not in taken:
        return name
    return next(made for n in range(2, len(taken) + 3) if (made := f"{name}_{n}") not in taken)


def _finished(
    query: Query,
    tree: exp.Expr,
    scope: Scope,
    made: Mapping[str, DataFrame],
    plans: Mapping[str, Plan],
) -> Answer:
    """The rest of the query by Spark; on a stream its order is left for the micro-batches."""
    assert isinstance(tree, exp.Query)
    if query.per_window:
        tree = ranked(query, tree, made)
    streaming = any(df.isStreaming for df in made.values())
    if not streaming or not (tree.args.get("order") or tree.args.get("limit")):
        return Answer(query, evaluate(tree, scope, made), plans, tree)
    name, rest = split(query, tree, made)

    def finish(batch: DataFrame) -> DataFrame:
        return evaluate(rest, Scope(batch.sparkSession, scope.tables), {name: batch})

    return Answer(query, made[name], plans, rest, finish)
