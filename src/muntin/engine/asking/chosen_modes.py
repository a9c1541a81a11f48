"""``answer="auto"``: how often a query is asked, against how often it has answers, chooses the way.

A query that is asked for most of its answers is eager: they are in the log when somebody asks. One
that is hardly ever asked is partial: what nobody reads is neither sent nor written. Between the two
nothing changes, so that a query does not go back and forth.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from muntin.engine.registry_records import QueryRecord
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.program import AnswerMode, QueryProgram

#: Asked at least once in so many micro-batches with answers, a query becomes eager ...
OFTEN = 4
#: ... and asked less than once in so many, partial.
RARELY = 16
#: So many asks are needed before a query becomes eager.
_FEWEST_ASKS = 2
#: After so many micro-batches with answers, both counts are halved: what was long ago counts less.
_MEMORY = 64

#: The engine chooses, from how often a query is asked.
AUTO = "auto"


def with_mode(program: QueryProgram, mode: AnswerMode, answer: str) -> QueryProgram:
    """Return a program that answers in a way; ``answer`` is what was asked for."""
    return replace(program, answer=mode, auto=answer == AUTO)


def is_auto(record: QueryRecord) -> bool:
    """Return whether the engine chooses how a query answers."""
    # Reading the JSON of every query of a stream would take longer.
    return '"auto":true' in record.program


def mode_of(record: QueryRecord) -> AnswerMode:
    """Return when the answers of a query are made."""
    mode: AnswerMode = from_json(record.program).answer
    return mode


@dataclass
class AskedAndAnswered:
    """How often a query was asked, and in how many micro-batches it had answers, of late."""

    asked: int = 0
    answered: int = 0

    def choice(self, mode: AnswerMode) -> AnswerMode:
        """Return how answers should be made from now on."""
        often = self.asked >= _FEWEST_ASKS and self.asked * OFTEN >= self.answered
        rarely = self.answered >= RARELY and self.asked * RARELY < self.answered
        if mode == "partial" and often:
            return "eager"
        return "partial" if mode == "eager" and rarely else mode


@dataclass
class AnswerRates:
    """The counts of the queries of a stream whose way of answering the engine chooses."""

    counts: dict[int, AskedAndAnswered] = field(default_factory=dict)

    def asked(self, member: int) -> None:
        """Count a question."""
        self._of(member).asked += 1

    def answered(self, member: int) -> None:
        """Count a micro-batch with answers."""
        counts = self._of(member)
        counts.answered += 1
        if counts.answered > _MEMORY:
            self.counts[member] = AskedAndAnswered(counts.asked // 2, counts.answered // 2)

    def choice(self, member: int, mode: AnswerMode) -> AnswerMode:
        """Return how a query should answer; a change begins to count anew."""
        chosen = self._of(member).choice(mode)
        if chosen != mode:
            del self.counts[member]
        return chosen

    def _of(self, member: int) -> AskedAndAnswered:
        return self.counts.setdefault(member, AskedAndAnswered())
