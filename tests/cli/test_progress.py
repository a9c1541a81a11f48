"""What is said while a command runs."""

from __future__ import annotations

import json
import time

import pytest

from muntin.cli import progress as module
from muntin.cli.progress import CommandProgress, line_of

STANDING = {
    "rows": 1_234_567,
    "rate": 41_152.4,
    "largest": "2026-03-03 08:14:20+00:00",
    "complete": "2026-03-03 08:13:20+00:00",
    "open": 72,
    "late": 11,
    "malformed": 2,
    "lag": 3.4,
}


def test_everything_on_one_line() -> None:
    assert line_of(STANDING) == (
        "1,234,567 rows  41,152 rows/s  at 2026-03-03 08:14:20+00:00  "
        "complete to 2026-03-03 08:13:20+00:00  open 72  late 11  malformed 2  lag 3s"
    )


def test_what_is_not_known_is_not_said() -> None:
    assert line_of({"rows": 3, "rate": 1.0, "open": None, "late": 0}) == "3 rows  1 rows/s"


def test_for_machines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.05)
    shown = CommandProgress(as_json=True)
    time.sleep(0.1)
    shown.show(STANDING)
    shown.show(STANDING)  # too soon
    with shown.during("Starting Spark"):
        time.sleep(0.12)
    first, *others = map(json.loads, capsys.readouterr().err.splitlines())
    assert first == {"progress": STANDING}
    assert others[0]["progress"]["doing"] == "Starting Spark"


def test_nothing_is_said_of_what_is_quick(capsys: pytest.CaptureFixture[str]) -> None:
    shown = CommandProgress()
    with shown.during("Running"):
        shown.show(STANDING)
    assert capsys.readouterr().err == ""


def test_a_file_gets_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole lines, which nothing takes away again."""
    monkeypatch.setattr(module, "FILE_SECONDS", 0.05)
    shown = CommandProgress()
    time.sleep(0.1)
    shown.show(STANDING)
    shown.show(STANDING)  # too soon
    with shown.during("Running"):
        time.sleep(0.12)
    first, *others = capsys.readouterr().err.splitlines()
    assert first == line_of(STANDING)
    assert others
    assert all(line == "Running ... 0s" for line in others)
