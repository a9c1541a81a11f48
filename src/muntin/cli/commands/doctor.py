"""``muntin doctor``: checks this machine, and prints for each check a verdict and a remedy."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

import click

from muntin.cli.errors import Exit
from muntin.cli.options import SparkOptions, json_option
from muntin.cli.progress import CommandProgress
from muntin.errors import RequirementError

if TYPE_CHECKING:
    from muntin.spark.start.doctor import SessionProbe


class Verdict(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One line of the doctor: what was checked, how it is, and what to do about it."""

    what: str
    verdict: Verdict
    says: str
    remedy: str = ""


#: The oldest Java that Spark 4 runs on.
OLDEST_JAVA = 17
#: What must be importable: the module, the package to install, and what it is for.
_NEEDED = (
    ("pyarrow", "pyarrow", "rows travel in its format"),
    ("pandas", "pandas", "streams pass their state in it"),
    ("numba", "numba", "it compiles the inner loops"),
    ("google.protobuf", "protobuf", "Spark describes the state of streams in it"),
    ("sqlglot", "sqlglot", "it parses SQL"),
)
_WANTED = (
    ("altair", "muntin[plot]", "pictures need it"),
    ("vl_convert", "muntin[plot]", "it writes pictures"),
)
#: Bytes: less memory than this is a problem, less free disk than this is a warning.
_LEAST_MEMORY, _LEAST_DISK = 2 * 2**30, 2 * 2**30
_ASK = (
    "import json, sys, pyarrow; from importlib.metadata import version; "
    "print(json.dumps(['.'.join(map(str, sys.version_info[:2])), version('pyspark')]))"
)


def checks() -> Iterator[Finding]:
    """Yield everything that can be checked without starting Spark."""
    for check in (java, spark, driver, workers, needed, wanted, memory, disk):
        yield from check()


def java() -> Iterator[Finding]:
    """Check the Java that Spark will start."""
    home = os.environ.get("JAVA_HOME")
    path = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    install = "install Java 17 or newer (Debian: apt-get install openjdk-17-jre-headless)"
    if path is None or not Path(path).exists():
        where = f"JAVA_HOME={home} has no bin/java" if home else "none is on the path"
        yield Finding("Java", Verdict.PROBLEM, where, install)
        return
    output = _run([path, "-version"])
    number = re.search(r'version "(?:1\.)?(\d+)', output)
    if number is None:
        yield Finding("Java", Verdict.PROBLEM, f"{path} does not print its version", install)
    elif int(number[1]) < OLDEST_JAVA:
        old = f"{path} is Java {number[1]}; Spark 4 needs {OLDEST_JAVA}"
        yield Finding("Java", Verdict.PROBLEM, old, f"{install}, or point JAVA_HOME to it")
    else:
        yield Finding("Java", Verdict.OK, f"{number[1]} ({path})")


def spark() -> Iterator[Finding]:
    """Check the PySpark that is installed."""
    from muntin.spark.spark_versions import REQUIREMENT, TESTED, lacks, series

    remedy = f"pip install '{REQUIREMENT}'"
    installed = _version("pyspark")
    if installed is None:
        yield Finding("Spark", Verdict.PROBLEM, "PySpark is not installed", remedy)
    elif series(installed) not in TESTED:
        says = f"{installed}; Muntin is tested with {', '.join(TESTED)}"
        yield Finding("Spark", Verdict.PROBLEM, says, remedy)
    else:
        yield Finding("Spark", Verdict.OK, "; ".join([installed, *lacks(installed)]))


def driver() -> Iterator[Finding]:
    """Report this Python."""
    own = ".".join(map(str, sys.version_info[:3]))
    yield Finding("Python", Verdict.OK, f"{own} ({sys.executable})")


def workers() -> Iterator[Finding]:
    """Check the Python that Spark will start for its workers on this machine."""
    theirs = os.environ.get("PYSPARK_PYTHON", sys.executable)
    remedy = f"export PYSPARK_PYTHON={sys.executable}"
    try:
        answer = json.loads(_run([theirs, "-c", _ASK]).strip().splitlines()[-1])
    except (ValueError, IndexError):
        says = f"{theirs} does not run, or lacks PySpark or PyArrow"
        yield Finding("Python of workers", Verdict.PROBLEM, says, remedy)
        return
    own = [".".join(map(str, sys.version_info[:2])), _version("pyspark")]
    if answer != own:
        there, here = (f"Python {python} and PySpark {spark}" for python, spark in (answer, own))
        says = f"{theirs} has {there}, this one {here}"
        yield Finding("Python of workers", Verdict.PROBLEM, says, remedy)
    else:
        same = "the same as this one" if theirs == sys.executable else theirs
        yield Finding("Python of workers", Verdict.OK, same)


def needed() -> Iterator[Finding]:
    """Check the packages that every run needs."""
    for module, package, reason in _NEEDED:
        if _missing(module):
            remedy = f"pip install {package}"
            yield Finding(package, Verdict.PROBLEM, f"not installed; {reason}", remedy)
        else:
            yield Finding(package, Verdict.OK, _version(package) or "installed")


def wanted() -> Iterator[Finding]:
    """Check the packages that some commands need."""
    for module, package, reason in _WANTED:
        if _missing(module):
            remedy = f"pip install '{package}'"
            yield Finding(module, Verdict.WARNING, f"not installed; {reason}", remedy)


def memory() -> Iterator[Finding]:
    """Check the memory of this machine."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    says = f"{total / 2**30:.1f} GB"
    if total < _LEAST_MEMORY:
        remedy = "use a machine with 4 GB, or --conf spark.driver.memory=512m and small shards"
        yield Finding("memory", Verdict.WARNING, f"{says} is little for Spark", remedy)
    else:
        yield Finding("memory", Verdict.OK, says)


def disk() -> Iterator[Finding]:
    """Check the disk that Spark spills to."""
    folder = os.environ.get("SPARK_LOCAL_DIRS", gettempdir()).split(",")[0]
    free = shutil.disk_usage(folder).free
    says = f"{free / 2**30:.1f} GB free in {folder}"
    if free < _LEAST_DISK:
        remedy = "point SPARK_LOCAL_DIRS to a folder with room"
        yield Finding("temporary files", Verdict.WARNING, says, remedy)
    else:
        yield Finding("temporary files", Verdict.OK, says)


def _missing(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is None
    except ModuleNotFoundError:  # of the package that the module would be in
        return True


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _run(words: Sequence[str]) -> str:
    """Return what a program prints, to either output; nothing if it cannot be run."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


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
