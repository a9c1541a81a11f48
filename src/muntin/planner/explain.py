"""``EXPLAIN``: what a query will do and keep, as text and as a drawn graph."""

from __future__ import annotations

from collections.abc import Iterator

from muntin.parser.dialect import written
from muntin.parser.statements import Format
from muntin.planner.bounded import refused, state_profiles, storage_of
from muntin.planner.explain_graph import graph_of
from muntin.planner.explain_svg import drawn
from muntin.planner.translate import QueryAnswer
from muntin.spark.api.lookup import Probed
from muntin.spark.api.plan import Plan


def explained(answer: QueryAnswer, format_: Format) -> str:
    """The plan of a query in words, or as the text of an SVG picture."""
    if format_ == "svg":
        return drawn(graph_of(answer))
    return "\n".join(_lines(answer))


def _operator(plan: Plan | Probed) -> str:
    """The class that does the work, and how it cuts rows where it takes them in their order."""
    if isinstance(plan, Probed):
        return "a join of Spark's"
    operator = plan.parts.operator
    cut = getattr(operator, "cut", None)
    return f"{type(operator).__name__}{'' if cut is None else f' by {type(cut).__name__}'}"


def _lines(answer: QueryAnswer) -> Iterator[str]:
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
