"""What a continuous query does with rows: Stream, Store, Scratch, Throw [CQ-6, CQ-7].

Stream is what is reported and never taken back; Store what is reported and may change; Scratch what
is kept to compute answers; Throw what is not needed any more. A conservative rule says whether what
is kept is bounded.
"""

from __future__ import annotations

from sqlglot import exp

from muntin.parser.errors import SqlError
from muntin.planner.aggregates import any_aggregate, known_aggregates
from muntin.planner.bounded_holding import held, held_verdict
from muntin.planner.bounded_storing import StateVerdict, Storage
from muntin.planner.spark_sql import SparkPart, full_name
from muntin.planner.translate import QueryAnswer
from muntin.spark.api.lookup import Probed
from muntin.spark.plan.fill import FillPlan
from muntin.spark.plan.fill_from_table import TableFillPlan
from muntin.spark.plan.plan import Plan
from muntin.spark.plan.windows import WindowPlan
from muntin.specs.frames.framing import Framing
from muntin.specs.row_windows import RowWindow, SequenceSpec, SlideOnWindow, TupleWindow
from muntin.specs.row_windows import Session as Gap
from muntin.specs.windows import Window

#: Windows that every row leaves again.
_PASSING = (Window, RowWindow, TupleWindow, SlideOnWindow, Gap)
_TAKES_ROWS = (SequenceSpec, Framing)


def storage_of(plan: Plan | Probed | None) -> Storage:
    """Where rows of a plan go; without a plan every row is passed on or not."""
    if plan is None or isinstance(plan, Probed):
        return Storage("every row that passes", "empty", "empty", "the other rows")
    if (rows := held(plan)) is not None:
        return rows
    compiled = _compiled(plan)
    spec = compiled.spec if isinstance(compiled, WindowPlan) else None
    what = "frames" if isinstance(spec, Framing) else "windows"
    scratch = "empty"
    if isinstance(spec, _TAKES_ROWS):
        scratch = "rows that punctuation has not passed"
    if isinstance(plan.compiled, FillPlan | TableFillPlan):
        scratch = "filling rows that an open frame or window may need"
    fragments = isinstance(spec, Framing) and spec.fragments is not None
    return Storage(
        stream=f"{what} that punctuation has closed",
        store="fragments of open frames" if fragments else f"partial results of open {what}",
        scratch=scratch,
        throw=f"rows once their part is in the state; late rows, counted; {what} once reported",
    )


def verdict_of(plan: Plan | Probed) -> StateVerdict:
    """Whether what a plan keeps is bounded; a batch keeps nothing."""
    if not plan.is_streaming:
        return StateVerdict(True, False, "a batch is one pass")
    if isinstance(plan, Probed):
        return StateVerdict(True, False, "nothing waits for a table")
    if (rows := held_verdict(plan)) is not None:
        return rows
    told = plan.explanation
    compiled = _compiled(plan)
    if getattr(told, "bounded", True):
        return StateVerdict(True, False, "whatever the number of rows, for each key")
    spec = compiled.spec if isinstance(compiled, WindowPlan) else None
    limited = isinstance(spec, Framing) and (spec.max_duration or spec.max_count)
    if isinstance(spec, _PASSING) or limited:
        return StateVerdict(False, False, "the rows of a window are: an aggregate keeps them")
    what = "a frame" if isinstance(spec, Framing) else "a landmark window"
    return StateVerdict(False, True, f"{what} may go on for ever, and an aggregate keeps its rows")


def verdicts(answer: QueryAnswer) -> dict[str, StateVerdict]:
    """Of every relation with windows, and of what Spark does around them."""
    found = {name: verdict_of(plan) for name, plan in answer.plans.items()}
    kept = [verdict for part in answer.parts if (verdict := _kept_by_spark(part)) is not None]
    if answer.is_streaming and kept:
        found["Spark"] = kept[0]
    return found


def check_bounded(answer: QueryAnswer) -> None:
    """Refuse a query on a stream whose state grows for ever, unless the user has said so."""
    found = refused(answer)
    if found is not None:
        name, verdict = found
        problem = f"the state of {name} would grow for ever: {verdict.why}"
        expected = f"{verdict.remedy}, or WITH UNBOUNDED STATE behind the query"
        raise SqlError(problem, answer.query.text, answer.query.place, expected=expected)


def refused(answer: QueryAnswer) -> tuple[str, StateVerdict] | None:
    """What of a query is a reason to refuse it, by its name, and why."""
    if answer.query.unbounded or not answer.is_streaming:
        return None
    every = verdicts(answer).items()
    return next(((name, verdict) for name, verdict in every if verdict.for_ever), None)


def _kept_by_spark(part: SparkPart) -> StateVerdict | None:
    """What Spark would keep for ever of a stream, around the windows [FJ-6]."""
    known = known_aggregates()
    for select in part.tree.find_all(exp.Select):
        if not _reads(select, part):
            continue
        if select.args.get("distinct"):
            return StateVerdict(False, True, "DISTINCT remembers every row")
        if select.args.get("group") or any(any_aggregate(e, known) for e in select.expressions):
            return StateVerdict(False, True, "an aggregate outside of windows is never complete")
        if _meet(select, part):
            why = "a join of two streams remembers every row"
            return StateVerdict(False, True, why, "join(...), zipper(...) or asof(...) in FROM")
    for union in part.tree.find_all(exp.SetOperation):
        if union.args.get("distinct") and _reads(union, part):
            return StateVerdict(False, True, "UNION without ALL remembers every row")
    return None


def _reads(tree: exp.Expr, part: SparkPart) -> bool:
    """Whether a stream is in it."""
    return any(full_name(table) in part.streams for table in tree.find_all(exp.Table))


def _meet(select: exp.Select, part: SparkPart) -> bool:
    """Whether two relations of a SELECT are streams."""
    first = select.args.get("from_")
    relations = [
        *([first.this] if first else []),
        *(j.this for j in select.args.get("joins") or []),
    ]
    return sum(_reads(one, part) for one in relations) > 1


def _compiled(plan: Plan) -> object:
    """The windows or frames behind a plan."""
    compiled: object = plan.compiled
    if isinstance(compiled, TableFillPlan):
        compiled = compiled.filled
    return compiled.plain if isinstance(compiled, FillPlan) else compiled
