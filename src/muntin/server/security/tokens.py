"""The token file: who may do what. A line each: a role, the hash of a token, and a name.

    administer sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 ada

The tokens themselves are nowhere on the server. They are long and random, made by ``muntin token``,
so a fast hash is enough: nobody can try them all.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

from muntin.errors import EngineError
from muntin.server.security.roles import Role

_HASH = "sha256:"
_HEX = re.compile(r"[0-9a-f]{64}")
#: What a token begins with, so that it is known for one where it should not be.
PREFIX = "muntin_"


@dataclass(frozen=True)
class TokenLine:
    """A line of the token file."""

    role: Role
    digest: str
    name: str


def new_token(role: Role, name: str) -> tuple[str, str]:
    """Return a new token, and the line for the token file that knows it."""
    token = PREFIX + secrets.token_urlsafe(32)
    return token, f"{role.word} {_HASH}{digest_of(token)} {name}"


def digest_of(token: str) -> str:
    """Return the hash of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def read_lines(text: str, place: str = "the token file") -> list[TokenLine]:
    """Return the lines of a token file; empty ones and those with ``#`` say nothing.

    >>> [line.name for line in read_lines("read sha256:" + "0" * 64 + " bob")]
    ['bob']
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        found.append(_read_line(words, f"{place}, line {number}"))
    return found


def _read_line(words: list[str], place: str) -> TokenLine:
    # The hash is not shown: somebody may have written the token itself.
    expected = "a line is: ROLE sha256:HASH NAME; muntin token ROLE --name NAME makes one"
    if len(words) not in (2, 3) or not words[1].startswith(_HASH):
        raise EngineError(f"{place} cannot be read; {expected}")
    try:
        role = Role.of(words[0])
    except ValueError as error:
        raise EngineError(f"{place}: {error}; {expected}") from None
    digest = words[1].removeprefix(_HASH).lower()
    if not _HEX.fullmatch(digest):
        raise EngineError(f"{place} has no hash of 64 hexadecimal digits; {expected}")
    return TokenLine(role, digest, words[2] if len(words) == 3 else role.word)


class TokenFile:
    """The tokens of a file, read again when it changes; a token that is taken out ends at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._lines: list[TokenLine] = []
        self._refresh()

    @property
    def lines(self) -> list[TokenLine]:
        """The lines as the file has them now."""
        with self._lock:
            self._refresh()
            return self._lines

    def find(self, token: str) -> TokenLine | None:
        """Return the line that knows a token; None if none does.

        Every line is compared, each in the same time whatever the token is.
        """
        return self.by_digest(digest_of(token))

    def by_digest(self, digest: str) -> TokenLine | None:
        """Return the line with a hash; None if it is not there any more."""
        found = None
        for line in self.lines:
            if hmac.compare_digest(line.digest, digest):
                found = line
        return found

    def _refresh(self) -> None:
        try:
            there = self._path.stat()
            seen = (there.st_mtime_ns, there.st_size)
            if seen == self._seen:
                return
            if stat.S_IMODE(there.st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
                raise EngineError(
                    f"the token file {self._path} can be read by others; chmod 600 {self._path}"
                )
            lines = read_lines(self._path.read_text(), str(self._path))
        except OSError as error:
            reason = error.strerror or str(error)
            raise EngineError(f"the token file {self._path} cannot be read: {reason}") from error
        if not lines:
            raise EngineError(
                f"the token file {self._path} has no tokens; muntin token administer makes a line"
            )
        self._lines, self._seen = lines, seen
