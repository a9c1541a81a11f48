"""A program that runs for every row, which it gets as JSON on standard input.

The text is split into words once. Then values replace ``{column}`` inside words. No shell reads any
of it, so a value can never be more than a part of a word. Where the program itself would read such
a word as code, as in ``sh -c "echo {x}"``, or the row on its standard input, as ``sh`` alone does,
the command is refused: a value is data. Nor is a text that begins with ``-`` taken for an option.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass

from muntin.errors import ActionError, ArgumentError
from muntin.session.triggers.words_as_code import PLACE, code_in, takes_options
from muntin.spark.connectors.signature import BoundCall, Parameter, Signature

COMMAND = Signature(
    "command",
    (Parameter("line", str, required=True), Parameter("timeout", float, 30.0, positive=True)),
)


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
        why = code_in(words)
        if why is not None:
            raise ArgumentError("line", line, why)
        timeout = bound.values["timeout"]
        assert isinstance(timeout, float)
        return cls(words, timeout)

    def __call__(self, row: str, key: str | None = None) -> None:
        """Run the program for a row, which is JSON; its environment has ``MUNTIN_KEY``, the key."""
        words = self.filled(json.loads(row))
        environment = None if key is None else {**os.environ, "MUNTIN_KEY": key}
        try:
            done = subprocess.run(
                words,
                input=row.encode(),
                capture_output=True,
                timeout=self.timeout,
                check=False,
                env=environment,
            )
        except subprocess.TimeoutExpired:  # whose text has all words, with what is in them
            raise ActionError(f"{self.name}: no end after {self.timeout:g} seconds") from None
        # A NUL in a value, which no word of a command can have, is a ValueError.
        except (OSError, ValueError) as error:
            raise ActionError(f"{self.name}: {getattr(error, 'strerror', None) or error}") from None
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            last = lines[-1] if lines else ""
            raise ActionError(f"{self.name}: exit code {done.returncode} {last}")

    @property
    def name(self) -> str:
        """The program; its arguments may be secret."""
        return self.words[0]

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

        filled = [PLACE.sub(replacement, word) for word in self.words]
        for number, (word, written) in enumerate(zip(filled, self.words, strict=True)):
            first = PLACE.match(written)
            text = first is not None and isinstance(values[first[1]], str)
            if text and word.startswith("-") and takes_options(self.words[:number]):
                raise ActionError(
                    f"{self.name} would read the value {word[:40]!r} as an option; write -- before "
                    f"{written}, or read the row from standard input"
                )
        return filled
