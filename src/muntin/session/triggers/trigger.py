"""Triggers as sinks: an action for every row of a micro-batch, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from muntin.session.triggers.command import COMMAND, Command
from muntin.session.triggers.errors import ActionError
from muntin.session.triggers.ledger import Ledger
from muntin.session.triggers.webhook import WEBHOOK, Webhook
from muntin.spark.connectors.signature import BoundCall, Literal, Signature, named
from muntin.spark.connectors.sinks.row_text import lines_of
from muntin.spark.types import DataFrame

#: Done for a row, which is JSON; raises :class:`ActionError`.
Action = Callable[[str], None]
#: The actions that a trigger can take beside ``insert``, which is a sink.
ACTIONS: Mapping[str, tuple[Signature, Callable[[BoundCall], Action]]] = MappingProxyType(
    {"webhook": (WEBHOOK, Webhook.of), "command": (COMMAND, Command.of)}
)


def action_of(name: str, arguments: Sequence[Literal], options: Mapping[str, Literal]) -> Action:
    """The action ``name(arguments, options)``."""
    signature, make = ACTIONS[named("action", name, [*ACTIONS])]
    return make(signature.bind(arguments, options))


@dataclass
class Trigger:
    """A sink that does something for every row; what fails is kept and counted, nothing stops."""

    action: Action
    ledger: Ledger
    fired: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Fire for the rows of a micro-batch that were not done before."""
        # In one order, whichever partition comes first: what is done is known by its number.
        lines = sorted(lines_of(rows, "json"))
        for line in lines[self.ledger.done(number) :]:
            self._fire(line)
            self.ledger.note(number)
        self.ledger.forget_before(number)

    def _fire(self, line: str) -> None:
        try:
            self.action(line)
            self.fired += 1
        except Exception as error:  # an action must not stop the stream, whatever it does
            self.failed += 1
            said = str(error) if isinstance(error, ActionError) else repr(error)
            self.ledger.note_failed(line, said)
