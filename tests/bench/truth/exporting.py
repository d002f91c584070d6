"""The recording of a program as OpenTelemetry spans, and read again by the importer."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from traces.core.json_access import as_object, as_objects
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.payloads.messages import Message, ModelAnswer, ModelRequest

_KINDS: Final[Mapping[StepType, str]] = {
    StepType.MODEL: "LLM",
    StepType.TOOL: "TOOL",
    StepType.RETRIEVAL: "RETRIEVER",
    StepType.PROMPT: "PROMPT",
    StepType.VALIDATOR: "EVALUATOR",
    StepType.SAFETY: "GUARDRAIL",
    StepType.PLANNER: "CHAIN",
    StepType.AGENT: "AGENT",
    StepType.TURN: "CHAIN",
}


def through_spans(run: RecordedRun) -> tuple[RecordedRun, dict[str, int]]:
    """Export a run as spans and import them; returns it with the numbers of the steps by their keys."""
    ids = {step.key: f"{number:016x}" for number, step in enumerate(run.steps, 1)}
    spans = [_span(step, ids) for step in run.steps]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    source = Source(name="spans.json", data=json.dumps(document).encode())
    (result,) = registry.get_importer("otlp").runs([source])
    keys = {id: key for key, id in ids.items()}
    return result, {keys[step.key]: number for number, step in enumerate(result.steps, 1) if step.key in keys}


def _span(step: RecordedStep, ids: Mapping[str, str]) -> JSONObject:
    attributes: list[JSONValue] = [
        {"key": name, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}
        for name, value in _attributes(step).items()
    ]
    return {
        "traceId": f"{1:032x}",
        "spanId": ids[step.key],
        "parentSpanId": "" if step.parent is None else ids[step.parent],
        "name": step.name,
        "kind": 1,
        "startTimeUnixNano": _nanoseconds(step.started_at),
        "endTimeUnixNano": _nanoseconds(step.ended_at),
        "attributes": attributes,
        "status": {"code": 1 if step.status is StepStatus.OK else 2},
    }


def _attributes(step: RecordedStep) -> JSONObject:
    if step.type is StepType.MODEL:
        return _model_attributes(step)
    attributes: JSONObject = {
        "openinference.span.kind": _KINDS[step.type],
        "input.value": step.input,
        "output.value": as_object(step.output).get("text", step.output),
    }
    if step.type is StepType.TOOL:
        call_id: JSONObject = {"tool_call.id": step.call_id} if step.call_id else {}
        return {**attributes, "tool.name": step.tool_name, **call_id}
    if step.type is StepType.RETRIEVAL:
        documents = as_objects(as_object(step.output).get("documents"))
        fields = [(index, name, value) for index, document in enumerate(documents) for name, value in document.items()]
        return {
            "openinference.span.kind": "RETRIEVER",
            "input.value": as_object(step.input)["query"],
            **{f"retrieval.documents.{index}.document.{name}": value for index, name, value in fields},
        }
    return attributes


def _model_attributes(step: RecordedStep) -> JSONObject:
    request = ModelRequest(step.input)
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": step.provider,
        "gen_ai.request.model": step.model,
        "gen_ai.request.temperature": request.parameters.get("temperature"),
        "gen_ai.input.messages": [_message(Message(message)) for message in request.messages],
        "gen_ai.output.messages": [{**_message(Message(ModelAnswer(step.output).message)), "finish_reason": "stop"}],
        **({"gen_ai.tool.definitions": [*request.tools]} if request.tools else {}),
    }


def _message(message: Message) -> JSONObject:
    if message.role == "tool":
        part: JSONObject = {"type": "tool_call_response", "id": message.tool_call_id, "response": message.content}
        return {"role": "tool", "parts": [part]}
    texts: list[JSONValue] = [{"type": "text", "content": message.content}] if message.content else []
    calls: list[JSONValue] = [{"type": "tool_call", **call} for call in message.calls]
    return {"role": message.role, "parts": [*texts, *calls]}


def _nanoseconds(time: datetime | None) -> str:
    assert time is not None
    return str(int(time.timestamp()) * 1_000_000_000)
