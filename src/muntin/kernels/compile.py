"""One way to compile a kernel: explicit signature, no GIL, cached beside the source.

A kernel compiles once per machine. Workers that receive the package unpack it to a folder of real
files, so the cache works there too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

#: Arrow's memory is read-only, so kernels declare their inputs as read-only.
INTS = numba.types.Array(numba.int64, 1, "C", readonly=True)
FLOATS = numba.types.Array(numba.float64, 1, "C", readonly=True)
OUT_INTS = numba.types.Array(numba.int64, 1, "C")
OUT_FLOATS = numba.types.Array(numba.float64, 1, "C")
BYTES = numba.types.Array(numba.uint8, 1, "C", readonly=True)
OUT_BYTES = numba.types.Array(numba.uint8, 1, "C")
WORDS = numba.types.Array(numba.uint64, 1, "C", readonly=True)
OUT_WORDS = numba.types.Array(numba.uint64, 1, "C")
INT = numba.int64
FLOAT = numba.float64
NONE = numba.void


def array_of(dtype: np.dtype[Any], readonly: bool = False) -> Any:
    """Return the type of an array of records, as kernels declare it."""
    return numba.types.Array(numba.from_dtype(dtype), 1, "C", readonly=readonly)


def tuple_of(fields: type[tuple[Any, ...]], *types: Any) -> Any:
    """Return the type of a named tuple, as kernels declare it."""
    return numba.types.NamedTuple(types, fields)  # type: ignore[no-untyped-call]


Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(result: Any, *arguments: Any) -> Callable[[Kernel], Kernel]:
    """Compile a function for one signature, keeping its Python type for the type checker.

    It compiles when it is first called: all kernels together take half a minute the first time on a
    machine, and a query calls few of them. Compiled code calls a kernel through :func:`ready`.
    """

    def compile_(function: Kernel) -> Kernel:
        return cast(Kernel, LazyKernel(function, result(*arguments)))

    return compile_


class LazyKernel:
    """A kernel that is not compiled yet."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        functools.update_wrapper(self, function)
        self.signature = signature

    @functools.cached_property
    def compiled(self) -> Callable[..., Any]:
        wrapped: Callable[..., Any] = self.__wrapped__  # type: ignore[attr-defined]
        dispatcher: Callable[..., Any] = numba.njit(self.signature, cache=True, nogil=True)(wrapped)
        return dispatcher

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)


def ready(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled kernel, which other compiled code can call."""
    assert isinstance(function, LazyKernel)
    return function.compiled


def part(function: Kernel) -> Kernel:
    """Compile a part of a kernel once for all kernels that call it."""
    return cast(Kernel, numba.njit(nogil=True)(function))


def fused(function: Kernel) -> Kernel:
    """Compile a part into its callers, because passing arguments for every row costs more."""
    return cast(Kernel, numba.njit(nogil=True, forceinline=True)(function))


def inline(function: Kernel) -> Kernel:
    """Compile a helper of kernels into each of its callers."""
    return cast(Kernel, numba.njit(inline="always")(function))
