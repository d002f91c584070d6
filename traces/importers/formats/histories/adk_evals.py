"""Evaluations of the Agent Development Kit: the conversations of an eval set, and results with what agents did."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, is_number, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind
from traces.importers.common.judgements import judgement
from traces.importers.files.source import Source
from traces.importers.formats.histories import adk

_CASES: Final = ("eval_cases", "evalCases")
_RESULTS: Final = ("eval_case_results", "evalCaseResults")
_STATUSES: Final = {1: JudgementKind.PASS, 2: JudgementKind.FAIL, 3: JudgementKind.NOT_RUN}
_AGENT: Final = "agent"


def is_evaluation(value: JSONValue) -> bool:
    """Return whether `value` is an eval set or its results."""
    body = as_object(value)
    return any(has_list(body, name) for name in (*_CASES, *_RESULTS))


def is_file(value: JSONValue) -> bool:
    """Return whether `value` is an evaluation or has sessions."""
    return adk.is_session(value) or is_evaluation(value)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per case of a set, or per result; else one per session."""
    if source.documents or source.is_lines or not is_evaluation(source.value):
        yield from adk.parse(source)
    else:
        yield from _cases(as_object(source.value))


def _cases(body: JSONObject) -> Iterator[RecordedRun]:
    set_id = as_text(first_member(body, "eval_set_result_id", "evalSetResultId", "eval_set_id", "evalSetId"))
    for number, case in enumerate(as_objects(first_member(body, *_CASES, *_RESULTS))):
        case_id = as_text(first_member(case, "eval_id", "evalId")) or str(number)
        run = _run(case, f"/{number}")
        yield replace(
            run,
            external_id="/".join(part for part in (set_id, case_id) if part),
            tags=(*run.tags, *([f"eval:{case_id}"] if case_id else [])),
            metadata={**run.metadata, "eval_set_id": set_id, "eval_id": case_id},
            judgements=tuple(_judgements(case)),
        )


def _run(case: JSONObject, location: str) -> RecordedRun:
    """Build the run of a case from the session of its result, or from its invocations."""
    session = as_object(first_member(case, "session_details", "sessionDetails"))
    if has_list(session, "events") and session["events"]:
        return adk.build_session(session, as_list(session["events"]), location)
    results = as_objects(first_member(case, "eval_metric_result_per_invocation", "evalMetricResultPerInvocation"))
    invocations = as_objects(case.get("conversation")) or [
        as_object(first_member(result, "actual_invocation", "actualInvocation")) for result in results
    ]
    events = [event for invocation in invocations for event in _events(invocation)]
    inputs = as_object(first_member(case, "session_input", "sessionInput"))
    return adk.build_session(inputs, [*events], location)


def _events(invocation: JSONObject) -> Iterator[JSONObject]:
    """Yield an invocation as events. In which order its calls and texts came is not recorded."""
    base: JSONObject = {
        "invocation_id": first_member(invocation, "invocation_id", "invocationId"),
        "timestamp": first_member(invocation, "creation_timestamp", "creationTimestamp"),
    }
    steps = as_object(first_member(invocation, "intermediate_data", "intermediateData"))
    yield {**base, "author": "user", "content": first_member(invocation, "user_content", "userContent")}
    calls: list[JSONValue] = [{"functionCall": call} for call in as_list(first_member(steps, "tool_uses", "toolUses"))]
    if calls:
        yield {**base, "author": _AGENT, "content": {"role": "model", "parts": calls}}
    results: list[JSONValue] = [
        {"functionResponse": result} for result in as_list(first_member(steps, "tool_responses", "toolResponses"))
    ]
    if results:
        yield {**base, "author": _AGENT, "content": {"role": "user", "parts": results}}
    for event in as_objects(first_member(steps, "invocation_events", "invocationEvents")):
        yield {**base, **event}
    for response in as_list(first_member(steps, "intermediate_responses", "intermediateResponses")):
        author, parts = (response[0], response[1]) if isinstance(response, list) and len(response) > 1 else ("", None)
        yield {**base, "author": author or _AGENT, "content": {"role": "model", "parts": parts}}
    answer = as_object(first_member(invocation, "final_response", "finalResponse"))
    if any(part for parts in as_objects(answer.get("parts")) for part in parts.values()):
        yield {**base, "author": _AGENT, "content": answer}


def _judgements(case: JSONObject) -> Iterator[RecordedJudgement]:
    status = first_member(case, "final_eval_status", "finalEvalStatus")
    if isinstance(status, int) and status in _STATUSES:
        yield RecordedJudgement(name="eval", kind=_STATUSES[status])
    for result in as_objects(first_member(case, "overall_eval_metric_results", "overallEvalMetricResults")):
        score, threshold = result.get("score"), member(result, "threshold")
        if is_number(score):
            yield judgement(
                as_text(first_member(result, "metric_name", "metricName")),
                score,
                detail={"threshold": threshold, "details": result.get("details")},
            )
