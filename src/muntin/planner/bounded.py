"""What a continuous query does with rows: Stream, Store, Scratch, Throw [CQ-1, CQ-6, CQ-7].

Stream is what is reported and never taken back; Store what is reported and may change; Scratch what
is kept to compute answers; Throw what is not needed any more. A conservative rule says whether what
is kept is bounded: :mod:`muntin.spark.explain.state_of_plan` for plans, and here for what Spark
does around them. A query on a stream whose state grows for ever is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from muntin.parser.errors import SqlError
from muntin.planner.aggregates import any_aggregate, known_aggregates, without_subqueries
from muntin.planner.spark_sql import SparkPart, full_name
from muntin.planner.translate import TranslatedQuery
from muntin.spark.api.lookup import Probed
from muntin.spark.api.plan import Plan
from muntin.spark.explain.explanation import Explanation
from muntin.spark.explain.state_profile import Bounded, StateProfile
from muntin.spark.plan.fill import FillPlan
from muntin.spark.plan.fill_from_table import TableFillPlan
from muntin.spark.plan.join import JoinPlan
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.resample import InstantRowsPlan, ResamplePlan
from muntin.spark.plan.windows import WindowPlan
from muntin.specs.fill import StoredFramesSpec
from muntin.specs.frames.framing import Framing
from muntin.specs.join import Asof
from muntin.specs.row_windows import SequenceSpec

_UNMATCHED = "rows that nothing to come can meet; late rows, counted"


@dataclass(frozen=True)
class Storage:
    """The four places of a query's rows [CQ-6], in words."""

    stream: str
    store: str
    scratch: str
    throw: str

    def __str__(self) -> str:
        places = ("Stream", self.stream), ("Store", self.store), ("Scratch", self.scratch)
        return str(Explanation((*places, ("Throw", self.throw))))


def storage_of(plan: Plan | Probed | None) -> Storage:
    """Return where the rows of a plan go. Without a plan, rows pass a filter or do not."""
    if plan is None or isinstance(plan, Probed):
        return Storage("every row that passes", "empty", "empty", "the other rows")
    match plan.parts:
        case JoinPlan(spec=spec):
            stream = "pairs once both rows are there; rows alone when no partner can come"
            if isinstance(spec, Asof):
                stream = "rows once their partner is certain"
            return Storage(stream, "empty", "rows that one to come may still meet", _UNMATCHED)
        case ResamplePlan() | InstantRowsPlan():
            scratch = "rows that are not final, and the last of every key"
            return Storage("instants once the rows around are final", "empty", scratch, _UNMATCHED)
    return _storage_of_windows(plan.parts)


def _storage_of_windows(parts: PlanParts) -> Storage:
    """Return where rows of windows or frames go, filled or not."""
    filling = parts.filled if isinstance(parts, TableFillPlan) else parts
    plain = filling.plain if isinstance(filling, FillPlan) else filling
    spec = plain.spec if isinstance(plain, WindowPlan) else None
    segments = "frames" if isinstance(spec, Framing | StoredFramesSpec) else "windows"
    scratch = "empty"
    if isinstance(spec, SequenceSpec | Framing):
        scratch = "rows that punctuation has not passed"
    if isinstance(filling, FillPlan):
        scratch = "filling rows that an open frame or window may need"
    fragments = isinstance(spec, Framing) and spec.fragments is not None
    return Storage(
        stream=f"{segments} that punctuation has closed",
        store="fragments of open frames" if fragments else f"partial results of open {segments}",
        scratch=scratch,
        throw=f"rows once their part is in the state; late rows, counted; {segments} once reported",
    )


def state_profiles(answer: TranslatedQuery) -> dict[str, StateProfile]:
    """Return what is kept for every relation with windows, and by Spark around them."""
    profiles = {name: plan.state for name, plan in answer.plans.items()}
    kept = [profile for part in answer.parts if (profile := kept_by_spark(part)) is not None]
    if answer.is_streaming and kept:
        profiles["Spark"] = kept[0]
    return profiles


def check_bounded(answer: TranslatedQuery) -> None:
    """Refuse a query on a stream whose state grows for ever, unless the user has said so.

    Window functions of a stream's results are refused as well: Spark has none on streams.
    """
    # Over an empty table PER WINDOW is a window function; it is given one micro-batch at a time.
    if answer.is_streaming and not (answer.continuous and answer.query.per_window):
        _check_window_functions(answer)
    refusal = refused(answer)
    if refusal is not None:
        name, profile = refusal
        problem = f"the state of {name} would grow for ever: {profile.why}"
        expected = f"{profile.remedy}, or WITH UNBOUNDED STATE after the query"
        raise SqlError(problem, answer.query.text, answer.query.place, expected=expected)


def _check_window_functions(answer: TranslatedQuery) -> None:
    """Raise if a window function is over a stream; the last part may be done in micro-batches."""
    parts = answer.parts if answer.finish is None else answer.parts[:-1]
    for part in parts:
        for select in part.tree.find_all(exp.Select):
            over = [node for node in without_subqueries(select) if isinstance(node, exp.Window)]
            if over and _reads(select, part):
                query = answer.query
                problem = "Spark has no window functions on streams"
                expected = "LIMIT n PER WINDOW, or ORDER BY in a query that goes INTO a sink"
                raise SqlError(problem, query.text, query.at(over[0]), expected=expected)


def refused(answer: TranslatedQuery) -> tuple[str, StateProfile] | None:
    """Return the relation for which a query is refused, and what would be kept for it."""
    if answer.query.unbounded or not answer.is_streaming:
        return None
    profiles = state_profiles(answer).items()
    return next(((name, profile) for name, profile in profiles if profile.grows_for_ever), None)


def kept_by_spark(part: SparkPart) -> StateProfile | None:
    """Return what Spark would keep for ever of a stream, around the windows [FJ-6]."""
    known = known_aggregates()
    for select in part.tree.find_all(exp.Select):
        if not _reads(select, part):
            continue
        if select.args.get("distinct"):
            return StateProfile(Bounded.NEVER, "DISTINCT remembers every row")
        if select.args.get("group") or any(any_aggregate(e, known) for e in select.expressions):
            return StateProfile(Bounded.NEVER, "an aggregate outside of windows is never complete")
        if _meet(select, part):
            why = "a join of two streams remembers every row"
            remedy = "join(...), zipper(...) or asof(...) in FROM"
            return StateProfile(Bounded.NEVER, why, remedy=remedy)
    for union in part.tree.find_all(exp.SetOperation):
        if union.args.get("distinct") and _reads(union, part):
            return StateProfile(Bounded.NEVER, "UNION without ALL remembers every row")
    return None


def _reads(tree: exp.Expr, part: SparkPart) -> bool:
    """True if a stream is in it."""
    return any(full_name(table) in part.streams for table in tree.find_all(exp.Table))


def _meet(select: exp.Select, part: SparkPart) -> bool:
    """True if two relations of a SELECT are streams."""
    first = select.args.get("from_")
    relations = [
        *([first.this] if first else []),
        *(j.this for j in select.args.get("joins") or []),
    ]
    return sum(_reads(relation, part) for relation in relations) > 1
