"""``LATE INTO``: the rows that the windows of a query refused, from the same run as its results."""

from __future__ import annotations

from muntin.parser.errors import SqlError
from muntin.parser.statements import ConnectorCall
from muntin.planner.select import GROUP
from muntin.planner.translate import QueryAnswer, SinglePlan
from muntin.spark.connectors.sinks.protocol import Sink
from muntin.spark.plan.plan import Plan
from muntin.spark.types import DataFrame


def with_late_rows(answer: QueryAnswer, late: ConnectorCall) -> SinglePlan:
    """The plan that refuses rows; a query that has none or several is told so."""
    if answer.alone is not None:
        return answer.alone
    problem = "nothing in this query waits, so no row of it is late"
    expected = "windows, frames or a join of streams"
    if any(isinstance(plan, Plan) for plan in answer.plans.values()):
        problem = "it is not clear whose late rows these are"
        expected = "one relation with windows, not in WITH, and others in queries of their own"
    raise SqlError(problem, answer.query.text, late.place, expected=expected)


def original(sink: Sink) -> Sink:
    """A sink of rows as they came, without the columns that were computed for groups."""

    def put(rows: DataFrame, number: int) -> None:
        computed = [name for name in rows.columns if name.startswith(GROUP)]
        sink(rows.drop(*computed), number)

    return put
