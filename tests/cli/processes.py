"""Runs ``muntin`` in a process of its own, with a Spark of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.sessions import JAVA

ROOT = Path(__file__).parents[2]
CALLS = Path(__file__).with_name("program_calls.py")
WORDS = [sys.executable, "-m", "muntin.cli"]
#: Small, so that several can run at the same time as the session of the tests.
SMALL = [
    *("--master", "local[2]"),
    *("--conf", "spark.driver.memory=1g"),
    *("--conf", f"spark.driver.extraJavaOptions={JAVA}"),
]


@dataclass(frozen=True)
class CommandResult:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.err.splitlines() if line.startswith("{")]


def environment() -> dict[str, str]:
    """Return an environment in which programs find this Muntin and the modules of the tests."""
    places = os.pathsep.join(map(str, [ROOT / "src", ROOT]))
    return {**os.environ, "PYTHONPATH": places, "PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True)
class Commands:
    """A process with a Spark of its own that runs commands one after the other."""

    process: subprocess.Popen[str]

    def call(self, *words: str | Path) -> CommandResult:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(word) for word in words]) + "\n")
        self.process.stdin.flush()
        return CommandResult(*json.loads(self.process.stdout.readline()))


@contextmanager
def commands(options: Sequence[str]) -> Iterator[Commands]:
    """Start such a process with these options."""
    words = [sys.executable, str(CALLS), *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=environment(), stdin=pipe, stdout=pipe, text=True) as process:
        yield Commands(process)


def ran(
    words: Sequence[str | Path], seconds: float = 240, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*WORDS, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environment(),
        input=stdin,
        check=False,
    )
