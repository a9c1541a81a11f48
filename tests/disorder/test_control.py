"""Control rows: how they are written, and how workers read them; nothing here starts Spark."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import muntin as mt
from muntin.errors import ArgumentError
from muntin.spark.exchange.messages import DATA
from muntin.spark.exchange.routing import announce, shard_label
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


def told(axis: Axis, *rows: tuple[Any, Any]) -> list[tuple[int, str, int | None, int]]:
    batch = pa.RecordBatch.from_pylist(
        [{"kind": kind, "value": value} for kind, value in rows],
        schema=pa.schema([("kind", pa.string()), ("value", pa.string())]),
    )
    messages = [row for out in announce(axis, 2, DATA, iter([batch])) for row in out.to_pylist()]
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


def test_punctuation_for_one_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mt.ArgumentError, match="punctuation from outside is for all keys; for one"):
        mt.punctuate(tmp_path, 5, key="a")
    assert not list(tmp_path.iterdir())
