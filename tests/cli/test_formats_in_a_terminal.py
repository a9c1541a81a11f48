"""Every format on a terminal, on a stream with many rows: no line of progress is in a result."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.processes import SMALL, WORDS, environment

ROWS = 4000
#: What terminals are told besides text: colours, the cursor, the title.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[=>]")


class Pseudo:
    """A command on a pseudo-terminal, with everything that it has printed."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self._master, slave = pty.openpty()
        # Wide enough for a table of the rows below, so that their text stays in one line.
        variables = {**environment(), "COLUMNS": "100", "LINES": "40", "TERM": "xterm"}
        variables["XDG_STATE_HOME"] = str(folder)
        self.process = subprocess.Popen(
            words,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            env=variables,
            close_fds=True,
        )
        os.close(slave)
        self.printed = ""

    def wait_for(self, wanted: str, seconds: float = 120) -> str:
        """Return what was printed since the last call, up to the text."""
        until = time.monotonic() + seconds
        while wanted not in self.printed:
            assert time.monotonic() < until, f"{wanted!r} did not come:\n{self.printed[-2000:]}"
            if select.select([self._master], [], [], 0.2)[0]:
                self.printed += os.read(self._master, 1 << 16).decode(errors="replace")
        before, after, self.printed = self.printed.partition(wanted)
        return before + after

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())


def shown(raw: str) -> list[str]:
    """Return the lines that a terminal shows of what was printed to it."""
    return [_line(text) for text in _CONTROL.sub("", raw).replace("\r\n", "\n").split("\n")]


def _line(text: str) -> str:
    line: list[str] = []
    for part in text.split("\r"):
        line[: len(part)] = part
    return "".join(line).rstrip()


@pytest.mark.timeout(400)
def test_formats_of_a_stream_with_many_rows(tmp_path: Path) -> None:
    lines = (json.dumps({"n": n, "k": "x" * 30, "ok": n % 2 == 0}) for n in range(ROWS))
    (tmp_path / "rows.json").write_text("\n".join(lines))
    terminal = Pseudo([*WORDS, "sql", "--stream", *SMALL], tmp_path)
    try:
        terminal.wait_for("muntin> ")
        terminal.type("CREATE STREAM s FROM json('rows.json') (n INT, k STRING, ok BOOLEAN) ON n;")
        terminal.wait_for("ok\r\n")
        for form in ("json", "csv", "table"):
            terminal.wait_for("muntin> ")
            terminal.type(f"SET format = {form};")
            terminal.wait_for("ok\r\n")
            terminal.wait_for("muntin> ")
            terminal.type("SELECT * FROM s;")
            terminal.wait_for("FROM s;")
            found = shown(terminal.wait_for("muntin> "))
            terminal.printed = f"muntin> {terminal.printed}"
            if form == "json":
                rows = [json.loads(line) for line in found if line.startswith("{")]
                assert sorted(row["n"] for row in rows) == list(range(ROWS))
            elif form == "csv":
                read = [row for row in csv.reader(found) if len(row) == 3]
                assert read[0] == ["n", "k", "ok"]
                assert sorted(int(row[0]) for row in read[1:]) == list(range(ROWS))
            else:
                text = "\n".join(found)
                assert f"{'x' * 30} │ false" in text
                assert "of more rows" in text
        # Ctrl-D at the prompt leaves, and nothing is printed after it but the end of the line.
        terminal.wait_for("muntin> ")
        os.write(terminal._master, b"\x04")
        assert terminal.process.wait(60) == 0
    finally:
        terminal.process.kill()
        terminal.process.wait()
