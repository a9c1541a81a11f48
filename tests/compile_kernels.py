"""Compiles every kernel, in as many processes as tests have: else each of these compiles its own.

``make test`` runs it first. A kernel that is compiled already is read from its cache.
"""

from __future__ import annotations

import importlib
import pkgutil
from concurrent.futures import ProcessPoolExecutor

import muntin.aggregates
import muntin.kernels
from muntin.kernels.compile import LazyKernel

PACKAGES = (muntin.kernels, muntin.aggregates)


def compile_those_of(module: str) -> None:
    for found in vars(importlib.import_module(module)).values():
        if isinstance(found, LazyKernel) and found.__module__ == module:
            found.compiled  # noqa: B018  (which compiles it)


def main() -> None:
    modules = [
        module.name
        for package in PACKAGES
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(compile_those_of, modules))


if __name__ == "__main__":
    main()
