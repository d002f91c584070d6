"""New Relic: events of its AI monitoring, as a query returns them: completions, their messages, tools, embeddings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_number, as_object, as_text, first_member, has_list, is_integer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.run_builder import RunFacts, build_run, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, add_milliseconds, parse_time
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call

FORMAT: Final = "newrelic"
_HOLDERS: Final = ("results", "events", "data")
_REFUSAL: Final = "an event of New Relic's AI monitoring needs a `trace_id` and what its type has"
_MESSAGE: Final = frozenset({"completion_id", "sequence", "role", "content"})
_SUMMARY: Final = frozenset({"response.number_of_messages"})
_TOOL: Final = frozenset({"name", "input", "run_id"})
_PREFIX: Final = "request."
_USAGE: Final = {
    "response.usage.prompt_tokens": "prompt_tokens",
    "response.usage.completion_tokens": "completion_tokens",
}
_MAPPED_FIELDS: Final = frozenset(
    {"id", "trace_id", "span_id", "timestamp", "duration", "vendor", "error", "appName", "eventType", "name", "input"}
    | {"output", "response.choices.finish_reason", "response.model", "response.usage.total_tokens", *_USAGE}
)


@dataclass(kw_only=True)
class _Trace:
    calls: dict[str, JSONObject] = field(default_factory=dict)
    messages: dict[str, list[JSONObject]] = field(default_factory=dict)
    tools: list[JSONObject] = field(default_factory=list)


def is_export(value: JSONValue) -> bool:
    """Return whether `value` is an event, or a list or the result of a query of these."""
    body = as_object(first_item(value))
    return _is_event(body) or any(has_list(body, name) and is_export(body[name]) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace."""
    traces: dict[str, _Trace] = {}
    for event in parse_records(sources, _read):
        trace = traces.setdefault(as_text(event["trace_id"]), _Trace())
        if event.keys() >= _MESSAGE:
            trace.messages.setdefault(as_text(event["completion_id"]), []).append(event)
        elif event.keys() >= _SUMMARY:
            trace.calls[as_text(event.get("id"))] = event
        else:
            trace.tools.append(event)
    for id, trace in traces.items():
        yield _run(id, trace)


def _is_event(body: JSONObject) -> bool:
    has_fields = any(body.keys() >= fields for fields in (_MESSAGE, _SUMMARY, _TOOL))
    return bool(body.get("trace_id")) and "vendor" in body and (has_fields or body.get("eventType") == "LlmTool")


def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    for event, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_event, refusal=_REFUSAL):
        _times(event, place)
        yield event


def _run(id: str, trace: _Trace) -> RecordedRun:
    # Without its summary, the messages of a call are all that is known of it.
    ids = dict.fromkeys([*trace.calls, *trace.messages])
    steps = [
        *(_model_step(key, trace.calls.get(key, {}), trace.messages.get(key, [])) for key in ids),
        *(_tool_step(event, number) for number, event in enumerate(trace.tools)),
    ]
    events = [*trace.calls.values(), *(message for group in trace.messages.values() for message in group), *trace.tools]
    return build_run(
        RunFacts(
            external_id=id,
            app=next((name for event in events if (name := as_text(event.get("appName")))), FORMAT),
            format=FORMAT,
        ),
        sort_causally(steps),
        location=f"trace {id}",
    )


def _times(event: JSONObject, location: str) -> Span:
    """Return the times of an event, which was written when what it is about had ended."""
    end, duration = parse_time(event.get("timestamp"), location), as_number(event.get("duration"))
    if end is None or duration is None:
        return Span(start=end, end=None)
    return Span(start=parse_time(end.timestamp() - duration / 1000, location), end=add_milliseconds(end, 0))


def _attributes(event: JSONObject) -> JSONObject:
    return {
        name: item
        for name, item in event.items()
        if name not in _MAPPED_FIELDS and not name.startswith(_PREFIX) and item not in (None, "", False)
    }


def _error(event: JSONObject) -> str:
    return as_text(first_member(event, "error.message", "error_message")) or "the call failed"


def _model_step(key: str, event: JSONObject, events: list[JSONObject]) -> RecordedStep:
    sequence = sorted(events, key=lambda item: n if is_integer(n := item.get("sequence")) else 0)
    messages: list[JSONValue] = [{"role": item["role"], "content": item["content"]} for item in sequence]
    is_answered = bool(sequence) and (sequence[-1].get("is_response") is True or sequence[-1]["role"] == "assistant")
    whole_event = event or (sequence[-1] if sequence else {})
    settings = {name.removeprefix(_PREFIX): item for name, item in event.items() if name.startswith(_PREFIX)}
    reason = event.get("response.choices.finish_reason")
    answer = as_object(messages[-1]) if is_answered else {}
    facts = SpanFacts(
        key=key,
        name=as_text(first_member(whole_event, "request.model", "response.model")) or "model",
        type=StepType.MODEL,
        times=_times(whole_event, f"completion {key}"),
        failed=event.get("error") is True,
        error=_error(event) if event.get("error") is True else "",
        input={**settings, "messages": messages[:-1] if is_answered else messages},
        output={**answer, **({"finish_reason": reason} if reason else {})} if answer else None,
        attributes={
            **_attributes(event),
            **({"response_model": event["response.model"]} if event.get("response.model") else {}),
        },
    )
    usage: JSONObject = {name: event[column] for column, name in _USAGE.items() if event.get(column) is not None}
    model = as_text(first_member(whole_event, "request.model", "response.model"))
    return build_step(add_call(facts, settings={}, model=model, provider=whole_event.get("vendor"), usage=usage))


def _tool_step(event: JSONObject, number: int) -> RecordedStep:
    name = as_text(event.get("name"))
    return build_step(
        SpanFacts(
            key=as_text(event.get("id")) or f"tool-{number}",
            name=name or "tool",
            type=StepType.TOOL,
            times=_times(event, f"tool {name}"),
            failed=event.get("error") is True,
            error=_error(event),
            input=event.get("input"),
            output=event.get("output"),
            tool_name=name,
            attributes=_attributes(event),
        )
    )
