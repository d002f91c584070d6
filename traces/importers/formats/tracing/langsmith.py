"""LangSmith runs: `/runs/batch` bodies, multipart bodies, and files of runs.

A post and its patches form one LangSmith run, which becomes a step. A LangSmith trace becomes a run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec import structs

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.messages import normalize_messages, result_text
from traces.importers.common.model_calls import (
    Usage,
    model_input,
    normalize_parameters,
    normalize_provider,
    normalize_request,
    normalize_usage,
    parse_cost,
    usage_details,
)
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    container_type,
    fit_judgements,
    match_calls,
    merge_records,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step, with_root_answer
from traces.importers.common.times import parse_span
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_list, require_object
from traces.importers.files.python_literals import parse_literal
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.chats.openai_items import (
    answer_details,
    normalize_client_answer,
    normalize_client_request,
)
from traces.importers.formats.tracing import langsmith_feedback
from traces.importers.formats.tracing.langsmith_feedback import FeedbackStates, to_judgements
from traces.importers.formats.tracing.langsmith_multipart import is_multipart, read_batch

FORMAT = "langsmith"
_TYPES: Final = {
    "llm": StepType.MODEL,
    "tool": StepType.TOOL,
    "retriever": StepType.RETRIEVAL,
    "embedding": StepType.RETRIEVAL,
    "prompt": StepType.PROMPT,
    "parser": StepType.VALIDATOR,
}
_EMBEDDING: Final = "embedding"
_MAPPED_FIELDS: Final = frozenset(
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
        "child_runs",
    }
)
_RESULT_FIELDS: Final = frozenset({"content", "tool_call_id", "type", "name", "status"})
_OBJECTS: Final = ("inputs", "outputs", "extra", "tags", "feedback_stats", "events", "serialized")
_INVOCATION: Final = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "max_completion_tokens",
    "stop",
    "seed",
    "n",
    "frequency_penalty",
    "presence_penalty",
    "reasoning_effort",
    "reasoning",
    "thinking",
    "tool_choice",
    "parallel_tool_calls",
)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace; its parts may be in different requests."""
    traces, feedback = _read_records(sources)
    run_ids = {key for runs in traces.values() for key in runs}
    by_run = langsmith_feedback.group_by_run(feedback.current, run_ids, sources)
    for trace_id, runs in traces.items():
        yield _run(trace_id, list(runs.values()), by_run)


def parse_arrivals(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace; those of which only feedback has arrived have no steps.

    A patch without its post, which has neither type nor start, is not a step yet.
    """
    traces, feedback = _read_records(sources)
    for trace_id in dict.fromkeys([*traces, *(_trace_of(record) for record in feedback.current)]):
        statements = [record for record in feedback.current if _trace_of(record) == trace_id]
        earlier = [record for record in feedback.earlier if _trace_of(record) == trace_id]
        runs = [run for run in traces.get(trace_id, {}).values() if run.get("run_type") or run.get("start_time")]
        if runs:
            run = _run(trace_id, runs, {})
            keys = [step.key for step in run.steps]
            yield replace(
                run,
                judgements=(*run.judgements, *fit_judgements(to_judgements(statements, keys[0]), keys)),
                retractions=fit_judgements(to_judgements(earlier, keys[0]), keys),
            )
        else:
            yield RecordedRun(
                external_id=trace_id,
                name=trace_id,
                app=FORMAT,
                format=FORMAT,
                steps=(),
                judgements=tuple(to_judgements(statements, trace_id)),
                retractions=tuple(to_judgements(earlier, trace_id)),
            )


def check_run(run: JSONObject) -> None:
    """Raise `BadFile` for the record of a run that cannot become a step."""
    if not as_text(run.get("id")):
        raise BadFile("a LangSmith run without an id", "/id")
    _step(run, "")


def keys(source: Source) -> set[str]:
    """Return the ids of the traces that have runs in a file."""
    records = parse_records([_prepare_json(source)], _validate_record)
    return {as_text(first_member(record, "trace_id", "run_id", "id")) for record in records}


def _read_records(sources: Sequence[Source]) -> tuple[dict[str, dict[str, JSONObject]], FeedbackStates]:
    """Return the runs by trace and id, and the feedback."""
    traces: dict[str, dict[str, JSONObject]] = {}
    feedback: list[JSONObject] = []
    records = list(parse_records([_prepare_json(source) for source in sources], _validate_record))
    homes = _homes(records)
    # The end of a run states what it was in the end, also if its request overtakes that of the beginning.
    for record in sorted(records, key=_has_end):
        if langsmith_feedback.is_feedback(record):
            run_id = as_text(record.get("run_id"))
            feedback.append({**record, "trace_id": _trace_of(record) if run_id not in homes else homes[run_id]})
            continue
        key = as_text(record["id"])
        steps = traces.setdefault(homes.get(key, key), {})
        steps[key] = merge_records(steps.get(key, {}), record)
    return traces, langsmith_feedback.apply_changes(feedback)


def _homes(records: Sequence[JSONObject]) -> dict[str, str]:
    """Return the traces of the runs that name their trace or their parent, which an excerpt may have alone."""
    homes = {as_text(record.get("id")): trace for record in records if (trace := as_text(record.get("trace_id")))}
    parents = {as_text(record.get("id")): as_text(record.get("parent_run_id")) for record in records}
    for key in parents:
        chain, last = {key}, key
        while last not in homes and (parent := parents[last]) in parents and parent not in chain:
            chain.add(parent)
            last = parent
        if len(chain) > 1:
            homes |= dict.fromkeys(chain, homes.get(last, last))
    return homes


def _has_end(record: JSONObject) -> bool:
    return record.get("end_time") is not None


def _trace_of(feedback: JSONObject) -> str:
    return as_text(first_member(feedback, "trace_id", "run_id"))


def _prepare_json(source: Source) -> Source:
    """Set the source's JSON value to the batch of a multipart body; leave other files unchanged."""
    if is_multipart(source.data):
        source.__dict__["is_lines"] = False
        try:
            source.__dict__["value"] = read_batch(source.data)
        except BadFile as problem:
            source.problems.append(problem)
            source.__dict__["value"] = {"post": []}
    return source


def _validate_record(value: JSONValue, location: str) -> Iterator[JSONObject]:
    for record, run_location in _records(value, location):
        if langsmith_feedback.is_feedback(record):
            yield record
            continue
        try:
            check_run(record)
        except BadFile as problem:
            raise BadFile(problem.problem, f"{run_location}{problem.where}") from problem
        yield record


def _records(value: JSONValue, location: str) -> Iterator[tuple[JSONObject, str]]:
    body = as_object(value)
    body = as_object(body.get("json")) or body
    if "post" in body or "patch" in body or body.keys() == {"feedback"}:
        for name in ("post", "patch", "feedback"):
            for index, item in enumerate(require_list(body.get(name) or [], f"{location}/{name}")):
                yield require_object(item, f"{location}/{name}/{index}"), f"{location}/{name}/{index}"
        return
    runs = first_member(body, "runs", "data") if not isinstance(value, list) else value
    for index, item in enumerate(runs if isinstance(runs, list) else [body]):
        run = _parse_members(require_object(item, f"{location}/{index}"))
        yield run, f"{location}/{index}"
        children = [_place_below(run, child) for child in as_list(run.get("child_runs"))]
        yield from _records(children, f"{location}/{index}/child_runs")


def _parse_members(run: JSONObject) -> JSONObject:
    """Return a run with its objects, which a bulk export contains as texts, and a data frame in Python's form."""
    members = {name: parse_literal(value) for name in _OBJECTS if isinstance(value := run.get(name), str)}
    return {**run, **members} if members else run


def _place_below(run: JSONObject, child: JSONValue) -> JSONValue:
    """Name the parent and the trace of a nested run, which older tracers show only by its place."""
    if not isinstance(child, dict) or child.get("dotted_order"):
        return child
    return {
        **child,
        "parent_run_id": first_member(child, "parent_run_id") or run.get("id"),
        "trace_id": first_member(child, "trace_id") or first_member(run, "trace_id", "id"),
    }


def _run(trace_id: str, runs: list[JSONObject], feedback: Mapping[str, list[JSONObject]]) -> RecordedRun:
    steps = sort_causally([_step(run, f"run {as_text(run['id'])}") for run in runs])
    by_id = {as_text(run["id"]): run for run in runs}
    root = by_id[steps[0].key]
    metadata = as_object(as_object(root.get("extra")).get("metadata"))
    project = as_text(first_member(root, "session_name") or metadata.get("LANGSMITH_PROJECT"))
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=app_name(project, root.get("name")) or FORMAT,
            format=FORMAT,
            name=as_text(root.get("name")),
            failed=bool(root.get("error")),
            has_ended=bool(root.get("end_time") or root.get("outputs") or root.get("error")),
            tags=[as_text(tag) for tag in as_list(root.get("tags"))],
            judgements=langsmith_feedback.read_judgements(runs, steps[0].key, feedback),
            metadata={
                "trace_name": root.get("name"),
                "session_id": first_member(metadata, "session_id", "thread_id", "conversation_id"),
                "user_id": metadata.get("user_id"),
                "reference_example_id": root.get("reference_example_id"),
            },
        ),
        with_root_answer(match_calls(steps)),
        location=f"trace {trace_id}",
    )


def _step(run: JSONObject, location: str) -> RecordedStep:
    name, run_type = as_text(run.get("name")), as_text(run.get("run_type"))
    kind = _TYPES.get(run_type) or container_type(name)
    inputs, outputs, error = run.get("inputs"), run.get("outputs"), as_text(run.get("error"))
    metadata = as_object(as_object(run.get("extra")).get("metadata"))
    attributes: JSONObject = {
        key: value for key, value in run.items() if key not in _MAPPED_FIELDS and value not in (None, "", [], {})
    }
    facts = SpanFacts(
        key=as_text(run.get("id")),
        name=name or run_type or "run",
        type=kind,
        parent=_parent(run),
        times=parse_span(run.get("start_time"), run.get("end_time"), location),
        failed=bool(error),
        error=error,
        is_open=not run.get("end_time") and not outputs,
        input=inputs or None,
        output=outputs or None,
        attributes=attributes,
        call_id=as_text(first_member(as_object(outputs), "tool_call_id")),
        # Of other runs that call no model, it is the sum of those inside them.
        usage=_counts(run, _usage(run, as_object(outputs), metadata), location) if run_type == _EMBEDDING else Usage(),
    )
    if kind is StepType.TOOL:
        facts = _tool(facts)
    return build_step(_model(facts, run, metadata, location) if kind is StepType.MODEL else facts)


def _tool(facts: SpanFacts) -> SpanFacts:
    """Read how LangChain records a tool: arguments as the text of an object, and the result as a message."""
    inputs, outputs = as_object(facts.input), as_object(facts.output)
    if inputs.keys() == {"input"} and isinstance(arguments := parse_literal(inputs["input"]), dict):
        facts.input = arguments
    message = as_object(outputs.get("output"))
    fields = as_object(message.get("kwargs")) if message.get("lc") == 1 else message
    if not {"content", "tool_call_id"} <= fields.keys():
        return facts
    other: JSONObject = {name: item for name, item in fields.items() if item and name not in _RESULT_FIELDS}
    has_failed = fields.get("status") == "error"
    return replace(
        facts,
        output={"output": fields["content"]},
        call_id=as_text(fields["tool_call_id"]),
        failed=facts.failed or has_failed,
        error=facts.error or (result_text(fields["content"]) if has_failed else ""),
        attributes={**facts.attributes, **({"result": other} if other else {})},
    )


def _model(facts: SpanFacts, run: JSONObject, metadata: JSONObject, location: str) -> SpanFacts:
    inputs, outputs = as_object(run.get("inputs")), as_object(run.get("outputs"))
    invocation = as_object(
        first_member(metadata, "ls_invocation_params")
        or as_object(as_object(run.get("extra")).get("invocation_params"))
    )
    model = as_text(
        first_member(inputs, "model")
        or first_member(metadata, "ls_model_name")
        or first_member(invocation, "model", "model_name")
        or as_object(outputs.get("llm_output")).get("model_name")
    )
    request = normalize_client_request(inputs) if inputs else model_input(normalize_messages(run.get("inputs")), [], {})
    sampling = normalize_parameters({name: invocation[name] for name in _INVOCATION if name in invocation})
    if parameters := {**sampling, **as_object(request.get("parameters"))}:
        request["parameters"] = parameters
    if tools := as_list(invocation.get("tools")):
        request.setdefault("tools", normalize_request({"tools": tools}).get("tools", []))
    usage = _usage(run, outputs, metadata)
    return replace(
        facts,
        attributes={**facts.attributes, **usage_details(usage), **answer_details(outputs)},
        request=request if as_list(request["messages"]) else None,
        # A model call that failed has an output of null.
        answer=normalize_client_answer(outputs if outputs != {"output": None} else None, _finish_reason(outputs)),
        model=model,
        provider=normalize_provider(metadata.get("ls_provider"), model),
        usage=_counts(run, usage, location),
    )


def _counts(run: JSONObject, usage: JSONObject, location: str) -> Usage:
    counts = normalize_usage(usage, f"{location}/usage_metadata")
    return (
        counts if counts.cost_usd is not None else structs.replace(counts, cost_usd=parse_cost(run.get("total_cost")))
    )


def _usage(run: JSONObject, outputs: JSONObject, metadata: JSONObject) -> JSONObject:
    """Return the most detailed usage: that of a message has cached tokens. Exported runs have the counts themselves."""
    return as_object(
        first_member(outputs, "usage_metadata", "usage")
        or metadata.get("usage_metadata")
        or first_member(_generated_message(outputs), "usage_metadata")
        or as_object(outputs.get("llm_output")).get("token_usage")
        or {name: run[name] for name in ("prompt_tokens", "completion_tokens") if run.get(name)}
    )


def _generated_message(outputs: JSONObject) -> JSONObject:
    """Return the fields of the message in LangChain's first generation."""
    generations = as_list(outputs.get("generations"))
    message = as_object(as_object(first_item(generations[0])).get("message")) if generations else {}
    return {**message, **as_object(message.get("kwargs"))}


def _finish_reason(outputs: JSONObject) -> str:
    """Return the reason in a message of LangChain whose generation states none; empty if unknown."""
    metadata = as_object(_generated_message(outputs).get("response_metadata"))
    return as_text(first_member(metadata, "finish_reason", "stop_reason", "stopReason", "done_reason"))


def _parent(run: JSONObject) -> str | None:
    """Return the explicit parent, else the second to last id of the dotted order."""
    if parent_id := as_text(run.get("parent_run_id")):
        return parent_id
    path = [part.split("Z", 1)[-1] for part in as_text(run.get("dotted_order")).split(".")]
    return path[-2] if len(path) > 1 else None
