"""Helicone: logged requests with their responses. The requests of a session are one run, any other is its own."""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, has_list, has_object, member, other_members
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call, add_cost

FORMAT: Final = "helicone"
_HOLDERS: Final = ("data",)
_PROPERTIES: Final = ("request_properties", "properties")
_SESSION: Final = "Helicone-Session-Id"
_FIELDS: Final = frozenset(
    {"request_id", "request_body", "response_body", "request_created_at", "response_created_at", "response_model"}
    | {"model", "request_model", "provider", "prompt_tokens", "completion_tokens", "total_tokens", "cost", "costUSD"}
    | {"cost_usd", "scores", "request_feedback", "feedback_rating", "request_user_id", "user_id", *_PROPERTIES}
)


def is_log(value: JSONValue) -> bool:
    """Return True if `value` is a logged request, or a list of these."""
    body = as_object(first_item(value))
    if "request_id" in body:
        return has_object(body, "request_body") or "response_body" in body
    return has_list(body, "data") and bool(body["data"]) and is_log(body["data"])


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per session, and per request outside of sessions."""
    sessions: dict[str, dict[str, JSONObject]] = {}
    for row in parse_records(sources, _read):
        id = as_text(row["request_id"])
        sessions.setdefault(as_text(_properties(row).get(_SESSION)) or id, {})[id] = row
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
    steps = sort_causally([_step(row, f"request {as_text(row['request_id'])}") for row in rows])
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
    response, status = as_object(row.get("response_body")), row.get("response_status")
    is_failed = isinstance(status, int) and status >= 400
    detail = as_object(response.get("error"))
    model = as_text(first_member(row, "response_model", "model", "request_model"))
    facts = SpanFacts(
        key=as_text(row.get("request_id")),
        name=model or "model",
        type=StepType.MODEL,
        times=parse_span(row.get("request_created_at"), row.get("response_created_at"), location),
        failed=is_failed,
        error=as_text(detail.get("message")) or f"status {as_text(status)}",
        input=row.get("request_body"),
        output=None if is_failed else row.get("response_body"),
        attributes={
            **other_members(row, _FIELDS),
            **({"properties": properties} if (properties := _properties(row)) else {}),
        },
    )
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
