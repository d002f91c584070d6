"""Calls through the gateway as events of a run, in the format of the capture SDK. Pure.

Every event is made from one request or answer alone, so that any process can make it, and making it twice changes
nothing. Numbers are times: those of a run are in the order in which the processes saw its calls.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import orjson

from cockpit.gateway.answers import (
    StreamContent,
    UnreadableBody,
    decode,
    error_text,
    read_answer,
    read_json,
    read_stream,
    tool_names,
)
from cockpit.gateway.raw_responses import Marks, raw_response
from cockpit.gateway.routes import Operation, url_of
from replay.reruns.core.playback import is_event_stream
from replay.reruns.recordings import REQUEST_HEADERS, UNREADABLE_REQUEST
from traces.core import duplicate_keys
from traces.core.json_access import as_list, as_object, as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepStatus
from traces.importers.formats.tracing.client_calls import TOOL_APIS, model_request
from traces.redaction.raw_responses import RAW_RESPONSE

# The end of a run comes after all of its calls, also after answers that were read to their end when the agent had gone.
LAST_NUMBER: Final = 2**53 - 1
# Distinguishes the events of several processes in the same microsecond.
_SALT_BITS: Final = 6
_PROVIDERS: Final = {"gemini": "google"}
_LONGEST_TEXT: Final = 2_000
_ERRORS: Final = 400
_CACHE_MARK: Final = "cache_control"
# Its id is all that it has.
_ITEM_REFERENCE: Final = "item_reference"
# Parameters of an address that change no answer, or that `Operation` has.
_NO_SETTINGS: Final = frozenset({"alt", "beta", "key"})
# What no answer depends on: how it is sent, stored and paid.
_NO_CONTENT: Final = frozenset(
    {"stream", "stream_options", "metadata", "user", "store", "safety_identifier", "prompt_cache_key", "service_tier"}
    | {"prompt_cache_retention", "background", "labels", "betas", "keep_alive"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A request of an agent to a provider."""

    run_id: str
    id: str
    provider: str
    protocol: str
    operation: Operation
    # When the run and the call began, in seconds since 1970.
    run_start: float
    start: float
    body: bytes
    query: str = ""
    encoding: str = ""
    # Those that change the answer.
    headers: tuple[tuple[str, str], ...] = ()
    # Of the digests of requests: that of redacted values, which may be among their bytes.
    digest_key: bytes = b""
    # The start of the agent in a rerun.
    attempt: int = 1
    # The step of the agent that made the call, if its SDK names one.
    parent: str | None = None
    # The thread or task that made it, if the SDK names it.
    lane: str = ""

    @property
    def asks_gemini_for_events(self) -> bool:
        """Whether the address asks Gemini for events. Its other way to stream is one list in JSON."""
        return "streamGenerate" in self.operation.path and "alt=sse" in self.query.split("&")

    @property
    def digest(self) -> str:
        """The digest of the bytes of the request, and of all else that its answer depends on; empty without a key.

        It needs a key because a plain one would reveal values that were redacted: the rest of the request is known.
        """
        if not self.digest_key:
            return ""
        operation = self.operation
        address = [self.provider, operation.api, operation.path, operation.model, self.asks_gemini_for_events]
        head = orjson.dumps([*address, self.encoding, self.headers, self.settings])
        return hmac.digest(self.digest_key, head + b"\n" + self.body, "sha256").hex()

    @property
    def settings(self) -> list[str]:
        """The parameters of the address on which the answer may depend, such as the version of the API."""
        return sorted(item for item in self.query.split("&") if item and item.partition("=")[0] not in _NO_SETTINGS)

    def url(self, base_url: str) -> str:
        return url_of(self.operation, base_url) + (f"?{self.query}" if self.query else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came back, as far as it arrived; `error` says why no answer or only a part of it did.

    `marks` are where each piece of the body begins, and when it arrived. `is_cut`: the connection ended too early.
    """

    end: float
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    marks: Marks = ()
    body: bytes = b""
    encoding: str = ""
    is_stream: bool = False
    error: str = ""
    is_cut: bool = False


def number_at(run_start: float, at: float) -> int:
    """Return the number of an event at this time."""
    return (max(0, int((at - run_start) * 1_000_000)) << _SALT_BITS) | secrets.randbits(_SALT_BITS)


def event_line(
    run_id: str,
    step_id: str | None,
    number: int,
    type: str,
    at: float,
    payload: JSONObject,
    *,
    parent: str | None = None,
    actor: str = "gateway",
) -> bytes:
    """Return an event as a line of JSON."""
    record = {
        "schema_version": "1.0.0",
        "run_id": run_id,
        "step_id": step_id,
        "parent_step_id": parent,
        "sequence_no": number,
        "event_type": type,
        "timestamp_utc": datetime.fromtimestamp(at, UTC).isoformat(),
        "actor_type": actor,
        "payload": payload,
    }
    return orjson.dumps(record) + b"\n"


def start_lines(call: Call, *, limit: int, has_body: bool = True) -> bytes:
    """Return the events of a request: the tool calls whose results it brings, and the start of the model call.

    `has_body`: the start of the call contains the body of the request.
    """
    payload = request_payload(call, limit=limit)
    number = number_at(call.run_start, call.start)
    lines = [*_tool_lines(call, payload, number)]
    if not has_body:
        payload["request"] = {}
    lines.append(
        event_line(call.run_id, call.id, number + len(lines), "model_called", call.start, payload, parent=call.parent)
    )
    return b"".join(lines)


def request_payload(call: Call, *, limit: int) -> JSONObject:
    """Return what the event of a request contains."""
    request, problem = _request(call, limit)
    payload: JSONObject = {
        "provider": provider_name(call),
        "model_id": call.operation.model or as_text(request.get("model")),
        "api": call.operation.api,
        "request": request,
    }
    if call.headers:
        payload[REQUEST_HEADERS] = dict(call.headers)
    if problem:
        payload["attributes"] = {UNREADABLE_REQUEST: problem}
    return payload


def provider_name(call: Call) -> str:
    """Return the provider as the steps of a run name it."""
    return _PROVIDERS.get(call.provider, call.provider)


def request_body(call: Call, *, limit: int) -> JSONObject:
    """Return the body of a request; raise `UnreadableBody`."""
    request, problem = _request(call, limit)
    if problem:
        raise UnreadableBody(problem)
    return request


def content_digest(call: Call, request: JSONObject) -> str:
    """Return the digest of all in the body of a request that its answer may depend on, in any order.

    The input of a step lacks some of it. It has a key for the same reason as that of the bytes; empty without one.
    """
    if not call.digest_key:
        return ""
    # An edited request has it as a member also where it is sent in the address.
    excluded_names = _NO_CONTENT | ({"model"} if call.operation.model else set())
    content: JSONValue = {name: _content_of(call, name, request[name]) for name in request.keys() - excluded_names}
    # A long conversation takes a millisecond to look through.
    if call.encoding or _CACHE_MARK.encode() in call.body:
        content = _without_marks(content)
    data = orjson.dumps([call.settings, content], option=orjson.OPT_SORT_KEYS)
    if not call.encoding and _has_duplicates(call.body, request):
        # Which of two members counts, each reader decides.
        data = call.body
    return hmac.digest(call.digest_key, b"content\n" + data, "sha256").hex()


def _has_duplicates(body: bytes, request: JSONObject) -> bool:
    return not duplicate_keys.are_unique(body, request) and duplicate_keys.find(body, request) is not None


def _content_of(call: Call, name: str, value: JSONValue) -> JSONValue:
    """Return a member of a request without what its answer does not depend on: the ids of items."""
    if call.operation.api != "openai.responses" or name != "input" or not isinstance(value, list):
        return value
    items = [(item, as_object(item)) for item in value]
    return [
        item if fields.get("type") == _ITEM_REFERENCE or "id" not in fields else {**fields, "id": None}
        for item, fields in items
    ]


def _without_marks(value: JSONValue) -> JSONValue:
    """Return a request without marks of the provider's cache."""
    if isinstance(value, dict):
        return {name: _without_marks(item) for name, item in value.items() if name != _CACHE_MARK}
    return [_without_marks(item) for item in value] if isinstance(value, list) else value


def end_line(call: Call, outcome: Outcome, *, limit: int) -> bytes:
    """Return the event of an answer."""
    payload: JSONObject = {"latency_ms": int((outcome.end - call.start) * 1000)}
    body = _content(outcome, limit)
    payload |= _result(call, outcome, body)
    if outcome.status and isinstance(body, bytes):
        request, problem = _request(call, limit)
        payload[RAW_RESPONSE] = raw_response(
            api=call.operation.api,
            status=outcome.status,
            headers=outcome.headers,
            body=body,
            marks=outcome.marks,
            is_cut=outcome.is_cut,
            request=call.digest,
            content="" if problem else content_digest(call, request),
            lane=call.lane,
        )
    return event_line(
        call.run_id, call.id, number_at(call.run_start, outcome.end), "model_result", outcome.end, payload
    )


def called_tools(call: Call, outcome: Outcome, *, limit: int) -> list[str]:
    """Return the tools that an answer asks the agent to run; raise `UnreadableBody` if they are not known."""
    api = call.operation.answer_api
    if api in TOOL_APIS or outcome.status >= _ERRORS:
        return []
    body = decode(outcome.body, outcome.encoding, limit=limit)
    if outcome.error:
        raise UnreadableBody(outcome.error)
    payload = _result(call, outcome, body)
    if "response" not in payload:
        # A stream that does not begin as one.
        payload = {"response": read_stream(api, body).answer}
    return [*tool_names(api, payload.get("response"))]


def _request(call: Call, limit: int) -> tuple[JSONObject, str]:
    """Return the body of a request, or an empty one and why it cannot be read."""
    try:
        value = read_json(decode(call.body, call.encoding, limit=limit))
    except UnreadableBody as problem:
        return {}, f"{problem}: {call.body[:_LONGEST_TEXT].decode(errors='replace')}"
    return as_object(value), "" if isinstance(value, dict) else "it is not a JSON object"


def _result(call: Call, outcome: Outcome, body: bytes | UnreadableBody) -> JSONObject:
    """Return the result of a call with an unpacked body."""
    if not outcome.status:
        return _failure(outcome.error)
    try:
        if isinstance(body, UnreadableBody):
            raise body
        if outcome.status >= _ERRORS:
            return _refusal(outcome, body)
        if not outcome.is_stream and not is_event_stream(body):
            return {"response": read_answer(call.operation.answer_api, body), **_status(outcome.error)}
    except UnreadableBody as problem:
        return _failure(outcome.error or f"the answer cannot be read: {problem}")
    return _stream_result(outcome, read_stream(call.operation.answer_api, body))


def _content(outcome: Outcome, limit: int) -> bytes | UnreadableBody:
    """Return the body of an answer, unpacked, or why it cannot be."""
    try:
        return decode(outcome.body, outcome.encoding, limit=limit)
    except UnreadableBody as problem:
        return problem


def _refusal(outcome: Outcome, body: bytes) -> JSONObject:
    """Return the result of a call that the provider refused."""
    try:
        content = read_json(body)
        message = error_text(content)
    except UnreadableBody:
        content, message = None, body[:_LONGEST_TEXT].decode(errors="replace")
    return {
        **_failure(f"HTTP {outcome.status}: {message}".strip(": ")),
        "attributes": {"http_status": outcome.status, "error_response": content},
    }


def _stream_result(outcome: Outcome, stream: StreamContent) -> JSONObject:
    cut_off = "" if stream.has_ended else "the stream was cut off"
    error = stream.error or outcome.error or cut_off
    return {"response": stream.answer, **_status(error)}


def _status(error: str) -> JSONObject:
    return _failure(error) if error else {"status": "success"}


def _failure(error: str) -> JSONObject:
    return {"status": StepStatus.ERROR, "error": error}


@dataclass(frozen=True, kw_only=True, slots=True)
class _ToolCall:
    """A tool call that a model requested, and its result."""

    step_id: str
    call_id: str
    name: str
    arguments: JSONValue
    result: JSONValue


def _tool_lines(call: Call, payload: JSONObject, number: int) -> Iterator[bytes]:
    """Yield the events of the tools that the agent ran since the model's last answer, before `number` + their count."""
    messages = as_objects(as_object(model_request(payload)).get("messages"))
    for index, tool in enumerate(_tool_calls(call.run_id, messages)):
        request: JSONObject = {"tool_name": tool.name, "call_id": tool.call_id, "args": tool.arguments}
        result: JSONObject = {"tool_name": tool.name, "result": tool.result, "status": "success"}
        places = (number + 2 * index, number + 2 * index + 1)
        yield event_line(call.run_id, tool.step_id, places[0], "tool_called", call.start, request, parent=call.parent)
        yield event_line(call.run_id, tool.step_id, places[1], "tool_result", call.start, result)


def _tool_calls(run_id: str, messages: Sequence[JSONObject]) -> list[_ToolCall]:
    """Return the tool calls of the last answer in a conversation whose results follow it."""
    last = max((index for index, message in enumerate(messages) if message.get("role") == "assistant"), default=-1)
    requests = as_objects(as_list(messages[last].get("tool_calls"))) if last >= 0 else []
    results = [message for message in messages[last + 1 :] if message.get("role") == "tool"]
    if not requests or not results:
        return []
    conversation = hashlib.sha256(orjson.dumps([run_id, messages[:last]], option=orjson.OPT_SORT_KEYS)).hexdigest()
    return [
        _ToolCall(
            step_id=f"{conversation[:32]}-{position}",
            call_id=as_text(request.get("id")),
            name=as_text(request.get("name")),
            arguments=request.get("arguments"),
            result=result.get("content"),
        )
        for position, request in enumerate(requests)
        if (result := _result_of(request, position, results)) is not None
    ]


def _result_of(request: JSONObject, position: int, results: Sequence[JSONObject]) -> JSONObject | None:
    """Return the result of a tool call, by its id, or by its position for APIs without ids."""
    if call_id := as_text(request.get("id")):
        return next((result for result in results if result.get("tool_call_id") == call_id), None)
    return results[position] if position < len(results) else None
