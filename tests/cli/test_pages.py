"""The pages list all exit codes, commands, sources, sinks and simulations."""

from __future__ import annotations

from pathlib import Path

from muntin.cli.commands.demo import NAMES
from muntin.cli.errors import Exit
from muntin.cli.main import COMMANDS
from muntin.session.simulated_source import SIMULATORS
from muntin.session.triggers.trigger import ACTIONS
from muntin.spark.connectors.sinks.registry import SINKS
from muntin.spark.connectors.sources.registry import SOURCES

PAGES = Path(__file__).parents[2] / "docs" / "cli"


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text()


def test_exit_codes() -> None:
    for code in Exit:
        assert f"| {code.value} | {code.meaning} |" in page("index")


def test_commands() -> None:
    for name in COMMANDS:
        assert f"`muntin {name}" in page("index")


def test_sources_and_simulations() -> None:
    for name in SOURCES:
        assert f"`{name}(" in page("sources")
    for name, simulator in SIMULATORS.items():
        assert f"`simulate('{name}')`" in page("sources")
        assert all(f"`{stream}`" in page("sources") for stream in simulator.streams)


def test_sinks_and_actions() -> None:
    for name in [*SINKS, *ACTIONS, "insert"]:
        assert f"`{name}(" in page("sinks")


def test_there_is_a_demonstration_of_every_simulator() -> None:
    assert {*NAMES} == {*SIMULATORS}
