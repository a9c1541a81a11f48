"""What ``muntin doctor`` checks before Spark starts; each check yields findings."""

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
    remedy = "pip install 'pyspark>=4.3,<4.4'"
    installed = _version("pyspark")
    if installed is None:
        yield Finding("Spark", Verdict.PROBLEM, "PySpark is not installed", remedy)
    elif not installed.startswith("4.3"):
        yield Finding("Spark", Verdict.PROBLEM, f"{installed}; Muntin is built on 4.3", remedy)
    else:
        yield Finding("Spark", Verdict.OK, installed)


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
