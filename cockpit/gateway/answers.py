"""Bodies of providers as JSON: a stream of events becomes the answer that the API gives without streaming. Pure.

The tools that an answer asks the agent to run are found in a whole answer, and in the events of a stream on its way.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from forkpoint.capture.assembly import (
    assemble_chat,
    assemble_content,
    assemble_lines,
    assemble_message,
    assemble_response,
)
from replay.reruns.core.playback import BYTE_ORDER_MARK, LINE_STREAM
from traces.collectors import content_encodings
from traces.core.json_access import as_list, as_object, as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.formats.tracing.client_calls import model_answer
from traces.payloads.messages import ModelAnswer

_ASSEMBLERS: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "openai.chat": assemble_chat,
    "openai.responses": assemble_response,
    "anthropic.messages": assemble_message,
    "google.generate_content": assemble_content,
    "ollama.chat": assemble_lines,
    "ollama.generate": assemble_lines,
}
# The event with which a stream ends, where an API has one.
_LAST_EVENTS: Final = {
    "openai.responses": frozenset({"response.completed", "response.incomplete", "response.failed"}),
    "anthropic.messages": frozenset({"message_stop"}),
}
_EVENT_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
# How the names of APIs begin whose events are lines of JSON.
_LINE_APIS: Final = "ollama."
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
# Members with alternative answers, of which agents may take any.
_ALTERNATIVES: Final = {"openai.chat": "choices", "google.generate_content": "candidates"}
# Numbers that JSON lacks, and that Python writes and reads all the same.
_NON_FINITE: Final = re.compile(rb"\b(?:NaN|Infinity)\b")
_DONE: Final = b"[DONE]"
_LONGEST_REASON: Final = 2_000


class UnreadableBody(Exception):
    """A body that is not what its headers say."""


def decode(body: bytes, encoding: str, *, limit: int) -> bytes:
    """Decompress a body; raise `UnreadableBody`."""
    if encoding in {"", "identity"}:
        return body
    if encoding not in content_encodings.ENCODINGS:
        raise UnreadableBody(f"it is compressed as “{encoding[:40]}”, which Forkpoint cannot read")
    content = bytearray()
    try:
        for piece in content_encodings.decompress([body], encoding, limit=limit):
            content += piece
            if len(content) > limit:
                raise UnreadableBody(f"it is larger than {limit} bytes")
    except EOFError:
        # An answer that was cut off counts as far as it arrived.
        return bytes(content)
    except content_encodings.FAULTS as error:
        raise UnreadableBody(f"it is not {encoding}: {error}") from error
    return bytes(content)


def parse_json(text: bytes) -> JSONValue:
    """Parse a text of a client or a server; raise `ValueError`.

    A program that cuts its texts by UTF-16 units, as JavaScript does, may leave half of a character. It is replaced:
    what is stored is UTF-8.
    """
    try:
        value: JSONValue = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        value = _with_whole_characters(text, error)
    return value


def _with_whole_characters(text: bytes, error: orjson.JSONDecodeError) -> JSONValue:
    """Parse a text that is not strict; raise the given error if it has another fault."""
    if b"\\u" not in text:
        raise error
    try:
        strict_text = json.dumps(json.loads(text), ensure_ascii=False).encode(errors="replace")
        value: JSONValue = orjson.loads(strict_text)
    except (ValueError, RecursionError):
        raise error from None
    return value


def parse_answer(text: bytes) -> JSONValue:
    """Parse a text of a server; raise `ValueError`. Numbers that JSON lacks, which many clients read, become null."""
    try:
        return parse_json(text)
    except ValueError:
        if not _NON_FINITE.search(text):
            raise
    try:
        value: JSONValue = orjson.loads(orjson.dumps(json.loads(text)))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return value


def read_json(body: bytes) -> JSONValue:
    """Parse a body; raise `UnreadableBody`."""
    try:
        return parse_json(body)
    except ValueError as error:
        raise UnreadableBody(f"it is not JSON: {error}") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamContent:
    """What a stream contains: the answer as far as it arrived, its error if it states one, and whether it ended."""

    answer: JSONValue
    error: str = ""
    has_ended: bool = True


def read_stream(api: str, body: bytes) -> StreamContent:
    """Read a stream of events, which may be cut off anywhere."""
    events: list[JSONObject] = []
    has_ended = False
    for data in _event_data(api, body):
        if data == _DONE:
            has_ended = True
            continue
        try:
            events.append(as_object(parse_answer(data)))
        except ValueError:
            # The event in which the stream was cut off.
            break
    content_events = [event for event in events if not _is_error(event)]
    error = next((error_text(event) for event in events if _is_error(event)), "")
    return StreamContent(
        answer=_assemble(api, content_events), error=error, has_ended=has_ended or _ends(api, content_events)
    )


def read_answer(api: str, body: bytes) -> JSONValue:
    """Read an answer that is no stream of events; raise `UnreadableBody`."""
    try:
        answer = parse_answer(body)
    except ValueError as error:
        raise UnreadableBody(f"it is not JSON: {error}") from error
    # Gemini's other way to stream: a list of what the events would contain.
    return _assemble(api, as_objects(answer)) if api.startswith("google.") and isinstance(answer, list) else answer


def error_text(body: JSONValue) -> str:
    """Return the message of a provider's error in any of their formats."""
    response = as_object(as_object(body).get("response"))
    error = as_object(body).get("error") or response.get("error") or body
    message = as_text(as_object(error).get("message")) if isinstance(error, dict) else as_text(error)
    return (message or orjson.dumps(body).decode())[:_LONGEST_REASON]


def _event_data(api: str, body: bytes) -> Iterator[bytes]:
    """Yield the data of each event that is complete or almost: the last one may lack its empty line."""
    if api.startswith(_LINE_APIS):
        yield from (line for line in body.splitlines() if line)
        return
    lines: list[bytes] = []
    for line in [*_LINE_END.split(body.removeprefix(BYTE_ORDER_MARK)), b""]:
        if line.startswith(b"data:"):
            lines.append(line[5:].removeprefix(b" "))
        elif not line and lines:
            yield b"\n".join(lines)
            lines = []


def _is_error(event: JSONObject) -> bool:
    return bool(event.get("error")) or event.get("type") in ("error", "response.failed")


def _ends(api: str, events: list[JSONObject]) -> bool:
    if api == "google.generate_content":
        return any("finishReason" in as_object(item) for event in events for item in as_list(event.get("candidates")))
    if api == "openai.chat":
        choices = [as_object(item) for event in events for item in as_list(event.get("choices"))]
        return any(choice.get("finish_reason") for choice in choices)
    if api.startswith(_LINE_APIS):
        return any(event.get("done") is True for event in events)
    return any(as_text(event.get("type")) in _LAST_EVENTS[api] for event in events)


def _assemble(api: str, events: list[JSONObject]) -> JSONValue:
    """Put the events together; None if they are in no form that the API has."""
    try:
        answer: JSONValue = _ASSEMBLERS[api](events) if events else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return answer


def tool_names(api: str, answer: JSONValue) -> Iterator[str]:
    """Yield the names of the tools that an answer calls and that the provider does not run itself."""
    member = _ALTERNATIVES.get(api, "")
    alternatives = as_objects(as_object(answer).get(member))
    parts: list[JSONValue] = [{member: [alternative]} for alternative in alternatives]
    for part in parts or [answer]:
        calls = ModelAnswer(model_answer({"api": api, "response": part}).output).calls
        yield from (name for call in calls if (name := as_text(call.get("name"))))


def event_tool_names(api: str, events: bytes) -> Iterator[str]:
    """Yield the names of the tools whose calls begin in whole events of a stream."""
    for data in _event_data(api, events):
        try:
            yield from tool_names(api, _as_answer(api, as_object(parse_answer(data))))
        except ValueError:
            # The end of a chat, a comment, or nothing that a client could read.
            continue


def end_of_events(stream: bytearray, start: int, media_type: str = "") -> int:
    """Return where the last whole event of a part of a stream ends; none does before `start`."""
    if media_type.startswith(LINE_STREAM):
        return stream.rfind(b"\n", start) + 1
    return max((match.end() for match in _EVENT_END.finditer(stream, start)), default=0)


def _as_answer(api: str, event: JSONObject) -> JSONValue:
    """Return an event of a stream as an answer with what it brings."""
    if api == "openai.chat":
        return {"choices": [{"message": choice.get("delta")} for choice in as_objects(event.get("choices"))]}
    if api == "openai.responses":
        whole_response = as_objects(as_object(event.get("response")).get("output"))
        return {"output": [*whole_response, *([event["item"]] if "item" in event else [])]}
    if api == "anthropic.messages":
        whole_message = as_objects(as_object(event.get("message")).get("content"))
        return {"content": [*whole_message, *([event["content_block"]] if "content_block" in event else [])]}
    return event
