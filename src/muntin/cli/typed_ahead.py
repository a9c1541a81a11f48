"""What is typed while something runs: Ctrl-D leaves, and lines are run when it is over."""

from __future__ import annotations

import os
import select
import sys


class TypedAhead:
    """Looks at the terminal while nobody reads from it."""

    def __init__(self, *, interactive: bool) -> None:
        self._interactive = interactive and sys.stdin is not None and sys.stdin.isatty()
        self._lines: list[str] = []
        self.ended = False

    def look(self) -> bool:
        """Return whether Ctrl-D was pressed; keep lines that were typed."""
        while self._interactive and not self.ended and _is_ready():
            typed = os.read(sys.stdin.fileno(), 65536)
            if not typed:
                self.ended = True
            else:
                self._lines += typed.decode(errors="replace").splitlines()
        return self.ended

    def ask(self, prompt: str) -> str:
        """Return the next line: one that was typed ahead, or one that is typed now."""
        if self._lines:
            line = self._lines.pop(0)
            print(f"{prompt}{line}")
            return line
        if self.ended:
            raise EOFError
        return input(prompt)


def _is_ready() -> bool:
    ready, _, _ = select.select([sys.stdin], [], [], 0)
    return bool(ready)
