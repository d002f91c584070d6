"""AutoGen 0.4: events of its log (`autogen_core.events`), one per line: calls of models and tools, and exceptions."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, build_run, match_calls
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.source import Source
from traces.importers.formats.platforms.model_calls import add_call

FORMAT: Final = "autogen-events"
_MODEL_FIELDS: Final = frozenset({"type", "messages", "response", "prompt_tokens", "completion_tokens", "tools"})
_STREAM_START: Final = "LLMStreamStart"
_MARKS: Final = {
    "LLMCall": frozenset({"messages", "response"}),
    _STREAM_START: frozenset({"messages"}),
    "LLMStreamEnd": frozenset({"response"}),
    "ToolCall": frozenset({"tool_name", "arguments", "result"}),
    "MessageHandlerException": frozenset({"exception"}),
    "Message": frozenset({"payload", "delivery_stage"}),
}
_TIMES: Final = ("timestamp", "created_at", "time")


def is_event(value: JSONValue) -> bool:
    """Return whether `value` is an event of the log, or a list of these."""
    event = as_object(first_item(value))
    marks = _MARKS.get(as_text(event.get("type")))
    return marks is not None and marks <= event.keys()


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of a log. Messages between agents are not steps: requests contain them."""
    speakers: dict[str, RecordedStep] = {}
    steps: list[RecordedStep] = []
    request: JSONObject = {}
    events = [(event, location) for event, location in source.entries() if is_event(event)]
    for number, (event, location) in enumerate(events):
        if event["type"] == _STREAM_START:
            request = event
            continue
        facts = _facts(event, request, f"event-{number}", location)
        if facts is None:
            continue
        agent = as_text(first_member(event, "agent_id", "handling_agent"))
        if agent and agent not in speakers:
            times = parse_span(None, None, location)
            speakers[agent] = build_step(SpanFacts(key=agent, name=agent, type=StepType.AGENT, times=times))
        facts.parent = agent or None
        steps.append(build_step(facts))
    yield build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id([event for event, _ in events], '')}",
            app="autogen",
            format=FORMAT,
            failed=bool(events) and events[-1][0]["type"] == "MessageHandlerException",
        ),
        [*speakers.values(), *match_calls(steps)],
        location=source.name,
    )


def _facts(event: JSONObject, request: JSONObject, key: str, location: str) -> SpanFacts | None:
    """Return the facts of a call or an exception; None for other events."""
    kind = as_text(event["type"])
    times = parse_span(None, first_member(event, *_TIMES), location)
    if kind == "ToolCall":
        name = as_text(event["tool_name"])
        return SpanFacts(
            key=key,
            name=name,
            type=StepType.TOOL,
            times=times,
            input=event["arguments"],
            output=event["result"],
            tool_name=name,
        )
    if kind == "MessageHandlerException":
        error = as_text(event["exception"])
        task = event.get("payload")
        return SpanFacts(
            key=key, name="handler", type=StepType.AGENT, times=times, failed=True, error=error, input=task
        )
    return _model_facts(event, request, key, location) if "response" in event else None


def _model_facts(event: JSONObject, request: JSONObject, key: str, location: str) -> SpanFacts:
    source = event if "messages" in event else request
    response = as_object(event["response"])
    model = as_text(response.get("model"))
    facts = SpanFacts(
        key=key,
        name=model or "model",
        type=StepType.MODEL,
        times=parse_span(first_member(request, *_TIMES), first_member(event, *_TIMES), location),
        input={"messages": source.get("messages")},
        output=response,
        attributes=omit(event, *_MODEL_FIELDS, "agent_id", *_TIMES),
    )
    counts: JSONObject = {name: event[name] for name in ("prompt_tokens", "completion_tokens") if name in event}
    return add_call(
        facts,
        settings={"tools": source["tools"]} if source.get("tools") else {},
        model=model,
        provider="",
        usage=as_object(response.get("usage")) or counts,
    )
