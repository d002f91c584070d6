"""Vellum: events of executions of workflows, as its SDK emits them and its API lists them with the spans.

    {"name": "node.execution.fulfilled", "span_id", "trace_id", "parent": {"span_id", …}, "body": {"outputs", …}, …}

An execution is a span with a begin and an end. Requests of models are not in the events.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.run_builder import RunFacts, app_name, build_run, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source, parse_records

FORMAT: Final = "vellum"
_MARK: Final = ".execution."
_BEGIN: Final = "initiated"
_ENDS: Final = frozenset({"fulfilled", "rejected"})
# Parts of what an end has.
_SILENT: Final = frozenset({"streaming", "snapshotted"})
_DEFINITIONS: Final = ("workflow_definition", "node_definition")
_READ_FIELDS: Final = ("inputs", "outputs", "error", "stacktrace", *_DEFINITIONS)


@dataclass(kw_only=True)
class _Execution:
    """The events of an execution of a workflow or node."""

    location: str
    name: str = ""
    trace: str = ""
    parent: str = ""
    start: JSONValue = None
    end: JSONValue = None
    body: JSONObject = field(default_factory=dict)
    is_rejected: bool = False
    is_workflow: bool = False


def is_export(value: JSONValue) -> bool:
    """Return whether `value` is an event, a list of events, or an execution or a page of these with their spans."""
    body = as_object(first_item(value))
    if _is_event(body) or _is_event(as_object(first_item(as_object(first_item(body.get("spans"))).get("events")))):
        return True
    return has_list(body, "results") and bool(body["results"]) and is_export(body["results"])


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per execution of a workflow that no other execution in the file contains."""
    executions: dict[str, _Execution] = {}
    for event, location in parse_records([source], _read):
        _add(executions.setdefault(as_text(event["span_id"]), _Execution(location=location)), event)
    roots = {key: key for key, execution in executions.items() if execution.parent not in executions}
    for key in executions:
        _find_root(key, executions, roots)
    for root in dict.fromkeys(roots.values()):
        yield _run(root, {key: item for key, item in executions.items() if roots[key] == root})


def _is_event(body: JSONObject) -> bool:
    return _MARK in as_text(body.get("name")) and {"span_id", "trace_id", "body"} <= body.keys()


def _read(value: JSONValue, location: str) -> Iterator[tuple[JSONObject, str]]:
    body = as_object(value)
    if _is_event(body):
        parse_time(body.get("timestamp"), f"{location}/timestamp")
        yield body, location
        return
    name = next((name for name in ("results", "spans", "events") if has_list(body, name)), "")
    if not isinstance(value, list) and not name:
        raise BadFile("neither an event of Vellum nor an execution with its spans", location or "/")
    for index, item in enumerate(value if isinstance(value, list) else as_list(body[name])):
        yield from _read(item, f"{location}/{name}/{index}" if name else f"{location}/{index}")


def _add(execution: _Execution, event: JSONObject) -> None:
    kind, _, state = as_text(event["name"]).partition(_MARK)
    body, time = as_object(event["body"]), event.get("timestamp")
    definition = as_object(first_member(body, *_DEFINITIONS))
    execution.name = as_text(definition.get("name")) or execution.name or kind
    execution.trace = as_text(event["trace_id"])
    execution.is_workflow = kind == "workflow"
    execution.parent = as_text(as_object(event.get("parent")).get("span_id")) or execution.parent
    if state == _BEGIN:
        execution.start = time
    if state in _ENDS:
        execution.end, execution.is_rejected = time, state == "rejected"
    if state not in _SILENT:
        execution.body |= {name: item for name, item in body.items() if item is not None}


def _find_root(key: str, executions: dict[str, _Execution], roots: dict[str, str]) -> None:
    """Note the outermost execution around one. Those of a cycle are their own."""
    path: dict[str, None] = {}
    while key not in roots and key not in path:
        path[key] = None
        key = executions[key].parent
    roots.update(dict.fromkeys(path, roots.get(key, key)))


def _run(root: str, executions: dict[str, _Execution]) -> RecordedRun:
    first = executions[root]
    containers = {execution.parent for execution in executions.values()}
    steps = sort_causally([_step(key, execution, executions, containers) for key, execution in executions.items()])
    inputs = as_object(first.body.get("inputs"))
    return build_run(
        RunFacts(
            external_id=root,
            app=app_name(first.name) or FORMAT,
            format=FORMAT,
            name=next((value for value in inputs.values() if isinstance(value, str)), ""),
            failed=first.is_rejected,
            has_ended=first.end is not None,
            metadata={"trace_id": first.trace, "parent_span_id": first.parent},
        ),
        steps,
        location=first.location,
    )


def _step(key: str, execution: _Execution, executions: dict[str, _Execution], containers: set[str]) -> RecordedStep:
    body = execution.body
    error = as_object(body.get("error"))
    facts: JSONObject = {"error": omit(error, "message"), "stacktrace": body.get("stacktrace")}
    definition = as_object(first_member(body, *_DEFINITIONS))
    attributes = {**facts, **omit(body, *_READ_FIELDS), "definition": omit(definition, "name")}
    return build_step(
        SpanFacts(
            key=key,
            name=execution.name,
            type=StepType.AGENT if execution.is_workflow or key in containers else StepType.TOOL,
            times=parse_span(execution.start, execution.end, execution.location),
            parent=execution.parent if execution.parent in executions and execution.parent != key else None,
            failed=execution.is_rejected,
            error=as_text(error.get("message")) or "rejected",
            is_open=execution.end is None,
            input=body.get("inputs"),
            output=body.get("outputs"),
            attributes={name: item for name, item in attributes.items() if item not in (None, "", {}, [])},
        )
    )
