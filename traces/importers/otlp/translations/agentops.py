"""Spans of AgentOps, whose names are like Traceloop's, and the calls that a model requests as spans of their own.

clerk.agent                  agentops.span.kind "agent", agentops.entity.input {"args": […], "kwargs": {…}}
  openai.chat.completion     gen_ai.prompt.0.content, gen_ai.completion.0.role, gen_ai.request.functions.0.name
    tool_call.find           a call in the answer above: tool.call.id, tool.name, tool.parameters
  find.tool                  what ran: agentops.tool.input, agentops.tool.output
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_text
from traces.core.json_types import JSONObject
from traces.importers.otlp.wire import WireSpan

_KIND: Final = "agentops.span.kind"
_FUNCTION: Final = "gen_ai.request.functions."
MARKS: Final = frozenset({_KIND, f"{_FUNCTION}0.name"})
# As Python prints a member of an enum.
_ENUM: Final = "agentopsspankindvalues."
_RESULTS: Final = {"tool.result": "traceloop.entity.output"}
# agentops.entity.input, agentops.task.output
_CONTENT: Final = re.compile(r"agentops\.\w+\.(input|output|name)")
_CALL: Final = "tool_call."
_CALL_PARTS: Final = {"id": "tool.call.id", "name": "tool.name", "arguments": "tool.parameters"}


def is_span(attributes: JSONObject) -> bool:
    return not MARKS.isdisjoint(attributes)


def translate(attributes: JSONObject) -> JSONObject:
    """Return the attributes with contents under Traceloop's names."""
    kind = _kind(attributes)
    new_attributes: JSONObject = {}
    for name, value in attributes.items():
        if content := _CONTENT.fullmatch(name):
            new_attributes.setdefault(f"traceloop.entity.{content[1]}", value)
        elif name.startswith(_FUNCTION):
            new_attributes[name.replace("gen_ai", "llm", 1)] = value
        else:
            new_attributes[_RESULTS.get(name, name)] = kind if name == _KIND else value
    if kind == "tool" and "tool.name" not in new_attributes and (name := as_text(attributes.get("operation.name"))):
        new_attributes["tool.name"] = name
    return new_attributes


def with_requested_calls(spans: Sequence[WireSpan]) -> list[WireSpan]:
    """Move the calls that a model requested from spans of their own into its answer."""
    calls: dict[str, list[WireSpan]] = defaultdict(list)
    for span in spans:
        if span.name.startswith(_CALL) and span.attributes.get(_CALL_PARTS["id"]) and _kind(span.attributes) == "tool":
            calls[span.parent_id].append(span)
    if not calls:
        return [*spans]
    models = {span.span_id for span in spans if span.span_id in calls}
    call_ids = {call.span_id for parent in models for call in calls[parent]}
    return [
        replace(span, attributes={**span.attributes, **_answer(calls[span.span_id])})
        if span.span_id in models
        else span
        for span in spans
        if span.span_id not in call_ids
    ]


def _answer(calls: Sequence[WireSpan]) -> JSONObject:
    ordered_calls = sorted(calls, key=lambda call: (as_text(call.start), call.span_id))
    return {
        f"gen_ai.completion.0.tool_calls.{number}.{part}": call.attributes.get(name)
        for number, call in enumerate(ordered_calls)
        for part, name in _CALL_PARTS.items()
    }


def _kind(attributes: JSONObject) -> str:
    return as_text(attributes.get(_KIND)).lower().removeprefix(_ENUM)
