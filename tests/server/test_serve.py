"""``muntin serve`` as a process: it answers, is killed, goes on, and stops between batches."""

from __future__ import annotations

import re
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from click.testing import CliRunner

from muntin.cli.main import main
from muntin.server.security.tokens import TokenFile
from tests.cli.processes import SMALL, WORDS, environment
from tests.engine.line_rows import CREATE, SUMS, sums, write_rows
from tests.server.http_client import HttpClient


@contextmanager
def served(
    home: Path, *given: str | Path
) -> Iterator[tuple[subprocess.Popen[str], HttpClient, list[str]]]:
    """Start a server, and wait until it can be asked."""
    words = [*WORDS, "serve", str(home), "--port", "0", *map(str, given), *SMALL]
    said: list[str] = []
    with subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                said.append(line)
                if found := re.match(r"http://\S+:(\d+) serves", line):
                    yield process, HttpClient(int(found[1])), said
                    break
            else:
                raise AssertionError(f"the server did not start: {said}")
        finally:
            process.kill()


def test_a_server_that_is_killed_repeats_and_loses_nothing(tmp_path: Path) -> None:
    rows, home, file = tmp_path / "rows", tmp_path / "home", tmp_path / "desk.sql"
    write_rows(rows, "first", range(12))
    file.write_text(f"{CREATE.format(rows=rows)};\nCREATE QUERY sums OWNER 'ada' AS {SUMS};\n")
    got: list[dict[str, object]] = []
    with served(home, "--sql", file) as (process, http, _):
        with http.events("sums", overflow="wait", last_event_id="line:1:-1::") as events:
            last, name, _ = next(events)
            while len(got) < 4:
                last, name, data = next(events)
                assert name == "rows"
                got += data["rows"]
        assert http("GET", "///healthz").json == {"status": "ok"}
        process.kill()
    write_rows(rows, "second", range(12, 25))
    with served(home) as (process, http, said):
        with http.events("sums", overflow="wait", last_event_id=last) as events:
            next(events)
            while len(got) < 8:
                got += next(events)[2]["rows"]
        every = http("GET", "/queries/sums/results").json["rows"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
        assert process.stderr is not None
        said += process.stderr
    assert sums(got) == sums(every)
    assert sorted({row["window_end"] for row in got}) == [5, 10, 15, 20]  # type: ignore[type-var]
    assert said[-1].startswith("Stopped.")
    assert (home / "audit.log").is_file()


def test_another_address_needs_a_token_file(tmp_path: Path) -> None:
    refused = CliRunner().invoke(main, ["serve", str(tmp_path / "home"), "--host", "0.0.0.0"])
    assert refused.exit_code == 2
    assert "--token-file is needed" in refused.output


def test_a_token_is_printed_once_and_its_line_is_added(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    made = CliRunner().invoke(main, ["token", "ask", "--name", "ada", "--file", str(file)])
    token = made.output.splitlines()[0]
    line = TokenFile(file).find(token)
    assert line is not None
    assert (line.role.word, line.name) == ("ask", "ada")
    assert token not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    printed = CliRunner().invoke(main, ["token", "read"]).output.splitlines()
    assert printed[1].startswith("read sha256:")
    assert CliRunner().invoke(main, ["token", "read", "--name", "two words"]).exit_code == 2
