"""Groups of an agent's steps, among events from its SDK and from the gateway. Pure.

The gateway does not see which agent or turn makes a call. The SDK says when each one begins and ends, so a call is
inside of the innermost one that is open then, unless several are open side by side.
"""

from collections.abc import Sequence
from typing import Final

import orjson

from traces.core.json_access import as_integer, as_object, as_text
from traces.core.json_types import JSONObject

_BEGINNING: Final = "step_started"
_ENDING: Final = "step_finished"
_GROUP_EVENTS: Final = frozenset({_BEGINNING, _ENDING, "final_output"})
_OPENINGS: Final = frozenset({_BEGINNING, "tool_called"})
# The gateway's calls of models, and of MCP servers.
_GATEWAY: Final = frozenset({"gateway", "mcp"})
_CLOSINGS: Final = frozenset({_ENDING, "tool_result"})


def fit(lines: bytes, *, has_groups: bool) -> bytes:
    """Return events with the groups that the recording has as well, or without any."""
    if b'"' + _BEGINNING.encode() + b'"' not in lines and b'"final_output"' not in lines:
        return lines
    events = sorted((as_object(orjson.loads(line)) for line in lines.splitlines()), key=_number)
    kept_events = _place_calls(events) if has_groups else _without_groups(events)
    return b"".join(orjson.dumps(event) + b"\n" for event in kept_events)


def _number(event: JSONObject) -> int:
    return as_integer(event.get("sequence_no")) or 0


def _without_groups(events: Sequence[JSONObject]) -> list[JSONObject]:
    groups = {
        as_text(event.get("step_id")): event.get("parent_step_id")
        for event in events
        if event.get("event_type") in _GROUP_EVENTS
    }
    kept_events = []
    for event in events:
        if event.get("event_type") in _GROUP_EVENTS:
            continue
        parent = event.get("parent_step_id")
        while isinstance(parent, str) and parent in groups:
            parent = groups[parent]
        kept_events.append({**event, "parent_step_id": parent})
    return kept_events


def _place_calls(events: Sequence[JSONObject]) -> list[JSONObject]:
    """Return the events, those of the gateway in the groups that were open."""
    # The open steps of the agent, in the order of their beginnings, with their parents.
    open_steps: dict[str, str] = {}
    places: dict[str, str | None] = {}
    placed_events = []
    for event in events:
        id, type = as_text(event.get("step_id")), event.get("event_type")
        if event.get("actor_type") in _GATEWAY:
            place = places.setdefault(id, as_text(event.get("parent_step_id")) or _innermost(open_steps))
            placed_events.append({**event, "parent_step_id": place})
            continue
        if type in _OPENINGS:
            open_steps[id] = as_text(event.get("parent_step_id"))
        elif type in _CLOSINGS:
            open_steps.pop(id, None)
        placed_events.append(event)
    return placed_events


def _innermost(open_steps: dict[str, str]) -> str | None:
    """Return the innermost open step, or the one around those that are open side by side; None if there is none."""
    chains = [_ancestors(id, open_steps) for id in open_steps if id not in open_steps.values()]
    common = [id for id in chains[0] if all(id in chain for chain in chains)] if chains else []
    return common[0] if common else None


def _ancestors(id: str, open_steps: dict[str, str]) -> list[str]:
    """Return an open step and those around it, from the inside out."""
    chain = [id]
    while open_steps.get(chain[-1]):
        chain.append(open_steps[chain[-1]])
    return chain
