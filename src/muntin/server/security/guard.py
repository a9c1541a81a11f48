"""The guard in front of all resources: host, origin, token, size and rate of every request."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muntin.server.problems import HttpError, problem_bytes
from muntin.server.security.origins import check_host, check_origin
from muntin.server.security.page_sessions import COOKIE, Sessions
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


@dataclass(frozen=True)
class GuardSettings:
    """What the guard lets through.

    Args:
        loopback: Whether the service listens to this machine only.
        names: Names of hosts that the service has besides.
        most_body: The bytes of the largest request.
    """

    loopback: bool = True
    names: Collection[str] = field(default_factory=tuple)
    most_body: int = 1024 * 1024


class Guard:
    """Looks at every request before a resource does; refuses it, or notes who sent it."""

    def __init__(self, app: ASGIApp, settings: GuardSettings, sessions: Sessions) -> None:
        self._app = app
        self._settings = settings
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        guarded = with_headers(send)
        try:
            scope["muntin.caller"] = self._checked(scope)
            limited = limited_body(scope, receive, self._settings.most_body)
        except HttpError as refusal:
            await send_problem(guarded, refusal)
            return
        await self._app(scope, limited, guarded)

    def _checked(self, scope: Scope) -> Caller:
        """Return whoever sent a request; raise if nothing may be asked this way."""
        headers = headers_of(scope)
        host = headers.get("host", "")
        check_host(host, loopback=self._settings.loopback, names=self._settings.names)
        check_origin(headers.get("origin"), headers.get("sec-fetch-site"), host)
        address = str((scope.get("client") or ("",))[0])
        return self._sessions.caller(
            headers.get("authorization"), cookie_of(headers.get("cookie", "")), address
        )


def headers_of(scope: Scope) -> dict[str, str]:
    """Return the headers of a request; of one that is there twice, the last."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def cookie_of(header: str) -> str | None:
    """Return the session's cookie; None if there is none."""
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value


def limited_body(scope: Scope, receive: Receive, most: int) -> Receive:
    """Return what reads the body of a request, and raises where it is too large."""
    length = headers_of(scope).get("content-length", "0")
    if not length.isdigit() or int(length) > most:
        raise _too_large(most)
    read = 0

    async def limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            raise _too_large(most)
        return message

    return limited


def _too_large(most: int) -> HttpError:
    return HttpError(413, f"the request is larger than {most:,} bytes", "send a shorter text")


def with_headers(send: Send) -> Send:
    """Return what sends an answer with the headers that all answers have."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [*message.get("headers", [])]
            there = {name.lower() for name, _ in own}
            own += [
                (name.encode(), value.encode())
                for name, value in HEADERS.items()
                if name.encode() not in there
            ]
            message = {**message, "headers": own}
        await send(message)

    return sent


async def send_problem(send: Send, refusal: HttpError) -> None:
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
    await send(start)
    await send({"type": "http.response.body", "body": body})
