"""The hosts that a program in a rerun may connect to, as a Python audit hook: the program cannot remove it.

It sees the sockets of Python. Libraries with sockets of their own, such as gRPC, and programs that the agent starts
pass by.
"""

import errno
import importlib
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

# Where each event has its address.
_ADDRESSES: Final = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1}
_NAMES: Final = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
# They ask a name server for the name of an address, or look a name up.
_REVERSE_LOOKUPS: Final = frozenset({"socket.gethostbyaddr", "socket.getnameinfo"})
# Decided when the program connects.
_LOCAL: Final = frozenset({"", "localhost", "ip6-localhost"})
_LOOPBACK: Final = ("127.", "::1")


class Host(NamedTuple):
    """A host by name or address; without a port, all of its ports."""

    name: str
    port: int | None

    @classmethod
    def parse(cls, text: str) -> "Host":
        """Parse `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`; raise `ValueError`."""
        detail = f"{text!r} is no host: write HOST or HOST:PORT, and an IPv6 address in brackets"
        try:
            parts = urlsplit(f"//{text}")
            name, port = parts.hostname, parts.port
        except ValueError as error:
            raise ValueError(detail) from error
        if not name or parts.path or "@" in text:
            raise ValueError(detail)
        return cls(name, port)


class NetworkGuard:
    """Refuses connections to hosts that are not listed, and explains each on standard error, once.

    `note` gets each host that the program asks for, but for the first of the list: that is the server.
    """

    def __init__(self, hosts: Iterable[Host], note: Callable[[str], None]) -> None:
        self._server, *other_hosts = hosts
        self._hosts = frozenset([self._server, *other_hosts])
        self._other_names = {host.name for host in other_hosts}
        self._note = note
        self._noted_places: set[str] = set()

    def install(self) -> None:
        sys.addaudithook(self._check)

    def _check(self, event: str, arguments: tuple[Any, ...]) -> None:
        # Called for everything that is audited: imports, files, and more.
        if not event.startswith("socket."):
            return
        if event in _ADDRESSES:
            address = arguments[_ADDRESSES[event]]
            # Other families have paths and numbers as addresses.
            if isinstance(address, tuple) and len(address) >= 2 and isinstance(address[0], str):
                self._check_address(address[0], address[1])
        elif event in _NAMES:
            self._check_name(arguments[0])
        elif event in _REVERSE_LOOKUPS:
            self._check_reverse_lookup(arguments[0])

    def _check_address(self, host: str, port: Any) -> None:
        # An IPv4 address on an IPv6 socket.
        name = host.lower().removeprefix("::ffff:")
        ports = {item.port for item in self._hosts if item.name == name}
        if None in ports or port in ports:
            if Host(name, port) != self._server:
                self._note_other(name)
            return
        if self._is_of_listed_name(name, port):
            return
        self._refuse(host, port)

    def _check_name(self, host: Any) -> None:
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
        is_listed = any(item.name == name.lower() for item in self._hosts)
        if name.lower() != self._server.name:
            self._note_other(name.lower())
        if name.lower() not in _LOCAL and not is_listed and not _is_address(name):
            self._refuse(name, None)

    def _check_reverse_lookup(self, host: Any) -> None:
        name = str(host[0] if isinstance(host, tuple) else host).lower()
        # Servers of the standard library look up the machine that they run on.
        if name.startswith(_LOOPBACK) or name == importlib.import_module("socket").gethostname().lower():
            return
        if _is_address(name) and all(item.name != name for item in self._hosts):
            self._refuse(name, None)
        self._check_name(name)

    def _is_of_listed_name(self, address: str, port: Any) -> bool:
        """Return whether a listed name stands for the address now."""
        socket = importlib.import_module("socket")
        for item in self._hosts:
            if item.port in (None, port) and not _is_address(item.name):
                try:
                    entries = socket.getaddrinfo(item.name, None)
                except OSError:
                    continue
                if any(entry[4][0] == address for entry in entries):
                    return True
        return False

    def _refuse(self, host: str, port: Any) -> None:
        place = host if port is None else f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        reason = f"a rerun may not connect to {place}: allow it with --allow-host {place}, or all with --network open"
        if place not in self._noted_places:
            self._noted_places.add(place)
            # Clients often hide the reason of a failed connection.
            os.write(2, f"forkpoint: {reason}\n".encode("utf-8", "replace"))
            self._note(place)
        raise PermissionError(errno.EACCES, reason)

    def _note_other(self, name: str) -> None:
        """Note a listed host once, unless it is the server."""
        if name in self._other_names and name not in self._noted_places:
            self._noted_places.add(name)
            self._note(name)


def guard_network(text: str, note: Callable[[str], None]) -> None:
    """Refuse connections of this process to all hosts but these, which are separated by commas.

    The first is the server; `note` gets the others that the program asks for.
    """
    NetworkGuard([Host.parse(item) for item in text.split(",")], note).install()


def _is_address(name: str) -> bool:
    return ":" in name or name.replace(".", "").isdigit()
