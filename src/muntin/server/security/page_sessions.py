"""Who sent a request: by the token of its header, or by the cookie of a page that logged in."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from muntin.errors import EngineError
from muntin.server.problems import HttpError
from muntin.server.security.rates import Rates
from muntin.server.security.roles import Caller, Role
from muntin.server.security.tokens import TokenFile, TokenLine, digest_of

#: The cookie of a page that has logged in.
COOKIE = "muntin_session"
#: Seconds until a page must log in again, and how many may be logged in at a time.
LASTS, MOST = 12 * 3600, 10_000
#: How many wrong tokens an address may show in a minute.
WRONG_A_MINUTE = 20
_BEARER = "bearer "


@dataclass(frozen=True)
class PageSession:
    """A page that has logged in: the hash of its token, and until when."""

    digest: str
    until: float


class Sessions:
    """Knows callers by tokens and cookies. Without a token file everybody may do everything.

    Args:
        tokens: The token file; None if the service listens to this machine only.
    """

    def __init__(self, tokens: TokenFile | None = None) -> None:
        self._tokens = tokens
        self._sessions: OrderedDict[str, PageSession] = OrderedDict()
        self._lock = threading.Lock()
        self._wrong = Rates(WRONG_A_MINUTE)

    @property
    def token_needed(self) -> bool:
        """Whether a caller needs a token."""
        return self._tokens is not None

    def caller(self, authorization: str | None, cookie: str | None, address: str) -> Caller:
        """Return whoever shows a header or a cookie; without a role if neither is known.

        Raises:
            HttpError: The token is wrong, or the address has shown too many wrong ones.
        """
        if self._tokens is None:
            return Caller(Role.ADMINISTER, None, address)
        if authorization is not None:
            if authorization[: len(_BEARER)].lower() != _BEARER:
                raise _wrong_token()
            line = self._known(authorization[len(_BEARER) :].strip(), address)
            return Caller(line.role, line.name, address)
        own = None if cookie is None else self._line_of(cookie)
        return Caller(None, None, address) if own is None else Caller(own.role, own.name, address)

    def log_in(self, token: str, address: str) -> tuple[Caller, str]:
        """Return the caller with a token, and the value of the cookie for its page."""
        if self._tokens is None:
            return Caller(Role.ADMINISTER, None, address), ""
        line = self._known(token, address)
        cookie = secrets.token_urlsafe(32)
        with self._lock:
            self._sessions[digest_of(cookie)] = PageSession(line.digest, time.time() + LASTS)
            while len(self._sessions) > MOST:
                self._sessions.popitem(last=False)
        return Caller(line.role, line.name, address), cookie

    def log_out(self, cookie: str | None) -> None:
        """Forget a cookie."""
        if cookie is not None:
            with self._lock:
                self._sessions.pop(digest_of(cookie), None)

    def _known(self, token: str, address: str) -> TokenLine:
        assert self._tokens is not None
        if not self._wrong.room(address):
            raise HttpError(
                429,
                "too many wrong tokens came from this address",
                "wait a minute",
                {"Retry-After": "60"},
            )
        line = self._find(token)
        if line is None:
            self._wrong.take(address)
            raise _wrong_token()
        return line

    def _find(self, token: str) -> TokenLine | None:
        assert self._tokens is not None
        try:
            return self._tokens.find(token)
        except EngineError as error:  # somebody is editing the file, or made it readable by all
            raise HttpError(503, "the token file cannot be used", "see the server's log") from error

    def _line_of(self, cookie: str) -> TokenLine | None:
        """Return the line of the token with which a page logged in; None if it is over."""
        key = digest_of(cookie)
        with self._lock:
            session = self._sessions.get(key)
            if session is not None and session.until < time.time():
                del self._sessions[key]
                session = None
        if session is None or self._tokens is None:
            return None
        try:
            return self._tokens.by_digest(session.digest)
        except EngineError:
            return None


def _wrong_token() -> HttpError:
    return HttpError(
        401,
        "this token is not known",
        "ask whoever runs the server for one: muntin token ROLE makes it",
        {"WWW-Authenticate": "Bearer"},
    )
