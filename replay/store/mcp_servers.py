"""Which MCP server a recorded call is of: two servers may have a tool of the same name."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final
from uuid import UUID

from forkpoint.vocabulary import MCP_SERVER, MCP_SERVER_TITLE
from replay.core.values.tool_servers import Server, may_be_same
from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType
from traces.models import Step
from traces.storage import artifacts, bulk

_NAMES: Final = (MCP_SERVER, MCP_SERVER_TITLE)


def server_of(attributes: JSONObject) -> dict[str, str]:
    """Return what the attributes of a call state of its server."""
    return {name: as_text(attributes[name]) for name in _NAMES if name in attributes}


def has_any(run_id: UUID) -> bool:
    """Return whether a sealed run has tools of MCP servers."""
    return bool(_servers(run_id))


def may_answer(run_id: UUID, tool: str, attributes_ref: str) -> bool:
    """Return whether a recorded call of a tool may be of the server from which a run has the tool.

    Where the run has it from several, nobody knows from which one a new call would be.
    """
    servers = _servers(run_id).get(tool, ())
    return not servers or is_of(servers, attributes_ref)


def is_of(servers: Sequence[Server], attributes_ref: str) -> bool:
    """Return whether a recorded call may be of each of these servers."""
    server = server_of(as_object(artifacts.available([attributes_ref]).get(attributes_ref)))
    return all(may_be_same(item, server) for item in servers)


def servers_by_number(run_id: UUID) -> Mapping[int, Server]:
    """Return the servers of the tool calls of a sealed run, by the numbers of their steps."""
    return {no: server for no, _, server in _calls(run_id)}


@lru_cache(maxsize=16)
def _servers(run_id: UUID) -> Mapping[str, Sequence[Server]]:
    """Return the servers of the tools of a sealed run, by the tools' names; tools of no server are absent."""
    servers: dict[str, list[Server]] = {}
    for _, tool, server in _calls(run_id):
        known_servers = servers.setdefault(tool, [])
        if server not in known_servers:
            known_servers.append(server)
    return servers


@lru_cache(maxsize=16)
def _calls(run_id: UUID) -> Sequence[tuple[int, str, Server]]:
    """Return the calls of MCP servers in a sealed run: their numbers, their tools, and their servers."""
    steps = Step.objects.filter(run_id=run_id, type=StepType.TOOL).exclude(attributes_ref="")
    calls: list[tuple[int, str, Server]] = []
    for chunk in bulk.chunks([*steps.values_list("sequence_no", "name", "tool_name", "attributes_ref")]):
        attributes = artifacts.available(ref for *_, ref in chunk)
        for no, name, tool_name, ref in chunk:
            if server := server_of(as_object(attributes.get(ref))):
                calls.append((no, tool_name or name, server))
    return calls
