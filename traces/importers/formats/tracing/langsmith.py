"""LangSmith runs: `/runs/batch` bodies, multipart bodies, and files of runs.

A post and its patches are one run of LangSmith's, which is a step; a trace of them is a run.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.messages import normalize_messages
from traces.importers.common.model_calls import (
    Usage,
    model_input,
    normalize_answer,
    normalize_parameters,
    normalize_provider,
    normalize_request,
    normalize_usage,
)
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    container_type,
    match_calls,
    merge_records,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, json_value, obj, require_list, require_object, text
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.tracing import langsmith_feedback

FORMAT = "langsmith"
_TYPES: Final = {
    "llm": StepType.MODEL,
    "tool": StepType.TOOL,
    "retriever": StepType.RETRIEVAL,
    "embedding": StepType.RETRIEVAL,
    "prompt": StepType.PROMPT,
    "parser": StepType.VALIDATOR,
}
_PART: Final = re.compile(r'name="(post|patch|attachment|feedback)\.([^".]+)(?:\.([^"]+))?"')
_MAPPED: Final = frozenset(
    {
        "id",
        "trace_id",
        "parent_run_id",
        "dotted_order",
        "name",
        "run_type",
        "inputs",
        "outputs",
        "error",
        "start_time",
        "end_time",
        "session_name",
        "session_id",
        "feedback_stats",
    }
)
_INVOCATION: Final = ("temperature", "top_p", "max_tokens", "stop", "seed", "frequency_penalty", "presence_penalty")


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """One run for each trace, whatever requests its parts came in."""
    traces: dict[str, dict[str, JSONObject]] = {}
    feedback: list[JSONObject] = []
    for given in parse_records([_in_json(source) for source in sources], _checked):
        if langsmith_feedback.is_feedback(given):
            feedback.append(given)
            continue
        steps = traces.setdefault(text(given["trace_id"]), {})
        key = text(given["id"])
        steps[key] = merge_records(steps.get(key, {}), given)
    by_run = langsmith_feedback.group_by_run(feedback, {key for known in traces.values() for key in known}, sources)
    for trace_id, known in traces.items():
        yield _run(trace_id, list(known.values()), by_run)


def keys(source: Source) -> set[str]:
    """The traces that have runs in a file."""
    return {text(given["trace_id"]) for given in parse_records([_in_json(source)], _checked)}


def is_multipart(head: bytes) -> bool:
    return head.startswith(b"--") and b'form-data; name="' in head[:2000]


def _in_json(source: Source) -> Source:
    """A multipart body as the batch that it stands for."""
    if is_multipart(source.data):
        source.__dict__["is_lines"] = False
        try:
            source.__dict__["value"] = _batch(source.data)
        except BadFile as problem:
            source.problems.append(problem)
            source.__dict__["value"] = {"post": []}
    return source


def _batch(data: bytes) -> JSONObject:
    """The parts of a multipart body put together; the boundary is its first line."""
    boundary = data.split(b"\n", 1)[0].rstrip(b"\r")
    if not data.rstrip().endswith(boundary + b"--"):
        raise BadFile("the multipart body ends before its last boundary", f"byte {len(data)}")
    found: dict[str, dict[str, JSONObject]] = {"post": {}, "patch": {}, "feedback": {}}
    at = 0
    for part in data.split(boundary):
        headers, _, body = part.partition(b"\r\n\r\n")
        if (match := _PART.search(headers.decode("latin-1"))) and match[1] in found:
            _place(found[match[1]].setdefault(match[2], {}), match[3], _part_value(body, at))
        at += len(part) + len(boundary)
    return {name: list(parts.values()) for name, parts in found.items()}


def _part_value(body: bytes, at: int) -> JSONValue:
    try:
        return json_value(body.removesuffix(b"\r\n"))
    except BadFile as problem:
        raise problem.prefix_location(f"the part at byte {at}") from problem


def _place(run: JSONObject, field: str | None, value: JSONValue) -> None:
    if field is None:
        run.update(obj(value))
    else:
        run[field] = value


def _checked(value: JSONValue, where: str) -> Iterator[JSONObject]:
    for given, place in _records(value, where):
        if langsmith_feedback.is_feedback(given):
            yield given
            continue
        if not text(given.get("id")):
            raise BadFile("a LangSmith run without an id", f"{place}/id")
        named = {**given, "trace_id": text(given.get("trace_id")) or text(given["id"])}
        _step(named, place)
        yield named


def _records(value: JSONValue, where: str) -> Iterator[tuple[JSONObject, str]]:
    body = obj(value)
    body = obj(body.get("json")) or body
    if "post" in body or "patch" in body:
        for name in ("post", "patch", "feedback"):
            for at, each in enumerate(require_list(body.get(name) or [], f"{where}/{name}")):
                yield require_object(each, f"{where}/{name}/{at}"), f"{where}/{name}/{at}"
        return
    listed = first(body, "runs", "data") if not isinstance(value, list) else value
    for at, each in enumerate(listed if isinstance(listed, list) else [body]):
        given = require_object(each, f"{where}/{at}")
        yield given, f"{where}/{at}"
        for child, (below, _) in enumerate(_records(items(given.get("child_runs")), f"{where}/{at}/child_runs")):
            yield below, f"{where}/{at}/child_runs/{child}"


def _run(trace_id: str, given: list[JSONObject], feedback: Mapping[str, list[JSONObject]]) -> RecordedRun:
    steps = sort_causally([_step(each, f"run {text(each['id'])}") for each in given], location=f"trace {trace_id}")
    by_id = {text(each["id"]): each for each in given}
    root = by_id[steps[0].key]
    metadata = obj(obj(root.get("extra")).get("metadata"))
    project = text(first(root, "session_name") or metadata.get("LANGSMITH_PROJECT"))
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=app_name(project, root.get("name")) or FORMAT,
            format=FORMAT,
            name=text(root.get("name")),
            failed=bool(root.get("error")),
            tags=[text(tag) for tag in items(root.get("tags"))],
            judgements=langsmith_feedback.read_judgements(given, steps[0].key, feedback),
            metadata={
                "trace_name": root.get("name"),
                "session_id": metadata.get("session_id"),
                "reference_example_id": root.get("reference_example_id"),
            },
        ),
        match_calls(steps),
        location=f"trace {trace_id}",
    )


def _step(given: JSONObject, where: str) -> RecordedStep:
    name, run_type = text(given.get("name")), text(given.get("run_type"))
    kind = _TYPES.get(run_type) or container_type(name)
    inputs, outputs, error = given.get("inputs"), given.get("outputs"), text(given.get("error"))
    metadata = obj(obj(given.get("extra")).get("metadata"))
    attributes: JSONObject = {
        key: value for key, value in given.items() if key not in _MAPPED and value not in (None, "", [], {})
    }
    facts = SpanFacts(
        key=text(given.get("id")),
        name=name or run_type or "run",
        type=kind,
        parent=_parent(given),
        times=parse_span(given.get("start_time"), given.get("end_time"), where),
        failed=bool(error),
        error=error,
        is_open=not given.get("end_time") and not outputs,
        input=inputs or None,
        output=outputs or None,
        attributes=attributes,
        call_id=text(first(obj(outputs), "tool_call_id")),
    )
    return build_step(_model(facts, given, metadata, where) if kind is StepType.MODEL else facts)


def _model(facts: SpanFacts, given: JSONObject, metadata: JSONObject, where: str) -> SpanFacts:
    inputs, outputs = obj(given.get("inputs")), obj(given.get("outputs"))
    invocation = obj(first(metadata, "ls_invocation_params") or obj(obj(given.get("extra")).get("invocation_params")))
    model = text(first(inputs, "model") or first(metadata, "ls_model_name") or first(invocation, "model", "model_name"))
    request = normalize_request(inputs) if inputs else model_input(normalize_messages(given.get("inputs")), [], {})
    sampling = normalize_parameters({name: invocation[name] for name in _INVOCATION if name in invocation})
    if merged := {**sampling, **obj(request.get("parameters"))}:
        request["parameters"] = merged
    if tools := items(invocation.get("tools")):
        request.setdefault("tools", normalize_request({"tools": tools}).get("tools", []))
    usage = obj(
        first(outputs, "usage_metadata", "usage")
        or metadata.get("usage_metadata")
        or obj(obj(outputs.get("llm_output")).get("token_usage"))
    )
    counted: Usage = normalize_usage(usage, f"{where}/usage_metadata")
    return replace(
        facts,
        request=request if items(request["messages"]) else None,
        answer=normalize_answer(outputs),
        model=model,
        provider=normalize_provider(metadata.get("ls_provider"), model),
        usage=counted,
    )


def _parent(given: JSONObject) -> str | None:
    """The parent by name, else the last but one in the dotted order."""
    if named := text(given.get("parent_run_id")):
        return named
    path = [part.split("Z", 1)[-1] for part in text(given.get("dotted_order")).split(".")]
    return path[-2] if len(path) > 1 else None
