"""Which hosts and origins a request may name.

Without a token, a page of somebody else that is open in the same browser must not reach the
service: it would send its own Origin, or a name of its own that resolves to this machine as Host.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address

from muntin.server.problems import HttpError

#: Names of this machine.
_LOCAL = frozenset({"localhost", "localhost.localdomain", "ip6-localhost"})


def is_loopback(host: str) -> bool:
    """Return whether a name or an address is that of this machine for itself.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost")
    (True, True, True)
    >>> is_loopback("0.0.0.0"), is_loopback("evil.test")
    (False, False)
    """
    if host.casefold() in _LOCAL:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def host_name(header: str) -> str:
    """Return the host of a Host header, without its port.

    >>> host_name("localhost:8642"), host_name("[::1]:8642"), host_name("127.0.0.1")
    ('localhost', '::1', '127.0.0.1')
    """
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0] if header.count(":") == 1 else header


def check_host(host: str | None, *, loopback: bool, names: Collection[str] = ()) -> None:
    """Raise if a request names a host that this service does not have.

    Args:
        host: The Host header.
        loopback: Whether the service listens to this machine only.
        names: Names that the service has besides; on another address all are taken without any.
    """
    if not host:
        raise HttpError(400, "the request names no host", "send the header Host")
    name = host_name(host)
    if name.casefold() in {own.casefold() for own in names}:
        return
    if (loopback or names) and not is_loopback(name):
        raise HttpError(
            421,
            "the header Host names another host",
            "use the address that muntin serve printed, such as http://127.0.0.1:8642",
        )


def check_origin(origin: str | None, site: str | None, host: str) -> None:
    """Raise if a request comes from a page of another origin.

    Args:
        origin: The Origin header; None if there is none.
        site: The Sec-Fetch-Site header, which browsers send and scripts cannot set.
        host: The Host header.
    """
    same = origin is None or origin.split("://", 1)[-1].casefold() == host.casefold()
    if not same or site in ("cross-site", "same-site"):
        raise HttpError(
            403,
            "the request comes from a page of another origin",
            "only the page of this server, and programs, may ask it",
        )


def check_same_page(origin: str | None, site: str | None) -> None:
    """Raise unless a browser says that its own page sent a request, which a cookie lets in.

    A browser sends a cookie whoever made it ask, so the cookie alone does not say that the page of
    this server did. :func:`check_origin` has compared the origin already.
    """
    if origin is None and site not in ("same-origin", "none"):
        raise HttpError(
            403,
            "a cookie alone does not change anything",
            "programs send the header Authorization: Bearer TOKEN",
        )
