"""The source of Muntin as a graph: its modules, and which of them import which.

Every import counts: those inside functions and those under ``if TYPE_CHECKING`` too. Whoever reads
a file must know what all of them bring.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "muntin"


@cache
def modules() -> Mapping[str, Path]:
    """Every module by its full name, with its file; the front door ``muntin`` among them."""
    return {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def module_name(path: Path) -> str:
    """Return the full name of the module in a file below ``src/muntin``."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(["muntin", *parts]).removesuffix(".__init__")


def imported_names(code: str, package: str) -> Iterator[str]:
    """Yield the full names that some code imports; ``package`` is the package the code is in."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def package_of(path: Path) -> str:
    """Return the package that a file below ``src/muntin`` belongs to."""
    return ".".join(["muntin", *path.relative_to(SOURCE).parts[:-1]])


def module_of(name: str) -> str:
    """Return the module that an imported name is, or lives in.

    >>> module_of("muntin.errors.MuntinError"), module_of("muntin.errors")
    ('muntin.errors', 'muntin.errors')
    """
    return name if name in modules() else name.rpartition(".")[0]


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """The modules of Muntin that each module imports."""
    return {
        module: frozenset(
            module_of(name)
            for name in imported_names(path.read_text(encoding="utf-8"), package_of(path))
            if name.split(".")[0] == "muntin"
        )
        for module, path in modules().items()
    }


def cycles(graph: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or in a circle.

    What is left after modules without imports, and those that nobody imports, are taken away again
    and again, lies on a circle or between two.

    >>> cycles({"a": frozenset("b"), "b": frozenset("a"), "c": frozenset("a")})
    [['a', 'b']]
    """
    left = {module: set(targets) & graph.keys() for module, targets in graph.items()}
    while True:
        imported = {target for targets in left.values() for target in targets}
        ends = {module for module, targets in left.items() if not targets}
        ends |= left.keys() - imported
        if not ends:
            break
        left = {module: targets - ends for module, targets in left.items() if module not in ends}
    groups = {module: frozenset(reachable(left, module)) for module in left}
    circles = {
        frozenset(other for other in group if module in groups[other])
        for module, group in groups.items()
        if module in group
    }
    return sorted(sorted(circle) for circle in circles)


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Return every module on a way of imports that begins at one module."""
    seen: set[str] = set()
    ahead = [*graph[start]]
    while ahead:
        module = ahead.pop()
        if module not in seen:
            seen.add(module)
            ahead += graph[module]
    return seen
