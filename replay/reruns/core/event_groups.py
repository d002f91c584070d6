"""Groups of an agent's steps, among events from its SDK and from the gateway. Pure.

The gateway does not see which agent or turn makes a call. The SDK says when each one begins and ends, so a call is
inside of the innermost one that is open then, unless several are open side by side.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import orjson

from traces.core.json_access import as_integer, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue

_BEGINNING: Final = "step_started"
_ENDING: Final = "step_finished"
_GROUP_EVENTS: Final = frozenset({_BEGINNING, _ENDING, "final_output"})
_OPENINGS: Final = frozenset({_BEGINNING, "tool_called"})
# The gateway's calls of models, and of MCP servers.
_GATEWAY: Final = frozenset({"gateway", "mcp"})
_CLOSINGS: Final = frozenset({_ENDING, "tool_result"})
Reader = Callable[[], bytes]
# Returns an event as it fits the recording, or None.
EventFit = Callable[[JSONObject], JSONObject | None]


def fit(segments: Sequence[Reader], *, has_groups: bool) -> Sequence[Reader]:
    """Return segments of events with the groups that the recording has as well, or without any.

    They are read whenever they are looked at, because those of a long rerun would take much memory together.
    """
    if not any(_contain_groups(read()) for read in segments):
        return segments
    headers = sorted((_header(event) for read in segments for event in _events(read())), key=_number)
    fit_event = _call_placement(headers) if has_groups else _group_removal(headers)
    return [partial(_fit_segment, read, fit_event) for read in segments]


def _contain_groups(lines: bytes) -> bool:
    return b'"' + _BEGINNING.encode() + b'"' in lines or b'"final_output"' in lines


def _events(lines: bytes) -> Iterator[JSONObject]:
    return (as_object(orjson.loads(line)) for line in lines.splitlines())


def _header(event: JSONObject) -> JSONObject:
    return {name: value for name, value in event.items() if name != "payload"}


def _fit_segment(read: Reader, fit_event: EventFit) -> bytes:
    events = map(fit_event, _events(read()))
    return b"".join(orjson.dumps(event) + b"\n" for event in events if event is not None)


def _number(event: JSONObject) -> int:
    return as_integer(event.get("sequence_no")) or 0


def _group_removal(events: Sequence[JSONObject]) -> EventFit:
    """Return what takes an event out of its groups; None for the event of a group."""
    parents = {
        as_text(event.get("step_id")): event.get("parent_step_id")
        for event in events
        if as_text(event.get("event_type")) in _GROUP_EVENTS
    }

    def remove(event: JSONObject) -> JSONObject | None:
        if as_text(event.get("event_type")) in _GROUP_EVENTS:
            return None
        return {**event, "parent_step_id": _outer_step(event.get("parent_step_id"), parents)}

    return remove


def _outer_step(step: JSONValue, parents: dict[str, JSONValue]) -> JSONValue:
    """Return the first step outside of all groups; None for groups that contain each other.

    The groups on the way get this step as their parent, so that a deep group is climbed once.
    """
    groups: list[str] = []
    while isinstance(step, str) and step in parents:
        groups.append(step)
        step, parents[groups[-1]] = parents[step], None
    parents.update(dict.fromkeys(groups, step))
    return step


def _call_placement(events: Iterable[JSONObject]) -> EventFit:
    """Return what puts an event of the gateway into the group that was open; `events` are in their order."""
    # The open steps of the agent, in the order of their beginnings, with their parents.
    open_steps: dict[str, str] = {}
    places: dict[str, str | None] = {}
    for event in events:
        id, type = as_text(event.get("step_id")), as_text(event.get("event_type"))
        if as_text(event.get("actor_type")) in _GATEWAY:
            places.setdefault(id, as_text(event.get("parent_step_id")) or _innermost(open_steps))
        elif type in _OPENINGS:
            open_steps[id] = as_text(event.get("parent_step_id"))
        elif type in _CLOSINGS:
            open_steps.pop(id, None)

    def place(event: JSONObject) -> JSONObject:
        if as_text(event.get("actor_type")) not in _GATEWAY:
            return event
        return {**event, "parent_step_id": places[as_text(event.get("step_id"))]}

    return place


def _innermost(open_steps: Mapping[str, str]) -> str | None:
    """Return the innermost open step, or the one around those that are open side by side; None if there is none."""
    outer_steps = {*open_steps.values()}
    inner_steps = [id for id in open_steps if id not in outer_steps]
    if not inner_steps:
        return None
    chain = [*_ancestors(inner_steps[0], open_steps)]
    # Where the ancestors of each step meet the chain.
    meetings = {id: index for index, id in enumerate(chain)}
    index = 0
    for inner_step in inner_steps[1:]:
        branch = [*_ancestors(inner_step, open_steps, meetings)]
        meeting = meetings.get(open_steps.get(branch[-1], ""), len(chain))
        meetings.update(dict.fromkeys(branch, meeting))
        index = max(index, meeting)
    return chain[index] if index < len(chain) else None


def _ancestors(id: str, open_steps: Mapping[str, str], known_steps: Container[str] = ()) -> Iterator[str]:
    """Yield an open step and those around it, from the inside out, up to a known one. A hostile agent has cycles."""
    path: dict[str, None] = {}
    while id and id not in path and id not in known_steps:
        path[id] = None
        yield id
        id = open_steps.get(id, "")
