"""Who a caller is, and what a role may do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from muntin.server.problems import HttpError


class Role(IntEnum):
    """What a caller may do; each role may do what those before it may.

    ``READ`` sees queries, answers and figures. ``ASK`` also runs one-off statements, previews and
    taps, which change no query of others. ``ADMINISTER`` also adds, changes and drops queries.
    """

    READ = 1
    ASK = 2
    ADMINISTER = 3

    @property
    def word(self) -> str:
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> Role:
        """Return a role by its word.

        >>> Role.of("ask") < Role.ADMINISTER
        True
        """
        for role in cls:
            if role.word == word:
                return role
        raise ValueError(f"{word!r} is no role: it is {', '.join(role.word for role in cls)}")


@dataclass(frozen=True)
class Caller:
    """Whoever sent a request.

    Args:
        role: What they may do; None if they have not shown a token.
        name: Their name, as the token file has it; None without a token.
        address: The address from which they called.
    """

    role: Role | None
    name: str | None = None
    address: str = ""

    def check(self, needed: Role) -> None:
        """Raise if the caller may not do what a role may."""
        if self.role is None:
            raise HttpError(
                401,
                "this needs a token",
                "send the header Authorization: Bearer TOKEN, or log in on the page",
                {"WWW-Authenticate": "Bearer"},
            )
        if self.role < needed:
            raise HttpError(
                403,
                f"this needs the role {needed.word}; this token has the role {self.role.word}",
                f"use a token with the role {needed.word}",
            )
