"""Runs one operator on several inputs, each with its own disorder, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin.operators.progress.progress import AdvancedShard, Progress, ProgressMessages
from muntin.operators.protocol import (
    InputBatch,
    MemoryState,
    Operator,
    Punctuation,
    ScopedState,
    Step,
)
from tests.properties.arriving import Arrivals

Row = dict[str, Any]


@dataclass
class JointRan:
    """The results of all steps over several inputs; ``used`` and ``refused`` are per input."""

    results: list[Row] = field(default_factory=list)
    used: list[int] = field(default_factory=list)
    refused: list[list[str]] = field(default_factory=list)
    chunks_left: list[str] = field(default_factory=list)
    evicted: int = 0

    def take(self, step: Step) -> None:
        self.results += step.results.to_pylist()
        self.evicted += step.evicted
        for place, counts in enumerate(step.rows):
            self.used[place] += counts.used
            self.refused[place] += ["late"] * counts.late
            if counts.late_rows is not None:
                assert counts.late_rows.num_rows == counts.late
            if counts.fallen is not None:
                self.refused[place] += counts.fallen["reason"].to_pylist()


def joint_steps(
    work: Operator,
    cases: Sequence[Arrivals],
    ends: Sequence[int],
    *,
    state: MemoryState | None = None,
) -> JointRan:
    """Step every micro-batch as a driver would; ``ends`` has the step in which each input ends.

    An input has empty micro-batches after its last one until it ends.
    """
    state = MemoryState() if state is None else state
    ran = JointRan(used=[0] * len(cases), refused=[[] for _ in cases])
    progress = [Progress() for _ in cases]
    last = [max(end, len(case.batches)) for end, case in zip(ends, cases, strict=True)]
    for number in range(max(last) + 1):
        arrived, changes = [], {}
        for place, case in enumerate(cases):
            batch, advanced = _arrived(work, place, case, number, last[place], state, progress, ran)
            arrived.append(batch)
            progress[place] = advanced.progress
            changes |= _scope(state, place).named(dict(advanced.changes))
        step = work.step(state, arrived)
        state.apply({**step.changes, **changes})
        ran.take(step)
    ran.chunks_left = sorted(name for name, _ in state.chunks if "punctuator:" not in name)
    return ran


def _scope(state: MemoryState, place: int) -> ScopedState:
    return ScopedState(state, f"{place}:" if place else "")


def _arrived(
    work: Operator,
    place: int,
    case: Arrivals,
    number: int,
    last: int,
    state: MemoryState,
    progress: Sequence[Progress],
    ran: JointRan,
) -> tuple[InputBatch, AdvancedShard]:
    rule, sender = case.punctuator(), work.map_sides[place]
    rows = case.batches[number] if number < len(case.batches) else ()
    half = len(rows) // 2
    observed = [rule.observe(case.table(part)) for part in (rows[:half], rows[half:]) if part]
    routed = [sender.route(part.rows) for part in observed if part.rows.num_rows]
    now = case.clocks[number] if number < len(case.clocks) else None
    heard = ProgressMessages(
        seen=[r.progress for r in routed],
        clock=[None if now is None else now * 1_000_000],
        ended=number == last,
        everywhere=[part.everywhere for part in observed if part.everywhere is not None],
        keyed=[part.keyed for part in observed if part.keyed is not None],
        announced_keys=case.announced_keys(number) if number < len(case.batches) else [],
    )
    advanced = rule.advance(_scope(state, place), progress[place], heard)
    ran.used[place] += sum(part.punctuations for part in observed) + sum(r.passed for r in routed)
    for sent in routed:
        ran.refused[place] += [reason for reason, n in sent.refused.items() for _ in range(n)]
    partials = [r.partial for r in routed]
    originals = [r.rows for r in routed if r.rows is not None]
    return InputBatch(partials, advanced.punctuation, originals), advanced


def at_once(work: Operator, cases: Sequence[Arrivals]) -> JointRan:
    """Run one step with all rows of all inputs, then their end, as the batch driver does."""
    ran = JointRan(used=[0] * len(cases), refused=[[] for _ in cases])
    arrived = []
    for place, (sender, case) in enumerate(zip(work.map_sides, cases, strict=True)):
        routed = sender.route(case.table(case.data()))
        ran.used[place] += routed.passed
        ran.refused[place] += [reason for reason, n in routed.refused.items() for _ in range(n)]
        end = Punctuation(None, None, routed.progress, ended=True)
        arrived.append(InputBatch([routed.partial], end))
    ran.take(work.step(MemoryState(), arrived))
    return ran
