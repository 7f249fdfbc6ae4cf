"""Web addresses: what of them may be shown, and whether they lead into the own network."""

from __future__ import annotations

import re
import socket
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

_CREDENTIALS = re.compile(r"(\A|//)[^/?#]*@")


def is_web_address(url: str) -> bool:
    """Whether it names a host that HTTP may reach."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def shown(url: str) -> str:
    """An address without what may be secret in it: user and password, and what follows a `?`.

    >>> shown("https://me:secret@example.org/data?token=abc")
    'https://example.org/data?…'
    """
    place, mark, _ = _CREDENTIALS.sub(r"\1", url).partition("?")
    return f"{place}?…" if mark else place


def is_private(url: str) -> bool:
    """Whether an address leads to this machine or its network, and not out into the world.

    A name that nobody here knows leads nowhere, or is known to a proxy that is outside.
    """
    host = urlsplit(url).hostname or ""
    return not all(_is_global(number) for number in _numbers(host))


def _is_global(number: str) -> bool:
    address = ip_address(number)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_global


def _numbers(host: str) -> set[str]:
    """The numbers that a name stands for."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return set()
    return {str(address[0]).partition("%")[0] for *_, address in found}
