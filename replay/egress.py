"""Where live calls may go: to configured hosts, and to no private address that the operator did not name.

The check sits where the connection is made, after the name was resolved, and the connection goes to the
address that was checked: a name that later resolves elsewhere changes nothing. Redirects are not followed,
and proxies from the environment are not used, because a proxy would resolve the name out of sight.
"""

import ipaddress
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import anyio.to_thread
import httpcore2
import httpx2

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, kw_only=True)
class Destination:
    """A host that live calls may reach; `operator` means that the operator wrote this host down."""

    host: str
    operator: bool


class EgressRefused(Exception):
    """A live call would have gone where it may not."""

    def __init__(self, host: str, why: str) -> None:
        super().__init__(f"refused to connect to {host}: {why}")
        self.host = host


def refusal(destination: Destination, address: Address) -> str:
    """Why this address of the host may not be reached; empty when it may."""
    reached = _reached(address)
    if destination.operator and destination.host in {str(address), str(reached)}:
        return ""
    if reached.is_link_local or reached.is_multicast or reached.is_unspecified:
        return f"it resolves to {address}, which is link-local or no host at all"
    if destination.operator or reached.is_global:
        return ""
    return f"it resolves to {address}, a private address that nobody configured"


def _reached(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, where it stands for one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def addresses(destination: Destination, port: int) -> list[str]:
    """The addresses of the host, resolved now and every one of them allowed; raises `EgressRefused`."""
    found = socket.getaddrinfo(destination.host, port, type=socket.SOCK_STREAM)
    resolved = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))
    for text in resolved:
        if why := refusal(destination, ipaddress.ip_address(text)):
            raise EgressRefused(destination.host, why)
    return resolved


class _GuardedBackend(httpcore2.SyncBackend):
    """Connects only to the destinations, and only to addresses that were checked."""

    def __init__(self, destinations: Iterable[Destination]) -> None:
        self._allowed = {destination.host.lower(): destination for destination in destinations}

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        destination = self._allowed.get(host.lower())
        if destination is None:
            raise EgressRefused(host, "it is not the host of a configured provider")
        failure: Exception = EgressRefused(host, "it has no address")
        for address in self._resolved(destination, port):
            try:
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    @staticmethod
    def _resolved(destination: Destination, port: int) -> list[str]:
        try:
            return addresses(destination, port)
        except socket.gaierror as error:
            raise httpcore2.ConnectError(f"{destination.host}: {error.strerror}") from error


class _GuardedAsyncBackend(httpcore2.AnyIOBackend):
    """The same for code that runs in an event loop."""

    def __init__(self, destinations: Iterable[Destination]) -> None:
        self._allowed = {destination.host.lower(): destination for destination in destinations}

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        destination = self._allowed.get(host.lower())
        if destination is None:
            raise EgressRefused(host, "it is not a configured host")
        failure: Exception = EgressRefused(host, "it has no address")
        try:
            resolved = await anyio.to_thread.run_sync(addresses, destination, port)
        except socket.gaierror as error:
            raise httpcore2.ConnectError(f"{destination.host}: {error.strerror}") from error
        for address in resolved:
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


class _GuardedTransport(httpx2.HTTPTransport):
    """The ordinary transport over a connection pool that asks before it connects."""

    def __init__(self, destinations: Iterable[Destination]) -> None:
        context = httpx2.create_ssl_context(trust_env=False)
        super().__init__(verify=context, trust_env=False)
        # The transport offers no way to pass a network backend, so its pool is replaced by an equal one.
        self._pool = httpcore2.ConnectionPool(
            ssl_context=context,
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=30.0,
            network_backend=_GuardedBackend(destinations),
        )


def client(destinations: Iterable[Destination], *, connect_s: float, read_s: float) -> httpx2.Client:
    """An HTTP client that reaches these destinations and nothing else."""
    return httpx2.Client(
        transport=_GuardedTransport(destinations),
        timeout=httpx2.Timeout(read_s, connect=connect_s),
        follow_redirects=False,
        trust_env=False,
    )


def async_client(
    destinations: Iterable[Destination], *, connect_s: float, headers: Mapping[str, str]
) -> httpx2.AsyncClient:
    """The same for an event loop; who uses it sees to the time that answers take."""
    context = httpx2.create_ssl_context(trust_env=False)
    transport = httpx2.AsyncHTTPTransport(verify=context, trust_env=False)
    transport._pool = httpcore2.AsyncConnectionPool(
        ssl_context=context, network_backend=_GuardedAsyncBackend(destinations)
    )
    return httpx2.AsyncClient(
        transport=transport,
        headers=dict(headers),
        timeout=httpx2.Timeout(None, connect=connect_s),
        follow_redirects=False,
        trust_env=False,
    )
