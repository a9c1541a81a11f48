"""Secrets: what is one, how it is hidden where something is shown, and secrets by reference.

A text hides what the name of an argument, a setting or a part of an address says is secret:
``password => 'x'``, ``https://me:x@host/``, ``?access_token=x``. A reference, ``secret('pg')``,
is better: the value is in the environment or in a file, and never in a text, a registry or a
checkpoint.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from muntin.errors import ArgumentError

#: What is shown instead of a secret.
HIDDEN = "***"
#: The variable that names the file or the folder of secrets, and the prefix of single ones.
PLACE, PREFIX = "MUNTIN_SECRETS", "MUNTIN_SECRET_"
#: Words in the names of secrets, such as kafka.ssl.keystore.password or X-Amz-Signature.
_SECRET = re.compile(
    r"passw|passphrase|pwd|secret|token|jaas|credential|signature|api[._-]?key|private[._-]?key"
    r"|(access|account|keystore|truststore|shared|encryption|master)[._-]?key|.[._-]key$"
    r"|(^|[._-])(sig|sas|auth|authorization|hmac|connection[._-]?string)$",
    re.IGNORECASE,
)
#: Names that are secrets in an address and need not be elsewhere.
_IN_QUERY = {"key", "code", "otp", "pin", "hash"}
#: The user and the password of an address; either may have been left with @ or / in it.
_USER = re.compile(r"(?<=://)(?:([^\s/@:'\"]*:)(\S{0,1000})|([^\s/@:'\"?#]+))(?=@)")
_VALUE = r"(\"[^\"]*\"?|'[^']*'?|[^&;\s,'\"]+)"
#: ``?sig=x``, ``;password=x`` and ``password = "x y"``.
_NAMED = re.compile(rf"([?&;#]?)(?<![\w.-])([\w.-]+)(\s*=\s*){_VALUE}")
#: A header: ``Authorization: Bearer x``.
_HEADER = re.compile(r"\b((?:Bearer|Basic)\s+)([\w.~+/=-]{6,})", re.IGNORECASE)
_ORIGIN = re.compile(r"(https?)://(?:[^\s/?#]*@)?([^\s/?#@:'\"]+(?::\d+)?)(?=[/?#]|\Z)")
_NAME = re.compile(r"\w[\w.-]*")


def is_secret(name: str) -> bool:
    """Return whether the value of a setting or option of this name must not be shown.

    >>> is_secret("spark.hadoop.fs.s3a.access.key"), is_secret("spark.driver.memory")
    (True, False)
    """
    return bool(_SECRET.search(name))


def without_secrets_in(text: str) -> str:
    """Return a text without the passwords and tokens in addresses and settings of it.

    >>> without_secrets_in("postgresql://me:p@ss/word@host/db?sslmode=on&sslpassword=x")
    'postgresql://me:***@host/db?sslmode=on&sslpassword=***'
    """
    return _replaced(text, _spans(text))


def origin_of(address: str) -> str:
    """Return an address without what may be secret: of a webhook also the path is.

    >>> origin_of("https://me:x@example.org:8443/services/T0/B0/key?sig=x")
    'https://example.org:8443/***'
    """
    match = _ORIGIN.match(address)
    if match is None or "@" in address[match.end() :]:
        return HIDDEN  # it is not clear where the host is
    rest = address[match.end() :]
    return f"{match[1]}://{match[2]}" + (f"/{HIDDEN}" if rest not in ("", "/") else "")


def without(text: str, secrets: Iterable[str]) -> str:
    """Return a text in which these secrets do not occur, nor others that can be recognised."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) > 2:
            text = text.replace(secret, HIDDEN)
    return without_secrets_in(text)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the secrets of a text are that is not SQL."""
    for match in _USER.finditer(text):
        yield match.span(2) if match[1] is not None else match.span(3)
    for match in _NAMED.finditer(text):
        if is_secret(match[2]) or (match[1] and match[2].lower() in _IN_QUERY):
            yield match.span(4)
    for match in _HEADER.finditer(text):
        yield match.span(2)


def _replaced(text: str, spans: Iterable[tuple[int, int]], star: str = "") -> str:
    """Return a text with stars in the place of spans, as many as there were characters if asked."""
    pieces, at = [], 0
    for start, end in sorted(spans):
        if end <= at:
            continue
        start = max(start, at)
        pieces += [text[at:start], star * (end - start) if star else HIDDEN]
        at = end
    return "".join([*pieces, text[at:]])


@dataclass(frozen=True)
class SecretReference:
    """``secret('name')``: a value that is somewhere else."""

    name: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            expected = "the name of a secret is a word such as 'pg_password'"
            raise ArgumentError("secret", self.name, expected)

    def __repr__(self) -> str:
        return f"secret({self.name!r})"

    __str__ = __repr__

    @property
    def variable(self) -> str:
        """The variable of the environment that may have the value."""
        return PREFIX + re.sub(r"\W", "_", self.name).upper()

    def value(self) -> str:
        """Return the secret; raise where it should be if it is nowhere."""
        kept = _kept(self.name)
        found = os.environ.get(self.variable) if kept is None else kept
        if found is None:
            raise ArgumentError(
                "secret",
                self.name,
                f"it is neither in the environment, as {self.variable}, nor in the file or the "
                f"folder of --secrets, which {PLACE} names as well",
            )
        return found


def _kept(name: str) -> str | None:
    """Return a secret of the folder of secrets, a file each, or of the file of NAME=VALUE lines."""
    place = os.environ.get(PLACE)
    if not place:
        return None
    path = Path(place)
    try:
        if path.is_dir():
            own = path / name
            return own.read_text(encoding="utf-8").rstrip("\r\n") if own.is_file() else None
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text"
        raise ArgumentError("secrets", place, f"it cannot be read: {reason}") from None
    pairs = (line.partition("=") for line in lines if not line.lstrip().startswith("#"))
    values = {key.strip(): value.strip() for key, equals, value in pairs if equals}
    return values.get(name)
