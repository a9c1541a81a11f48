"""Triggers as sinks: one action for every row of a micro-batch, and a ledger of rows done."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from muntin.errors import ActionError
from muntin.session.triggers.command import COMMAND, Command
from muntin.session.triggers.webhook import WEBHOOK, Webhook
from muntin.spark.columns import DataFrame
from muntin.spark.connectors.signature import BoundCall, Literal, Signature, named
from muntin.spark.connectors.sinks.stdout import lines_of
from muntin.specs.secrets import without

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


class Action(Protocol):
    """What is done for a row, which is JSON; raises :class:`muntin.errors.ActionError`.

    The key, if there is one, lets a receiver tell that it has the row already.
    """

    def __call__(self, row: str, key: str | None = None) -> None: ...


#: The actions of triggers, except ``insert``, which is a sink.
ACTIONS: Mapping[str, tuple[Signature, Callable[[BoundCall], Action]]] = MappingProxyType(
    {"webhook": (WEBHOOK, Webhook.of), "command": (COMMAND, Command.of)}
)


def action_of(name: str, arguments: Sequence[Literal], options: Mapping[str, Literal]) -> Action:
    """Return the action ``name(arguments, options)``."""
    signature, make = ACTIONS[named("action", name, [*ACTIONS])]
    return make(signature.bind(arguments, options))


@dataclass
class Trigger:
    """A sink that runs an action for every row; failures are kept and counted, and stop nothing."""

    action: Action
    ledger: Ledger
    secrets: tuple[str, ...] = field(default=(), repr=False)
    fired: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Fire for the rows of a micro-batch that are not done yet."""
        # Always in the same order, because the ledger knows a row only by its number.
        lines = sorted(lines_of(rows, "json"))
        for line in lines[self.ledger.done(number) :]:
            self._fire(line)
            self.ledger.note(number)
        self.ledger.forget_before(number)

    def _fire(self, line: str) -> None:
        try:
            self.action(line)
            self.fired += 1
        except Exception as error:  # an action must never stop the stream
            self.failed += 1
            reason = str(error) if isinstance(error, ActionError) else repr(error)
            reason = without(reason, self.secrets)
            self.ledger.note_failed(line, reason)
