"""Nothing that was stored is unpickled: reading a checkpoint or an engine's home runs no code.

Arguments travel to workers as pickles inside the functions that Spark sends; that is the only place
where bytes become objects of any class, and these bytes come from the driver, never from a file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.source_tree import modules

#: Modules that turn bytes into any object, or text into code.
_LOADERS = {
    *("pickle", "cloudpickle", "marshal", "shelve", "dill", "joblib", "copyreg", "_pickle"),
    *("jsonpickle", "code", "runpy"),
}
#: Calls that do so in modules that are harmless otherwise.
_CALLS = {"eval", "exec", "compile", "__import__"}
#: Who unpickles what the driver sends to workers with a function, and nothing else.
SENT = {
    "muntin.spark.exchange.shipping": {"pickle", "cloudpickle"},
    "muntin.spark.queries.write": {"pickle"},
    "muntin.spark.plan.frames": {"cloudpickle"},  # only dumps, for a digest
}


def test_only_what_is_sent_with_functions_is_a_pickle() -> None:
    used = {module: {*names} for module, names in _users()}
    assert used == SENT


def test_the_framing_functions_digest_is_never_loaded() -> None:
    assert "loads" not in modules()["muntin.spark.plan.frames"].read_text(encoding="utf-8")


def test_no_text_becomes_code() -> None:
    found = [
        f"{module}:{node.lineno}: {node.func.id}"
        for module, tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS
    ]
    assert found == []


def test_arrays_are_never_loaded_with_pickles() -> None:
    """``numpy.load`` and pandas read pickles on request."""
    found = [
        f"{module}:{node.lineno}"
        for module, tree in _trees()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr in ("read_pickle", "to_pickle"))
        or (isinstance(node, ast.keyword) and node.arg == "allow_pickle")
    ]
    assert found == []


def _trees() -> Iterator[tuple[str, ast.Module]]:
    for module, path in modules().items():
        yield module, ast.parse(path.read_text(encoding="utf-8"))


def _users() -> Iterator[tuple[str, list[str]]]:
    """Yield the modules that import a loader, also inside functions, with the loaders."""
    for module, tree in _trees():
        names = [
            name.split(".")[-1]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in _imported(node)
        ]
        if loaders := [name for name in names if name in _LOADERS]:
            yield module, loaders


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        names.append(node.module)
    return names
