"""The model call of a span, from a request and an answer in the form of any client."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from msgspec import structs

from traces.core.json_access import as_list, as_object, as_text, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import normalize_messages
from traces.importers.common.model_calls import (
    Answer,
    normalize_provider,
    normalize_request,
    normalize_usage,
    parse_cost,
    usage_details,
)
from traces.importers.common.spans import SpanFacts
from traces.importers.formats.chats.openai_items import (
    normalize_client_answer,
    normalize_client_request,
    normalize_items,
)

_BODIES: Final = frozenset({"messages", "contents", "input", "prompt"})
# Members of a span's metadata that shape the answer of its call.
SETTINGS: Final = frozenset(
    {"temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "max_output_tokens", "stop", "seed"}
    | {"tools", "functions", "tool_choice", "response_format", "frequency_penalty", "presence_penalty", "n"}
    | {"reasoning_effort", "reasoning", "parallel_tool_calls", "logprobs", "top_logprobs", "instructions"}
)


def add_call(
    facts: SpanFacts, *, settings: JSONObject, model: str, provider: JSONValue, usage: JSONObject
) -> SpanFacts:
    """Return the facts of a model's span with its request, answer, model and token counts."""
    answer = _answer(facts.output)
    name = model or as_text(as_object(facts.input).get("model")) or answer.model
    counts = normalize_usage(usage, f"span {facts.key}") if usage else answer.usage
    return replace(
        facts,
        request=_request(facts.input, settings),
        answer=answer,
        model=name,
        provider=normalize_provider(provider, name.rpartition("/")[2]),
        usage=counts,
        attributes={**facts.attributes, **usage_details(usage)},
    )


def add_cost(facts: SpanFacts, cost: JSONValue) -> SpanFacts:
    """Return the facts with a cost that the platform states or estimated."""
    value = parse_cost(cost)
    return replace(facts, usage=structs.replace(facts.usage, cost_usd=value)) if value else facts


def find_outer_spans(parents: Mapping[str, str], model_ids: Iterable[str]) -> set[str]:
    """Return the spans around model calls: also what is called a model call there is only their sum."""
    outer_ids: set[str] = set()
    for id in model_ids:
        parent = parents.get(id, "")
        while parent and parent not in outer_ids:
            outer_ids.add(parent)
            parent = parents.get(parent, "")
    return outer_ids


def is_request(value: JSONValue) -> bool:
    """Return whether the input of a span is the request of a model call."""
    body = as_object(value)
    return isinstance(body.get("model"), str) and not body.keys().isdisjoint(_BODIES)


def _request(value: JSONValue, settings: JSONObject) -> JSONObject | None:
    body = as_object(value)
    if not body.keys().isdisjoint(_BODIES):
        request = normalize_client_request({**settings, **body})
    else:
        messages = normalize_items(value) if isinstance(value, list) else normalize_messages(value)
        request = normalize_request({**settings, "messages": [*messages]})
    return request if request.get("messages") else None


def _answer(value: JSONValue) -> Answer:
    choices = as_list(value)
    return normalize_client_answer({"choices": choices} if choices and has_object(choices[0], "message") else value)
