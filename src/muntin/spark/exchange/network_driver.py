"""Running a network of queries on Spark: one streaming query, whatever the number of queries.

Every task of a micro-batch runs the version that is pinned to it. The map side hands rows to all
queries and sends one message to each shard. A shard runs all queries once, and its output is one
table: for each query its answer, the counts of its rows, or the reason why it failed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame

from muntin.errors import CheckpointError
from muntin.kernels.hashing import shard_of
from muntin.operators.progress.progress import Progress
from muntin.operators.protocol import RowCounts
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.costs.meter import CHOSEN_ROWS
from muntin.operators.shared.network import (
    InputProgress,
    NetworkStep,
    QueryNetwork,
    RoutedRows,
    ShedRows,
    StreamRule,
)
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.query_group import GroupInput
from muntin.spark.exchange.fingerprint import Fingerprint
from muntin.spark.exchange.messages import (
    EVERYWHERE,
    KEYED,
    MESSAGE,
    PAYLOAD_BYTES,
    TRAVELLING,
    Message,
    as_batch,
    decode,
    encode,
    in_order,
    of_input,
)
from muntin.spark.exchange.part_meter import PartMeter, bytes_by_part
from muntin.spark.exchange.pinned_versions import (
    Pin,
    VersionFiles,
    batch_here,
    overload_of,
    programs_of,
)
from muntin.spark.exchange.routing import ShardRoute, gathered, split_by_shard, tables_of, task_here
from muntin.spark.exchange.seeds import read_seed
from muntin.spark.exchange.shard_state import ChunkState, HeadState, ShardState
from muntin.spark.exchange.shards import shard_labels, shards_here
from muntin.spark.exchange.shipping import shipped, shipped_processor
from muntin.spark.exchange.stream_driver import TAGGED, advanced_shard, messages_of, scoped_to
from muntin.specs.overload import PinnedOverload

if TYPE_CHECKING:  # workers that read no files do not import what reads them
    from muntin.spark.scan.choose import InputRows
    from muntin.spark.scan.row_sample import RowSample
    from muntin.spark.scan.scan import ArrowScan

#: The kind of the message that a task sends to each shard, and the tag of a shard's output.
NETWORK, ANSWERS = "network", "answers"
#: The tag of rows that are kept; their place among the tasks is in the column of counts.
KEPT = "kept"
#: The table of a shard's state whose only bucket is the version that it ran last.
_VERSION = "version"
#: Programs and networks that a worker keeps: those of the last versions of some streams.
_PROGRAMS_KEPT, _NETWORKS_KEPT = 16_384, 8
#: What a message has: partial tables of groups, answers of filters, refused rows and failures.
_PARTS = pa.schema(
    [
        ("kind", pa.string()),
        ("group", pa.string()),
        ("source", pa.int32()),
        ("member", pa.int64()),
        ("n", pa.int64()),
        ("text", pa.string()),
        ("payload", pa.large_binary()),
    ]
)
#: What a shard reports about each member.
REPORT = pa.schema(
    [
        ("member", pa.int64()),
        ("used", pa.int64()),
        ("late", pa.int64()),
        ("refused", pa.int64()),
        ("between", pa.int64()),
        ("shed", pa.int64()),
        ("shed_by", pa.string()),
        ("waiting", pa.int64()),
        ("rows", pa.int64()),
        ("made", pa.int64()),
        ("failed", pa.string()),
        ("payload", pa.large_binary()),
        ("largest", pa.int64()),
        ("reached", pa.int64()),
        ("ended", pa.bool_()),
        ("before", pa.int64()),
        ("largest_before", pa.int64()),
        ("over", pa.bool_()),
        ("shards", pa.int64()),
    ]
)
#: The row of a report that is about the stream itself: its progress, and how many rows it read.
STREAM = -1
#: Rows of a report that are chosen rows of several members.
CHOSEN = -2
#: The row of a report with what the parts of the network cost, which nothing is decided by.
COSTS = -3


@dataclass(frozen=True)
class NetworkTask:
    """Everything that tasks need to run the queries of a stream.

    ``rule`` is the :class:`StreamRule` as JSON, and ``shard_keys`` are the keys of each input.
    ``shards`` is the number of shards, or ``PER_PARTITION``. With ``keep`` the rows themselves are
    part of the output.
    """

    rule: str
    versions: VersionFiles
    shard_keys: tuple[tuple[str, ...], ...]
    shards: int
    fingerprint: Fingerprint
    keep: bool = False

    @property
    def routes(self) -> Sequence[ShardRoute]:
        """How control rows and punctuation of keys of each input go to the shards."""
        return [
            ShardRoute(number, keys, own.punctuator, self.shards)
            for number, (keys, own) in enumerate(
                zip(self.shard_keys, _rule(self.rule).inputs, strict=True)
            )
        ]

    def network_here(self) -> PinnedNetwork:
        """Return the network that is pinned to the micro-batch of this task."""
        return self.network_of(batch_here())

    def network_of(self, micro_batch: int) -> PinnedNetwork:
        """Return the network that is pinned to a micro-batch; wait for the pin if need be."""
        pin = self.versions.awaited(micro_batch)
        network = _network(self.rule, self.versions.folder, pin)
        return PinnedNetwork(micro_batch, pin, network)


@dataclass(frozen=True)
class PinnedNetwork:
    """The queries that a micro-batch runs."""

    micro_batch: int
    pin: Pin
    network: QueryNetwork


@lru_cache(maxsize=_NETWORKS_KEPT)
def _network(rule: str, folder: str, pin: Pin) -> QueryNetwork:
    programs = programs_of(folder, pin)
    own = tuple(_program(m, text) for m, text in programs.items())
    decided = overload_of(folder, pin)
    overload = PinnedOverload() if decided is None else from_json(decided)
    return QueryNetwork(_rule(rule), own, overload)


@lru_cache(maxsize=_NETWORKS_KEPT)
def _rule(text: str) -> StreamRule:
    rule: StreamRule = from_json(text)
    return rule


@lru_cache(maxsize=_PROGRAMS_KEPT)
def _program(member: int, text: str) -> QueryProgram:
    program: QueryProgram = from_json(text)
    return program.numbered(member)


def routed(rows: InputRows, task: NetworkTask, of: int = 0) -> DataFrame:
    """Return the messages of the rows of an input of a stream."""
    return rows.df.mapInArrow(shipped(__name__, "route", task, rows.scan, of), MESSAGE)


def run(messages: DataFrame, task: NetworkTask) -> DataFrame:
    """Return the reports of all shards."""
    return messages.groupBy("shard").transformWithStateInPandas(
        statefulProcessor=shipped_processor(__name__, "run_shard", task),
        outputStructType=TAGGED,
        outputMode="Append",
        timeMode="None",
    )


def route(
    task: NetworkTask, scan: ArrowScan | None, of: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Map side: turn the rows of a task, all of one input, into messages to the shards."""
    sender: _NetworkSender | None = None
    sample = None if scan is None else _sample_here(task)
    for rows in gathered(tables_of(scan, batches, sample)):
        if sender is None:
            sender = _NetworkSender(task, of, task.network_here())
        yield from sender.take(rows)
    if sample is not None and sample.shed:
        sender = sender or _NetworkSender(task, of, task.network_here())
        sender.shed = sample.shed
    if sender is not None:
        yield from sender.finish()


def _sample_here(task: NetworkTask) -> RowSample | None:
    """Return the sample that is kept of the rows of a task; None if all are kept."""
    # Here, because workers that read no files do not import what reads them.
    from muntin.spark.scan.row_sample import RowSample

    kept = task.network_here().network.overload.kept
    return RowSample(kept) if kept < 1 else None


class _NetworkSender:
    """Collects what the queries make of the rows of a task, by shard."""

    def __init__(self, task: NetworkTask, of: int, here: PinnedNetwork) -> None:
        self.network, self.pin = here.network, here.pin
        self.route = task.routes[of].in_task()
        self.labels = shard_labels(self.route.shards)
        self.task, self.seq = task_here(), 0
        self.keep = task.keep
        self.meter = PartMeter()
        self.taps = here.network.row_taps()
        self.progress: int | None = None
        self.rows = self.shed = 0
        self.partials: dict[tuple[int, str, int], list[pa.Table]] = {}
        self.parts: list[list[dict[str, object]]] = [[] for _ in self.labels]
        self.bytes = 0

    def take(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        routed = self.network.route(rows, self.route.source, self.meter)
        self.rows += rows.num_rows
        self.progress = max(
            (tick for tick in (self.progress, routed.progress) if tick is not None), default=None
        )
        yield from self._observed(routed)
        self._keep_partials(routed)
        if self.keep:
            self._part(self.task % len(self.labels), KEPT, rows, source=self.route.source)
        for answer in routed.answers:
            size = self._part(self.task % len(self.labels), "answer", answer)
            self.meter.sent(CHOSEN_ROWS, answer.num_rows, size)
        tapped, failed = self.taps.take(rows)
        for copied in tapped:
            self._part(self.task % len(self.labels), "answer", copied)
        for member, reason in {**routed.failed, **failed}.items():
            self._part(0, "failed", member=member, text=reason)
        if self.bytes > PAYLOAD_BYTES * len(self.labels):
            yield from self._flush()

    def _observed(self, routed: RoutedRows) -> Iterator[pa.RecordBatch]:
        observed = routed.observed
        if observed.everywhere is not None:
            payload = encode(observed.everywhere, TRAVELLING)
            shards = range(len(self.labels))
            yield as_batch([self._message(s, EVERYWHERE, payload=payload) for s in shards])
        if observed.keyed is not None:
            for shard, part in self.route.by_shard(observed.keyed):
                yield as_batch([self._message(shard, KEYED, payload=encode(part, TRAVELLING))])

    def _keep_partials(self, routed: RoutedRows) -> None:
        for group, part in routed.parts:
            own = self.network.receivers[group].inputs[part.source]
            for shard, table in split_by_group(group, part.routed.partial, own, len(self.labels)):
                self.partials.setdefault((shard, group, part.source), []).append(table)
                self.bytes += table.nbytes
            for member, refused in part.refused.items():
                if count := sum(refused.values()):
                    self._part(0, "refused", member=member, n=count)
            if part.routed.passed:
                for member in self.network.receivers[group].members:
                    self._part(0, "passed", member=member, n=part.routed.passed)

    def _part(
        self,
        shard: int,
        kind: str,
        table: pa.Table | None = None,
        *,
        group: str | None = None,
        source: int | None = None,
        member: int | None = None,
        n: int = 0,
        text: str | None = None,
    ) -> int:
        """Add a part to the message to a shard; return the bytes of its table."""
        payload = None if table is None else encode(table)
        size = 0 if payload is None else len(payload)
        self.bytes += size
        values = (kind, group, source, member, n, text, payload)
        self.parts[shard].append(dict(zip(_PARTS.names, values, strict=True)))
        return size

    def _flush(self, *, last: bool = False) -> Iterator[pa.RecordBatch]:
        for (shard, group, source), tables in self.partials.items():
            own = self.network.receivers[group]
            with self.meter.work(group):
                merged = tables[0] if len(tables) == 1 else own.merge(source, tables)
                size = self._part(shard, "partial", merged, group=group, source=source)
            self.meter.sent(group, merged.num_rows, size)
        self.partials = {}
        if last:
            self._part(self.task % len(self.labels), "costs", self.meter.table())
        for shard, parts in enumerate(self.parts):
            table = pa.Table.from_pylist(parts, schema=_PARTS)
            payload = encode(table, TRAVELLING)
            yield as_batch([self._message(shard, NETWORK, n=self.pin.version, payload=payload)])
        self.parts, self.bytes = [[] for _ in self.labels], 0

    def finish(self) -> Iterator[pa.RecordBatch]:
        self._part(0, "read", n=self.rows)
        if self.shed:
            self._part(0, "shed", n=self.shed)
        yield from self._flush(last=True)

    def _message(
        self, shard: int, kind: str, *, n: int = 0, payload: bytes | None = None
    ) -> Message:
        self.seq += 1
        place = (self.labels[shard], self.route.source, self.task, self.seq)
        return Message(*place, kind, self.progress, n, payload)


def split_by_group(
    group: str, table: pa.Table, own: GroupInput, shards: int
) -> Iterator[tuple[int, pa.Table]]:
    """Split a table of an input of a group by shard.

    Without keys one shard takes all rows of the group, but not one shard those of all groups.
    """
    if own.shard_keys or own.everywhere or not table.num_rows:
        yield from split_by_shard(table, own.shard_keys, shards, own.everywhere)
    else:
        yield shard_of_group(group, shards), table


def shard_of_group(group: str, shards: int) -> int:
    """Return the shard of a group without keys."""
    return int(shard_of([pa.array([group])], 1, shards)[0])


def run_shard(
    task: NetworkTask,
    head: HeadState,
    chunks: ChunkState,
    shard: int,
    frames: Iterator[pd.DataFrame],
) -> Iterator[pd.DataFrame]:
    """Worker side: run one micro-batch of one shard."""
    shards = shards_here(task.shards)
    state = ShardState(head, chunks, task.fingerprint.of_shards(shards))
    messages = in_order(messages_of(shard, frames))
    here = task.network_here()
    pin, network = here.pin, here.network
    arrived = _Arrived.of(messages, len(task.shard_keys))
    _check_versions(pin, arrived.versions, state)
    before = [state.head.progress_of(route.source) for route in task.routes]
    advanced = [
        advanced_shard(route, state, own, messages)
        for route, own in zip(task.routes, before, strict=True)
    ]
    first, *others = [
        InputProgress(own.punctuation, old.largest)
        for own, old in zip(advanced, before, strict=True)
    ]
    number = shard_labels(shards).index(shard)
    meter = PartMeter()
    step = network.step(
        state,
        arrived.partials,
        first.punctuation,
        first.largest_before,
        number,
        shards,
        lambda name: read_seed(task.versions.folder, name, number, shards),
        arrived.answers,
        here.micro_batch,
        others,
        meter,
    )
    changes = dict(step.changes)
    for route, own in zip(task.routes, advanced, strict=True):
        changes |= scoped_to(state, route.source).named(dict(own.changes))
    if list(state.buckets(_VERSION)) != [pin.version]:
        changes |= {(_VERSION, old): None for old in state.buckets(_VERSION)}
        changes[_VERSION, pin.version] = pa.table({})
    state.write(changes, [own.progress for own in advanced], {})
    report = _report(step, arrived)
    kept = bytes_by_part(state.head.sizes)
    costs = pa.concat_tables([*arrived.costs, meter.table(number, kept)])
    report.append({"member": COSTS, "payload": encode(costs)})
    report.append(
        {
            "member": STREAM,
            "used": arrived.read,
            "shed": arrived.shed,
            "rows": pin.version,
            "shards": shards,
            **_of_stream(before, [own.progress for own in advanced]),
        }
    )
    payload = encode(pa.Table.from_pylist(report, schema=REPORT), TRAVELLING)
    tagged = [(ANSWERS, payload, None), *((KEPT, rows, place) for place, rows in arrived.kept)]
    columns = dict(zip(("tag", "payload", "counts"), zip(*tagged, strict=True), strict=True))
    yield pd.DataFrame(columns, dtype=object)


def _of_stream(before: Sequence[Progress], after: Sequence[Progress]) -> dict[str, object]:
    """Return how far the stream is: as far as all of its inputs are complete."""
    return {
        "largest": _largest(after),
        "reached": _reached(after),
        "ended": all(own.ended for own in after),
        "before": _reached(before),
        "largest_before": _largest(before),
        "over": all(own.ended for own in before),
    }


def _largest(inputs: Sequence[Progress]) -> int | None:
    return max((own.largest for own in inputs if own.largest is not None), default=None)


def _reached(inputs: Sequence[Progress]) -> int | None:
    reached = [own.reached for own in inputs if own.reached is not None]
    return min(reached) if len(reached) == len(inputs) else None


def _check_versions(pin: Pin, sent: set[int], state: ShardState) -> None:
    """Raise if rows were prepared for another version than the one that this shard runs."""
    ran = max(state.buckets(_VERSION), default=-1)
    if sent - {pin.version} or ran > pin.version:
        raise CheckpointError(
            f"this micro-batch is pinned to version {pin.version} of the queries, and a shard got "
            f"rows of versions {sorted(sent)} after it ran version {ran}; the engine's home was "
            "changed while it ran, or it belongs to another checkpoint"
        )


@dataclass
class _Arrived:
    """What the messages of a micro-batch bring to a shard."""

    versions: set[int] = field(default_factory=set)
    partials: dict[tuple[str, int], list[pa.Table]] = field(default_factory=dict)
    answers: list[pa.Table] = field(default_factory=list)
    refused: dict[int, int] = field(default_factory=dict)
    passed: dict[int, int] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    kept: list[tuple[str, bytes]] = field(default_factory=list)
    costs: list[pa.Table] = field(default_factory=list)
    read: int = 0
    shed: int = 0

    @classmethod
    def of(cls, messages: Sequence[Message], inputs: int) -> _Arrived:
        arrived = cls()
        for message in (m for number in range(inputs) for m in of_input(messages, number)):
            if message.kind == NETWORK:
                arrived.versions.add(message.n)
                place = f"{message.task:08d}-{message.seq:08d}"
                for part in message.table().to_pylist():
                    arrived.take(place, **part)
        return arrived

    def take(
        self,
        place: str,
        kind: str,
        group: str | None,
        source: int | None,
        member: int,
        n: int,
        text: str | None,
        payload: bytes | None,
    ) -> None:
        """Take in one part of a message; ``place`` orders messages of a micro-batch."""
        match kind:
            case "partial":
                assert group is not None and source is not None and payload is not None
                self.partials.setdefault((group, source), []).append(decode(payload))
            case "answer":
                assert payload is not None
                self.answers.append(decode(payload))
            case "refused":
                self.refused[member] = self.refused.get(member, 0) + n
            case "passed":
                self.passed[member] = self.passed.get(member, 0) + n
            case "failed":
                self.failed.setdefault(member, text or "")
            case "kept":
                assert payload is not None
                self.kept.append((place, payload))
            case "costs":
                assert payload is not None
                self.costs.append(decode(payload))
            case "read":
                self.read += n
            case "shed":
                self.shed += n


def _report(step: NetworkStep, arrived: _Arrived) -> list[dict[str, object]]:
    """Return what a shard reports about each member."""
    failed = {**arrived.failed, **step.failed}
    answers = step.answers
    members = {*answers, *failed, *step.counts, *step.made, *arrived.refused, *arrived.passed}
    members |= {*step.shed, *step.refused, *step.waiting}
    report: list[dict[str, object]] = [
        {"member": CHOSEN, "rows": table.num_rows, "payload": encode(table)}
        for table in step.chosen
    ]
    for member in sorted(members):
        counts = step.counts.get(member, ())
        answer = None if member in failed else answers.get(member)
        rows = 0 if answer is None else answer.num_rows
        chosen = 0 if member in step.counts else step.made.get(member, 0)
        report.append(
            {
                "member": member,
                "used": _total(counts, "used") + arrived.passed.get(member, 0) + chosen,
                "late": _total(counts, "late"),
                "refused": arrived.refused.get(member, 0)
                + _fallen(counts)
                + step.refused.get(member, 0),
                "between": _total(counts, "between"),
                "shed": sum(step.shed.get(member, {}).values()),
                "shed_by": _shed_by(step.shed.get(member, {})),
                "waiting": step.waiting.get(member, 0),
                "rows": rows,
                "made": step.made.get(member, 0),
                "failed": failed.get(member),
                "payload": None if answer is None else encode(answer),
            }
        )
    return report


def _shed_by(shed: ShedRows) -> str | None:
    """Return the rows that were shed by policy and reason, as JSON."""
    return json.dumps([[*why, rows] for why, rows in sorted(shed.items())]) if shed else None


def _total(counts: Sequence[RowCounts], name: str) -> int:
    return sum(int(getattr(part, name)) for part in counts)


def _fallen(counts: Sequence[RowCounts]) -> int:
    return sum(0 if part.fallen is None else part.fallen.num_rows for part in counts)
