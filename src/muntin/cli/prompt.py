"""Reading statements from a terminal: several lines to one, with history and completion."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from sqlglot.tokenizer_core import TokenType

from muntin.parser.errors import SqlError
from muntin.parser.lexer import lex

PROMPT, MORE = "muntin> ", "   ...> "
_KEPT_LINES = 2000
#: What can be completed besides names: the words that begin statements, clauses and windows.
WORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "WITH", "UNION ALL"),
    *("CREATE", "STREAM", "TABLE", "QUERY", "TRIGGER", "INTO", "LATE", "DO", "EXPLAIN", "DROP"),
    *("ON", "BY", "DISORDER", "SLACK", "SCHEDULE", "ALTER", "PAUSE", "RESUME", "INVOKE"),
    *("SHOW", "STREAMS", "TABLES", "QUERIES", "TRIGGERS"),
    *("RANGE", "SLIDE", "WATTR", "PATTR", "RATTR", "SATTR", "ROWS", "LANDMARK", "FRAME", "FILL"),
    *("THRESHOLD", "BOUNDARY", "DELTA", "TREND", "LASTING", "BEFORE", "AFTER"),
)


def is_complete(text: str) -> bool:
    """Return whether a text ends with the semicolon of its last statement.

    >>> is_complete("SELECT 1;"), is_complete("SELECT ';'"), is_complete("SELECT 1; -- more;")
    (True, False, True)
    """
    try:
        tokens = lex(text).tokens
    except SqlError:
        return False  # a quote that is still open
    return bool(tokens) and tokens[-1].token_type is TokenType.SEMICOLON


def read(ask: Callable[[str], str]) -> str | None:
    """Return the next statement, or None at the end of input; Ctrl-C discards what was typed.

    An empty line sends what was typed, whether it is complete or not.
    """
    lines: list[str] = []
    while True:
        try:
            line = ask(MORE if lines else PROMPT)
        except EOFError:
            return None
        except KeyboardInterrupt:
            print()
            lines = []
            continue
        if not line.strip():
            if lines:
                return "\n".join(lines)
            continue
        lines.append(line)
        if is_complete("\n".join(lines)) or (len(lines) == 1 and is_command(line)):
            return "\n".join(lines)


def is_command(line: str) -> bool:
    """Return whether a line is a command of the shell itself."""
    return line.strip().rstrip(";").lower() in ("exit", "quit", "help", "\\q", "\\?", "\\h")


class Completer:
    """Completes the beginning of a word, for readline."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names
        self._matches: list[str] = []

    def __call__(self, beginning: str, number: int) -> str | None:
        if number == 0:
            self._matches = self.matches(beginning)
        return self._matches[number] if number < len(self._matches) else None

    def matches(self, beginning: str) -> list[str]:
        """Return what a beginning can become: names as they are spelled, then words in its case."""
        small = beginning.casefold()
        names = [name for name in self._names() if name.casefold().startswith(small)]
        words = [word for word in WORDS if word.casefold().startswith(small)]
        if beginning.islower():
            words = [word.lower() for word in words]
        return [*sorted(set(names)), *words]


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
    readline.set_completer(completer)
    readline.set_completer_delims(" \t\n,()[]=<>+-*/;'\"")
    readline.parse_and_bind("tab: complete")

    def save() -> None:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)

    return save
