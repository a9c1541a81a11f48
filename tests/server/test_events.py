"""Events: resumed without gap or repeat, bounded for each subscriber, written once for all."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muntin.server.events.feed import ROWS_AN_EVENT
from muntin.server.service import ServiceSettings
from tests.server.http_client import HttpClient
from tests.server.stored_engine import StoredDesk, StoredEngine, stored_desk

Event = tuple[str, str, Any]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[StoredDesk]:
    engine = StoredEngine(tmp_path / "home")
    engine.add_stream("line")
    with stored_desk(engine, ServiceSettings(queue_rows=5_000, most_subscribers=70)) as desk:
        yield desk


def numbers(events: list[Event], query: str | None = None) -> list[int]:
    """Return the rows of events, of all queries or of one."""
    return [
        row["n"]
        for _, name, data in events
        if name == "rows" and query in (None, data["query"])
        for row in data["rows"]
    ]


def until(events: Iterator[Event], rows: int) -> list[Event]:
    """Read events until there are so many rows, or the stream is closed."""
    found: list[Event] = []
    for event in events:
        found.append(event)
        if len(numbers(found)) >= rows or event[1] == "close":
            return found
    return found


def test_answers_come_as_they_are_committed(desk: StoredDesk) -> None:
    query = desk.engine.add_query("line", "q")
    desk.engine.commit("line", {query: [1]})
    with desk.http.events("q") as events:
        hello = next(events)
        desk.engine.commit("line", {query: [2, 3]})
        id, name, data = next(events)
    assert hello[:2] == ("line:1:0::", "hello")
    assert (id, name) == (f"line:1:1:{query.number}:2", "rows")
    assert data == {
        "query": query.id,
        "generation": 1,
        "micro_batch": 1,
        "rows": [{"n": 2}, {"n": 3}],
    }


def test_a_subscriber_goes_on_after_the_last_event_wherever_it_was_cut(desk: StoredDesk) -> None:
    chance = random.Random(7)
    queries = [desk.engine.add_query("line", name) for name in "abc"]
    begin = desk.engine.stream_of("line").next_batch()[1] - 1
    sent: dict[str, list[int]] = {query.id: [] for query in queries}
    number = 0
    for _ in range(8):
        answers = {}
        for query in queries:
            rows = chance.choice([0, 1, 3, ROWS_AN_EVENT + 5])
            answers[query] = [*range(number, number + rows)]
            sent[query.id] += answers[query]
            number += rows
        desk.engine.commit("line", answers)
    every = sum(map(len, sent.values()))
    last, got = f"line:1:{begin}::", {query.id: [] for query in queries}
    while sum(map(len, got.values())) < every:
        given = {"overflow": "wait", "last_event_id": last}
        with desk.http.events("a,b,c", **given) as events:
            next(events)
            for _ in range(chance.randint(1, 4)):
                last, _, data = next(events)
                got[data["query"]] += [row["n"] for row in data["rows"]]
                if sum(map(len, got.values())) == every:
                    break
    assert got == sent


def test_the_header_of_a_browser_resumes_too(desk: StoredDesk) -> None:
    query = desk.engine.add_query("line", "q")
    desk.engine.commit("line", {query: [1, 2, 3]})
    desk.engine.commit("line", {query: [4]})
    known = {"Last-Event-ID": f"line:1:0:{query.number}:2"}
    with desk.http.events("q", known) as events:
        assert numbers(until(events, 2)) == [3, 4]


def test_another_set_of_queries_goes_on_at_the_same_place(desk: StoredDesk) -> None:
    first, second = (desk.engine.add_query("line", name) for name in "ab")
    with desk.http.events("a") as events:
        next(events)
        desk.engine.commit("line", {first: [1], second: [10]})
        last, _, _ = next(events)
    desk.engine.commit("line", {first: [2], second: [20]})
    with desk.http.events("a,b", last_event_id=last) as events:
        found = until(events, 3)
    # The second answer of the micro-batch that came last is after the first one.
    assert numbers(found, first.id) == [2]
    assert numbers(found, second.id) == [10, 20]


def test_streams_have_a_place_each(desk: StoredDesk) -> None:
    desk.engine.add_stream("other stream")
    here = desk.engine.add_query("line", "here")
    there = desk.engine.add_query("other stream", "there")
    with desk.http.events("here,there") as events:
        next(events)
        desk.engine.commit("line", {here: [1]})
        next(events)
        desk.engine.commit("other stream", {there: [2]})
        last, _, _ = next(events)
    assert "other%20stream:1:0:" in last
    desk.engine.commit("line", {here: [3]})
    desk.engine.commit("other stream", {there: [4]})
    with desk.http.events("here,there", last_event_id=last.replace("%", "%25")) as events:
        assert sorted(numbers(until(events, 2))) == [3, 4]


def test_a_slow_subscriber_skips_and_is_given_the_count(desk: StoredDesk) -> None:
    first, second = (desk.engine.add_query("line", name) for name in "ab")
    desk.engine.commit("line", {first: [0]})
    for batch in range(4):
        desk.engine.commit("line", {first: [*range(1_500)], second: [batch] * 1_500})
    with desk.http.events("a,b", last_event_id=f"line:1:0:{first.number}:1") as events:
        found = until(events, 5_000)
    (skipped,) = [data for _, name, data in found if name == "skipped"]
    assert skipped["rows"] == 7_000
    assert skipped["queries"] == {first.id: 4_000, second.id: 3_000}
    assert skipped["reason"] == "too slow"
    assert len(numbers(found)) == 5_000
    assert numbers(found, first.id) == [*range(1_000, 1_500), *range(1_500)]
    # An id after the skipped event does not bring back what was skipped.
    id = next(id for id, name, _ in found if name == "skipped")
    with desk.http.events("a,b", last_event_id=id) as events:
        again = until(events, 5_000)
    assert [name for _, name, _ in again if name == "skipped"] == []
    assert numbers(again) == numbers(found)


def test_waiting_skips_nothing(desk: StoredDesk) -> None:
    query = desk.engine.add_query("line", "q")
    desk.engine.commit("line", {query: [0]})
    desk.engine.commit("line", {query: [*range(12_000)]})
    given = {"overflow": "wait", "last_event_id": f"line:1:0:{query.number}:1"}
    with desk.http.events("q", **given) as events:
        found = until(events, 12_000)
    assert numbers(found) == [*range(12_000)]
    assert {name for _, name, _ in found} == {"hello", "rows"}


def test_a_subscriber_that_wants_to_be_closed_is(desk: StoredDesk) -> None:
    query = desk.engine.add_query("line", "q")
    with desk.http.events("q", overflow="close") as events:
        next(events)
        desk.engine.commit("line", {query: [1]})
        next(events)
        desk.engine.commit("line", {query: [*range(6_000)]})
        assert [(name, data) for _, name, data in events] == [("close", {"reason": "overflow"})]


def test_answers_that_are_not_retained_are_named(desk: StoredDesk) -> None:
    query = desk.engine.add_query("line", "q")
    for number in range(6):
        desk.engine.commit("line", {query: [number]})
    desk.engine.stream_of("line").answers().forget(before=4)
    with desk.http.events("q", last_event_id=f"line:1:1:{query.number}:1") as events:
        found = until(events, 2)
    assert ("skipped", {"rows": None, "queries": {query.id: None}, "reason": "not retained"}) in [
        (name, data) for _, name, data in found
    ]
    assert numbers(found) == [4, 5]


def test_a_change_goes_on_with_the_next_generation(desk: StoredDesk) -> None:
    first = desk.engine.add_query("line", "q")
    desk.engine.commit("line", {first: [1]})
    beside = desk.engine.add_generation(first.id, staged=True)
    desk.engine.commit("line", {first: [2], beside: [20]})
    with (
        desk.http.events("q", last_event_id="line:1:-1::") as current,
        desk.http.events("q@2", last_event_id="line:1:-1::") as staged,
    ):
        assert numbers(until(current, 2)) == [1, 2]
        assert numbers(until(staged, 1)) == [20]
        desk.engine.registry.discard(first.id)
        desk.engine.registry.next_version("line")
        third = desk.engine.add_generation(first.id)
        desk.engine.commit("line", {third: [3]})
        (_, _, data), *_ = until(current, 1)
    assert (data["generation"], data["rows"]) == (third.generation, [{"n": 3}])


def test_a_query_that_has_not_begun_is_watched(desk: StoredDesk) -> None:
    first = desk.engine.add_query("line", "first")
    later = desk.engine.add_query("line", "later", waits=True)
    with desk.http.events("first,later") as events:
        next(events)
        desk.engine.commit("line", {first: [1]})
        assert numbers(until(events, 1)) == [1]
        desk.engine.begin(later)
        desk.engine.commit("line", {later: [2]})
        assert numbers(until(events, 1)) == [2]


def test_an_epoch_that_begins_is_no_gap(desk: StoredDesk) -> None:
    query = desk.engine.add_query("line", "q")
    desk.engine.commit("line", {query: [1]})
    desk.engine.commit("line", {query: [2]})
    stream = desk.engine.stream_of("line")
    desk.engine.registry.begin_epoch("line")
    stream.micro_batch = -1
    desk.engine.commit("line", {query: [3]})
    with desk.http.events("q", last_event_id=f"line:1:0:{query.number}:1") as events:
        assert numbers(until(events, 2)) == [2, 3]


def test_an_answer_is_written_once_for_all_subscribers(desk: StoredDesk) -> None:
    query = desk.engine.add_query("line", "q")
    ready, got = threading.Barrier(61), []

    def watch() -> None:
        with desk.http.events("q") as events:
            next(events)
            ready.wait(30)
            got.append(numbers(until(events, 2_500)))

    watching = [threading.Thread(target=watch) for _ in range(60)]
    for thread in watching:
        thread.start()
    ready.wait(30)
    before = desk.service.feed.encoded
    desk.engine.commit("line", {query: [*range(2_500)]})
    for thread in watching:
        thread.join(30)
    assert got == [[*range(2_500)]] * 60
    assert desk.service.feed.encoded - before == 3


def test_there_are_only_so_many_subscribers(desk: StoredDesk) -> None:
    desk.engine.add_query("line", "q")
    desk.service.hub.subscribers = 70
    refused = desk.http("GET", "/events?queries=q")
    desk.service.hub.subscribers = 0
    assert refused.status == 503
    assert "70 subscribers" in refused.error["what"]


def test_the_last_event_says_why_a_stream_ends(desk: StoredDesk) -> None:
    desk.engine.add_query("line", "q")
    with desk.http.events("q") as events:
        next(events)
        desk.service.hub.close()
        assert [(name, data) for _, name, data in events] == [("close", {"reason": "stopping"})]
    assert desk.service.hub.subscribers == 0


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("queries=nix", 404),
        ("queries=q@x", 400),
        ("queries=q@7", 404),
        ("queries=q&overflow=drop", 422),
        ("queries=q&last_event_id=7", 400),
        ("queries=q&last_event_id=line:1:x:2:3", 400),
        ("queries=" + ",".join(map(str, range(600))), 400),
    ],
)
def test_what_cannot_be_watched_is_refused(desk: StoredDesk, words: str, status: int) -> None:
    desk.engine.add_query("line", "q")
    answer = desk.http("GET", f"/events?{words}")
    assert answer.status == status
    assert answer.error["what"]


def test_status_says_what_changes(desk: StoredDesk) -> None:
    with HttpClient.events(desk.http, "", status="true") as events:
        next(events)
        _, name, data = next(events)
    assert (name, data["streams"], data["queries"]) == ("status", [], [])
