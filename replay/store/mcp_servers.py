"""Which MCP server a recorded call is of: two servers may have a tool of the same name."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final
from uuid import UUID

from forkpoint.vocabulary import MCP_SERVER, MCP_SERVER_TITLE
from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType
from traces.models import Step
from traces.storage import artifacts, bulk

# What is known of a server, as attributes of its calls have it.
Server = Mapping[str, str]
_NAMES: Final = (MCP_SERVER, MCP_SERVER_TITLE)


def server_of(attributes: JSONObject) -> dict[str, str]:
    """Return what the attributes of a call state of its server."""
    return {name: as_text(attributes[name]) for name in _NAMES if name in attributes}


def may_be_same(old: Server, new: Server) -> bool:
    """Return whether two calls may be of one server: nothing that is known of both differs."""
    return all(old[name] == new[name] for name in old.keys() & new.keys())


def has_any(run_id: UUID) -> bool:
    """Return whether a sealed run has tools of MCP servers."""
    return any(_servers(run_id).values())


def may_answer(run_id: UUID, tool: str, attributes_ref: str) -> bool:
    """Return whether a recorded call of a tool may be of the server from which a run has the tool.

    Where the run has it from several, nobody knows from which one a new call would be.
    """
    servers = _servers(run_id).get(tool, ())
    if not servers:
        return True
    return is_of([*servers], attributes_ref)


def is_of(servers: Sequence[Server], attributes_ref: str) -> bool:
    """Return whether a recorded call may be of each of these servers."""
    server = server_of(as_object(artifacts.available([attributes_ref]).get(attributes_ref)))
    return all(may_be_same(item, server) for item in servers)


@lru_cache(maxsize=16)
def _servers(run_id: UUID) -> Mapping[str, Sequence[Server]]:
    """Return the servers of the tools of a sealed run, by the tools' names; tools of no server are absent."""
    steps = Step.objects.filter(run_id=run_id, type=StepType.TOOL).exclude(attributes_ref="")
    servers: dict[str, list[Server]] = {}
    for chunk in bulk.chunks([*steps.values_list("name", "tool_name", "attributes_ref")]):
        attributes = artifacts.available(ref for _, _, ref in chunk)
        for name, tool_name, ref in chunk:
            server = server_of(as_object(attributes.get(ref)))
            known_servers = servers.setdefault(tool_name or name, []) if server else []
            if server and server not in known_servers:
                known_servers.append(server)
    return servers
