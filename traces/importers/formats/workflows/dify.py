"""Dify: executions of a workflow's nodes, and the events of a run.

The API returns the executions of one run as a list; the events of a run, one per line, contain the same records.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_list, as_number, as_object, as_objects, as_text, first_member, has_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_answer
from traces.importers.common.run_builder import RunFacts, build_run, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, add_milliseconds, parse_time
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call, add_cost
from traces.importers.formats.workflows import dify_messages

FORMAT: Final = "dify"
_REFUSAL: Final = "neither an execution of a node of Dify, nor an event of a run, nor a message"
_NODE: Final = frozenset({"node_type", "node_id", "title", "status"})
_NODE_FIELDS: Final = _NODE | {"id", "index", "inputs", "outputs", "error", "elapsed_time", "created_at", "finished_at"}
_NODE_EVENTS: Final = frozenset({"node_finished", "iteration_completed", "loop_completed"})
_RUN_EVENTS: Final = frozenset({"workflow_started", "workflow_finished"})
_EVENTS: Final = (
    _NODE_EVENTS
    | _RUN_EVENTS
    | {"node_started", "node_retry", "iteration_started", "iteration_next", "loop_started", "loop_next", "text_chunk"}
    | {"message", "message_end", "ping", "agent_log", "tts_message", "tts_message_end", "error"}
)
_MODELS: Final = frozenset({"llm", "question-classifier", "parameter-extractor"})
_TYPES: Final = {
    **dict.fromkeys(_MODELS, StepType.MODEL),
    "knowledge-retrieval": StepType.RETRIEVAL,
    "tool": StepType.TOOL,
    "http-request": StepType.TOOL,
    "code": StepType.TOOL,
    "datasource": StepType.TOOL,
    "template-transform": StepType.PROMPT,
    "answer": StepType.OUTPUT,
    "end": StepType.OUTPUT,
}
_RUN: Final = "run"
# What contains other nodes, by the member of an execution's metadata that names it.
_CONTAINERS: Final = ("iteration_id", "loop_id")
_EMPTY: Final[tuple[JSONValue, ...]] = (None, "", [], {}, False)


@dataclass(kw_only=True)
class _Run:
    id: str
    facts: JSONObject = field(default_factory=dict)
    nodes: dict[str, JSONObject] = field(default_factory=dict)
    location: str = ""


def is_export(value: JSONValue) -> bool:
    """Return whether `value` is an execution of a node, an event of a run, a message, or a page of these."""
    body = as_object(first_item(value))
    if _is_node(body) or _is_event(body) or dify_messages.is_message(body):
        return True
    return has_list(body, "data") and bool(body["data"]) and is_export(body["data"])


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per workflow run, and per conversation."""
    runs: dict[str, _Run] = {}
    messages: list[tuple[JSONObject, str]] = []
    for source in sources:
        for row, location in parse_records([source], _read):
            if dify_messages.is_message(row):
                messages.append((row, location))
                continue
            id = as_text(row.get("workflow_run_id"))
            # Executions do not name their run: those of a list are one.
            group = id or f"{source.name}:{location.rpartition('/')[0]}"
            _add(runs.setdefault(group, _Run(id=id, location=location)), row)
    for run in runs.values():
        yield _build(run)
    yield from dify_messages.build_runs(messages)


def _read(value: JSONValue, location: str) -> Iterator[tuple[JSONObject, str]]:
    """Yield rows; raise `BadFile` for one that cannot become a step."""

    def is_row(body: JSONObject) -> bool:
        return _is_node(body) or _is_event(body) or dify_messages.is_message(body)

    for row, place in read_rows(value, location, holders=("data",), is_row=is_row, refusal=_REFUSAL):
        if _is_node(row):
            _step(row, {}, {}, place)
        yield row, place


def _is_node(body: JSONObject) -> bool:
    return body.keys() >= _NODE


def _is_event(body: JSONObject) -> bool:
    return as_text(body.get("event")) in _EVENTS and not body.keys().isdisjoint({"workflow_run_id", "task_id"})


def _add(run: _Run, row: JSONObject) -> None:
    """Add an execution or an event to its run. Parts of texts and starts of nodes are in what follows them."""
    event, data = as_text(row.get("event")), as_object(row.get("data"))
    if event in _RUN_EVENTS:
        run.facts |= {**omit(row, "data", "event", "created_at"), **data}
    elif event == "error":
        run.facts |= {"status": "failed", "error": row.get("message")}
    elif event in _NODE_EVENTS:
        run.nodes[_key(data)] = data
    elif not event:
        run.nodes[_key(row)] = row


def _key(node: JSONObject) -> str:
    return as_text(first_member(node, "id", "node_id"))


def _build(run: _Run) -> RecordedRun:
    facts, earlier_keys = run.facts, dict[str, str]()
    nodes = sorted(run.nodes.values(), key=lambda node: as_number(node.get("index")) or 0)
    containers = {as_text(node.get("node_id")): _key(node) for node in nodes}
    steps: list[RecordedStep] = []
    for node in nodes:
        steps.append(_step(node, containers, earlier_keys, f"node {_key(node)}"))
        earlier_keys[as_text(node.get("node_id"))] = _key(node)
    external_id = run.id or f"{FORMAT}-{content_id([*run.nodes.values()], run.location)}"
    if facts:
        root = _root(facts, external_id)
        steps = [root, *(step if step.parent else replace(step, parent=root.key) for step in steps)]
    return build_run(
        RunFacts(
            external_id=external_id,
            app=FORMAT,
            format=FORMAT,
            failed=_has_failed(facts),
            has_ended=not facts or "status" in facts,
            metadata=omit(facts, "inputs", "outputs", "status", "error", "created_at", "finished_at"),
        ),
        sort_causally(steps),
        location=run.location,
    )


def _root(facts: JSONObject, id: str) -> RecordedStep:
    return build_step(
        SpanFacts(
            key=_RUN,
            name="workflow",
            type=StepType.AGENT,
            times=_times(facts, f"run {id}"),
            failed=_has_failed(facts),
            error=as_text(facts.get("error")) or as_text(facts.get("status")),
            input=facts.get("inputs"),
            output=facts.get("outputs"),
        )
    )


def _has_failed(record: JSONObject) -> bool:
    return as_text(record.get("status")) in {"failed", "exception", "stopped"}


def _times(record: JSONObject, location: str) -> Span:
    """Return start and end. The recorded ones are whole seconds; the elapsed time is exact."""
    start = parse_time(record.get("created_at"), location)
    seconds = as_number(record.get("elapsed_time"))
    end = add_milliseconds(start, seconds * 1000) if seconds is not None else None
    return Span(start=start, end=end or parse_time(record.get("finished_at"), location))


def _step(node: JSONObject, containers: dict[str, str], earlier_keys: dict[str, str], location: str) -> RecordedStep:
    """Build the step of a node. In a loop, a node is executed again: it follows what was executed before it."""
    kind, metadata = as_text(node.get("node_type")), as_object(node.get("execution_metadata"))
    process, outputs = as_object(node.get("process_data")), as_object(node.get("outputs"))
    container = next((as_text(name) for field in _CONTAINERS if (name := _member(node, metadata, field))), "")
    tool = as_object(metadata.get("tool_info"))
    facts = SpanFacts(
        key=_key(node),
        name=as_text(node.get("title")) or kind,
        type=_TYPES.get(kind, StepType.AGENT),
        times=_times(node, location),
        parent=containers.get(container),
        failed=_has_failed(node),
        error=as_text(node.get("error")) or as_text(node.get("status")),
        input=node.get("inputs"),
        output=node.get("outputs"),
        tool_name=as_text(tool.get("tool_name")),
        links=_links(node, earlier_keys),
        attributes={name: item for name, item in node.items() if name not in _NODE_FIELDS and item not in _EMPTY}
        | {"node_type": kind, "node_id": node.get("node_id")},
    )
    if kind == "knowledge-retrieval":
        facts.output = {"documents": as_list(outputs.get("result"))}
    return build_step(_model_facts(facts, process, outputs, metadata) if kind in _MODELS else facts)


def _member(node: JSONObject, metadata: JSONObject, name: str) -> JSONValue:
    return first_member(node, name) or first_member(metadata, name)


def _links(node: JSONObject, earlier_keys: dict[str, str]) -> tuple[str, ...]:
    previous = earlier_keys.get(as_text(node.get("predecessor_node_id")))
    return (previous,) if previous else ()


def _model_facts(facts: SpanFacts, process: JSONObject, outputs: JSONObject, metadata: JSONObject) -> SpanFacts:
    """Return the facts of a node that calls a model: its prompts are in what the node processed."""
    prompts: list[JSONValue] = [
        {"role": prompt.get("role"), "content": _content(prompt)} for prompt in as_objects(process.get("prompts"))
    ]
    usage = as_object(outputs.get("usage")) or as_object(process.get("usage"))
    inputs, output = facts.input, facts.output
    facts.input = {"messages": prompts} if prompts else None
    facts.output = _answer(outputs)
    facts.attributes = {
        **facts.attributes,
        "process_data": omit(process, "prompts", "usage"),
        **({"inputs": inputs} if inputs else {}),
        **({"outputs": output} if outputs.keys() - {"text", "usage", "finish_reason"} else {}),
    }
    facts = add_call(
        facts,
        settings={},
        model=as_text(process.get("model_name")),
        provider=as_text(process.get("model_provider")).rpartition("/")[2],
        usage=usage,
    )
    facts.answer = normalize_answer(facts.output, as_text(outputs.get("finish_reason")))
    prices = usage if "total_price" in usage else metadata
    if as_text(prices.get("currency") or "USD") == "USD":
        return add_cost(facts, prices.get("total_price"))
    return replace(facts, attributes={**facts.attributes, "usage": prices})


def _content(prompt: JSONObject) -> JSONValue:
    """Return the text of a prompt, with its files if there are any."""
    text, files = prompt.get("text"), as_list(prompt.get("files"))
    return [{"type": "text", "text": text}, *files] if files else text


def _answer(outputs: JSONObject) -> JSONValue:
    """Return what the model answered: its text, or what a classifier or extractor made of it."""
    rest = omit(outputs, "text", "usage", "finish_reason")
    return outputs["text"] if as_text(outputs.get("text")) else (rest or None)
