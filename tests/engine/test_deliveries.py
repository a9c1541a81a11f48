from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest

from muntin.engine.registry import Registry
from muntin.engine.result_log import ResultLog
from muntin.engine.sinks.deliveries import Deliveries, SinkStatus
from muntin.engine.sinks.delivery_ledger import LogPosition
from muntin.engine.sinks.sink_call import SinkCall
from muntin.errors import ArgumentError, EngineError
from muntin.specs.secrets import origin_of
from tests.engine.dying import at_every_step, strides
from tests.engine.receivers import files_in, web_receiver, without_spark


@dataclass
class Desk:
    """An engine without streams: a registry, logs by epoch, and deliveries."""

    home: Path
    epoch: int = 1
    registry: Registry = field(init=False)
    deliveries: Deliveries = field(init=False)
    logs: dict[int, ResultLog] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home.mkdir(exist_ok=True)
        self.registry = Registry(self.home)
        if not self.registry.streams():
            self.registry.log("traffic", "create_stream", None, {})
        self.deliveries = Deliveries(
            self.registry, self.home, without_spark, lambda stream, n: self.logs.get(n), pause=0.01
        )
        self.log(self.epoch)

    def log(self, epoch: int) -> ResultLog:
        if epoch not in self.logs:
            self.logs[epoch] = ResultLog(self.home / "results" / str(epoch))
        return self.logs[epoch]

    def query(self, name: str, *sinks: SinkCall, emit: str = "final") -> str:
        """A query that is active since the first micro-batch."""
        added = self.registry.add("traffic", name, "SELECT 1", "{}", emit=emit, sinks=sinks)
        self.acknowledge(added.seq)
        return added.query.id

    def acknowledge(self, seq: int, micro_batch: int = 0) -> None:
        self.registry.acknowledge(
            seq,
            micro_batch=micro_batch,
            epoch=self.epoch,
            punctuation=None,
            filled="nothing",
            how="in place",
        )

    def commit(self, micro_batch: int, answers: dict[int, list[int]], *, wait: bool = True) -> None:
        tables = {member: pa.table({"n": values}) for member, values in answers.items()}
        self.log(self.epoch).write(micro_batch, tables)
        self.deliver(micro_batch, wait=wait)

    def deliver(self, micro_batch: int, *, wait: bool = True) -> None:
        self.deliveries.deliver("traffic", self.epoch, micro_batch)
        assert not wait or self.deliveries.wait(20)

    def status(self, number: int = 1) -> SinkStatus:
        (status,) = [s for s in self.deliveries.status() if s.record.number == number]
        return status

    def again(self) -> Desk:
        """The same home, opened by another process."""
        self.close()
        return Desk(self.home, self.epoch)

    def close(self) -> None:
        self.deliveries.close()
        self.registry.close()
        for log in self.logs.values():
            log.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "home")
    yield desk
    desk.close()


def files(folder: Path, name: str = "", attempts: int = 2) -> SinkCall:
    return SinkCall(name, "files", (str(folder),), attempts=attempts)


class TestTriggers:
    def test_each_row_once_in_order_with_a_key(self, desk: Desk) -> None:
        with web_receiver() as web:
            desk.query("slow", SinkCall("alarm", "webhook", (web.url,)))
            desk.commit(0, {1: [10, 11]})
            desk.commit(1, {})
            desk.commit(2, {1: [12]})
            home = desk.registry.identity
            assert web.got == [
                (f"{home}-q1-1-1-0-0", {"n": 10}),
                (f"{home}-q1-1-1-0-1", {"n": 11}),
                (f"{home}-q1-1-1-2-0", {"n": 12}),
            ]
            again = desk.again()
            again.commit(3, {1: [13]})
            assert [row for _, row in web.got[3:]] == [{"n": 13}]
            again.close()

    def test_a_failure_is_tried_again_with_the_same_key(self, desk: Desk) -> None:
        codes = iter([503, 500])
        with web_receiver() as web:
            web.answer = lambda row: next(codes, 200)
            desk.query("slow", SinkCall("alarm", "webhook", (web.url,)))
            desk.commit(0, {1: [10]})
        assert len(web.got) == 3
        assert len({*dict(web.got)}) == 1
        assert (desk.status().delivered, desk.status().letters) == (1, 0)

    def test_a_row_that_fails_to_the_end_is_a_dead_letter(self, desk: Desk) -> None:
        with web_receiver() as web:
            web.answer = lambda row: 500 if row["n"] == 11 else 200
            desk.query("slow", SinkCall("alarm", "webhook", (web.url,), {"attempts": 2}))
            desk.commit(0, {1: [10, 11, 12]})
            assert [row["n"] for _, row in web.got] == [10, 11, 11, 12]
            (letter,) = desk.deliveries.letters(1)
            assert (letter.row, letter.key) == ('{"n":11}', f"{desk.registry.identity}-q1-1-1-0-1")
            assert letter.reason == f"{origin_of(web.url)}: answered 500, 2 times"
            assert desk.deliveries.redeliver(1) == 0
            web.answer = lambda row: 200
            assert desk.deliveries.redeliver(1) == 1
            assert desk.deliveries.letters(1) == []
            assert web.got[-1] == (letter.key, {"n": 11})

    def test_a_trigger_with_many_dead_letters_stops_itself(
        self, desk: Desk, tmp_path: Path
    ) -> None:
        with web_receiver() as web:
            web.answer = lambda row: 500
            call = SinkCall("alarm", "webhook", (web.url,), {"attempts": 1})
            desk.query("slow", call, files(tmp_path / "out"))
            desk.commit(0, {1: [*range(25)]})
            where = origin_of(web.url)
            assert desk.status().stopped == (
                f"10 rows in a row could not be delivered, the last: {where}: answered 500"
            )
            desk.commit(1, {1: [25]})
            assert len(web.got) == 10
            assert [row["n"] for row in files_in(tmp_path / "out")] == [*range(26)]
            web.answer = lambda row: 200
            again = desk.again()
            again.deliver(1)
            assert again.status().stopped is not None  # until somebody says so
            again.deliveries.resume(1)
            assert again.deliveries.wait(20)
            assert [row["n"] for _, row in web.got[10:]] == [*range(10, 26)]
            assert again.status().letters == 10
            again.deliveries.forget_letters("traffic", before=4e9)
            assert again.status().letters == 0
            again.close()

    def test_a_command_gets_the_key(self, desk: Desk, tmp_path: Path) -> None:
        out = tmp_path / "out"
        script = "import os, sys; print(os.environ['MUNTIN_KEY'], file=open(sys.argv[1], 'a'))"
        line = f'{sys.executable} -c "{script}" {out}'
        desk.query("slow", SinkCall("note", "command", (line,)))
        desk.commit(0, {1: [1, 2]})
        home = desk.registry.identity
        assert out.read_text().split() == [f"{home}-q1-1-1-0-0", f"{home}-q1-1-1-0-1"]

    def test_early_answers_fire_when_they_are_final(self, desk: Desk) -> None:
        with web_receiver() as web:
            calls = [
                SinkCall("final", "webhook", (f"{web.url}/final",)),
                SinkCall("all", "webhook", (f"{web.url}/all",), on_change=True),
            ]
            desk.query("slow", calls[0], emit="early")
            desk.query("fast", calls[1], emit="early")
            desk.query("own", calls[0])  # its column has that name, and means something else
            table = pa.table({"n": [1, 2, 3], "final": [False, True, None]})
            desk.log(1).write(0, {1: table, 2: table, 3: table})
            desk.deliver(0)
        rows = {1: [2], 2: [1, 2, 3], 3: [1, 2, 3]}
        for query, numbers in rows.items():
            got = [row["n"] for key, row in web.got if f"-q{query}-" in key]
            assert got == numbers
        assert f"{desk.registry.identity}-q1-1-1-0-1" in dict(web.got)


class TestSinks:
    def test_a_sink_that_fails_stops_itself_and_no_other(self, desk: Desk, tmp_path: Path) -> None:
        broken, fine = tmp_path / "broken", tmp_path / "fine"
        desk.query("slow", files(broken))
        desk.query("fast", files(fine))
        desk.commit(0, {1: [1], 2: [1]})
        (broken / "broken").touch()
        desk.commit(1, {1: [2], 2: [2]})
        desk.commit(2, {1: [3], 2: [3]})
        assert desk.status(1).stopped == "micro-batch 1: OSError: the disk is full, 2 times"
        assert desk.status(2).stopped is None
        assert [row["n"] for row in files_in(broken)] == [1]
        assert [row["n"] for row in files_in(fine)] == [1, 2, 3]
        assert desk.deliveries.needed_from("traffic") == {
            "q1": LogPosition(1, 1),
            "q2": LogPosition(1, 3),
        }
        (broken / "broken").unlink()
        desk.deliveries.resume(1)
        assert desk.deliveries.wait(20)
        assert [row["n"] for row in files_in(broken)] == [1, 2, 3]
        assert desk.deliveries.needed_from("traffic")["q1"] == LogPosition(1, 3)

    def test_one_that_cannot_be_opened_stops_no_other(self, desk: Desk, tmp_path: Path) -> None:
        desk.query("slow", SinkCall("", "fils", (str(tmp_path),)))
        desk.query("fast", files(tmp_path / "fine"))
        desk.commit(0, {1: [1], 2: [1]})
        reason = desk.status(1).stopped
        assert reason is not None and reason.startswith("it cannot be opened: sink='fils' cannot")
        assert len(files_in(tmp_path / "fine")) == 1

    def test_a_call_is_checked_before_registration(self, desk: Desk) -> None:
        with pytest.raises(
            ArgumentError, match=r"url=.\*\*\*. cannot be used: it is a web address"
        ):
            desk.deliveries.check(SinkCall("alarm", "webhook", ("x",)), "slow")

    def test_generations_are_runs_of_their_own(self, desk: Desk, tmp_path: Path) -> None:
        desk.query("slow", files(tmp_path / "out"))
        desk.commit(0, {1: [1]})
        change = desk.registry.add_generation("q1", "SELECT 2", "{}")
        desk.acknowledge(change.seq, 1)
        desk.commit(1, {1: [2], 2: [3]})  # windows of the one and of the other generation
        desk.commit(2, {2: [4]})
        assert sorted(row["n"] for row in files_in(tmp_path / "out")) == [1, 2, 3, 4]
        assert len([*(tmp_path / "out").iterdir()]) == 2

    def test_what_a_staged_generation_answered_is_not_delivered(
        self, desk: Desk, tmp_path: Path
    ) -> None:
        desk.query("slow", files(tmp_path / "out"))
        staged = desk.registry.add_generation("q1", "SELECT 2", "{}", staged=True)
        desk.acknowledge(staged.seq, 0)
        desk.commit(0, {1: [1], 2: [100]})
        apply = desk.registry.apply("q1")
        desk.commit(1, {1: [2], 2: [200]})  # logged, and not in force yet
        desk.acknowledge(apply, 2)
        desk.commit(2, {2: [3]})
        assert sorted(row["n"] for row in files_in(tmp_path / "out")) == [1, 2, 3]

    def test_a_sink_that_is_late_reads_the_old_epoch_first(
        self, desk: Desk, tmp_path: Path
    ) -> None:
        desk.query("slow", files(tmp_path / "out"))
        desk.commit(0, {1: [1]})
        desk.log(1).write(1, {1: pa.table({"n": [2]})})  # and the process dies
        desk.epoch = 2
        desk.commit(0, {1: [3]})
        assert sorted(row["n"] for row in files_in(tmp_path / "out")) == [1, 2, 3]

    def test_one_that_is_added_gets_what_comes(self, desk: Desk, tmp_path: Path) -> None:
        desk.query("slow")
        desk.commit(0, {1: [1]})
        desk.registry.add_sink("q1", files(tmp_path / "out"), first=(1, 1))
        desk.commit(1, {1: [2]})
        assert [row["n"] for row in files_in(tmp_path / "out")] == [2]
        with pytest.raises(EngineError, match="query 'slow' has a sink already"):
            desk.registry.add_sink("q1", files(tmp_path / "other"))

    def test_one_that_is_dropped_gets_nothing(self, desk: Desk, tmp_path: Path) -> None:
        desk.query("slow", files(tmp_path / "out"))
        desk.commit(0, {1: [1]})
        desk.registry.drop_sink(1)
        desk.deliveries.drop(1)
        desk.commit(1, {1: [2]})
        assert [row["n"] for row in files_in(tmp_path / "out")] == [1]
        assert desk.deliveries.status() == []

    def test_a_dropped_query_delivers_what_it_answered(self, desk: Desk, tmp_path: Path) -> None:
        desk.query("slow", files(tmp_path / "out"))
        desk.log(1).write(0, {1: pa.table({"n": [1]})})
        desk.registry.log("traffic", "drop", "q1", {})
        desk.deliver(0)
        assert len(files_in(tmp_path / "out")) == 1
        desk.registry.set_forgotten(["q1"])
        assert desk.registry.sinks("traffic") == []

    def test_a_slow_one_does_not_hold_up_others(self, desk: Desk, tmp_path: Path) -> None:
        with web_receiver() as web:
            web.answer = lambda row: 200 if (tmp_path / "out").exists() else 500
            call = SinkCall("alarm", "webhook", (web.url,), {"attempts": 9})
            desk.query("slow", call)
            desk.query("fast", files(tmp_path / "out"))
            desk.commit(0, {1: [1], 2: [1]})
            assert len(web.once) == 1

    def test_closing_ends_a_pause(self, tmp_path: Path) -> None:
        with web_receiver() as web:
            web.answer = lambda row: 500
            desk = Desk(tmp_path / "home")
            desk.deliveries._pause = 60.0
            desk.query("slow", SinkCall("alarm", "webhook", (web.url,)))
            desk.commit(0, {1: [1]}, wait=False)
            while not web.got:
                pass
            again = desk.again()
            web.answer = lambda row: 200
            again.deliver(0)
            assert len(web.once) == 1
            assert again.status().letters == 0
            again.close()

    def test_the_calls_are_kept(self, desk: Desk) -> None:
        call = SinkCall("t", "csv", ("a", (1, (None, True))), {"header": False}, 7, True)
        desk.query("slow", call)
        (record,) = desk.registry.sinks("traffic")
        assert (record.call, record.query_id, record.first) == (call, "q1", (0, 0))


class TestCrashes:
    @strides
    def test_every_sink_has_each_result_once(self, tmp_path: Path, stride: int) -> None:
        """Killed at every step: files by number; webhooks by key, and once in the ledger."""
        home, out = tmp_path / "home", tmp_path / "out"

        with web_receiver() as web:
            web.answer = lambda row: 500 if row["n"] == 11 else 200

            def work(report: Callable[[str], None]) -> None:
                run(home, out, web.url)

            def check(words: list[str]) -> None:
                desk = run(home, out, web.url)
                assert [row["n"] for row in files_in(out)] == [10, 11, 12]
                assert sorted(row["n"] for row in web.once) == [10, 11, 12]
                (letter,) = desk.deliveries.letters(2)
                assert letter.row == '{"n":11}'
                assert [s.position for s in desk.deliveries.status()] == [LogPosition(1, 2)] * 2
                desk.close()
                for folder in (home, out):
                    shutil.rmtree(folder)
                web.got.clear()

            assert at_every_step(work, check, stride) > 200


def run(home: Path, out: Path, url: str) -> Desk:
    """Two micro-batches, from the start or again: what is there stays."""
    desk = Desk(home)
    if desk.registry.find("slow") is None:
        calls = [files(out), SinkCall("alarm", "webhook", (url,), {"attempts": 1})]
        desk.registry.add("traffic", "slow", "SELECT 1", "{}", sinks=calls)
    desk.acknowledge(2)
    desk.commit(0, {1: [10, 11]})
    desk.commit(1, {1: [12]})
    return desk
