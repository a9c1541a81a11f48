"""A stream of the engine: one streaming query, the versions of its queries, and its answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from muntin.engine.asking.chosen_modes import AnswerRates, is_auto, mode_of
from muntin.engine.asking.standing import newest_answers
from muntin.engine.commit import (
    BatchReport,
    MemberCounts,
    StreamProgress,
    read_reports,
    with_complete,
)
from muntin.engine.costs.full_taps import without_surplus
from muntin.engine.costs.state_estimate import ExpectedSizes
from muntin.engine.costs.stream_costs import StreamCosts
from muntin.engine.history import History, past_answers
from muntin.engine.kept_rows import KeptProgress, KeptRowFiles
from muntin.engine.overload.shedder import Shedder
from muntin.engine.overload.stream_load import StreamLoad, began_at
from muntin.engine.plan_query import PlannedQuery
from muntin.engine.planning.prepared_columns import PreparedColumns
from muntin.engine.planning.similar_queries import SimilarQueries
from muntin.engine.registry import Registry
from muntin.engine.registry_records import (
    RUNNING,
    LoggedCommand,
    QueryRecord,
    VersionChange,
    VersionMember,
)
from muntin.engine.result_log import ResultLog
from muntin.engine.retention.answers import AnswerRetention
from muntin.engine.sinks.delivery_ledger import LogPosition
from muntin.engine.stream_queries import StreamQueries
from muntin.errors import EngineError, MuntinError
from muntin.kernels.ticks import from_ticks
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.network import QueryNetwork
from muntin.operators.shared.program import QueryProgram
from muntin.spark.api.control import wake
from muntin.spark.columns import to_arrow
from muntin.spark.exchange.pinned_versions import Pin, VersionFiles, programs_of
from muntin.spark.plan.worker_program import carried_schema
from muntin.spark.queries.many_queries import NetworkStream, finished
from muntin.spark.queries.stop import StreamingQuery, check, drain, stop_between

#: Pins and versions of this many committed micro-batches are kept.
_KEPT_BATCHES = 100


@dataclass
class EngineStream(StreamQueries):
    """One stream of an engine and everything that runs on it.

    Args:
        name: Its name.
        network: Its rows, and how they go to all queries.
        folder: Where its versions, pins, answers and checkpoint are.
        registry: The commands and queries of the engine.
        keep: How far back along ``on`` rows are kept, in ticks; None if they are not.
        sizes: What is expected of it, for estimates of state.
        why_rows: Why queries with a text were filled from kept rows and not from panes.
        committed: Called with the stream, the epoch and the micro-batch after answers are logged.
        retain: For how many seconds answers can be read; None for ever.
        delivered_to: Returns what the sinks of the stream's queries are to get next.
        forget_letters: Forgets the dead letters of the stream's sinks before a time.
    """

    name: str
    network: NetworkStream
    folder: Path
    registry: Registry
    keep: int | None = None
    committed: Callable[[str, int, int], None] = lambda stream, epoch, micro_batch: None
    retain: float | None = None
    delivered_to: Callable[[str], Mapping[str, LogPosition]] = lambda stream: {}
    forget_letters: Callable[[str, float], None] = lambda stream, before: None
    query: StreamingQuery | None = None
    progress: StreamProgress = field(default_factory=StreamProgress)
    counts: dict[int, MemberCounts] = field(default_factory=dict)
    sizes: ExpectedSizes = field(default_factory=ExpectedSizes)
    costs: StreamCosts = field(default_factory=StreamCosts)
    rates: AnswerRates = field(default_factory=AnswerRates)
    load: StreamLoad = field(default_factory=StreamLoad)
    micro_batch: int = -1
    log: ResultLog | None = None
    history: History | None = None
    why_rows: dict[str, str] = field(default_factory=dict)
    _planned: dict[str, PlannedQuery] = field(default_factory=dict)
    _plans: dict[int, PlannedQuery] = field(default_factory=dict)
    _views: dict[tuple[str, str], SimilarQueries] = field(default_factory=dict)
    _read_commands: list[set[Path]] = field(default_factory=list)
    _live_programs: dict[int, tuple[str, QueryProgram]] = field(default_factory=dict)
    _running: tuple[Sequence[VersionMember], QueryNetwork] | None = None
    _past_logs: dict[int, ResultLog] = field(default_factory=dict)
    publishing: threading.RLock = field(default_factory=threading.RLock)
    prepared: PreparedColumns = field(default_factory=PreparedColumns)
    _restarting: threading.RLock = field(default_factory=threading.RLock)
    _trigger: Mapping[str, Any] | None = None
    _not_restarted: Exception | None = None
    _retriggered: bool = False

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
        log = self.log
        if log is None:
            with self.publishing:  # two indexes of one log would lock each other out
                log = self.log = self.log or ResultLog(self.results_folder)
        return log

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

    # Versions

    def publish(self) -> Pin | None:
        """Write what was commanded as a new version; return the newest one, None before any.

        Commands that need a restart wait for it, and all others with them.
        """
        with self.publishing:
            waiting = self.needs_restart
            change = None if waiting else self.registry.next_version(self.name)
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
        pin = self.versions.write(change.number, parent, added, change.removed, change.overload)
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
        self._trigger = trigger
        self._begin_epoch()
        self.prepared = self._renewed()
        newest = self.publish()
        if newest is None:
            newest = self.versions.write(0, None, {})
        versions = self.versions
        if versions.last_pinned() is None:
            versions.pin(0, newest)
        self._retention.forget_if_due(self.epoch)
        if self.keep is not None:
            kept = KeptRowFiles(self.folder / "kept" / str(self.epoch))
            self.history = History(self.network.rule, kept, self.folder, self.awake)
            for number in kept.batches()[-1:]:
                last = kept.progress(number)
                self.progress = StreamProgress(0, last.largest, last.after, last.ended)
            for record in self.registry.live(self.name):
                if record.status == "filling":
                    self.fill(record)
        self._run()

    def _run(self) -> None:
        """Let the streaming query begin, or go on where it was."""
        self.load.start(self._trigger)
        self.query = self.network.start(
            self.versions,
            self.commands,
            self.checkpoint,
            self._commit,
            f"muntin engine: {self.name}",
            self._trigger,
            self.prepared.running,
            self.prepared.empty,
        )
        wake(self.commands)

    @cached_property
    def _retention(self) -> AnswerRetention:
        return AnswerRetention(
            *(self.name, self.registry, self.retain),
            *(self.delivered_to, self.answers_of, self.forget_letters),
        )

    # Restarts

    @property
    def needs_restart(self) -> bool:
        """Whether the stream runs and lacks a column that Spark prepares, or another trigger."""
        return self.query is not None and (self.prepared.lacking or self._retriggered)

    def retrigger(self, seconds: float) -> None:
        """Begin micro-batches so far apart, after a restart between two of them."""
        self._trigger, self._retriggered = (
            {"processingTime": f"{seconds * 1000:.0f} milliseconds"},
            True,
        )
        threading.Thread(target=self.restart, daemon=True).start()

    def prepare(self, program: QueryProgram) -> QueryProgram:
        """Note what Spark prepares for a query, before it is logged.

        Returns:
            The program, which says whether the stream must be restarted for it.
        """
        with self.publishing:
            self.prepared.want(program.prepared)
            restart = self.query is not None and self.prepared.lacks(program.prepared)
        return replace(program, restart=restart)

    def restart(self) -> None:
        """Start the streaming query again between two micro-batches, if a query needs it.

        It goes on from the same checkpoint. Its plan has the columns of the version that the next
        micro-batch is pinned to, which may be one that is repeated, and those of the newest.
        """
        with self._restarting:
            if self.query is None or not self.needs_restart or not self.query.isActive:
                return
            stop_between(self.query, lambda: False)
            with self.publishing:
                self.prepared, self._retriggered = self._renewed(), False
                try:
                    self._run()
                except Exception as error:
                    self._not_restarted = error
                    raise

    def _renewed(self) -> PreparedColumns:
        """Return what the next plan prepares, for all queries that may still be run."""
        live = {record.number: record.program for record in self.registry.live(self.name)}
        versions = self.versions
        last = versions.last_pinned()
        pins = () if last is None else (versions.pinned(last - 1), versions.pinned(last))
        pinned = {m.number: m.program for m in self.registry.version_members(self.name)}
        for pin in {pin for pin in pins if pin is not None}:
            pinned |= programs_of(versions.folder, pin)
        gone = {number: text for number, text in pinned.items() if number not in live}
        return self.prepared.renewed(live.values(), gone)

    def _begin_epoch(self) -> None:
        """Begin an epoch if the checkpoint is new: micro-batches are numbered from 0 again."""
        begun = (self.checkpoint / "offsets").is_dir()
        if self.epoch == 0 or (not begun and self.versions.last_pinned() not in (None, 0)):
            self.registry.begin_epoch(self.name)

    def stop(self) -> None:
        """Stop the streaming query between two micro-batches."""
        with self._restarting:  # a restart that is under way ends first, and is stopped
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
        while True:
            self.check()
            self.restart()
            newest = self.publish()
            query = self.query
            try:
                drain(query)
            except MuntinError:
                with self._restarting:  # a restart that is under way ends first
                    if self.query is query:
                        raise
            filling = self.history is not None and self.history.filling
            there = newest is None or self.progress.version >= newest.version
            if self.query is query and there and not filling and not self.needs_restart:
                return
            self.awake()

    def check(self) -> None:
        """Raise if the streaming query failed, or could not be restarted."""
        if self._not_restarted is not None:
            raise EngineError(
                f"the stream {self.name} could not be restarted: {self._not_restarted}; stop the "
                "engine and start it again"
            ) from self._not_restarted
        if self.query is not None:
            check(self.query)

    # Committing

    def fill(self, record: QueryRecord) -> None:
        """Begin to run a query over kept rows; it is in force when it has caught up."""
        assert self.history is not None
        program = from_json(record.program).numbered(record.number)
        later = record.generation > 1  # answers of the past are those of the generation before
        self.history.begin(record.number, program, self.start_of(record), silent=later)

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
        self._quarantine_takers(report.failed, live)
        held = {n for n, query in live.items() if query.status == "quarantined"} | {*report.failed}
        held |= self.prepared.withheld
        answers = {m: t for m, t in report.answers.items() if m not in held}
        past = self._with_history(answers, live, pinned)
        answers = newest_answers(past, live, micro_batch)
        answers, full_taps = without_surplus(self.answers(), answers, live, self.registry.member)
        self.answers().write(micro_batch, self._finished(answers, live), self._order(answers, live))
        for member, counts in report.counts.items():
            self.counts.setdefault(member, MemberCounts()).take(counts)
        self._acknowledge(pinned, micro_batch, report.kept.before)
        self.costs.take(report.costs, report.progress.rows, answers, self._begun(live))
        for tap in full_taps:
            self.registry.log(self.name, "drop", tap.id, {"reason": "the tap has all its rows"})
        self._control(report, live, micro_batch)
        self._end_reached(live.values(), report.progress)
        self._choose_answers(report, live.values())
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
        self._retention.forget_if_due(self.epoch)
        self.committed(self.name, self.epoch, micro_batch)
        if following.version > pinned.version:
            wake(self.commands)

    def _control(
        self, report: BatchReport, live: Mapping[int, QueryRecord], micro_batch: int
    ) -> None:
        """Measure a micro-batch, and decide whether rows are shed from the next one on."""
        asked = self.query is not None and self.shedder.limits is not None
        last = self.query.lastProgress if self.query is not None and asked else None
        began, rows = began_at(self.checkpoint, micro_batch), report.progress.rows
        self.load.commit(micro_batch, began, rows, report.answered, last)
        for member in self.shedder.count(live.values(), report.progress.shed):
            counts = self.counts.setdefault(member, MemberCounts())
            counts.shed += report.progress.shed
            counts.add_shed(f"native: {self.shedder.control.why}", report.progress.shed)
        with self.publishing:
            self.shedder.decide(self, live.values(), report)

    @cached_property
    def shedder(self) -> Shedder:
        """What decides whether rows are shed."""
        return Shedder.of(self.registry.decision(self.name))

    def _begun(self, live: Mapping[int, QueryRecord]) -> Iterable[QueryRecord]:
        """Return the queries as the acknowledgements of this micro-batch leave them."""
        if all(query.since is not None for query in live.values()):
            return live.values()
        return self.registry.live(self.name)

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

    def _quarantine_takers(
        self, failed: Mapping[int, str], live: Mapping[int, QueryRecord]
    ) -> None:
        """Quarantine queries that were to begin with the panes of one that failed."""
        for number, record in live.items() if failed else ():
            if record.since is None:
                donors = from_json(record.program).numbered(number).donors
                for donor in set(donors) & failed.keys():
                    reason = f"it began with the panes of a query that failed: {failed[donor]}"
                    self._quarantine(number, reason, live)

    def _order(
        self, answers: Mapping[int, pa.Table], live: Mapping[int, QueryRecord]
    ) -> dict[int, tuple[str, ...]]:
        return {member: self._planned_of(member, live).order for member in answers}

    def _planned_of(self, member: int, live: Mapping[int, QueryRecord]) -> PlannedQuery:
        record = live.get(member) or self.registry.member(member)
        return self.plan_of(record)

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
                how=self._how(command),
            )

    def _is_filling(self, command: LoggedCommand) -> bool:
        """Return whether a command is in force only when its query has seen the kept rows."""
        made = self.registry.made_by(command.seq)
        return made is not None and made.status == "filling"

    def _how(self, command: LoggedCommand) -> str:
        """Return whether a command came in force in the running query, or by a restart of it."""
        if command.kind not in ("register", "change") or command.query_id is None:
            return "in place"
        record = self.registry.made_by(command.seq) or self.registry.find(command.query_id)
        restarted = record is not None and from_json(record.program).restart
        return "restart" if restarted else "in place"

    def _filled(self, command: LoggedCommand) -> str:
        if command.kind not in ("register", "change") or command.query_id is None:
            return "nothing"
        record = self.registry.made_by(command.seq) or self.registry.find(command.query_id)
        if record is not None and from_json(record.program).numbered(record.number).takes_panes:
            return "panes"
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
                both = pa.concat_tables([past, *now])
                newest = from_json(record.program).newest
                # Of early answers, the first report is what all changes of the past come to.
                together[number] = newest.applied(both) if newest.changes else both
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
        carried = [table.select(schema.names) for table in rows]
        self.history.kept.write(micro_batch, carried, schema, kept)
        self.history.kept.merge()
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

    def _choose_answers(self, report: BatchReport, live: Iterable[QueryRecord]) -> None:
        """Let queries with ``answer="auto"`` answer in the way that fits how often they are asked.

        The command is logged before the next micro-batch is pinned.
        """
        for query in live:
            if query.status != "active" or not is_auto(query):
                continue
            if query.number in report.answered:
                self.rates.answered(query.number)
            mode = mode_of(query)
            chosen = self.rates.choice(query.number, mode)
            if chosen != mode:
                with self.publishing:
                    self.registry.choose(query.number, chosen)

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
