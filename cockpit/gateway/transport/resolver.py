"""Addresses of the hosts to which the gateway passes calls on, checked after their names are resolved."""

import errno
import importlib
import ipaddress
import socket
from typing import Any

from cockpit.gateway import upstreams
from replay.live import egress


class CheckedResolver:
    """A resolver of aiohttp that refuses what no live call may reach. Addresses in place of names need none."""

    def __init__(self) -> None:
        self._resolver: Any = importlib.import_module("aiohttp").ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[Any]:
        results: list[Any] = await self._resolver.resolve(host, port, family)
        destination = egress.Destination(host=host, operator=not upstreams.is_official(host))
        for result in results:
            address = ipaddress.ip_address(str(result["host"]).partition("%")[0])
            if reason := egress.refusal(destination, address):
                # The client says which host it is.
                raise OSError(errno.EACCES, f"refused: {reason}")
        return results

    async def close(self) -> None:
        await self._resolver.close()
