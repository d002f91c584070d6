"""The server that an agent on this machine runs against: that of a team, or one for the local store meanwhile."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cockpit.cli import in_process
from cockpit.cli.client import Api, connect
from cockpit.cli.errors import Exit, Failure
from forkpoint.bootstrap.gateway import Server
from forkpoint.bootstrap.rerun import Agent
from forkpoint.confinement.limits import Confinement
from forkpoint.confinement.network import Host


@dataclass(frozen=True, kw_only=True)
class AgentStore:
    """The server that replays, and the address to which links lead."""

    api: Api
    server: Server
    link_address: str
    is_local: bool

    def agent(self, words: Sequence[str], client: str = "") -> Agent:
        """Return a program to run with the server in its environment."""
        environment = {**os.environ, "FORKPOINT_URL": self.server.url, "FORKPOINT_TOKEN": self.server.token}
        return Agent(words, environment, client)


@contextmanager
def open_agent_store(url: str | None, token: str | None) -> Iterator[AgentStore]:
    """Open the server at `url`, or serve the local store while the block runs."""
    url, token = url or os.environ.get("FORKPOINT_URL"), token or os.environ.get("FORKPOINT_TOKEN")
    if url:
        address = url.rstrip("/")
        with connect(address, token) as api:
            yield AgentStore(api=api, server=Server(address, token or ""), link_address=address, is_local=False)
        return
    in_process.set_up()
    from cockpit.serving.serve import ServeError, background_server

    try:
        with background_server() as address, connect(address, None) as api:
            link_address = in_process.server_address()
            yield AgentStore(api=api, server=Server(address, ""), link_address=link_address, is_local=True)
    except ServeError as error:
        raise Failure(f"{error} To replay on a running server, name it with --url.") from error


def confinement(network: str, hosts: Sequence[str], *, is_frozen: bool) -> Confinement:
    """Return what an agent may connect to; raise `Failure` for an unknown network or host."""
    if network not in {"listed", "open"}:
        raise Failure(f"“{network}” is not a network: choose listed or open", exit=Exit.BAD_INPUT)
    try:
        for host in hosts:
            Host.parse(host)
    except ValueError as error:
        raise Failure(str(error), exit=Exit.BAD_INPUT) from error
    return Confinement(hosts=hosts if network == "listed" else None, is_frozen=is_frozen)
