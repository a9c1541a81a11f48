"""The public names: each is there, and importing the package does not import what they live in."""

from __future__ import annotations

import subprocess
import sys

import pytest

import muntin as mt


def test_every_public_name_is_there() -> None:
    assert [name for name in mt.__all__ if getattr(mt, name, None) is None] == []
    assert sorted(mt.__all__) == mt.__all__
    assert {*mt.__all__} <= {*dir(mt)}


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="module 'muntin' has no attribute 'windows'"):
        mt.windows  # type: ignore[attr-defined]  # noqa: B018


def test_a_worker_imports_what_it_needs() -> None:
    """What runs a shard of windows knows nothing of frames, and loads none of their kernels."""
    program = (
        "import sys, muntin.spark.exchange.batch_driver, muntin.operators.windows.operator; "
        "print([name for name in sys.modules if name.startswith('muntin.operators.frames')])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found.stderr


@pytest.mark.parametrize("first", ["muntin.parser.parse", "muntin.session.session"])
def test_sql_is_the_function_whatever_is_imported_first(first: str) -> None:
    """The package muntin.sql would take its place."""
    program = f"import {first}, muntin as mt; print(mt.SqlError.__name__, callable(mt.sql))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.strip() == "SqlError True", found.stderr
