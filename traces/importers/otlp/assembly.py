"""Runs of traces: from records in any order to a recorded run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.canonical import canonical_bytes
from traces.core.json_access import as_list, as_object, as_string, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    called_tool_names,
    match_calls,
    sort_causally,
)
from traces.importers.common.spans import with_root_answer
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.otlp.calls.agent_calls import add_agent_calls
from traces.importers.otlp.calls.client_spans import join_client_spans
from traces.importers.otlp.dialects.attribute_names import names_of
from traces.importers.otlp.dialects.attributes import TraceReader
from traces.importers.otlp.dialects.steps import build_bare_step, build_span_step, is_type_from_name
from traces.importers.otlp.evaluations import read_evaluations
from traces.importers.otlp.translations import agentops, haystack
from traces.importers.otlp.wire import SpanEvent, WireLog, WireSpan
from traces.payloads.messages import ModelAnswer

FORMAT: Final = "otlp"
_SESSION: Final = (
    "session.id",
    "gen_ai.conversation.id",
    "gcp.vertex.agent.session_id",
    "scope.agentic.session",
    "user.id",
    "langfuse.session.id",
    "langfuse.user.id",
    "langfuse.trace.metadata",
    "langfuse.trace.public",
    "langfuse.release",
    "langfuse.version",
    "metadata",
)
# Newer Langfuse clients write each member of a trace's metadata as an attribute.
_MEMBERS: Final = "langfuse.trace.metadata."
# Text as it is, any other value as JSON.
_JSON_OUTPUT: Final = "langfuse.observation.output"


# Other names of the session and the user: a prefix, and `session` or `user` with or without `id`.
_ASSOCIATIONS: Final = (
    "traceloop.association.properties.",
    "ai.telemetry.metadata.",
    "ai.settings.context.",
    "langsmith.metadata.",
)
_ASSOCIATION: Final = re.compile(r"\.(session|user)(?:_id|Id)?$")
_OBJECTS: Final = ("langfuse.trace.metadata", "metadata")
_TAGS: Final = ("langfuse.trace.tags", "tag.tags")
_NO_LOGS: Final[list[SpanEvent]] = []


@dataclass(kw_only=True)
class Trace:
    """The records of a trace: spans by id, and the log records of each span."""

    trace_id: str
    spans: dict[str, WireSpan] = field(default_factory=dict)
    logs: dict[str, list[SpanEvent]] = field(default_factory=dict)
    resource: JSONObject = field(default_factory=dict)
    # Of spans whose contents cannot be read, which the run contains without these, and of those that contradict others.
    problems: list[BadFile] = field(default_factory=list)
    _contradicted_ids: set[str] = field(default_factory=set)
    _log_records: set[bytes] = field(default_factory=set)

    def add(self, record: WireSpan | WireLog) -> None:
        """Add a record. Of a span that occurs twice, the fuller one counts, in whatever order both arrive."""
        if isinstance(record, WireSpan):
            earlier = self.spans.get(record.span_id)
            self.spans[record.span_id] = record if earlier is None else self._fuller(earlier, record)
        elif not record.record or record.record not in self._log_records:
            self._log_records.add(record.record)
            self.resource |= record.resource
            self.logs.setdefault(record.span_id, []).append(record.event)

    def _fuller(self, earlier: WireSpan, later: WireSpan) -> WireSpan:
        """Return the one that has ended, else that with more contents; note that two ended ones differ."""
        contents = [canonical_bytes(_contents(span)) for span in (earlier, later)]
        if contents[0] == contents[1]:
            return earlier
        if earlier.has_ended and later.has_ended and later.span_id not in self._contradicted_ids:
            self._contradicted_ids.add(later.span_id)
            reason = f"span {later.span_id} occurs twice with different contents; the fuller one is shown"
            self.problems.append(BadFile(reason))
        ranks = [(span.has_ended, len(text), text) for span, text in zip((earlier, later), contents, strict=True)]
        return earlier if ranks[0] > ranks[1] else later


def _contents(span: WireSpan) -> JSONValue:
    """Return what a span states, without where it was."""
    events: JSONValue = [[event.name, event.time, event.body] for event in span.events]
    copies: JSONValue = [copy.hex() for copy in span.message_copies]
    state = [span.name, span.parent_id, span.failed, span.message, span.start, span.end, *span.links]
    return [state, span.attributes, copies, events, span.resource, span.scope, span.fields]


def build_trace(trace: Trace) -> RecordedRun:
    """Build the run of a trace."""
    spans = agentops.with_requested_calls([*trace.spans.values()])
    spans += haystack.tool_spans(spans)
    spans += [_span_of_logs(trace, span_id) for span_id in trace.logs if span_id not in trace.spans]
    # In order of time, each request continues an earlier one, which then need not be read again.
    spans.sort(key=_start_order)
    reader = TraceReader()
    steps = {span.span_id: _build_step(span, trace, frozenset(), reader) for span in spans}
    tool_names = called_tool_names(step.output for step in steps.values())
    for span in spans:
        is_tool = steps[span.span_id].type is StepType.TOOL
        if not is_tool and span.name in tool_names and is_type_from_name(span, reader):
            steps[span.span_id] = _build_step(span, trace, tool_names, reader)
    # Ties of time are resolved by id.
    spans.sort(key=lambda span: span.span_id)
    facts = _facts(trace, spans)
    _note_resources(spans, as_object(facts.metadata["resource"]), steps)
    _parse_outputs(spans, steps)
    ordered_steps = join_client_spans([steps[span.span_id] for span in spans])
    whole_steps = with_root_answer(add_agent_calls(match_calls(sort_causally(ordered_steps))))
    return build_run(facts, whole_steps, location=f"trace {trace.trace_id}")


def _note_resources(spans: list[WireSpan], resource: JSONObject, steps: dict[str, RecordedStep]) -> None:
    """Note at each step what differs in its resource from the run's: the agent calls another service."""
    latest: JSONObject | None = None
    differences: JSONObject = {}
    for span in spans:
        if span.resource is not latest:
            latest = span.resource
            differences = {name: value for name, value in latest.items() if resource.get(name) != value}
        if differences:
            step = steps[span.span_id]
            steps[span.span_id] = replace(step, attributes={"resource": differences, **step.attributes})


def _parse_outputs(spans: list[WireSpan], steps: dict[str, RecordedStep]) -> None:
    """Parse the outputs that Langfuse clients wrote as JSON, except texts of models that agents only pass on."""
    outputs = {
        span.span_id: output
        for span in spans
        if (output := as_string(span.attributes.get(_JSON_OUTPUT))).startswith("{")
        and steps[span.span_id].output == {"text": output}
    }
    if not outputs:
        return
    answers = {ModelAnswer(step.output).text for step in steps.values() if step.type is StepType.MODEL}
    for key, output in outputs.items():
        if output not in answers:
            value = parse_embedded(output)
            steps[key] = replace(steps[key], output={"text": output} if value == output else value)


def _start_order(span: WireSpan) -> tuple[int, str]:
    """Return a key that sorts times of one kind: numbers by their number of digits."""
    start = as_text(span.start)
    return len(start), start


def _build_step(span: WireSpan, trace: Trace, tool_names: frozenset[str], reader: TraceReader) -> RecordedStep:
    logs = trace.logs.get(span.span_id, _NO_LOGS)
    try:
        return build_span_step(span, logs, tool_names, reader)
    except BadFile as problem:
        trace.problems.append(problem)
        return build_bare_step(span, problem)


def _span_of_logs(trace: Trace, span_id: str) -> WireSpan:
    """Build the span of a model call from its log records, for recordings without the span."""
    logs = trace.logs[span_id]
    attributes = {name: value for log in logs for name, value in log.body.items() if name.startswith("gen_ai.")}
    times = [log.time for log in logs if log.time is not None]
    return WireSpan(
        trace_id=trace.trace_id,
        span_id=span_id,
        name="chat",
        location=f"span {span_id}",
        start=times[0] if times else None,
        end=times[-1] if times else None,
        attributes={"gen_ai.operation.name": "chat", **attributes},
    )


def _facts(trace: Trace, spans: list[WireSpan]) -> RunFacts:
    # Parts of a trace come in any order; the root's attributes take precedence.
    root = next((span for span in spans if span.is_root), spans[0])
    resource: JSONObject = {**trace.resource}
    latest: JSONObject | None = None
    for span in (*spans, root):
        if span.resource is not latest:
            resource |= span.resource
            latest = span.resource
    session: JSONObject = {
        name: parse_embedded(span.attributes[key]) if name in _OBJECTS else span.attributes[key]
        for span in (*spans, root)
        for key, name in names_of(span.attributes).results(_session_name).items()
    }
    tags = [
        tag
        for span in spans
        for tag_field in _TAGS
        if tag_field in span.attributes
        for tag in as_list(parse_embedded(span.attributes[tag_field]))
    ]
    name = as_text(first_member(root.attributes, "langfuse.trace.name", "langsmith.trace.name") or root.name)
    return RunFacts(
        external_id=trace.trace_id,
        format=FORMAT,
        name=name,
        failed=root.failed,
        tags=[as_text(tag) for tag in tags],
        app=app_name(resource.get("openinference.project.name"), resource.get("service.name"), name) or FORMAT,
        environment=as_text(
            first_member(resource, "deployment.environment.name", "deployment.environment")
            or root.attributes.get("langfuse.environment")
        ),
        metadata={**session, "trace_name": name, "resource": resource},
        judgements=[
            judgement
            for span in spans
            if span.judgements or span.events or span.span_id in trace.logs
            for judgement in _judgements(trace, span)
        ],
    )


def _judgements(trace: Trace, span: WireSpan) -> Iterator[RecordedJudgement]:
    yield from span.judgements
    yield from read_evaluations((*span.events, *trace.logs.get(span.span_id, _NO_LOGS)), span.span_id)


def _session_name(key: str) -> str:
    """Return the name in the run's metadata of an attribute that states its session or user, else an empty string."""
    if key in _SESSION or key.startswith(_MEMBERS):
        return key
    match = _ASSOCIATION.search(key) if key.startswith(_ASSOCIATIONS) else None
    return f"{match[1]}.id" if match else ""
