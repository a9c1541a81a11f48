"""An analyst with a CSV file and a terminal: a question in one line, and over a pipe.

Each step has what is expected, and the seconds that it took are printed (``pytest -s``).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.csv as arrow_csv
import pytest

from muntin.simulate.freeway import Freeway
from tests.cli.processes import SMALL, ran
from tests.cli.terminal import Terminal

#: The question of the README.
SLOW = (
    "SELECT station, frame_start, frame_end, avg(speed) AS speed FROM 'readings.csv' "
    "[FRAME THRESHOLD speed < 45 LASTING 10 MINUTES MISSING CARRY TIES MEAN "
    "WATTR ts PATTR station] "
    "ORDER BY station, frame_start"
)


@contextmanager
def step(name: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{time.monotonic() - began:5.1f} s  {name}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    arrow_csv.write_csv(Freeway(hours=1).readings(), tmp_path / "readings.csv")
    return tmp_path


@pytest.mark.timeout(500)
def test_one_line_answers_a_question(folder: Path) -> None:
    with step("muntin run -c, from nothing to the table"):
        terminal = Terminal.running(folder, ["run", "-c", SLOW])
        try:
            shown = terminal.wait_for("ended with 0", 200)
        finally:
            terminal.close()
    assert "times in UTC" in shown
    assert "│ I5-10   │ 2026-03-03 00:15:20 │ 2026-03-03 00:32:00 │ 29.4726" in shown
    assert "{" not in shown  # no log lines, no stacks


@pytest.mark.timeout(500)
def test_what_is_piped_in_is_a_relation(folder: Path) -> None:
    text = (folder / "readings.csv").read_text()
    sql = "SELECT station, count(*) AS n FROM '-' GROUP BY station ORDER BY station LIMIT 1"
    with step("muntin run -c over a pipe"):
        done = ran(["run", "-c", sql, *SMALL], stdin=text)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["station"] == "I5-01"
    assert json.loads(done.stdout)["n"] == text.count('"I5-01"')
