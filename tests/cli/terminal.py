"""A terminal of tmux in which a command runs, as a person sees it."""

from __future__ import annotations

import shlex
import subprocess
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from tests.cli.processes import SMALL, WORDS, environment


class Terminal:
    """A terminal in which a command runs."""

    def __init__(self, command: str) -> None:
        self.name = f"muntin-{uuid.uuid4().hex[:8]}"
        size = ["-x", "130", "-y", "40"]
        self._tmux("new-session", "-d", "-s", self.name, *size, command)

    @classmethod
    def running(cls, folder: Path, words: Sequence[str]) -> Terminal:
        """Return a terminal in which a command of muntin runs, in a folder of its own."""
        variables = {**environment(), "XDG_STATE_HOME": str(folder)}
        names = ("PYTHONPATH", "XDG_STATE_HOME", "PATH", "HOME")
        exports = [f"export {n}='{variables[n]}'" for n in names if n in variables]
        command = shlex.join([*WORDS, *words, *SMALL])
        script = folder / "start.sh"
        # Ctrl-C reaches this shell too, which must survive to print the exit code.
        lines = ["trap : INT", *exports, f"cd {folder}", command, "echo ended with $?", "sleep 60"]
        script.write_text("\n".join(lines))
        return cls(f"sh {script}")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.name, *words], capture_output=True, text=True, check=False
        )
        return done.stdout

    def type(self, line: str) -> None:
        # tmux reads a semicolon at the end as the end of its own command.
        self.write(f"{line[:-1]}\\;" if line.endswith(";") else line)
        self.press("Enter")

    def write(self, text: str) -> None:
        self._tmux("send-keys", "-t", self.name, "-l", text)

    def press(self, key: str) -> None:
        self._tmux("send-keys", "-t", self.name, key)

    def text(self) -> str:
        return self._tmux("capture-pane", "-p", "-S", "-200", "-t", self.name)

    def wait_for(self, wanted: str, seconds: float = 120) -> str:
        until = time.monotonic() + seconds
        while wanted not in (shown := self.text()):
            assert time.monotonic() < until, f"{wanted!r} did not come:\n{shown}"
            time.sleep(0.3)
        return shown

    def close(self) -> None:
        self._tmux("kill-server")
