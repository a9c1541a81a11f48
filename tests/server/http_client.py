"""A client without comforts: what is sent is what a test says, and what comes back as it came."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from typing import Any

API = "/api/v1"


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        found = self.json["error"]
        assert set(found) == {"kind", "what", "where", "would_work", "message", "status"}
        assert found["status"] == self.status
        return dict(found)


@dataclass(frozen=True)
class HttpClient:
    """Asks a service on this machine."""

    port: int
    headers: Mapping[str, str] = field(default_factory=dict)

    def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        raw: bytes | Iterable[bytes] | None = None,
    ) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            given = {**self.headers, **(headers or {})}
            data: bytes | Iterable[bytes] | None = raw
            if body is not None:
                data = json.dumps(body).encode()
                given.setdefault("Content-Type", "application/json")
            target = path[2:] if path.startswith("///") else f"{API}{path}"
            connection.request(method, target, data, given)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    @contextmanager
    def events(
        self, queries: str, headers: Mapping[str, str] | None = None, **given: object
    ) -> Iterator[Iterator[tuple[str, str, Any]]]:
        """Yield the events as they come: the id, the name and the data of each."""
        words = "".join(f"&{name}={value}" for name, value in given.items())
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            path = f"{API}/events?queries={queries}{words}"
            connection.request("GET", path, headers={**self.headers, **(headers or {})})
            response = connection.getresponse()
            assert response.status == 200, response.read()
            yield read_events(response)
        finally:
            connection.close()


def read_events(response: HTTPResponse) -> Iterator[tuple[str, str, Any]]:
    """Yield the events of a stream."""
    event: dict[str, str] = {}
    for line in response:
        text = line.decode().rstrip("\n")
        if text:
            name, _, value = text.partition(": ")
            event[name] = value
        elif "event" in event:
            yield event.get("id", ""), event["event"], json.loads(event["data"])
            event = {}
        else:
            event = {}
