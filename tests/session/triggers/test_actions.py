"""Webhooks and commands, without Spark."""

from __future__ import annotations

import base64
import json
import re
import shlex
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import ActionError, ArgumentError, MuntinError
from muntin.session.triggers.command import Command
from muntin.session.triggers.trigger import action_of
from muntin.session.triggers.webhook import Webhook
from muntin.session.triggers.words_as_code import code_in
from muntin.specs.secrets import SecretReference


@contextmanager
def receiver(*answers: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Run a web server that answers these codes in turn, then 200; yield address and requests."""
    got: list[dict[str, Any]] = []
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append({**json.loads(body), "token": self.headers["Authorization"]})
            self.send_response(left.pop(0) if left else 200)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def do_GET(self) -> None:
            got.append({"asked": self.path, "token": self.headers["Authorization"]})
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/x", got
    finally:
        server.shutdown()
        server.server_close()


def test_a_row_is_posted() -> None:
    with receiver() as (url, got):
        action_of("webhook", [url], {"token": "abc"})('{"n": 3}')
    assert got == [{"n": 3, "token": "Bearer abc"}]


def test_a_failure_is_tried_again() -> None:
    waited: list[float] = []
    with receiver(503, 500) as (url, got):
        Webhook(url, 5.0, 3, sleep=waited.append)('{"n": 3}')
    assert len(got) == 3
    assert waited == [0.5, 1.0]


def test_it_is_not_tried_for_ever() -> None:
    with receiver(500, 500, 500) as (url, got):
        with pytest.raises(ActionError, match=r"/\*\*\*: answered 500, 2 times"):
            Webhook(url, 5.0, 2, sleep=lambda _: None)('{"n": 3}')
        assert len(got) == 2


def test_nobody_listens() -> None:
    with receiver() as (url, _):
        pass
    with pytest.raises(ActionError, match="refused"):
        Webhook(url, 5.0, 1)('{"n": 3}')


def test_a_redirect_is_not_followed() -> None:
    """Following it would send a GET without the row, and send the token to the new address."""
    message = "answered 302, a redirect, which is not followed"
    with receiver(302) as (url, got), pytest.raises(ActionError, match=message):
        Webhook(url, 5.0, 1, "abc")('{"n": 3}')
    assert [sorted(request) for request in got] == [["n", "token"]]


def test_what_answers_is_no_web_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            taken, _ = server.accept()
            with taken:
                taken.recv(2**16)
                taken.sendall(b"220 mail.example.org ready\r\n")

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(ActionError, match="220 mail"):
            Webhook(f"http://127.0.0.1:{server.getsockname()[1]}/x", 5.0, 1)('{"n": 3}')


def test_a_token_is_one_line_and_is_not_shown() -> None:
    with pytest.raises(ArgumentError, match=r"token='\*\*\*' cannot be used: it is one line"):
        action_of("webhook", ["http://x"], {"token": "abc\r\nX-Other: 1"})


def test_a_user_in_the_address_is_basic_authentication() -> None:
    """The password has a slash and an at sign; the receiver gets it as it is."""
    with receiver() as (url, got):
        address = url.replace("://", "://me:p%40ss%2Fword@")
        action_of("webhook", [address], {})('{"n": 3}')
        action_of("webhook", [url.replace("://", "://only@")], {})('{"n": 4}')
    expected = [base64.b64encode(user).decode() for user in (b"me:p@ss/word", b"only")]
    assert [request["token"] for request in got] == [f"Basic {user}" for user in expected]


def test_a_token_by_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUNTIN_SECRET_HOOK", "abc")
    with receiver() as (url, got):
        action_of("webhook", [url], {"token": SecretReference("hook")})('{"n": 3}')
    assert got == [{"n": 3, "token": "Bearer abc"}]


def test_what_failed_is_reported_without_the_address() -> None:
    with receiver(500) as (url, _):
        address = url.replace("://", "://me:Hunter2@") + "?sig=Hunter2"
        with pytest.raises(ActionError, match="answered 500") as raised:
            Webhook(address, 5.0, 1)('{"n": 3}')
    assert "Hunter2" not in str(raised.value)
    assert "Hunter2" not in repr(Webhook(address, 5.0, 1, "Hunter2"))


@pytest.mark.parametrize(
    "url",
    ["http://me:Hunter2/x@host/y", "http://me:Hun?ter2@h/", "https://me:Hunter2@/x", "http://"],
)
def test_an_address_that_cannot_be_is_not_shown(url: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        action_of("webhook", [url], {})
    assert "Hun" not in str(raised.value)


def test_a_command_gets_the_row(tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = "import sys; open(sys.argv[1], 'w').write(sys.argv[2] + sys.stdin.read())"
    line = f'{sys.executable} -c "{script}" {out} "{{k}}: {{n}} "'
    action_of("command", [line], {})('{"n": 3, "k": "a; rm -rf x"}')
    assert out.read_text() == 'a; rm -rf x: 3 {"n": 3, "k": "a; rm -rf x"}'


def test_a_command_that_fails() -> None:
    script = "import sys; print('no such host', file=sys.stderr); sys.exit(3)"
    with pytest.raises(ActionError, match="exit code 3 no such host"):
        Command((sys.executable, "-c", script), 20.0)("{}")
    with pytest.raises(ActionError, match=r"no end after 0\.5 seconds"):
        Command((sys.executable, "-c", "import time; time.sleep(9)"), 0.5)("{}")
    with pytest.raises(ActionError, match="there is no column v; there are n"):
        Command(("echo", "{v}"), 1.0)('{"n": 3}')


def test_what_a_command_cannot_take_or_say() -> None:
    with pytest.raises(ActionError, match="null byte"):
        Command(("echo", "{k}"), 5.0)(json.dumps({"k": "a\0b"}))
    script = "import sys; sys.stderr.buffer.write(bytes([233, 10])); sys.exit(int(sys.argv[1]))"
    Command((sys.executable, "-c", script, "0"), 20.0)("{}")
    with pytest.raises(ActionError, match="exit code 3 \N{REPLACEMENT CHARACTER}"):
        Command((sys.executable, "-c", script, "3"), 20.0)("{}")


@pytest.mark.parametrize(
    ("name", "argument", "says"),
    [
        ("webhook", "file:///etc/passwd", "it is a web address"),
        ("command", "no-such-program x", "there is no such program on the path"),
        ("command", "echo 'x", "it cannot be split into words: No closing quotation"),
        ("webhok", "http://x", r"no such action \(did you mean 'webhook'\?\)"),
    ],
)
def test_what_is_refused(name: str, argument: str, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        action_of(name, [argument], {})


def test_attempts() -> None:
    with pytest.raises(ArgumentError, match="attempts=0 cannot be used"):
        action_of("webhook", ["http://x"], {"attempts": 0})


@pytest.mark.parametrize(
    "line",
    [
        'sh -c "echo {x}"',
        "sh -c {x}",
        "/bin/sh -ec 'echo {x}'",
        "env A=1 bash --command 'echo {x}'",
        "timeout 5 python3 -c 'print({x})'",
        "perl -e '{x}'",
        "awk '{x}'",
        "sh -c -x 'echo {x}'",
        "python3.11 -W ignore -c 'print({x})'",
        "/usr/bin/perl5.36 -E{x}",
        "make X={x}",
        "ssh host {x}",
        "bash -c -- 'echo {x}'",
        "sudo -u me sh -c 'echo {x}'",
        "ruby --eval={x}",
    ],
)
def test_a_value_never_becomes_code(line: str) -> None:
    why = code_in(shlex.split(line))  # whether the program is on this machine or not
    assert why is not None
    assert re.search(r"would read .* as code", why)


def test_a_command_that_reads_code_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"would read the value of echo .x. as code"):
        action_of("command", ["sh -c 'echo {x}'"], {})


@pytest.mark.parametrize(
    "line",
    [
        *(
            "sh",
            "bash -s",
            "sh -x",
            "/bin/dash -",
            "env A=1 sh",
            "timeout 5 bash",
            "bash /dev/stdin",
        ),
        *("python3", "python3 -", "perl -w", "sh -es x", "bash --norc -s -- {x}"),
        *("xargs sh -c 'echo x'", "xargs -I% sh -c 'echo %'"),
    ],
)
def test_the_row_never_becomes_code(line: str) -> None:
    """``{"k": "$(id)"}`` on the standard input of a shell would run id."""
    why = code_in(shlex.split(line))
    assert why is not None
    assert "would read the row on its standard input as code" in why


@pytest.mark.parametrize("line", ["env {x}", "nice -n 5 {x}", "timeout 5 {x}", "xargs {x}"])
def test_a_value_is_never_the_program(line: str) -> None:
    with pytest.raises(ArgumentError, match=r"would run the program that is the value of"):
        action_of("command", [line], {})
    with pytest.raises(ArgumentError, match="no such program"):
        action_of("command", ["{x} a"], {})


def test_a_value_is_never_an_option(tmp_path: Path) -> None:
    """``sort -o file`` would write a file; ``--`` or a word before the value ends that."""
    target = tmp_path / "made"
    run = action_of("command", ["sort {x}"], {})
    with pytest.raises(
        ActionError, match=r"would read the value '-o.* as an option; write -- before"
    ):
        run(json.dumps({"x": f"-o{target}"}))
    assert not target.exists()
    action_of("command", ["echo -- {x} {n}"], {})(json.dumps({"x": "-e", "n": -3}))
    action_of("command", ["echo {n}"], {})(json.dumps({"n": -3}))  # a number is none


WORDS = [
    "sh",
    "-c",
    "echo {x}",
    "{x}",
    "env",
    "timeout",
    "5",
    "bash",
    "--",
    "-e",
    "x",
    "python3",
    "cat",
]
EVIL = "{\"x\": \"$(touch made); `touch made`; open('made', 'w')\"}"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5))
def test_no_command_that_is_taken_runs_a_value(words: list[str]) -> None:
    line = shlex.join(words)
    with tempfile.TemporaryDirectory() as folder:
        try:
            action = action_of("command", [f"env -C {folder} {line}"], {"timeout": 2})
            action(EVIL)
        except MuntinError:
            pass
        assert not (Path(folder) / "made").exists()


def test_a_value_is_a_word_after_the_code(tmp_path: Path) -> None:
    """The advice of the message works, with a value that would be code."""
    written = tmp_path / "out"
    run = action_of("command", [f"sh -c 'echo \"$1\" > {written}' sh {{x}}"], {})
    run(json.dumps({"x": "$(touch /never); `id`"}))
    assert written.read_text() == "$(touch /never); `id`\n"
