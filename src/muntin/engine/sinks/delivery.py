"""Delivering the answers of one query to one sink, each once, in order.

Answers are read from the result log after their micro-batch is committed, from where the sink's
position is. Whatever fails is tried again, after a pause that doubles. A row of a trigger that
fails to the end becomes a dead letter, and the next row comes; a sink that fails to the end, or a
trigger with many dead letters in a row, stops itself. Its position stays: nothing is lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo

import pyarrow as pa

from muntin.engine.registry_records import QueryRecord
from muntin.engine.result_log import Answer, ResultLog
from muntin.engine.sinks.delivery_ledger import DeliveryLedger, LogPosition
from muntin.engine.sinks.row_json import row_lines
from muntin.engine.sinks.sink_call import INTO, SinkRecord
from muntin.engine.sinks.targets import AnswerKey, RowTarget, TableTarget, Target
from muntin.errors import MuntinError
from muntin.specs.secrets import without

#: Seconds before the second attempt; doubled before each further one.
PAUSE = 0.5
#: So many dead letters in a row, and a trigger stops itself.
MOST_LETTERS = 10
#: True in an early answer's rows that will not change any more.
_FINAL = "final"


class _Stopped(Exception):  # noqa: N818  (a way out of nested loops, not an error)
    """The sink stopped itself, or the engine is closing."""


@dataclass
class Delivery:
    """One sink of a query, and how far it is; one thread at a time advances it.

    Args:
        record: The sink as the registry has it.
        target: What receives the answers.
        ledger: Where the position is kept.
        generations: Returns the generations of the query.
        log: Returns the result log of an epoch; None if it has none.
        home: The identity of the engine's home, for keys.
        zone: The zone in which a trigger's rows write times.
        closing: Set when nothing is to be delivered any more; pauses end then.
    """

    record: SinkRecord
    target: Target
    ledger: DeliveryLedger
    generations: Callable[[], Sequence[QueryRecord]]
    log: Callable[[int], ResultLog | None]
    home: str
    zone: tzinfo = UTC
    closing: threading.Event = field(default_factory=threading.Event)
    pause: float = PAUSE
    delivered: int = field(default=0, init=False)
    busy: bool = field(default=False, init=False)
    _letters_in_a_row: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        kept = self.ledger.position(self.record.number)
        self.position = LogPosition(*self.record.first) if kept is None else kept
        self.stopped = self.ledger.stopped(self.record.number)

    def advance(self, until: LogPosition) -> None:
        """Deliver every answer before a position; return early if the sink stops."""
        if self.stopped is not None:
            return
        try:
            while self.position < until and not self.closing.is_set():
                last = self.position.epoch == until.epoch
                self._deliver_epoch(until.micro_batch - 1 if last else None)
                # Not noted: after a restart there is nothing to deliver in between, either.
                self.position = until if last else LogPosition(self.position.epoch + 1, 0)
        except _Stopped:
            return

    def redeliver(self) -> int:
        """Try the dead letters again; return how many could be delivered."""
        assert isinstance(self.target, RowTarget)
        done = 0
        for letter in self.ledger.letters(self.record.number):
            if self._tried(_fire(self.target, letter.row, letter.key), 1) is None:
                self.ledger.remove_letter(letter.number)
                done += 1
        return done

    def _deliver_epoch(self, upto: int | None) -> None:
        epoch, first = self.position.epoch, self.position
        log = self.log(epoch)
        if log is None:
            return
        members = {query.number: query for query in self.generations() if not query.staged}
        for answer in log.answers(members, first.micro_batch - 1, upto):
            if self.closing.is_set():
                raise _Stopped
            if (answer.micro_batch, answer.member) < (first.micro_batch, first.member):
                continue
            query = members[answer.member]
            # A staged generation that was applied has answers from before; they were a rehearsal.
            if query.since is None or (query.since[1], query.since[0]) > (
                epoch,
                answer.micro_batch,
            ):
                continue
            self._deliver(answer, query, epoch)

    def _deliver(self, answer: Answer, query: QueryRecord, epoch: int) -> None:
        key = AnswerKey(self.home, query.id, query.generation, epoch, answer.micro_batch)
        if isinstance(self.target, TableTarget):
            wanted = pa.array(self._wanted(answer.table, query), pa.bool_())
            self._put(self.target, key, answer.table.filter(wanted))
        else:
            self._fire_rows(self.target, key, answer, query)
        self._moved(LogPosition(epoch, answer.micro_batch, answer.member + 1))

    def _put(self, target: TableTarget, key: AnswerKey, table: pa.Table) -> None:
        reason = self._tried(lambda: target.put(key, table), self.record.call.attempts)
        if reason is not None:
            self._stop(f"micro-batch {key.micro_batch}: {reason}")
        self.delivered += table.num_rows

    def _fire_rows(
        self, target: RowTarget, key: AnswerKey, answer: Answer, query: QueryRecord
    ) -> None:
        here = LogPosition(key.epoch, answer.micro_batch, answer.member)
        done = self.position.rows if self.position == _at(here, self.position.rows) else 0
        wanted = self._wanted(answer.table, query)
        for number, line in enumerate(row_lines(answer.table, self.zone)):
            if number < done or not wanted[number]:
                continue
            self._fire_row(target, _at(here, number + 1), key.row(number), line)

    def _fire_row(self, target: RowTarget, after: LogPosition, key: str, line: str) -> None:
        reason = self._tried(_fire(target, line, key), target.attempts)
        if reason is None:
            self._letters_in_a_row = 0
            self.delivered += 1
            self._moved(after)
            return
        self.ledger.bury(self.record.number, after, key, line, reason)
        self.position = after
        self._letters_in_a_row += 1
        if self._letters_in_a_row >= MOST_LETTERS:
            self._stop(f"{MOST_LETTERS} rows in a row could not be delivered, the last: {reason}")

    def _wanted(self, table: pa.Table, query: QueryRecord) -> Sequence[bool]:
        """Return which rows a trigger fires for: of early answers only the final ones."""
        call = self.record.call
        every = call.name == INTO or call.on_change or query.emit != "early"
        if every or _FINAL not in table.column_names:
            return [True] * table.num_rows
        return [bool(final) for final in table[_FINAL].to_pylist()]

    def _tried(self, act: Callable[[], None], attempts: int) -> str | None:
        """Act, again if it fails; return why it failed the last time, or None."""
        reason = None
        for attempt in range(attempts):
            if attempt and self.closing.wait(self.pause * 2 ** (attempt - 1)):
                raise _Stopped
            try:
                act()
                return None
            except Exception as error:  # whatever a sink raises must not stop the others
                reason = without(_reason(error), self.target.secrets)
        return reason if attempts < 2 else f"{reason}, {attempts} times"

    def _moved(self, position: LogPosition) -> None:
        self.ledger.move(self.record.number, position)
        self.position = position

    def _stop(self, reason: str) -> None:
        self.ledger.stop(self.record.number, reason)
        self.stopped = reason
        raise _Stopped


def _fire(target: RowTarget, line: str, key: str) -> Callable[[], None]:
    return lambda: target.action(line, key)


def _at(position: LogPosition, rows: int) -> LogPosition:
    return LogPosition(position.epoch, position.micro_batch, position.member, rows)


def _reason(error: Exception) -> str:
    """Return why a delivery failed, in one line."""
    lines = str(error).strip().splitlines()
    words = lines[0] if lines else ""
    return words if isinstance(error, MuntinError) else f"{type(error).__name__}: {words}"
