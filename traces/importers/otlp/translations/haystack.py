"""Spans of Haystack's own tracer: contents of components, agents and tools in JSON, and models in what they answer.

haystack.component.name, .type       "llm", "OpenAIChatGenerator"
haystack.component.input, .output    {"messages": […], "generation_kwargs": {…}}, {"replies": [{"content", "meta"}]}
haystack.agent.step.llm.input, …     as those of a generator
haystack.agent.step.tool.input, …    the arguments, and the result or {"error": "…"}
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, list_or_single, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.model_calls import normalize_usage
from traces.importers.common.transcript_messages import extra_model_fields
from traces.importers.files.json_reader import parse_shared
from traces.importers.otlp.wire import WireSpan

# Whether a tool failed, which is no failure of the span.
FAILURE: Final = "haystack.tool.error"
_TYPE: Final = "haystack.component.type"
_INVOKER: Final = "ToolInvoker"
_NAME: Final = "haystack.component.name"
_TOOL: Final = "haystack.tool.name"
_DESCRIPTION: Final = "haystack.tool.description"
_HOOK: Final = "haystack.agent.hook"
_STEP_ANSWER: Final = "haystack.agent.step.llm.output"
_CONTENTS: Final = (
    ("haystack.agent.step.llm.input", _STEP_ANSWER),
    ("haystack.agent.step.tool.input", "haystack.agent.step.tool.output"),
    ("haystack.component.input", "haystack.component.output"),
    ("haystack.agent.input", "haystack.agent.output"),
    ("haystack.pipeline.input_data", "haystack.pipeline.output_data"),
)
_KINDS: Final = (("Embedder", "embedding"), ("Retriever", "retriever"), ("Ranker", "reranker"), ("Agent", "agent"))
_REQUEST_MEMBERS: Final = frozenset({"messages", "prompt", "system_prompt", "generation_kwargs", "tools"})
# Names of which each span with contents has one.
MARKS: Final = frozenset({_TYPE, _NAME, _TOOL, *chain.from_iterable(_CONTENTS)})


def is_span(attributes: JSONObject) -> bool:
    return not attributes.keys().isdisjoint(MARKS)


def span_name(name: str, attributes: JSONObject) -> str:
    """Return the name of a component instead of that of what it does."""
    return as_text(attributes.get(_NAME)) or name if name.startswith("haystack.") else name


def translate(attributes: JSONObject) -> JSONObject:
    """Return the attributes with contents under the names of OpenInference and OpenTelemetry."""
    names = next((names for names in _CONTENTS if not attributes.keys().isdisjoint(names)), ("", ""))
    request, answer = (parse_shared(attributes.get(name)) for name in names)
    rest: JSONObject = {name: value for name, value in attributes.items() if name not in names}
    # Hooks name the tool that they are about, too.
    if _TOOL in attributes and not any(name.startswith(_HOOK) for name in attributes):
        return {**_tool(attributes, request, answer), **omit(rest, _TOOL, _DESCRIPTION)}
    if names[1] == _STEP_ANSWER or _is_call(as_text(attributes.get(_TYPE)), as_object(request), answer):
        return {**_call(names[0], as_object(request), as_object(answer)), **rest}
    type = as_text(attributes.get(_TYPE))
    kind = next((kind for part, kind in _KINDS if part in type), None)
    return {**_present({"openinference.span.kind": kind, "input.value": request, "output.value": answer}), **rest}


def _is_call(type: str, request: JSONObject, answer: JSONValue) -> bool:
    """Return whether a component calls a model: it has its replies, or failed without any."""
    has_prompt = not request.keys().isdisjoint({"messages", "prompt"})
    return isinstance(as_object(answer).get("replies"), list) or ("Generator" in type and has_prompt and answer is None)


def tool_spans(spans: Iterable[WireSpan]) -> list[WireSpan]:
    """Return the calls of tools that components ran, for which Haystack 2 had no spans."""
    invokers = [span for span in spans if span.attributes.get(_TYPE) == _INVOKER]
    return [tool_span for span in invokers for tool_span in _tool_spans(span)]


def _tool_spans(span: WireSpan) -> list[WireSpan]:
    messages = as_objects(
        as_object(parse_shared(span.attributes.get("haystack.component.output"))).get("tool_messages")
    )
    blocks = [block for message in messages for block in as_objects(first_member(message, "content", "_content"))]
    results = [as_object(block.get("tool_call_result")) for block in blocks]
    return [_result_span(span, number, result) for number, result in enumerate(results, 1) if result]


def _result_span(span: WireSpan, number: int, result: JSONObject) -> WireSpan:
    call, has_failed = as_object(result.get("origin")), result.get("error") is True
    fields: JSONObject = {
        "openinference.span.kind": "tool",
        "gen_ai.tool.name": call.get("tool_name"),
        "gen_ai.tool.call.id": call.get("id"),
        "input.value": call.get("arguments"),
        "output.value": None if has_failed else result.get("result"),
    }
    return replace(
        span,
        span_id=f"{span.span_id}:{number}",
        parent_id=span.span_id,
        name=as_text(call.get("tool_name")),
        attributes=_present(fields),
        events=(),
        links=(),
        failed=has_failed,
        message=as_text(result.get("result")) if has_failed else "",
        judgements=(),
    )


def _tool(attributes: JSONObject, arguments: JSONValue, result: JSONValue) -> JSONObject:
    failure = as_object(result).get("error") if attributes.get(FAILURE) else None
    return _present(
        {
            "openinference.span.kind": "tool",
            "gen_ai.tool.name": attributes[_TOOL],
            "gen_ai.tool.description": attributes.get(_DESCRIPTION),
            "input.value": arguments,
            "output.value": result if failure is None else None,
            "error.message": failure,
        }
    )


def _call(name: str, request: JSONObject, answer: JSONObject) -> JSONObject:
    """Return a model call: in older versions of Haystack, a prompt and texts with their facts beside them."""
    replies = as_list(answer.get("replies"))
    facts = as_objects(answer.get("meta")) or [_meta(reply) for reply in replies]
    meta = facts[0] if facts else {}
    usage = normalize_usage(as_object(meta.get("usage")), name)
    parameters: JSONObject = {
        member: value for member, value in request.items() if member not in _REQUEST_MEMBERS and value is not None
    }
    return _present(
        {
            "openinference.span.kind": "llm",
            "gen_ai.response.model": meta.get("model"),
            "gen_ai.input.messages": _messages(request) or None,
            "gen_ai.tool.definitions": _tools(request.get("tools")) or None,
            "llm.invocation_parameters": _present(as_object(request.get("generation_kwargs"))) or None,
            "gen_ai.output.messages": [*map(_message, replies)] or None,
            "gen_ai.usage.input_tokens": usage.tokens_in,
            "gen_ai.usage.output_tokens": usage.tokens_out,
            "gen_ai.usage.cache_read.input_tokens": usage.tokens_cached,
            "llm.finish_reason": meta.get("finish_reason"),
            **extra_model_fields({"usage": meta.get("usage")}),
            name: parameters or None,
        }
    )


def _messages(request: JSONObject) -> list[JSONValue]:
    messages = as_list(request.get("messages"))
    if messages:
        return [_message(message) for message in messages]
    texts = (("system", request.get("system_prompt")), ("user", request.get("prompt")))
    return [{"role": role, "content": text} for role, text in texts if text]


def _message(value: JSONValue) -> JSONValue:
    """Return a message without the facts of its answer; Haystack 2.9 wrote fields with underscores."""
    fields = as_object(value)
    if not fields:
        return {"role": "assistant", "content": value}
    message: JSONObject = {name.removeprefix("_"): field for name, field in fields.items()}
    return _present({name: message.get(name) for name in ("role", "content", "name")})


def _meta(reply: JSONValue) -> JSONObject:
    return as_object(first_member(as_object(reply), "meta", "_meta"))


def _tools(value: JSONValue) -> list[JSONValue]:
    """Return the definitions of tools, also those in a set."""
    tools: list[JSONValue] = []
    for tool in as_objects(list_or_single(value)):
        data = as_object(tool.get("data")) or tool
        tools += _tools(data["tools"]) if "tools" in data else [data]
    return tools


def _present(fields: JSONObject) -> JSONObject:
    return {name: value for name, value in fields.items() if value is not None}
