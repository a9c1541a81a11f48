"""What joins and resampling hold of streams, and when it grows for ever."""

from __future__ import annotations

from muntin.planner.bounded_storing import Storage, Verdict
from muntin.spark.api.resample import CompiledAround
from muntin.spark.plan.join import CompiledJoin
from muntin.spark.plan.plan import Plan
from muntin.spark.plan.resample import CompiledResample, looked_for
from muntin.specs.join.asof import Asof
from muntin.specs.join.distance import Distance
from muntin.specs.join.zipper import Zipper

_THROW = "rows that nothing to come can meet; late rows, counted"
_AHEAD = "the rows by which one side is ahead of the other are: they wait for it"


def held(plan: Plan) -> Storage | None:
    """Where the rows of a join or of a resampling go; None for other plans."""
    compiled = plan.compiled
    if isinstance(compiled, CompiledJoin):
        stream = "pairs once both rows are there; rows alone when no partner can come"
        if isinstance(compiled.spec, Asof):
            stream = "rows once their partner is certain"
        return Storage(stream, "empty", "rows that one to come may still meet", _THROW)
    if isinstance(compiled, CompiledResample | CompiledAround):
        scratch = "rows that are not final, and the last of every key"
        return Storage("instants once the rows around are final", "empty", scratch, _THROW)
    return None


def held_verdict(plan: Plan) -> Verdict | None:
    """Whether what a join or a resampling holds is bounded; None for other plans."""
    compiled = plan.compiled
    if isinstance(compiled, CompiledResample):
        return _of_resampling(compiled)
    if isinstance(compiled, CompiledAround):
        reach = compiled.fills[0].filling.before
        return Verdict(False, False, f"the rows within {reach} are: aggregates keep them")
    if not isinstance(compiled, CompiledJoin):
        return None
    if compiled.limit is not None:
        return Verdict(True, False, f"at most {compiled.limit:,} bytes, then the oldest rows go")
    match compiled.spec:
        case Distance(within=within):
            return Verdict(False, False, f"the rows within {within} are: they wait for partners")
        case Zipper(every=every):
            return Verdict(False, False, f"the rows of {every} are: they wait for partners")
        case Asof():
            return _of_look(compiled.spec, "rows", "tolerance => a length")


def _of_resampling(compiled: CompiledResample) -> Verdict:
    if compiled.at is None:
        why = "the last row of each key, and rows that punctuation has not passed"
        return Verdict(True, False, why)
    remedy = "how => 'previous', or how => 'nearest' with max_gap"
    return _of_look(looked_for(compiled.spec), "instants", remedy)


def _of_look(look: Asof, what: str, remedy: str) -> Verdict:
    if look.waits_for_ever:
        why = f"{what} wait for the next row of their key, which may never come"
        return Verdict(False, True, why, remedy)
    return Verdict(False, False, _AHEAD)
