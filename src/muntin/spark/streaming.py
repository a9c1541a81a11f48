"""The stream driver: one call per shard and micro-batch, state in RocksDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from muntin.operators.columns import original_names
from muntin.operators.protocol import REASONS, Operator, Step
from muntin.operators.punctuators.progress import Heard
from muntin.operators.punctuators.slack import Punctuator
from muntin.spark.exchange import (
    CONTROL,
    CONTROL_REFUSED,
    EVERYWHERE,
    KEYED,
    PUNCTUATIONS,
    TRAVELLING,
    Message,
    count_of,
    decode,
    encode,
    in_order,
    of_kind,
    refused_counts,
)
from muntin.spark.naming import Naming
from muntin.spark.ship import shipped, shipped_processor
from muntin.spark.state import ChunkState, HeadState, ShardState

#: Counts that every shard reports in every micro-batch, summed into the query's progress.
COUNTS = (
    "rows_in",
    "rows_used",
    "rows_refused",
    *REASONS,
    "rows_between",
    "punctuations",
    "control_refused",
    "results",
    "state_bytes_written",
)
TAGGED = ", ".join(["tag STRING", "payload BINARY", *(f"{name} BIGINT" for name in COUNTS)])
RESULTS, REFUSED = "results", "refused"
_OUTPUT_ROWS = 500_000


@dataclass(frozen=True)
class ShardTask:
    """Everything a shard needs, in a form that can be pickled."""

    operator: Operator
    punctuator: Punctuator
    fingerprint: Mapping[str, str]


def run(messages: DataFrame, task: ShardTask) -> DataFrame:
    """Tagged output: result and refused payloads, and counts."""
    return messages.groupBy("shard").transformWithStateInPandas(
        statefulProcessor=shipped_processor(__name__, "run_shard", task),
        outputStructType=TAGGED,
        outputMode="Append",
        timeMode="None",
    )


def counted(tagged: DataFrame, name: str) -> DataFrame:
    """The same DataFrame, its counts in the progress of the query under ``name``."""
    sums: list[Column] = [F.sum(count).alias(count) for count in COUNTS]
    return tagged.observe(name, *sums)


@dataclass(frozen=True)
class Output:
    """How tagged output is told apart; a plain value, so that it can be sent to a sink."""

    naming: Naming
    flat_schema: StructType
    refused_schema: StructType

    def results(self, tagged: DataFrame) -> DataFrame:
        """The result rows."""
        return self.naming.apply(_untagged(tagged, RESULTS, self.flat_schema))

    def refused(self, tagged: DataFrame) -> DataFrame:
        """The refused rows, with reason and lateness."""
        return _untagged(tagged, REFUSED, self.refused_schema)


def _untagged(tagged: DataFrame, tag: str, schema: StructType) -> DataFrame:
    payloads = tagged.where(F.col("tag") == tag).select("payload")
    return payloads.mapInArrow(shipped(__name__, "unpack"), schema)


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Worker side: payloads back to rows."""
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
    """Worker side: one micro-batch of one shard."""
    messages = in_order(_messages(shard, frames))
    state = ShardState(head, chunks, task.fingerprint)
    told = [m for m in messages if m.input == CONTROL]
    heard = Heard(
        seen=[m.progress for m in messages if m.input != CONTROL],
        told=[m.progress for m in told if m.kind == "punctuation"],
        clock=[m.progress for m in told if m.kind == "clock"],
        ended=any(m.kind == "end" for m in told),
        everywhere=of_kind(messages, EVERYWHERE),
        keyed=of_kind(messages, KEYED),
    )
    advanced = task.punctuator.advance(state, state.head.progress, heard)
    partials = of_kind(messages, "partial")
    step = task.operator.step(state, partials, advanced.punctuation, of_kind(messages, "rows"))
    written = state.write({**step.changes, **advanced.changes}, advanced.progress)
    refused = of_kind(messages, "refused_rows")
    if step.late_rows is not None and step.late_rows.num_rows:
        refused.append(step.late_rows)
    counts = refused_counts(messages)
    if step.fallen is not None:
        for reason, count in Counter(step.fallen["reason"].to_pylist()).items():
            counts[reason] = counts.get(reason, 0) + count
        if original_names(step.fallen):
            refused.append(step.fallen)
    also = {kind: count_of(messages, kind) for kind in (PUNCTUATIONS, CONTROL_REFUSED)}
    yield _output(step, {**also, "state_bytes_written": written}, counts, refused)


def _messages(shard: int, frames: Iterator[pd.DataFrame]) -> Iterator[Message]:
    for frame in frames:
        for row in frame.to_dict("records"):
            told = None if pd.isna(row["progress"]) else int(row["progress"])
            place = (int(row["input"]), int(row["task"]), int(row["seq"]))
            yield Message(shard, *place, row["kind"], told, int(row["n"]), row["payload"])


def _output(
    step: Step, also: Mapping[str, int], counts: Mapping[str, int], refused: list[pa.Table]
) -> pd.DataFrame:
    refusals = {**counts, "late": step.rows_late}
    total = sum(refusals.values())
    used = step.rows_used + also[PUNCTUATIONS]
    none = dict.fromkeys(COUNTS, 0)
    made = {
        **none,
        **refusals,
        **also,
        "rows_in": used + total,
        "rows_used": used,
        "rows_refused": total,
        "rows_between": step.rows_between,
        "results": step.results.num_rows,
    }
    rows: list[dict[str, object]] = [{"tag": "counts", "payload": None, **made}]
    for start in range(0, step.results.num_rows, _OUTPUT_ROWS):
        piece = step.results.slice(start, _OUTPUT_ROWS)
        rows.append({"tag": RESULTS, "payload": encode(piece, TRAVELLING), **none})
    rows += [{"tag": REFUSED, "payload": encode(table, TRAVELLING), **none} for table in refused]
    return pd.DataFrame(rows, columns=["tag", "payload", *COUNTS])
