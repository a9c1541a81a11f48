"""The resources that the page calls, over a real engine: their paths, and what they answer."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from tests.engine.line_rows import SUMS
from tests.server.conftest import Desk

FIRST = [("a", 5, 6), ("a", 10, 14), ("b", 5, 4), ("b", 10, 21)]
BIG = "SELECT k, x FROM line WHERE v > 5"


def sums(rows: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return sorted((row["k"], row["window_end"], row["s"]) for row in rows)


def test_the_session_of_this_machine_needs_no_token(desk: Desk) -> None:
    session = desk.http("GET", "/session").json
    assert session["role"] == "administer"
    assert session["token_needed"] is False
    assert (session["safe"], session["api"]) == (True, 1)


def test_queries_are_listed_with_what_they_cost(desk: Desk) -> None:
    (query,) = desk.http("GET", "/queries?name=sums").json["queries"]
    assert (query["name"], query["owner"], query["tags"]) == ("sums", "ada", ["t"])
    assert (query["status"], query["stream"], query["generation"]) == ("active", "line", 1)
    assert query["text"] == SUMS
    assert query["cost"]["used"] >= 12
    assert query["cost"]["runs_as"] == "windows over shared panes"
    assert query["freshness"]["own_work"] > 0
    assert query["preview"] is False
    assert desk.http("GET", "/queries?owner=bob").json["queries"] == []


def test_a_query_says_its_columns_and_keys(desk: Desk) -> None:
    described = desk.http("GET", "/queries/sums").json
    assert [column["name"] for column in described["columns"]] == ["k", "window_end", "s"]
    assert described["keys"] == ["k"]
    assert [own["generation"] for own in described["generations"]] == [1]
    by_id = desk.http("GET", f"/queries/{described['query']['id']}").json
    assert by_id["query"]["name"] == "sums"


def test_results_come_in_every_form(desk: Desk) -> None:
    rows = desk.http("GET", "/queries/sums/results").json
    assert [column["name"] for column in rows["columns"]][:3] == ["k", "window_end", "s"]
    assert {*FIRST} <= {*sums(rows["rows"])}
    assert (rows["count"], rows["truncated"]) == (len(rows["rows"]), False)
    csv = desk.http("GET", "/queries/sums/results?format=csv")
    lines = desk.http("GET", "/queries/sums/results?format=jsonl")
    arrow = desk.http("GET", "/queries/sums/results?format=arrow")
    parquet = desk.http("GET", "/queries/sums/results?format=parquet")
    assert csv.headers["content-disposition"] == 'attachment; filename="sums.csv"'
    assert sums(pyarrow.csv.read_csv(io.BytesIO(csv.body)).to_pylist()) == sums(rows["rows"])
    assert lines.body.count(b"\n") == rows["count"]
    assert pa.ipc.open_stream(arrow.body).read_all().num_rows == rows["count"]
    assert pyarrow.parquet.read_table(io.BytesIO(parquet.body)).num_rows == rows["count"]
    assert "excel" in desk.http("GET", "/queries/sums/results?format=excel").error["what"]


def test_results_are_cut_and_say_so(desk: Desk) -> None:
    every = desk.http("GET", "/queries/sums/results").json["rows"]
    first = desk.http("GET", "/queries/sums/results?limit=1").json
    newest = desk.http("GET", "/queries/sums/results?limit=1&newest=true").json
    assert (first["rows"], first["truncated"]) == (every[:1], True)
    assert (newest["rows"], newest["truncated"]) == (every[-1:], True)
    last = every[-1]["micro_batch"]
    assert desk.http("GET", f"/queries/sums/results?after={last}").json["rows"] == []


def test_the_answer_now_and_as_of_an_earlier_punctuation(desk: Desk) -> None:
    now = desk.http("GET", "/queries/sums/now").json["rows"]
    then = desk.http("GET", "/queries/sums/as-of?value=6").json["rows"]
    assert sums(now) == sums(desk.engine["sums"].invoke().to_pylist())
    assert sums(then) == [("a", 5, 6), ("b", 5, 4)]
    wrong = desk.http("GET", "/queries/sums/as-of?value=monday").error
    assert wrong["where"] == {"argument": "as of"}


def test_refused_rows_are_counted(desk: Desk) -> None:
    found = desk.http("GET", "/queries/sums/refused").json
    assert set(found["counts"]) == {"late", "refused", "between", "shed"}
    assert (found["rows"], found["kept"]) == ([], False)


def test_a_query_lives_from_its_registration_to_its_drop(desk: Desk) -> None:
    body = {"name": "big", "text": BIG, "owner": "bob", "tags": ["x"], "start": "history"}
    made = desk.http("POST", "/queries", body)
    assert made.status == 201
    id = made.json["query"]["id"]
    active = wait(desk, made.json)
    assert (active["query"], active["generation"], active["filled"]) == ("big", 1, "rows")
    assert wait(desk, desk.http("POST", f"/queries/{id}/pause").json)["micro_batch"] > 0
    assert desk.http("GET", f"/queries/{id}").json["query"]["status"] == "paused"
    wait(desk, desk.http("POST", f"/queries/{id}/resume").json)
    staged = desk.http("POST", f"/queries/{id}/stage", {"text": f"{BIG} AND x > 8"}).json
    assert staged["query"]["staged"] == 2
    wait(desk, staged)
    beside = desk.http("GET", f"/queries/{id}/results?generation=2")
    assert beside.status == 200
    wait(desk, desk.http("POST", f"/queries/{id}/apply").json)
    assert desk.http("GET", f"/queries/{id}").json["query"]["generation"] == 2
    changed = desk.http("PUT", f"/queries/{id}", {"text": f"{BIG} AND x > 9"}).json
    assert wait(desk, changed)["generation"] == 3
    generations = desk.http("GET", f"/queries/{id}").json["generations"]
    assert [own["generation"] for own in generations] == [1, 2, 3]
    assert "shared" in desk.http("GET", f"/queries/{id}/explain").json["plan"]
    wait(desk, desk.http("DELETE", f"/queries/{id}").json)
    assert "big" not in desk.engine


def test_a_preview_is_kept_or_dropped(desk: Desk) -> None:
    made = desk.http("POST", "/previews", {"text": BIG, "ttl": "5 minutes"}).json
    assert (made["query"]["preview"], made["query"]["name"]) == (True, None)
    wait(desk, made)
    id = made["query"]["id"]
    kept = desk.http("POST", f"/queries/{id}/keep", {"name": "kept"}).json["query"]
    assert (kept["id"], kept["name"], kept["preview"]) == (id, "kept", False)
    again = desk.http("POST", f"/queries/{id}/keep", {"name": "again"}).error
    assert "no preview" in again["what"]
    wait(desk, desk.http("DELETE", f"/queries/{id}").json)


def test_statements_run_once(desk: Desk) -> None:
    answer = desk.http("POST", "/sql", {"text": BIG}).json
    assert [row["x"] for row in answer["rows"]][:3] == [6, 7, 8]
    shown = desk.http("POST", "/sql", {"text": "SHOW QUERIES"}).json
    assert "sums" in [row["name"] for row in shown["rows"]]
    as_of = desk.http("POST", "/sql", {"text": SUMS.replace("line [", "line AS OF 6 [")}).json
    assert sums(as_of["rows"]) == [("a", 5, 6), ("b", 5, 4)]


def test_mistakes_have_a_place_and_what_would_work(desk: Desk) -> None:
    wrong = desk.http("POST", "/sql", {"text": "SELECT\n  sped FROM line"})
    assert wrong.status == 400
    (mistake,) = desk.http("POST", "/check", {"text": "SELECT\n  k FRM line"}).json["errors"]
    assert mistake["kind"] == "SqlError"
    assert mistake["where"]["line"] == 2
    assert desk.http("POST", "/check", {"text": SUMS}).json == {"errors": []}
    assert desk.http("POST", "/check", {"text": "CREATE QUERY x AS SELECT k FROM line"}).json == {
        "errors": []
    }
    unknown = desk.http("GET", "/queries/smus")
    assert (unknown.status, unknown.error["kind"]) == (404, "UnknownQueryError")
    assert "did you mean 'sums'" in unknown.error["what"]


def test_what_a_query_would_add_is_known_before(desk: Desk) -> None:
    found = desk.http("POST", "/would-add", {"text": SUMS}).json
    assert found["addition"]["shared_with"] == ["sums"]
    assert (found["addition"]["state_bytes"], found["addition"]["fits"]) == (0, True)
    assert "shared with sums" in found["plan"]


def test_the_catalog_has_the_words_of_an_editor(desk: Desk) -> None:
    catalog = desk.http("GET", "/catalog").json
    (stream,) = catalog["streams"]
    assert stream["name"] == "line"
    assert [column["name"] for column in stream["columns"]] == ["k", "x", "v"]
    assert "sums" in catalog["queries"]
    assert {"sum", "quantile"} <= {*catalog["functions"]}
    assert "FRAME" in catalog["keywords"]


def test_streams_say_how_far_they_are(desk: Desk) -> None:
    (stream,) = desk.http("GET", "/streams").json["streams"]
    assert (stream["name"], stream["on"], stream["by"], stream["keep"]) == (
        "line",
        "x",
        ["k"],
        True,
    )
    assert stream["punctuation"] >= 10
    assert stream["rows"] >= 12
    assert desk.http("GET", "/streams/line").json["stream"]["name"] == "line"
    assert desk.http("GET", "/streams/nix").status == 404
    assert "k" in desk.http("GET", "/streams/line/demand").json["demand"]["columns"]


def test_the_network_is_boxes_and_arrows(desk: Desk) -> None:
    network = desk.http("GET", "/network").json["streams"]["line"]
    ids = {box["id"] for box in network["boxes"]}
    assert {"source", "kept", "query:sums"} <= ids
    assert all({arrow["source"], arrow["target"]} <= ids for arrow in network["arrows"])


def test_a_tap_copies_rows(desk: Desk) -> None:
    made = desk.http("POST", "/taps", {"on": "line", "at": "rows", "rows": 2, "ttl": "1 minute"})
    tap = made.json["tap"]
    assert (made.status, tap["most"], tap["about"]) == (201, 2, "rows of line")
    assert tap["id"] in [own["id"] for own in desk.http("GET", "/taps").json["taps"]]
    found = desk.http("GET", f"/taps/{tap['id']}").json
    assert found["rows"]["rows"] == []
    gone = desk.http("DELETE", f"/taps/{tap['id']}").json["tap"]
    assert gone["open"] is False


@pytest.mark.parametrize("what", ["qos", "budgets", "summaries"])
def test_an_engine_without_measures_has_none(desk: Desk, what: str) -> None:
    assert desk.http("GET", f"/{what}").json == {what: []}


def test_the_api_describes_itself(desk: Desk) -> None:
    found = desk.http("GET", "/openapi.json").json
    assert "/api/v1/queries/{id}/results" in found["paths"]
    assert desk.http("GET", "///healthz").json == {"status": "ok"}


def test_prometheus_reads_figures_of_every_query(desk: Desk) -> None:
    found = desk.http("GET", "///metrics")
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    figures = dict(
        line.rsplit(" ", 1) for line in found.body.decode().splitlines() if line[0] != "#"
    )
    assert int(figures['muntin_query_used_total{stream="line",query="sums"}']) >= 12
    assert figures['muntin_query_active{stream="line",query="sums"}'] == "1"
    assert int(figures['muntin_stream_rows_total{stream="line"}']) >= 12
    assert figures["muntin_subscribers"] == "0"
    assert int(figures['muntin_http_answers_total{status="200"}']) > 0


def test_every_mistake_has_the_one_shape(desk: Desk) -> None:
    cases = [
        ("GET", "/nix", None, 404),
        ("PATCH", "/queries", None, 405),
        ("POST", "/sql", {"txt": "x"}, 422),
        ("POST", "/sql", {"text": ""}, 422),
        ("GET", "/queries/sums/results?limit=-1", None, 422),
        ("GET", "/queries/sums/results?limit=many", None, 422),
        ("POST", "/taps", {"on": "nix"}, 404),
        ("POST", "/taps", {"on": "line", "rows": 0}, 400),
        ("GET", "/taps/sums", None, 404),
        ("POST", "/queries/sums/explode", None, 422),
    ]
    for method, path, body, status in cases:
        answer = desk.http(method, path, body)
        assert (path, answer.status) == (path, status)
        assert answer.error["what"]


def wait(desk: Desk, commanded: dict[str, Any]) -> dict[str, Any]:
    id, command = commanded["query"]["id"], commanded["command"]
    answer = desk.http("GET", f"/commands/{command}?query={id}&timeout=60")
    assert answer.status == 200, answer.body
    return dict(answer.json["active"])
