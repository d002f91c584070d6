"""Where live calls may go: to configured hosts, and to no private address that the operator did not name.

The check sits where the connection is made, after the name was resolved, and the connection goes to the
address that was checked: a name that later resolves elsewhere changes nothing. Redirects are not followed,
and proxies from the environment are not used, because a proxy would resolve the name out of sight.
"""

import ipaddress
import select
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

import anyio.to_thread
import httpcore2
import httpx2

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOOK_S: Final = 0.1  # how often a call that waits looks whether it should stop
_IDENTITY: Final = frozenset({"", "identity"})


@dataclass(frozen=True, kw_only=True)
class Destination:
    """A host that live calls may reach; `operator` means that the operator wrote this host down."""

    host: str
    operator: bool


class EgressRefusal(Exception):
    """A live call would have gone where it may not."""

    def __init__(self, host: str, why: str) -> None:
        super().__init__(f"refused to connect to {host}: {why}")
        self.host = host


class CompressedAnswer(httpx2.DecodingError):
    """An answer is compressed, which nobody asked for; of `response` only status and headers are known."""

    def __init__(self, encoding: str, response: httpx2.Response) -> None:
        super().__init__(f"it is compressed ({encoding[:40]}), which was not asked for")
        self.response = response


class EndlessAnswer(Exception):
    """An answer goes on for longer, or is larger, than any answer does."""


@dataclass(kw_only=True)
class _Limits:
    """What holds for the reads of one call; `look` raises to give it up."""

    look: Callable[[], None]
    left: int
    until: float
    failure: list[Exception] = field(default_factory=list)

    def wait(self, sock: socket.socket, timeout: float | None) -> None:
        """Return once there is something to read; a timeout is left to the read itself."""
        until = self.until if timeout is None else min(self.until, time.monotonic() + timeout)
        while True:
            self._check()
            left = until - time.monotonic()
            if left <= 0 or _readable(sock, min(left, _LOOK_S)):
                return

    def count(self, data: bytes) -> None:
        self.left -= len(data)
        if self.left < 0:
            self._fail(EndlessAnswer("it is too large"))

    def _check(self) -> None:
        if time.monotonic() > self.until:
            self._fail(EndlessAnswer("it does not end"))
        try:
            self.look()
        except Exception as given_up:
            self.failure.append(given_up)
            raise

    def _fail(self, error: Exception) -> None:
        self.failure.append(error)
        raise error


_limits: ContextVar[_Limits | None] = ContextVar("limits", default=None)


@contextmanager
def read_limits(look: Callable[[], None], *, most_bytes: int, longest_s: float) -> Iterator[None]:
    """Inside, what is read may have so many bytes and take so long, and `look` is called while nothing comes.

    What `look` or a limit raised comes out, whatever the libraries in between made of it.
    """
    limits = _Limits(look=look, left=most_bytes, until=time.monotonic() + longest_s)
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
    pending = getattr(sock, "pending", None)  # what TLS has decoded already no poll can see
    if pending is not None and pending():
        return True
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


class _LimitedStream(httpcore2.NetworkStream):
    """A connection that keeps to the limits of the call it is used for."""

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

    def start_tls(self, *arguments: Any, **named: Any) -> httpcore2.NetworkStream:
        return _LimitedStream(self._stream.start_tls(*arguments, **named))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


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
    """The addresses of the host, resolved now and every one of them allowed; raises `EgressRefusal`."""
    found = socket.getaddrinfo(destination.host, port, type=socket.SOCK_STREAM)
    resolved = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))
    for text in resolved:
        if why := refusal(destination, ipaddress.ip_address(text)):
            raise EgressRefusal(destination.host, why)
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
            raise EgressRefusal(host, "it is not the host of a configured provider")
        failure: Exception = EgressRefusal(host, "it has no address")
        for address in self._resolved(destination, port):
            try:
                return _LimitedStream(super().connect_tcp(address, port, timeout, local_address, socket_options))
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
            raise EgressRefusal(host, "it is not a configured host")
        failure: Exception = EgressRefusal(host, "it has no address")
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

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Nothing compressed is asked for, nor taken: a few bytes could become more than memory holds."""
        request.headers["accept-encoding"] = "identity"
        response = super().handle_request(request)
        if (encoding := response.headers.get("content-encoding", "").strip().lower()) not in _IDENTITY:
            response.close()
            raise CompressedAnswer(encoding, response)
        return response


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
