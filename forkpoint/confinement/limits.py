"""The limits of an agent's processes, as the options of a command state them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from forkpoint.confinement.network import Host
from forkpoint.confinement.trampoline import enforces_ports, limited_command


@dataclass(frozen=True)
class Confinement:
    """The hosts besides the server to which a Python program may connect, None for all, and whether its clock starts
    with the recording.
    """

    hosts: Sequence[str] | None = ()
    is_frozen: bool = False

    def variables(self, server: str, session: Any) -> dict[str, str]:
        """Return the variables that name the hosts, the clock and the random numbers of a Python program."""
        variables: dict[str, str] = {}
        if self.hosts is not None:
            variables["FORKPOINT_HOSTS"] = ",".join(self._all_hosts(server))
        if self.is_frozen:
            variables["FORKPOINT_FREEZE"] = f"{session['started_at']} {session['seed']}"
        return variables

    def limited_command(self, words: list[str], server: str) -> list[str]:
        """Return a command that runs another one within the ports of the hosts, and kills it if this process ends."""
        return limited_command(words, self._ports(server))

    def description(self, server: str) -> str:
        """Return which connections are checked, and by what."""
        if self.hosts is None:
            return "Network: the program may connect to every host"
        guard = "Python checks hosts" + (", the kernel TCP ports of all programs" if self._ports(server) else "")
        return f"Network: the program may connect to {', '.join(self._all_hosts(server))} ({guard})"

    def _ports(self, server: str) -> list[int] | None:
        """Return the ports of the hosts, if the kernel can enforce them in programs of any language."""
        ports = [Host.parse(host).port for host in self._all_hosts(server)] if self.hosts is not None else [None]
        known_ports = [port for port in ports if port is not None]
        return known_ports if len(known_ports) == len(ports) and enforces_ports() else None

    def _all_hosts(self, server: str) -> list[str]:
        address = urlsplit(server)
        port = address.port or (443 if address.scheme == "https" else 80)
        host = f"[{address.hostname}]" if ":" in str(address.hostname) else address.hostname
        return [f"{host}:{port}", *(self.hosts or ())]
