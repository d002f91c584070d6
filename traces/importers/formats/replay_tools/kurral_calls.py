"""Tool calls of Kurral artifacts, recorded by its tracer or by its MCP proxy."""

from dataclasses import dataclass

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import Label, Reason, StepStatus, StepType
from traces.importers.common.messages import normalize_arguments, result_text
from traces.importers.common.times import add_milliseconds, parse_span, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded, require_list, require_object

_STATUS = {"ok": StepStatus.OK, "error": StepStatus.ERROR, "timeout": StepStatus.TIMEOUT}
_TOOL_FIELDS = frozenset(
    {
        "id",
        "tool_name",
        "start_time",
        "end_time",
        "timestamp",
        "input",
        "output",
        "inputs",
        "outputs",
        "status",
        "error_text",
        "latency_ms",
        "duration_ms",
        "arguments",
        "result",
    }
)


def read_calls(artifact: JSONObject, location: str) -> list[RecordedStep]:
    """Return the steps of all tool calls, with the session's step as parent."""
    return [*_tools(artifact, location), *_mcp_tools(artifact, location)]


def _tools(artifact: JSONObject, location: str) -> list[RecordedStep]:
    keys: dict[str, int] = {}
    calls = require_list(artifact.get("tool_calls") or [], f"{location}/tool_calls")
    return [
        _tool(require_object(call, f"{location}/tool_calls/{index}"), f"{location}/tool_calls/{index}", keys)
        for index, call in enumerate(calls)
    ]


def _tool(call: JSONObject, location: str, keys: dict[str, int]) -> RecordedStep:
    name = as_text(call.get("tool_name"))
    if not name:
        raise BadFile("a tool call without `tool_name`", location)
    times = parse_span(first_member(call, "start_time", "timestamp"), call.get("end_time"), location)
    error = first_member(call, "error_text", "error")
    failed = bool(call.get("error_flag")) or bool(error)
    status = _STATUS.get(as_text(call.get("status")), StepStatus.OK)
    is_stubbed = call.get("stubbed_in_replay") is True
    key = _unique(as_text(call.get("id")) or "tool", keys)
    return RecordedStep(
        key=key,
        type=StepType.TOOL,
        name=name,
        tool_name=name,
        call_id=key,
        parent="session",
        status=StepStatus.ERROR if failed and status is StepStatus.OK else status,
        error=result_text(error) if error else "error" if failed else "",
        started_at=times.start,
        ended_at=times.end or add_milliseconds(times.start, first_member(call, "latency_ms", "duration_ms")),
        input=normalize_arguments(first_member(call, "input", "inputs")),
        output=first_member(call, "output", "outputs"),
        label=Label.CACHED if is_stubbed else Label.LIVE,
        reason=Reason.CACHE_SIGNATURE if is_stubbed else None,
        attributes={key: value for key, value in call.items() if key not in _TOOL_FIELDS},
    )


def _mcp_tools(artifact: JSONObject, location: str) -> list[RecordedStep]:
    keys: dict[str, int] = {}
    calls = require_list(artifact.get("mcp_tool_calls") or [], f"{location}/mcp_tool_calls")
    return [
        _mcp_tool(
            require_object(call, f"{location}/mcp_tool_calls/{index}"), f"{location}/mcp_tool_calls/{index}", keys
        )
        for index, call in enumerate(calls)
    ]


def _mcp_tool(call: JSONObject, location: str, keys: dict[str, int]) -> RecordedStep:
    started_at = parse_time(call.get("timestamp"), f"{location}/timestamp")
    answer = _mcp_answer(call)
    name = as_text(first_member(call, "tool_name", "method")) or "mcp call"
    key = _unique(as_text(first_member(call, "id", "request_id")) or "mcp", keys)
    return RecordedStep(
        key=key,
        type=StepType.TOOL,
        name=name,
        tool_name=name,
        call_id=key,
        parent="session",
        status=answer.status,
        error=answer.error,
        started_at=started_at,
        ended_at=add_milliseconds(started_at, call.get("duration_ms")),
        input=normalize_arguments(call.get("arguments")),
        output=answer.result,
        attributes={key: value for key, value in call.items() if key not in _TOOL_FIELDS},
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _McpAnswer:
    result: JSONValue = None
    error: str = ""
    status: StepStatus = StepStatus.OK


def _mcp_answer(call: JSONObject) -> _McpAnswer:
    """Return the result or error of a call; for a stream without either, that of its last event."""
    events = as_list(call.get("events"))
    if call.get("error"):
        return _McpAnswer(result=call.get("result"), error=_error_message(call["error"]), status=StepStatus.ERROR)
    if call.get("result") is not None or not events:
        return _McpAnswer(result=call.get("result"))
    last = as_object(events[-1])
    data = parse_embedded(last.get("data"))
    answer = as_object(data) if "jsonrpc" in as_object(data) else {}
    if as_text(last.get("event_type")) == "error" or answer.get("error"):
        error = answer.get("error") or data
        return _McpAnswer(error=_error_message(error) if error else "error", status=StepStatus.ERROR)
    is_interrupted = as_text(last.get("event_type")) in {"start", "progress"}
    return _McpAnswer(result=answer.get("result", data), status=StepStatus.PARTIAL if is_interrupted else StepStatus.OK)


def _error_message(error: JSONValue) -> str:
    return as_text(first_member(as_object(error), "message", "error")) or result_text(error)


def _unique(key: str, keys: dict[str, int]) -> str:
    """Return a unique key: ids repeat in hand-written files, but step keys must not.

    `keys` has the number of the last suffix by key.
    """
    candidate = key
    while candidate in keys:
        keys[key] += 1
        candidate = f"{key}#{keys[key]}"
    keys[candidate] = 1
    return candidate
