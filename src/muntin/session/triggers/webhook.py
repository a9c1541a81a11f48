"""A web request for every row: its JSON is posted to an address."""

from __future__ import annotations

import base64
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO
from urllib.parse import SplitResult, unquote, urlsplit

from muntin.errors import ActionError, ArgumentError
from muntin.spark.connectors.signature import BoundCall, Parameter, Signature
from muntin.specs.secrets import HIDDEN, origin_of, without

WEBHOOK = Signature(
    "webhook",
    (
        Parameter("url", str, required=True, private=True),
        Parameter("timeout", float, 10.0, positive=True),
        Parameter("attempts", int, 3, positive=True),
        Parameter("token", str, secret=True),
    ),
)
#: Seconds before the second attempt; doubled before each further one.
_PAUSE = 0.5


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: that would lose the row and send the token elsewhere."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> None:
        return None


@dataclass(frozen=True)
class Webhook:
    """Posts a row to an address; an answer other than 2xx is a failure and is tried again.

    A user and a password before the host, as in ``https://me:secret@example.org/x``, are sent as
    basic authentication. Errors show the host of the address, and nothing else of it.
    """

    url: str = field(repr=False)
    timeout: float
    attempts: int
    token: str | None = field(default=None, repr=False)
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def of(cls, bound: BoundCall) -> Webhook:
        """Return the webhook that a call describes."""
        url = bound.text("url")
        shown = origin_of(url)
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise ArgumentError("url", shown, f"it is no web address: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.netloc or not url.isprintable():
            example = "'https://example.org/x'"
            raise ArgumentError("url", shown, f"it is a web address, such as {example}")
        _check_host(parts, shown)
        timeout = bound.values["timeout"]
        assert isinstance(timeout, float)
        token = bound.maybe("token")
        if token is not None and not token.isprintable():
            raise ArgumentError("token", HIDDEN, "it is one line, without control characters")
        if token is not None and "@" in parts.netloc:
            expected = "the address has a user already; give one of the two"
            raise ArgumentError("token", HIDDEN, expected)
        return cls(url, timeout, bound.number("attempts"), token)

    def __call__(self, row: str, key: str | None = None) -> None:
        """Post a row, which is JSON; the header ``Idempotency-Key`` has its key, if given."""
        for attempt in range(self.attempts):
            if attempt:
                self.sleep(_PAUSE * 2 ** (attempt - 1))
            reason = self._post(row, key)
            if reason is None:
                return
        times = f", {self.attempts} times" if self.attempts > 1 else ""
        reason = without(str(reason), self.secrets)
        raise ActionError(f"{origin_of(self.url)}: {reason}{times}")

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may show."""
        _, user = self._address()
        return tuple(secret for secret in (self.url, self.token, user) if secret is not None)

    def _address(self) -> tuple[str, str | None]:
        """Return the address without its user, and the user with the password."""
        parts = urlsplit(self.url)
        user, at, place = parts.netloc.rpartition("@")
        return parts._replace(netloc=place, fragment="").geturl(), unquote(user) if at else None

    def _post(self, row: str, key: str | None) -> str | None:
        """Post a row; return why that failed, or None."""
        headers = {"Content-Type": "application/json"}
        address, user = self._address()
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        elif user is not None:
            headers["Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            request = urllib.request.Request(address, row.encode(), headers, method="POST")
            opener = urllib.request.build_opener(_NoRedirects)
            with opener.open(request, timeout=self.timeout):
                return None
        except urllib.error.HTTPError as error:
            error.close()
            elsewhere = ", a redirect, which is not followed" if 300 <= error.code < 400 else ""
            return f"answered {error.code}{elsewhere}"
        # An answer that is not HTTP, or an address that cannot be requested.
        except (OSError, http.client.HTTPException, ValueError) as error:
            return str(getattr(error, "reason", error)) or type(error).__name__


def _check_host(parts: SplitResult, shown: str) -> None:
    """Raise if the host or its port cannot be: a password with special characters was cut there."""
    try:
        _ = parts.port  # which raises if it is no number
        there = bool(parts.hostname)
    except ValueError:
        there = False
    if not there:
        raise ArgumentError(
            "url",
            shown,
            "its host is not clear; in a user or a password write %2F for /, %3F for ?, %23 for #, "
            "%40 for @ and %25 for %",
        )
