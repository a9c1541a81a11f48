"""Which rows a trigger has fired for, so that a repeated micro-batch does not fire again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

#: How many micro-batches are kept. Spark repeats only the last one; the others are for people.
_KEPT = 20


@dataclass(frozen=True)
class Ledger:
    """A folder with a file for each micro-batch; the file has a byte for every row that is done.

    A row is noted after its action. If the process dies in between, that one row is done twice; no
    action over a network can do better without the help of its receiver.
    """

    folder: Path

    def done(self, number: int) -> int:
        """Return how many rows of a micro-batch are done."""
        path = self._path(number)
        return path.stat().st_size if path.exists() else 0

    def note(self, number: int) -> None:
        """Note that one more row of a micro-batch is done."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._path(number).open("ab") as file:
            file.write(b".")

    def note_failed(self, row: str, reason: str) -> None:
        """Keep a row whose action failed, with the reason."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "failed.jsonl").open("a") as file:
            file.write(json.dumps({"reason": reason, "row": json.loads(row)}) + "\n")

    def forget_before(self, number: int) -> None:
        """Remove old micro-batches, which are not needed any more."""
        self.forget(number - _KEPT)

    def forget(self, number: int) -> None:
        """Note that no row of a micro-batch is done."""
        self._path(number).unlink(missing_ok=True)

    def clear(self) -> None:
        """Note that nothing is done; rows that failed stay, for people."""
        for path in self.folder.glob("*.done"):
            path.unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}.done"
