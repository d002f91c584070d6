"""Sessions of Google's Agent Development Kit: events of users, agents and tools with contents of Gemini."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_object
from traces.importers.files.source import Source

FORMAT: Final = "adk"
_INVOCATION: Final = ("invocationId", "invocation_id")
_USER: Final = "user"
_FIELDS: Final = frozenset(
    {"id", "content", "timestamp", "usageMetadata", "usage_metadata", "finishReason", "finish_reason"}
    | {"modelVersion", "model_version", "errorCode", "error_code", "errorMessage", "error_message", "author"}
    | {"partial", "turnComplete", "turn_complete"}
)
_EMPTY: Final[tuple[JSONValue, ...]] = (None, "", [], {}, False)


def is_session(value: JSONValue) -> bool:
    """Return True if `value` is a session, an event, or a list of these."""
    body = as_object(first_item(value))
    return _is_event(body) or (has_list(body, "events") and _is_event(first_item(body["events"])))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per session; events without their session form one."""
    events: list[JSONValue] = []
    for record in source.records():
        for value in record.value if isinstance(record.value, list) else [record.value]:
            if _is_event(value):
                events.append(value)
                continue
            try:
                yield _session(value, record.location)
            except BadFile as problem:
                source.problems.append(problem)
    if events:
        yield build_session({}, events, "")


def _session(value: JSONValue, location: str) -> RecordedRun:
    body = require_object(value, location)
    if not has_list(body, "events"):
        raise BadFile("a session of the Agent Development Kit needs `events`", location or "/events")
    return build_session(body, as_list(body["events"]), location)


def _is_event(value: JSONValue) -> bool:
    body = as_object(value)
    return "author" in body and not body.keys().isdisjoint(_INVOCATION)


def build_session(session: JSONObject, events: list[JSONValue], location: str) -> RecordedRun:
    """Build the run of a session's events."""
    # Pieces of a streamed answer, which an event with all of it follows.
    whole_events = [event for event in as_objects(events) if event.get("partial") is not True]
    entries = [
        entry for index, event in enumerate(whole_events) for entry in _entries(event, f"{location}/events/{index}")
    ]
    authors = dict.fromkeys(author for event in whole_events if (author := as_text(event.get("author"))) != _USER)
    agent = next(iter(authors), "agent")
    return build_run(
        RunFacts(
            external_id=as_text(session.get("id"))
            or _invocation(whole_events)
            or f"{FORMAT}-{content_id(events, location)}",
            app=app_name(first_member(session, "appName", "app_name"), agent) or FORMAT,
            format=FORMAT,
            failed=bool(whole_events) and bool(_error(whole_events[-1])),
            metadata={"user_id": first_member(session, "userId", "user_id"), "state": session.get("state")},
        ),
        transcripts.build_steps(entries, TranscriptSettings(provider="google", agent=agent)),
        location=location,
    )


def _invocation(events: list[JSONObject]) -> str:
    """Return the invocation of events without their session, if it is the only one."""
    ids = {as_text(first_member(event, *_INVOCATION)) for event in events}
    return ids.pop() if len(ids) == 1 else ""


def _entries(event: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    parts = [_part(part) for part in as_objects(as_object(event.get("content")).get("parts"))]
    results = [part for part in parts if "functionResponse" in part]
    rest = [part for part in parts if "functionResponse" not in part]
    for part in results:
        yield TranscriptMessage(value={**_result(part), "ts": event.get("timestamp")}, location=location)
    error = _error(event)
    if rest or error:
        yield TranscriptMessage(value=_message(event, rest, error), location=location)


def _error(event: JSONObject) -> str:
    names = (("errorCode", "error_code"), ("errorMessage", "error_message"))
    return ": ".join(text for group in names if (text := as_text(first_member(event, *group))))


def _part(part: JSONObject) -> JSONObject:
    """Return a part without empty members, by the names of Gemini's API."""
    names = {"function_call": "functionCall", "function_response": "functionResponse", "inline_data": "inlineData"}
    return {names.get(name, name): item for name, item in part.items() if item is not None}


def _result(part: JSONObject) -> JSONObject:
    answer = as_object(part["functionResponse"])
    response = as_object(answer.get("response"))
    is_error = as_text(response.get("status")).lower() == "error" or bool(response.get("error"))
    message: JSONObject = {"role": "tool", "tool_call_id": answer.get("id"), "content": response}
    return {**message, **({"is_error": True} if is_error else {})}


def _message(event: JSONObject, parts: list[JSONObject], error: str) -> JSONObject:
    author = as_text(event.get("author"))
    is_user = author == _USER
    facts: JSONObject = {
        name: value
        for name, item in event.items()
        if name not in _FIELDS and (value := _without_empty(item)) not in _EMPTY
    }
    if not is_user:
        facts |= {
            "speaker": author,
            "model": first_member(event, "modelVersion", "model_version"),
            "usage": first_member(event, "usageMetadata", "usage_metadata"),
            "finish_reason": first_member(event, "finishReason", "finish_reason"),
            "error": error or None,
        }
    known_facts = {name: item for name, item in facts.items() if item not in _EMPTY}
    role = "user" if is_user else "model"
    return {"role": role, "parts": [*parts], "event_id": event.get("id"), "ts": event.get("timestamp"), **known_facts}


def _without_empty(value: JSONValue) -> JSONValue:
    """Return an object such as the actions of an event without its empty members."""
    return {name: item for name, item in value.items() if item not in _EMPTY} if isinstance(value, dict) else value
