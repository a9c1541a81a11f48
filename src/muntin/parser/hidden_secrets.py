"""Secrets in the text of statements, which errors show: where they are, and the text without them.

The text may be wrong in any way, because it is shown when it is. So this is no parser: it goes
through words, quotes and parentheses, and hides rather too much than too little.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from muntin.specs.secrets import HIDDEN, is_secret, origin_of, without_secrets_in

_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<text>'(?:[^'\\]|\\.)*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z))
    |(?P<word>`[^`]*`|\w+(?:\.\w+)*)
    |(?P<sign>=>|[(),=;])""",
    re.DOTALL | re.VERBOSE,
)
#: After these words a name with parentheses is a source, a sink or an action.
_BEFORE_CALL = {"FROM", "INTO", "DO"}
_CONNECTORS = {"webhook", "postgres", "kafka"}
#: Arguments by position from this one on are users, passwords and tokens.
_PRIVATE = 2


@dataclass
class _OpenCall:
    """A call that is open: its name if it is one of a connector, and the argument that is read."""

    connector: str = ""
    argument: str = ""
    place: int = 0


def secret_spans(text: str, *, in_comment: bool = False) -> Iterator[tuple[int, int]]:
    """Yield where the secrets of a text of SQL are, from an offset to another."""
    calls = [_OpenCall()]
    word, before = "", ""
    for token in _TOKEN.finditer(text):
        kind, call = token.lastgroup, calls[-1]
        part = token.group().strip("`")
        if kind == "comment":
            yield from _inside(token, without_secrets_in) if in_comment else _in_comment(token)
        elif kind == "sign":
            _follow(part, calls, word, before)
            word = before = "" if part == ";" else word
        elif _is_hidden(call, word, quoted=kind == "text"):
            quote = 1 if kind == "text" else 0
            yield token.start() + quote, max(token.start() + quote, token.end() - quote)
        elif kind == "text" and _is_cut(token.group()):
            yield from _inside(token, without_secrets_in)
            yield token.start() + token.group().index("://") + 3, token.end()
        elif kind == "text" and call.connector == "webhook" and call.place == 0:
            yield from _inside(token, origin_of)
        elif kind == "text":
            yield from _inside(token, without_secrets_in)
        if kind == "word":
            before, word = word, part


def _in_comment(token: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the secrets of a comment, which may be a statement that somebody left out."""
    inside = token.group()[2:].removesuffix("*/")
    begin = token.start() + 2
    yield from (
        (begin + start, begin + end) for start, end in secret_spans(inside, in_comment=True)
    )


def _follow(sign: str, calls: list[_OpenCall], word: str, before: str) -> None:
    """Follow parentheses, commas and the names of arguments."""
    match sign:
        case "(":
            connects = before.upper() in _BEFORE_CALL or word.lower() in _CONNECTORS
            calls.append(_OpenCall(word.lower() if connects else ""))
        case ")" if len(calls) > 1:
            calls.pop()
        case ",":
            calls[-1].argument = ""
            calls[-1].place += 1
        case "=>":
            calls[-1].argument = word.lower()
        case "=" if calls[-1].connector:  # a mistake for =>; elsewhere it compares
            calls[-1].argument = word.lower()
        case ";":
            calls[:] = [_OpenCall()]


def _is_hidden(call: _OpenCall, word: str, *, quoted: bool) -> bool:
    """Return whether a value is secret by the name of its argument, or by its position."""
    if is_secret(call.argument) or (quoted and is_secret(word)):
        return True
    return quoted and bool(call.connector) and not call.argument and call.place >= _PRIVATE


def _is_cut(quoted: str) -> bool:
    """Return whether a quoted text with an address has no end: a password may be cut in it."""
    ends = len(quoted) > 1 and quoted.endswith(quoted[0])
    return not ends and "://" in quoted


def _inside(token: re.Match[str], hide: Callable[[str], str]) -> Iterator[tuple[int, int]]:
    """Yield the part of a token that ``hide`` changes: up to its end, if it hides more than one."""
    raw = token.group()
    inside = raw.strip("'\"")
    first, hidden, rest = hide(inside).partition(HIDDEN)
    if hidden:
        begin = token.start() + raw.index(inside)
        tail = "" if HIDDEN in rest else rest
        # The first secret may be shown as less than it is, as a webhook's user is.
        start = begin + len(first) if inside.startswith(first) else begin
        yield start, begin + len(inside) - len(tail)


def without_secrets(text: str) -> str:
    """Return a text of SQL with as many stars in the place of its secrets as they have characters.

    >>> without_secrets("INTO postgres('t', url => 'postgresql://me:x@host/db')")
    "INTO postgres('t', url => 'postgresql://me:*@host/db')"
    """
    shown = [*text]
    for start, end in secret_spans(text):
        shown[start:end] = ["\n" if char == "\n" else "*" for char in text[start:end]]
    return "".join(shown)


def without_these(message: str, text: str) -> str:
    """Return a message about a text of SQL without the secrets of that text."""
    for start, end in secret_spans(text):
        secret = text[start:end]
        if len(secret) > 2:
            message = message.replace(secret, HIDDEN)
    return message
