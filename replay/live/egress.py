"""Egress control: live calls reach only configured hosts, and no unnamed private addresses.

The check happens on connect, after name resolution, and the connection goes to the checked address. So a name that
later resolves to another address (DNS rebinding) has no effect. Redirects are not followed, and proxies from the
environment are not used, because a proxy would resolve the name itself.
"""

import ipaddress
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import anyio.to_thread
import httpcore2
import httpx2

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# IPv6 networks whose addresses end with an IPv4 address: of NAT64 (RFC 6052, RFC 8215), "compatible", and of stateless
# translators.
_WITH_IPV4: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/96", "::/96", "::ffff:0:0:0/96")))
# Private addresses from before fd00::/8, which Python takes for global.
_SITE_LOCAL: Final = ipaddress.IPv6Network("fec0::/10")
# Where clouds hand out the credentials of a machine, outside the link-local networks.
_METADATA: Final = frozenset(
    map(
        ipaddress.ip_address,
        (
            "fd00:ec2::254",  # AWS
            "fd00:ec2::23",  # AWS, of a pod
            "fd20:ce::254",  # Google
            "168.63.129.16",  # Azure
            "100.100.100.200",  # Alibaba
            "192.0.0.192",  # Oracle
        ),
    )
)
# Poll interval at which a waiting call checks whether it should stop.
_POLL_S: Final = 0.1
_IDENTITY: Final = frozenset({"", "identity"})


@dataclass(frozen=True, kw_only=True)
class Destination:
    """A host that live calls may reach; `operator`: the operator configured this host."""

    host: str
    operator: bool


class EgressRefusal(Exception):
    """A live call was blocked because its destination is not allowed."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(f"refused to connect to {host}: {reason}")
        self.host = host


class CompressedAnswer(httpx2.DecodingError):
    """An answer is compressed although no encoding was requested; `response` has only status and headers."""

    def __init__(self, encoding: str, response: httpx2.Response) -> None:
        super().__init__(f"it is compressed ({encoding[:40]}), which was not requested")
        self.response = response


class EndlessAnswer(Exception):
    """An answer exceeds the limits on size or duration."""


@dataclass(kw_only=True)
class _Limits:
    """Read limits of one call; `check` raises to cancel it."""

    check: Callable[[], None]
    bytes_left: int
    deadline: float
    failure: list[Exception] = field(default_factory=list)

    def wait(self, sock: socket.socket, timeout: float | None) -> None:
        """Return when there is data to read; timeouts are left to the read itself."""
        deadline = self.deadline if timeout is None else min(self.deadline, time.monotonic() + timeout)
        while True:
            self._check()
            left = deadline - time.monotonic()
            if left <= 0 or _readable(sock, min(left, _POLL_S)):
                return

    def count(self, data: bytes) -> None:
        self.bytes_left -= len(data)
        if self.bytes_left < 0:
            self._fail(EndlessAnswer("it is too large"))

    def _check(self) -> None:
        if time.monotonic() > self.deadline:
            self._fail(EndlessAnswer("it does not end"))
        try:
            self.check()
        except Exception as error:
            self.failure.append(error)
            raise

    def _fail(self, error: Exception) -> None:
        self.failure.append(error)
        raise error


_limits: ContextVar[_Limits | None] = ContextVar("limits", default=None)


@contextmanager
def read_limits(check: Callable[[], None], *, max_bytes: int, max_s: float) -> Iterator[None]:
    """Limit the size and duration of reads inside the block; `check` is called while waiting for data.

    An exception of `check` or of a limit is raised as it is, even if the libraries in between wrap it.
    """
    limits = _Limits(check=check, bytes_left=max_bytes, deadline=time.monotonic() + max_s)
    token = _limits.set(limits)
    try:
        yield
    except Exception as error:
        if limits.failure:
            raise limits.failure[0] from error
        raise
    finally:
        _limits.reset(token)


def _readable(sock: socket.socket, seconds: float) -> bool:
    # Data that TLS has already decoded is invisible to poll.
    pending = getattr(sock, "pending", None)
    if pending is not None and pending():
        return True
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


class _LimitedStream(httpcore2.NetworkStream):
    """A connection that enforces the read limits of the current call."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        limits = _limits.get()
        if limits is None:
            return self._stream.read(max_bytes, timeout)
        began = time.monotonic()
        limits.wait(self._stream.get_extra_info("socket"), timeout)
        left = None if timeout is None else max(0.001, timeout - (time.monotonic() - began))
        data = self._stream.read(max_bytes, left)
        limits.count(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, *arguments: Any, **options: Any) -> httpcore2.NetworkStream:
        return _LimitedStream(self._stream.start_tls(*arguments, **options))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def refusal(destination: Destination, address: Address) -> str:
    """Return why this address of the host must not be reached; empty if it may."""
    effective = _effective_address(address)
    if destination.operator and _address_in(destination.host) in (address, effective):
        return ""
    if effective.is_link_local or effective.is_multicast or effective.is_unspecified:
        return f"it resolves to {address}, which is link-local, multicast or unspecified"
    if effective in _METADATA:
        return f"it resolves to {address}, where a cloud hands out credentials"
    if destination.operator or (effective.is_global and effective not in _SITE_LOCAL):
        return ""
    return f"it resolves to {address}, a private address that is not configured"


def _address_in(host: str) -> Address | None:
    """Return the address that a host is; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _effective_address(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address embeds, if any."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if any(address in network for network in _WITH_IPV4):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def addresses(destination: Destination, port: int) -> list[str]:
    """Resolve the host and check that all its addresses are allowed; raises `EgressRefusal`."""
    entries = socket.getaddrinfo(destination.host, port, type=socket.SOCK_STREAM)
    texts = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in entries))
    for text in texts:
        if reason := refusal(destination, ipaddress.ip_address(text)):
            raise EgressRefusal(destination.host, reason)
    return texts


class _Destinations:
    """The hosts that may be reached, by name."""

    def __init__(self, destinations: Iterable[Destination]) -> None:
        self._by_host = {destination.host.lower(): destination for destination in destinations}

    def addresses(self, host: str, port: int) -> list[str]:
        """Return the checked addresses of a host."""
        destination = self._by_host.get(host.lower())
        if destination is None:
            raise EgressRefusal(host, "it is not a configured host")
        try:
            return addresses(destination, port)
        except socket.gaierror as error:
            raise httpcore2.ConnectError(f"{destination.host}: {error.strerror}") from error


class _GuardedBackend(httpcore2.SyncBackend):
    """Connects only to the given destinations, and only to checked addresses."""

    def __init__(self, destinations: Iterable[Destination]) -> None:
        self._destinations = _Destinations(destinations)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        failure: Exception = EgressRefusal(host, "it has no address")
        for address in self._destinations.addresses(host, port):
            try:
                return _LimitedStream(super().connect_tcp(address, port, timeout, local_address, socket_options))
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


class _GuardedAsyncBackend(httpcore2.AnyIOBackend):
    """The same for asynchronous code."""

    def __init__(self, destinations: Iterable[Destination]) -> None:
        self._destinations = _Destinations(destinations)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        failure: Exception = EgressRefusal(host, "it has no address")
        texts = await anyio.to_thread.run_sync(self._destinations.addresses, host, port)
        for address in texts:
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


@cache
def _tls_context() -> ssl.SSLContext:
    """Return the context that all clients share: reading the certificate authorities takes 25 ms."""
    return httpx2.create_ssl_context(trust_env=False)


class _GuardedTransport(httpx2.HTTPTransport):
    """The standard transport on a connection pool with guarded connects."""

    def __init__(self, destinations: Iterable[Destination]) -> None:
        context = _tls_context()
        super().__init__(verify=context, trust_env=False)
        # The transport has no parameter for a network backend, so its pool is replaced by an equal one.
        self._pool = httpcore2.ConnectionPool(
            ssl_context=context,
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=30.0,
            network_backend=_GuardedBackend(destinations),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Request no compression, and reject it: a few bytes could expand beyond the available memory."""
        request.headers["accept-encoding"] = "identity"
        response = super().handle_request(request)
        if (encoding := response.headers.get("content-encoding", "").strip().lower()) not in _IDENTITY:
            response.close()
            raise CompressedAnswer(encoding, response)
        return response


def client(destinations: Iterable[Destination], *, connect_s: float, read_s: float) -> httpx2.Client:
    """Create an HTTP client that reaches only these destinations."""
    return httpx2.Client(
        transport=_GuardedTransport(destinations),
        timeout=httpx2.Timeout(read_s, connect=connect_s),
        follow_redirects=False,
        trust_env=False,
    )


def async_client(
    destinations: Iterable[Destination], *, connect_s: float, headers: Mapping[str, str]
) -> httpx2.AsyncClient:
    """The same for asynchronous code; the caller limits the time of an answer."""
    context = _tls_context()
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
