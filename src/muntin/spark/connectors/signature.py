"""How sources, sinks and actions are called: ``csv('readings', header => true)``.

A signature lists the parameters. A call is bound to it before anything is opened, so that a
misspelt option is an error and not an option without effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from muntin.errors import ArgumentError, did_you_mean
from muntin.specs.secrets import (
    HIDDEN,
    SecretReference,
    is_secret,
    origin_of,
    without_secrets_in,
)

#: A value in a call.
Literal = str | int | float | bool | SecretReference | None | tuple["Literal", ...]
#: The types of values, for messages.
_KINDS: Mapping[type, str] = {
    str: "a text in quotes",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}


@dataclass(frozen=True)
class Parameter:
    """A named value of a call; a secret is never shown.

    Of an address that is ``private`` only the host is shown: whoever knows it all can post to it.
    """

    name: str
    kind: type
    default: Literal = None
    required: bool = False
    choices: tuple[str, ...] = ()
    positive: bool = False
    secret: bool = False
    private: bool = False

    def checked(self, value: Literal, where: str) -> Literal:
        """Return the value; raises what would work if it does not fit."""
        if isinstance(value, SecretReference) and self.kind is str and not self.choices:
            return value  # looked up when it is used
        if self.kind is float and type(value) is int:
            value = float(value)
        fits = isinstance(value, self.kind) and (self.kind is bool or not isinstance(value, bool))
        if not fits:
            shown = HIDDEN if self.secret else _shown_address(value)
            raise ArgumentError(self.name, shown, f"{where} takes {_KINDS[self.kind]} here")
        if self.positive and isinstance(value, int | float) and not value > 0:
            raise ArgumentError(self.name, value, "it must be above zero")
        if self.choices and value not in self.choices:
            expected = f"{where} takes one of {', '.join(self.choices)}"
            raise ArgumentError(self.name, value, expected + did_you_mean(str(value), self.choices))
        return value


@dataclass(frozen=True)
class BoundCall:
    """The values of a call by parameter, and the options that are passed on to Spark."""

    name: str
    values: Mapping[str, Literal]
    passed: Mapping[str, Literal] = field(default_factory=dict)

    def text(self, name: str) -> str:
        return str(_known(self.values[name]))

    def number(self, name: str) -> int:
        value = self.values[name]
        assert isinstance(value, int)  # what its parameter says, and bind has checked
        return value

    def truth(self, name: str) -> bool:
        return self.values[name] is True

    def maybe(self, name: str) -> str | None:
        value = self.values[name]
        return None if value is None else str(_known(value))

    def spark_options(self) -> dict[str, str]:
        """Return the options that are passed on to Spark."""
        return {name: _spelled(_known(value)) for name, value in self.passed.items()}


@dataclass(frozen=True)
class Signature:
    """The parameters of a call in order; each can be given by position or by name.

    ``passed`` are the options that are passed on to Spark, under Spark's names; case and
    underscores do not matter. Every option that begins with one of ``prefixes`` is passed on, too.
    """

    name: str
    parameters: tuple[Parameter, ...]
    passed: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()

    def bind(self, arguments: Sequence[Literal], options: Mapping[str, Literal]) -> BoundCall:
        """Return the values of a call by name; raises what is wrong with it."""
        if len(arguments) > len(self.parameters):
            without, _ = self.hidden(arguments, {})
            raise ArgumentError(self.name, list(without), f"it takes {self._listed()}")
        own = dict(zip((p.name for p in self.parameters), arguments, strict=False))
        passed: dict[str, Literal] = {}
        for name, value in options.items():
            where, known = self._known(name, value)
            if known in own or known in passed:
                shown = self._shown(known, value)
                raise ArgumentError(name, shown, f"{self.name} has it already")
            (own if where == "own" else passed)[known] = value
        values = {p.name: self._value(p, own) for p in self.parameters}
        return BoundCall(self.name, values, passed)

    def _value(self, parameter: Parameter, values: Mapping[str, Literal]) -> Literal:
        if values.get(parameter.name) is not None:
            return parameter.checked(values[parameter.name], self.name)
        if parameter.required:
            expected = f"{self.name} needs it: {self._listed()}"
            raise ArgumentError(parameter.name, None, expected)
        return parameter.default

    def _known(self, name: str, value: Literal) -> tuple[str, str]:
        """Return where an option belongs, and how it is spelled there."""
        for parameter in self.parameters:
            if _plain(parameter.name) == _plain(name):
                return "own", parameter.name
        for option in self.passed:
            if _plain(option) == _plain(name):
                return "passed", option
        if name.startswith(self.prefixes):
            return "passed", name
        names = [*(p.name for p in self.parameters), *self.passed]
        # A text may be a password with a misspelt name.
        raise ArgumentError(
            name,
            HIDDEN if isinstance(value, str) else value,
            f"{self.name} has no such option{did_you_mean(name, names)}; it takes {self._listed()}",
        )

    def hidden(
        self, arguments: Sequence[Literal], options: Mapping[str, Literal]
    ) -> tuple[tuple[Literal, ...], dict[str, Literal]]:
        """Return the values of a call without its secrets, to be shown."""
        names = [p.name for p in self.parameters]
        # What is beyond the parameters may be a password in a wrong place.
        places = (names[n] if n < len(names) else "secret" for n in range(len(arguments)))
        by_place = zip(places, arguments, strict=True)
        return (
            tuple(self._shown(name, value) for name, value in by_place),
            {name: self._shown(name, value) for name, value in options.items()},
        )

    def _shown(self, name: str, value: Literal) -> Literal:
        if value is None or isinstance(value, SecretReference):
            return value
        if self._is_secret(name):
            return HIDDEN
        if isinstance(value, str) and any(p.name == name and p.private for p in self.parameters):
            return origin_of(value)
        return _shown_address(value)

    def _is_secret(self, name: str) -> bool:
        declared = any(p.secret for p in self.parameters if _plain(p.name) == _plain(name))
        return declared or is_secret(name)

    def _listed(self) -> str:
        own = [p.name if p.required else f"{p.name} (optional)" for p in self.parameters]
        spark = f"; and of Spark's options {', '.join(self.passed)}" if self.passed else ""
        return ", ".join(own) + spark


def named(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the name of a source, sink or action as it is spelled here; raises if unknown."""
    names = list(known)
    if name.lower() in names:
        return name.lower()
    expected = f"there is no such {kind}{did_you_mean(name.lower(), names)}; there are "
    raise ArgumentError(kind, name, expected + ", ".join(names))


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _shown_address(value: Literal) -> Literal:
    """Return a text without the secrets in addresses and settings in it."""
    if isinstance(value, tuple):
        return tuple(map(_shown_address, value))
    return without_secrets_in(value) if isinstance(value, str) else value


def _known(value: Literal) -> Literal:
    """Return a value, that of a secret for a reference to it."""
    return value.value() if isinstance(value, SecretReference) else value


def secrets_of(
    signature: Signature, arguments: Sequence[Literal], options: Mapping[str, Literal]
) -> tuple[str, ...]:
    """Return the secrets of a call as they are, to be hidden where an error shows them."""
    shown, named_ = signature.hidden(arguments, options)
    pairs = [*zip(arguments, shown, strict=True)]
    pairs += [(value, named_[name]) for name, value in options.items()]
    secrets: list[str] = []
    for value, visible in pairs:
        if isinstance(value, SecretReference):
            secrets += _resolved(value)
        elif isinstance(value, str) and value != visible:
            secrets.append(value)
    return tuple(secrets)


def _resolved(reference: SecretReference) -> list[str]:
    try:
        return [reference.value()]
    except ArgumentError:
        return []  # it is nowhere, so nothing can show it


def _spelled(value: Literal) -> str:
    """Return a value as Spark's options spell it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
