"""The stream driver: one call per shard and micro-batch, with the state in RocksDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from muntin.operators.progress.progress import AdvancedShard, Progress, ProgressMessages
from muntin.operators.protocol import (
    InputBatch,
    LimitedOperator,
    Operator,
    ScopedState,
    State,
    Step,
    original_names,
)
from muntin.spark.exchange.counts import COLUMN, line
from muntin.spark.exchange.fingerprint import Fingerprint
from muntin.spark.exchange.messages import (
    CONTROL_REFUSED,
    EVERYWHERE,
    KEYED,
    PASSED,
    PUNCTUATIONS,
    TRAVELLING,
    Message,
    control_of,
    count_of,
    decode,
    encode,
    in_order,
    of_input,
    of_kind,
    refused_counts,
)
from muntin.spark.exchange.routing import InputRoute, ShardRoute, StoredInput, judged
from muntin.spark.exchange.shard_state import ChunkState, HeadState, ShardState
from muntin.spark.exchange.shards import shard_label, shards_here
from muntin.spark.exchange.shipping import shipped, shipped_processor

if TYPE_CHECKING:  # to import pandas takes long, and only the workers of a stream need it
    import pandas as pd

TAGGED = f"tag STRING, payload BINARY, {COLUMN} STRING"
RESULTS, REFUSED = "results", "refused"
_OUTPUT_ROWS = 500_000


@dataclass(frozen=True)
class ShardTask:
    """Everything that a shard needs, in a form that can be pickled.

    ``shards`` is the number of shards, or ``PER_PARTITION``.
    """

    operator: Operator
    routes: tuple[InputRoute, ...]
    fingerprint: Fingerprint
    shards: int
    stored_inputs: tuple[StoredInput, ...] = ()


def run(messages: DataFrame, task: ShardTask) -> DataFrame:
    """Return the tagged output: payloads of results and refused rows, and counts.

    Rows without pandas would be a little faster, but Spark does not let them continue a checkpoint
    that was written with pandas.
    """
    return messages.groupBy("shard").transformWithStateInPandas(
        statefulProcessor=shipped_processor(__name__, "run_shard", task),
        outputStructType=TAGGED,
        outputMode="Append",
        timeMode="None",
    )


def refused_tag(source: int) -> str:
    """Return the tag of the refused rows of an input."""
    return f"{REFUSED}:{source}"


def untagged(tagged: DataFrame, tag: str, schema: StructType) -> DataFrame:
    """Return the rows that have a tag."""
    payloads = tagged.where(F.col("tag") == tag).select("payload")
    return payloads.mapInArrow(shipped(__name__, "unpack"), schema)


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Worker side: decode payloads into rows."""
    for batch in batches:
        for payload in batch.column("payload"):
            yield from decode(payload.as_py()).to_batches()


def run_shard(
    task: ShardTask,
    head: HeadState,
    chunks: ChunkState,
    shard: int,
    frames: Iterator[pd.DataFrame],
) -> Iterator[pd.DataFrame]:
    """Worker side: run one micro-batch of one shard."""
    shards = shards_here(task.shards)
    state = ShardState(head, chunks, task.fingerprint.of_shards(shards))
    stored_messages = [
        message
        for stored in task.stored_inputs
        for message in stored.due(shard, shards, state.head.progress_of(stored.route.source))
    ]
    messages = in_order([*messages_of(shard, frames), *stored_messages])
    for route in task.routes:
        earlier = state.head.progress_of(route.source).largest
        messages = judged(route, shard, earlier, messages)
    advanced = [
        advanced_shard(route, state, state.head.progress_of(route.source), messages)
        for route in task.routes
    ]
    step = _among(shards, task.operator).step(
        state,
        [
            _arrived(route, shard, shard_progress, of_input(messages, route.source))
            for route, shard_progress in zip(task.routes, advanced, strict=True)
        ],
    )
    changes = dict(step.changes)
    for route, shard_progress in zip(task.routes, advanced, strict=True):
        changes |= scoped_to(state, route.source).named(dict(shard_progress.changes))
    written = state.write(
        changes, [shard_progress.progress for shard_progress in advanced], step.open_counts
    )
    yield _output(step, messages, {"state_bytes_written": written, **_gauges(state, advanced)})


def _among(shards: int, operator: Operator) -> Operator:
    """Return the operator of one of several shards."""
    return operator.among(shards) if isinstance(operator, LimitedOperator) else operator


def _gauges(state: ShardState, advanced: Sequence[AdvancedShard]) -> dict[str, int | None]:
    first = advanced[0].punctuation
    held = sum(state.head.held.values())
    return {"open": held, "largest": first.largest, "reached": first.after}


def scoped_to(state: State, source: int) -> ScopedState:
    """Return the part of the state in which the punctuator of an input keeps its tables."""
    return ScopedState(state, f"{source}:" if source else "")


def advanced_shard(
    route: ShardRoute, state: State, progress: Progress, messages: Sequence[Message]
) -> AdvancedShard:
    """Return the progress and punctuation of an input after a micro-batch."""
    control = of_input(messages, control_of(route.source))
    data = of_input(messages, route.source)
    heard = ProgressMessages(
        seen=[m.progress for m in data],
        announced=[m.progress for m in control if m.kind == "punctuation"],
        clock=[m.progress for m in control if m.kind == "clock"],
        ended=any(m.kind == "end" for m in control),
        everywhere=of_kind(data, EVERYWHERE),
        keyed=of_kind(data, KEYED),
        announced_keys=of_kind(control, KEYED),
    )
    return route.punctuator.advance(scoped_to(state, route.source), progress, heard)


def _arrived(
    route: InputRoute, shard: int, advanced: AdvancedShard, messages: Sequence[Message]
) -> InputBatch:
    counted = not route.everywhere or shard == shard_label(0)
    partials, rows = of_kind(messages, "partial"), of_kind(messages, "rows")
    return InputBatch(partials, advanced.punctuation, rows, counted)


def messages_of(shard: int, frames: Iterator[pd.DataFrame]) -> Iterator[Message]:
    """Yield the messages of a shard from what Spark hands to it."""
    import pandas as pd

    # Columns as lists, because pandas takes longer for a row than all else does for a small one.
    names = ("input", "task", "seq", "kind", "progress", "n", "payload")
    for frame in frames:
        columns = [frame[name].tolist() for name in names]
        for source, task, seq, kind, progress, n, payload in zip(*columns, strict=True):
            tick = None if pd.isna(progress) else int(progress)
            yield Message(shard, int(source), int(task), int(seq), kind, tick, int(n), payload)


def _output(
    step: Step, messages: Sequence[Message], gauges: Mapping[str, int | None]
) -> pd.DataFrame:
    """Return counts, results and refused rows, with tags."""
    import pandas as pd

    tables = [
        (RESULTS, step.results.slice(start, _OUTPUT_ROWS))
        for start in range(0, step.results.num_rows, _OUTPUT_ROWS)
    ]
    for source in range(len(step.rows)):
        tables += [(refused_tag(source), table) for table in _refused(step, messages, source)]
    counts = line({**_counts(step, messages), **gauges})
    return pd.DataFrame(
        {
            "tag": [COLUMN, *(tag for tag, _ in tables)],
            "payload": [None, *(encode(table, TRAVELLING) for _, table in tables)],
            COLUMN: [counts, *(None for _ in tables)],
        },
        dtype=object,
    )


def _counts(step: Step, messages: Sequence[Message]) -> dict[str, int]:
    refusals = Counter(refused_counts(messages))
    for counts in step.rows:
        refusals["late"] += counts.late
        if counts.fallen is not None:
            refusals.update(counts.fallen["reason"].to_pylist())
    punctuations = count_of(messages, PUNCTUATIONS)
    used = sum(counts.used for counts in step.rows) + punctuations + count_of(messages, PASSED)
    return {
        **refusals,
        "rows_in": used + refusals.total(),
        "rows_used": used,
        "rows_refused": refusals.total(),
        "rows_between": sum(counts.between for counts in step.rows),
        PUNCTUATIONS: punctuations,
        CONTROL_REFUSED: count_of(messages, CONTROL_REFUSED),
        "evicted": step.evicted,
        "results": step.results.num_rows,
    }


def _refused(step: Step, messages: Sequence[Message], source: int) -> list[pa.Table]:
    """Return the refused rows of an input.

    They were refused on the map side, as late, or because of other rows.
    """
    counts = step.rows[source]
    tables = of_kind(of_input(messages, source), "refused_rows")
    if counts.late_rows is not None and counts.late_rows.num_rows:
        tables.append(counts.late_rows)
    if counts.fallen is not None and original_names(counts.fallen):
        tables.append(counts.fallen)
    return tables
