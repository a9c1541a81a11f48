"""``muntin sql`` on a real terminal in tmux, and its parts without a terminal."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from muntin.cli.prompt import Completer, is_command, is_complete, read
from muntin.cli.shell import Shell
from tests.cli.processes import ROOT
from tests.cli.terminal import Terminal


def asking(*lines: str | None) -> tuple[list[str], object]:
    """Return the list of prompts shown, and a function that answers them; None is Ctrl-C."""
    prompts: list[str] = []
    left = list(lines)

    def ask(prompt: str) -> str:
        prompts.append(prompt.strip())
        if not left:
            raise EOFError
        line = left.pop(0)
        if line is None:
            raise KeyboardInterrupt
        return line

    return prompts, ask


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["SELECT 1;"], "SELECT 1;"),
        (["SELECT", "1;"], "SELECT\n1;"),
        (["SELECT ';", "';"], "SELECT ';\n';"),
        (["", "", "SELECT 1;"], "SELECT 1;"),
        (["SELECT 1", ""], "SELECT 1"),
        (["SELECT 'x", ""], "SELECT 'x"),
        (["SELECT oops", None, "SELECT 2;"], "SELECT 2;"),
        (["SELECT (1;"], "SELECT (1;"),  # what is never closed is found at the semicolon
        ([".read a.sql"], ".read a.sql"),
        (["exit"], "exit"),
        ([], None),
    ],
)
def test_statements_are_read(lines: list[str | None], text: str | None) -> None:
    _, ask = asking(*lines)
    assert callable(ask)
    assert read(ask) == text


def test_a_piped_text_has_empty_lines_and_may_lack_the_last_semicolon() -> None:
    _, ask = asking("SELECT", "", "1;", "SELECT 2")
    assert callable(ask)
    assert [read(ask, piped=True) for _ in range(3)] == ["SELECT\n1;", "SELECT 2", None]


def test_prompts_say_whether_a_statement_was_begun() -> None:
    prompts, ask = asking("SELECT", "1;")
    assert callable(ask)
    read(ask)
    assert prompts == ["muntin>", "...>"]


def test_completion() -> None:
    complete = Completer(lambda: ["traffic", "Speed", "station"])
    assert complete.matches("tr")[:4] == ["traffic", "trigger", "triggers", "true"]
    assert complete.matches("S")[:2] == ["Speed", "station"]
    assert "SELECT" in complete.matches("SEL")
    assert "select" in complete.matches("sel")
    assert [complete("traf", n) for n in range(2)] == ["traffic", None]


@pytest.mark.parametrize(
    ("beginning", "found"),
    [
        ("THRE", "THRESHOLD"),  # a kind of frame
        ("MINU", "MINUTES"),  # a unit
        ("approx_c", "approx_count_distinct"),  # an aggregate
        ("substri", "substring"),  # a function of Spark
        ("resam", "resample"),  # a function over relations
        ("postg", "postgres"),  # a source
        ("null", "nullValue"),  # an option
        ("pyproj", "pyproject.toml"),  # a file
        ("src/munt", "src/muntin/"),  # a folder
        ("HEARTB", "HEARTBEAT"),
        (".re", ".read"),
    ],
)
def test_everything_that_can_be_typed_is_completed(
    beginning: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert found in Completer(lambda: []).matches(beginning)


def test_in_quotes_files_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "select_these.csv").touch()
    assert Completer(lambda: [], lambda: "FROM '").matches("sel") == ["select_these.csv"]
    assert "select" in Completer(lambda: [], lambda: "FROM 'x' ").matches("sel")


def test_words_for_the_shell_itself() -> None:
    assert all(map(is_command, ["exit", "quit;", "\\q", "HELP"]))
    assert not is_command("SELECT 1;")
    assert not is_complete("")


@dataclass
class Ended:
    """A streaming query that has ended."""

    name: str
    why: Exception | None
    isActive: bool = False  # noqa: N815

    def exception(self) -> Exception | None:
        return self.why


def test_the_next_prompt_tells_which_queries_died(capsys: pytest.CaptureFixture[str]) -> None:
    queries = [
        Ended("slow", ValueError("OSError: the disk is full")),
        Ended("quick", None),
        Ended("fine", None, isActive=True),
    ]
    running = [SimpleNamespace(name=query.name, query=query) for query in queries]
    unused: Any = None
    shell = Shell(cast("Any", SimpleNamespace(running=running)), unused, unused, None)
    shell.report_ended()
    printed = capsys.readouterr().err
    assert printed == "Error: query slow failed: the disk is full\nquery quick has ended\n"
    assert [one.name for one in running] == ["fine"]
    shell.report_ended()
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.timeout(600)
def test_a_session_on_a_terminal(tmp_path: Path) -> None:
    terminal = Terminal.running(tmp_path, ["sql", "--stream"])
    try:
        _talk(terminal)
    finally:
        terminal.close()
    history = (tmp_path / "muntin" / "history").read_text()
    assert "FROM simulate('retail'" in history


def _talk(terminal: Terminal) -> None:
    terminal.wait_for("muntin>")
    # A stream over two lines, and words completed by the tab key.
    terminal.type("CREATE STREAM sales FROM simulate('retail', hours => 1, files => 3)")
    terminal.wait_for("...>")
    terminal.type("ON ts BY store DISORDER SLACK '20 seconds';")
    terminal.wait_for("ok")
    terminal.write("SHO")
    terminal.press("Tab")
    terminal.wait_for("muntin> SHOW")
    terminal.type(" STREAMS;")
    terminal.wait_for("CREATE STREAM sales FROM simulate")
    # A mistake is shown with its place, and the session goes on.
    terminal.type("SELECT stor FROM sales [RANGE 10 MINUTES SLIDE 10 MINUTES];")
    shown = terminal.wait_for("did you mean store?")
    assert "line 1, column 8: there is no column stor" in shown
    # A live table, with the progress of the query below it, is shown until the stream is over.
    terminal.type(
        "SELECT store, count(*) AS n FROM sales [RANGE 10 MINUTES SLIDE 10 MINUTES] GROUP BY store;"
    )
    terminal.wait_for("rows/s", 150)
    shown = terminal.wait_for("complete to", 150)
    assert "select_2:" in shown
    terminal.press("C-c")
    terminal.wait_for("muntin> ", 60)
    # Ctrl-D leaves while a query runs in the background and another one is shown.
    rows = (
        "SELECT store, count(*) AS n FROM sales [RANGE 10 MINUTES SLIDE 10 MINUTES] GROUP BY store"
    )
    terminal.type(f"CREATE QUERY kept AS {rows} INTO json('out');")
    terminal.wait_for("out');")  # the line before it is broken by the width of the terminal
    terminal.type(f"{rows};")
    terminal.wait_for("select_3:", 150)
    terminal.press("C-d")
    shown = terminal.wait_for("ended with 0", 90)
    assert "Traceback" not in shown
    assert "ERROR" not in shown
