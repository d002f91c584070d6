"""Helicone: logged requests with their responses. The requests of a session are one run, any other is its own."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from traces.core.json_access import (
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    has_object,
    member,
    omit,
    other_members,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run, match_calls, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.errors import BadFile
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.chats.openai_items import answer_details
from traces.importers.formats.platforms.model_calls import add_call, add_cost
from traces.importers.formats.streams.joined_answers import join_events

FORMAT: Final = "helicone"
_HOLDERS: Final = ("data",)
_NO_BODIES: Final = (
    "these requests of Helicone have no bodies, which are behind `signed_body_url`: export them with their bodies"
)
_PROPERTIES: Final = ("request_properties", "properties")
_SESSION: Final = "Helicone-Session-Id"
# Of calls that programs log themselves.
_KINDS: Final = {"tool": StepType.TOOL, "vector_db": StepType.RETRIEVAL, "data": StepType.TOOL}
_MARKS: Final = ("_type", "toolName", "status")
_FIELDS: Final = frozenset(
    {"request_id", "request_body", "response_body", "request_created_at", "response_created_at", "response_model"}
    | {"model", "request_model", "provider", "prompt_tokens", "completion_tokens", "total_tokens", "cost", "costUSD"}
    | {"cost_usd", "scores", "request_feedback", "feedback_rating", "request_user_id", "user_id", *_PROPERTIES}
)


def is_log(value: JSONValue) -> bool:
    """Return True if `value` is a logged request, or a list of these."""
    body = as_object(first_item(value))
    if "request_id" in body:
        return has_object(body, "request_body") or "response_body" in body or "signed_body_url" in body
    return has_list(body, "data") and bool(body["data"]) and is_log(body["data"])


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per session, and per request outside of sessions."""
    sessions: dict[str, dict[str, JSONObject]] = {}
    for row in parse_records(sources, _read):
        id = as_text(row["request_id"])
        sessions.setdefault(as_text(_properties(row).get(_SESSION)) or id, {})[id] = row
    requests = [row for rows in sessions.values() for row in rows.values()]
    if requests and not any(row.get("request_body") or row.get("response_body") for row in requests):
        sources[-1].problems.append(BadFile(_NO_BODIES, f"request {as_text(requests[0]['request_id'])}"))
        return
    for session_id, rows in sessions.items():
        yield _run(session_id, list(rows.values()))


def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield requests; raise `BadFile` for one that cannot become a step."""
    refusal = "a request of Helicone needs `request_id`"
    for row, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_request, refusal=refusal):
        _step(row, place)
        yield row


def _is_request(body: JSONObject) -> bool:
    return bool(as_text(body.get("request_id")))


def _properties(row: JSONObject) -> JSONObject:
    return as_object(first_member(row, *_PROPERTIES))


def _run(session_id: str, rows: list[JSONObject]) -> RecordedRun:
    steps = match_calls(sort_causally([_step(row, f"request {as_text(row['request_id'])}") for row in rows]))
    properties = _properties(rows[0])
    return build_run(
        RunFacts(
            external_id=session_id,
            app=as_text(properties.get("Helicone-Session-Name")) or FORMAT,
            format=FORMAT,
            metadata={
                "user_id": first_member(rows[0], "request_user_id", "user_id"),
                "properties": properties,
            },
            judgements=[score for row in rows for score in _scores(row)],
        ),
        steps,
        location=f"session {session_id}",
    )


def _step(row: JSONObject, location: str) -> RecordedStep:
    request, response = as_object(row.get("request_body")), _answer(as_object(row.get("response_body")))
    status, step_type = row.get("response_status"), _KINDS.get(as_text(request.get("_type")), StepType.MODEL)
    is_failed = (isinstance(status, int) and status >= 400) or response.get("status") == "error"
    detail = as_object(response.get("error"))
    model = as_text(first_member(row, "response_model", "model", "request_model"))
    facts = SpanFacts(
        key=as_text(row.get("request_id")),
        name=model or "model",
        type=step_type,
        times=parse_span(row.get("request_created_at"), row.get("response_created_at"), location),
        failed=is_failed,
        error=as_text(first_member({**response, **detail}, "message")) or f"status {as_text(status)}",
        input=row.get("request_body") or None,
        output=None if is_failed else response or row.get("response_body") or None,
        attributes={
            **other_members(row, _FIELDS),
            **({"properties": properties} if (properties := _properties(row)) else {}),
            **answer_details(response),
        },
    )
    if step_type is not StepType.MODEL:
        return build_step(_tool_facts(facts, request, response))
    usage = as_object(response.get("usage")) or {
        name: row[name] for name in ("prompt_tokens", "completion_tokens") if row.get(name)
    }
    if cached := row.get("prompt_cache_read_tokens"):
        usage = {"prompt_tokens_details": {"cached_tokens": cached}, **usage}
    provider = as_text(row.get("provider")).lower()
    return build_step(
        add_cost(
            add_call(facts, settings={}, model=model, provider=provider, usage=usage),
            first_member(row, "cost", "costUSD", "cost_usd"),
        )
    )


def _answer(body: JSONObject) -> JSONObject:
    """Return the body of a response; one that Helicone could not join has only the events of its stream."""
    events = as_objects(body.get("streamed_data"))
    if not body.keys().isdisjoint({"choices", "content", "candidates", "output"}):
        # The events say the same again.
        return omit(body, "streamed_data")
    return (join_events(events) or body) if events else body


def _tool_facts(facts: SpanFacts, request: JSONObject, response: JSONObject) -> SpanFacts:
    """Return the facts of a call that a program logged beside those of models: of a tool, a store or anything else."""
    name = as_text(first_member(request, "toolName", "name", "databaseName", "operation"))
    fields = omit(request, *_MARKS)
    results = omit(response, *_MARKS)
    is_search = facts.type is StepType.RETRIEVAL
    return replace(
        facts,
        name=name or facts.name,
        tool_name=name,
        input={**omit(fields, "text"), "query": request.get("text")} if is_search else fields.get("input", fields),
        output=results if facts.output is not None and results else None,
    )


def _scores(row: JSONObject) -> Iterator[RecordedJudgement]:
    step = as_text(row.get("request_id"))
    for name, value in as_object(row.get("scores")).items():
        value = as_object(value).get("value", value)
        yield judgement(name, value, step=step)
    rating = member(row, "request_feedback", "rating")
    rating = row.get("feedback_rating") if rating is None else rating
    if isinstance(rating, bool):
        kind = JudgementKind.PASS if rating else JudgementKind.FAIL
        yield RecordedJudgement(name="feedback", kind=kind, step=step)
