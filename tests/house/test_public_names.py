"""The public names: each is there, typed and documented, and importing the package imports none."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys

import pytest

import muntin as mt
from tests.house.source_tree import ROOT, SOURCE


def test_every_public_name_is_there() -> None:
    assert [name for name in mt.__all__ if getattr(mt, name, None) is None] == []
    assert sorted(mt.__all__) == mt.__all__
    assert {*mt.__all__} <= {*dir(mt)}


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="module 'muntin' has no attribute 'panes'"):
        mt.panes  # type: ignore[attr-defined]  # noqa: B018


def test_type_checkers_see_the_same_names() -> None:
    stub = ast.parse((SOURCE / "__init__.pyi").read_text())
    typed = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    modules = vars(mt)["_MODULES"]
    assert typed == {name: f"{module}.{name}" for name, module in modules.items()}


def test_every_public_name_has_a_docstring() -> None:
    public = {name: getattr(mt, name) for name in mt.__all__}
    described = {name for name, value in public.items() if inspect.getdoc(value)}
    assert described == {*mt.__all__}


def test_every_public_name_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference.md").read_text()
    documented = set(re.findall(r"^::: muntin\.(?:[a-z_]+\.)*(\w+)$", page, re.MULTILINE))
    assert {*mt.__all__} - documented == set()


def test_importing_the_package_imports_no_room() -> None:
    program = "import sys, muntin; print([n for n in sys.modules if n.startswith('muntin.')])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr


def test_a_worker_imports_what_it_needs() -> None:
    """What runs a shard of windows knows nothing of frames, and loads none of their kernels."""
    program = (
        "import sys, muntin.spark.exchange.batch_driver, muntin.operators.windows.operator; "
        "print([name for name in sys.modules if name.startswith('muntin.operators.frames')])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr
