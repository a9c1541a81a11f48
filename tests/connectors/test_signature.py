from __future__ import annotations

from typing import Any

import pytest

from muntin.errors import ArgumentError
from muntin.spark.connectors.signature import Parameter, Signature, named

CSV = Signature(
    "csv",
    (
        Parameter("path", str, required=True),
        Parameter("header", bool, False),
        Parameter("max_files", int, positive=True),
        Parameter("mode", str, "all", choices=("all", "some")),
    ),
    ("timestampFormat",),
    prefixes=("kafka.",),
)


def test_by_place_and_by_name() -> None:
    bound = CSV.bind(["a.csv"], {"header": True, "max_files": 3})
    assert (bound.text("path"), bound.truth("header"), bound.number("max_files")) == (
        "a.csv",
        True,
        3,
    )
    assert bound.text("mode") == "all"
    assert bound.spark_options() == {}


def test_case_and_underscores_do_not_matter() -> None:
    bound = CSV.bind(["a"], {"Timestamp_Format": "yyyy", "MAXFILES": 1, "kafka.acks": "all"})
    assert bound.number("max_files") == 1
    assert bound.spark_options() == {"timestampFormat": "yyyy", "kafka.acks": "all"}


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        ([], {}, r"path=None cannot be used: csv needs it: path, header \(optional\)"),
        (["a"], {"heder": True}, r"csv has no such option \(did you mean 'header'\?\)"),
        (["a"], {"header": 1}, "header=1 cannot be used: csv takes true or false here"),
        (["a"], {"max_files": True}, "csv takes a whole number here"),
        (["a"], {"max_files": 0}, "max_files=0 cannot be used: it must be above zero"),
        ([3], {}, "path=3 cannot be used: csv takes a text in quotes here"),
        (["a"], {"path": "b"}, "csv has it already"),
        (["a"], {"mode": "sme"}, r"one of all, some \(did you mean 'some'\?\)"),
        (["a", True, 1, "all", 5], {}, "it takes path, header"),
    ],
)
def test_what_does_not_fit(arguments: list[Any], options: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        CSV.bind(arguments, options)


def test_names() -> None:
    assert named("source", "CSV", ["csv", "json"]) == "csv"
    with pytest.raises(ArgumentError, match=r"there is no such source \(did you mean 'json'\?\)"):
        named("source", "jsn", ["csv", "json"])


def test_secrets_are_not_shown() -> None:
    login = Signature(
        "login",
        (Parameter("url", str), Parameter("password", str, secret=True)),
        prefixes=("kafka.",),
    )
    url = "postgresql://me:pw@host/db?ssl=true&password=pw&x=1"
    assert login.hidden([url, "pw"], {"kafka.ssl.key.password": "pw", "kafka.acks": "all"}) == (
        ("postgresql://me:***@host/db?ssl=true&password=***&x=1", "***"),
        {"kafka.ssl.key.password": "***", "kafka.acks": "all"},
    )
    given: list[tuple[list[Any], dict[str, Any]]] = [
        ([], {"pasword": "hunter2"}),
        (["u", "hunter2"], {"password": "hunter2"}),
        (["u", "hunter2", 3], {}),
        (["u"], {"password": ("hunter2",)}),
    ]
    for arguments, options in given:
        with pytest.raises(ArgumentError) as error:
            login.bind(arguments, options)
        assert "hunter2" not in str(error.value)
