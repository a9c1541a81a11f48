"""A stream of the engine: one streaming query, the versions of its queries, and its answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from muntin.engine.asking.standing import newest_answers
from muntin.engine.commit import MemberCounts, StreamProgress, read_reports, with_complete
from muntin.engine.history import History, past_answers
from muntin.engine.kept_rows import KeptProgress, KeptRowFiles
from muntin.engine.plan_query import PlannedQuery, with_bound
from muntin.engine.planning.similar_queries import SimilarQueries
from muntin.engine.registry import Registry
from muntin.engine.registry_records import RUNNING, LoggedCommand, QueryRecord, VersionChange
from muntin.engine.result_log import ResultLog
from muntin.errors import EngineError
from muntin.kernels.ticks import from_ticks
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.network import QueryNetwork
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.single_query import SingleQuery
from muntin.operators.shared.window_group import WindowGroup
from muntin.spark.api.control import wake
from muntin.spark.columns import to_arrow
from muntin.spark.exchange.pinned_versions import Pin, VersionFiles, programs_of
from muntin.spark.plan.worker_program import carried_schema
from muntin.spark.queries.many_queries import NetworkStream, finished
from muntin.spark.queries.stop import StreamingQuery, check, drain

#: Pins and versions of this many committed micro-batches are kept.
_KEPT_BATCHES = 100


@dataclass(frozen=True)
class SharedPart:
    """A part of what a stream runs, and the queries that share it."""

    kind: str
    queries: tuple[str, ...]


_KINDS: Mapping[type[object], str] = {
    WindowGroup: "windows over shared panes",
    SingleQuery: "an operator of its own",
}


@dataclass
class EngineStream:
    """One stream of an engine and everything that runs on it.

    Args:
        name: Its name.
        network: Its rows, and how they go to all queries.
        folder: Where its versions, pins, answers and checkpoint are.
        registry: The commands and queries of the engine.
        keep: How far back along ``on`` rows are kept, in ticks; None if they are not.
        committed: Called with the stream, the epoch and the micro-batch after answers are logged.
    """

    name: str
    network: NetworkStream
    folder: Path
    registry: Registry
    keep: int | None = None
    committed: Callable[[str, int, int], None] = lambda stream, epoch, micro_batch: None
    query: StreamingQuery | None = None
    progress: StreamProgress = field(default_factory=StreamProgress)
    counts: dict[int, MemberCounts] = field(default_factory=dict)
    micro_batch: int = -1
    log: ResultLog | None = None
    history: History | None = None
    _planned: dict[str, PlannedQuery] = field(default_factory=dict)
    _read_commands: list[set[Path]] = field(default_factory=list)
    _past_logs: dict[int, ResultLog] = field(default_factory=dict)
    publishing: threading.RLock = field(default_factory=threading.RLock)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def versions(self) -> VersionFiles:
        """The versions and pins of the current epoch."""
        return VersionFiles(str(self.folder.resolve()), self.epoch)

    @property
    def epoch(self) -> int:
        return self.registry.epoch(self.name)

    @property
    def results_folder(self) -> Path:
        return self.folder / "results" / str(self.epoch)

    @property
    def commands(self) -> str:
        """The folder in which a file of control rows begins a micro-batch."""
        return str((self.folder / "commands").resolve())

    def answers(self) -> ResultLog:
        """Return the log of answers, whether the stream runs or not."""
        if self.log is None:
            self.log = ResultLog(self.results_folder)
        return self.log

    def answers_of(self, epoch: int) -> ResultLog | None:
        """Return the log of an epoch; None if it has none. Logs of the past are opened once."""
        if epoch == self.epoch:
            return self.answers()
        folder = self.folder / "results" / str(epoch)
        with self.publishing:
            if epoch not in self._past_logs and folder.is_dir():
                self._past_logs[epoch] = ResultLog(folder)
            return self._past_logs.get(epoch)

    def next_batch(self) -> tuple[int, int]:
        """Return the epoch and the micro-batch that come next."""
        return self.epoch, max(self.micro_batch, self.answers().last_batch()) + 1

    def ending(self, program: QueryProgram, until: object) -> QueryProgram:
        """Return the program of a query that takes only rows before a value of ``on``."""
        return with_bound(program, self.network.planning, self.network.axis, "until", until)

    def beginning(self, program: QueryProgram, start: object) -> QueryProgram:
        """Return the program of a query that takes only rows from a value of ``on`` on."""
        return with_bound(program, self.network.planning, self.network.axis, "start", start)

    def plan(self, text: str) -> PlannedQuery:
        """Plan a query over this stream, or return the plan of the same text."""
        if text not in self._planned:
            self._planned[text] = self._similar.plan(text)
        return self._planned[text]

    @cached_property
    def _similar(self) -> SimilarQueries:
        return SimilarQueries(self.name, self.network.planning, self.network.axis)

    def shared(self) -> list[SharedPart]:
        """Return what runs for the newest version: each part with the queries that share it."""
        programs = [
            from_json(member.program).numbered(member.number)
            for member in self.registry.version_members(self.name)
        ]
        network = QueryNetwork(from_json(self.network.rule), tuple(programs))
        parts = [
            SharedPart(_KINDS[type(group)], tuple(sorted(self._names(group.members))))
            for group in network.groups.values()
        ]
        chosen = [program.member for program in network.filters.programs]
        if chosen:
            parts.append(SharedPart("rows chosen", tuple(sorted(self._names(chosen)))))
        return parts

    def _names(self, members: Iterable[int]) -> Iterator[str]:
        for number in members:
            record = self.registry.member(number)
            yield record.name or record.id

    # Versions

    def publish(self) -> Pin | None:
        """Write what was commanded as a new version; return the newest one, None before any."""
        with self.publishing:
            change = self.registry.next_version(self.name)
            if change is not None:
                self._write_version(change)
            newest = self.registry.newest_version(self.name)
            return None if newest is None else Pin(*newest)

    def _write_version(self, change: VersionChange) -> None:
        newest = self.registry.newest_version(self.name)
        parent = None if newest is None else Pin(*newest)
        added = {**change.added, **change.changed}
        touched = {*change.paused, *change.resumed}
        by_number = {member.number: member for member in self.registry.version_members(self.name)}
        for number in {*added, *touched}:
            member = by_number[number]
            added[number] = _paused(member.program) if member.paused else member.program
        pin = self.versions.write(change.number, parent, added, change.removed)
        self.registry.record_version(self.name, change.number, pin.digest)

    def awake(self) -> None:
        """Let the stream run a micro-batch even if no row comes."""
        if self.query is not None and self.query.isActive:
            wake(self.commands)

    # Running

    def start(self, trigger: Mapping[str, Any] | None) -> None:
        """Start the streaming query; it goes on where it was."""
        if self.query is not None and self.query.isActive:
            return
        self.network.check()
        self._begin_epoch()
        newest = self.publish()
        if newest is None:
            newest = self.versions.write(0, None, {})
        versions = self.versions
        if versions.last_pinned() is None:
            versions.pin(0, newest)
        self._forget_expired()
        if self.keep is not None:
            kept = KeptRowFiles(self.folder / "kept" / str(self.epoch))
            self.history = History(self.network.rule, kept, self.folder, self.awake)
            for number in kept.batches()[-1:]:
                last = kept.progress(number)
                self.progress = StreamProgress(0, last.largest, last.after, last.ended)
            for record in self.registry.live(self.name):
                if record.status == "filling":
                    self.fill(record)
        name = f"muntin engine: {self.name}"
        self.query = self.network.start(
            versions, self.commands, self.checkpoint, self._commit, name, trigger
        )
        wake(self.commands)

    def _forget_expired(self) -> None:
        """Forget the answers of queries that were dropped longer ago than they are retained."""
        expired = [record for record in self.registry.expired() if record.stream == self.name]
        if expired:
            self.answers().forget(members=[record.number for record in expired])
            self.registry.set_forgotten({record.id for record in expired})

    def _begin_epoch(self) -> None:
        """Begin an epoch if the checkpoint is new: micro-batches are numbered from 0 again."""
        begun = (self.checkpoint / "offsets").is_dir()
        if self.epoch == 0 or (not begun and self.versions.last_pinned() not in (None, 0)):
            self.registry.begin_epoch(self.name)

    def stop(self) -> None:
        """Stop the streaming query between two micro-batches."""
        if self.query is not None:
            self.query.stop()
            self.query = None
        if self.history is not None:
            self.history.stop()
            self.history = None
        if self.log is not None:
            self.log.close()
            self.log = None

    def process_available(self) -> None:
        """Wait until all rows and commands that are there are committed."""
        if self.query is None:
            raise EngineError(f"the stream {self.name} is not started; call engine.start()")
        newest = self.publish()
        while True:
            drain(self.query)
            filling = self.history is not None and self.history.filling
            if not filling and (newest is None or self.progress.version >= newest.version):
                return
            self.awake()
            newest = self.publish()

    def check(self) -> None:
        """Raise if the streaming query failed."""
        if self.query is not None:
            check(self.query)

    # Committing

    def fill(self, record: QueryRecord) -> None:
        """Begin to run a query over kept rows; it is in force when it has caught up."""
        assert self.history is not None
        program = from_json(record.program).numbered(record.number)
        self.history.begin(record.number, program, self.start_of(record))

    def start_of(self, record: QueryRecord) -> int | None:
        """Return the tick at which the history of a query is cut; None if all of it counts."""
        named = record.start in ("now", "history")
        return None if named else self.network.axis.point("start", record.start)

    def _commit(self, reports: list[pa.Table], rows: list[pa.Table], micro_batch: int) -> None:
        """Commit a micro-batch: answers, acknowledgements, and the version of the next one."""
        report = read_reports(reports, self.progress)
        pinned = self.versions.pinned(micro_batch)
        assert pinned is not None  # tasks have read it
        live = {query.number: query for query in self.registry.live(self.name)}
        for member, reason in report.failed.items():
            self._quarantine(member, reason, live)
        held = {n for n, query in live.items() if query.status == "quarantined"} | {*report.failed}
        answers = {m: t for m, t in report.answers.items() if m not in held}
        answers = newest_answers(self._with_history(answers, live, pinned), live)
        self.answers().write(micro_batch, self._finished(answers, live), self._order(answers, live))
        for member, counts in report.counts.items():
            total = self.counts.setdefault(member, MemberCounts())
            for name, value in vars(counts).items():
                setattr(total, name, getattr(total, name) + value)
        self._acknowledge(pinned, micro_batch, report.kept.before)
        self._end_reached(live.values(), report.progress)
        self.registry.drop_ended_previews(self.name)
        if self.history is not None:
            self.history.shards = report.shards or self.history.shards
            self._keep(micro_batch, rows, report.progress, report.kept)
        newest = self.publish() or pinned
        following = self.versions.pin(micro_batch + 1, newest)
        self.versions.forget_before(micro_batch + 1 - _KEPT_BATCHES)
        self.progress = replace(report.progress, version=pinned.version)
        self.micro_batch = micro_batch
        self._forget_commands()
        self.committed(self.name, self.epoch, micro_batch)
        if following.version > pinned.version:
            wake(self.commands)

    def _forget_commands(self) -> None:
        """Remove files of control rows that a committed micro-batch has read.

        The micro-batch before this one has read all that were there at the commit before it, and
        is committed itself, so that Spark never reads them again.
        """
        self._read_commands.append(set(Path(self.commands).glob("*.json")))
        if len(self._read_commands) > 2:
            for path in self._read_commands.pop(0):
                path.unlink(missing_ok=True)

    def _finished(
        self, answers: Mapping[int, pa.Table], live: Mapping[int, QueryRecord]
    ) -> dict[int, pa.Table]:
        """Let Spark finish answers whose select list only Spark evaluates."""
        finished_answers = {}
        for member, table in answers.items():
            planned = self._planned_of(member, live)
            if planned.finish is None:
                finished_answers[member] = table
                continue
            try:
                spark = self.network.source.df.sparkSession
                made = finished(spark, table, planned.finish)
            except Exception as error:  # whatever a query raises stops that query only
                self._quarantine(member, f"{type(error).__name__}: {error}", live)
                continue
            finished_answers[member] = with_complete(made, table)
        return finished_answers

    def _quarantine(self, member: int, reason: str, live: Mapping[int, QueryRecord]) -> None:
        """Log that a query raised an error; it runs until the next version."""
        if member in live and live[member].status in RUNNING:
            details = {"member": member, "reason": reason}
            self.registry.log(self.name, "quarantine", live[member].id, details)

    def _order(
        self, answers: Mapping[int, pa.Table], live: Mapping[int, QueryRecord]
    ) -> dict[int, tuple[str, ...]]:
        return {member: self._planned_of(member, live).order for member in answers}

    def _planned_of(self, member: int, live: Mapping[int, QueryRecord]) -> PlannedQuery:
        record = live.get(member) or self.registry.member(member)
        return self.plan(record.text)

    def _acknowledge(self, pinned: Pin, micro_batch: int, reached: int | None) -> None:
        for command in self.registry.unacknowledged(self.name, pinned.version):
            if self._is_filling(command):
                continue
            self.registry.acknowledge(
                command.seq,
                micro_batch=micro_batch,
                epoch=self.epoch,
                punctuation=reached,
                filled=self._filled(command),
                how="in place",
            )

    def _is_filling(self, command: LoggedCommand) -> bool:
        """Return whether a command is in force only when its query has seen the kept rows."""
        if command.kind not in ("register", "change") or command.query_id is None:
            return False
        generations = self.registry.generations(command.query_id)
        return any(record.status == "filling" for record in generations)

    def _filled(self, command: LoggedCommand) -> str:
        if command.kind not in ("register", "change") or command.query_id is None:
            return "nothing"
        record = self.registry.find(command.query_id)
        return "rows" if record is not None and record.start != "now" else "nothing"

    def _with_history(
        self, answers: Mapping[int, pa.Table], live: Mapping[int, QueryRecord], pinned: Pin
    ) -> dict[int, pa.Table]:
        """Return the answers with those of the past of queries that begin now.

        A micro-batch that is repeated may be the one before a query begins, so its version decides.
        """
        together = dict(answers)
        for number, record in live.items():
            if record.start == "now" or record.since is not None or record.generation > 1:
                continue
            past = past_answers(self.folder, number)
            begun = number in programs_of(self.versions.folder, pinned)
            if past is not None and begun and record.status in RUNNING:
                now = [answers[number]] if number in answers else []
                together[number] = pa.concat_tables([past, *now])
        return together

    def _keep(
        self,
        micro_batch: int,
        rows: Sequence[pa.Table],
        progress: StreamProgress,
        kept: KeptProgress,
    ) -> None:
        """Keep the rows of a micro-batch, and let queries begin that have seen all before."""
        assert self.history is not None and self.keep is not None
        schema = carried_schema(self.network.planning)
        self.history.kept.write(micro_batch, rows, schema, kept)
        for number, program in self.history.finished(micro_batch):
            with self.publishing:
                record = self.registry.member(number)
                if record.status != "filling":  # dropped meanwhile
                    continue
                self.registry.set_program(number, to_json(program.numbered(0)))
                self.registry.set_status(number, "registered")
                if record.staged and not self.registry.is_beside(number):
                    self.registry.apply(record.id)
        for number, reason in self.history.take_failed().items():
            record = self.registry.member(number)
            details = {"member": number, "reason": reason}
            self.registry.set_status(number, "registered")
            self.registry.log(self.name, "quarantine", record.id, details)
        if progress.reached is not None and not self.history.filling:
            self.history.forget(progress.reached - self.keep)

    def _end_reached(self, live: Iterable[QueryRecord], progress: StreamProgress) -> None:
        """End the queries whose ``until`` the punctuation has passed."""
        for query in live:
            if query.until is None or query.status not in RUNNING:
                continue
            until = self.network.axis.point("until", query.until)
            if progress.ended or (progress.reached is not None and progress.reached >= until):
                self.registry.set_status(query.number, "ended", reason=f"until {query.until}")

    def value_of(self, tick: int | None) -> object:
        """Return a tick as a value of ``on``."""
        if tick is None:
            return None
        source = self.network.source
        type_ = to_arrow(source.df.schema[source.on].dataType, source.on)
        return from_ticks(pa.array([tick]).to_numpy(), self.network.axis, type_)[0].as_py()


def _paused(program: str) -> str:
    return to_json(replace(from_json(program), paused=True))
