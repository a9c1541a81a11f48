"""Many who watch one query: each gets every row once and soon; nothing is written twice."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles

import pytest

from muntin.server.security.guard import GuardSettings
from muntin.server.service import ServiceSettings
from tests.server.http_client import API
from tests.server.stored_engine import StoredDesk, StoredEngine, stored_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[StoredDesk]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8_192, hard), hard))
    engine = StoredEngine(tmp_path / "home")
    engine.add_stream("line")
    guard = GuardSettings(calls_a_minute=10**9)
    with stored_desk(engine, ServiceSettings(most_subscribers=1_000), guard=guard) as desk:
        yield desk
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def watch(port: int, rows: int, ready: asyncio.Semaphore) -> list[tuple[int, float]]:
    """Return the rows that a subscriber gets, each with the time at which it came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request = f"GET {API}/events?queries=q HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    writer.write(request.encode())
    got: list[tuple[int, float]] = []
    try:
        while len(got) < rows:
            line = (await reader.readline()).decode()
            if line.startswith("event: hello"):
                ready.release()
            if line.startswith('data: {"query"'):
                now = time.monotonic()
                got += [(row["n"], now) for row in json.loads(line[len("data: ") :])["rows"]]
            assert line, "the stream has ended"
    finally:
        writer.close()
    return got


async def committed(desk: StoredDesk, subscribers: int, batches: int, rows: int) -> list[float]:
    """Commit micro-batches that many watch; return how long each event took to each of them."""
    query = desk.engine.add_query("line", "q")
    ready = asyncio.Semaphore(0)
    watching = [
        asyncio.create_task(watch(desk.http.port, batches * rows, ready))
        for _ in range(subscribers)
    ]
    for _ in range(subscribers):
        await asyncio.wait_for(ready.acquire(), 120)
    times: dict[int, float] = {}
    for batch in range(batches):
        numbers = [*range(batch * rows, (batch + 1) * rows)]
        times |= dict.fromkeys(numbers, time.monotonic())
        await asyncio.to_thread(desk.engine.commit, "line", {query: numbers})
        await asyncio.sleep(0.2)
    took = []
    for got in await asyncio.wait_for(asyncio.gather(*watching), 120):
        assert [number for number, _ in got] == [*range(batches * rows)]
        took += [at - times[number] for number, at in got]
    return took


def test_a_hundred_get_every_row_once(desk: StoredDesk) -> None:
    took = asyncio.run(committed(desk, 100, 5, 20))
    assert desk.service.feed.encoded == 5
    assert desk.service.hub.sent_rows == 100 * 5 * 20
    print(f"p95 of {len(took):,} rows: {quantiles(took, n=20)[-1] * 1000:.0f} ms")


@pytest.mark.slow
def test_a_hundred_get_it_soon(desk: StoredDesk) -> None:
    took = asyncio.run(committed(desk, 100, 50, 20))
    assert quantiles(took, n=20)[-1] < 0.15


@pytest.mark.slow
def test_a_thousand_get_every_row_once(desk: StoredDesk) -> None:
    asyncio.run(committed(desk, 1_000, 10, 50))
    assert desk.service.feed.encoded == 10
