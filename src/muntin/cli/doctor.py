"""``muntin doctor``: looks, and says for each what it found and what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from muntin.cli.checks import Finding, Verdict, looks
from muntin.cli.exits import Exit
from muntin.semantics.errors import MuntinError

_MARKS = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.PROBLEM: "red"}


@click.command()
@click.option("--quick", is_flag=True, help="Do not start Spark.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object for every finding.")
@click.pass_context
def command(ctx: click.Context, quick: bool, as_json: bool) -> None:
    """Look for what keeps Muntin from running here.

    Every line is a verdict; where it is not ok it ends with what to do. The exit code is 4 if there
    is a problem.
    """
    problems = 0
    for finding in _all(quick):
        problems += finding.verdict is Verdict.PROBLEM
        click.echo(_as_json(finding) if as_json else _as_line(finding))
    if problems:
        ctx.exit(Exit.MACHINE)


def _all(quick: bool) -> Iterator[Finding]:
    healthy = True
    for finding in looks():
        healthy &= finding.verdict is not Verdict.PROBLEM
        yield finding
    if quick:
        return
    if healthy:
        yield from _started()
    else:
        yield Finding("session", Verdict.WARNING, "not started", "first mend what is above")


def _started() -> Iterator[Finding]:
    """What can only be seen by starting Spark."""
    from muntin.spark.probe import probe, python
    from muntin.spark.session import Settings, start

    try:
        spark = start(Settings(master="local[1]"))
    except MuntinError as error:
        remedy = "see what Java says: run python -c 'import pyspark; pyspark.SparkContext()'"
        yield Finding("session", Verdict.PROBLEM, str(error), remedy)
        return
    try:
        found = probe(spark)
    finally:
        spark.stop()
    yield Finding("session", Verdict.OK, f"Spark {found.version}, {found.driver_memory} of memory")
    says = found.provider.rpartition(".")[2]
    rocks = "RocksDB" in found.provider
    remedy = "--conf spark.sql.streaming.stateStore.providerClass=...RocksDBStateStoreProvider"
    kept = Verdict.OK if rocks else Verdict.PROBLEM
    yield Finding("state provider", kept, says or "none", "" if rocks else remedy)
    if found.agrees:
        yield Finding("workers answer", Verdict.OK, f"Python {found.worker}")
    else:
        says = f"Python {found.worker}, here {python()}" if found.worker else found.complaint
        remedy = "export PYSPARK_PYTHON to this Python"
        yield Finding("workers answer", Verdict.PROBLEM, says, remedy)


def _as_line(finding: Finding) -> str:
    verdict = click.style(f"{finding.verdict.value:8}", fg=_MARKS[finding.verdict])
    remedy = f"\n{'':9}-> {finding.remedy}" if finding.remedy else ""
    return f"{verdict} {finding.what}: {finding.says}{remedy}"


def _as_json(finding: Finding) -> str:
    return json.dumps(
        {
            "what": finding.what,
            "verdict": finding.verdict.value,
            "says": finding.says,
            "remedy": finding.remedy,
        }
    )
