"""Telemetry of Gemini CLI and Qwen Code as log records (`telemetry.outfile`), one object after the other.

A response has its request only if prompts are logged. The output of a call is in the next request.
"""

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, is_number, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import normalize_messages
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "gemini-telemetry"
_EVENT: Final = re.compile(rb'"event\.name":\s*"(?:gemini_cli|qwen-code)\.')
_START: Final = re.compile(r"^\{", re.M)
_DECODER: Final = json.JSONDecoder()
_USAGE: Final = {
    "input_token_count": "input_tokens",
    "output_token_count": "output_tokens",
    "cached_content_token_count": "cached_input_tokens",
    "thoughts_token_count": "thoughts_tokens",
    "tool_token_count": "tool_tokens",
}
_STEP_FIELDS: Final = frozenset(
    {"session.id", "event.name", "event.timestamp", "model", "duration_ms", "request_text", "response_text", "error"}
    | {"function_name", "function_args", "success", "total_token_count", "error_message", "finish_reasons", *_USAGE}
)
# Of a request, at the end of which are the outputs of the calls before it.
_MOST_CONTENTS: Final = 20
_LONGEST_MS: Final = 10**9  # eleven days
_MOST_FAILURES: Final = 100
_REFUSALS: Final = frozenset({"reject", "cancelled"})


@dataclass(kw_only=True)
class _Session:
    """The messages of a session so far, and what its next answer needs."""

    messages: list[TranscriptMessage] = field(default_factory=list)
    events: list[JSONValue] = field(default_factory=list)
    # By model: requests without a response so far.
    requests: dict[str, JSONValue] = field(default_factory=dict)
    # Calls of the last answer without a result so far, and results without their outputs, by the names of tools.
    calls: dict[str, deque[JSONObject]] = field(default_factory=dict)
    results: dict[str, list[JSONObject]] = field(default_factory=dict)
    # Calls that are in no logged answer, by the index of the message of their answer.
    actions: dict[int, list[TextAction]] = field(default_factory=dict)
    program: str = "gemini-cli"


def sniff(sample: Sample) -> float:
    """Return the confidence that the file has such events. One with spans is a trace, too, which is more."""
    return 0.5 if _EVENT.search(sample.head) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per session."""
    sessions: dict[str, _Session] = {}
    for attributes, location in _events(source):
        session = sessions.setdefault(as_text(attributes.get("session.id")), _Session())
        try:
            _add(session, attributes, location)
        except BadFile as problem:
            source.problems.append(problem)
    for id, session in sessions.items():
        for index, actions in session.actions.items():
            session.messages[index] = replace(session.messages[index], actions=tuple(actions))
        steps = transcripts.build_steps(session.messages, TranscriptSettings(provider="google", agent=session.program))
        yield build_run(
            RunFacts(
                external_id=id or f"{FORMAT}-{content_id([message.value for message in session.messages], '')}",
                app=session.program,
                format=FORMAT,
                metadata={"events": session.events},
            ),
            steps,
            location=f"session {id}",
        )


def _events(source: Source) -> Iterator[tuple[JSONObject, str]]:
    """Yield the attributes of log records, which other lines may interrupt."""
    text, position, failures = decode_text(source.data), 0, 0
    # Each incomplete record may take a look through the rest of the file.
    while failures < _MOST_FAILURES and (match := _START.search(text, position)):
        try:
            record, position = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            source.problems.append(BadFile("an incomplete log record", f"character {match.start()}"))
            position, failures = match.end(), failures + 1
            continue
        attributes = as_object(as_object(record).get("attributes"))
        if "event.name" in attributes:
            yield attributes, f"character {match.start()}"


def _add(session: _Session, event: JSONObject, location: str) -> None:
    program, _, name = as_text(event["event.name"]).partition(".")
    session.program = "qwen-code" if program == "qwen-code" else session.program
    time, model = parse_time(event.get("event.timestamp"), location), as_text(event.get("model"))
    match name:
        case "user_prompt" if event.get("prompt"):
            facts = omit(event, "prompt", *_STEP_FIELDS)
            value: JSONObject = {**facts, "role": "user", "content": event["prompt"], "ts": event["event.timestamp"]}
            session.messages.append(TranscriptMessage(value=value, location=location))
        case "api_request":
            session.requests[model] = parse_embedded(event.get("request_text"))
            _add_outputs(session, session.requests[model])
        case "api_response" | "api_error":
            session.messages.append(_answer(session, event, time, location))
        case "tool_call":
            _add_call(session, event, time, location)
        case _:
            session.events.append({key: item for key, item in event.items() if key != "session.id"})


def _answer(session: _Session, event: JSONObject, time: datetime | None, location: str) -> TranscriptMessage:
    model = as_text(event.get("model"))
    failure = first_member(event, "error_message", "error")
    usage: JSONObject = {name: event[count] for count, name in _USAGE.items() if event.get(count)}
    reasons = as_list(event.get("finish_reasons"))
    request = session.requests.pop(model, None)
    content = _content(parse_embedded(event.get("response_text")))
    session.calls = {}
    for number, call in enumerate(as_objects(content["tool_calls"])):
        call["id"] = call["id"] or f"{location}-{number}"
        session.calls.setdefault(as_text(call["name"]), deque()).append(call)
    value: JSONObject = {
        **omit(event, *_STEP_FIELDS),
        **content,
        "model": model,
        "usage": usage,
        "ts": event.get("event.timestamp"),
        **({"finish_reason": reasons[-1]} if reasons else {}),
        **({"error": failure} if failure else {}),
    }
    return TranscriptMessage(
        value=value,
        location=location,
        request_messages=[*normalize_messages(request)] if request else None,
        started_at=_start(event, time),
    )


def _content(response: JSONValue) -> JSONObject:
    """Return the message of a response, which may be logged as the list of its parts."""
    parts: list[JSONValue] = []
    for piece in as_objects(response if isinstance(response, list) else [response]):
        candidate = as_object(next(iter(as_list(piece.get("candidates"))), None))
        parts += as_list(as_object(candidate.get("content")).get("parts"))
    messages = normalize_messages({"role": "model", "parts": parts}) if parts else []
    message = messages[0] if messages else {"content": response if isinstance(response, str) else None}
    return {"role": "assistant", "content": message.get("content"), "tool_calls": as_list(message.get("tool_calls"))}


def _add_call(session: _Session, event: JSONObject, time: datetime | None, location: str) -> None:
    """Add the result of a call, or the call itself if its answer is not logged."""
    failure = as_text(event.get("error")) or ("" if _is_success(event) else as_text(event.get("error_type")) or "error")
    is_denied = as_text(event.get("decision")) in _REFUSALS
    name = as_text(event.get("function_name"))
    facts = omit(event, *_STEP_FIELDS) | {"duration_ms": event.get("duration_ms")}
    if calls := session.calls.get(name):
        result: JSONObject = {**facts, "role": "tool", "tool_call_id": calls.popleft()["id"], "content": None}
        result |= {"ts": event.get("event.timestamp"), "error": failure or None, "denied": is_denied}
        session.results.setdefault(name, []).append(result)
        session.messages.append(TranscriptMessage(value=result, location=location))
        return
    action = TextAction(
        name=name,
        arguments=parse_embedded(event.get("function_args")),
        error=failure,
        status=StepStatus.DENIED if is_denied else StepStatus.ERROR if failure else StepStatus.OK,
        ended_at=time,
        attributes=facts,
    )
    if not session.messages or as_object(session.messages[-1].value).get("role") != "assistant":
        value: JSONObject = {"role": "assistant", "content": None, "ts": event.get("event.timestamp")}
        session.messages.append(TranscriptMessage(value=value, location=location, request_messages=[]))
    session.actions.setdefault(len(session.messages) - 1, []).append(action)


def _add_outputs(session: _Session, request: JSONValue) -> None:
    """Give the results of calls their outputs, which are in the request after them."""
    parts = [part for content in as_objects(request)[-_MOST_CONTENTS:] for part in as_objects(content.get("parts"))]
    outputs: dict[str, list[JSONValue]] = {}
    for output in (as_object(part["functionResponse"]) for part in parts if "functionResponse" in part):
        outputs.setdefault(as_text(output.get("name")), []).append(output.get("response"))
    for name, results in session.results.items():
        # Those of earlier calls precede them.
        for result, content in zip(reversed(results), reversed(outputs.get(name, [])), strict=False):
            result["content"] = content
    session.results = {}


def _is_success(event: JSONObject) -> bool:
    return event.get("success") not in (False, "false")


def _start(event: JSONObject, end: datetime | None) -> datetime | None:
    duration = event.get("duration_ms")
    if end is None or not is_number(duration) or not 0 <= duration < _LONGEST_MS:
        return None
    return end - timedelta(milliseconds=duration)
