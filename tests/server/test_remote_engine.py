"""``mt.connect("http://...")``: the engine's own methods from anywhere, each with its role."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

import muntin as mt
from muntin.cli.main import main
from muntin.engine.client import EngineClient, RemoteQuery
from muntin.errors import ArgumentError, EngineError, MuntinError, UnknownQueryError
from muntin.parser.errors import SqlError
from muntin.server.remote_calls import ROLES
from muntin.server.security.guard import GuardSettings
from muntin.server.security.page_sessions import Sessions
from muntin.server.security.roles import Role
from muntin.server.security.tokens import TokenFile, new_token
from tests.engine.line_rows import SUMS, sums
from tests.server.conftest import Desk
from tests.server.stored_engine import StoredEngine, stored_desk


def test_an_engine_is_used_from_anywhere_as_if_it_were_here(desk: Desk) -> None:
    engine = mt.connect(f"http://127.0.0.1:{desk.http.port}")
    assert sums(engine["sums"].results().to_pylist()[:4]) == sums(
        desk.engine["sums"].results().to_pylist()[:4]
    )
    assert engine["sums"].latest().to_pandas().columns[0] == "k"
    query = engine.register("far", "SELECT k, x FROM line WHERE v > 5", start="history")
    assert query.wait().filled == "rows"
    assert query.results()["x"].to_pylist()[:2] == [6, 7]
    assert query.newest(1).num_rows == 1
    assert (query.status, query.record.owner, "far" in engine) == ("active", None, True)
    assert query.counts.refused == 0
    assert query.cost.runs_as == "rows chosen"
    assert engine.would_add(SUMS).shared_with == ("sums",)
    assert engine.network()["line"].svg == desk.engine.network()["line"].svg
    assert engine.ask("SELECT x FROM line WHERE x = 3")["x"].to_pylist() == [3]
    assert engine["sums"].as_of("6").num_rows == 2
    assert "sums" in engine.sql("SHOW QUERIES")["name"].to_pylist()
    preview = engine.preview("SELECT x FROM line")
    preview.wait()
    preview.drop().wait()
    query.drop().wait()
    assert query.status == "dropped"


def test_errors_are_those_of_the_engine(desk: Desk) -> None:
    engine = mt.connect(f"http://127.0.0.1:{desk.http.port}")
    with pytest.raises(UnknownQueryError, match="did you mean 'sums'"):
        engine["smus"]
    with pytest.raises(SqlError) as wrong:
        engine.sql("SELECT\n  k FRM line")
    assert wrong.value.place.line == 2
    with pytest.raises(SqlError, match="safe mode"):
        engine.register("bad", "SELECT x FROM csv.`/etc/passwd`")
    with pytest.raises(ArgumentError, match="safe mode"):
        engine.register("bad", "SELECT x FROM line", into="command('true')")
    assert "bad" not in desk.engine


def test_an_iterator_yields_answers_as_they_are_committed(desk: Desk) -> None:
    engine = mt.connect(f"http://127.0.0.1:{desk.http.port}")
    query = engine.register("next", "SELECT x FROM line WHERE v > 20")
    query.wait()
    answers = query.follow()
    desk.write("later", 21, 23)
    assert next(answers)["x"].to_pylist() == [21, 22]
    here = desk.engine["next"].follow(timeout=0.1)
    assert [table["x"].to_pylist() for table in here] == [[21, 22]]
    query.drop().wait()


def test_a_warm_server_runs_a_file(desk: Desk, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{desk.http.port}"
    file = tmp_path / "day.sql"
    file.write_text(
        "CREATE STREAM t FROM simulate('freeway', hours => 1, stations => 2) ON ts BY station;\n"
        "SELECT station, max(speed) AS hi FROM t [TUMBLING 30 MINUTES] GROUP BY station"
    )
    ran = CliRunner().invoke(main, ["run", str(file), "--connect", address, "--format", "json"])
    assert ran.exit_code == 0, ran.output
    rows = [json.loads(line) for line in ran.output.splitlines()]
    assert {row["station"] for row in rows} == {0, 1} or len(rows) >= 4
    same = desk.http("POST", "/runs", {"text": file.read_text()}).json
    assert same["count"] == len(rows)
    wrong = desk.http("POST", "/runs", {"text": "SELECT 1 / 0 AS x"})
    assert (wrong.status, wrong.error["kind"]) == (400, "HttpError")
    assert desk.http("POST", "/runs", {"text": "SELECT * FROM csv.`/etc/passwd`"}).status == 400
    streaming = CliRunner().invoke(main, ["run", str(file), "--connect", address, "--stream"])
    assert (streaming.exit_code, "--stream is not for --connect" in streaming.output) == (2, True)


def test_a_shell_of_a_server(desk: Desk) -> None:
    address = f"http://127.0.0.1:{desk.http.port}"
    typed = "SELECT x FROM line WHERE x = 3;\nSELECT nix FROM line;\nexit\n"
    shell = CliRunner().invoke(main, ["sql", "--connect", address], input=typed)
    assert shell.exit_code == 0, shell.output
    assert "micro_batch" in shell.output
    assert "Error: line 1, column 8" in shell.output


def test_every_call_of_the_engine_has_a_role(tmp_path: Path) -> None:
    with stored_desk(StoredEngine(tmp_path / "home")) as desk:
        assert desk.service.calls.keys() <= ROLES.keys()


def test_calls_need_their_role(tmp_path: Path) -> None:
    engine = StoredEngine(tmp_path / "home")
    engine.add_stream("line")
    engine.add_query("line", "q")
    tokens = {role: new_token(role, role.word) for role in Role}
    file = tmp_path / "tokens"
    file.write_text("\n".join(line for _, line in tokens.values()))
    file.chmod(0o600)
    guard = GuardSettings(loopback=False)
    with stored_desk(engine, sessions=Sessions(TokenFile(file)), guard=guard) as desk:
        address = f"http://127.0.0.1:{desk.http.port}"
        with pytest.raises(MuntinError, match="this needs a token"):
            mt.connect(address)
        for role, (token, _) in tokens.items():
            for name, needed in ROLES.items():
                if name == "sinks":  # which is by its method, below
                    continue
                headers = {"Authorization": f"Bearer {token}"}
                answer = desk.http("POST", f"/calls/{name}", {}, headers)
                known = name in desk.service.calls
                assert (name, answer.status == 403) == (name, known and role < needed)
        reader = mt.connect(address, token=tokens[Role.READ][0])
        assert isinstance(reader, EngineClient)
        assert reader["q"].record.name == "q"
        with pytest.raises(MuntinError, match="this needs the role administer"):
            reader["q"].drop()
        with pytest.raises(MuntinError, match="this needs the role ask"):
            reader.sql("SHOW QUERIES")
        sinks = {"id": "q", "method": "add", "arguments": {"name": "n", "action": "x"}}
        assert (
            desk.http(
                *("POST", "/calls/sinks", {"arguments": sinks}),
                {"Authorization": f"Bearer {tokens[Role.ASK][0]}"},
            ).status
            == 403
        )


@pytest.mark.parametrize(
    ("name", "arguments", "status"),
    [
        ("nix", {}, 404),
        ("__class__", {}, 404),
        ("record", {"name": 5}, 422),
        ("record", {"name": "q", "more": 1}, 422),
        ("record", {}, 422),
        ("queries", {"options": {"tag": ["a"]}}, 422),
        ("register", {"name": "n", "text": {"a": 1}, "options": {}}, 422),
        ("register", {"name": "n", "text": "SELECT x FROM line", "options": {"tags": [{}]}}, 422),
        ("results", {"id": "q", "after": "x", "generation": None}, 422),
        ("results", {"id": "q", "after": True, "generation": None}, 422),
        ("sinks", {"id": "q", "method": "__init__", "arguments": {}}, 409),
    ],
)
def test_calls_that_make_no_sense(
    tmp_path: Path, name: str, arguments: dict[str, object], status: int
) -> None:
    engine = StoredEngine(tmp_path / "home")
    engine.add_stream("line")
    engine.add_query("line", "q")
    with stored_desk(engine) as desk:
        assert desk.http("POST", f"/calls/{name}", {"arguments": arguments}).status == status


@pytest.mark.parametrize(
    "address", ["http://", "http://me:secret@host", "http://host?token=x", "https://host#x"]
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ArgumentError, match="an address is like"):
        mt.connect(address)


def test_a_token_is_for_an_address(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="it is for http://") as refused:
        mt.connect(tmp_path, token="muntin_x")
    assert "muntin_x" not in str(refused.value)
    with pytest.raises(EngineError, match="no server answers at"):
        mt.connect("http://127.0.0.1:1")


def test_a_server_of_something_else_is_named() -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        threading.Thread(target=other.handle_request).start()
        with pytest.raises(EngineError, match=r"is no server of Muntin \(status 501\)"):
            mt.connect(f"http://127.0.0.1:{other.server_port}")


def test_both_ways_have_one_class() -> None:
    assert {"results", "follow", "wait"} <= {*dir(RemoteQuery)}
