"""Who may ask what: hosts, origins, tokens, cookies, roles, sizes and rates; and what is noted."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from muntin.errors import EngineError
from muntin.server.security.audit import AuditLog
from muntin.server.security.guard import GuardSettings
from muntin.server.security.page_sessions import WRONG_A_MINUTE, Sessions
from muntin.server.security.rates import Rates
from muntin.server.security.roles import Role
from muntin.server.security.tokens import TokenFile, new_token, read_lines
from tests.server.http_client import HttpClient
from tests.server.stored_engine import StoredDesk, StoredEngine, stored_desk

TOKENS = {role: new_token(role, f"{role.word}er") for role in Role}


@pytest.fixture
def local(tmp_path: Path) -> Iterator[StoredDesk]:
    """A service on this machine, without tokens."""
    engine = StoredEngine(tmp_path / "home")
    with stored_desk(engine) as desk:
        yield desk


@pytest.fixture
def team(tmp_path: Path) -> Iterator[StoredDesk]:
    """A service on any address, with a token for each role."""
    engine = StoredEngine(tmp_path / "home")
    engine.add_stream("line")
    engine.add_query("line", "q")
    path = tmp_path / "tokens"
    write(path, [line for _, line in TOKENS.values()])
    guard = GuardSettings(loopback=False, most_body=10_000, calls_a_minute=500)
    audit = AuditLog(engine.folder)
    with stored_desk(engine, sessions=Sessions(TokenFile(path)), guard=guard, audit=audit) as desk:
        yield desk


def write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines))
    path.chmod(0o600)


def bearer(role: Role) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[role][0]}"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8642"}, 200),
        ({"Host": "[::1]:8642"}, 200),
        ({"Host": "evil.test"}, 421),
        ({"Host": "127.0.0.1.evil.test:8642"}, 421),
        ({"Host": ""}, 400),
        ({"Origin": "http://evil.test"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_only_the_page_of_this_machine_may_ask_it(
    local: StoredDesk, headers: dict[str, str], status: int
) -> None:
    answer = local.http("GET", "/session", headers=headers)
    assert answer.status == status
    assert (status == 200) == ("role" in answer.json)


def test_the_own_origin_may(local: StoredDesk) -> None:
    own = {"Origin": f"http://127.0.0.1:{local.http.port}"}
    assert local.http("POST", "/check", {"text": "SELEC"}, own).status == 200


def test_every_answer_has_the_headers_of_a_page_that_is_not_framed(local: StoredDesk) -> None:
    for path in ("/session", "/nix", "///healthz", "///"):
        headers = local.http("GET", path).headers
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "server" not in headers


def test_without_a_token_there_is_only_the_page_and_its_login(team: StoredDesk) -> None:
    session = team.http("GET", "/session").json
    assert (session["role"], session["token_needed"]) == (None, True)
    for method, path in (("GET", "/queries"), ("POST", "/sql"), ("GET", "/events?queries=q")):
        answer = team.http(method, path, {"text": "x"} if method == "POST" else None)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert team.http("GET", "///healthz").status == 200
    assert team.http("GET", "///metrics").status == 401


@pytest.mark.parametrize(
    ("method", "path", "body", "needed"),
    [
        ("GET", "/queries/q", None, Role.READ),
        ("GET", "/streams", None, Role.READ),
        ("GET", "/taps", None, Role.READ),
        ("POST", "/check", {"text": "SELECT x FROM line"}, Role.READ),
        ("POST", "/sql", {"text": "SHOW QUERIES"}, Role.ASK),
        ("POST", "/previews", {"text": "SELECT x FROM line"}, Role.ASK),
        ("POST", "/taps", {"on": "line"}, Role.ASK),
        ("POST", "/sql", {"text": "DROP QUERY q"}, Role.ADMINISTER),
        ("POST", "/sql", {"text": "SHOW QUERIES; PAUSE QUERY q"}, Role.ADMINISTER),
        ("POST", "/queries", {"name": "n", "text": "SELECT x FROM line"}, Role.ADMINISTER),
        ("PUT", "/queries/q", {"text": "SELECT x FROM line"}, Role.ADMINISTER),
        ("POST", "/queries/q/pause", None, Role.ADMINISTER),
        ("POST", "/queries/q/stage", {"text": "SELECT x FROM line"}, Role.ADMINISTER),
        ("DELETE", "/queries/q", None, Role.ADMINISTER),
    ],
)
def test_roles(team: StoredDesk, method: str, path: str, body: object, needed: Role) -> None:
    for role in Role:
        answer = team.http(method, path, body, bearer(role))
        assert (role, answer.status == 403) == (role, role < needed)
        if role < needed:
            assert "this needs the role" in answer.error["what"]


def test_a_wrong_token_is_refused_and_too_many_are_not_even_compared(team: StoredDesk) -> None:
    wrong = {"Authorization": "Bearer muntin_nobody"}
    statuses = [team.http("GET", "/queries", headers=wrong).status for _ in range(WRONG_A_MINUTE)]
    assert statuses == [401] * WRONG_A_MINUTE
    last = team.http("GET", "/queries", headers=wrong)
    assert (last.status, last.headers["retry-after"]) == (429, "60")
    basic = {"Authorization": "Basic YTpi"}
    assert team.http("GET", "/queries", headers=basic).status == 401


def test_a_page_logs_in_and_out_by_cookie(team: StoredDesk) -> None:
    token = TOKENS[Role.ADMINISTER][0]
    logged = team.http("POST", "/session", {"token": token})
    cookie, *flags = logged.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {*flags}
    assert logged.json["role"] == "administer"
    known = {"Cookie": cookie}
    assert team.http("GET", "/session", headers=known).json["name"] == "administerer"
    # A cookie alone changes nothing: its own page must have asked.
    assert team.http("POST", "/queries/q/pause", headers=known).status == 403
    page = {**known, "Origin": f"http://127.0.0.1:{team.http.port}"}
    assert team.http("POST", "/queries/q/pause", headers=page).status == 409
    foreign = {**known, "Origin": "http://evil.test"}
    assert team.http("POST", "/queries/q/pause", headers=foreign).status == 403
    assert team.http("DELETE", "/session", headers=page).status == 200
    assert team.http("GET", "/queries", headers=known).status == 401
    assert team.http("POST", "/session", {"token": "muntin_nobody"}).status == 401


def test_a_token_that_is_taken_out_ends_at_once(team: StoredDesk, tmp_path: Path) -> None:
    logged = team.http("POST", "/session", {"token": TOKENS[Role.READ][0]})
    cookie = {"Cookie": logged.headers["set-cookie"].split(";")[0]}
    with HttpClient(team.http.port, cookie).events("q", status="true") as events:
        next(events)
        write(tmp_path / "tokens", [TOKENS[Role.ASK][1]])
        assert [data for _, name, data in events if name == "close"] == [{"reason": "session"}]
    assert team.http("GET", "/queries", headers=cookie).status == 401
    assert team.http("GET", "/queries/q", headers=bearer(Role.READ)).status == 401


def test_large_requests_are_refused_by_their_header_and_by_what_comes(team: StoredDesk) -> None:
    own = bearer(Role.ADMINISTER)
    assert team.http("POST", "/check", {"text": "x" * 20_000}, own).status == 413
    chunked = {**own, "Content-Type": "application/json"}
    body = [b'{"text": "', *[b"x" * 5_000] * 4, b'"}']
    answer = team.http("POST", "/check", headers=chunked, raw=iter(body))
    assert answer.status == 413
    assert "10,000 bytes" in answer.error["what"]


def test_a_caller_has_only_so_many_requests(tmp_path: Path) -> None:
    engine = StoredEngine(tmp_path / "home")
    with stored_desk(engine, guard=GuardSettings(calls_a_minute=5)) as desk:
        statuses = [desk.http("GET", "/session").status for _ in range(6)]
    assert statuses == [200] * 5 + [429]


def test_what_changes_or_is_refused_is_noted_without_secrets(
    team: StoredDesk, tmp_path: Path
) -> None:
    secret = "SELECT x FROM line INTO webhook('https://h.test/hook', token => 'hush')"
    team.http("POST", "/sql", {"text": secret}, bearer(Role.ASK))
    team.http("GET", "/queries", headers=bearer(Role.READ))
    team.http("GET", "/queries")
    team.http("POST", "/session", {"token": TOKENS[Role.READ][0]})
    log = tmp_path / "home" / "audit.log"
    until = time.monotonic() + 10  # a line is written after the answer is sent
    while len((text := log.read_text()).splitlines()) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    lines = [json.loads(line) for line in text.splitlines()]
    noted = [(line["who"], line["method"], line["path"], line["status"]) for line in lines]
    assert noted == [
        ("asker", "POST", "/api/v1/sql", 400),
        (None, "GET", "/api/v1/queries", 401),
        (None, "POST", "/api/v1/session", 200),
    ]
    assert "webhook" in lines[0]["text"]
    assert "hush" not in text
    assert "muntin_" not in text
    assert (tmp_path / "home" / "audit.log").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x FROM csv.`/etc/passwd`",
        "SELECT java_method('java.lang.Runtime', 'getRuntime') FROM line",
        "CREATE STREAM s FROM csv('/etc/passwd') ON ts",
        "CREATE STREAM s FROM kafka('broker:9092', 'topic') ON ts",
        "CREATE QUERY q INTO webhook('http://169.254.169.254/') AS SELECT x FROM line",
        "CREATE TRIGGER t ON q DO command('rm -rf /')",
        "SELECT x FROM line INTO parquet('/tmp/out')",
    ],
)
def test_statements_do_not_leave_the_engine(team: StoredDesk, text: str) -> None:
    answer = team.http("POST", "/sql", {"text": text}, bearer(Role.ADMINISTER))
    assert answer.status == 400
    assert answer.error["kind"] == "SqlError"
    into = {"name": "n", "text": "SELECT x FROM line", "into": "webhook('http://h.test/')"}
    assert "safe mode" in team.http("POST", "/queries", into, bearer(Role.ADMINISTER)).error["what"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no tokens"),
        ("# nobody\n", "no tokens"),
        ("administer sha256:12 ada", "64 hexadecimal digits"),
        ("boss sha256:" + "0" * 64, "'boss' is no role"),
        ("administer muntin_the_token_itself ada", "line 1 cannot be read"),
    ],
)
def test_a_token_file_that_makes_no_sense_is_refused(
    tmp_path: Path, text: str, problem: str
) -> None:
    write(tmp_path / "tokens", [text])
    with pytest.raises(EngineError, match=problem) as refused:
        TokenFile(tmp_path / "tokens")
    assert "the_token_itself" not in str(refused.value)


def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "tokens", [TOKENS[Role.READ][1]])
    (tmp_path / "tokens").chmod(0o644)
    with pytest.raises(EngineError, match="can be read by others"):
        TokenFile(tmp_path / "tokens")


def test_tokens_differ_and_only_their_hash_is_kept() -> None:
    (one, line), (two, _) = (new_token(Role.ASK, "ada") for _ in range(2))
    assert one != two
    assert one not in line
    assert [(own.role, own.name) for own in read_lines(line)] == [(Role.ASK, "ada")]


def test_rates_fill_up_again() -> None:
    now = [0.0]
    rates = Rates(60, lambda: now[0])
    assert [rates.take("a") for _ in range(61)] == [True] * 60 + [False]
    assert rates.take("b")
    now[0] += 2.5
    assert [rates.take("a") for _ in range(3)] == [True, True, False]


def test_a_session_ends_by_itself(team: StoredDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = team.service.sessions
    _, cookie = sessions.log_in(TOKENS[Role.READ][0], "here")
    assert sessions.caller(None, cookie, "here").role is Role.READ
    later = time.time() + 13 * 3600
    monkeypatch.setattr(time, "time", lambda: later)
    assert sessions.caller(None, cookie, "here").role is None
