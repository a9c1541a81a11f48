"""One way to compile a kernel: explicit signature, no GIL, cached beside the source.

A kernel compiles once per machine. Workers that receive the package unpack it to a folder of real
files, so the cache works there too.

Numba is imported when the first kernel is called: a driver calls none, and would wait for it.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np


class LazyType:
    """A type of Numba, made when the first kernel that declares it is compiled."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    @functools.cached_property
    def made(self) -> Any:
        import numba

        return self._make(numba)


def _array(element: str, dimensions: int = 1, *, readonly: bool = False) -> LazyType:
    return LazyType(
        lambda numba: numba.types.Array(getattr(numba, element), dimensions, "C", readonly=readonly)
    )


#: Arrow's memory is read-only, so kernels declare their inputs as read-only.
INTS = _array("int64", readonly=True)
FLOATS = _array("float64", readonly=True)
OUT_INTS = _array("int64")
OUT_INT_ROWS = _array("int64", dimensions=2)
OUT_FLOATS = _array("float64")
BYTES = _array("uint8", readonly=True)
OUT_BYTES = _array("uint8")
WORDS = _array("uint64", readonly=True)
OUT_WORDS = _array("uint64")
INT = LazyType(lambda numba: numba.int64)
FLOAT = LazyType(lambda numba: numba.float64)
NONE = LazyType(lambda numba: numba.void)


def array_of(dtype: np.dtype[Any], readonly: bool = False) -> LazyType:
    """Return the type of an array of records, as kernels declare it."""
    return LazyType(
        lambda numba: numba.types.Array(numba.from_dtype(dtype), 1, "C", readonly=readonly)
    )


def tuple_of(fields: type[tuple[Any, ...]], *types: LazyType) -> LazyType:
    """Return the type of a named tuple, as kernels declare it."""
    return LazyType(
        lambda numba: numba.types.NamedTuple(tuple(type_.made for type_ in types), fields)
    )


Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(result: LazyType, *arguments: LazyType) -> Callable[[Kernel], Kernel]:
    """Compile a function for one signature, keeping its Python type for the type checker.

    It compiles when it is first called: all kernels together take half a minute the first time on a
    machine, and a query calls few of them. Compiled code calls a kernel through :func:`ready`.
    """

    def compile_(function: Kernel) -> Kernel:
        return cast(Kernel, LazyKernel(function, result, arguments))

    return compile_


class LazyFunction:
    """A function that is not compiled yet."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)

    @functools.cached_property
    def compiled(self) -> Callable[..., Any]:
        import numba

        function: Callable[..., Any] = self.__wrapped__  # type: ignore[attr-defined]
        _link(function)
        return self._compile(numba, function)

    def _compile(self, numba: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        raise NotImplementedError

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)


class LazyKernel(LazyFunction):
    """A kernel that is not compiled yet."""

    def __init__(
        self, function: Callable[..., Any], result: LazyType, arguments: tuple[LazyType, ...]
    ) -> None:
        super().__init__(function)
        self._result, self._arguments = result, arguments

    def _compile(self, numba: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        signature = self._result.made(*(argument.made for argument in self._arguments))
        compiled: Callable[..., Any] = numba.njit(signature, cache=True, nogil=True)(function)
        return compiled


class LazyPart(LazyFunction):
    """A part of kernels that is not compiled yet, with the options that Numba is given."""

    def __init__(self, function: Callable[..., Any], **options: object) -> None:
        super().__init__(function)
        self._options = options

    def _compile(self, numba: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        compiled: Callable[..., Any] = numba.njit(**self._options)(function)
        return compiled


def _link(function: Callable[..., Any]) -> None:
    """Replace the parts that a function names by compiled ones: Numba knows only these."""
    names = function.__globals__
    for instruction in dis.get_instructions(function):
        named = names.get(instruction.argval) if instruction.opname == "LOAD_GLOBAL" else None
        if isinstance(named, LazyPart):
            names[instruction.argval] = named.compiled


def ready(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled kernel, which other compiled code can call."""
    assert isinstance(function, LazyKernel)
    return function.compiled


def part(function: Kernel) -> Kernel:
    """Compile a part of a kernel once for all kernels that call it."""
    return cast(Kernel, LazyPart(function, nogil=True))


def fused(function: Kernel) -> Kernel:
    """Compile a part into its callers, because passing arguments for every row costs more."""
    return cast(Kernel, LazyPart(function, nogil=True, forceinline=True))


def inline(function: Kernel) -> Kernel:
    """Compile a helper of kernels into each of its callers."""
    return cast(Kernel, LazyPart(function, inline="always"))
