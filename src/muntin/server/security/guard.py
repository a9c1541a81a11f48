"""The guard in front of all resources: host, origin, token, rate and size of every request."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muntin.server.problems import HttpError, problem_bytes
from muntin.server.security.audit import AuditLog
from muntin.server.security.origins import check_host, check_origin, check_same_page
from muntin.server.security.page_sessions import COOKIE, Sessions
from muntin.server.security.rates import Rates
from muntin.server.security.roles import Caller

#: Headers of every answer.
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
}
#: Methods that change nothing.
_LOOKS = ("GET", "HEAD", "OPTIONS")
#: Statuses of refusals that are noted whatever was asked.
_NOTED = (401, 403, 413, 421, 429)
#: The path of logging in, whose body is never noted.
_LOGIN = "/session"


@dataclass(frozen=True)
class GuardSettings:
    """What the guard lets through.

    Args:
        loopback: Whether the service listens to this machine only.
        names: Names of hosts that the service has besides.
        most_body: The bytes of the largest request.
        calls_a_minute: The requests of one caller in a minute.
    """

    loopback: bool = True
    names: Collection[str] = field(default_factory=tuple)
    most_body: int = 1024 * 1024
    calls_a_minute: int = 6_000


class Guard:
    """Looks at every request before a resource does; refuses it, or notes who sent it.

    Args:
        app: The resources.
        settings: What it lets through.
        sessions: Who has which role.
        audit: Where changes and refusals are noted; nowhere by default.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: GuardSettings,
        sessions: Sessions,
        audit: AuditLog | None = None,
    ) -> None:
        self._app = app
        self._settings = settings
        self._sessions = sessions
        self._audit = audit
        self._rates = Rates(settings.calls_a_minute)
        self.answered: dict[int, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
            return
        request = _Request(scope, receive, send, self._settings.most_body)
        try:
            self._check(request)
        except HttpError as refusal:
            await request.refuse(refusal)
        else:
            await self._app(scope, request.receive, request.send)
        finally:
            self._note(request)

    def _check(self, request: _Request) -> None:
        """Find out who sent a request; raise if nothing may be asked this way."""
        headers, address = request.headers, request.address
        host = headers.get("host", "")
        check_host(host, loopback=self._settings.loopback, names=self._settings.names)
        check_origin(headers.get("origin"), headers.get("sec-fetch-site"), host)
        shown, cookie = headers.get("authorization"), cookie_of(headers.get("cookie", ""))
        caller = request.caller = self._sessions.caller(shown, cookie, address)
        request.scope["muntin.caller"] = caller
        if not self._rates.take(f"{caller.name or ''} {address}"):
            raise HttpError(
                429,
                f"more than {self._settings.calls_a_minute:,} requests came in a minute",
                "wait a moment; the events of a page are one request",
                {"Retry-After": "1"},
            )
        by_cookie = self._sessions.token_needed and shown is None and cookie is not None
        if by_cookie and request.method not in _LOOKS:
            check_same_page(headers.get("origin"), headers.get("sec-fetch-site"))
        request.check_size()

    def _note(self, request: _Request) -> None:
        status = request.status
        self.answered[status] = self.answered.get(status, 0) + 1
        if self._audit is None or (request.method in _LOOKS and status not in _NOTED):
            return
        body = b"" if request.path.endswith(_LOGIN) else bytes(request.body)
        self._audit.note(
            *(request.caller, request.address, request.method, request.path, status, body)
        )


class _Request:
    """A request on its way: what was read of it, and the status of its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        self.scope = scope
        self._receive, self._send, self._most = receive, send, most
        self.headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        self.method, self.path = str(scope["method"]), str(scope["path"])
        self.address = str((scope.get("client") or ("",))[0])
        self.caller: Caller | None = None
        self.body = bytearray()
        self.status = 0

    def check_size(self) -> None:
        """Raise if the body is larger than it may be, by its header."""
        length = self.headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length[:20]) > self._most:
            raise self._too_large

    async def receive(self) -> Message:
        """Read a part of the body; raise when it is too large."""
        message = await self._receive()
        if message["type"] == "http.request":
            self.body += message.get("body", b"")
            if len(self.body) > self._most:
                # What FastAPI lets through when it reads a body.
                raise HTTPException(413, self._too_large.what)
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer, with the headers that all answers have."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            own = [*message.get("headers", [])]
            there = {name.lower() for name, _ in own}
            own += [
                (name.encode(), value.encode())
                for name, value in HEADERS.items()
                if name.encode() not in there
            ]
            message = {**message, "headers": own}
        await self._send(message)

    async def refuse(self, refusal: HttpError) -> None:
        """Send a refusal as the whole answer."""
        body = problem_bytes(refusal)
        headers: list[tuple[bytes, bytes]] = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        headers += [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
        start: dict[str, Any] = {
            "type": "http.response.start",
            "status": refusal.status,
            "headers": headers,
        }
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})

    @property
    def _too_large(self) -> HttpError:
        return HttpError(
            413, f"the request is larger than {self._most:,} bytes", "send a shorter text"
        )


def cookie_of(header: str) -> str | None:
    """Return the session's cookie; None if there is none."""
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value
