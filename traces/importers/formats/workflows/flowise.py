"""Flowise: answers of agentflows with the data of their nodes, and stored executions."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source
from traces.importers.formats.platforms.model_calls import add_call

FORMAT: Final = "flowise"
_RUN: Final = "flow"
_NODES: Final = ("agentFlowExecutedData", "executionData")
_REFUSAL: Final = "an answer of Flowise needs `agentFlowExecutedData`, an execution `executionData`"
_TYPES: Final = {
    "llmAgentflow": StepType.MODEL,
    "conditionAgentAgentflow": StepType.MODEL,
    "agentAgentflow": StepType.AGENT,
    "toolAgentflow": StepType.TOOL,
    "httpAgentflow": StepType.TOOL,
    "customFunctionAgentflow": StepType.TOOL,
    "executeFlowAgentflow": StepType.AGENT,
    "retrieverAgentflow": StepType.RETRIEVAL,
    "directReplyAgentflow": StepType.OUTPUT,
}
_NODE_FIELDS: Final = ("nodeId", "nodeLabel", "data", "previousNodeIds", "status")
_CALLS: Final = ("usedTools", "calledTools")


def is_flow(value: JSONValue) -> bool:
    """Return whether `value` is an answer or an execution with the data of its nodes, or a list of these."""
    body = as_object(first_item(value))
    return _is_flow(body) or any(_is_flow(item) for item in as_objects(body.get("data"))[:1])


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per answer or execution."""
    for record in source.records():
        for row, location in read_rows(
            record.value, record.location, holders=("data",), is_row=_is_flow, refusal=_REFUSAL
        ):
            yield _run(row, location)


def _nodes(flow: JSONObject) -> list[JSONObject]:
    return as_objects(parse_embedded(first_member(flow, *_NODES)))


def _is_flow(flow: JSONObject) -> bool:
    nodes = _nodes(flow)
    return bool(nodes) and {"nodeId", "data"} <= nodes[0].keys()


def _run(flow: JSONObject, location: str) -> RecordedRun:
    nodes = _nodes(flow)
    state = as_text(flow.get("state"))
    keys: dict[str, str] = {}
    steps: list[RecordedStep] = []
    for number, node in enumerate(nodes):
        id = as_text(node.get("nodeId"))
        # A loop runs a node again.
        key = f"{id}#{number}" if id in keys else id
        steps += _node_steps(node, key, keys, f"{location}/{number}")
        keys[id] = key
    failed = state in {"ERROR", "TIMEOUT", "TERMINATED"}
    root = build_step(
        SpanFacts(
            key=_RUN,
            name="agentflow",
            type=StepType.AGENT,
            times=parse_span(flow.get("createdDate"), flow.get("stoppedDate") or flow.get("updatedDate"), location),
            failed=failed,
            error=state if failed else "",
            input=flow.get("question"),
            output=flow.get("text"),
        )
    )
    return build_run(
        RunFacts(
            external_id=as_text(first_member(flow, "executionId", "chatMessageId", "id"))
            or f"{FORMAT}-{content_id(flow, location)}",
            app=FORMAT,
            format=FORMAT,
            failed=any(as_text(node.get("status")) == "ERROR" for node in nodes),
            has_ended=state not in {"INPROGRESS", "STOPPED"},
            metadata=omit(flow, *_NODES, "question", "text", "createdDate", "stoppedDate"),
        ),
        [root, *steps],
        location=location,
    )


def _node_steps(node: JSONObject, key: str, keys: dict[str, str], location: str) -> Iterator[RecordedStep]:
    """Yield the step of a node, and those of the model and the tools that an agent used."""
    data = as_object(node.get("data"))
    output, request = as_object(data.get("output")), data.get("input")
    status, kind = as_text(node.get("status")), as_text(data.get("name"))
    error = first_member(data, "error") or first_member(output, "error")
    calls = next((as_objects(output[name]) for name in _CALLS if has_list(output, name)), [])
    clock = as_object(output.get("timeMetadata"))
    facts = SpanFacts(
        key=key,
        name=as_text(node.get("nodeLabel")) or kind,
        type=_TYPES.get(kind, StepType.AGENT),
        times=parse_span(clock.get("start"), clock.get("end"), location),
        parent=_RUN,
        failed=status == "ERROR" or bool(error),
        error=as_text(first_member(as_object(error), "message") or error) or status,
        is_open=status in {"INPROGRESS", "STOPPED"},
        input=request,
        output=_result(output),
        links=tuple(keys[id] for id in map(as_text, as_list(node.get("previousNodeIds"))) if id in keys),
        attributes={
            name: item
            for name, item in {
                "node": kind,
                **omit(node, *_NODE_FIELDS),
                **omit(data, "id", "name", "input", "output", "error"),
                **omit(output, "content", "timeMetadata", "usageMetadata", *_CALLS),
            }.items()
            if item not in (None, "", [], {})
        },
    )
    usage = as_object(output.get("usageMetadata"))
    if facts.type is StepType.MODEL:
        yield build_step(_model_facts(facts, request, output, usage))
        return
    if usage:
        # Of all calls of the agent.
        facts.attributes["usage"] = usage
    yield build_step(facts)
    for number, call in enumerate(calls):
        yield _call(call, f"{key}.{number}", key)


def _result(output: JSONObject) -> JSONValue:
    return output.get("content", output or None)


def _model_facts(facts: SpanFacts, request: JSONValue, output: JSONObject, usage: JSONObject) -> SpanFacts:
    body = as_object(request)
    facts.input = {"messages": body.get("messages")} if has_list(body, "messages") else request
    calls = as_list(output.get("calledTools"))
    facts.output = (
        {"role": "assistant", "content": output.get("content"), "tool_calls": calls} if calls else facts.output
    )
    answer = as_object(output.get("responseMetadata"))
    model = first_member(answer, "model_name", "model") or member(body, "llmModelConfig", "modelName")
    return add_call(facts, settings={}, model=as_text(model), provider="", usage=usage)


def _call(call: JSONObject, key: str, parent: str) -> RecordedStep:
    error = as_text(call.get("error"))
    name = as_text(first_member(call, "tool", "name"))
    return build_step(
        SpanFacts(
            key=key,
            name=name,
            type=StepType.TOOL,
            times=parse_span(None, None, key),
            parent=parent,
            failed=bool(error),
            error=error,
            input=first_member(call, "toolInput", "args"),
            output=first_member(call, "toolOutput"),
            tool_name=name,
            call_id=as_text(call.get("id")),
            is_open="toolOutput" not in call,
            attributes=omit(call, "tool", "name", "toolInput", "args", "toolOutput", "error", "id"),
        )
    )
