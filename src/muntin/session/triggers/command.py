"""A program that runs for every row, which it gets as JSON on standard input.

The text is split into words once. Then values replace ``{column}`` inside words. No shell reads any
of it, so a value can never be more than a part of a word. Where the program itself would read such
a word as code, as in ``sh -c "echo {x}"``, the command is refused: a value is data.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from muntin.errors import ActionError, ArgumentError
from muntin.spark.connectors.signature import BoundCall, Parameter, Signature

COMMAND = Signature(
    "command",
    (Parameter("line", str, required=True), Parameter("timeout", float, 30.0, positive=True)),
)
_PLACE = re.compile(r"\{([^{}]+)\}")
#: Programs that read a word as code: after these options, or in any word.
_SHELLS = ("sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "csh", "tcsh", "busybox")
_AFTER_OPTION = {
    **dict.fromkeys((*_SHELLS, "su", "runuser", "flock", "script"), ("-c", "--command")),
    **dict.fromkeys(("python", "psql"), ("-c", "--command")),
    **dict.fromkeys(("perl", "ruby", "node", "mysql"), ("-e", "-E", "--eval", "--execute")),
    **dict.fromkeys(("php", "Rscript", "lua", "osascript"), ("-r", "-e")),
    "env": ("-S", "--split-string"),
}
_IN_ANY_WORD = ("awk", "gawk", "mawk", "ssh", "eval", "watch", "parallel", "sqlite3", "sed", "jq")


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
        _check_no_code(line, words)
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


def _check_no_code(line: str, words: tuple[str, ...]) -> None:
    """Raise if a value would become part of a word that a program reads as code."""
    for place, word in enumerate(words):
        if not _PLACE.search(word):
            continue
        for before, program in enumerate(words[:place]):
            name = Path(program).name
            options = _AFTER_OPTION.get(name.rstrip("0123456789."), ())
            between = words[before + 1 : place]
            # The code follows its option, perhaps after other options.
            last = [*itertools.takewhile(lambda given: given.startswith("-"), reversed(between))]
            if any(_is_option(given, options) for given in last) or name in _IN_ANY_WORD:
                raise ArgumentError(
                    "line",
                    line,
                    f"{name} would read the value of {word} as code; read the row from standard "
                    "input, where it is JSON, or give values as words after the code: "
                    "sh -c 'echo \"$1\"' sh {column}",
                )


def _is_option(word: str, options: tuple[str, ...]) -> bool:
    """Return whether a word is one of some options; ``-ec`` is ``-e`` and ``-c``."""
    letters = {option[1] for option in options if len(option) == 2}
    joined = word.startswith("-") and not word.startswith("--") and word[-1:] in letters
    return bool(options) and (word in options or joined)
