"""A program that runs for every row, which it gets as JSON on standard input.

The text is split into words once. Then values replace ``{column}`` inside words. No shell reads any
of it, so a value can never be more than a part of a word.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass

from muntin.errors import ActionError, ArgumentError
from muntin.spark.connectors.signature import BoundCall, Parameter, Signature

COMMAND = Signature(
    "command",
    (Parameter("line", str, required=True), Parameter("timeout", float, 30.0, positive=True)),
)
_PLACE = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Command:
    """Runs a program with the row on its standard input; an exit code above 0 is a failure."""

    words: tuple[str, ...]
    timeout: float

    @classmethod
    def of(cls, bound: BoundCall) -> Command:
        """Return the command that a call describes."""
        line = bound.text("line")
        try:
            words = tuple(shlex.split(line))
        except ValueError as error:
            raise ArgumentError("line", line, f"it cannot be split into words: {error}") from error
        if not words or shutil.which(words[0]) is None:
            raise ArgumentError("line", line, "there is no such program on the path")
        timeout = bound.values["timeout"]
        assert isinstance(timeout, float)
        return cls(words, timeout)

    def __call__(self, row: str) -> None:
        """Run the program for a row, which is JSON."""
        words = self.filled(json.loads(row))
        try:
            done = subprocess.run(
                words, input=row.encode(), capture_output=True, timeout=self.timeout, check=False
            )
        # A NUL in a value, which no word of a command can have, is a ValueError.
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise ActionError(f"{words[0]}: {error}") from error
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            last = lines[-1] if lines else ""
            raise ActionError(f"{words[0]}: exit code {done.returncode} {last}")

    def filled(self, values: dict[str, object]) -> list[str]:
        """Return the words with the values of a row.

        >>> Command(("echo", "{n} at {k}"), 1.0).filled({"n": 3, "k": "a; b"})
        ['echo', '3 at a; b']
        """

        def replacement(match: re.Match[str]) -> str:
            name = match[1]
            if name not in values:
                raise ActionError(f"there is no column {name}; there are {', '.join(values)}")
            value = values[name]
            return value if isinstance(value, str) else json.dumps(value)

        return [_PLACE.sub(replacement, word) for word in self.words]
