"""LiteLLM: calls through its proxy, as its loggers store them and as its database has them (spend logs).

The calls of a trace or session are one run, any other is its own. A log without messages has only counts and costs.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, has_list, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.run_builder import RunFacts, build_run, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.rows import group_rows, read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call, add_cost

FORMAT: Final = "litellm"
_HOLDERS: Final = ("data", "logs", "spend_logs")
_CALL: Final = frozenset({"call_type", "startTime", "endTime"})
_COUNTS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")
_KNOWN_FIELDS: Final = frozenset(
    {"id", "request_id", "trace_id", "session_id", "messages", "response", "model", "startTime", "endTime", "spend"}
    | {"response_cost", "status", "error_str", "model_parameters", "proxy_server_request", "custom_llm_provider"}
    | {*_COUNTS}
)
# The hash of a user's key says nothing about the call.
_HIDDEN: Final = frozenset({"api_key", "cache_key"})


def is_log(value: JSONValue) -> bool:
    """Return True if `value` is a logged call, or a list of these."""
    body = as_object(first_item(value))
    if _is_call(body):
        return True
    return any(has_list(body, name) and bool(body[name]) and is_log(body[name]) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace or session."""
    runs = group_rows(parse_records(sources, _read), run_of=_run_id, id_of=_id)
    for id, rows in runs.items():
        yield _run(id, list(rows.values()))


def _is_call(body: JSONObject) -> bool:
    return body.keys() >= _CALL and bool(_id(body)) and not body.keys().isdisjoint({"spend", "response_cost"})


def _run_id(row: JSONObject) -> str:
    return as_text(first_member(row, "trace_id", "session_id"))


def _id(row: JSONObject) -> str:
    return as_text(first_member(row, "request_id", "id"))


def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield calls; raise `BadFile` for one that cannot become a step."""
    refusal = "a call of LiteLLM needs an id, `call_type`, `startTime` and `endTime`"
    for row, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_call, refusal=refusal):
        _step(row, place)
        yield row


def _run(id: str, rows: list[JSONObject]) -> RecordedRun:
    steps = sort_causally([_step(row, f"request {_id(row)}") for row in rows])
    first = next(row for row in rows if _id(row) == steps[0].key)
    return build_run(
        RunFacts(
            external_id=id,
            app=FORMAT,
            format=FORMAT,
            # A call that failed may have been made again.
            has_succeeded=steps[-1].status is StepStatus.OK,
            tags=[as_text(tag) for tag in _tags(first)],
            metadata={
                "end_user": first.get("end_user"),
                "user": first_member(first, "user") or as_object(first.get("model_parameters")).get("user"),
            },
        ),
        steps,
        location=f"trace {id}",
    )


def _tags(row: JSONObject) -> list[JSONValue]:
    tags = parse_embedded(row.get("request_tags"))
    return tags if isinstance(tags, list) else []


def _step(row: JSONObject, location: str) -> RecordedStep:
    metadata = as_object(parse_embedded(row.get("metadata")))
    # The body of the request has the tools; a spend log has the messages only there or in `messages`.
    body = as_object(parse_embedded(row.get("proxy_server_request")))
    messages, response = parse_embedded(row.get("messages")), parse_embedded(row.get("response"))
    request: JSONObject = {**body, **({"messages": messages} if messages else {})}
    is_failed = first_member(row, "status") == "failure" or metadata.get("status") == "failure"
    error = as_object(first_member({**metadata, **row}, "error_information"))
    model = as_text(row.get("model"))
    facts = SpanFacts(
        key=_id(row),
        name=model or "model",
        type=StepType.MODEL,
        times=parse_span(row.get("startTime"), row.get("endTime"), location),
        failed=is_failed,
        error=as_text(first_member({**row, **error}, "error_str", "error_message", "error_class")) or "error",
        input=request or None,
        output=response if response and not is_failed else None,
        attributes={
            name: item
            for name, item in row.items()
            if name not in _KNOWN_FIELDS and name not in _HIDDEN and item not in (None, "", [], {}, "[]", "{}")
        },
    )
    usage: JSONObject = {name: row[name] for name in _COUNTS if row.get(name)}
    recorded_usage = as_object(as_object(response).get("usage"))
    cached = member(metadata, "usage_object", "prompt_tokens_details")
    details: JSONObject = {"prompt_tokens_details": cached} if cached else {}
    return build_step(
        add_cost(
            add_call(
                facts,
                settings=as_object(row.get("model_parameters")),
                model=model.rpartition("/")[2],
                provider=row.get("custom_llm_provider"),
                usage={**details, **(recorded_usage or usage)},
            ),
            first_member(row, "response_cost", "spend"),
        )
    )
