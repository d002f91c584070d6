"""Agents of Amazon Bedrock: the trace that `InvokeAgent` returns among the chunks of its answer.

Each part of a trace is the input or the output of something. The prompts have what the user asked; a file may have it
beside the events (`inputText`), too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_list, has_object, other_members
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import Answer, normalize_answer, normalize_request, normalize_usage
from traces.importers.common.run_builder import AGENT_KEY, OUTPUT_KEY, RunFacts, build_run
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Source, parse_records

FORMAT: Final = "bedrock-agents"
_HOLDERS: Final = ("completion", "completion_events", "traces", "trace_events", "events")
_TRACES: Final = (
    "preProcessingTrace",
    "orchestrationTrace",
    "postProcessingTrace",
    "routingClassifierTrace",
    "customOrchestrationTrace",
    "guardrailTrace",
    "failureTrace",
)
_PARAMETERS: Final = {
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "maximumLength": "max_tokens",
    "stopSequences": "stop",
}
# Members of an invocation that are the name and the arguments of its step.
_ARGUMENTS: Final = frozenset({"function", "verb", "apiPath", "parameters", "requestBody", "code", "files"})
# Inputs of what an agent invokes, by the name of their outputs.
_INVOCATIONS: Final = {
    "actionGroupInvocationOutput": "actionGroupInvocationInput",
    "knowledgeBaseLookupOutput": "knowledgeBaseLookupInput",
    "codeInterpreterInvocationOutput": "codeInterpreterInvocationInput",
    "agentCollaboratorInvocationOutput": "agentCollaboratorInvocationInput",
}


@dataclass(kw_only=True)
class _Session:
    steps: list[RecordedStep] = field(default_factory=list)
    # Indexes of steps without an output so far, by agent and kind.
    open: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    # Keys of the steps in which a collaborator works.
    collaborators: dict[str, str] = field(default_factory=dict)
    agent: JSONObject = field(default_factory=dict)
    request: JSONValue = None
    answer: str = ""
    chunks: list[str] = field(default_factory=list)
    failure: str = ""


def is_trace(value: JSONValue) -> bool:
    """Return True if `value` is an event with a part of a trace, or a list or an answer with such events."""
    body = as_object(first_item(value))
    if _part(body):
        return True
    return any(has_list(body, name) and any(map(_part, as_objects(body[name]))) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per session."""
    sessions: dict[str, list[tuple[JSONObject, JSONObject]]] = {}
    last_id = ""
    for event, facts in parse_records(sources, _read):
        part = _part(event)
        last_id = as_text(first_member({**facts, **part}, "sessionId")) or last_id
        sessions.setdefault(last_id, []).append((event, facts))
    for id, events in sessions.items():
        try:
            yield _run(id, events)
        except BadFile as problem:
            sources[-1].problems.append(problem)


def _part(event: JSONObject) -> JSONObject:
    """Return the part of a trace in an event: the event itself, or its member."""
    body = as_object(event.get("trace"))
    if any(has_object(body, name) for name in _TRACES):
        return event
    inner = as_object(body.get("trace"))
    return body if any(has_object(inner, name) for name in _TRACES) else {}


def _read(value: JSONValue, location: str) -> Iterator[tuple[JSONObject, JSONObject]]:
    """Yield events with the facts beside them."""
    for index, item in enumerate(value if isinstance(value, list) else [value]):
        body = as_object(item)
        name = next((name for name in _HOLDERS if has_list(body, name)), None)
        if name is not None:
            facts = {key: body[key] for key in ("sessionId", "inputText") if body.get(key)}
            for event in as_objects(body[name]):
                yield event, facts
        elif _part(body) or has_object(body, "chunk"):
            yield body, {}
        else:
            raise BadFile("not an event of an agent of Bedrock", f"{location}/{index}")


def _run(id: str, events: list[tuple[JSONObject, JSONObject]]) -> RecordedRun:
    session = _Session()
    for number, (event, facts) in enumerate(events):
        session.request = session.request or facts.get("inputText")
        if has_object(event, "chunk"):
            session.chunks.append(as_text(as_object(event["chunk"]).get("bytes")))
        elif part := _part(event):
            _read_part(session, part, f"{number}")
    text = session.answer or "".join(session.chunks)
    name = as_text(first_member(session.agent, "agentName", "agentId")) or "agent"
    root = RecordedStep(
        key=AGENT_KEY,
        type=StepType.AGENT,
        name=name,
        input={"task": session.request} if session.request else None,
        output={"text": text} if text else None,
        status=StepStatus.ERROR if session.failure else StepStatus.OK,
        error=session.failure,
        started_at=min((step.started_at for step in session.steps if step.started_at), default=None),
        ended_at=max((step.ended_at for step in session.steps if step.ended_at), default=None),
    )
    output = RecordedStep(key=OUTPUT_KEY, type=StepType.OUTPUT, name="output", parent=AGENT_KEY, output={"text": text})
    place = f"session {id}"
    return build_run(
        RunFacts(
            external_id=id or f"{FORMAT}-{content_id([event for event, _ in events], place)}",
            app=name,
            format=FORMAT,
            metadata={key: session.agent.get(key) for key in ("agentId", "agentAliasId", "agentVersion")},
        ),
        [root, *session.steps, *([output] if text else [])],
        location=place,
    )


def _read_part(session: _Session, part: JSONObject, key: str) -> None:
    session.agent = session.agent or part
    trace = as_object(part.get("trace"))
    name = next(name for name in _TRACES if has_object(trace, name))
    body, agent = as_object(trace[name]), as_text(part.get("collaboratorName"))
    time: JSONValue = part.get("eventTime")
    if name == "failureTrace":
        session.failure = as_text(first_member(body, "failureReason", "failureCode")) or "failed"
    elif name in ("guardrailTrace", "customOrchestrationTrace"):
        is_guard = name == "guardrailTrace"
        type = StepType.SAFETY if is_guard else StepType.PLANNER
        _add(session, agent, type, name.removesuffix("Trace"), key, time, output={**body})
    if has_object(body, "modelInvocationInput"):
        _open_call(session, as_object(body["modelInvocationInput"]), agent, key, time)
    if has_object(body, "modelInvocationOutput"):
        _close_call(session, as_object(body["modelInvocationOutput"]), agent, key, time)
    if has_object(body, "rationale") and session.steps:
        last = session.steps[-1]
        note: JSONObject = {"rationale": as_object(body["rationale"]).get("text")}
        session.steps[-1] = replace(last, attributes={**last.attributes, **note})
    if has_object(body, "invocationInput"):
        _open_invocation(session, as_object(body["invocationInput"]), agent, key, time)
    if has_object(body, "observation"):
        _observe(session, as_object(body["observation"]), agent, key, time)


def _add(
    session: _Session,
    agent: str,
    type: StepType,
    name: str,
    key: str,
    time: JSONValue,
    *,
    input: JSONValue = None,
    output: JSONValue = None,
) -> int:
    """Add the step of a part; return its index."""
    session.steps.append(
        RecordedStep(
            key=f"part-{key}",
            type=type,
            name=name or type.value,
            tool_name=name if type is StepType.TOOL else "",
            parent=session.collaborators.get(agent, AGENT_KEY),
            started_at=parse_time(time, f"part {key}"),
            input=input,
            output=output,
            status=StepStatus.PARTIAL if output is None else StepStatus.OK,
        )
    )
    return len(session.steps) - 1


def _open_call(session: _Session, body: JSONObject, agent: str, key: str, time: JSONValue) -> None:
    index = _add(session, agent, StepType.MODEL, as_text(body.get("type")).lower(), key, time)
    model = as_text(body.get("foundationModel")).rpartition("/")[2]
    prompt = parse_embedded(body.get("text"))
    settings = as_object(body.get("inferenceConfiguration"))
    parameters = {_PARAMETERS[name]: item for name, item in settings.items() if name in _PARAMETERS}
    request: JSONObject = {**parameters, **(prompt if isinstance(prompt, dict) else {"prompt": body.get("text")})}
    step = session.steps[index]
    session.steps[index] = replace(step, input=normalize_request(request), model=model, provider="bedrock")
    session.open.setdefault((agent, "model"), []).append(index)


def _close_call(session: _Session, body: JSONObject, agent: str, key: str, time: JSONValue) -> None:
    if not session.open.get((agent, "model")):
        session.open[agent, "model"] = [_add(session, agent, StepType.MODEL, "model", key, time)]
    index = session.open[agent, "model"].pop(0)
    step = session.steps[index]
    metadata = as_object(body.get("metadata"))
    times = _times(metadata, step, time)
    facts = SpanFacts(
        key=step.key,
        name=step.name,
        type=StepType.MODEL,
        parent=step.parent,
        times=times,
        request=as_object(step.input) or None,
        answer=_answer(body),
        model=step.model,
        provider="bedrock",
        usage=normalize_usage(as_object(metadata.get("usage")), f"part {key}"),
        attributes={"parsed_response": response} if (response := body.get("parsedResponse")) else {},
    )
    session.steps[index] = build_step(facts)


def _answer(body: JSONObject) -> Answer:
    """Return the answer in a raw response: of Bedrock's Converse API, of Anthropic's API, or a text."""
    content = as_object(body.get("rawResponse")).get("content")
    value = as_object(parse_embedded(content))
    message = as_object(as_object(value.get("output")).get("message")) or value
    if not has_list(message, "content"):
        return normalize_answer(content)
    reason = first_member(value, "stopReason", "stop_reason")
    return normalize_answer({"message": {"role": "assistant", **message}, "stop_reason": reason})


def _open_invocation(session: _Session, body: JSONObject, agent: str, key: str, time: JSONValue) -> None:
    for kind in _INVOCATIONS.values():
        details = as_object(body.get(kind))
        if not details:
            continue
        type, name, arguments = _describe(kind, details)
        index = _add(session, agent, type, name, key, time, input=arguments)
        facts = other_members(details, _ARGUMENTS) if type is StepType.TOOL else {}
        session.steps[index] = replace(session.steps[index], attributes=facts)
        session.open.setdefault((agent, kind), []).append(index)
        if type is StepType.AGENT:
            session.collaborators[name] = session.steps[index].key


def _describe(kind: str, details: JSONObject) -> tuple[StepType, str, JSONValue]:
    """Return the type, the name and the arguments of what an agent invokes."""
    match kind:
        case "knowledgeBaseLookupInput":
            query: JSONObject = {"query": details.get("text"), "knowledge_base": details.get("knowledgeBaseId")}
            return StepType.RETRIEVAL, as_text(details.get("knowledgeBaseId")), query
        case "codeInterpreterInvocationInput":
            return StepType.TOOL, "code_interpreter", {**details}
        case "agentCollaboratorInvocationInput":
            request = as_object(details.get("input"))
            task: JSONObject = {"task": request["text"]} if request.get("text") else {**request}
            return StepType.AGENT, as_text(details.get("agentCollaboratorName")), task
    bodies = as_object(as_object(details.get("requestBody")).get("content"))
    parameters = [
        *as_objects(details.get("parameters")),
        *(item for body in bodies.values() for item in as_objects(body)),
    ]
    path = " ".join(filter(None, (as_text(details.get("verb")).upper(), as_text(details.get("apiPath")))))
    name = as_text(details.get("function")) or path or as_text(details.get("actionGroupName"))
    return StepType.TOOL, name, {as_text(item.get("name")): item.get("value") for item in parameters}


def _observe(session: _Session, body: JSONObject, agent: str, key: str, time: JSONValue) -> None:
    if has_object(body, "finalResponse") and not agent:
        session.answer = as_text(as_object(body["finalResponse"]).get("text"))
    if has_object(body, "repromptResponse") and session.steps:
        last = session.steps[-1]
        session.steps[-1] = replace(last, attributes={**last.attributes, "reprompt": body["repromptResponse"]})
    for name, kind in _INVOCATIONS.items():
        if not has_object(body, name):
            continue
        # What was invoked may be missing in an export.
        waiting = session.open.get((agent, kind))
        index = waiting.pop(0) if waiting else _add(session, agent, StepType.TOOL, "", key, time)
        result = as_object(body[name])
        step = session.steps[index]
        times = _times(as_object(result.get("metadata")), step, time)
        error = as_text(result.get("executionError")) or ("timeout" if result.get("executionTimeout") is True else "")
        session.steps[index] = replace(
            step,
            output=_output(name, result),
            error=error,
            status=StepStatus.ERROR if error else StepStatus.OK,
            started_at=times.start,
            ended_at=times.end,
        )


def _output(name: str, result: JSONObject) -> JSONValue:
    if name == "knowledgeBaseLookupOutput":
        documents: list[JSONValue] = [
            {
                "id": as_text(number),
                "content": as_text(as_object(item.get("content")).get("text")),
                "metadata": {key: item[key] for key in ("location", "metadata") if item.get(key)},
            }
            for number, item in enumerate(as_objects(result.get("retrievedReferences")), 1)
        ]
        return {"documents": documents}
    if name == "agentCollaboratorInvocationOutput":
        return {"text": as_object(result.get("output")).get("text")}
    return first_member(result, "text", "executionOutput", "executionError")


def _times(metadata: JSONObject, step: RecordedStep, time: JSONValue) -> Span:
    """Return when a step began and ended, by what its output states, else by when its parts came."""
    start = parse_time(metadata.get("startTime"), step.key) or step.started_at
    end = parse_time(metadata.get("endTime"), step.key) or parse_time(time, step.key)
    return Span(start=start, end=end if not start or not end or end >= start else None)
