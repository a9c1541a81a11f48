"""One way to compile a kernel: explicit signature, no GIL, cached beside the source.

A kernel compiles once per machine. Workers that receive the package unpack it to a folder of real
files, so the cache works there too.

Numba is imported when the first kernel is called: a driver calls none, and would wait for it. A
worker would wait longer than a short query takes, so kernels of ``in_python`` compute their first
few values without it.
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
SMALL_INTS = _array("int32", readonly=True)
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

    def make(numba: Any) -> Any:
        made = tuple(type_.made for type_ in types)
        if len(set(made)) == 1:  # Numba has another type for these
            return numba.types.NamedUniTuple(made[0], len(made), fields)
        return numba.types.NamedTuple(made, fields)

    return LazyType(make)


def arrays_of(fields: type[tuple[Any, ...]], array: LazyType) -> LazyType:
    """Return the type of a named tuple whose fields are all arrays of one type.

    Numba does not take arrays that can be written for read-only ones inside a tuple.
    """
    count = len(fields.__annotations__)
    return LazyType(lambda numba: numba.types.NamedUniTuple(array.made, count, fields))


Kernel = TypeVar("Kernel", bound=Callable[..., Any])
#: How many values of its arguments a kernel reads or writes in Python before it is compiled. To
#: load Numba takes more than a second, and these values some milliseconds.
_IN_PYTHON = 20_000
_NUMBERS = (int, float, np.integer, np.floating)


def kernel(
    result: LazyType, *arguments: LazyType, in_python: bool = False
) -> Callable[[Kernel], Kernel]:
    """Compile a function for one signature, keeping its Python type for the type checker.

    It compiles when it is first called: all kernels together take half a minute the first time on a
    machine, and a query calls few of them. Compiled code calls a kernel through :func:`ready`.
    ``in_python`` says that the function does the same without being compiled; then it is compiled
    only when it is called with more than a few values.
    """

    def compile_(function: Kernel) -> Kernel:
        return cast(Kernel, LazyKernel(function, result, arguments, in_python=in_python))

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
        self,
        function: Callable[..., Any],
        result: LazyType,
        arguments: tuple[LazyType, ...],
        *,
        in_python: bool,
    ) -> None:
        super().__init__(function)
        self._result, self._arguments = result, arguments
        self._left = _IN_PYTHON if in_python else 0

    def __call__(self, *arguments: Any) -> Any:
        if self._left > 0:
            self._left -= sum(len(each) for each in arguments if isinstance(each, np.ndarray))
            if self._left > 0 and "compiled" not in self.__dict__:
                return self.uncompiled(*arguments)
        return self.compiled(*arguments)

    def uncompiled(self, *arguments: Any) -> Any:
        """Call the function itself; its numbers overflow silently, as compiled ones do."""
        with np.errstate(all="ignore"):
            return self.__wrapped__(*arguments)  # type: ignore[attr-defined]

    def _compile(self, numba: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        signature = self._result.made(*(argument.made for argument in self._arguments))
        compiled: Callable[..., Any] = numba.njit(signature, cache=True, nogil=True)(function)
        return compiled


class LazyPart(LazyFunction):
    """A part of kernels that is not compiled yet, with the options that Numba is given."""

    def __init__(self, function: Callable[..., Any], **options: object) -> None:
        super().__init__(function)
        self._options = options

    def __call__(self, *arguments: Any) -> Any:
        # A kernel that is not compiled calls its parts with single numbers.
        if "compiled" in self.__dict__ or not all(isinstance(a, _NUMBERS) for a in arguments):
            return self.compiled(*arguments)
        return self.__wrapped__(*arguments)  # type: ignore[attr-defined]

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
