"""Traces of the OpenAI Agents SDK: exported traces and spans, in any order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_list, other_members
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.messages import result_text
from traces.importers.common.model_calls import (
    Answer,
    model_input,
    normalize_answer,
    normalize_parameters,
    normalize_provider,
    normalize_usage,
    usage_details,
)
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    container_type,
    match_calls,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, parse_span
from traces.importers.common.transcript_messages import continuation
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import item_by_item, require_object
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.chats.openai_items import (
    is_response_output,
    normalize_items,
    normalize_response,
    normalize_response_request,
)

FORMAT: Final = "openai-agents"
_HOLDERS: Final = ("spans", "data")
_DATA_FIELDS: Final = frozenset({"type", "name", "input", "output", "model", "model_config", "usage", "response"})

_SPAN_FIELDS: Final = frozenset(
    {"object", "id", "trace_id", "parent_id", "started_at", "ended_at", "span_data", "error"}
)


@dataclass(kw_only=True)
class _Trace:
    facts: JSONObject = field(default_factory=dict)
    spans: dict[str, JSONObject] = field(default_factory=dict)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace."""
    traces: dict[str, _Trace] = {}
    for item in parse_records(sources, _read):
        if item.get("object") == "trace":
            traces.setdefault(as_text(item.get("id")), _Trace()).facts |= item
        else:
            traces.setdefault(as_text(item.get("trace_id")), _Trace()).spans[as_text(item.get("id"))] = item
    for trace_id, trace in traces.items():
        if trace.spans:
            yield _run(trace_id, trace)
        else:
            holder = next((source for source in sources if trace_id.encode() in source.data), sources[0])
            holder.problems.append(BadFile("no span of this trace is recorded", f"trace {trace_id}"))


def is_export(value: JSONValue) -> bool:
    """Return True if `value` is a trace, a span, or contains some."""
    body = as_object(first_item(value))
    if body.get("object") == "trace.span":
        return "span_data" in body
    if body.get("object") == "trace":
        return "workflow_name" in body
    return any(has_list(body, name) and is_export(body[name]) for name in _HOLDERS)


@item_by_item
def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield traces and spans; raise `BadFile` for a span that cannot become a step."""
    body = require_object(value, location)
    if body.get("object") == "trace.span":
        if not as_text(body.get("id")) or not as_text(body.get("trace_id")):
            raise BadFile("a span needs `id` and `trace_id`", location)
        _step(body, location)
        yield body
        return
    if body.get("object") == "trace":
        if not as_text(body.get("id")):
            raise BadFile("a trace without an id", f"{location}/id")
        yield {key: item for key, item in body.items() if key not in _HOLDERS}
    elif not is_export(body):
        raise BadFile("not a trace or span of the Agents SDK", location)
    for name in _HOLDERS:
        for index, item in enumerate(as_list(body.get(name))):
            yield from _read(item, f"{location}/{name}/{index}")


def _run(trace_id: str, trace: _Trace) -> RecordedRun:
    location = f"trace {trace_id}"
    steps = _fail_tasks(sort_causally([_step(span, f"span {key}") for key, span in trace.spans.items()]))
    facts = trace.facts
    workflow = as_text(facts.get("workflow_name"))
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=app_name(workflow) or FORMAT,
            format=FORMAT,
            name=workflow,
            metadata={"session_id": facts.get("group_id"), "metadata": facts.get("metadata"), "workflow": workflow},
        ),
        match_calls(steps),
        location=location,
    )


def _fail_tasks(steps: list[RecordedStep]) -> list[RecordedStep]:
    """Fail the tasks and agents that an error ended: the SDK writes it to the agent, or only to its turn."""
    errors: dict[str | None, str] = {}
    turn_parents = {step.parent for step in steps if _sdk_type(step.attributes) == "turn"}
    failed_steps: list[RecordedStep] = []
    for step in reversed(steps):
        kind = _sdk_type(step.attributes)
        error = "" if step.error else errors.get(step.key, "")
        if error and (kind == "task" or step.key in turn_parents):
            step = replace(step, status=StepStatus.ERROR, error=error)
        if step.type is StepType.AGENT and step.error:
            errors[step.parent] = step.error
        failed_steps.append(step)
    return failed_steps[::-1]


def _sdk_type(attributes: JSONObject) -> str:
    return as_text(as_object(attributes.get("data")).get("sdk_span_type"))


def _step(span: JSONObject, location: str) -> RecordedStep:
    data = as_object(span.get("span_data"))
    times = parse_span(span.get("started_at"), span.get("ended_at"), location)
    facts = _facts(data, as_text(span.get("id")), times, location)
    error = span.get("error")
    attributes = {key: item for key, item in data.items() if key not in _DATA_FIELDS and item not in (None, "", [], {})}
    if address := as_object(data.get("model_config")).get("base_url"):
        attributes["base_url"] = address
    details = as_object(error).get("data")
    return build_step(
        SpanFacts(
            **{name: getattr(facts, name) for name in SpanFacts.__slots__}
            | {
                "parent": as_text(span.get("parent_id")) or None,
                "failed": bool(error),
                "error": (as_text(as_object(error).get("message")) or result_text(error)) if error else "",
                "is_open": bool(span.get("started_at")) and not span.get("ended_at"),
                "attributes": {
                    **facts.attributes,
                    **other_members(span, _SPAN_FIELDS),
                    **attributes,
                    **({"error_data": details} if details else {}),
                },
            }
        )
    )


def _facts(data: JSONObject, key: str, times: Span, location: str) -> SpanFacts:
    """Return the facts specific to the type of a span."""
    kind, name = as_text(data.get("type")), as_text(data.get("name"))
    match kind:
        case "generation" | "response" | "transcription" | "speech":
            return _model(data, key, times, location)
        case "function":
            type, arguments, result = StepType.TOOL, data.get("input"), data.get("output")
        case "mcp_tools":
            type, name, arguments, result = (
                StepType.TOOL,
                "tools/list",
                {"server": data.get("server")},
                data.get("result"),
            )
        case "handoff":
            type, name = StepType.PLANNER, f"handoff to {as_text(data.get('to_agent'))}"
            arguments, result = {"from_agent": data.get("from_agent")}, {"to_agent": data.get("to_agent")}
        case "guardrail":
            type, arguments, result = StepType.SAFETY, None, {"triggered": data.get("triggered")}
        case "agent" | "speech_group":
            type, arguments, result = StepType.AGENT, data.get("input"), data.get("output")
        case _:
            name = _custom_name(name, as_object(data.get("data")))
            type, arguments, result = container_type("" if name.startswith("turn") else name), None, None
    return SpanFacts(key=key, name=name or kind or "span", type=type, times=times, input=arguments, output=result)


def _custom_name(name: str, data: JSONObject) -> str:
    """Return the name of a custom span, which the SDK also uses for its tasks and turns."""
    match as_text(data.get("sdk_span_type")):
        case "turn":
            return f"turn {as_text(data.get('turn'))}"
        case "task":
            return as_text(data.get("name")) or name
        case _:
            return name


def _model(data: JSONObject, key: str, times: Span, location: str) -> SpanFacts:
    response = as_object(data.get("response"))
    input_value = data.get("input")
    if response:
        answer = normalize_response(response)
        request = normalize_response_request(response, input_value)
    else:
        answer = _answer(data)
        messages = normalize_items(_input_value(input_value))
        request = model_input(messages, [], normalize_parameters(_config(data))) if messages else None
    model = as_text(first_member(data, "model")) or answer.model
    counts = as_object(data.get("usage")) or as_object(response.get("usage"))
    usage = normalize_usage(counts, f"{location}/span_data/usage") if counts else answer.usage
    return SpanFacts(
        key=key,
        name=model or as_text(data.get("type")),
        type=StepType.MODEL,
        times=times,
        request=request,
        answer=answer,
        model=model,
        provider=normalize_provider(None, model),
        usage=usage,
        attributes={**usage_details(counts), **continuation(response or data)},
    )


def _answer(data: JSONObject) -> Answer:
    """Return the answer of a generation; none for speech, whose answer is audio only."""
    output = data.get("output")
    if data.get("type") == "speech":
        return Answer(output=None)
    return normalize_response({"output": output}) if is_response_output(output) else normalize_answer(output)


def _input_value(value: JSONValue) -> JSONValue:
    """Return the input: messages, a text, or an audio block for encoded audio."""
    audio = as_object(value)
    if audio.keys() == {"data", "format"}:
        return (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": dict(audio)}]}
            if audio["data"]
            else None
        )
    return value


def _config(data: JSONObject) -> JSONObject:
    return {key: value for key, value in as_object(data.get("model_config")).items() if key != "base_url"}
