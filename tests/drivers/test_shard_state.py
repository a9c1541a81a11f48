"""The stored state of a shard; nothing here starts Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from muntin.errors import CheckpointError
from muntin.operators.progress.progress import Progress
from muntin.spark.exchange.fingerprint import Fingerprint
from muntin.spark.exchange.shard_state import (
    CHUNK_BYTES,
    FORMAT,
    SMALL_BYTES,
    Head,
    ShardState,
)

QUERY = Fingerprint({"window": "RANGE 1 minute"}, {"spec.range": "1 minute"})


class Value:
    """Spark's ValueState, in memory."""

    def __init__(self, value: tuple[Any, ...] | None = None) -> None:
        self.value = value

    def get(self) -> tuple[Any, ...] | None:
        return self.value

    def update(self, newValue: tuple[Any, ...]) -> None:  # noqa: N803
        self.value = newValue


class Map(dict[tuple[Any, ...], tuple[Any, ...]]):
    """Spark's MapState, in memory; it counts calls that read."""

    reads = 0

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:  # noqa: N802
        self.reads += 1
        return self.get(key)

    def iterator(self) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        self.reads += 1
        return iter(self.items())

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:  # noqa: N802
        self[key] = value

    def removeKey(self, key: tuple[Any, ...]) -> None:  # noqa: N802
        del self[key]


def stored(**changes: Any) -> Value:
    head = Head(QUERY.stored, (Progress(largest=9, reached=5),), {("panes", 3): 1})
    return Value((json.dumps({**json.loads(head.to_json()), **changes}),))


def test_a_chunk_comes_back_from_its_parts() -> None:
    head, chunks = Value(), Map()
    table = pa.table({"x": pa.array(range(300_000))})
    progress = [Progress(largest=9)]
    ShardState(head, chunks, QUERY).write({("panes", 3): table}, progress, {("panes", 3): 7})
    assert len(chunks) == 3 == -(-table.nbytes // CHUNK_BYTES)
    again = ShardState(head, chunks, QUERY)
    assert again.read("panes", 3).equals(table)
    assert again.head.progress == (Progress(largest=9),)
    assert again.head.held == {("panes", 3): 7}
    again.write({("panes", 3): table.slice(0, 5)}, progress, {})
    assert len(chunks) == 1
    assert again.head.held == {("panes", 3): 0}
    again.write({("panes", 3): None}, progress, {})
    assert not chunks
    assert not again.head.held
    assert not again.buckets("panes")


@pytest.mark.parametrize(
    ("rows", "noted", "reads"),
    [
        (5, True, 1),  # all chunks at once
        (SMALL_BYTES // 8, True, 3),  # too large together, so one by one
        (5, False, 3),  # written before sizes were noted
    ],
)
def test_a_small_state_is_read_in_one_call(rows: int, noted: bool, reads: int) -> None:
    head, chunks = Value(), Map()
    tables = {("panes", n): pa.table({"x": pa.array([n] * rows)}) for n in range(3)}
    ShardState(head, chunks, QUERY).write({**tables}, [Progress()], {})
    if not noted:
        assert head.value is not None
        written = json.loads(head.value[0])
        del written["bytes"]
        head.update((json.dumps(written),))
    state = ShardState(head, chunks, QUERY)
    for (name, bucket), table in tables.items():
        assert state.read(name, bucket).equals(table)
    assert chunks.reads == reads
    state.write({("panes", 0): tables["panes", 1]}, [Progress()], {})
    assert state.read("panes", 0).equals(tables["panes", 1])


def test_a_missing_part_is_said() -> None:
    state = ShardState(stored(), Map(), QUERY)
    with pytest.raises(CheckpointError, match="part 0 of panes/3 is missing from the checkpoint's"):
        state.read("panes", 3)


@pytest.mark.parametrize(("format_", "shown"), [(FORMAT + 1, FORMAT + 1), (None, None)])
def test_another_format_is_refused(format_: Any, shown: Any) -> None:
    says = f"state has format {shown} and this version of Muntin reads formats 3 and 4; go on with"
    with pytest.raises(CheckpointError, match=says):
        ShardState(stored(format=format_), Map(), QUERY)


def test_format_3_is_read_and_rewritten() -> None:
    head = stored(format=3)
    ShardState(head, Map(), QUERY).write({}, (), {})
    assert json.loads(head.value[0])["format"] == FORMAT == 4  # type: ignore[index]


def test_state_from_before_formats_is_refused() -> None:
    old = json.loads(stored().value[0])  # type: ignore[index]
    del old["format"]
    with pytest.raises(CheckpointError, match="has format none and"):
        ShardState(Value((json.dumps(old),)), Map(), QUERY)


def test_progress_of_a_neighbouring_version_is_read() -> None:
    progress = {
        "largest": 9,
        "reached": 5,
        "mood": "good",
    }  # one unknown field, and four missing ones
    state = ShardState(stored(progress=[progress]), Map(), QUERY)
    assert state.head.progress_of(0) == Progress(largest=9, reached=5)
    assert state.head.progress_of(1) == Progress()


def test_a_fingerprint_of_version_1_is_compared_by_its_rule_and_rewritten() -> None:
    old = json.loads(stored().value[0])  # type: ignore[index]
    old["fingerprint"] = {"window": "RANGE 1 minute"}  # without version and arguments
    head = Value((json.dumps(old),))
    ShardState(head, Map(), QUERY).write({}, (), {})
    assert json.loads(head.value[0])["fingerprint"] == QUERY.stored  # type: ignore[index]
    longer = Fingerprint({"window": "RANGE 2 minutes"}, {"spec.range": "2 minutes"})
    with pytest.raises(CheckpointError, match="window RANGE 1 minute there, RANGE 2 minutes here"):
        ShardState(Value((json.dumps(old),)), Map(), longer)


def test_an_argument_that_differs_is_named() -> None:
    other = Fingerprint(QUERY.identity, {"spec.range": "1 minute", "tiebreak.0": "b"})
    with pytest.raises(
        CheckpointError, match=r"query: argument tiebreak\.0 none there, b here; use"
    ):
        ShardState(stored(), Map(), other)


def test_a_fingerprint_of_a_later_version_is_refused() -> None:
    later = json.loads(stored().value[0])  # type: ignore[index]
    later["fingerprint"]["version"] = "3"
    with pytest.raises(CheckpointError, match="fingerprint has version 3 and this version of"):
        ShardState(Value((json.dumps(later),)), Map(), QUERY)


def test_another_number_of_shards_says_how_to_go_on() -> None:
    older = QUERY.of_shards(16).stored
    says = r"shard count 16 there, 2 here; go on with mt\.stream\(\.\.\., shards=16\), or set it"
    with pytest.raises(CheckpointError, match=says):
        QUERY.of_shards(2).check(older)
    QUERY.of_shards(16).check(older)
