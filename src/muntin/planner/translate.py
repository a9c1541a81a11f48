"""Translate a query to a DataFrame: Muntin does its windows and joins, Spark the rest."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from muntin.parser.bracket import ARRIVAL, ROW_NUM
from muntin.parser.errors import SqlError
from muntin.parser.parse import parse_query
from muntin.parser.statements import Alignment, Query, Windowing
from muntin.planner.errors import located
from muntin.planner.joins import join_relations
from muntin.planner.order_limit import ranked, split
from muntin.planner.relations import Scope, rows_of
from muntin.planner.spark_sql import SparkPart, evaluate
from muntin.planner.window_plans import PlannedWindows
from muntin.planner.windowed_select import translate_select
from muntin.spark.api.lookup import Probed
from muntin.spark.api.plan import Plan
from muntin.spark.columns import DataFrame
from muntin.spark.plan.window_ids import with_wid

#: What is done with the rows of every micro-batch.
Finish = Callable[[DataFrame], DataFrame]
Clause = Windowing | Alignment


@dataclass(frozen=True, eq=False)
class SinglePlan:
    """The only plan of a query, and what turns its results into those of the query."""

    plan: Plan
    results: Finish


@dataclass(frozen=True, eq=False)
class TranslatedQuery:
    """The results of a query, and their plans by the names of relations.

    ``relations`` has the clauses of these plans, also those of subqueries. A plan that only looks
    rows up in a table keeps nothing. ``rest`` is what Spark does with the results of windows and
    joins, or the whole query if it has none.

    A stream cannot be sorted. If a query has an order, or takes the first rows of every window,
    ``finish`` does that with the rows of a micro-batch: a sink calls it on each.

    ``alone`` is the plan of all rows if there is only one; its refused rows are then available.
    ``parts`` are all that Spark does: ``rest``, and what it does before windows are made, in CTEs
    and in subqueries. ``running_plans`` are the plans that run, with those of queries that it
    reads by name. A ``continuous`` query was planned over empty tables that stand for streams.
    """

    query: Query
    df: DataFrame
    plans: Mapping[str, Plan | Probed]
    relations: Mapping[str, Clause]
    rest: exp.Query
    finish: Finish | None = None
    alone: SinglePlan | None = None
    parts: tuple[SparkPart, ...] = ()
    running_plans: tuple[Plan, ...] = ()
    continuous: bool = False

    @property
    def is_streaming(self) -> bool:
        return self.continuous or bool(self.df.isStreaming)


def translate(query: Query, scope: Scope) -> TranslatedQuery:
    """Return the results of a query over the tables of a scope."""
    query = with_known_columns(query, scope)
    tree = query.tree.copy()
    with located(query):
        if not query.windowings and not query.alignments:
            df, part = evaluate(tree, scope, {}), SparkPart.of(tree, scope, {})
            return TranslatedQuery(query, df, {}, {}, tree, parts=(part,))
        work = _Translation(query)
        scope = work.with_ctes(tree, scope)
        results = work.cores(tree, scope)
        return work.finished(tree, scope, results)


def with_known_columns(query: Query, scope: Scope) -> Query:
    """Read the query again if words with hyphens in it are columns."""
    known = _hyphenated_columns(query, scope)
    if not known:
        return query
    # Blanks before it keep every place as it is in the user's text.
    blank = "".join(char if char == "\n" else " " for char in query.text[: query.start])
    text = blank + query.text[query.start : query.end]
    return replace(parse_query(text, known), text=query.text)


def _hyphenated_columns(query: Query, scope: Scope) -> set[str]:
    """Return the columns with hyphens that a query names."""
    words = {word.casefold() for word in query.hyphenated}
    if not words:
        return set()
    tables = [scope.find(name) for name in set(tables_of(query))]
    names = {name for table in tables if table is not None for name in rows_of(table).columns}
    return {name for name in names | {ARRIVAL, ROW_NUM} if name.casefold() in words}


def tables_of(query: Query) -> Iterator[str]:
    """Return the names of relations in a query, also those of its CTEs."""
    for node in query.tree.find_all(exp.Table):
        if node.name not in {*query.windowings, *query.alignments}:
            yield ".".join(part.name for part in node.parts)
    named = [windowing.table for windowing in query.windowings.values()]
    named += [side.table for join in query.alignments.values() for side in join.sides]
    for table in named:
        if isinstance(table, Query):
            yield from tables_of(table)
        else:
            yield table
    for windowing in query.windowings.values():
        yield from (fill.table for fill in windowing.fills)


@dataclass
class _Translation:
    """A query while it is translated: its plans, and their clauses."""

    query: Query
    plans: dict[str, Plan | Probed] = field(default_factory=dict)
    relations: dict[str, Clause] = field(default_factory=dict)
    planned: dict[str, PlannedWindows] = field(default_factory=dict)
    parts: list[SparkPart] = field(default_factory=list)

    def with_ctes(self, tree: exp.Expr, scope: Scope) -> Scope:
        """Add CTEs to the scope, in their order, so that windows can be over them."""
        with_ = tree.args.get("with_")
        if with_ is None:
            return scope
        if with_.args.get("recursive"):
            problem = "a recursive WITH and windows are not allowed in one query"
            raise SqlError(problem, self.query.text, self.query.place)
        for cte in with_.expressions:
            results = self.cores(cte.this, scope)
            # A copy, which is not in the WITH any more: earlier CTEs are in the scope by now.
            self.parts.append(SparkPart.of(cte.this.copy(), scope, results))
            scope = scope.having(cte.alias, evaluate(cte.this, scope, results))
        tree.set("with_", None)
        return scope

    def cores(self, tree: exp.Expr, scope: Scope) -> dict[str, DataFrame]:
        """Return the results of SELECTs over windows, and of joins, by their names in the tree."""
        query, subquery = self.query, partial(self._subquery, scope)
        results: dict[str, DataFrame] = {}
        # Innermost first: Spark runs a WHERE before windows are made, and it may read others.
        for node in sorted(tree.find_all(exp.Table), key=_depth, reverse=True):
            if node.name in query.alignments:
                join = query.alignments[node.name]
                joined = join_relations(query, join, scope, subquery)
                results[node.name] = joined.df
                self._keep(join, joined.plan)
                if isinstance(joined.plan, Plan):
                    self.planned[node.name] = PlannedWindows(joined.df, joined.plan)
            elif node.name in query.windowings:
                select = node.find_ancestor(exp.Select)
                assert select is not None  # a relation is in FROM
                rows = translate_select(query, select, node, scope, subquery, results)
                results[node.name] = rows.df
                self.parts += [] if rows.before is None else [rows.before]
                if rows.plan is not None:
                    self._keep(query.windowings[node.name], rows.plan)
                    self.planned[node.name] = rows
        return results

    def _subquery(self, scope: Scope, inner: Query) -> DataFrame:
        """Return the rows of a subquery; its plans are plans of this query, too."""
        answer = translate(inner, scope)
        for name, plan in answer.plans.items():
            self._keep(answer.relations[name], plan)
        self.parts += answer.parts
        if answer.finish is not None:
            problem = "rows of a stream have no order that windows could be over"
            raise SqlError(problem, inner.text, inner.place, expected="no ORDER BY")
        return answer.df

    def _keep(self, clause: Clause, plan: Plan | Probed) -> None:
        """Keep a plan by the alias of its relation, with a number if the alias is taken."""
        names = (f"{clause.alias}_{n}" for n in itertools.count(2))
        name = next(n for n in itertools.chain([clause.alias], names) if n not in self.plans)
        self.plans[name] = plan
        self.relations[name] = clause

    def finished(
        self, tree: exp.Expr, scope: Scope, results: Mapping[str, DataFrame]
    ) -> TranslatedQuery:
        """Let Spark do the rest of the query; on a stream its order is left for micro-batches."""
        assert isinstance(tree, exp.Query)
        query = self.query
        if query.per_window:
            tree = ranked(query, tree, results)
        streaming = any(df.isStreaming for df in results.values())
        alone, parts = (
            self._alone(tree, scope, results),
            (*self.parts, SparkPart.of(tree, scope, results)),
        )
        if not streaming or not (tree.args.get("order") or tree.args.get("limit")):
            df = evaluate(tree, scope, results)
            return TranslatedQuery(query, df, self.plans, self.relations, tree, None, alone, parts)
        name, rest = split(query, tree, results)
        finish = _finishing(rest, scope, name)
        return TranslatedQuery(
            query, results[name], self.plans, self.relations, rest, finish, alone, parts
        )

    def _alone(
        self, tree: exp.Query, scope: Scope, results: Mapping[str, DataFrame]
    ) -> SinglePlan | None:
        """Return the plan of a query that has one, and no other stream."""
        plans = [plan for plan in self.plans.values() if isinstance(plan, Plan)]
        if len(plans) != 1 or len(results) != 1 or not {*results} <= {*self.planned}:
            return None
        (name,) = results
        if SparkPart.of(tree, scope, results).streams - {name}:
            return None
        planned, finish = self.planned[name], _finishing(tree, scope, name)
        plan = planned.plan
        assert plan is not None  # only those with a plan are kept

        def finished(rows: DataFrame) -> DataFrame:
            return finish(with_wid(plan.parts, rows) if planned.numbered else rows)

        return SinglePlan(plan, finished)


def _depth(node: exp.Expr) -> int:
    """Return the number of SELECTs around a node."""
    above = node.find_ancestor(exp.Select)
    return 0 if above is None else 1 + _depth(above)


def _finishing(rest: exp.Query, scope: Scope, name: str) -> Finish:
    """Return what Spark does with the results of a micro-batch."""

    def finish(batch: DataFrame) -> DataFrame:
        return evaluate(rest, replace(scope, spark=batch.sparkSession), {name: batch})

    return finish
