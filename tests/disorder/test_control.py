"""Control rows: how they are written, and how workers read them; nothing here starts Spark."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import muntin as mt
from muntin.errors import ArgumentError
from muntin.kernels.hashing import shard_of
from muntin.operators.progress.per_key import PerKeyPunctuator
from muntin.operators.progress.progress import Punctuator
from muntin.spark.exchange.control_rows import announce
from muntin.spark.exchange.messages import DATA, control_of, decode
from muntin.spark.exchange.routing import ShardRoute
from muntin.spark.exchange.shards import shard_label
from muntin.specs.axis import Axis, Domain

X, TS = Axis(Domain.INTEGER), Axis(Domain.TIMESTAMP)


@pytest.mark.parametrize(
    "value",
    [7, -2.5, Decimal("0.1"), "8", datetime(2026, 1, 1, 8), date(2026, 1, 1), "2026-01-01T08:00Z"],
)
def test_a_punctuation_is_written_as_text(tmp_path: Path, value: object) -> None:
    mt.punctuate(tmp_path, value)
    (written,) = tmp_path.iterdir()
    assert json.loads(written.read_text()) == {"kind": "punctuation", "value": str(value)}


@pytest.mark.parametrize("value", ["soon", "", None, True, float("nan"), float("inf"), [1]])
def test_a_punctuation_that_no_column_can_have_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(ArgumentError, match=r"value=.*a finite number or a time such as '2026-"):
        mt.punctuate(tmp_path, value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_nobody_listens_to_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"folder='.*missing'.*the folder given to mt\.control"):
        mt.end(tmp_path / "missing")


@pytest.mark.parametrize(
    "folder", ["s3://bucket/control", "hdfs:/control", "dbfs:/x", "file://host/control"]
)
def test_a_folder_elsewhere_is_refused(folder: str) -> None:
    for call in (lambda: mt.end(folder), lambda: mt.control(None, folder)):  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match=f"folder='{folder}'.*a folder of this machine"):
            call()
    assert not Path(folder.split("/")[0]).exists()


def test_a_local_folder_may_be_written_as_a_uri(tmp_path: Path) -> None:
    mt.end(f"file:{tmp_path}")
    mt.end(f"file://{tmp_path}")
    assert len(list(tmp_path.iterdir())) == 2


def messages_of(axis: Axis, rule: Punctuator, *rows: tuple[Any, Any]) -> list[dict[str, Any]]:
    """Return the messages of control rows to two shards."""
    batch = pa.RecordBatch.from_pylist(
        [{"kind": kind, "value": value} for kind, value in rows],
        schema=pa.schema([("kind", pa.string()), ("value", pa.string())]),
    )
    route = ShardRoute(DATA, ("k0",), rule, 2)
    return [row for out in announce(axis, (route,), iter([batch])) for row in out.to_pylist()]


def told(axis: Axis, *rows: tuple[Any, Any]) -> list[tuple[int, str, int | None, int]]:
    messages = messages_of(axis, Punctuator(0), *rows)
    return [(row["shard"], row["kind"], row["progress"], row["n"]) for row in messages]


def test_every_shard_is_told() -> None:
    first, second = shard_label(0), shard_label(1)
    assert told(X, ("punctuation", "7"), ("end", None)) == [
        (first, "punctuation", 7, 0),
        (second, "punctuation", 7, 0),
        (first, "end", None, 0),
        (second, "end", None, 0),
    ]
    assert told(X, ("clock", "1970-01-01T00:00:01+00:00"))[0] == (first, "clock", 1_000_000, 0)
    assert told(TS, ("punctuation", "1970-01-01T00:00:02"))[0][2] == 2_000_000


@pytest.mark.parametrize(
    ("axis", "kind", "value"),
    [
        (X, "punctuation", "soon"),
        (X, "punctuation", None),
        (X, "punctuation", "2026-01-01"),
        (X, "punctuation", "NaN"),
        (X, "punctuation", "Infinity"),
        (TS, "punctuation", "7"),
        (TS, "punctuation", "2026-13-01"),
        (X, "clock", "now"),
        (X, "clock", None),
        (X, "stop", None),
        (X, None, None),  # how Spark reads a line that is not JSON
    ],
)
def test_what_cannot_be_read_is_counted_once_and_ignored(axis: Axis, kind: Any, value: Any) -> None:
    messages = told(axis, (kind, value), ("end", None))
    assert messages[0] == (shard_label(0), "control_refused", None, 1)
    assert [row[1] for row in messages[1:]] == ["end", "end"]


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("a", ["a"]),
        (7, ["7"]),
        ([None], [None]),
        ((True, Decimal("1.50")), ["true", "1.50"]),
        ([date(2026, 1, 2), datetime(2026, 1, 2, 3)], ["2026-01-02", "2026-01-02T03:00:00"]),
    ],
)
def test_a_punctuation_for_one_key_is_written_as_json(
    tmp_path: Path, key: object, written: list[str | None]
) -> None:
    mt.punctuate(tmp_path, 5, key=key)
    (file,) = tmp_path.iterdir()
    row = json.loads(file.read_text())
    assert row["kind"] == "key_punctuation"
    assert json.loads(row["value"]) == {"value": "5", "key": written}


@pytest.mark.parametrize("key", [b"a", {"k": 1}, [["a"]]])
def test_a_key_that_no_column_can_have_is_refused(tmp_path: Path, key: object) -> None:
    with pytest.raises(ArgumentError, match=r"key=.*a text, a number, a boolean, a date or a time"):
        mt.punctuate(tmp_path, 5, key=key)
    assert not list(tmp_path.iterdir())


#: For each type: what is written of a key, and the key.
KEYS: list[tuple[pa.DataType, str | None, object]] = [
    (pa.string(), "a", "a"),
    (pa.string(), None, None),
    (pa.int32(), "7", 7),
    (pa.bool_(), "true", True),
    (pa.float64(), "-0.0", 0.0),
    (pa.decimal128(10, 2), "1.5", Decimal("1.50")),
    (pa.date32(), "2026-01-02", date(2026, 1, 2)),
    (pa.timestamp("us"), "2026-01-02T03:00:00", datetime(2026, 1, 2, 3)),
    (
        pa.timestamp("us", "UTC"),
        "2026-01-02T03:00:00",
        datetime(2026, 1, 2, 3, tzinfo=ZoneInfo("UTC")),
    ),
]


@pytest.mark.parametrize(("type_", "written", "key"), KEYS, ids=lambda value: str(value))
def test_the_shard_of_a_key_is_told(type_: pa.DataType, written: str | None, key: object) -> None:
    rule = PerKeyPunctuator(0, X, (type_,))
    row = ("key_punctuation", json.dumps({"value": "5", "key": [written]}))
    (message,) = messages_of(X, rule, row)
    assert (message["kind"], message["input"]) == ("keyed", control_of(DATA))
    table = decode(message["payload"])
    assert table.to_pylist() == [{"k0": key, "tick": 5}]
    assert table.schema.field("k0").type == type_
    keys = [table["k0"].combine_chunks()]
    assert message["shard"] == shard_label(int(shard_of(keys, 1, 2)[0]))


@pytest.mark.parametrize(
    ("rule", "value", "key"),
    [
        (PerKeyPunctuator(0, X, (pa.int32(),)), "5", ["a"]),
        (PerKeyPunctuator(0, X, (pa.int32(),)), "5", ["1", "2"]),
        (PerKeyPunctuator(0, X, (pa.int32(),)), "soon", ["1"]),
        (PerKeyPunctuator(0, X, (pa.int32(),)), "5", 7),
        (Punctuator(0), "5", ["1"]),  # its progress is for all keys together
    ],
)
def test_a_key_that_a_stream_cannot_take_is_counted(
    rule: Punctuator, value: str, key: object
) -> None:
    row = ("key_punctuation", json.dumps({"value": value, "key": key}))
    assert [m["kind"] for m in messages_of(X, rule, row)] == ["control_refused"]
