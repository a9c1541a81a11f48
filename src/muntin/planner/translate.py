"""A query as a DataFrame: windows by Muntin, everything around them by Spark."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from muntin.parser.errors import SqlError
from muntin.parser.parse import parse_query
from muntin.parser.statements import Alignment, Query, Windowing
from muntin.parser.window_kinds import ARRIVAL, ROW_NUM
from muntin.planner.errors import located
from muntin.planner.joins import aligned
from muntin.planner.order_limit import ranked, split
from muntin.planner.scope import Scope, rows_of
from muntin.planner.spark_sql import SparkPart, evaluate
from muntin.planner.window_plans import PlannedWindows
from muntin.planner.windowed_select import translate_core
from muntin.spark.api.lookup import Probed
from muntin.spark.api.plan import Plan
from muntin.spark.plan.window_ids import with_wid
from muntin.spark.types import DataFrame

#: What is left to do with the rows of every micro-batch.
Finish = Callable[[DataFrame], DataFrame]
Clause = Windowing | Alignment


@dataclass(frozen=True, eq=False)
class SinglePlan:
    """The one plan that a query is about, and what makes its results of those of the plan."""

    plan: Plan
    results: Finish


@dataclass(frozen=True, eq=False)
class QueryAnswer:
    """The results of a query, and the plans behind them by the names of their relations.

    ``relations`` has the clauses of these plans, those of subqueries among them. A plan that only
    looks rows up in a table holds nothing. ``rest`` is what Spark does with the results of windows
    and joins, or the whole query if it has none.

    A stream cannot be sorted. Where a query asks for an order, or for the first rows of every
    window, ``finish`` does that with the rows of a micro-batch: a sink calls it on each.

    ``alone`` is there where all rows come from one plan, whose refused rows can then be had.
    ``parts`` are all that Spark does: ``rest``, and what it does before windows are made, in CTEs
    and in subqueries. ``behind`` are the plans that run, those of queries that it reads by name
    among them.
    """

    query: Query
    df: DataFrame
    plans: Mapping[str, Plan | Probed]
    relations: Mapping[str, Clause]
    rest: exp.Query
    finish: Finish | None = None
    alone: SinglePlan | None = None
    parts: tuple[SparkPart, ...] = ()
    behind: tuple[Plan, ...] = ()

    @property
    def is_streaming(self) -> bool:
        return bool(self.df.isStreaming)


def translate(query: Query, scope: Scope) -> QueryAnswer:
    """The results of a query over the names of a scope."""
    query = with_known_columns(query, scope)
    tree = query.tree.copy()
    with located(query):
        if not query.windowings and not query.alignments:
            df, part = evaluate(tree, scope, {}), SparkPart.of(tree, scope, {})
            return QueryAnswer(query, df, {}, {}, tree, parts=(part,))
        work = _Translation(query)
        scope = work.with_ctes(tree, scope)
        made = work.cores(tree, scope)
        return work.finished(tree, scope, made)


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
    return {name for name in names | {ARRIVAL, ROW_NUM} if name.casefold() in words}


def tables_of(query: Query) -> Iterator[str]:
    """The names of relations in a query; those of its CTEs are among them."""
    for node in query.tree.find_all(exp.Table):
        if node.name not in {*query.windowings, *query.alignments}:
            yield ".".join(part.name for part in node.parts)
    named = [windowing.table for windowing in query.windowings.values()]
    named += [side.table for one in query.alignments.values() for side in one.sides]
    for table in named:
        if isinstance(table, Query):
            yield from tables_of(table)
        else:
            yield table
    for windowing in query.windowings.values():
        yield from (fill.table for fill in windowing.fills)


@dataclass
class _Translation:
    """A query on its way: the plans that have been made, and what they are of."""

    query: Query
    plans: dict[str, Plan | Probed] = field(default_factory=dict)
    relations: dict[str, Clause] = field(default_factory=dict)
    planned: dict[str, PlannedWindows] = field(default_factory=dict)
    parts: list[SparkPart] = field(default_factory=list)

    def with_ctes(self, tree: exp.Expr, scope: Scope) -> Scope:
        """CTEs become names of the scope, in their order, so that windows can be over them."""
        with_ = tree.args.get("with_")
        if with_ is None:
            return scope
        if with_.args.get("recursive"):
            problem = "a recursive WITH and windows cannot stand in one query"
            raise SqlError(problem, self.query.text, self.query.place)
        for cte in with_.expressions:
            made = self.cores(cte.this, scope)
            self.parts.append(SparkPart.of(cte.this, scope, made))
            scope = scope.having(cte.alias, evaluate(cte.this, scope, made))
        tree.set("with_", None)
        return scope

    def cores(self, tree: exp.Expr, scope: Scope) -> dict[str, DataFrame]:
        """The results of SELECTs over windows, and of joins, by the names that stand for them."""
        query, subquery = self.query, partial(self._subquery, scope)
        made: dict[str, DataFrame] = {}
        # Innermost first: a WHERE is Spark's before windows are made, and may ask for others.
        for node in sorted(tree.find_all(exp.Table), key=_depth, reverse=True):
            if node.name in query.alignments:
                met = aligned(query, query.alignments[node.name], scope, subquery)
                made[node.name] = met.df
                self._keep(query.alignments[node.name], met.by)
                if isinstance(met.by, Plan):
                    self.planned[node.name] = PlannedWindows(met.df, met.by)
            elif node.name in query.windowings:
                select = node.find_ancestor(exp.Select)
                assert select is not None  # a relation stands in FROM
                rows = translate_core(query, select, node, scope, subquery, made)
                made[node.name] = rows.df
                self.parts += [] if rows.before is None else [rows.before]
                if rows.plan is not None:
                    self._keep(query.windowings[node.name], rows.plan)
                    self.planned[node.name] = rows
        return made

    def _subquery(self, scope: Scope, inner: Query) -> DataFrame:
        """The rows of a query that windows are over; its plans are plans of this query, too."""
        answer = translate(inner, scope)
        for name, plan in answer.plans.items():
            self._keep(answer.relations[name], plan)
        self.parts += answer.parts
        if answer.finish is not None:
            problem = "rows of a stream have no order that windows could be over"
            raise SqlError(problem, inner.text, inner.place, expected="no ORDER BY")
        return answer.df

    def _keep(self, clause: Clause, plan: Plan | Probed) -> None:
        """Remember a plan by the alias of its relation, with a number if that is taken."""
        names = (f"{clause.alias}_{n}" for n in itertools.count(2))
        name = next(n for n in itertools.chain([clause.alias], names) if n not in self.plans)
        self.plans[name] = plan
        self.relations[name] = clause

    def finished(self, tree: exp.Expr, scope: Scope, made: Mapping[str, DataFrame]) -> QueryAnswer:
        """The rest of the query by Spark; on a stream its order is left for micro-batches."""
        assert isinstance(tree, exp.Query)
        query = self.query
        if query.per_window:
            tree = ranked(query, tree, made)
        streaming = any(df.isStreaming for df in made.values())
        alone, parts = (
            self._alone(tree, scope, made),
            (*self.parts, SparkPart.of(tree, scope, made)),
        )
        if not streaming or not (tree.args.get("order") or tree.args.get("limit")):
            df = evaluate(tree, scope, made)
            return QueryAnswer(query, df, self.plans, self.relations, tree, None, alone, parts)
        name, rest = split(query, tree, made)
        finish = _finishing(rest, scope, name)
        return QueryAnswer(
            query, made[name], self.plans, self.relations, rest, finish, alone, parts
        )

    def _alone(
        self, tree: exp.Query, scope: Scope, made: Mapping[str, DataFrame]
    ) -> SinglePlan | None:
        """The plan of a query that has one, and beside it nothing that streams."""
        plans = [plan for plan in self.plans.values() if isinstance(plan, Plan)]
        if len(plans) != 1 or len(made) != 1 or not {*made} <= {*self.planned}:
            return None
        (name,) = made
        if SparkPart.of(tree, scope, made).streams - {name}:
            return None
        planned, finish = self.planned[name], _finishing(tree, scope, name)
        plan = planned.plan
        assert plan is not None  # only those with a plan are kept

        def results(rows: DataFrame) -> DataFrame:
            return finish(with_wid(plan.parts, rows) if planned.numbered else rows)

        return SinglePlan(plan, results)


def _depth(node: exp.Expr) -> int:
    """In how many SELECTs something stands."""
    above = node.find_ancestor(exp.Select)
    return 0 if above is None else 1 + _depth(above)


def _finishing(rest: exp.Query, scope: Scope, name: str) -> Finish:
    """What Spark does with the results of windows, for those of a micro-batch."""

    def finish(batch: DataFrame) -> DataFrame:
        return evaluate(rest, Scope(batch.sparkSession, scope.tables), {name: batch})

    return finish
