from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

from muntin.engine.home import Home
from muntin.engine.registry import Registry
from muntin.engine.registry_records import Acknowledgement, VersionChange
from muntin.errors import ArgumentError, EngineError, UnknownQueryError
from muntin.spark.exchange.pinned_versions import Pin, VersionFiles, programs_of
from tests.engine.dying import at_every_step, strides


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    registry = with_stream(tmp_path)
    yield registry
    registry.close()


def with_stream(home: Path, stream: str = "traffic") -> Registry:
    registry = Registry(home)
    if stream not in registry.streams():
        registry.log(stream, "create_stream", None, {"on": "ts"})
    return registry


def take(registry: Registry, stream: str = "traffic") -> VersionChange:
    """The next version, recorded."""
    change = registry.next_version(stream)
    assert change is not None
    registry.record_version(stream, change.number, f"digest {change.number}")
    return change


def acknowledge(registry: Registry, seq: int, micro_batch: int = 7) -> None:
    registry.acknowledge(
        seq, micro_batch=micro_batch, epoch=1, punctuation=60, filled="nothing", how="in place"
    )


class TestCommands:
    def test_they_are_numbered_and_kept(self, registry: Registry, tmp_path: Path) -> None:
        registry.add("traffic", "slow", "SELECT 1", "{}")
        registry.log("traffic", "invoke", "q1", {"how": "lazy"})
        commands = registry.commands()
        assert [(c.seq, c.kind, c.query_id) for c in commands] == [
            (1, "create_stream", None),
            (2, "register", "q1"),
            (3, "invoke", "q1"),
        ]
        registry.close()
        assert Registry(tmp_path).commands(after=1) == commands[1:]

    def test_a_command_is_acknowledged_once(self, registry: Registry) -> None:
        seq = registry.add("traffic", "slow", "SELECT 1", "{}").seq
        assert registry.acknowledgement(seq) is None
        acknowledge(registry, seq, 7)
        acknowledge(registry, seq, 8)  # a repeated micro-batch
        registry.refuse(seq, "too late to refuse")
        expected = Acknowledgement(seq, 7, 1, 60, "nothing", "in place")
        assert registry.acknowledgement(seq) == expected
        query = registry.get("slow")
        assert (query.status, query.since) == ("active", (7, 1))

    def test_a_refused_registration_frees_its_name(self, registry: Registry) -> None:
        seq = registry.add("traffic", "slow", "SELECT x", "{}").seq
        registry.refuse(seq, "there is no column x")
        assert registry.find("slow") is None
        refused = registry.get("q1")
        assert (refused.status, refused.reason) == ("dropped", "there is no column x")
        answer = registry.acknowledgement(seq)
        assert answer == Acknowledgement(seq, refused="there is no column x")
        assert registry.add("traffic", "slow", "SELECT 1", "{}").query.id == "q2"

    def test_a_refused_change_leaves_the_generation_before(self, registry: Registry) -> None:
        acknowledge(registry, registry.add("traffic", "slow", "SELECT 1", "{1}").seq)
        take(registry)
        change = registry.add_generation("q1", "SELECT x", "{2}")
        registry.refuse(change.seq, "there is no column x")
        current = registry.get("slow")
        assert (current.generation, current.status, current.text) == (1, "active", "SELECT 1")
        assert [(q.generation, q.status) for q in registry.generations("q1")] == [
            (1, "active"),
            (2, "dropped"),
        ]
        assert take(registry).added == {}
        assert registry.add_generation("q1", "SELECT 3", "{3}").query.generation == 3

    def test_those_of_a_version_that_wait(self, registry: Registry) -> None:
        first = registry.add("traffic", "a", "SELECT 1", "{}").seq
        take(registry)
        registry.add("traffic", "b", "SELECT 2", "{}")
        assert [c.seq for c in registry.unacknowledged("traffic", 1)] == [1, first]
        acknowledge(registry, 1)
        registry.refuse(first, "no")
        assert registry.unacknowledged("traffic", 1) == []

    def test_what_is_refused(self, registry: Registry) -> None:
        with pytest.raises(ArgumentError, match="kind='register' cannot be used: use add"):
            registry.log("traffic", "register", None, {})
        with pytest.raises(ArgumentError, match="kind='stop' cannot be used: it is one of create"):
            registry.log("traffic", "stop", None, {})  # type: ignore[arg-type]
        with pytest.raises(EngineError, match="there is a stream 'traffic' already"):
            registry.log("traffic", "create_stream", None, {})
        with pytest.raises(EngineError, match="no stream 'trafic'; the streams are: traffic"):
            registry.add("trafic", "slow", "SELECT 1", "{}")
        with pytest.raises(UnknownQueryError, match="there is no query 'q9'"):
            registry.log("traffic", "drop", "q9", {})
        assert len(registry.commands()) == 1  # nothing of these was logged


class TestQueries:
    def test_a_name_is_unique_among_those_not_dropped(self, registry: Registry) -> None:
        registry.add("traffic", "Slow", "SELECT 1", "{}")
        with pytest.raises(ArgumentError, match="name='slow' cannot be used: it is the name of"):
            registry.add("traffic", "slow", "SELECT 2", "{}")
        with pytest.raises(ArgumentError, match="name='q1' cannot be used: it is the id of"):
            registry.add("traffic", "q1", "SELECT 2", "{}")
        registry.log("traffic", "drop", "q1", {})
        again = registry.add("traffic", "slow", "SELECT 2", "{}").query
        assert (again.id, again.number, again.generation) == ("q2", 2, 1)
        assert registry.get("SLOW").id == "q2"
        assert registry.get("q1").status == "dropped"

    def test_what_is_asked_of_it_is_kept(self, registry: Registry, tmp_path: Path) -> None:
        query = registry.add(
            "traffic",
            "slow",
            "SELECT 1",
            '{"a": 1}',
            owner="ann",
            description="where it is slow",
            tags=["speed", "east"],
            start="history",
            until="2026-01-01",
            emit="early",
            every="1 minute",
            retain=5.0,
        ).query
        registry.close()
        assert Registry(tmp_path).get("slow") == query
        assert (query.owner, query.tags, query.start) == ("ann", ("speed", "east"), "history")
        assert (query.until, query.emit, query.every) == ("2026-01-01", "early", "1 minute")
        assert (query.program, query.description, query.retain) == (
            *('{"a": 1}', "where it is slow", 5.0),
        )

    def test_generations(self, registry: Registry) -> None:
        registry.add("traffic", "slow", "SELECT 1", "{1}", until="9", emit="early")
        second = registry.add_generation("q1", "SELECT 2", "{2}", until="10").query
        assert (second.id, second.number, second.generation) == ("q1", 2, 2)
        assert (second.until, second.emit, second.status) == ("10", "early", "registered")
        first = registry.get("slow", generation=1)
        assert (first.status, first.reason) == ("ended", "generation 2 followed")
        assert registry.get("slow") == second
        assert registry.live("traffic") == [second]
        assert registry.find("slow", generation=3) is None

    def test_a_paused_query_that_is_changed_stays_paused(self, registry: Registry) -> None:
        registry.add("traffic", "slow", "SELECT 1", "{1}")
        registry.log("traffic", "pause", "q1", {})
        assert registry.add_generation("q1", "SELECT 2", "{2}").query.status == "paused"
        registry.log("traffic", "resume", "q1", {})
        assert registry.get("q1").status == "registered"

    def test_pause_and_resume_keep_when_it_began(self, registry: Registry) -> None:
        acknowledge(registry, registry.add("traffic", "slow", "SELECT 1", "{1}").seq)
        registry.log("traffic", "pause", "q1", {})
        registry.log("traffic", "pause", "q1", {})
        assert registry.get("q1").status == "paused"
        registry.log("traffic", "resume", "q1", {})
        query = registry.get("q1")
        assert (query.status, query.since, query.generation) == ("active", (7, 1), 1)

    def test_a_quarantined_query_resumes_as_its_next_generation(self, registry: Registry) -> None:
        acknowledge(registry, registry.add("traffic", "slow", "SELECT 1", "{1}").seq)
        registry.log("traffic", "quarantine", "q1", {"reason": "1/0 in row 3", "member": 1})
        query = registry.get("slow")
        assert (query.status, query.reason) == ("quarantined", "1/0 in row 3")
        with pytest.raises(EngineError, match="query 'slow' is quarantined: 1/0 in row 3"):
            registry.log("traffic", "pause", "q1", {})
        seq = registry.log("traffic", "resume", "q1", {})
        query = registry.get("slow")
        assert (query.status, query.generation, query.program) == ("registered", 2, "{1}")
        acknowledge(registry, seq, 9)
        assert registry.get("slow").since == (9, 1)

    def test_quarantine_of_a_query_that_is_gone(self, registry: Registry) -> None:
        registry.add("traffic", "slow", "SELECT 1", "{1}")
        registry.log("traffic", "drop", "q1", {})
        registry.log("traffic", "quarantine", "q1", {"reason": "1/0", "member": 1})
        assert registry.get("q1").status == "dropped"

    def test_a_dropped_query_cannot_be_used(self, registry: Registry) -> None:
        registry.add("traffic", "slow", "SELECT 1", "{1}")
        registry.log("traffic", "drop", "q1", {})
        with pytest.raises(EngineError, match="query q1 is dropped already"):
            registry.log("traffic", "drop", "q1", {})
        with pytest.raises(EngineError, match="query 'slow' is dropped: it cannot be resumed"):
            registry.log("traffic", "resume", "q1", {})
        with pytest.raises(EngineError, match="query 'slow' is dropped: it cannot be changed"):
            registry.add_generation("q1", "SELECT 2", "{2}")

    def test_a_staged_generation_runs_beside_the_current_one(self, registry: Registry) -> None:
        registry.add("traffic", "slow", "SELECT 1", "{1}")
        staged = registry.add_generation("q1", "SELECT 2", "{2}", staged=True).query
        assert staged.staged
        assert registry.get("slow").generation == 1
        assert take(registry).added == {1: "{1}", 2: "{2}"}
        registry.discard("q1")
        assert take(registry).removed == (2,)
        with pytest.raises(EngineError, match="query q1 has no staged generation"):
            registry.apply("q1")
        registry.add_generation("q1", "SELECT 3", "{3}", staged=True)
        registry.apply("q1")
        current = registry.get("slow")
        assert (current.generation, current.staged, current.text) == (3, False, "SELECT 3")
        change = take(registry)
        assert (change.added, change.removed) == ({3: "{3}"}, (1,))

    def test_a_preview_gets_a_name(self, registry: Registry) -> None:
        preview = registry.add("traffic", None, "SELECT 1", "{1}").query
        assert preview.name is None
        registry.add("traffic", None, "SELECT 2", "{2}")
        registry.rename(preview.id, "slow")
        assert registry.get("slow").id == preview.id
        with pytest.raises(ArgumentError, match="it is the name of query q1"):
            registry.rename("q2", "SLOW")

    def test_an_unknown_query_is_named(self, registry: Registry) -> None:
        registry.add("traffic", "slow", "SELECT 1", "{1}")
        with pytest.raises(UnknownQueryError, match=r"no query 'slw' \(did you mean 'slow'\?\)"):
            registry.get("slw")

    def test_answers_of_dropped_queries_expire(self, registry: Registry) -> None:
        registry.add("traffic", "slow", "SELECT 1", "{1}", retain=60.0)
        registry.add_generation("q1", "SELECT 2", "{2}")
        registry.add("traffic", "fast", "SELECT 1", "{1}", retain=0.0)
        registry.log("traffic", "drop", "q1", {})
        assert registry.expired() == []
        long_after = 4e9
        assert [query.number for query in registry.expired(long_after)] == [1, 2]
        registry.set_forgotten(["q1"])
        assert registry.expired(long_after) == []


class TestSearch:
    @pytest.fixture
    def found(self, registry: Registry) -> Registry:
        add = registry.add
        add("traffic", "Slow lanes", "SELECT avg(speed)", "{}", owner="ann", tags=["a", "b"])
        add("traffic", "slow ramps", "SELECT max(speed)", "{}", owner="bob", tags=["b"])
        add("traffic", "trucks", "SELECT n", "{}", owner="ann", description="SLOW ones, 100% of it")
        add("traffic", None, "SELECT n", "{}", owner="ann")
        add("traffic", "gone slow", "SELECT n", "{}")
        registry.log("traffic", "drop", "q5", {})
        registry.add_generation("q2", "SELECT min(speed)", "{}")
        registry.refuse(registry.add_generation("q2", "SELECT x", "{}").seq, "no x")
        return registry

    def ids(self, registry: Registry, **asked: str) -> list[str]:
        return [query.id for query in registry.search(**asked)]  # type: ignore[arg-type]

    def test_by_everything(self, found: Registry) -> None:
        assert self.ids(found) == ["q1", "q2", "q3", "q4"]
        assert self.ids(found, name="sLoW") == ["q1", "q2"]
        assert self.ids(found, owner="ann") == ["q1", "q3", "q4"]
        assert self.ids(found, tag="b") == ["q1", "q2"]
        assert self.ids(found, tag="b", owner="bob") == ["q2"]
        assert self.ids(found, text="slow") == ["q1", "q2", "q3"]
        assert self.ids(found, text="min(") == ["q2"]
        assert self.ids(found, text="max(") == []  # an old generation
        assert self.ids(found, text="00%") == ["q3"]
        assert self.ids(found, text="a_g") == []  # not a pattern
        assert self.ids(found, stream="other") == []

    def test_one_row_a_query(self, found: Registry) -> None:
        (ramps,) = found.search(name="ramps")
        assert ramps.generation == 2

    def test_dropped_ones(self, found: Registry) -> None:
        assert [query.id for query in found.search(name="slow", dropped=True)] == ["q1", "q2", "q5"]


class TestVersions:
    def test_the_first_is_empty(self, registry: Registry) -> None:
        assert registry.newest_version("traffic") is None
        change = registry.next_version("traffic")
        assert change == VersionChange("traffic", 1, commands=(1,))
        registry.record_version("traffic", 1, "abc")
        assert registry.newest_version("traffic") == (1, "abc")
        assert registry.next_version("traffic") is None

    def test_commands_of_a_moment_are_one_version(self, registry: Registry) -> None:
        take(registry)
        for name in "abc":
            registry.add("traffic", name, "SELECT 1", f"{{{name}}}")
        change = take(registry)
        assert change.added == {1: "{a}", 2: "{b}", 3: "{c}"}
        assert change.commands == (2, 3, 4)
        assert [c.version for c in registry.commands()] == [1, 2, 2, 2]

    def test_register_drop_register_is_the_last(self, registry: Registry) -> None:
        take(registry)
        registry.add("traffic", "slow", "SELECT 1", "{1}")
        registry.log("traffic", "drop", "q1", {})
        registry.add("traffic", "slow", "SELECT 2", "{2}")
        registry.add_generation("q2", "SELECT 3", "{3}")
        change = take(registry)
        assert (change.added, change.removed) == ({3: "{3}"}, ())
        assert len(change.commands) == 4

    def test_what_cancels_out_is_a_version_that_changes_nothing(self, registry: Registry) -> None:
        take(registry)
        seq = registry.add("traffic", "slow", "SELECT 1", "{1}").seq
        drop = registry.log("traffic", "drop", "q1", {})
        assert take(registry) == VersionChange("traffic", 2, commands=(seq, drop))

    def test_pause_resume_and_another_program(self, registry: Registry) -> None:
        registry.add("traffic", "slow", "SELECT 1", "{1}")
        registry.add("traffic", "fast", "SELECT 2", "{2}")
        registry.log("traffic", "pause", "q1", {})
        assert take(registry).paused == (1,)
        registry.log("traffic", "pause", "q2", {})
        registry.set_program(1, "{1b}")
        change = take(registry)
        assert (change.paused, change.changed, change.added) == ((2,), {1: "{1b}"}, {})
        registry.log("traffic", "resume", "q1", {})
        change = take(registry)
        assert (change.paused, change.resumed) == ((), (1,))
        members = registry.version_members("traffic")
        assert [(m.number, m.program, m.paused) for m in members] == [
            (1, "{1b}", False),
            (2, "{2}", True),
        ]

    def test_a_status_without_a_command_is_a_version_too(self, registry: Registry) -> None:
        registry.add("traffic", "slow", "SELECT 1", "{1}")
        take(registry)
        registry.set_status(1, "ended", reason="its until= is reached")
        change = take(registry)
        assert (change.removed, change.commands) == ((1,), ())
        assert registry.get("slow").status == "ended"  # its name is still taken

    def test_one_that_is_begun_stays_as_it_is(self, registry: Registry, tmp_path: Path) -> None:
        registry.add("traffic", "slow", "SELECT 1", "{1}")
        registry.log("traffic", "pause", "q1", {})
        begun = registry.next_version("traffic")
        registry.log("traffic", "drop", "q1", {})
        assert registry.next_version("traffic") == begun
        registry.close()
        registry = Registry(tmp_path)
        assert registry.next_version("traffic") == begun
        assert take(registry) == begun
        assert take(registry) == VersionChange("traffic", 2, removed=(1,), commands=(4,))

    def test_a_digest_is_recorded_once(self, registry: Registry) -> None:
        take(registry)
        registry.record_version("traffic", 1, "digest 1")
        with pytest.raises(EngineError, match="version 1 of 'traffic' is recorded as digest 1"):
            registry.record_version("traffic", 1, "another")
        with pytest.raises(EngineError, match="version 2 of 'traffic' is not begun"):
            registry.record_version("traffic", 2, "digest")

    def test_streams_have_versions_of_their_own(self, registry: Registry) -> None:
        registry.log("stores", "create_stream", None, {})
        registry.add("stores", "cold", "SELECT 1", "{1}")
        assert take(registry, "traffic").added == {}
        assert take(registry, "stores").added == {1: "{1}"}
        assert registry.next_version("traffic") is None

    @pytest.mark.parametrize("seed", range(20))
    def test_replayed_changes_are_the_queries(self, registry: Registry, seed: int) -> None:
        """Any commands, any moments: the versions added up are the members that should run."""
        chance = random.Random(seed)
        replayed: dict[int, tuple[str, bool]] = {}
        for step in range(60):
            random_command(registry, chance, step)
            if chance.random() < 0.3:
                apply(replayed, registry.next_version("traffic"))
                if chance.random() < 0.8 and (begun := registry.next_version("traffic")):
                    registry.record_version("traffic", begun.number, "d")
                    members = registry.version_members("traffic")
                    assert replayed == {m.number: (m.program, m.paused) for m in members}
        while (change := registry.next_version("traffic")) is not None:
            apply(replayed, change)
            registry.record_version("traffic", change.number, "d")
        running = [q for q in registry.live("traffic") if q.status != "quarantined"]
        assert replayed == {q.number: (q.program, q.status == "paused") for q in running}


def random_command(registry: Registry, chance: random.Random, step: int) -> None:
    live = registry.live("traffic")
    kind = chance.choice(["add", "add", "change", "pause", "resume", "drop", "quarantine"])
    if kind == "add" or not live:
        registry.add("traffic", f"query {step}", f"SELECT {step}", f"{{{step}}}")
    elif kind == "change":
        registry.add_generation(chance.choice(live).id, f"SELECT {step}", f"{{{step}}}")
    else:
        query = chance.choice(live)
        if kind != "pause" or query.status != "quarantined":
            registry.log("traffic", kind, query.id, {"reason": "x"})  # type: ignore[arg-type]


def apply(replayed: dict[int, tuple[str, bool]], change: VersionChange | None) -> None:
    """Apply a change; doing so twice, as after a crash, is the same."""
    if change is None:
        return
    for member, program in {**change.added, **change.changed}.items():
        paused = member in replayed and replayed[member][1]
        replayed[member] = (program, paused)
    for member in change.removed:
        replayed.pop(member, None)
    for paused, members in ((True, change.paused), (False, change.resumed)):
        for member in members:
            replayed[member] = (replayed[member][0], paused)


class TestEpochs:
    def test_each_begins_once(self, registry: Registry, tmp_path: Path) -> None:
        registry.log("stores", "create_stream", None, {})
        assert registry.epoch("traffic") == 0
        assert [registry.begin_epoch("traffic") for _ in range(2)] == [1, 2]
        registry.close()
        registry = Registry(tmp_path)
        assert (registry.epoch("traffic"), registry.epoch("stores")) == (2, 0)


class TestThreads:
    def test_many_add_and_drop_while_versions_are_made(self, registry: Registry) -> None:
        replayed: dict[int, tuple[str, bool]] = {}
        done = threading.Event()
        errors: list[BaseException] = []

        def client(number: int) -> None:
            try:
                for step in range(12):
                    query = registry.add("traffic", f"{number}/{step}", "SELECT 1", "{}").query
                    if step % 2:
                        registry.log("traffic", "drop", query.id, {})
            except BaseException as error:
                errors.append(error)

        def versions() -> None:
            while not done.is_set() or registry.next_version("traffic") is not None:
                change = registry.next_version("traffic")
                if change is not None:
                    apply(replayed, change)
                    registry.record_version("traffic", change.number, "d")

        clients = [threading.Thread(target=client, args=(number,)) for number in range(6)]
        maker = threading.Thread(target=versions)
        for thread in (*clients, maker):
            thread.start()
        for thread in clients:
            thread.join()
        done.set()
        maker.join()
        assert errors == []
        assert {*replayed} == {query.number for query in registry.live("traffic")}
        assert len(replayed) == 36
        assert [c.seq for c in registry.commands()] == [*range(1, 110)]

    def test_one_name_for_one_of_many(self, registry: Registry) -> None:
        outcomes: list[str] = []

        def client() -> None:
            try:
                outcomes.append(registry.add("traffic", "slow", "SELECT 1", "{}").query.id)
            except ArgumentError:
                outcomes.append("taken")

        threads = [threading.Thread(target=client) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["q1", *["taken"] * 7]


class TestCrashes:
    @strides
    def test_a_registration_is_there_once_whenever_the_process_dies(
        self, tmp_path: Path, stride: int
    ) -> None:
        """Killed at every step of command, version, file, record and acknowledgement."""
        home = tmp_path / "home"

        def check(words: list[str]) -> None:
            there = [c.kind for c in Registry(home).commands()] if home.exists() else []
            assert ("register" in there) or "logged" not in words  # the client was answered
            serve(home, lambda word: None, micro_batch=2)
            registry = Registry(home)
            assert [c.kind for c in registry.commands()] == ["create_stream", "register"]
            newest = registry.newest_version("traffic")
            assert newest is not None
            assert programs_of(str(home / "streams" / "traffic"), Pin(*newest)) == {1: "{1}"}
            query = registry.get("slow")
            assert query.status == "active"
            assert query.since == ((1, 1) if "acknowledged" in words else query.since)
            assert query.since in ((1, 1), (2, 1))
            registry.close()
            shutil.rmtree(home)

        assert at_every_step(lambda report: serve(home, report), check, stride) > 200

    def test_what_a_transaction_began_is_undone(self, registry: Registry, tmp_path: Path) -> None:
        registry.add("traffic", "slow", "SELECT 1", "{1}")
        with pytest.raises(sqlite3.IntegrityError):
            registry.add("traffic", "fast", None, "{1}")  # type: ignore[arg-type]
        assert registry.find("fast") is None
        assert [c.kind for c in registry.commands()] == ["create_stream", "register"]


def serve(home: Path, report: Callable[[str], None], micro_batch: int = 1) -> None:
    """What an engine does, from the start or again: log, version, file, record, acknowledge."""
    with Home(home) as folders:
        registry = with_stream(home)
        if registry.find("slow") is None:
            registry.add("traffic", "slow", "SELECT 1", "{1}")
        report("logged")
        files = VersionFiles(str(folders.stream("traffic")))
        newest = registry.newest_version("traffic")
        while (change := registry.next_version("traffic")) is not None:
            parent = None if newest is None else Pin(*newest)
            pin = files.write(change.number, parent, change.added, change.removed)
            registry.record_version("traffic", pin.version, pin.digest)
            newest = (pin.version, pin.digest)
        assert newest is not None
        for command in registry.unacknowledged("traffic", newest[0]):
            acknowledge(registry, command.seq, micro_batch)
        report("acknowledged")
        registry.close()


class TestHome:
    def test_it_is_for_its_owner(self, tmp_path: Path) -> None:
        with Home(tmp_path / "desk") as home:
            Registry(home.folder)
            stream = home.stream("I-80/east")
            assert stream.parent == home.folder / "streams"
            assert {path.name for path in stream.iterdir()} >= {"versions", "pins", "results"}
            assert home.folder.stat().st_mode & 0o777 == 0o700
            assert (home.folder / "registry.db").stat().st_mode & 0o777 == 0o600

    def test_a_second_process_is_refused_with_the_pid_of_the_first(self, tmp_path: Path) -> None:
        hold = (
            "import sys; from muntin.engine.home import Home; home = Home(sys.argv[1]); "
            "print('held', flush=True); sys.stdin.read()"
        )
        words = [sys.executable, "-c", hold, str(tmp_path)]
        with subprocess.Popen(words, stdin=PIPE, stdout=PIPE, text=True) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(EngineError, match=f"in use by process {holder.pid}; stop that"):
                Home(tmp_path)
            holder.kill()
            holder.wait()
        with Home(tmp_path):
            assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"

    def test_it_is_released(self, tmp_path: Path) -> None:
        home = Home(tmp_path)
        with pytest.raises(EngineError, match=f"in use by process {os.getpid()}"):
            Home(tmp_path)
        home.close()
        home.close()
        Home(tmp_path).close()

    def test_a_registry_of_another_form_is_refused(self, tmp_path: Path) -> None:
        with sqlite3.connect(tmp_path / "registry.db") as database:
            database.execute("PRAGMA user_version = 99")
        with pytest.raises(EngineError, match="has form 99 and this release of Muntin reads form"):
            Registry(tmp_path)
