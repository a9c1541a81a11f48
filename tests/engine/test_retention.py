"""What is kept goes in time, and nobody misses it without being told."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.kept_rows import KeptProgress, KeptRowFiles
from muntin.engine.result_log import ResultLog
from muntin.engine.retention import merged_rows
from muntin.engine.retention.answers import AnswerRetention
from muntin.engine.sinks.sink_call import SinkCall
from muntin.errors import ArgumentError, EngineError
from tests.engine.dying import at_every_step, strides
from tests.engine.line_rows import SUMS, write_rows
from tests.engine.test_deliveries import Desk, files

SCHEMA = pa.schema([("x", pa.int64())])
DAY = 86_400.0


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four micro-batches become a file, instead of 64."""
    monkeypatch.setattr(merged_rows, "TOGETHER", 4)
    monkeypatch.setattr("muntin.engine.kept_rows.TOGETHER", 4)


def keep(kept: KeptRowFiles, number: int) -> None:
    """Keep a micro-batch: as many rows as its number says, up to 3."""
    values = [number * 10 + n for n in range(number % 4)]
    now = KeptProgress(number * 10 - 1, number * 10 + 9, number * 10 - 1, number * 10 + 9)
    kept.write(number, [pa.table({"x": values}, schema=SCHEMA)], SCHEMA, now)


def content(kept: KeptRowFiles) -> dict[int, tuple[list[int], int | None]]:
    return {
        number: (kept.read(number)["x"].to_pylist(), kept.progress(number).largest)
        for number in kept.batches()
    }


class TestMergedRows:
    def test_many_micro_batches_are_few_files(self, tmp_path: Path, few: None) -> None:
        kept = KeptRowFiles(tmp_path)
        for number in range(30):
            keep(kept, number)
            before = content(kept)
            kept.merge()
            assert content(kept) == before
            assert len([*tmp_path.iterdir()]) <= 7 + 3
        assert content(KeptRowFiles(tmp_path)) == before
        assert kept.read(3).schema == SCHEMA
        assert kept.progress(5) == KeptProgress(49, 59, 49, 59)

    def test_a_merged_file_goes_with_its_last_rows(self, tmp_path: Path, few: None) -> None:
        kept = KeptRowFiles(tmp_path)
        for number in range(9):
            keep(kept, number)
        kept.merge()
        kept.forget(30)
        assert kept.batches() == [3, 4, 5, 6, 7, 8]
        assert kept.read(3)["x"].to_pylist() == [30, 31, 32]
        assert len([*tmp_path.iterdir()]) == 3
        kept.forget(50)
        assert sorted(path.stem for path in tmp_path.iterdir()) == [
            "000000000004-000000000007",
            "000000000008",
        ]

    def test_large_files_stay_alone(
        self, tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(merged_rows, "_MOST_BYTES", 1)
        kept = KeptRowFiles(tmp_path)
        for number in range(9):
            keep(kept, number)
        kept.merge()
        assert len([*tmp_path.iterdir()]) == 9

    def test_who_reads_finds_rows_that_are_merged_meanwhile(
        self, tmp_path: Path, few: None
    ) -> None:
        kept = KeptRowFiles(tmp_path)
        for number in range(4):
            keep(kept, number)
        read = kept.read(3)
        kept.merge()
        assert read["x"].to_pylist() == kept.read(3)["x"].to_pylist() == [30, 31, 32]

    @strides
    def test_no_row_is_lost_or_doubled_by_a_kill(
        self, tmp_path: Path, few: None, stride: int
    ) -> None:
        folder = tmp_path / "kept"
        whole = KeptRowFiles(tmp_path / "whole")
        for number in range(9):
            keep(whole, number)

        def work(report: Callable[[str], None]) -> None:
            kept = KeptRowFiles(folder)
            for number in range(9):
                keep(kept, number)
                report(str(number))
                kept.merge()

        def check(words: list[str]) -> None:
            kept = KeptRowFiles(folder)
            assert {*map(int, words)} <= {*kept.batches()}
            for number in range(9):
                keep(kept, number)  # Spark repeats what was not committed
                kept.merge()
            assert content(kept) == content(whole)
            shutil.rmtree(folder)

        assert at_every_step(work, check, stride) > 100


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "home")
    yield desk
    desk.close()


def retention(desk: Desk, seconds: float | None = DAY) -> AnswerRetention:
    needed = desk.deliveries.needed_from
    return AnswerRetention("traffic", desk.registry, seconds, needed, desk.logs.get)


class TestAnswers:
    def test_old_answers_go(self, desk: Desk) -> None:
        desk.query("slow")
        log = desk.log(1)
        for number in range(3):
            log.write(number, {1: pa.table({"n": [number]})})
        retention(desk).forget(1, time.time() + DAY / 2)
        assert (log.batches(), log.forgotten(1)) == ([0, 1, 2], -1)
        retention(desk, None).forget(1, time.time() + 2 * DAY)
        assert log.batches() == [0, 1, 2]
        retention(desk).forget(1, time.time() + 2 * DAY)
        assert (log.batches(), log.forgotten(1)) == ([], 2)

    def test_dead_letters_go_with_them(self, desk: Desk) -> None:
        letters: list[tuple[str, float]] = []
        for seconds in (None, DAY):
            AnswerRetention(
                *("traffic", desk.registry, seconds, desk.deliveries.needed_from, desk.logs.get),
                lambda stream, before: letters.append((stream, before)),
            ).forget(1, 2 * DAY)
        assert letters == [("traffic", DAY)]

    def test_what_is_forgotten_is_known_to_the_next_process(self, desk: Desk) -> None:
        desk.query("slow")
        desk.log(1).write(4, {1: pa.table({"n": [4]})})
        retention(desk).forget(1, time.time() + 2 * DAY)
        for path in (desk.home / "results" / "1").glob("index.db*"):
            path.unlink()
        assert ResultLog(desk.home / "results" / "1").forgotten(1) == 4

    def test_a_sink_holds_back_what_it_has_not_delivered(self, desk: Desk, tmp_path: Path) -> None:
        desk.query("fine", files(tmp_path / "fine"))
        desk.query("stuck", SinkCall("", "files", ("/dev/null/no",), attempts=1))
        desk.query("none")
        for number in range(3):
            desk.commit(number, {1: [number], 2: [number], 3: [number]})
        assert desk.deliveries.needed_from("traffic")["q2"].micro_batch == 0
        retention(desk).forget(1, time.time() + 2 * DAY)
        log = desk.log(1)
        assert [log.read([m]).num_rows for m in (1, 2, 3)] == [0, 3, 0]
        again = desk.again()  # the sinks are not opened yet: where they are is known all the same
        retention(again).forget(1, time.time() + 2 * DAY)
        assert again.log(1).read([2]).num_rows == 3
        again.close()

    def test_answers_of_dropped_queries_go_a_time_after_the_drop(self, desk: Desk) -> None:
        query = desk.query("slow")
        desk.commit(0, {1: [7]})
        desk.registry.log("traffic", "drop", query, {})
        retention(desk, None).forget(1, time.time() + DAY / 2)
        assert desk.log(1).read([1]).num_rows == 1
        retention(desk, None).forget(1, time.time() + 1.1 * DAY)
        assert desk.log(1).read([1]).num_rows == 0
        assert desk.registry.expired(time.time() + 2 * DAY) == []

    def test_answers_of_past_epochs_go_too(self, desk: Desk) -> None:
        desk.query("slow")
        desk.commit(0, {1: [1]})
        desk.epoch = 2
        desk.log(2).write(0, {1: pa.table({"n": [2]})})
        retention(desk).forget(2, time.time() + 2 * DAY)
        assert [desk.log(epoch).batches() for epoch in (1, 2)] == [[], []]


def test_an_asker_who_was_away_loses_nothing_or_is_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = tmp_path / "rows"
    write_rows(rows, "0", range(12))
    text = f"""CREATE STREAM line FROM json('{rows}') (k STRING, x INT, v INT) ON x BY k
        DISORDER SLACK 1 KEEP 1000 RETAIN '1 hour'"""
    with mt.Engine(spark, tmp_path / "home") as engine:
        engine.sql(text)
        query = engine.register("sums", SUMS)
        engine.start()
        engine.process_available()
        seen = query.results()
        (last,) = {*seen["micro_batch"].to_pylist()}
        for number in range(1, 4):
            write_rows(rows, str(number), range(number * 12, number * 12 + 12))
            engine.process_available()
        missed = query.results(after=last)
        assert pa.concat_tables([seen, missed]) == query.results()
        assert missed.num_rows == 14
        stream = engine.stream_of("line")
        # Half an hour later everything is there, two hours later nothing is.
        stream._retention.forget(1, time.time() + 1800)
        assert query.results(after=last) == missed
        newest = query.invoke()
        stream._retention.forget(1, time.time() + 7200)
        assert (newest.num_rows, query.invoke().num_rows) == (2, 0)
        assert query.results().num_rows == 0
        with pytest.raises(EngineError, match=r"results\(after=\d+\) begins after them"):
            query.results(after=last)
        write_rows(rows, "4", range(48, 60))
        engine.process_available()
        assert query.results(after=max(missed["micro_batch"].to_pylist())).num_rows == 4
        assert engine.ask(SUMS).num_rows == 22  # rows are kept for longer than answers


def test_a_retention_is_a_length_of_time(spark: SparkSession, tmp_path: Path) -> None:
    with mt.Engine(spark, tmp_path / "home") as engine:
        rows = spark.readStream.format("rate").load()
        with pytest.raises(ArgumentError, match="length of time"):
            engine.stream("s", rows, "value", disorder=mt.ordered(), retain="10")
