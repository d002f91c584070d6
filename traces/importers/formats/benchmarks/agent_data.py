"""Agent Data Protocol: trajectories of many data sets in one schema of actions and observations."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, has_list, omit, other_members
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "agent-data"
_KIND: Final = "class_"
_CALLS: Final = frozenset({"api_action", "code_action"})
_KINDS: Final = _CALLS | {"text_observation", "web_observation", "message_action"}


def is_trajectory(value: JSONValue) -> bool:
    """Return True if `value` is a trajectory."""
    body = as_object(value)
    items = as_objects(body.get("content")) if has_list(body, "content") else []
    return bool(items) and all(as_text(item.get(_KIND)) in _KINDS for item in items[:3])


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per trajectory."""
    for body, location in source.entries():
        yield _run(body, location)


def _run(body: JSONObject, location: str) -> RecordedRun:
    return build_run(
        RunFacts(
            external_id=as_text(body.get("id")) or f"{FORMAT}-{content_id(body, location)}",
            app=FORMAT,
            format=FORMAT,
            metadata=omit(body, "id", "content"),
        ),
        transcripts.build_steps([*_entries(body, location)], TranscriptSettings()),
        location=location,
    )


def _entries(body: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    """Yield the messages. Calls have no ids: what the environment gave after one is its result."""
    call_id = ""
    for index, item in enumerate(as_objects(body.get("content"))):
        place, kind = f"{location}/content/{index}", as_text(item.get(_KIND))
        if kind in _CALLS:
            call_id = f"call-{index}"
            yield TranscriptMessage(value=_call(item, call_id), location=place)
            continue
        is_answer = kind == "message_action"
        is_request = is_answer or item.get("source") == "user"
        role = "assistant" if is_answer else "user" if is_request or not call_id else "tool"
        value: JSONObject = {"role": role, "content": _content(item), **_details(item)}
        if role == "tool":
            value["tool_call_id"] = call_id
        yield TranscriptMessage(value=value, location=place, is_injected=role == "user" and not is_request)
        call_id = ""


def _call(item: JSONObject, call_id: str) -> JSONObject:
    is_code = item.get(_KIND) == "code_action"
    name = as_text(item.get("language") if is_code else item.get("function")) or "code"
    arguments: JSONValue = {"code": item.get("content")} if is_code else item.get("kwargs") or {}
    return {
        "role": "assistant",
        "content": item.get("description") or None,
        "tool_calls": [{"id": call_id, "name": name, "arguments": arguments}],
    }


def _content(item: JSONObject) -> JSONValue:
    """Return the text of an observation, or what it states of a web page."""
    return item["content"] if "content" in item else omit(item, _KIND)


def _details(item: JSONObject) -> JSONObject:
    return other_members(item, {_KIND, "content", "source"}) if "content" in item else {}
