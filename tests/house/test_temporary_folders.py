"""Temporary folders are private and are removed: made in few places, in ways that do both."""

from __future__ import annotations

import ast
import stat
import subprocess
import sys
from pathlib import Path

from muntin.spark.connectors.temporary_folder import temporary_folder
from tests.house.source_tree import modules

#: What makes files or folders among the temporary ones, and who may call it. A TemporaryDirectory
#: is private, and removed at the end of its ``with``.
MADE = {
    "mkdtemp": {"muntin.spark.connectors.temporary_folder"},
    # Both are of the folder in which workers keep the package: for the user alone, and checked.
    "gettempdir": {"muntin.spark.exchange.shipping", "muntin.cli.commands.doctor"},
    "mkstemp": {"muntin.spark.exchange.shipping"},
    "NamedTemporaryFile": set(),
    "TemporaryFile": set(),
    "mktemp": set(),
    "SpooledTemporaryFile": set(),
}


def test_only_known_places_make_temporary_files() -> None:
    found: dict[str, set[str]] = {name: set() for name in MADE}
    for module, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node, "attr", getattr(node, "id", None))
            if name in MADE and isinstance(node, ast.Attribute | ast.Name):
                found[name].add(module)
    assert found == MADE


def test_every_temporary_directory_is_in_a_with() -> None:
    wrong = []
    for module, path in modules().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        entered = {
            id(call)
            for node in ast.walk(tree)
            for call in (
                [item.context_expr for item in node.items]
                if isinstance(node, ast.With)
                else node.args
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "enter_context"
                else []
            )
        }
        wrong += [
            f"{module}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")) == "TemporaryDirectory"
            and id(node) not in entered
        ]
    assert wrong == []


def test_a_temporary_folder_is_private() -> None:
    folder = temporary_folder("test")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert temporary_folder("test") != folder


def test_a_temporary_folder_is_gone_with_its_process() -> None:
    program = """
import os
from muntin.spark.connectors.temporary_folder import temporary_folder
folder = temporary_folder("test")
(folder / "rows").write_text("x")
child = os.fork()
if not child:
    raise SystemExit  # which ends as a process does, and must leave the folder of its parent
os.waitpid(child, 0)
assert folder.is_dir()
print(folder)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not Path(done.stdout.strip()).exists()
