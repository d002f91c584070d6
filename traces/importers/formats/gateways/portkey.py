"""Portkey: logs of requests as its exports and its API have them. The requests of a trace are one run.

{"id", "trace_id", "created_at", "request": {…}, "response": {…}, "ai_org", "ai_model", "req_units", "cost", …}

An export has only the requested columns. Bodies are in `request.body` or in `request`, as objects or texts.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_list, other_members
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, StepStatus, StepType
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import parse_cost
from traces.importers.common.run_builder import RunFacts, build_run, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, add_milliseconds, parse_time
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.rows import group_rows, read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.chats.openai_items import answer_details
from traces.importers.formats.platforms.model_calls import add_call, add_cost

FORMAT: Final = "portkey"
_HOLDERS: Final = ("data", "logs")
_COLUMNS: Final = frozenset(
    {"ai_org", "ai_model", "is_success", "req_units", "res_units", "total_units", "cost_currency"}
    | {"response_status_code", "prompt_slug", "cache_status"}
)
_REFUSAL: Final = "a log of Portkey needs columns such as `ai_model`, `ai_org` and `is_success`"
_FIELDS: Final = frozenset(
    {"id", "trace_id", "span_id", "parent_span_id", "created_at", "request", "request.body", "response"}
    | {"response.body", "is_success", "ai_org", "ai_model", "req_units", "res_units", "total_units", "cost"}
    | {"cost_currency", "metadata", "weighted_feedback"}
)
_HOOKS: Final = ("before_request_hooks", "after_request_hooks")
_FAILURES: Final = (False, 0, "0", "false", "False")
_CENTS: Final = 100


def is_log(value: JSONValue) -> bool:
    """Return whether `value` is a logged request, or a list of these."""
    body = as_object(first_item(value))
    return _is_row(body) or any(has_list(body, name) and is_log(body[name]) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace, and per request outside of traces."""
    traces = group_rows(parse_records(sources, _read), run_of=_trace_id, id_of=_key)
    for trace_id, rows in traces.items():
        yield _run(trace_id, rows)


def _is_row(body: JSONObject) -> bool:
    return len(_COLUMNS & body.keys()) > 1


def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield requests; raise `BadFile` for one that cannot become a step."""
    for row, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_row, refusal=_REFUSAL):
        row = row if as_text(row.get("id")) else {**row, "id": f"{FORMAT}-{content_id(row, place)}"}
        _step(row, None, place)
        yield row


def _trace_id(row: JSONObject) -> str:
    return as_text(row.get("trace_id"))


def _key(row: JSONObject) -> str:
    return as_text(row["id"])


def _run(trace_id: str, rows: dict[str, JSONObject]) -> RecordedRun:
    spans = {as_text(row.get("span_id")): key for key, row in rows.items() if row.get("span_id")}
    steps = sort_causally([_step(row, spans.get(_parent(row)), f"request {key}") for key, row in rows.items()])
    metadata = [as_object(parse_embedded(row.get("metadata"))) for row in rows.values()]
    labels: JSONObject = {name: item for body in metadata for name, item in body.items()}
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=FORMAT,
            format=FORMAT,
            environment=as_text(first_member(labels, "_environment", "environment")),
            # A request that failed may have been made again.
            has_succeeded=steps[-1].status is StepStatus.OK,
            metadata={"user": labels.get("_user"), "metadata": labels},
            judgements=[score for key, row in rows.items() for score in _judgements(row, key)],
        ),
        steps,
        location=f"trace {trace_id}",
    )


def _parent(row: JSONObject) -> str:
    return as_text(row.get("parent_span_id"))


def _body(row: JSONObject, name: str) -> JSONValue:
    """Return the body of the request or the response, without the headers that may be around it."""
    value = parse_embedded(first_member(row, f"{name}.body", name))
    holder = as_object(value)
    return parse_embedded(holder["body"]) if "body" in holder else value


def _step(row: JSONObject, parent: str | None, location: str) -> RecordedStep:
    start = parse_time(row.get("created_at"), f"{location}/created_at")
    request, response = _body(row, "request"), _body(row, "response")
    answer, model = as_object(response), as_text(row.get("ai_model"))
    error = _error(row, answer)
    metadata = as_object(parse_embedded(row.get("metadata")))
    usage: JSONObject = {"prompt_tokens": row.get("req_units"), "completion_tokens": row.get("res_units")}
    facts = SpanFacts(
        key=_key(row),
        name=model or "model",
        type=StepType.MODEL,
        parent=parent,
        times=Span(start=start, end=add_milliseconds(start, row.get("response_time"))),
        failed=bool(error),
        error=error,
        input=request,
        output=None if error else response,
        attributes={
            **other_members(row, _FIELDS),
            **({"metadata": metadata} if metadata else {}),
            **({"parent_span_id": _parent(row)} if _parent(row) and parent is None else {}),
            **answer_details(response),
            **({"hook_results": answer["hook_results"]} if answer.get("hook_results") else {}),
        },
    )
    facts = add_call(
        facts, settings={}, model=model, provider=row.get("ai_org"), usage=as_object(answer.get("usage")) or usage
    )
    return build_step(add_cost(facts, _cost(row)))


def _error(row: JSONObject, answer: JSONObject) -> str:
    """Return why a request failed; empty if it did not."""
    status, detail = row.get("response_status_code"), answer.get("error")
    is_failed = row.get("is_success") in _FAILURES if "is_success" in row else bool(detail) and "choices" not in answer
    if not is_failed and not (isinstance(status, int) and status >= 400):
        return ""
    message = as_text(first_member(as_object(detail), "message", "type")) or as_text(detail)
    return message or as_text(answer.get("message")) or (f"status {as_text(status)}" if status else "failed")


def _cost(row: JSONObject) -> JSONValue:
    """Return the cost in dollars: Portkey exports cents."""
    cents = parse_cost(row.get("cost"))
    return None if cents is None else str(Decimal(cents) / _CENTS)


def _judgements(row: JSONObject, step: str) -> Iterator[RecordedJudgement]:
    """Yield the feedback for a request, and the verdicts of its guardrails."""
    feedback = row.get("weighted_feedback")
    if isinstance(feedback, int | float) and not isinstance(feedback, bool):
        yield RecordedJudgement(name="feedback", kind=JudgementKind.SCORE, value=float(feedback), step=step)
    results = as_object(as_object(_body(row, "response")).get("hook_results"))
    for hook in (hook for name in _HOOKS for hook in as_objects(results.get(name))):
        if isinstance(verdict := hook.get("verdict"), bool):
            kind = JudgementKind.PASS if verdict else JudgementKind.FAIL
            yield RecordedJudgement(name=as_text(hook.get("id")) or "guardrail", kind=kind, step=step)
