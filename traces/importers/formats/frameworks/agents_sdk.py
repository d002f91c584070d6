"""Traces of the OpenAI Agents SDK: traces and spans as its processors export them, in any order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.messages import as_text
from traces.importers.common.model_calls import (
    Answer,
    model_input,
    normalize_answer,
    normalize_parameters,
    normalize_provider,
    normalize_usage,
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
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, require_object, text
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.chats.openai_items import (
    answer_of_response,
    is_response_output,
    messages_of_items,
    request_of_response,
)

FORMAT: Final = "openai-agents"
_HOLDERS: Final = ("spans", "data")
_DATA_FIELDS: Final = frozenset({"type", "name", "input", "output", "model", "model_config", "usage", "response"})


@dataclass(kw_only=True)
class _Trace:
    facts: JSONObject = field(default_factory=dict)
    spans: dict[str, JSONObject] = field(default_factory=dict)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """One run for each trace."""
    traces: dict[str, _Trace] = {}
    for each in parse_records(sources, _read):
        if each.get("object") == "trace":
            traces.setdefault(text(each.get("id")), _Trace()).facts |= each
        else:
            traces.setdefault(text(each.get("trace_id")), _Trace()).spans[text(each.get("id"))] = each
    for trace_id, trace in traces.items():
        if trace.spans:
            yield _run(trace_id, trace)
        else:
            holder = next((source for source in sources if trace_id.encode() in source.data), sources[0])
            holder.problems.append(BadFile("no span of this trace is recorded", f"trace {trace_id}"))


def is_export(value: JSONValue) -> bool:
    """Whether `value` is a trace, a span, or holds some."""
    if isinstance(value, list):
        return bool(value) and is_export(value[0])
    given = obj(value)
    if given.get("object") == "trace.span":
        return "span_data" in given
    if given.get("object") == "trace":
        return "workflow_name" in given
    return any(isinstance(given.get(name), list) and is_export(given[name]) for name in _HOLDERS)


def _read(value: JSONValue, where: str) -> Iterator[JSONObject]:
    """Traces and spans, each span such that a step can be made of it."""
    if isinstance(value, list):
        for at, each in enumerate(value):
            yield from _read(each, f"{where}/{at}")
        return
    given = require_object(value, where)
    if given.get("object") == "trace.span":
        if not text(given.get("id")) or not text(given.get("trace_id")):
            raise BadFile("a span needs `id` and `trace_id`", where)
        _step(given, where)
        yield given
        return
    if given.get("object") == "trace":
        if not text(given.get("id")):
            raise BadFile("a trace without an id", f"{where}/id")
        yield {key: item for key, item in given.items() if key not in _HOLDERS}
    elif not is_export(given):
        raise BadFile("this is no trace or span of the Agents SDK", where)
    for name in _HOLDERS:
        for at, each in enumerate(items(given.get(name))):
            yield from _read(each, f"{where}/{name}/{at}")


def _run(trace_id: str, trace: _Trace) -> RecordedRun:
    where = f"trace {trace_id}"
    steps = sort_causally([_step(each, f"span {key}") for key, each in trace.spans.items()], location=where)
    facts = trace.facts
    workflow = text(facts.get("workflow_name"))
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=app_name(workflow) or FORMAT,
            format=FORMAT,
            name=workflow,
            metadata={"session_id": facts.get("group_id"), "metadata": facts.get("metadata"), "workflow": workflow},
        ),
        match_calls(steps),
        location=where,
    )


def _step(given: JSONObject, where: str) -> RecordedStep:
    data = obj(given.get("span_data"))
    times = parse_span(given.get("started_at"), given.get("ended_at"), where)
    facts = _facts(data, text(given.get("id")), times, where)
    error = given.get("error")
    rest = {key: item for key, item in data.items() if key not in _DATA_FIELDS and item not in (None, "", [], {})}
    if address := obj(data.get("model_config")).get("base_url"):
        rest["base_url"] = address
    details = obj(error).get("data")
    return build_step(
        SpanFacts(
            **{name: getattr(facts, name) for name in SpanFacts.__slots__}
            | {
                "parent": text(given.get("parent_id")) or None,
                "failed": bool(error),
                "error": (text(obj(error).get("message")) or as_text(error)) if error else "",
                "is_open": bool(given.get("started_at")) and not given.get("ended_at"),
                "attributes": {**rest, **({"error_data": details} if details else {})},
            }
        )
    )


def _facts(data: JSONObject, key: str, times: Span, where: str) -> SpanFacts:
    """A span's own part, by its type."""
    kind, name = text(data.get("type")), text(data.get("name"))
    match kind:
        case "generation" | "response" | "transcription" | "speech":
            return _model(data, key, times, where)
        case "function":
            type, given, made = StepType.TOOL, data.get("input"), data.get("output")
        case "mcp_tools":
            type, name, given, made = StepType.TOOL, "tools/list", {"server": data.get("server")}, data.get("result")
        case "handoff":
            type, name = StepType.PLANNER, f"handoff to {text(data.get('to_agent'))}"
            given, made = {"from_agent": data.get("from_agent")}, {"to_agent": data.get("to_agent")}
        case "guardrail":
            type, given, made = StepType.SAFETY, None, {"triggered": data.get("triggered")}
        case "agent" | "speech_group":
            type, given, made = StepType.AGENT, data.get("input"), data.get("output")
        case _:
            name = _custom_name(name, obj(data.get("data")))
            type, given, made = container_type("" if name.startswith("turn") else name), None, None
    return SpanFacts(key=key, name=name or kind or "span", type=type, times=times, input=given, output=made)


def _custom_name(name: str, data: JSONObject) -> str:
    """The SDK writes its own tasks and turns as custom spans."""
    match text(data.get("sdk_span_type")):
        case "turn":
            return f"turn {text(data.get('turn'))}"
        case "task":
            return text(data.get("name")) or name
        case _:
            return name


def _model(data: JSONObject, key: str, times: Span, where: str) -> SpanFacts:
    response = obj(data.get("response"))
    given = data.get("input")
    if response:
        answer = answer_of_response(response)
        request = request_of_response(response, given)
    else:
        answer = _answer(data)
        messages = messages_of_items(_spoken(given))
        request = model_input(messages, [], normalize_parameters(_config(data))) if messages else None
    model = text(first(data, "model")) or answer.model
    usage = normalize_usage(obj(data.get("usage")), f"{where}/span_data/usage") if data.get("usage") else answer.usage
    return SpanFacts(
        key=key,
        name=model or text(data.get("type")),
        type=StepType.MODEL,
        times=times,
        request=request,
        answer=answer,
        model=model,
        provider=normalize_provider(None, model),
        usage=usage,
    )


def _answer(data: JSONObject) -> Answer:
    """The answer of a generation; of speech, only its sound was an answer."""
    made = data.get("output")
    if data.get("type") == "speech":
        return Answer(output=None)
    return answer_of_response({"output": made}) if is_response_output(made) else normalize_answer(made)


def _spoken(given: JSONValue) -> JSONValue:
    """What went in: messages, a text, or sound in its encoding."""
    sound = obj(given)
    if sound.keys() == {"data", "format"}:
        return (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": dict(sound)}]}
            if sound["data"]
            else None
        )
    return given


def _config(data: JSONObject) -> JSONObject:
    return {key: value for key, value in obj(data.get("model_config")).items() if key != "base_url"}
