"""Weights & Biases Weave: calls, as its API and its exports write them. An operation is a call's function."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    is_number,
    member,
    other_members,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import result_text
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    called_tool_names,
    container_type,
    match_calls,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call, add_cost, find_outer_spans, is_request

FORMAT: Final = "weave"
# Also what the Holistic Agent Leaderboard writes.
_HOLDERS: Final = ("calls", "data", "raw_logging_results")
# Its verdicts, and where they are added to the calls of a task.
_VERDICTS: Final = ("successful_tasks", "failed_tasks")
_EVALUATION: Final = "evaluation"
_KINDS: Final = {
    "llm": StepType.MODEL,
    "tool": StepType.TOOL,
    "search": StepType.RETRIEVAL,
    "scorer": StepType.VALIDATOR,
}
_CLIENT: Final = re.compile(
    r"\.(?:completions\.create|completion|messages\.create|responses\.create|generate_content)$"
)
_OPERATION: Final = re.compile(r"^weave:///[^/]+/[^/]+/op/(.+?)(?::[^:/]+)?$")
_TOKEN_KINDS: Final = ("prompt", "completion")
# What Weave adds to the arguments of a method or a client.
_NOT_ARGUMENTS: Final = frozenset({"self"})
_FIELDS: Final = frozenset(
    {"id", "trace_id", "parent_id", "project_id", "started_at", "ended_at", "inputs", "output", "exception", "summary"}
    | {_EVALUATION}
)


def is_export(value: JSONValue) -> bool:
    """Return True if `value` is a call, or a list of calls."""
    body = as_object(first_item(value))
    if {"op_name", "trace_id", "started_at"} <= body.keys():
        return "inputs" in body
    return any(has_list(body, name) and bool(body[name]) and is_export(body[name]) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace; the calls of a benchmark's task, which may be traces of their own, are one run."""
    groups: dict[tuple[str, ...], dict[str, JSONObject]] = {}
    for call in parse_records(sources, _read):
        groups.setdefault(_group(call), {})[as_text(call["id"])] = call
    for calls in groups.values():
        try:
            yield _run(calls)
        except BadFile as problem:
            sources[-1].problems.append(problem)


def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield calls; raise `BadFile` for one that cannot become a step."""
    refusal = "a call of Weave needs `id` and `trace_id`"
    results = as_object(as_object(value).get("results"))
    verdicts = {as_text(task): name == "successful_tasks" for name in _VERDICTS for task in as_list(results.get(name))}
    config = as_object(as_object(value).get("config"))
    for call, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_call, refusal=refusal):
        _step(call, place)
        yield {**call, _EVALUATION: {"config": config, "success": verdicts.get(_task(call))}}


def _group(call: JSONObject) -> tuple[str, ...]:
    """Return what the calls of a run have in common."""
    run = as_text(member(call, _EVALUATION, "config", "run_id"))
    return (run, as_text(call.get("project_id")), task) if (task := _task(call)) else (as_text(call["trace_id"]),)


def _task(call: JSONObject) -> str:
    """Return the task of a benchmark to which a call belongs; empty if there is none."""
    return as_text(first_member(call, "weave_task_id") or member(call, "attributes", "weave_task_id"))


def _is_call(body: JSONObject) -> bool:
    return bool(as_text(body.get("id")) and as_text(body.get("trace_id")))


def _run(calls: dict[str, JSONObject]) -> RecordedRun:
    model_ids = [key for key, call in calls.items() if _type(call) is StepType.MODEL]
    outer_ids = find_outer_spans({key: as_text(call.get("parent_id")) for key, call in calls.items()}, model_ids)
    tool_names = called_tool_names(_step(calls[key], f"call {key}").output for key in model_ids)
    recorded_steps = [
        _step(call, f"call {key}", tool_names=tool_names, is_outer=key in outer_ids) for key, call in calls.items()
    ]
    steps = match_calls(sort_causally(recorded_steps))
    root = calls[steps[0].key]
    trace_id, evaluation = as_text(root["trace_id"]), as_object(root[_EVALUATION])
    verdicts = [judgement("success", evaluation["success"])] if evaluation["success"] is not None else []
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=app_name(as_text(root.get("project_id")).rpartition("/")[2]) or FORMAT,
            format=FORMAT,
            name=as_text(root.get("display_name")) or _operation(root),
            failed=bool(root.get("exception")),
            metadata={
                **{name: root.get(name) for name in ("project_id", "thread_id", "wb_run_id")},
                "weave_task_id": _task(root),
                "config": evaluation["config"],
            },
            judgements=[*verdicts, *(score for key, call in calls.items() for score in _feedback(call, key))],
        ),
        steps,
        location=f"trace {trace_id}",
    )


def _operation(call: JSONObject) -> str:
    name = as_text(call.get("op_name"))
    match = _OPERATION.match(name)
    return match[1] if match else name


def _type(call: JSONObject) -> StepType | None:
    kind = as_text(member(call, "attributes", "weave", "kind"))
    if kind in _KINDS:
        return _KINDS[kind]
    is_known = bool(_CLIENT.search(_operation(call)) or _usage(call))
    is_chat = has_list(call.get("inputs"), "messages") and has_list(call.get("output"), "choices")
    return StepType.MODEL if is_chat or (is_known and is_request(call.get("inputs"))) else None


def _usage(call: JSONObject) -> JSONObject:
    """Return the token counts of a call, by model; a container has the sums of its calls."""
    return as_object(member(call, "summary", "usage"))


def _step(
    call: JSONObject, location: str, *, tool_names: frozenset[str] = frozenset(), is_outer: bool = False
) -> RecordedStep:
    """Build the step of a call; `is_outer` calls contain model calls."""
    name, error, type = _operation(call), call.get("exception"), _type(call)
    type = None if is_outer and type is StepType.MODEL else type
    inputs = call.get("inputs")
    if isinstance(inputs, dict):
        inputs = {key: item for key, item in inputs.items() if key not in _NOT_ARGUMENTS}
    short_name = name.rpartition(".")[2]
    facts = SpanFacts(
        key=as_text(call.get("id")),
        name=name or "call",
        type=type or (StepType.TOOL if short_name in tool_names else container_type(name)),
        parent=as_text(call.get("parent_id")) or None,
        times=parse_span(call.get("started_at"), call.get("ended_at"), location),
        failed=bool(error),
        is_open=not call.get("ended_at"),
        error=result_text(error) if error else "",
        input=inputs,
        output=call.get("output"),
        tool_name=short_name,
        attributes=other_members(call, _FIELDS),
    )
    if facts.type is StepType.MODEL:
        usage = as_object(next(iter(_usage(call).values()), None))
        # Only the answer itself tells how many tokens were cached.
        answer_usage = as_object(as_object(call.get("output")).get("usage"))
        counts = {**answer_usage, **{key: item for key, item in usage.items() if key != "requests"}}
        facts = add_call(facts, settings={}, model="", provider=None, usage=counts)
        facts = add_cost(facts, _cost(call))
    return build_step(facts)


def _cost(call: JSONObject) -> float:
    """Return the cost of a call, which Weave estimates by model."""
    costs = as_object(member(call, "summary", "weave", "costs"))
    amounts = [
        model.get(f"{kind}_tokens_total_cost") for model in map(as_object, costs.values()) for kind in _TOKEN_KINDS
    ]
    return sum(amount for amount in amounts if is_number(amount))


def _feedback(call: JSONObject, step: str) -> Iterator[RecordedJudgement]:
    """Yield the notes, reactions and scores that people and scorers gave to a call."""
    for item in as_objects(member(call, "summary", "weave", "feedback")):
        payload = as_object(item.get("payload"))
        value = first_member(payload, "note", "emoji", "value", "output")
        name = as_text(item.get("feedback_type")) or "feedback"
        scores = as_object(value)
        # The output of a scorer is a number, or an object of these.
        is_scores = bool(scores) and all(isinstance(score, bool | int | float) for score in scores.values())
        statements = (
            {f"{name}.{key}": score for key, score in scores.items()}
            if is_scores
            else {name: payload if value is None else value}
        )
        for score_name, score in statements.items():
            yield judgement(
                score_name,
                score,
                author=as_text(first_member(item, "creator", "wb_user_id")),
                at=parse_time(item.get("created_at"), "feedback"),
                step=step,
            )
