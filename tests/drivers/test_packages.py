from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from muntin.errors import RequirementError
from muntin.spark.connectors import packages
from muntin.spark.connectors.packages import packages_for, scala_version


def test_the_connector_has_the_versions_of_the_installed_spark() -> None:
    connector = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version('pyspark')}"
    assert packages_for(["kafka", "kafka", "csv"]) == (connector,)
    assert scala_version() == "2.13"


def test_a_chosen_version_takes_the_place_of_ours() -> None:
    chosen = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
    assert packages_for(["kafka"], [chosen]) == (chosen,)
    assert packages_for(["postgres"], [chosen])[1:] == (chosen,)


def test_a_pyspark_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "jars_folder", lambda: tmp_path)
    with pytest.raises(RequirementError, match=r"install pyspark, not pyspark-client"):
        scala_version()
