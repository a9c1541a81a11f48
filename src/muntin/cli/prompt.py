"""Reading statements from a terminal: several lines to one, with history and completion."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from muntin.cli.completions import call_names, paths, words
from muntin.parser.lexer import ends_statement

PROMPT, MORE = "muntin> ", "   ...> "
_KEPT_LINES = 2000
#: The commands of the shell itself; those with a dot may have a file after them.
_COMMANDS = ("exit", "quit", "help", "\\q", "\\?", "\\h")
DOTTED = (".read", ".output", ".help", ".exit", ".quit", ".tables")


def is_complete(text: str) -> bool:
    """Return whether a text ends with the semicolon of its last statement.

    >>> is_complete("SELECT 1;"), is_complete("SELECT ';'"), is_complete("SELECT 1; -- more;")
    (True, False, True)
    """
    return ends_statement(text)


def read(ask: Callable[[str], str], *, piped: bool = False) -> str | None:
    """Return the next statement, or None at the end of input; Ctrl-C discards what was typed.

    An empty line sends what was typed, whether it is complete or not. In a text that is ``piped``
    it does not, and the end of the text does.
    """
    lines: list[str] = []
    while True:
        try:
            line = ask(MORE if lines else PROMPT)
        except EOFError:
            return "\n".join(lines) if piped and lines else None
        except KeyboardInterrupt:
            print()
            lines = []
            continue
        if not line.strip():
            if lines and not piped:
                return "\n".join(lines)
            continue
        lines.append(line)
        if is_complete("\n".join(lines)) or (len(lines) == 1 and is_command(line)):
            return "\n".join(lines)


def is_command(line: str) -> bool:
    """Return whether a line is a command of the shell itself."""
    words = line.strip().rstrip(";").lower().split()
    return bool(words) and (words[0] in DOTTED or (len(words) == 1 and words[0] in _COMMANDS))


class Completer:
    """Completes the beginning of a word, for readline; in quotes that of a file.

    ``before`` returns what is typed before the word.
    """

    def __init__(
        self, names: Callable[[], Iterable[str]], before: Callable[[], str] = lambda: ""
    ) -> None:
        self._names = names
        self._before = before
        self._matches: list[str] = []

    def typed_before(self, before: Callable[[], str]) -> None:
        """Look at what is typed before a word with this function."""
        self._before = before

    def __call__(self, beginning: str, number: int) -> str | None:
        if number == 0:
            self._matches = self.matches(beginning)
        return self._matches[number] if number < len(self._matches) else None

    def matches(self, beginning: str) -> list[str]:
        """Return what a beginning can become: names as they are spelled, then words in its case."""
        if self._before().count("'") % 2:
            return paths(beginning)
        small = beginning.casefold()
        names = sorted({name for name in self._names() if name.casefold().startswith(small)})
        found = [word for word in words() if word.casefold().startswith(small)]
        if beginning.islower():
            found = [word.lower() for word in found]
        calls = sorted({name for name in call_names() if name.casefold().startswith(small)})
        files = paths(beginning) if beginning else []
        return list(dict.fromkeys([*names, *found, *calls, *files]))


def history_file() -> Path:
    """Return the file that keeps lines from one session to the next."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "muntin" / "history"


def prepare(completer: Completer) -> Callable[[], None]:
    """Turn on history and completion; return a function that saves the history."""
    try:
        import readline
    except ImportError:  # a Python without it still reads lines
        return lambda: None
    path = history_file()
    with suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(_KEPT_LINES)
    completer.typed_before(lambda: readline.get_line_buffer()[: readline.get_begidx()])
    readline.set_completer(completer)
    # Without / and -, which are in the names of files.
    readline.set_completer_delims(" \t\n,()[]=<>+*;'\"")
    readline.parse_and_bind("tab: complete")

    def save() -> None:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)

    return save
