"""``muntin doctor``: every finding has a verdict, and a remedy where it needs one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from muntin.cli.commands import doctor
from muntin.cli.commands.doctor import Verdict, judged
from muntin.cli.errors import Exit
from muntin.cli.main import main
from muntin.spark.requirements import ROCKSDB
from muntin.spark.start.doctor import SessionProbe


def found(*words: str) -> tuple[int, dict[str, dict[str, str]]]:
    result = CliRunner().invoke(main, ["doctor", "--quick", "--json", *words])
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return result.exit_code, {line["what"]: line for line in lines}


def test_a_healthy_machine() -> None:
    code, lines = found()
    assert code == Exit.OK
    assert {"Java", "Spark", "Python", "Python of workers", "memory", "protobuf"} <= {*lines}
    assert all(line["remedy"] == "" for line in lines.values() if line["verdict"] == "ok")


def test_a_session_is_asked(spark: SparkSession) -> None:
    """This runs on the session of the tests, which must still be there afterwards."""
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == Exit.OK, result.output
    assert f"ok       session: Spark {spark.version}" in result.stdout
    assert "ok       workers answer: Python 3." in result.stdout
    assert "ok       state provider: RocksDBStateStoreProvider keeps state" in result.stdout
    assert spark.range(1).count() == 1


def test_what_a_session_lacks() -> None:
    asked = SessionProbe("4.3.0", "a.b.HDFSBackedStateStoreProvider", "1g", "2.7", "")
    _, workers, state = judged(asked)
    assert (workers.verdict, state.verdict) == (Verdict.PROBLEM, Verdict.PROBLEM)
    assert workers.says.startswith("Python 2.7, here 3.")
    assert state.remedy.endswith(".RocksDBStateStoreProvider")
    asked = SessionProbe(
        "4.3.0", ROCKSDB, "1g", None, "no such file: python9", "cannot load librocksdbjni"
    )
    _, workers, state = judged(asked)
    assert workers.says == "no such file: python9"
    assert "cannot load librocksdbjni" in state.says
    assert "glibc" in state.remedy


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, lines = found()
    assert code == Exit.MACHINE
    assert lines["Java"]["verdict"] == "problem"
    assert "has no bin/java" in lines["Java"]["says"]
    assert "openjdk-17-jre-headless" in lines["Java"]["remedy"]


def test_an_old_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (finding,) = doctor.java()
    assert finding.verdict is Verdict.PROBLEM
    assert "is Java 8; Spark 4 needs 17" in finding.says


def test_a_python_of_workers_that_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/nowhere/python")
    code, lines = found()
    assert code == Exit.MACHINE
    assert "/nowhere/python does not run" in lines["Python of workers"]["says"]
    assert lines["Python of workers"]["remedy"].startswith("export PYSPARK_PYTHON=")


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_NEEDED", (("no.such_module", "nothing", "a test needs it"),))
    (finding,) = doctor.needed()
    assert finding.verdict is Verdict.PROBLEM
    assert finding.remedy == "pip install nothing"
    assert "a test needs it" in finding.says


def test_another_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda package: "3.5.1")
    (finding,) = doctor.spark()
    assert finding.verdict is Verdict.PROBLEM
    assert finding.remedy == "pip install 'pyspark>=4.1,<4.4'"


def test_for_people_the_remedy_is_on_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/nowhere/python")
    result = CliRunner().invoke(main, ["doctor", "--quick"])
    assert "problem  Python of workers: /nowhere/python" in result.stdout
    assert "-> export PYSPARK_PYTHON=" in result.stdout


@pytest.mark.parametrize(
    ("version", "verdict", "says"),
    [
        ("4.3.0", Verdict.OK, "4.3.0"),
        ("4.1.4", Verdict.OK, "4.1.4; Spark's own corr fails for a single row"),
        ("4.2.1", Verdict.OK, "4.2.1; Spark's own corr fails for a single row"),
        ("4.0.1", Verdict.PROBLEM, "4.0.1; Muntin is tested with 4.1, 4.2, 4.3"),
    ],
)
def test_what_a_version_of_spark_lacks(
    monkeypatch: pytest.MonkeyPatch, version: str, verdict: Verdict, says: str
) -> None:
    monkeypatch.setattr(doctor, "_version", lambda package: version)
    (finding,) = doctor.spark()
    assert finding.verdict is verdict
    assert finding.says.startswith(says)
