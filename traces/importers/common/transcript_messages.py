"""Input of the transcript builder: recorded messages with metadata, and the transcript's settings."""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepStatus
from traces.importers.common.messages import is_call, is_text, message_text, normalize_call_id, unwrap_block
from traces.importers.common.model_calls import PROVIDER_RAN, normalize_usage, parse_token_count
from traces.importers.common.times import parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import kind

_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
# How the Vercel AI SDK states that a result is none.
_FAILURES: Final = frozenset({"error-text", "error-json", "execution-denied"})
# What only the provider understands: of the items of a response, and of Gemini's parts.
_ITEM_MARKS: Final = ("id", "encrypted_content")
_SIGNATURES: Final = ("thoughtSignature", "thought_signature")
_MESSAGE_FIELDS: Final = frozenset(
    {"role", "content", "tool_calls", "tool_call_id", "name", "i", "ts", "timestamp", "parts", "function_call", "type"}
    | {"toolCalls", "toolCallId"}
)
# What states nothing; 0 and false do.
_EMPTY: Final[tuple[JSONValue, ...]] = (None, [], "")
_CALL_IDS: Final = ("call_id", "id", "toolCallId", "tool_call_id")
_FUNCTIONS: Final = ("function", "functionCall", "function_call", "custom")
_CALL_FIELDS: Final = frozenset(
    {"type", "name", "toolName", "tool_name", "arguments", "args", "input", "parameters", "server_tool_call", "index"}
    | {"toolUseId"}
    | {*_CALL_IDS, *_FUNCTIONS}
)
# Of a result in a message, which Bedrock and Gemini wrap in a member.
_RESULTS: Final = ("toolResult", "tool_call_result", "functionResponse", "function_response")
_RESULT_IDS: Final = ("tool_use_id", "toolUseId", *_CALL_IDS)
_RESULT_FIELDS: Final = frozenset(
    {"type", "name", "toolName", "tool_name", "content", "response", "result", "output", "is_error", "isError", "error"}
    | {"status", "origin", *_RESULT_IDS}
)
# Of a block of text, also those that its normal form has.
_TEXT_FIELDS: Final = frozenset({"type", "text", "content", "citations", "annotations"})
REASONS: Final = ("finish_reason", "stop_reason")
_ANSWER_FIELDS: Final = frozenset({"usage", "cost", "model", "error", "retries", *REASONS})
_TOKEN_FIELDS: Final = frozenset(
    {"prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"}
)
TIME_FIELDS: Final = ("ts", "timestamp", "created_at")


@dataclass(frozen=True, kw_only=True, slots=True)
class TextAction:
    """A tool call that the program parsed from an answer's text, and its result."""

    name: str
    arguments: JSONValue
    output: JSONValue = None
    error: str = ""
    status: StepStatus = StepStatus.OK
    ended_at: datetime | None = None
    attributes: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class TranscriptMessage:
    """One recorded message and its location.

    `is_injected`: the program added the message to the model's input; no user or model wrote it.
    `resets_history`: later model inputs exclude everything before this message, because a summary replaced it or
    another recording begins.
    `parameters` apply to this message's model call, in addition to those of the settings.
    `actions` are the tool calls in an answer's text.
    `request_messages` are the messages of the answer's request, if they were recorded.
    `started_at` is when the answer's call began, if it was recorded.
    """

    value: JSONValue
    location: str
    is_injected: bool = False
    resets_history: bool = False
    parameters: JSONObject = field(default_factory=dict)
    actions: tuple[TextAction, ...] = ()
    request_messages: JSONValue = None
    started_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TranscriptSettings:
    """Settings of every model call of a transcript."""

    model: str = ""
    provider: str = ""
    tools: list[JSONValue] = field(default_factory=list)
    parameters: JSONObject = field(default_factory=dict)
    response_format: JSONValue = None
    system: JSONValue = None
    agent: str = "agent"


def has_failed_result(content: JSONValue, call_id: JSONValue) -> bool:
    """Return whether a block of the content says that this call failed, as Anthropic or the Vercel AI SDK write it."""
    for block in (as_object(unwrap_block(item)) for item in as_list(content)):
        is_failure = block.get("is_error") is True or as_text(as_object(block.get("output")).get("type")) in _FAILURES
        if is_failure and first_member(block, "tool_use_id", "toolCallId") == call_id:
            return True
    return False


def drop_unreadable(messages: Iterable[TranscriptMessage], problems: list[BadFile]) -> list[TranscriptMessage]:
    """Drop unreadable messages and fields of a log that may be damaged; add each to `problems`."""
    return [clean for message in messages for clean in _clean_message(message, problems)]


def _clean_message(message: TranscriptMessage, problems: list[BadFile]) -> Iterator[TranscriptMessage]:
    if not isinstance(message.value, dict):
        problems.append(BadFile(f"expected a message, got {kind(message.value)}", message.location))
        return
    checks: dict[str, Callable[[JSONValue], object]] = {
        **{name: lambda value: parse_time(value, message.location) for name in TIME_FIELDS},
        "usage": lambda value: normalize_usage(as_object(value), f"{message.location}/usage"),
        "retries": lambda value: parse_token_count(value, message.location),
    }
    bad_fields: set[str] = set()
    for name in checks.keys() & message.value.keys():
        try:
            checks[name](message.value[name])
        except BadFile as problem:
            problems.append(problem)
            bad_fields.add(name)
    fields = {name: value for name, value in message.value.items() if name not in bad_fields}
    yield replace(message, value=fields) if bad_fields else message


def server_calls(content: JSONValue) -> Iterator[TextAction]:
    """Yield the calls of tools that Anthropic ran for an answer: it contains their calls and results as blocks."""
    blocks = as_objects(content)
    results = {as_text(block.get("tool_use_id")): block for block in blocks if block.get("tool_use_id")}
    for block in blocks:
        if as_text(block.get("type")) in _SERVER_CALLS:
            yield _server_action(block, results.get(as_text(block.get("id")), {}))


def _server_action(call: JSONObject, result: JSONObject) -> TextAction:
    error = _server_error(result)
    server: JSONObject = {"server": call["server_name"]} if call.get("server_name") else {}
    return TextAction(
        name=as_text(call.get("name")),
        arguments=call.get("input"),
        output=result.get("content"),
        error=error,
        status=StepStatus.ERROR if error else StepStatus.OK if result else StepStatus.PARTIAL,
        attributes={PROVIDER_RAN: True, "server_call_id": call.get("id"), **server},
    )


def _server_error(result: JSONObject) -> str:
    """Return why a call failed, or that its command did; empty if it succeeded."""
    content = as_object(result.get("content"))
    if content.get("error_code"):
        return as_text(content["error_code"])
    if result.get("is_error") is True:
        texts = [as_text(block.get("text")) for block in as_objects(as_list(result.get("content")))]
        return "\n".join(filter(None, texts)) or text_or_json(result.get("content")) or "error"
    code = as_text(content.get("return_code"))
    return "" if code in ("", "0") else f"return code {code}"


def continuation(answer: JSONObject) -> JSONObject:
    """Return ids and signatures in an answer as an attribute of its step: a request that continues it repeats them.

    They are those of the items of a response of OpenAI, and of the parts of an answer of Gemini.
    """
    candidate = as_object(next(iter(as_list(answer.get("candidates"))), None))
    content = as_object(candidate.get("content")) if candidate else answer
    marks: list[JSONValue] = [
        {name: item[name] for name in ("type", "call_id", *_ITEM_MARKS) if item.get(name)}
        for item in as_objects(content.get("output"))
        if any(item.get(name) for name in _ITEM_MARKS)
    ]
    for index, part in enumerate(as_objects(content.get("parts"))):
        signature: JSONObject = {name: part[name] for name in _SIGNATURES if part.get(name)}
        marks += [{"part": index, **signature}] if signature else []
    return {"continuation": marks} if marks else {}


def answer_error(source: JSONObject, message: JSONObject) -> str:
    """Return why a model call failed; empty if it did not."""
    error = source.get("error")
    if not error:
        return ""
    detail = first_member(as_object(error), "message") or error
    return (message_text(message) or "error") if detail is True else text_or_json(detail)


def extra_fields(value: JSONValue) -> JSONObject:
    """Return the fields of a message that are not standard."""
    return {**_text_fields(value), **other_members(as_object(value), _MESSAGE_FIELDS)}


def call_fields(value: JSONValue) -> dict[str, JSONObject]:
    """Return what the calls of a message state beside their names and arguments, by their ids."""
    message = as_object(value)
    calls = [*as_objects(first_member(message, "tool_calls", "toolCalls"))]
    calls += [part for part in map(as_object, map(unwrap_block, as_list(message.get("content")))) if is_call(part)]
    fields: dict[str, JSONObject] = {}
    for call in calls:
        function = as_object(first_member(call, *_FUNCTIONS))
        extra = other_members({**function, **call}, _CALL_FIELDS)
        if extra and (call_id := normalize_call_id(first_member({**function, **call}, *_CALL_IDS))):
            fields.setdefault(call_id, {}).update(extra)
    return fields


def result_fields(value: JSONValue, call_id: JSONValue) -> JSONObject:
    """Return what the result of a call in the content of a message states beside its output and its success."""
    for block in as_objects(first_member(as_object(value), "parts", "content")):
        result = as_object(first_member(block, *_RESULTS)) or block
        if call_id and normalize_call_id(first_member(result, *_RESULT_IDS)) == call_id:
            return other_members(result, _RESULT_FIELDS)
    return {}


def other_members(value: JSONObject, names: Container[str]) -> JSONObject:
    """Return the members that state something, without those that are read elsewhere."""
    return {name: item for name, item in value.items() if name not in names and item not in _EMPTY}


def _text_fields(value: JSONValue) -> JSONObject:
    """Return what the texts in a message state beside themselves, with their places; empty for most messages."""
    parts: list[JSONValue] = []
    for index, part in enumerate(as_list(as_object(value).get("content"))):
        text = as_object(part) if is_text(part) else {}
        if extra := other_members(text, _TEXT_FIELDS):
            parts.append({"part": index, **extra})
    return {"parts": parts} if parts else {}


def extra_model_fields(source: JSONObject) -> JSONObject:
    """Return the non-standard fields of an assistant message and of its usage."""
    counts = as_object(source.get("usage"))
    usage: JSONObject = {key: item for key, item in counts.items() if key not in _TOKEN_FIELDS and item}
    fields = {key: item for key, item in extra_fields(source).items() if key not in _ANSWER_FIELDS}
    return {**fields, **({"usage": usage} if usage else {}), **continuation(source)}
