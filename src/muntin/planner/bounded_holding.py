"""What joins and resampling hold of streams, and when it grows for ever."""

from __future__ import annotations

from muntin.planner.bounded_storing import StateVerdict, Storage
from muntin.spark.api.resample import InstantRowsPlan
from muntin.spark.plan.join import JoinPlan
from muntin.spark.plan.plan import Plan
from muntin.spark.plan.resample import ResamplePlan, looked_for
from muntin.specs.join import Asof, Distance, Zipper

_THROW = "rows that nothing to come can meet; late rows, counted"
_AHEAD = "the rows by which one side is ahead of the other are: they wait for it"


def held(plan: Plan) -> Storage | None:
    """Where the rows of a join or of a resampling go; None for other plans."""
    compiled = plan.compiled
    if isinstance(compiled, JoinPlan):
        stream = "pairs once both rows are there; rows alone when no partner can come"
        if isinstance(compiled.spec, Asof):
            stream = "rows once their partner is certain"
        return Storage(stream, "empty", "rows that one to come may still meet", _THROW)
    if isinstance(compiled, ResamplePlan | InstantRowsPlan):
        scratch = "rows that are not final, and the last of every key"
        return Storage("instants once the rows around are final", "empty", scratch, _THROW)
    return None


def held_verdict(plan: Plan) -> StateVerdict | None:
    """Whether what a join or a resampling holds is bounded; None for other plans."""
    compiled = plan.compiled
    if isinstance(compiled, ResamplePlan):
        return _of_resampling(compiled)
    if isinstance(compiled, InstantRowsPlan):
        reach = compiled.fills[0].filling.before
        return StateVerdict(False, False, f"the rows within {reach} are: aggregates keep them")
    if not isinstance(compiled, JoinPlan):
        return None
    if compiled.limit is not None:
        return StateVerdict(
            True, False, f"at most {compiled.limit:,} bytes, then the oldest rows go"
        )
    match compiled.spec:
        case Distance(within=within):
            return StateVerdict(
                False, False, f"the rows within {within} are: they wait for partners"
            )
        case Zipper(every=every):
            return StateVerdict(False, False, f"the rows of {every} are: they wait for partners")
        case Asof():
            return _of_look(compiled.spec, "rows", "tolerance => a length")


def _of_resampling(compiled: ResamplePlan) -> StateVerdict:
    if compiled.at is None:
        why = "the last row of each key, and rows that punctuation has not passed"
        return StateVerdict(True, False, why)
    remedy = "how => 'previous', or how => 'nearest' with max_gap"
    return _of_look(looked_for(compiled.spec), "instants", remedy)


def _of_look(look: Asof, what: str, remedy: str) -> StateVerdict:
    if look.waits_for_ever:
        why = f"{what} wait for the next row of their key, which may never come"
        return StateVerdict(False, True, why, remedy)
    return StateVerdict(False, False, _AHEAD)
