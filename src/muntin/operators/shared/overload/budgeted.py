"""Which queries can run under a budget, and why others cannot."""

from __future__ import annotations

from muntin.operators.join.operator import PairJoinOperator
from muntin.operators.shared.program import QueryProgram
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.overload import Policy


def why_not_budgeted(program: QueryProgram, policy: Policy) -> str | None:
    """Return why a query cannot run under a budget with a policy; None if it can."""
    operator = program.operator
    if operator is not None and not isinstance(operator, WindowOperator | PairJoinOperator):
        known = "only windows, joins by distance and queries that choose rows have budgets"
        return f"{known}, and this one runs {type(operator).__name__}"
    if policy.name == "windows" and not isinstance(operator, WindowOperator):
        return "only queries over windows can leave out whole windows"
    return None
