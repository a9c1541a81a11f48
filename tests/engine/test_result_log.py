from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from muntin.engine.result_log import ResultLog
from muntin.errors import ArgumentError
from tests.engine.dying import at_every_step, strides


@pytest.fixture
def log(tmp_path: Path) -> Iterator[ResultLog]:
    log = ResultLog(tmp_path / "results")
    yield log
    log.close()


def answer(*rows: tuple[str, int]) -> pa.Table:
    return pa.table({"k": [key for key, _ in rows], "n": [number for _, number in rows]})


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


class TestReading:
    def test_answers_have_their_micro_batch_last(self, log: ResultLog) -> None:
        log.write(0, {1: answer(("a", 1)), 2: answer(("b", 2))})
        log.write(1, {2: answer(("b", 3))})
        log.write(3, {1: answer(("a", 4), ("c", 5))})
        assert log.read([1]).column_names == ["k", "n", "micro_batch"]
        assert rows(log.read([1])) == [("a", 1, 0), ("a", 4, 3), ("c", 5, 3)]
        assert rows(log.read([2, 1])) == [
            *(("a", 1, 0), ("b", 2, 0), ("b", 3, 1), ("a", 4, 3), ("c", 5, 3)),
        ]
        assert rows(log.read([1], after=0)) == [("a", 4, 3), ("c", 5, 3)]
        assert rows(log.read([1, 2], after=0, upto=2)) == [("b", 3, 1)]
        assert log.batches() == [0, 1, 3]

    def test_latest(self, log: ResultLog) -> None:
        log.write(0, {1: answer(("a", 1)), 2: answer(("b", 2))})
        log.write(1, {2: answer(("b", 3))})
        assert rows(log.latest([1])) == [("a", 1, 0)]
        assert rows(log.latest([1, 2])) == [("b", 3, 1)]
        assert rows(log.latest([2], upto=0)) == [("b", 2, 0)]
        assert rows(log.latest([9])) == []

    def test_without_any_answer(self, log: ResultLog) -> None:
        log.write(0, {1: answer()})
        assert log.batches() == []
        assert log.read([1]).column_names == ["micro_batch"]
        schema = answer().schema
        assert log.read([1], schema=schema).schema == schema.append(
            pa.field("micro_batch", pa.int64())
        )
        assert log.latest([1], schema=schema).column_names == ["k", "n", "micro_batch"]

    def test_an_answer_is_sorted_by_keys_and_bounds(self, log: ResultLog) -> None:
        tables = {1: answer(("b", 1), ("a", 2), ("b", 0)), 2: answer(("b", 1), ("a", 2))}
        log.write(0, tables, order={1: ["k", "n"]})
        assert rows(log.read([1])) == [("a", 2, 0), ("b", 0, 0), ("b", 1, 0)]
        assert rows(log.read([2])) == [("b", 1, 0), ("a", 2, 0)]

    def test_every_type_comes_back(self, log: ResultLog) -> None:
        table = pa.table(
            {
                "time": pa.array([0, None], pa.timestamp("us", "UTC")),
                "decimal": pa.array([1, None], pa.decimal128(20, 2)),
                "list": pa.array([[1.5], None], pa.list_(pa.float64())),
                "struct": pa.array([{"a": 1, "b": None}, None]),
                "name": pa.array(["x", "y"]).dictionary_encode(),
            }
        )
        log.write(0, {1: pa.concat_tables([table.slice(0, 1), table.slice(1)])})
        assert log.read([1]).drop_columns(["micro_batch"]).equals(table)

    def test_answers_of_different_forms_are_refused(self, log: ResultLog) -> None:
        log.write(0, {1: answer(("a", 1)), 2: pa.table({"n": ["text"]})})
        with pytest.raises(ArgumentError, match="their answers are not of the same form"):
            log.read([1, 2])

    def test_what_is_read_outlives_the_file(self, log: ResultLog) -> None:
        log.write(0, {1: answer(("a", 1))})
        table = log.read([1])
        log.forget(before=1)
        assert rows(table) == [("a", 1, 0)]


class TestWriting:
    def test_a_repeated_micro_batch_leaves_what_is_there(self, log: ResultLog) -> None:
        log.write(0, {1: answer(("a", 1))})
        log.write(0, {1: answer(("a", 2)), 2: answer(("b", 2))})
        assert rows(log.read([1, 2])) == [("a", 1, 0)]

    def test_another_process_goes_on(self, log: ResultLog, tmp_path: Path) -> None:
        log.write(0, {1: answer(("a", 1))})
        log.close()
        (tmp_path / "results" / ".000000000001.arrow.ab12.unfinished").write_bytes(b"half")
        log = ResultLog(tmp_path / "results")
        log.write(1, {1: answer(("a", 2))})
        assert rows(log.read([1])) == [("a", 1, 0), ("a", 2, 1)]
        assert [*(tmp_path / "results").glob(".*")] == []

    def test_a_lost_index_is_made_again(self, log: ResultLog, tmp_path: Path) -> None:
        log.write(0, {1: answer(("a", 1)), 2: answer(("b", 2))})
        log.write(1, {2: answer(("b", 3))})
        log.close()
        for path in (tmp_path / "results").glob("index.db*"):
            path.unlink()
        log = ResultLog(tmp_path / "results")
        assert log.batches() == [0, 1]
        assert rows(log.read([1, 2])) == [("a", 1, 0), ("b", 2, 0), ("b", 3, 1)]

    def test_a_lost_file_is_not_looked_for(self, log: ResultLog, tmp_path: Path) -> None:
        log.write(0, {1: answer(("a", 1))})
        log.write(1, {1: answer(("a", 2))})
        next((tmp_path / "results").glob("*0.arrow")).unlink()
        assert rows(log.read([1])) == [("a", 2, 1)]
        log.close()
        assert ResultLog(tmp_path / "results").batches() == [1]

    def test_readers_see_a_micro_batch_whole(self, log: ResultLog) -> None:
        """All queries of a micro-batch are visible together, while it is written."""
        seen: set[int] = set()
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                seen.add(log.latest(range(50)).num_rows)

        reader = threading.Thread(target=read)
        reader.start()
        for number in range(20):
            log.write(number, {member: answer(("a", number)) for member in range(50)})
        done.set()
        reader.join()
        assert 50 in seen
        assert seen <= {0, 50}


class TestForgetting:
    def test_micro_batches(self, log: ResultLog, tmp_path: Path) -> None:
        for number in range(4):
            log.write(number, {1: answer(("a", number))})
        log.forget(before=2)
        assert log.batches() == [2, 3]
        assert rows(log.read([1])) == [("a", 2, 2), ("a", 3, 3)]
        assert len([*(tmp_path / "results").glob("*.arrow")]) == 2

    def test_members(self, log: ResultLog, tmp_path: Path) -> None:
        log.write(0, {1: answer(("a", 1)), 2: answer(("b", 1))})
        log.write(1, {1: answer(("a", 2))})
        log.forget(members=[1])
        assert rows(log.read([1, 2])) == [("b", 1, 0)]
        assert log.batches() == [0]
        log.forget(members=[2])
        assert [*(tmp_path / "results").glob("*.arrow")] == []

    def test_by_time(self, log: ResultLog) -> None:
        log.write(0, {1: answer(("a", 1)), 2: answer(("b", 1))})
        between = time.time()
        log.write(1, {1: answer(("a", 2))})
        log.forget(written_before=between, members=[1])
        assert rows(log.read([1, 2])) == [("b", 1, 0), ("a", 2, 1)]
        log.forget(written_before=time.time() + 1)
        assert log.batches() == []

    def test_a_file_shrinks_when_half_is_forgotten(self, log: ResultLog, tmp_path: Path) -> None:
        tables = {member: answer(*[("x", n) for n in range(1000)]) for member in range(10)}
        log.write(0, tables)
        (path,) = (tmp_path / "results").glob("*.arrow")
        whole = path.stat().st_size
        log.forget(members=range(4))
        assert path.stat().st_size == whole
        log.forget(members=range(8))
        assert path.stat().st_size < 0.3 * whole
        assert log.read([9]).num_rows == 1000
        assert log.read(range(8)).num_rows == 0

    def test_something_must_be_named(self, log: ResultLog) -> None:
        with pytest.raises(ArgumentError, match="say what to forget"):
            log.forget()


class TestCrashes:
    @strides
    def test_a_micro_batch_is_there_whole_or_not_at_all(self, tmp_path: Path, stride: int) -> None:
        folder = tmp_path / "results"
        expected = {number: batch(number) for number in range(3)}

        def work(report: Callable[[str], None]) -> None:
            log = ResultLog(folder)
            for number, tables in expected.items():
                log.write(number, tables)
                report(str(number))
            log.forget(before=1)
            report("forgotten")

        def check(words: list[str]) -> None:
            log = ResultLog(folder)
            there = log.batches()
            done = [int(word) for word in words if word != "forgotten"]
            assert {*done} - {0} <= {*there}
            for number in there:
                found = log.read([1, 2], after=number - 1, upto=number)
                assert found.num_rows == sum(t.num_rows for t in expected[number].values())
            for number, tables in expected.items():
                log.write(number, tables)  # Spark repeats what was not committed
            assert rows(log.read([1], after=0)) == [("a", 1, 1), ("a", 2, 2)]
            assert {path.name for path in folder.glob(".*")} == set()
            log.close()
            shutil.rmtree(folder)

        assert at_every_step(work, check, stride) > 100


def batch(number: int) -> dict[int, pa.Table]:
    return {1: answer(("a", number)), 2: answer(("b", number), ("c", number))}
