"""A web request for every row: its JSON is posted to an address."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO
from urllib.parse import urlsplit

from muntin.errors import ActionError, ArgumentError
from muntin.spark.connectors.signature import HIDDEN, BoundCall, Parameter, Signature

WEBHOOK = Signature(
    "webhook",
    (
        Parameter("url", str, required=True),
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
    """Posts a row to an address; an answer other than 2xx is a failure and is tried again."""

    url: str
    timeout: float
    attempts: int
    token: str | None = None
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def of(cls, bound: BoundCall) -> Webhook:
        """Return the webhook that a call describes."""
        url = bound.text("url")
        if urlsplit(url).scheme not in ("http", "https"):
            raise ArgumentError("url", url, "it is a web address, such as 'https://example.org/x'")
        timeout = bound.values["timeout"]
        assert isinstance(timeout, float)
        token = bound.maybe("token")
        if token is not None and not token.isprintable():
            raise ArgumentError("token", HIDDEN, "it is one line, without control characters")
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
        raise ActionError(f"{self.url}: {reason}{times}")

    def _post(self, row: str, key: str | None) -> str | None:
        """Post a row; return why that failed, or None."""
        headers = {"Content-Type": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if key is not None:
            headers["Idempotency-Key"] = key
        request = urllib.request.Request(self.url, row.encode(), headers, method="POST")
        try:
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
