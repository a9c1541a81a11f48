"""What is printed while a command runs."""

from __future__ import annotations

import json
import time

import pytest

from muntin.cli import progress as module
from muntin.cli.progress import CommandProgress, line_of
from muntin.spark.queries.progress import RunProgress, Tasks

PROGRESS = RunProgress(
    rows=1_234_567,
    rate=41_152.4,
    batches=3,
    largest="2026-03-03 08:14:20+00:00",
    complete="2026-03-03 08:13:20+00:00",
    open=72,
    late=11,
    malformed=2,
    lag=3.4,
)


def test_everything_on_one_line() -> None:
    assert line_of(PROGRESS) == (
        "1,234,567 rows  41,152 rows/s  at 2026-03-03 08:14:20+00:00  "
        "complete to 2026-03-03 08:13:20+00:00  open 72  late 11  malformed 2  lag 3s"
    )


def test_what_is_not_known_is_not_shown() -> None:
    assert line_of(RunProgress(rows=3, rate=1.0, open=None, late=0)) == "3 rows  1 rows/s"


def test_a_batch_has_seconds_and_tasks() -> None:
    batch = RunProgress(rows=3, rate=1.0, results=None, seconds=2.96, tasks=Tasks(3, 8))
    assert line_of(batch) == "3 rows  1 rows/s  3 of 8 tasks (38%)"
    assert batch.as_dict() == {
        "seconds": 3.0,
        "rows": 3,
        "rate": 1.0,
        "results": None,
        "late": 0,
        "refused": 0,
        "malformed": 0,
        "tasks_done": 3,
        "tasks": 8,
    }


def test_for_machines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.05)
    shown = CommandProgress(as_json=True)
    time.sleep(0.1)
    shown.show("slow", PROGRESS)
    shown.show("slow", PROGRESS)  # too soon
    with shown.during("Starting Spark"):
        time.sleep(0.12)
    first, *others = map(json.loads, capsys.readouterr().err.splitlines())
    assert first == {
        "progress": {
            "query": "slow",
            "batches": 3,
            "rows": 1_234_567,
            "rate": 41_152.4,
            "results": 0,
            "late": 11,
            "refused": 0,
            "malformed": 2,
            "open": 72,
            "largest": "2026-03-03 08:14:20+00:00",
            "complete": "2026-03-03 08:13:20+00:00",
            "lag": 3.4,
        }
    }
    assert others[0]["progress"]["doing"] == "Starting Spark"


def test_a_quick_command_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    shown = CommandProgress()
    with shown.during("Running"):
        shown.show("slow", PROGRESS)
    assert capsys.readouterr().err == ""


def test_a_file_gets_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines are whole and are not overwritten."""
    monkeypatch.setattr(module, "FILE_SECONDS", 0.05)
    shown = CommandProgress()
    time.sleep(0.1)
    shown.show("slow", PROGRESS)
    shown.show("slow", PROGRESS)  # too soon
    with shown.during("Running"):
        time.sleep(0.12)
    first, *others = capsys.readouterr().err.splitlines()
    assert first == line_of(PROGRESS)
    assert others
    assert all(line == "Running ... 0s" for line in others)
