"""Which queries can run under a budget, and why others cannot."""

from __future__ import annotations

from dataclasses import replace

from muntin.operators.join.operator import PairJoinOperator
from muntin.operators.shared.program import QueryProgram
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.calendar import CalendarEdges
from muntin.specs.overload import Policy, QueryBudget


def why_not_budgeted(program: QueryProgram, policy: Policy, *, by_key: bool = False) -> str | None:
    """Return why a query cannot run under a budget with a policy; None if it can.

    ``by_key`` is true if keys of its stream have a punctuation of their own.
    """
    operator = program.operator
    if any(own.everywhere for own in program.inputs):
        return "its rows go to every shard"
    if operator is None and (program.view is not None or program.answers is None):
        return "it chooses rows of a view" if program.view else "Spark evaluates its select list"
    if operator is not None and not isinstance(operator, WindowOperator | PairJoinOperator):
        known = "only windows, joins by distance and queries that choose rows have budgets"
        return f"{known}, and this one runs {type(operator).__name__}"
    if isinstance(operator, WindowOperator) and operator.edges.landmark:
        return "landmark windows hold all rows since their landmark, so that none can be left out"
    if isinstance(operator, WindowOperator) and isinstance(operator.edges, CalendarEdges):
        return "windows of the calendar are counted in days or months, and a budget in ticks"
    if isinstance(operator, PairJoinOperator) and by_key:
        return "its rows have a punctuation for each key, and a join waits for that of the stream"
    if policy.name == "preference" and program.prefer is None:
        return "it prefers nothing; write WITH PREFERENCE in the query"
    if policy.name == "windows" and not isinstance(operator, WindowOperator):
        return "only queries over windows can leave out whole windows"
    return None


def preferring(program: QueryProgram, budget: QueryBudget) -> QueryBudget:
    """Return the budget of a query: what it prefers is its policy, unless it has another one."""
    if program.prefer is not None and budget.policy.name == "oldest":
        return replace(budget, policy=Policy("preference", seed=budget.policy.seed))
    return budget
