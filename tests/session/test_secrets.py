"""Secrets are not shown where statements, errors and records of them are, and can be references."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.engine.sinks.query_sinks import read_call
from muntin.engine.sinks.sink_call import from_text, to_text
from muntin.errors import ArgumentError, MuntinError
from muntin.parser.errors import SqlError
from muntin.parser.hidden_secrets import without_secrets
from muntin.parser.parse import parse
from muntin.parser.statements import CreateTrigger
from muntin.session.session import without_secrets as shown_statement
from muntin.spark.connectors.signature import secrets_of
from muntin.spark.connectors.sinks.postgres import POSTGRES
from muntin.specs.secrets import SecretReference, is_secret, origin_of, without_secrets_in

S = "Hunter2Hunter2"
#: Calls with the secret S in them; all but S may be shown.
CALLS = [
    f"postgres('t', url => 'postgresql://me:{S}@host/db')",
    f"postgres('t', url => 'postgresql://me:a@b/{S}@host/db')",
    f"postgres('t', url => 'postgresql://me:{S}/a@b@host/db')",
    f"postgres('t', url => 'postgresql://host/db?user=a&password={S}')",
    f"postgres('t', url => 'postgresql://host/db?sslpassword={S}&x=1')",
    f"postgres('t', url => 'postgresql://host/db', password => '{S}')",
    f"postgres('t', url => 'postgresql://host/db', PassWord => '{S}')",
    f"postgres('t', url => 'postgresql://host/db', `password` => \"{S}\")",
    f"postgres('t', 'postgresql://host/db', 'me', '{S}')",
    f"postgres('t', 'postgresql://host/db', 'me', 'me', '{S}')",  # one too many
    f"kafka('t', servers => 'h:1', kafka.ssl.keystore.key => '{S}')",
    f"kafka('t', servers => 'h:1', kafka.ssl.keystore.password => '{S}')",
    f"kafka('t', servers => 'h:1', `kafka.sasl.jaas.config` => 'x password=\"{S}\";')",
    f"kafka('t', servers => 'h:1', sslpassword => '{S}')",
    f"webhook('https://hooks.example.org/services/{S}')",
    f"webhook('https://hooks.example.org/?sig={S}')",
    f"webhook('https://hooks.example.org/x?access_token={S}')",
    f"webhook('https://hooks.example.org/x?api_key={S}&b=1')",
    f"webhook('https://hooks.example.org/x?X-Amz-Signature={S}')",
    f"webhook('https://me:{S}@hooks.example.org/x')",
    f"webhook('https://{S}@hooks.example.org/x')",
    f"webhook(url => 'https://hooks.example.org/{S}')",
    f"webhook('https://hooks.example.org/x', token => '{S}')",
    f"webhook('https://hooks.example.org/x', 1, 3, '{S}')",
    f"command('curl -H \"Authorization: Bearer {S}\" https://x')",
    f"command('curl https://me:{S}@host/x')",
    f"csv('s3a://bucket/x?sig={S}')",
    f"nosuch('t', access_token => '{S}')",
]


@pytest.mark.parametrize("call", CALLS)
def test_a_statement_is_shown_without_its_secrets(call: str) -> None:
    try:
        statements = parse(
            f"CREATE TRIGGER t ON q DO {call}; CREATE QUERY r AS SELECT 1 INTO {call}"
        )
    except SqlError as error:
        assert S not in str(error)
        return
    for statement in statements:
        shown = str(shown_statement(statement))
        assert S not in shown
        assert "***" in shown


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "text",
    [
        "CREATE TRIGGER t ON q DO {call} oops",
        "CREATE TRIGGER t ON q DO {call}, nosuch",
        "CREATE QUERY r AS SELECT 1 INTO {call} oops",
        "CREATE STREAM s FROM {call} ONN ts",
        "CREATE STREAM s FROM {call} ((ts TIMESTAMP) ON ts",
        "CREATE TABLE s FROM {call} oops; SELECT",
        "SELECT 1 x y; CREATE TRIGGER t ON q DO {call}",
        "SELEC 1 /* {call} */",
    ],
)
def test_an_error_shows_its_line_without_secrets(call: str, text: str) -> None:
    try:
        parse(text.format(call=call))
    except MuntinError as error:
        assert S not in str(error)


@pytest.mark.parametrize("call", CALLS)
def test_an_error_about_a_text_that_was_cut_shows_no_secret(call: str) -> None:
    """Without its last characters the text ends in the middle of a call, or of a quoted secret."""
    for cut in range(1, 40):
        text = f"CREATE TRIGGER t ON q DO {call}"[:-cut]
        with pytest.raises(MuntinError) as raised:
            parse(f"{text} {'(' * (cut % 2)}")
            raise SqlError("it is shown all the same", text, len(text) - 1)
        shown = str(raised.value)
        # As much of the secret as is left in the text, if that is more than a syllable.
        assert not [S[:size] for size in range(6, len(S) + 1) if S[:size] in shown]


def test_the_caret_stays_under_its_character() -> None:
    text = f"CREATE TRIGGER t ON q DO webhook('https://h.org/x', token => '{S}') oops"
    with pytest.raises(SqlError) as raised:
        parse(text)
    _, line, caret, *_ = str(raised.value).split("\n")
    assert line[caret.index("^") :] == "oops"
    assert "*" * len(S) in line


def test_what_is_no_secret_is_shown() -> None:
    for text in (
        "SELECT a.token, b.key FROM t a JOIN u b ON a.token = b.token WHERE x = 'y' GROUP BY key",
        "CREATE QUERY q AS SELECT 1 INTO kafka('topic', servers => 'h:9092', key => 'station')",
        "CREATE STREAM s FROM csv('traffic.csv', header => true) (ts TIMESTAMP) ON ts",
        "CREATE TRIGGER t ON q DO webhook('https://example.org')",
        "SELECT regexp_replace(a, 'b', 'c') FROM explode(x)",
    ):
        assert without_secrets(text) == text


@given(st.text(alphabet="ab '\"`(),=>;\\\n-/*@:?&password", max_size=60))
def test_hiding_keeps_the_length_and_the_lines_of_any_text(text: str) -> None:
    shown = without_secrets(text)
    assert len(shown) == len(text)
    assert shown.count("\n") == text.count("\n")
    without_secrets_in(text)
    origin_of(text)


@pytest.mark.parametrize(
    "name",
    [
        *("access_token", "api_key", "apiKey", "sig", "Password", "sslpassword", "PGPASSWORD"),
        *("kafka.ssl.keystore.key", "fs.s3a.secret.key", "fs.azure.account.key.x", "Authorization"),
        *("X-Amz-Credential", "private_key", "sasl.jaas.config", "spark.ssl.keyPassword"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["key", "path", "topic", "design", "passed", "author", "monkey"])
def test_names_that_are_none(name: str) -> None:
    assert not is_secret(name)


# By reference


REFERRING = "postgres('t', url => 'postgresql://host/db', password => secret('pg.password'))"


def test_a_reference_is_kept_as_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUNTIN_SECRET_PG_PASSWORD", S)
    (created,) = parse(f"CREATE TRIGGER t ON q DO {REFERRING}")
    assert isinstance(created, CreateTrigger)
    assert created.action.options["password"] == SecretReference("pg.password")
    assert "password => secret('pg.password')" in str(shown_statement(created))
    call = read_call("into", "", REFERRING)
    stored = to_text(call)
    assert json.loads(stored)["options"]["password"] == {"secret": "pg.password"}
    assert from_text(stored) == call
    assert S not in stored + repr(created) + str(created)
    bound = POSTGRES.bind(call.arguments, call.options)
    assert bound.maybe("password") == S
    assert secrets_of(POSTGRES, call.arguments, call.options) == (S,)
    assert S not in repr(bound)


def test_a_reference_can_be_an_address() -> None:
    (created,) = parse("CREATE TRIGGER t ON q DO webhook(secret('hook'))")
    assert isinstance(created, CreateTrigger)
    assert created.action.arguments == (SecretReference("hook"),)
    assert from_text(to_text(read_call("x", "", "webhook(secret('hook'))"))).arguments == (
        SecretReference("hook"),
    )


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_secrets_are_in_a_file_or_a_folder(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "secrets"
    if kind == "file":
        place.write_text(f"# comment = no\nother=x\n hook = {S}=\n")
    else:
        place.mkdir()
        (place / "hook").write_text(f"{S}=\n")
    monkeypatch.setenv("MUNTIN_SECRETS", str(place))
    monkeypatch.setenv("MUNTIN_SECRET_HOOK", "that of the environment comes second")
    monkeypatch.setenv("MUNTIN_SECRET_ELSEWHERE", "there")
    assert SecretReference("hook").value() == f"{S}="
    assert SecretReference("elsewhere").value() == "there"


def test_a_secret_that_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUNTIN_SECRETS", raising=False)
    with pytest.raises(ArgumentError, match=r"neither .* MUNTIN_SECRET_PG_X, nor .* --secrets"):
        SecretReference("pg-x").value()
    monkeypatch.setenv("MUNTIN_SECRETS", str(tmp_path / "missing"))
    with pytest.raises(ArgumentError, match="cannot be read"):
        SecretReference("pg-x").value()


@pytest.mark.parametrize("name", ["", "../x", "/etc/passwd", "a/b", ".hidden", "a b"])
def test_a_name_of_a_secret_leads_to_no_other_file(name: str) -> None:
    with pytest.raises(SqlError, match="the name of a secret is a word"):
        parse(f"CREATE TRIGGER t ON q DO webhook(secret('{name}'))")
