"""The door of an engine for other processes: what it takes and refuses, and whom it lets in."""

from __future__ import annotations

import json
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import muntin as mt
from muntin.engine.client import EngineClient, connect
from muntin.engine.remote import channel, local_server
from muntin.engine.remote.local_server import DOOR, SOCKET, LocalServer, short_address
from muntin.errors import ArgumentError, EngineError, UnknownQueryError
from muntin.parser.parse import parse

BLOCK, ENTERED = threading.Event(), threading.Semaphore(0)


def block() -> bool:
    ENTERED.release()
    return BLOCK.wait(20)


def fails(kind: str) -> None:
    if kind == "argument":
        raise ArgumentError("start", "later", "it is 'now'")
    if kind == "unknown":
        raise UnknownQueryError("slw", ["slow"])
    if kind == "sql":
        parse("SHOW STREAMS;\nPAUSE slow")
    raise ZeroDivisionError("1 / 0")


CALLS = {
    "hello": lambda: {"pid": 7},
    "echo": lambda value: value,
    "table": lambda rows: pa.table({"x": pa.array(range(rows), pa.int64())}),
    "typed": lambda: pa.table({"t": [datetime(2026, 1, 1, tzinfo=UTC)], "d": [date(2026, 1, 1)]}),
    "fails": fails,
    "odd": object,
    "block": block,
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a path that is longer than the address of a socket can be."""
    folder = tmp_path / ("h" * 120)
    folder.mkdir()
    return folder


@pytest.fixture
def client(home: Path) -> Iterator[EngineClient]:
    with LocalServer(home, CALLS):
        yield connect(home, timeout=20)


def sent(home: Path, line: bytes) -> bytes:
    """Send bytes as they are, and return what comes back."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        with short_address(home / DOOR / SOCKET) as address:
            connection.connect(address)
        connection.sendall(line)
        with connection.makefile("rb") as file:
            return file.readline()


def test_values_and_tables_come_as_they_are(client: EngineClient) -> None:
    value = {"a": [1, None, "ä\n", True], "b": 2.5}
    assert client.call("echo", {"value": value}) == value
    assert client.call("table", {"rows": 0}) == pa.table({"x": pa.array([], pa.int64())})
    many = 3 * channel.MOST_CHUNK // 8
    assert client.call("table", {"rows": many}) == pa.table({"x": range(many)})
    assert client.call("typed") == CALLS["typed"]()


def test_times_are_texts_and_other_objects_are_refused(client: EngineClient) -> None:
    assert client.call("echo", {"value": date(2026, 1, 2)}) == "2026-01-02"
    assert client.call("echo", {"value": datetime(2026, 1, 2, 3)}) == "2026-01-02 03:00:00"
    with pytest.raises(ArgumentError, match="between processes it is a text"):
        client.call("echo", {"value": object()})
    with pytest.raises(ArgumentError, match="between processes it is a text"):
        client.call("odd")


def test_errors_are_of_the_same_class(client: EngineClient) -> None:
    with pytest.raises(ArgumentError, match="start='later' cannot be used: it is 'now'"):
        client.call("fails", {"kind": "argument"})
    with pytest.raises(UnknownQueryError, match=r"there is no query 'slw' \(did you mean 'slow'"):
        client.call("fails", {"kind": "unknown"})
    with pytest.raises(mt.SqlError) as caught:
        client.call("fails", {"kind": "sql"})
    assert (caught.value.place.line, caught.value.expected) == (2, "QUERY")
    with pytest.raises(EngineError, match="ZeroDivisionError: 1 / 0"):
        client.call("fails", {"kind": "division"})
    with pytest.raises(EngineError, match="no call 'unheard'; is it another version"):
        client.call("unheard")
    assert client.call("echo", {"value": 1}) == 1  # and the door is still open


@pytest.mark.parametrize(
    "line", [b"\n", b"{\n", b"[1]\n", b"\x80\x04K\x01.\n", b'{"call": "echo"}\n', b'"hello"\n']
)
def test_what_is_not_a_message_is_refused(client: EngineClient, home: Path, line: bytes) -> None:
    """A pickle among them."""
    assert "error" in json.loads(sent(home, line))
    assert client.call("echo", {"value": 1}) == 1


def test_a_line_without_end_is_refused(
    client: EngineClient, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "MOST_LINE", 1000)
    assert b"longer than 1000 bytes" in sent(home, b"x" * 1001)
    with pytest.raises(EngineError, match="longer than 1000"):
        client.call("echo", {"value": "x" * 1000})


def test_a_table_that_is_too_large_is_refused(client: EngineClient, home: Path) -> None:
    small = EngineClient(home, timeout=20, most_bytes=1000)
    with pytest.raises(EngineError, match="larger than 1000 bytes; ask for fewer micro-batches"):
        small.call("table", {"rows": 1000})


def test_only_the_owner_can_enter(client: EngineClient, home: Path) -> None:
    assert stat.S_IMODE((home / DOOR).stat().st_mode) == 0o700
    assert stat.S_IMODE((home / DOOR / SOCKET).stat().st_mode) == 0o600


def test_a_door_that_was_open_to_others_is_closed(home: Path) -> None:
    (home / DOOR).mkdir(mode=0o777)
    (home / DOOR).chmod(0o777)
    with LocalServer(home, CALLS):
        assert stat.S_IMODE((home / DOOR).stat().st_mode) == 0o700


def test_no_engine(home: Path) -> None:
    expected = f"no engine runs in {home}; start one with: muntin engine start {home}"
    with pytest.raises(EngineError) as caught:
        connect(home)
    assert str(caught.value) == expected
    with LocalServer(home, CALLS):
        client = connect(home)
    with pytest.raises(EngineError) as caught:
        client.call("echo", {"value": 1})
    assert str(caught.value) == expected
    with LocalServer(home, CALLS):  # started again, for the same client
        assert client.call("echo", {"value": 1}) == 1


def test_a_process_that_died_leaves_a_socket_behind(home: Path) -> None:
    (home / DOOR).mkdir()
    with socket.socket(socket.AF_UNIX) as dead, short_address(home / DOOR / SOCKET) as address:
        dead.bind(address)
    with pytest.raises(EngineError, match="no engine runs in"):
        connect(home)
    with LocalServer(home, CALLS):
        assert connect(home).pid == 7


def test_an_engine_that_does_not_answer(home: Path) -> None:
    with LocalServer(home, CALLS):
        slow = EngineClient(home, timeout=0.2)
        began = time.monotonic()
        with pytest.raises(EngineError, match=r"not answered block within 0\.2 seconds"):
            slow.call("block")
        assert ENTERED.acquire(timeout=20)
        assert time.monotonic() - began < 10
        BLOCK.set()


def test_a_client_that_does_not_ask(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left alone after a while, and hears why."""
    monkeypatch.setattr(local_server, "PATIENCE", 0.2)
    with LocalServer(home, CALLS):
        assert b"no whole line came within 0.2 seconds" in sent(home, b'{"call": ')
        assert connect(home).pid == 7


def test_too_many_calls(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_server, "MOST_CALLS", 2)
    BLOCK.clear()
    with LocalServer(home, CALLS):
        client = EngineClient(home, timeout=20)
        blocked = [threading.Thread(target=client.call, args=("block",)) for _ in range(2)]
        for thread in blocked:
            thread.start()
        assert all(ENTERED.acquire(timeout=20) for _ in range(2))
        with pytest.raises(EngineError, match="2 calls are at work already; try again later"):
            client.call("hello")
        BLOCK.set()
        for thread in blocked:
            thread.join(20)
        assert connect(home).pid == 7


def test_from_a_second_process(home: Path) -> None:
    program = (
        "import sys, muntin as mt\n"
        "client = mt.connect(sys.argv[1])\n"
        "table = client.call('table', {'rows': 3})\n"
        "print(client.pid, table['x'].to_pylist(), 'pyspark' in sys.modules)\n"
    )
    with LocalServer(home, CALLS):
        words = [sys.executable, "-c", program, str(home)]
        run = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert run.stdout.split("\n")[0] == "7 [0, 1, 2] False", run.stderr
