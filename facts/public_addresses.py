"""Which addresses this system lets itself be sent to, by whoever writes them into a message or a setting. Pure.

Only public ones over HTTP, and none that is written so that two readers of it see two hosts. An operator may name
internal hosts (``MEMORY_INTERNAL_HOSTS``); what is local to a link, such as the metadata service of a cloud, stays
refused also for those.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlsplit

from django.conf import settings

from facts.errors import DomainError

MAX_URL = 2_000
DEFAULT_PORTS = {"http": 80, "https": 443}

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.ASCII)
#: Forms of IPv6 that carry an IPv4 address, which some router or host takes them apart for: those of RFC 6052 (also
#: with a prefix of a site's own), RFC 3056, RFC 4380 and RFC 5214, and addresses "compatible" with IPv4.
_CARRIERS = tuple(
    ipaddress.ip_network(network) for network in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")
)
#: Not global, whatever a version of the library says of it.
_RESERVED = tuple(
    ipaddress.ip_network(network)
    for network in ("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4")
)


class AddressRefused(DomainError):
    """The address is none that may be asked. Trying again does not help."""

    code = "address_refused"

    def __init__(self, message: str, *, field: str | None = "url") -> None:
        super().__init__(message, field=field)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A checked address: ``host`` in ASCII without brackets, ``path`` with its query; ``internal``: an operator named
    it."""

    scheme: str
    host: str
    port: int
    path: str
    internal: bool

    @property
    def authority(self) -> str:
        """Host and port as they are written; the port only where the scheme has another one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if DEFAULT_PORTS[self.scheme] == self.port else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The address in its one spelling."""
        return f"{self.scheme}://{self.authority}{self.path}"


def check_url(url: str) -> Target:
    """Return what an address means; raises :class:`AddressRefused`. Asks nobody for the addresses of a name."""
    if len(url) > MAX_URL or any(ord(letter) <= 32 or ord(letter) == 127 for letter in url) or "\\" in url:
        raise AddressRefused(f"An address has at most {MAX_URL} characters, without spaces and backslashes.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressRefused("This is no address.") from None
    if parts.scheme not in DEFAULT_PORTS:
        raise AddressRefused("Only http and https addresses are asked.")
    if "@" in parts.netloc:
        raise AddressRefused("An address with a user name in it is not asked.")
    host = _host(parts)
    port = DEFAULT_PORTS[parts.scheme] if port is None else port
    internal = _is_named(host, port)
    if not internal and str(port) not in settings.MEMORY_OUTGOING_PORTS:
        raise AddressRefused("This port is not asked.")
    target = Target(scheme=parts.scheme, host=host, port=port, path=_path(parts), internal=internal)
    literal = _literal(host)
    if literal is not None:
        check_address(literal, internal=internal)
    return target


def check_address(address: Address | str, *, internal: bool) -> None:
    """Raise :class:`AddressRefused` for an address that may not be connected to; ``internal``: its host was named."""
    parsed = _parsed(address)
    if _carries_another(parsed):
        raise AddressRefused("This address stands for another one.")
    reserved = parsed.is_reserved and not parsed.is_loopback
    if parsed.is_link_local or parsed.is_multicast or parsed.is_unspecified or reserved:
        raise AddressRefused("This address is not a public one.")
    if internal:
        return
    public = parsed.is_global and not parsed.is_private and not parsed.is_loopback
    if not public or any(parsed in network for network in _RESERVED if network.version == parsed.version):
        raise AddressRefused("This address is not a public one.")


def _parsed(address: Address | str) -> Address:
    if not isinstance(address, str):
        return address
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        raise AddressRefused("This is no address.") from None


def _carries_another(address: Address) -> bool:
    """Tell whether an IPv6 address carries an IPv4 one, or names a network card; never needed to reach a host."""
    if address.version == 4:
        return False
    if address.ipv4_mapped is not None or address.scope_id:
        return True
    isatap = (int(address) >> 32) & 0xFFFFFFFF in {0x00005EFE, 0x02005EFE}
    plain = address.is_loopback or address.is_unspecified
    return isatap or (not plain and any(address in network for network in _CARRIERS))


def _host(parts: SplitResult) -> str:
    """Return the host in ASCII; raises for none, and for numbers that are no dotted address of four parts."""
    host = parts.hostname or ""
    if ":" in host:
        return str(_parsed(host))
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            raise AddressRefused("This host has no valid name.") from None
    host = host.lower().removesuffix(".")
    labels = host.split(".")
    if not host or len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise AddressRefused("This host has no valid name.")
    if _is_number(labels[-1]):
        # Other readers take 2130706433, 0x7f.1 and 0177.0.0.1 for addresses.
        if not re.fullmatch(r"(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}", host):
            raise AddressRefused("A numeric host is four plain numbers with dots.")
        _parsed(host)
    return host


def _is_number(label: str) -> bool:
    return label.isdigit() or re.fullmatch(r"0x[0-9a-f]*", label) is not None


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _path(parts: SplitResult) -> str:
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=-._~")
    query = quote(parts.query, safe="/%:@!$&'()*+,;=-._~?")
    return f"{path}?{query}" if query else path


def _is_named(host: str, port: int) -> bool:
    """Tell whether an operator named the host: with this port, or without any and the port is a usual one."""
    shown = f"[{host}]" if ":" in host else host
    named = {entry.lower() for entry in settings.MEMORY_INTERNAL_HOSTS}
    return f"{shown}:{port}" in named or (shown in named and str(port) in settings.MEMORY_OUTGOING_PORTS)
