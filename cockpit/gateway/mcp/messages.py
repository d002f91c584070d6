"""Messages of MCP as tool steps: requests as their calls, responses as their results. Pure.

A call of a tool is a step with the tool's name and arguments, as the SDK records it. The other requests are steps of
the server. Those of the protocol (the handshake, lists, resources, prompts) change nothing, and are answered as often
as they are made. Nobody knows that of a server's own methods.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import orjson

from cockpit.gateway.answers import parse_json
from forkpoint.mcp_shim.records import META, PARAMETERS, PROGRESS, TOKEN, is_request, progress_token
from traces.core.json_access import as_list, as_object, as_objects, as_text, is_integer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepStatus

MESSAGE_ID: Final = "id"
_CALL: Final = "tools/call"
_LIST: Final = "tools/list"
_INITIALIZE: Final = "initialize"
_READS: Final = frozenset(
    {
        _INITIALIZE,
        _LIST,
        "completion/complete",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "tasks/get",
        "tasks/list",
        "tasks/result",
    }
)
_EVENT_END: Final = re.compile(rb"\r?\n\r?\n")
# Bytes of an event; a longer one is given up, because a server may never end it.
_LONGEST_EVENT: Final = 64 * 1024 * 1024
_LONGEST_END: Final = 4
_EVENT_ID: Final = re.compile(rb"^id:[ ]?([^\r\n]+)\r?$", re.MULTILINE)
_RETRY: Final = re.compile(rb"^retry:[ ]?(\d{1,9})\r?$", re.MULTILINE)
_RETRY_S: Final = 1.0
# A server that asks for none, and ends each stream at once, would be asked without a pause.
_SHORTEST_RETRY_S: Final = 0.1
_LONGEST_RETRY_S: Final = 60.0
# As the SDK records a call of asyncio that the agent cancelled.
_CANCELLATION: Final = "CancelledError"
_HEARS_AFTER: Final = "notifications/initialized"
# JSON-RPC's code for errors of an implementation.
_SERVER_ERROR: Final = -32000


class BadMessage(ValueError):
    """A body that is no message."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A request as the call of a step. `is_read`: it changes nothing."""

    name: str
    arguments: JSONValue
    is_read: bool


def read_message(body: bytes) -> JSONObject:
    """Parse a message; raise `BadMessage`."""
    try:
        message = parse_json(body)
    except ValueError as error:
        raise BadMessage(f"the body is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise BadMessage("the body is not one message")
    return message


def is_response(message: JSONObject) -> bool:
    return "method" not in message and message.get(MESSAGE_ID) is not None


def is_handshake(request: JSONObject) -> bool:
    return request.get("method") == _INITIALIZE


def parameters_of(message: JSONObject) -> JSONObject:
    return as_object(message.get(PARAMETERS))


def begins_to_listen(message: JSONObject) -> bool:
    """Return whether a client asks for the server's own stream of events after this message, if it ever does."""
    return message.get("method") == _HEARS_AFTER


def may_cause_questions(request: JSONObject) -> bool:
    """Return whether a server may ask its client something before it responds: lists are known to it."""
    return is_request(request) and not as_text(request.get("method")).endswith("/list")


def call_of(server: str, message: JSONObject) -> Call:
    """Return the call that a request is. Versions of the client in a handshake do not count."""
    method, parameters = as_text(message.get("method")), as_object(message.get(PARAMETERS))
    if method == _CALL:
        return Call(
            name=as_text(parameters.get("name")) or _CALL, arguments=parameters.get("arguments") or {}, is_read=False
        )
    arguments: JSONObject = {"server": server}
    rest = {name: value for name, value in parameters.items() if name != META}
    if rest and method != _INITIALIZE:
        arguments[PARAMETERS] = rest
    return Call(name=f"mcp.{method}", arguments=arguments, is_read=method in _READS)


def calls_tool(request: JSONObject) -> bool:
    return request.get("method") == _CALL


def listed_tools(request: JSONObject, response: JSONObject | None) -> list[str]:
    """Return the names of the tools in the response to a request for their list."""
    if request.get("method") != _LIST:
        return []
    return [as_text(tool.get("name")) for tool in as_objects(as_object(as_object(response).get("result")).get("tools"))]


class MessageStream:
    """Finds the messages of a server in a stream of events that arrives in parts."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def add(self, part: bytes) -> list[JSONObject]:
        """Return the messages in the events that end in a further part."""
        self._rest += part
        # Nothing before is searched again: an event may have megabytes.
        if _EVENT_END.search(self._rest, max(0, len(self._rest) - len(part) - _LONGEST_END + 1)) is None:
            if len(self._rest) > _LONGEST_EVENT:
                self._rest.clear()
            return []
        *events, rest = bytes(self._rest).replace(b"\r\n", b"\n").split(b"\n\n")
        self._rest = bytearray(rest)
        messages = (_parse(text) for event in events for text in _events(event))
        return [message for message in messages if message]


def with_arguments(message: JSONObject, arguments: JSONValue) -> JSONObject:
    """Return the call of a tool with other arguments."""
    return {**message, PARAMETERS: {**as_object(message.get(PARAMETERS)), "arguments": arguments}}


def waiting_progress(count: int) -> JSONObject:
    """Return a notification that a request goes on, as a recorded one."""
    return {"method": PROGRESS, PARAMETERS: {"progress": count, "message": "waits for the operator"}}


def notification(request: JSONObject, notice: JSONObject) -> JSONObject | None:
    """Return a recorded notification for the client of a request; None: about progress, which it did not ask for."""
    parameters = as_object(notice.get(PARAMETERS))
    if notice.get("method") == PROGRESS:
        token = progress_token(request)
        if token is None:
            return None
        parameters = {**parameters, TOKEN: token}
    return {"jsonrpc": "2.0", "method": notice.get("method"), PARAMETERS: parameters}


def question(id: JSONValue, item: JSONObject) -> JSONObject:
    """Return a request of a server to its client, with an id of ours."""
    parameters = {PARAMETERS: item[PARAMETERS]} if PARAMETERS in item else {}
    return {"jsonrpc": "2.0", MESSAGE_ID: id, "method": item.get("method"), **parameters}


def find_response(body: bytes, id: JSONValue, *, is_stream: bool) -> JSONObject | None:
    """Return the response to a request in what a server sent; None if it is not there."""
    for text in _events(body) if is_stream else (body,):
        message = _parse(text)
        if message.get(MESSAGE_ID) == id and "method" not in message:
            return message
    return None


def last_event_id(stream: bytes) -> bytes:
    """Return the id of the last event of a stream that has one; empty if none has."""
    ids: list[bytes] = _EVENT_ID.findall(stream)
    return ids[-1] if ids else b""


def retry_s(stream: bytes) -> float:
    """Return the time that a server asks its client to wait before it reads on, in seconds."""
    times_ms: list[bytes] = _RETRY.findall(stream)
    return max(_SHORTEST_RETRY_S, min(int(times_ms[-1]) / 1000, _LONGEST_RETRY_S)) if times_ms else _RETRY_S


def is_cancellation(error: str, output: JSONValue) -> bool:
    """Return whether a recorded call never ended by itself: its client cancelled it, such as after a time."""
    return error.partition(":")[0] == _CANCELLATION and not output


def result_fields(response: JSONObject | None, problem: str, *, is_cancelled: bool = False) -> JSONObject:
    """Return how a call ended, as fields of the event of a tool's result. What comes after a cancellation is no end."""
    if is_cancelled:
        return {"status": StepStatus.ERROR, "error": f"{_CANCELLATION}: the client cancelled the request"}
    if response is None:
        return {"status": StepStatus.ERROR, "error": problem or "the server sent no response"}
    if error := as_object(response.get("error")):
        return {
            "status": StepStatus.ERROR,
            "error": f"McpError: {as_text(error.get('message'))}",
            "result": {"error": error},
        }
    result = {name: value for name, value in as_object(response.get("result")).items() if name != META or value}
    text = "\n".join(_texts(result))
    if result.get("isError") is True:
        return {"status": StepStatus.ERROR, "error": text or "the server reported an error", "result": result}
    return {"status": "success", "result": text if _is_one_text(result) else result}


def recorded_response(id: JSONValue, output: JSONValue, error: str, *, is_tool_call: bool) -> JSONObject:
    """Return the response that gives a recorded outcome: only the result of a tool can report an error."""
    content = as_object(output)
    recorded_error = as_object(content.get("error"))
    if is_integer(recorded_error.get("code")):
        return {"jsonrpc": "2.0", MESSAGE_ID: id, "error": recorded_error}
    if content or (isinstance(output, dict) and not is_tool_call):
        return {"jsonrpc": "2.0", MESSAGE_ID: id, "result": content}
    if error and not is_tool_call:
        return {"jsonrpc": "2.0", MESSAGE_ID: id, "error": {"code": _SERVER_ERROR, "message": error}}
    text = error if error else output if isinstance(output, str) else orjson.dumps(output).decode()
    result: JSONObject = {"content": [{"type": "text", "text": text}], "isError": bool(error)}
    return {"jsonrpc": "2.0", MESSAGE_ID: id, "result": result}


def refusal(id: JSONValue, reason: str) -> JSONObject:
    """Return the response to a call that is refused."""
    error: JSONObject = {"code": _SERVER_ERROR, "message": f"Forkpoint's gateway: {reason}"}
    return {"jsonrpc": "2.0", MESSAGE_ID: id, "error": error}


def _parse(text: bytes) -> JSONObject:
    """Return a message; an empty one for a text that is none."""
    try:
        return as_object(parse_json(text))
    except ValueError:
        return {}


def _events(body: bytes) -> Iterator[bytes]:
    """Yield the data of each event of a stream."""
    for event in body.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
        if lines:
            yield b"\n".join(lines)


def _texts(result: JSONObject) -> list[str]:
    return [as_text(block.get("text")) for block in as_objects(result.get("content")) if block.get("type") == "text"]


def _is_one_text(result: JSONObject) -> bool:
    """Return whether a text is all that a result has."""
    blocks = as_objects(result.get("content"))
    is_text = len(blocks) == len(as_list(result.get("content"))) == len(_texts(result)) == 1
    return is_text and _set_names(result) == {"content"} and _set_names(blocks[0]) <= {"type", "text"}


def _set_names(value: JSONObject) -> set[str]:
    return {name for name, item in value.items() if item not in (None, False)}
