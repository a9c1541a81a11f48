"""``muntin doctor``: checks this machine, and prints for each check a verdict and a remedy."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from muntin.cli.doctor_checks import Finding, Verdict, checks
from muntin.cli.errors import Exit
from muntin.cli.options import SparkOptions, json_option
from muntin.cli.progress import CommandProgress
from muntin.errors import RequirementError

if TYPE_CHECKING:
    from muntin.spark.start.doctor import SessionProbe

_MARKS = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.PROBLEM: "red"}


@click.command()
@click.option("--quick", is_flag=True, help="Do not start Spark.")
@json_option("A JSON object for every finding.")
@click.pass_context
def command(ctx: click.Context, quick: bool, as_json: bool) -> None:
    """Look for what keeps Muntin from running here.

    Every line has a verdict; if it is not ok, what to do about it follows. The exit code is 4 if
    there is a problem.
    """
    problems = 0
    for finding in _all(quick, CommandProgress(as_json=as_json)):
        problems += finding.verdict is Verdict.PROBLEM
        click.echo(_as_json(finding) if as_json else _as_line(finding))
    if problems:
        ctx.exit(Exit.MACHINE)


def _all(quick: bool, progress: CommandProgress) -> Iterator[Finding]:
    healthy = True
    for finding in checks():
        healthy &= finding.verdict is not Verdict.PROBLEM
        yield finding
    if quick:
        return
    if healthy:
        yield from _started(progress)
    else:
        yield Finding("session", Verdict.WARNING, "not started", "fix the problems above first")


def _started(progress: CommandProgress) -> Iterator[Finding]:
    """Yield the findings that need a running Spark."""
    from muntin.cli.spark_session import session
    from muntin.spark.start.doctor import probe

    options = SparkOptions("local[1]", conf={}, packages=(), fetches=False, log=None)
    try:
        with session(options, progress) as spark, progress.during("Asking Spark"):
            session_probe = probe(spark)
    except RequirementError as error:
        remedy = "see what Java says: run python -c 'import pyspark; pyspark.SparkContext()'"
        says = str(error).removesuffix("; run: muntin doctor")
        yield Finding("session", Verdict.PROBLEM, says, remedy)
        return
    yield from judged(session_probe)


def judged(probed: SessionProbe) -> Iterator[Finding]:
    """Yield the findings about a session."""
    from muntin.spark.start.doctor import python

    yield Finding(
        "session", Verdict.OK, f"Spark {probed.version}, {probed.driver_memory} of memory"
    )
    if probed.worker is None or not probed.agrees:
        says = f"Python {probed.worker}, here {python()}" if probed.worker else probed.complaint
        remedy = f"export PYSPARK_PYTHON={sys.executable}"
        yield Finding("workers answer", Verdict.PROBLEM, says, remedy)
    else:
        yield Finding("workers answer", Verdict.OK, f"Python {probed.worker}")
    kept = probed.provider.rpartition(".")[2] or "none"
    if "RocksDB" not in probed.provider:
        remedy = f"--conf {probed.setting}"
        yield Finding("state provider", Verdict.PROBLEM, kept, remedy)
    elif probed.refusal:
        remedy = "RocksDB is native code: it needs glibc, and a folder for temporary files from "
        remedy += "which code may be run (export TMPDIR=...)"
        yield Finding("state provider", Verdict.PROBLEM, f"{kept}: {probed.refusal}", remedy)
    else:
        yield Finding("state provider", Verdict.OK, f"{kept} keeps state")


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
