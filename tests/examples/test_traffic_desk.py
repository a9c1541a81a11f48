"""examples/traffic_desk/full.py: six people are answered as each question alone is, by a batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import muntin as mt
from examples.traffic_desk import full as example
from muntin.simulate.freeway import Freeway

FREEWAY = Freeway(hours=1, stations=3, incidents=2, very_late=0)


def plain(table: pa.Table) -> list[tuple[object, ...]]:
    """The rows of answers, without what only an engine adds."""
    kept = [name for name in table.column_names if name not in ("complete", "micro_batch")]
    return sorted(tuple(row.values()) for row in table.select(kept).to_pylist())


@pytest.fixture(scope="module")
def desk(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[mt.Engine, mt.Stream]]:
    folder = tmp_path_factory.mktemp("desk")
    with example.day(spark, list(FREEWAY.batches(example.FILES)), folder) as engine:
        yield engine, batch(spark, folder)


def batch(spark: SparkSession, folder: Path) -> mt.Stream:
    return mt.stream(spark.read.parquet(str(folder / "readings")), on="ts", by="station")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["vehicles", "jams", "trucks", "recent"])
def test_a_question_is_answered_as_a_batch_answers_it(
    name: str, desk: tuple[mt.Engine, mt.Stream]
) -> None:
    engine, rows = desk
    (asked,) = [question for question in example.QUESTIONS if question.name == name]
    expected = plain(mt.sql(asked.text, traffic=rows).toArrow())
    assert expected
    assert plain(engine[name].results()) == expected


def test_a_changed_question_has_every_window_in_one_of_its_generations(
    desk: tuple[mt.Engine, mt.Stream],
) -> None:
    engine, rows = desk
    first, second = (engine["speeds"].results(generation=number) for number in (1, 2))
    narrow = plain(mt.sql(example.QUESTIONS[0].text, traffic=rows).toArrow())
    wide = plain(mt.sql(example.WIDER, traffic=rows).toArrow())
    last = max(first["window_end"].to_pylist())
    assert plain(first) == [row for row in narrow if row[1] <= last]
    assert plain(second) == [row for row in wide if row[1] > last]
    assert engine["speeds"].generation == 2


def test_a_pause_leaves_out_its_rows_only(desk: tuple[mt.Engine, mt.Stream]) -> None:
    engine, rows = desk
    found = plain(engine["crawling"].results())
    everything = plain(mt.sql(example.QUESTIONS[2].text, traffic=rows).toArrow())
    assert 0 < len(found) < len(everything)
    assert {*found} <= {*everything}


def test_the_tables_have_everybody(desk: tuple[mt.Engine, mt.Stream]) -> None:
    engine, _ = desk
    assert example.answered(engine).row_count == len(example.QUESTIONS)
    assert example.shared(engine).row_count == len(engine.network()["traffic"])
