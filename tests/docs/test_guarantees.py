"""The page of guarantees names tests that exist."""

from __future__ import annotations

import ast
import re

from tests.house.source_tree import ROOT

PAGE = ROOT / "docs" / "concepts" / "guarantees.md"
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_test_that_is_named_exists() -> None:
    named = _NAMED.findall(PAGE.read_text(encoding="utf-8"))
    assert len(named) > 40
    missing = [f"{path}::{name}" for path, name in named if name not in _named_tests(path)]
    assert missing == []


def test_every_promise_of_security_names_a_test() -> None:
    security = PAGE.read_text(encoding="utf-8").split("## Security")[1]
    rows = [line for line in security.splitlines() if line.startswith("| ")][1:]
    assert rows
    assert [row for row in rows if not row.startswith("|---") and not _NAMED.search(row)] == []


def _named_tests(path: str) -> set[str]:
    file = ROOT / path
    if not file.is_file():
        return set()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
