"""Texts of SQL that come over HTTP: checked as ``--safe`` checks them, and by role.

The streams, sinks and triggers that the administrator's file has are not checked: they are as
configured. What comes over the network can use them, and name nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from muntin.engine.sinks.query_sinks import read_call
from muntin.parser.engine_statements import QueryCommand
from muntin.parser.parse import parse, parse_query
from muntin.parser.statements import Explain, Select, Show, Statement
from muntin.server.security.roles import Role
from muntin.session.safe.safe_mode import SafeMode

#: Statements that change nothing of others.
_LOOKS = (Select, Show, Explain)


@dataclass(frozen=True)
class SafeTexts:
    """Checks texts before the engine gets them.

    Args:
        root: The folder below which files may be read and written; None if there are none.
    """

    root: Path | None = None

    @property
    def mode(self) -> SafeMode:
        mode = SafeMode.of(True, self.root)
        assert mode is not None
        return mode

    def check_query(self, text: str) -> None:
        """Raise if a query may not be run."""
        query = parse_query(text)
        self.mode.check(query.text, [Select(query, query.place)])

    def check_statements(self, text: str) -> Role:
        """Raise if statements may not be run; return the role that they need."""
        statements = parse(text)
        self.mode.check(text, statements)
        return max((_role(statement) for statement in statements), default=Role.ASK)

    def check_condition(self, text: str) -> None:
        """Raise if a condition on rows may not be evaluated."""
        self.check_query(f"SELECT * FROM rows_here WHERE (\n{text}\n)")

    def check_call(self, name: str, text: str) -> None:
        """Raise if a sink or an action may not be used."""
        call = read_call(name, name, text)
        self.mode.check_call(call.connector, call.arguments, call.options)


def _role(statement: Statement) -> Role:
    asks = isinstance(statement, QueryCommand) and statement.command == "INVOKE"
    return Role.ASK if asks or isinstance(statement, _LOOKS) else Role.ADMINISTER
