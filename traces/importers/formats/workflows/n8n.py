"""n8n: executions of workflows with the data of each node's runs.

    data.resultData.runData: {"AI Agent": [{"startTime", "executionTime", "source", "data", "inputOverride"?, …}]}

A node that serves another, such as the model of an agent, returns its data to it by a connection `ai_…`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_integer, as_list, as_object, as_objects, as_text, first_member, member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, build_run, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, add_milliseconds, parse_span, parse_time
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source
from traces.importers.formats.platforms.model_calls import add_call
from traces.importers.formats.workflows.buffer_strings import parse_buffer

FORMAT: Final = "n8n"
_EXECUTION: Final = "execution"
_REFUSAL: Final = "an execution of n8n needs `data.resultData.runData`: export it with the data of its nodes"
_MAIN: Final = "main"
# How a node serves another.
_CONNECTIONS: Final = {
    "ai_languageModel": StepType.MODEL,
    "ai_tool": StepType.TOOL,
    "ai_retriever": StepType.RETRIEVAL,
    "ai_vectorStore": StepType.RETRIEVAL,
    "ai_embedding": StepType.RETRIEVAL,
}
_AGENTS: Final = (".agent", ".chain", "trigger", ".webhook", "textclassifier", "text-classifier", "sentimentanalysis")
_RUN_FIELDS: Final = ("startTime", "executionTime", "executionStatus", "executionIndex", "data", "inputOverride")


def is_execution(value: JSONValue) -> bool:
    """Return whether `value` is an execution, or a page or list of these."""
    body = as_object(first_item(value))
    return bool(_run_data(body)) or any(bool(_run_data(item)) for item in as_objects(body.get("data"))[:1])


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per execution."""
    for record in source.records():
        rows = read_rows(
            record.value, record.location, holders=("data",), is_row=lambda row: bool(_run_data(row)), refusal=_REFUSAL
        )
        for row, location in rows:
            yield _run(row, location)


def _run_data(execution: JSONObject) -> JSONObject:
    result = as_object(first_member(as_object(execution.get("data")), "resultData") or execution.get("resultData"))
    return as_object(result.get("runData"))


def _run(execution: JSONObject, location: str) -> RecordedRun:
    run_data, workflow = _run_data(execution), as_object(execution.get("workflowData"))
    result = as_object(member(execution, "data", "resultData") or execution.get("resultData"))
    targets = _targets(as_object(workflow.get("connections")))
    nodes = {as_text(node.get("name")): node for node in as_objects(workflow.get("nodes"))}
    status = as_text(execution.get("status"))
    error = as_object(result.get("error"))
    steps = [
        _step(name, number, run, nodes.get(name, {}), targets.get(name, ""), f"{location}/{name}/{number}")
        for name, runs in run_data.items()
        for number, run in enumerate(as_objects(runs))
    ]
    root = build_step(
        SpanFacts(
            key=_EXECUTION,
            name=as_text(workflow.get("name")) or "workflow",
            type=StepType.AGENT,
            times=parse_span(execution.get("startedAt"), execution.get("stoppedAt"), location),
            failed=bool(error) or status in {"error", "crashed"},
            error=as_text(error.get("message")) or status,
            input=_request(run_data),
            attributes={"error": error} if error else {},
        )
    )
    keys = {step.key for step in steps}
    children = [_place(step, keys) for step in steps]
    return build_run(
        RunFacts(
            external_id=as_text(execution.get("id")) or f"{FORMAT}-{content_id(execution, location)}",
            app=as_text(workflow.get("name")) or FORMAT,
            format=FORMAT,
            has_ended=(status not in {"running", "waiting", "new"} and execution.get("finished") is not False)
            or bool(error),
            metadata={
                **omit(execution, "id", "data", "workflowData", "resultData", "startedAt", "stoppedAt"),
                "lastNodeExecuted": result.get("lastNodeExecuted"),
            },
        ),
        sort_causally([root, *children]),
        location=location,
    )


def _request(run_data: JSONObject) -> JSONValue:
    """Return what the user wrote in a chat, if a chat started the execution."""
    for runs in run_data.values():
        for run in as_objects(runs)[:1]:
            text = as_text(as_object(_items(run, _MAIN)).get("chatInput"))
            if text and not any(as_objects(run.get("source"))):
                return {"messages": [{"role": "user", "content": text}]}
    return None


def _targets(connections: JSONObject) -> dict[str, str]:
    """Return which node each node serves."""
    targets: dict[str, str] = {}
    for name, outlets in connections.items():
        for kind, branches in as_object(outlets).items():
            for branch in as_list(branches):
                for link in as_objects(branch):
                    if kind != _MAIN:
                        targets.setdefault(name, as_text(link.get("node")))
    return targets


def _step(name: str, number: int, run: JSONObject, node: JSONObject, target: str, location: str) -> RecordedStep:
    kind = next((kind for kind in as_object(run.get("data")) if kind != _MAIN), "")
    kind = kind or next(iter(as_object(run.get("inputOverride"))), "")
    sources = [
        _key(as_text(source.get("previousNode")), as_integer(source.get("previousNodeRun")) or 0)
        for source in as_objects(run.get("source"))
    ]
    serves_node = kind.startswith("ai_")
    parent = next(iter(sources), _key(target, 0) if target else None) if serves_node else None
    error = as_object(run.get("error"))
    start = parse_time(run.get("startTime"), location)
    type = _CONNECTIONS.get(kind) or _type_of(as_text(node.get("type")), kind)
    facts = SpanFacts(
        key=_key(name, number),
        name=name,
        type=type,
        times=Span(start=start, end=add_milliseconds(start, run.get("executionTime"))),
        parent=parent,
        failed=bool(error) or run.get("executionStatus") in ("error", "crashed"),
        error=as_text(error.get("message")) or as_text(run.get("executionStatus")),
        input=_items({"data": run.get("inputOverride")}, kind) if run.get("inputOverride") else None,
        output=_items(run, kind or _MAIN),
        links=() if serves_node else tuple(sources),
        attributes={
            key: item
            for key, item in {
                "node": node.get("type"),
                # Once for each node: a loop may run it many times.
                "parameters": node.get("parameters") if number == 0 else None,
                **omit(run, *_RUN_FIELDS, "source", "hints"),
            }.items()
            if item not in (None, "", [], {})
        },
    )
    if type is StepType.TOOL and serves_node:
        facts.input, facts.output = _only(facts.input, "query"), _only(facts.output, "response")
    return build_step(_model_facts(facts) if type is StepType.MODEL else facts)


def _place(step: RecordedStep, keys: set[str]) -> RecordedStep:
    """Put a step below what it serves, or below the execution."""
    return replace(step, parent=step.parent if step.parent in keys else _EXECUTION)


def _key(name: str, number: int) -> str:
    return f"{name}#{number}"


def _type_of(node_type: str, kind: str) -> StepType:
    """Return the type of a node that is no model or tool of another: an agent, a chain or a memory, else an action."""
    words = node_type.lower()
    return StepType.AGENT if kind.startswith("ai_") or any(word in words for word in _AGENTS) else StepType.TOOL


def _items(run: JSONObject, kind: str) -> JSONValue:
    """Return what a node returned: the values of its items by branch; without lists around a single one."""
    branches = [
        [_value(item) for item in as_objects(branch)] for branch in as_list(as_object(run.get("data")).get(kind))
    ]
    contents = [branch for branch in branches if branch]
    if len(branches) > 1 and contents:
        return {"branches": [[*branch] for branch in branches]}
    items = contents[0] if contents else []
    return items[0] if len(items) == 1 else ([*items] or None)


def _value(item: JSONObject) -> JSONValue:
    rest = omit(item, "json", "pairedItem", "executionStatus")
    return {**item, "json": item.get("json")} if any(rest.values()) else item.get("json")


def _only(value: JSONValue, name: str) -> JSONValue:
    """Return the member of an object that has no other; arguments may also be its text."""
    body = as_object(value)
    return body[name] if body.keys() == {name} and (name != "query" or as_object(body[name])) else value


def _model_facts(facts: SpanFacts) -> SpanFacts:
    request, result = as_object(facts.input), as_object(facts.output)
    # Without secrets and other objects that LangChain describes instead of writing them.
    settings = as_object(request.get("options"))
    options = {name: item for name, item in settings.items() if "lc" not in settings and "lc" not in as_object(item)}
    messages: list[JSONValue] = []
    for message in as_list(request.get("messages")):
        messages += parse_buffer(message) if isinstance(message, str) else [message]
    if request:
        facts.input = {**options, "messages": messages}
    generation = as_object(first_item(member(result, "response", "generations")))
    information = as_object(generation.get("generationInfo"))
    facts.output = first_member(result, "response") or facts.output
    if "text" in generation and "message" not in generation:
        # Of an answer with calls only, the text is empty.
        facts.output = {"role": "assistant", "content": generation["text"] or None, **information}
    details = {
        "estimatedTokens": request.get("estimatedTokens"),
        **omit(result, "response", "tokenUsage"),
        **information,
    }
    facts.attributes = {**facts.attributes, **{name: item for name, item in details.items() if item}}
    model = first_member(options, "model", "model_name", "modelName", "deploymentName")
    return add_call(
        facts,
        settings={},
        model=as_text(first_member(information, "model_name") or model),
        provider="",
        usage=as_object(result.get("tokenUsage")),
    )
