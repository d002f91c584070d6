"""Spans of Monocle: kinds and names in `entity.N` attributes, contents in the events data.input, data.output, metadata.

span.type                 "inference", "agentic.tool.invocation", "agentic.invocation", "retrieval", …
entity.1.type, .name      "inference.openai"; "tool.langgraph", "find"; "agent.microsoft", "clerk"
entity.2.type, .name      "model.llm.gpt-4o", "gpt-4o"
data.input                {"input": ["{'system': 'You keep a bookshop.'}", "{'user': 'Is Dune in stock?'}"]}
data.output               {"response": "{\\"assistant\\": \\"Yes.\\"}"}, or with tools: {"tools": [{"tool_name", …}]}
"""

import re
from collections.abc import Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, list_or_single
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.python_literals import parse_literal
from traces.importers.otlp.wire import SpanEvent

MARKS: Final = frozenset({"span.type", "monocle_apptrace.version"})
_INPUT, _OUTPUT, _METADATA = "data.input", "data.output", "metadata"
_KINDS: Final = (
    ("inference", "llm"),
    ("agentic.tool", "tool"),
    ("agentic.mcp", "tool"),
    ("retrieval", "retriever"),
    ("embedding", "embedding"),
)
_COUNTS: Final = {"prompt_tokens": "llm.token_count.prompt", "completion_tokens": "llm.token_count.completion"}
_REQUEST_NAMES: Final = ("input", "Inputs", "inputs")
# Members of the events that the attributes state. The status of an output is that of the span.
_EVENT_MEMBERS: Final = {
    _INPUT: frozenset(_REQUEST_NAMES),
    _OUTPUT: frozenset({"response", "status", "status_code"}),
    _METADATA: frozenset({*_COUNTS, "total_tokens", "finish_reason"}),
}
# Objects that a framework printed in place of a role.
_ROLE: Final = re.compile(r"\b\w*Role\(value=('\w+')\)")
_MOST_ENTITIES: Final = 10


def is_span(attributes: JSONObject) -> bool:
    return attributes.keys() >= MARKS


def translate(attributes: JSONObject, events: Sequence[SpanEvent]) -> tuple[JSONObject, list[SpanEvent]]:
    """Return the attributes with those of OpenInference, and the events that state something else."""
    span_type = as_text(attributes["span.type"])
    kind = next((kind for prefix, kind in _KINDS if span_type.startswith(prefix)), "")
    bodies = {event.name: event.body for event in events if event.name in (_INPUT, _OUTPUT, _METADATA)}
    request = first_member(bodies.get(_INPUT, {}), *_REQUEST_NAMES)
    answer = bodies.get(_OUTPUT, {}).get("response")
    facts = bodies.get(_METADATA, {})
    contents = _call(request, answer) if kind == "llm" else {"input.value": _input(request), "output.value": answer}
    fields: JSONObject = {
        "openinference.span.kind": kind,
        **_entities(attributes),
        **contents,
        **({name: facts.get(count) for count, name in _COUNTS.items()} if facts.get("total_tokens") else {}),
        "llm.finish_reason": facts.get("finish_reason"),
    }
    additions: JSONObject = {name: value for name, value in fields.items() if value not in (None, "", [])}
    return {**attributes, **additions}, [event for event in events if not _is_read(event)]


def _is_read(event: SpanEvent) -> bool:
    """Return whether the attributes state all that an event does."""
    return event.name in _EVENT_MEMBERS and event.body.keys() <= _EVENT_MEMBERS[event.name]


def _entities(attributes: JSONObject) -> JSONObject:
    """Return the names of a model, its provider, a tool and an agent. The first entity is what the span is about."""
    names: JSONObject = {}
    for number in range(1, _MOST_ENTITIES):
        type, name, description = (
            as_text(attributes.get(f"entity.{number}.{field}")) for field in ("type", "name", "description")
        )
        if type.startswith("model.llm"):
            names["llm.model_name"] = name
        elif type.startswith("inference."):
            host = as_text(attributes.get(f"entity.{number}.provider_name"))
            provider = type.removeprefix("inference.")
            # Monocle calls all that speaks OpenAI's API by the name of Azure's client.
            names["gen_ai.provider.name"] = "openai" if host == "api.openai.com" else provider
        elif type.startswith("tool.") and number == 1:
            names |= {"gen_ai.tool.name": name, "gen_ai.tool.description": description}
        elif type.startswith("agent.") and number == 1:
            names["gen_ai.agent.name"] = name
    return names


def _call(request: JSONValue, answer: JSONValue) -> JSONObject:
    """Return the messages of a model call; a text that contains none as it is."""
    messages = [message for item in list_or_single(_literal(request)) for message in _messages(item)]
    reply = _reply(answer)
    return {
        **({"gen_ai.input.messages": [*messages]} if messages else {"input.value": request}),
        **({"gen_ai.output.messages": [reply]} if reply else {"output.value": answer}),
    }


def _messages(item: JSONValue) -> list[JSONObject]:
    """Return the messages in an object of texts by role."""
    texts = as_object(_literal(item))
    return [{"role": role, "content": text} for role, text in texts.items()]


def _reply(answer: JSONValue) -> JSONObject:
    body = as_object(parse_literal(answer))
    calls: list[JSONValue] = [
        {
            "id": _call_id(tool.get("tool_id")),
            "name": tool.get("tool_name"),
            "arguments": tool.get("tool_arguments"),
        }
        for tool in as_objects(body.get("tools"))
    ]
    text = first_member(body, "assistant", "ai", "model")
    if text is None and not calls:
        return {}
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def _call_id(value: JSONValue) -> str:
    """Return the id of a call. That of OpenAI's Assistants is in a list after that of its run."""
    ids = as_list(parse_literal(value))
    return as_text(ids[-1]) if ids else as_text(value)


def _input(request: JSONValue) -> JSONValue:
    """Return the input of a tool or an agent, which may be alone in a list."""
    items = as_list(_literal(request))
    return _literal(items[0] if len(items) == 1 else request)


def _literal(value: JSONValue) -> JSONValue:
    return parse_literal(_ROLE.sub(r"\1", value) if isinstance(value, str) else value)
