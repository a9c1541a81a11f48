"""What receives answers: a sink of Spark, which takes a table, or an action, which takes rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from muntin.engine.sinks.sink_call import SinkCall
from muntin.session.triggers.trigger import ACTIONS, Action, action_of
from muntin.session.triggers.webhook import Webhook
from muntin.spark.columns import DataFrame, SparkSession, dataframe
from muntin.spark.connectors.signature import secrets_of
from muntin.spark.connectors.sinks.protocol import Sink
from muntin.spark.connectors.sinks.registry import SINKS, open_sink


@dataclass(frozen=True)
class AnswerKey:
    """Names an answer for ever: the home, the query, its generation, the epoch and micro-batch.

    >>> AnswerKey("3f2a9c1b", "q17", 2, 1, 42).row(0)
    '3f2a9c1b-q17-2-1-42-0'
    """

    home: str
    query_id: str
    generation: int
    epoch: int
    micro_batch: int

    def row(self, number: int) -> str:
        """Return the key of a row, by which a receiver can tell that it has the row already."""
        words = (self.home, self.query_id, self.generation, self.epoch, self.micro_batch, number)
        return "-".join(map(str, words))

    @property
    def run(self) -> str:
        """The run within which micro-batches are numbered, for sinks that remember them."""
        words = f"{self.home}/{self.query_id}/{self.generation}/{self.epoch}"
        return hashlib.sha256(words.encode()).hexdigest()


@dataclass
class TableTarget:
    """Hands the answer of a micro-batch to a sink; a sink given the same twice has it once."""

    spark: SparkSession
    open: Callable[[str], Sink]
    to_rows: Callable[[SparkSession, pa.Table], DataFrame] = dataframe
    secrets: tuple[str, ...] = field(default=(), repr=False)
    _opened: dict[str, Sink] = field(default_factory=dict)

    def put(self, key: AnswerKey, table: pa.Table) -> None:
        """Write an answer under the number of its micro-batch."""
        if key.run not in self._opened:
            self._opened[key.run] = self.open(key.run)
        self._opened[key.run](self.to_rows(self.spark, table), key.micro_batch)


@dataclass(frozen=True)
class RowTarget:
    """Runs an action for a row; ``attempts`` is how often it is tried."""

    action: Action
    attempts: int
    secrets: tuple[str, ...] = field(default=(), repr=False)


Target = TableTarget | RowTarget


def open_target(spark: SparkSession, call: SinkCall, query: str) -> Target:
    """Return what a call names; ``query`` is the name under which a sink writes.

    The sink is opened once at once, so that a call that cannot work is refused now.
    """
    name = call.connector.lower()
    if name in ACTIONS:
        secrets = secrets_of(ACTIONS[name][0], call.arguments, call.options)
        action = action_of(call.connector, call.arguments, call.options)
        if isinstance(action, Webhook):  # attempts are made, and noted, by the delivery
            return RowTarget(replace(action, attempts=1), action.attempts, secrets)
        return RowTarget(action, call.attempts, secrets)

    def opened(run: str) -> Sink:
        return open_sink(spark, call.connector, call.arguments, call.options, query=query, run=run)

    opened("0" * 8)
    secrets = secrets_of(SINKS[name].signature, call.arguments, call.options)
    return TableTarget(spark, opened, secrets=secrets)


def session_zone(spark: SparkSession) -> ZoneInfo:
    """Return the zone in which a session writes times; UTC if Python does not know it."""
    try:
        return ZoneInfo(str(spark.conf.get("spark.sql.session.timeZone")))
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")
