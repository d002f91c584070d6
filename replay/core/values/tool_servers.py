"""Which MCP server a tool call is of: two servers may have a tool of the same name. Pure."""

from collections.abc import Iterable, Mapping
from itertools import combinations

# What is known of a server, as attributes of its calls have it.
Server = Mapping[str, str]


def may_be_same(old: Server, new: Server) -> bool:
    """Return whether two calls may be of one server: nothing that is known of both differs."""
    return all(old[name] == new[name] for name in old.keys() & new.keys())


def are_several(servers: Iterable[Server]) -> bool:
    """Return whether calls are of more than one server."""
    distinct_servers = {frozenset(server.items()): server for server in servers}.values()
    return any(not may_be_same(old, new) for old, new in combinations(distinct_servers, 2))
