"""A web request for every row: its JSON is posted to an address."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from muntin.engine.triggers.failing import ActionError
from muntin.semantics.errors import ArgumentError
from muntin.spark.calls import Bound, Parameter, Signature

WEBHOOK = Signature(
    "webhook",
    (
        Parameter("url", str, required=True),
        Parameter("timeout", float, 10.0, positive=True),
        Parameter("attempts", int, 3, positive=True),
        Parameter("token", str),
    ),
)
#: Seconds before the second attempt; twice as many before each further one.
_PAUSE = 0.5


@dataclass(frozen=True)
class Webhook:
    """Posts a row to an address; an answer other than 2xx is a failure, and is tried again."""

    url: str
    timeout: float
    attempts: int
    token: str | None = None
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def of(cls, bound: Bound) -> Webhook:
        """The webhook that a call describes."""
        url = bound.text("url")
        if urlsplit(url).scheme not in ("http", "https"):
            raise ArgumentError("url", url, "it is a web address, such as 'https://example.org/x'")
        timeout = bound.values["timeout"]
        assert isinstance(timeout, float)
        return cls(url, timeout, bound.number("attempts"), bound.maybe("token"))

    def __call__(self, row: str) -> None:
        """Post a row, which is JSON."""
        for attempt in range(self.attempts):
            if attempt:
                self.sleep(_PAUSE * 2 ** (attempt - 1))
            reason = self._post(row)
            if reason is None:
                return
        raise ActionError(f"{self.url}: {reason}, {self.attempts} times")

    def _post(self, row: str) -> str | None:
        """Why it failed, if it did."""
        headers = {"Content-Type": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(self.url, row.encode(), headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=self.timeout):
                return None
        except urllib.error.HTTPError as error:
            return f"answered {error.code}"
        except OSError as error:
            return str(getattr(error, "reason", error))
