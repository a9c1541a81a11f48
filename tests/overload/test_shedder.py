"""What the shedder of a stream logs after micro-batches, in a registry and without Spark."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from muntin.engine.commit import BatchReport, StreamProgress
from muntin.engine.overload.shedder import Shedder, why_not_native
from muntin.engine.overload.stream_load import StreamLoad
from muntin.engine.registry import Registry
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.program import QueryProgram
from muntin.spark.exchange.pinned_versions import Pin, VersionFiles, overload_of
from muntin.specs.overload import OverloadDecision
from muntin.specs.qos import Qos
from tests.engine.dying import at_every_step

TOLERANT = Qos(delay=[(4, 1), (20, 0)], share=[(1, 1), (0.1, 0)])
CAPACITY = 10_000


@dataclass
class Input:
    """What the shedder asks of the input of a stream: whether workers read it."""

    scanned: bool = True


@dataclass
class Network:
    inputs: list[Input] = field(default_factory=lambda: [Input()])


@dataclass
class Stream:
    """A stream whose micro-batches are numbers; 10,000 rows take a second."""

    registry: Registry
    name: str = "line"
    load: StreamLoad = field(default_factory=StreamLoad)
    network: Any = field(default_factory=Network)
    keep: int | None = None
    publishing: Any = field(default_factory=threading.RLock)
    shedder: Shedder = field(default_factory=Shedder)
    pace: list[float] = field(default_factory=list)
    number: int = 0
    now: float = 1_000.0

    def retrigger(self, seconds: float) -> None:
        self.pace.append(seconds)

    def run(self, offered: float) -> OverloadDecision:
        """Run a micro-batch of a second in which so many rows come; return what is in force."""
        rows, kept = round(offered), self.registry.decision(self.name).kept
        seconds = 0.1 + 0.9 * rows * kept / CAPACITY
        self.load.interval, self.load.gap = 1.0, 1.0
        self.load.commit(self.number, self.now, round(rows * kept), [])
        # Measured by the clock of this process, which no test waits for.
        last = self.load.times.measured.pop()
        self.load.times.take(type(last)(last.number, last.rows, seconds))
        shed = rows - round(rows * kept)
        progress = StreamProgress(largest=self.number * 10, reached=self.number * 10 - 5)
        done = StreamProgress(**{**vars(progress), "rows": rows - shed, "shed": shed})
        live = self.registry.live(self.name)
        self.shedder.decide(self, live, BatchReport(done, {}, {}))
        self.number, self.now = self.number + 1, self.now + 1
        return self.registry.decision(self.name)


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Stream]:
    registry = Registry(tmp_path)
    registry.log("line", "create_stream", None, {})
    yield Stream(registry)
    registry.close()


def register(stream: Stream, name: str, qos: Qos | None) -> None:
    program = QueryProgram(0, (), None, None, qos=qos)
    stream.registry.add("line", name, "SELECT x FROM line", to_json(program))


def test_nothing_is_decided_for_queries_that_say_nothing(stream: Stream) -> None:
    register(stream, "q", None)
    assert {stream.run(3 * CAPACITY).kept for _ in range(8)} == {1.0}
    assert stream.shedder.limits is None


def test_too_much_is_shed_logged_and_ended(stream: Stream) -> None:
    register(stream, "q", TOLERANT)
    for rows in (3_000, 5_000, 8_000, 6_000):
        assert stream.run(rows).kept == 1
    decided = [stream.run(3 * CAPACITY) for _ in range(10)]
    assert decided[2].kept < 0.5
    assert 0.2 < decided[-1].kept < 0.4
    # From the punctuation on: rows that come later are all after it.
    assert decided[-1].rates[0] == (decided[-1].rates[0][0], decided[2].kept)
    assert decided[-1].rates[0][0] % 10 == 5
    for _ in range(5):
        after = stream.run(5_000)
    assert after.kept == 1
    assert after.rates[-1][1] == 1
    kinds = [command.kind for command in stream.registry.commands()]
    assert kinds[-1] == "overload"


def test_who_tolerates_nothing_keeps_all_rows_of_the_stream(stream: Stream) -> None:
    register(stream, "q", TOLERANT)
    for _ in range(8):
        shed = stream.run(3 * CAPACITY)
    assert shed.kept < 1
    register(stream, "strict", None)
    change = stream.registry.next_version("line")
    assert change is not None
    assert change.overload is not None  # for the rates of before
    assert '"kept":1.0' in change.overload
    assert stream.run(3 * CAPACITY).kept == 1
    assert stream.run(3 * CAPACITY).kept == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"keep": 10}, "its rows are kept for queries to come"),
        ({"network": Network([Input(), Input()])}, "it has several inputs"),
        ({"network": Network([Input(scanned=False)])}, "Spark reads its source"),
    ],
)
def test_streams_that_are_never_shed(stream: Stream, change: dict[str, Any], reason: str) -> None:
    register(stream, "q", TOLERANT)
    for name, value in change.items():
        setattr(stream, name, value)
    assert {stream.run(3 * CAPACITY).kept for _ in range(8)} == {1.0}
    found = why_not_native(stream, {1: TOLERANT})
    assert found is not None
    assert found.startswith(reason)


def test_micro_batches_are_made_longer_if_that_is_enough(stream: Stream) -> None:
    register(stream, "q", TOLERANT)
    for rows in (2_000, 5_000, 8_000, 6_000):
        stream.run(rows)
    for _ in range(4):
        stream.run(10_200)
    assert stream.pace == []  # longer ones would not do: almost all of the time is of rows
    assert stream.shedder.control.steps == ("shed",)


def test_a_restart_goes_on_shedding() -> None:
    shedder = Shedder.of(OverloadDecision(kept=0.4))
    assert (shedder.control.rate, shedder.control.steps) == (0.4, ("shed",))
    assert Shedder.of(OverloadDecision()).control.rate == 1


# Killed while rows are shed


def test_what_was_kept_is_kept_again_whenever_the_process_dies(tmp_path: Path) -> None:
    """A micro-batch that is repeated has the rate that it had; each is a hash of a row's place."""
    home = tmp_path / "home"

    def check(words: list[str]) -> None:
        files = VersionFiles(str(home))
        told = dict(word.split("=") for word in words)
        assert {batch: str(kept_in(files, int(batch))) for batch in told} == told
        serve(home, lambda word: None)
        assert {batch: str(kept_in(files, int(batch))) for batch in told} == told
        rates = [kept_in(files, batch) for batch in range(MICRO_BATCHES + 1)]
        assert min(rates) < 0.5
        registry = Registry(home)
        decided = [c for c in registry.commands() if c.kind == "overload"]
        assert from_json(str(decided[-1].details["decision"])) == registry.decision("line")
        registry.close()
        shutil.rmtree(home)

    assert at_every_step(lambda report: serve(home, report), check, 401) > 1_000


MICRO_BATCHES = 12


def serve(home: Path, report: Callable[[str], None]) -> None:
    """Run micro-batches from where it was: decide, write a version, pin the next one."""
    home.mkdir(exist_ok=True)
    registry, files = Registry(home), VersionFiles(str(home))
    stream = Stream(registry)
    if "line" not in registry.streams():
        registry.log("line", "create_stream", None, {})
    if registry.find("q") is None:
        register(stream, "q", TOLERANT)
    stream.shedder = Shedder.of(registry.decision("line"))
    files.pin(0, published(registry, files))
    for batch in range(files.last_pinned() or 0, MICRO_BATCHES):
        stream.number = batch
        stream.run((3 if batch >= 4 else 0.5 + batch / 10) * CAPACITY)
        files.pin(batch + 1, published(registry, files))
        report(f"{batch + 1}={kept_in(files, batch + 1)}")
    registry.close()


def published(registry: Registry, files: VersionFiles) -> Pin:
    before = registry.newest_version("line")
    change = registry.next_version("line")
    if change is not None:
        parent = None if before is None else Pin(*before)
        programs = {**change.added, **change.changed}
        pin = files.write(change.number, parent, programs, change.removed, change.overload)
        registry.record_version("line", change.number, pin.digest)
    newest = registry.newest_version("line")
    assert newest is not None
    return Pin(*newest)


def kept_in(files: VersionFiles, batch: int) -> float:
    """Return the share of the rows that a micro-batch keeps, as its tasks read it."""
    pin = files.pinned(batch)
    assert pin is not None
    text = overload_of(files.folder, pin)
    return 1.0 if text is None else float(from_json(text).kept)
