"""Whatever is sent: it is answered in the one shape, never with a 500, and the server lives on.

The quick half is against an engine without Spark; the slow one against one with it.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muntin.server.security.guard import GuardSettings
from muntin.server.security.page_sessions import Sessions
from muntin.server.security.tokens import TokenFile
from tests.server.conftest import Desk
from tests.server.http_client import API, HttpClient
from tests.server.stored_engine import StoredDesk, StoredEngine, stored_desk

#: A stream of events has no end, and waiting for a command may take a minute.
LEFT_OUT = (f"{API}/events", f"{API}/commands/{{seq}}")
FEW = settings(
    max_examples=8, deadline=None, suppress_health_check=[*HealthCheck], derandomize=True
)
MANY = settings(FEW, max_examples=60)
WORDS = st.text(max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
FRAGMENTS = st.sampled_from(
    [
        *("SELECT ", "x", " FROM ", "line", " WHERE ", "(", ")", "'", '"', "`", "--", "/*", ";"),
        *(
            " [RANGE 5]",
            "[",
            "]",
            " GROUP BY k",
            "CREATE QUERY q AS ",
            "DROP QUERY q",
            " AS OF ",
            "9",
        ),
        *("secret('x')", "csv.`/etc/passwd`", " INTO webhook('http://x/')", "\x00", "\n", "é", "☃"),
        *(" UNION ALL ", " JOIN ", " [FRAME THRESHOLD x < 4]", "java_method('a')", ","),
    ]
)
STATEMENTS = st.lists(FRAGMENTS, max_size=12).map("".join)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoredDesk]:
    engine = StoredEngine(tmp_path_factory.mktemp("fuzz") / "home")
    engine.add_stream("line")
    engine.add_query("line", "q")
    with stored_desk(engine, guard=GuardSettings(calls_a_minute=10**9)) as desk:
        yield desk


def answered(client: HttpClient, method: str, path: str, body: object) -> None:
    """Check that a request is answered, in the one shape if it is refused."""
    answer = client(method, path, body)
    assert answer.status != 500, (method, path, body, answer.body)
    if answer.status >= 400 and method != "HEAD":
        assert answer.error["what"]


@FEW
@given(body=VALUES, path=st.sampled_from(["/sql", "/queries", "/taps", "/previews", "/session"]))
def test_bodies(stored: StoredDesk, body: Any, path: str) -> None:
    answered(stored.http, "POST", path, body)


@settings(MANY)
@given(
    text=STATEMENTS, path=st.sampled_from(["/sql", "/check", "/previews", "/would-add", "/runs"])
)
def test_statements(stored: StoredDesk, text: str, path: str) -> None:
    answered(stored.http, "POST", path, {"text": text})


@settings(MANY)
@given(data=st.data())
def test_calls(stored: StoredDesk, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted({*stored.service.calls} - {"stop"})))
    words = ["id", "name", "text", "options", "after", "generation", "query", "timeout", "method"]
    arguments = data.draw(st.dictionaries(st.sampled_from(words), VALUES, max_size=4))
    answered(stored.http, "POST", f"/calls/{name}", {"arguments": arguments})


@pytest.mark.parametrize(
    "path",
    [
        *("/queries/..%2f..%2fetc%2fpasswd", "/queries/%00", "/queries/" + "x" * 3_000),
        *("///../../etc/passwd", "///%2e%2e/%2e%2e/etc/passwd", "///static/../app.py"),
        *("/queries/q/results?format=../x", "/queries/q/results?after=99999999999999999999"),
        *("/queries/q/results?generation=99999999999999999999", "/taps/%ff%fe"),
        *(
            "/queries/q/as-of?value=%00",
            "/events?queries=%ff",
            "/events?queries=q&last_event_id=%00",
        ),
    ],
)
def test_paths(stored: StoredDesk, path: str) -> None:
    answer = stored.http("GET", path)
    assert 400 <= answer.status < 500
    assert b"root:" not in answer.body


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[" * 50_000,
        b'{"text": ' + b'{"a":' * 20_000,
        b'{"text": "\xff\xfe"}',
        b"\x00" * 100,
        b'{"text": 1e999}',
        b"null",
    ],
)
def test_bodies_that_are_no_json(stored: StoredDesk, raw: bytes) -> None:
    answer = stored.http("POST", "/sql", raw=raw, headers={"Content-Type": "application/json"})
    assert 400 <= answer.status < 500
    assert answer.error["what"]


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/v1/sql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999\r\n\r\n{",
        b"POST /api/v1/sql HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_bytes_that_are_no_request(stored: StoredDesk, request_bytes: bytes) -> None:
    with socket.create_connection(("127.0.0.1", stored.http.port), 10) as connection:
        with suppress(OSError):  # it may have been closed before all of it was sent
            connection.sendall(request_bytes)
            connection.shutdown(socket.SHUT_WR)
        try:
            answer = connection.recv(65_536)
        except ConnectionError:
            answer = b""
    assert not answer.startswith(b"HTTP/1.1 5")
    assert stored.http("GET", "///healthz").status == 200


@FEW
@given(token=st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=200))
def test_tokens(tmp_path_factory: pytest.TempPathFactory, token: str) -> None:
    place = tmp_path_factory.getbasetemp() / "fuzzed_tokens"
    place.write_text("administer sha256:" + "0" * 64)
    place.chmod(0o600)
    sessions = Sessions(TokenFile(place))
    home = tmp_path_factory.mktemp("home")
    with stored_desk(StoredEngine(home), sessions=sessions) as desk:
        headers = {"Authorization": f"Bearer {token}", "Cookie": f"muntin_session={token}"}
        answer = desk.http("GET", "/queries", headers=headers)
        assert answer.status in (400, 401)


def operations(client: HttpClient) -> Iterator[tuple[str, Any]]:
    """Yield the operations of the API that end, by name."""
    described = schemathesis.openapi.from_dict(client("GET", "/openapi.json").json)
    for found in described.get_all_operations():
        operation = found.ok()
        if operation.path not in LEFT_OUT:
            yield operation.label, operation


def follow_the_api(client: HttpClient, examples: int) -> int:
    """Ask every operation what its description allows; return how many there are."""
    every = dict(operations(client))
    for operation in every.values():

        @settings(FEW, max_examples=examples, phases=settings.default.phases[1:3])
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            answer = case.call(base_url=f"http://127.0.0.1:{client.port}", timeout=60)
            assert answer.status_code < 500 or answer.status_code == 503, (case, answer.text)
            if answer.status_code >= 400 and case.method != "HEAD":
                assert set(json.loads(answer.text)["error"]) >= {"kind", "what", "where"}

        check()
    return len(every)


def test_the_api_as_it_is_described(stored: StoredDesk) -> None:
    assert follow_the_api(stored.http, 3) > 30


@pytest.mark.slow
def test_the_api_of_a_real_engine(desk: Desk) -> None:
    assert follow_the_api(desk.http, 60) > 30
    assert desk.http("GET", "/queries").status == 200
