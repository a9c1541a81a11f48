"""``EXPLAIN``: what a query does and keeps, as text or as a drawn graph."""

from __future__ import annotations

from collections.abc import Iterator

from muntin.parser.dialect import written
from muntin.parser.statements import Format
from muntin.planner.bounded import refused, state_profiles, storage_of
from muntin.planner.explain_graph import drawn, graph_of
from muntin.planner.translate import TranslatedQuery
from muntin.spark.api.lookup import Probed
from muntin.spark.api.plan import Plan


def explained(answer: TranslatedQuery, format_: Format) -> str:
    """Return the plan of a query in words, or as SVG text."""
    if format_ == "svg":
        return drawn(graph_of(answer))
    return "\n".join(_lines(answer))


def _operator(plan: Plan | Probed) -> str:
    """Return the operator's class, and how it cuts rows if it takes them in order."""
    if isinstance(plan, Probed):
        return "a join of Spark's"
    operator = plan.parts.operator
    cut = getattr(operator, "cut", None)
    return f"{type(operator).__name__}{'' if cut is None else f' by {type(cut).__name__}'}"


def _lines(answer: TranslatedQuery) -> Iterator[str]:
    profiles = state_profiles(answer)
    for name, plan in answer.plans.items():
        yield f"relation    {name}{', a stream' if plan.is_streaming else ', a batch'}"
        yield f"operator    {_operator(plan)}"
        yield str(plan.explanation)
        if plan.is_streaming:
            yield str(storage_of(plan))
        yield f"verdict     {profiles[name].verdict}"
        yield ""
    if not answer.plans:
        yield str(storage_of(None))
    yield f"Spark       {written(answer.rest)}"
    if answer.finish is not None:
        yield "            ordered micro-batch by micro-batch"
    if "Spark" in profiles:
        yield f"verdict     {profiles['Spark'].verdict}"
    if refused(answer) is not None:
        yield "            refused, unless the query says WITH UNBOUNDED STATE"
