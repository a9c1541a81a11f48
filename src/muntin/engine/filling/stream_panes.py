"""What a stream has to fill a new query from: its base panes, and the panes of its queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from muntin.engine.engine_stream import EngineStream
from muntin.engine.filling.from_panes import PaneChoice, PaneSource, choose, reach_of
from muntin.engine.registry_records import RUNNING, QueryRecord
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.program import QueryProgram, TakenPanes
from muntin.operators.windows.closing import FOREVER

#: At most so many queries are looked at, the youngest ones.
_MOST = 100


@dataclass(frozen=True)
class StreamPanes:
    """The panes of a stream, for queries that begin with history."""

    stream: EngineStream

    def choose(
        self, program: QueryProgram, *, whole: bool, before: QueryRecord | None = None
    ) -> PaneChoice:
        """Choose panes that a new query begins with.

        Args:
            program: The new query.
            whole: Whether it answers the past as well.
            before: The generation before it, whose panes are looked at first.
        """
        return choose(self._sources(program, whole, before), program, whole=whole)

    def _sources(
        self, program: QueryProgram, whole: bool, before: QueryRecord | None
    ) -> Iterator[PaneSource]:
        base = self.stream.network.base
        if base is not None and whole:
            yield PaneSource(base, "base panes", whole=True)
        others = self.stream.registry.live(self.stream.name)[-_MOST:]
        for record in others if before is None else [before, *others]:
            begun = record.since is not None and record.since[1] == self.stream.epoch
            if begun and record.status in RUNNING:
                own: QueryProgram = from_json(record.program).numbered(record.number)
                donors = (record.number, *own.donors)
                short = self._lacks_kept_rows(donors[-1], program)
                yield PaneSource(own, record.name or record.id, donors, short=short)
        # Cells of members are there as they are; those of base panes are copied.
        if base is not None and not whole:
            yield PaneSource(base, "base panes", whole=True)

    def _lacks_kept_rows(self, number: int, program: QueryProgram) -> bool:
        """Return whether open windows of a query have kept rows from before a member began."""
        if self.stream.keep is None or self.stream.history is None:
            return self.stream.keep is not None
        history = self.stream.history
        record, kept = self.stream.registry.member(number), history.kept.batches()
        assert record.since is not None  # it is active
        since = record.since[0]
        if record.start != "now" or not kept or since <= kept[0]:
            return False
        largest = history.kept.progress(since).largest_before if since in kept else FOREVER
        reached = self.stream.progress.reached
        return largest is not None and (reached is None or reached - reach_of(program) < largest)

    def explain(self, record: QueryRecord) -> list[str]:
        """Return a line of an explanation: what a query was filled from, and why."""
        program: QueryProgram = from_json(record.program).numbered(record.number)
        if program.takes_base:
            return ["  filled from: the base panes"]
        if program.donors:
            first = self.stream.registry.member(program.donors[0])
            return [f"  filled from: the panes of {first.name or first.id}"]
        if record.start == "now":
            return []
        why = self.stream.why_rows.get(record.text)
        return ["  filled from: kept rows" + (f", because {why}" if why else "")]

    def take(self, record: QueryRecord, choice: PaneChoice, *, past: bool) -> None:
        """Let a query begin with panes that were chosen for it; ``past``: it answers them."""
        assert choice.source is not None
        panes = TakenPanes(record.number, choice.source.donors, past)
        program = replace(from_json(record.program), panes=panes)
        self.stream.registry.set_program(record.number, to_json(program))
