"""Spans and logs of Respan (Keywords AI), as its API takes and exports them.

{"trace_unique_id", "span_unique_id", "span_parent_id", "log_type", "prompt_messages", "completion_message", …}
"""

import re
from typing import Final

import orjson

from traces.core.json_access import as_object, as_text, first_member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded

_LOG: Final = frozenset({"log_type", "prompt_messages", "completion_message"})
_SPAN_IDS: Final = ("span_unique_id", "span_id", "unique_id", "id")
# A log outside of any trace is a trace of its own.
_TRACE_IDS: Final = ("trace_unique_id", "trace_id", "unique_id", "id")
_KINDS: Final = {
    **dict.fromkeys(("chat", "generation", "text", "completion", "response"), "LLM"),
    **dict.fromkeys(("workflow", "task", "handoff", "custom"), "CHAIN"),
    "function": "TOOL",
}
# Status codes of HTTP.
_FAILED: Final = re.compile("[4-9][0-9]{2}")
_SETTINGS: Final = (
    *("tools", "tool_choice", "response_format", "temperature", "top_p", "frequency_penalty", "presence_penalty"),
    *("max_tokens", "stop", "n", "parallel_tool_calls"),
)
# Names that other tracers have for these.
_NAMES: Final = {
    "model": "llm.model_name",
    "provider_id": "llm.provider",
    "cost": "llm.cost.total",
    "thread_identifier": "session.id",
    "customer_identifier": "user.id",
}
_FIELDS: Final = frozenset(
    {*_SPAN_IDS, *_TRACE_IDS, *_NAMES, *_SETTINGS, "span_parent_id", "parent_id", "span_name", "log_type", "input"}
    | {"output", "prompt_messages", "completion_message", "usage", "prompt_tokens", "completion_tokens", "start_time"}
    | {"timestamp", "error_message", "environment"}
)


def is_span(body: JSONObject) -> bool:
    return {"trace_unique_id", "span_unique_id"} <= body.keys() or body.keys() >= _LOG


def document(span: JSONObject) -> JSONObject:
    """Return a span under the names of OpenTelemetry for Python."""
    error, code = as_text(span.get("error_message")), as_text(span.get("status_code"))
    is_error = bool(error) or _FAILED.fullmatch(code) is not None
    environment = span.get("environment")
    return {
        "context": {"trace_id": first_member(span, *_TRACE_IDS), "span_id": first_member(span, *_SPAN_IDS)},
        "parent_id": first_member(span, "span_parent_id", "parent_id"),
        "name": first_member(span, "span_name", "log_type", "model"),
        "start_time": first_member(span, "start_time", "timestamp"),
        "end_time": span.get("timestamp"),
        "status_code": "ERROR" if is_error else "",
        "status_message": error or (code if is_error else ""),
        "attributes": _attributes(span),
        "resource": {"deployment.environment": environment} if environment else {},
    }


def _attributes(span: JSONObject) -> JSONObject:
    kind = as_text(span.get("log_type")) or ("chat" if "prompt_messages" in span else "")
    is_model = _KINDS.get(kind) == "LLM"
    messages = _first_value(span, "prompt_messages", "input")
    settings: JSONObject = {name: span[name] for name in _SETTINGS if span.get(name) not in (None, "", [], {})}
    request: JSONValue = orjson.dumps({"messages": messages, **settings}).decode() if is_model else span.get("input")
    answer = _first_value(span, "completion_message", "output") if is_model else span.get("output")
    values: JSONObject = {
        "openinference.span.kind": _KINDS.get(kind, kind.upper()),
        "input.value": request,
        "output.value": answer,
        **_counts(span),
        **{name: span.get(field) for field, name in _NAMES.items()},
        **omit(span, *_FIELDS),
    }
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def _first_value(span: JSONObject, *names: str) -> JSONValue:
    """Return the first value of these members, of which some are JSON texts."""
    return next((value for name in names if (value := parse_embedded(span.get(name))) not in (None, "", [], {})), None)


def _counts(span: JSONObject) -> JSONObject:
    usage = {**span, **as_object(span.get("usage"))}
    details = as_object(usage.get("prompt_tokens_details"))
    return {
        "gen_ai.usage.input_tokens": usage.get("prompt_tokens"),
        "gen_ai.usage.output_tokens": usage.get("completion_tokens"),
        "gen_ai.usage.cache_read.input_tokens": details.get("cached_tokens"),
        "gen_ai.usage.cache_creation.input_tokens": first_member(
            {**usage, **details}, "cache_creation_tokens", "cache_creation_prompt_tokens"
        ),
    }
