"""``muntin engine``: an engine as a process, and what other commands ask of it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muntin.cli.errors import Exit
from tests.cli.processes import SMALL, WORDS, environment, ran
from tests.engine.line_rows import CREATE, SUMS, sums, write_rows


@contextmanager
def running(home: Path, file: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """Start an engine, and wait until it can be asked."""
    given = [] if file is None else ["--sql", str(file)]
    words = [*WORDS, "engine", "start", str(home), *given, *SMALL]
    with subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if "runs as process" in line:
                    break
            else:
                raise AssertionError(f"the engine did not start: {process.wait()}")
            yield process
        finally:
            process.kill()


def asked(*words: str | Path) -> list[dict[str, object]]:
    """Run a command of ``muntin engine``, and return the rows that it prints."""
    run = ran(["engine", *words], seconds=120)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def eventually(name: str, home: Path, expected: int) -> list[dict[str, object]]:
    """Ask until a query has so many answers."""
    until = time.monotonic() + 120
    while len(rows := asked("ask", home, name, "--after", "-1")) < expected:
        assert time.monotonic() < until, rows
    return rows


def test_an_engine_as_a_process(tmp_path: Path) -> None:
    """It is started, asked, stopped, and started again: by Ctrl-C it stops as well."""
    rows, home, file = tmp_path / "rows", tmp_path / "home", tmp_path / "desk.sql"
    write_rows(rows, "first", range(12))
    file.write_text(f"{CREATE.format(rows=rows)};\nCREATE QUERY sums OWNER 'ada' AS {SUMS};\n")
    with running(home, file) as process:
        answers = eventually("sums", home, 4)
        assert sums(answers) == [("a", 5, 6), ("a", 10, 14), ("b", 5, 4), ("b", 10, 21)]
        registered = ran(["engine", "register", home, "big", "SELECT x FROM line WHERE v > 11"])
        assert "big, generation 1: active since micro-batch" in registered.stderr
        assert [row["name"] for row in asked("list", home)] == ["sums", "big"]
        assert [row["name"] for row in asked("list", home, "--owner", "ada")] == ["sums"]
        assert [row["name"] for row in asked("list", home, "--name", "um")] == ["sums"]
        plan = ran(["engine", "explain", home, SUMS.replace("sum(v)", "max(v)")])
        assert "shared with sums" in plan.stdout
        drawn = tmp_path / "line.svg"
        assert ran(["engine", "network", home, "--output", drawn]).returncode == 0
        assert drawn.read_text().startswith("<svg")
        assert asked("sql", home, "PAUSE QUERY big") == [{"done": "paused query big"}]
        unknown = ran(["engine", "ask", home, "sms"])
        assert unknown.returncode == Exit.TEXT
        assert "there is no query 'sms' (did you mean 'sums'?)" in unknown.stderr
        second = ran(["engine", "start", home, *SMALL])
        assert second.returncode == Exit.FAILED
        assert f"in use by process {process.pid}" in second.stderr
        assert ran(["engine", "drop", home, "big"]).returncode == 0
        stopped = ran(["engine", "stop", home])
        assert "has stopped" in stopped.stderr
        assert process.wait(60) == 0
    none = ran(["engine", "ask", home, "sums"])
    assert none.returncode == Exit.FAILED
    assert f"no engine runs in {home}; start one with: muntin engine start {home}" in none.stderr
    with running(home, file) as process:
        words = [*WORDS, "engine", "tap", str(home), "line", "--most", "1", "--where", "x > 15"]
        with subprocess.Popen(
            words, env=environment(), stdout=subprocess.PIPE, text=True
        ) as tapping:
            until = time.monotonic() + 120
            while "tap:" not in str(asked("network", home)):
                assert time.monotonic() < until
            write_rows(rows, "second", range(12, 17))
            copied, _ = tapping.communicate(timeout=120)
        assert [json.loads(line)["x"] for line in copied.splitlines()] == [16]
        assert sums(eventually("sums", home, 6))[-1] == ("b", 15, 24)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
