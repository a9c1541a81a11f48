"""Triggers as sinks: one action for every row of a micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from muntin.errors import ActionError
from muntin.session.triggers.command import COMMAND, Command
from muntin.session.triggers.ledger import Ledger
from muntin.session.triggers.webhook import WEBHOOK, Webhook
from muntin.spark.connectors.signature import BoundCall, Literal, Signature, named
from muntin.spark.connectors.sinks.stdout import lines_of
from muntin.spark.types import DataFrame

#: What is done for a row, which is JSON; raises :class:`muntin.errors.ActionError`.
Action = Callable[[str], None]
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
            self.ledger.note_failed(line, reason)
