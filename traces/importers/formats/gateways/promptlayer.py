"""PromptLayer: requests as its API returns them, and as programs log them. The requests of a trace are one run.

returned    {"request_id", "prompt_blueprint": {"prompt_template", "metadata"}, "provider", "model", "price", …}
logged      {"provider", "model", "input": template, "output": template, "request_start_time", …}
template    {"type": "chat", "messages", "tools"} | {"type": "completion", "content"}

Of a returned request, the last message is the answer if a model wrote it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_object,
    omit,
    other_members,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.rows import group_rows, read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call, add_cost

FORMAT: Final = "promptlayer"
_HOLDERS: Final = ("requests", "data", "items")
_TEMPLATES: Final = frozenset({"chat", "completion"})
_REFUSAL: Final = "a request of PromptLayer needs a `prompt_blueprint`, or `input` and `output`"
_FIELDS: Final = frozenset(
    {"success", "request_id", "id", "trace_id", "prompt_blueprint", "input", "output", "provider", "model", "tags"}
    | {"input_tokens", "output_tokens", "tokens", "price", "request_start_time", "request_end_time", "latency_ms"}
    | {"metadata", "score", "parameters", "error_message"}
)


def is_log(value: JSONValue) -> bool:
    """Return whether `value` is a request, or a list of these."""
    body = as_object(first_item(value))
    return _is_row(body) or any(_is_row(as_object(first_item(body.get(name)))) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace, and per request outside of traces."""
    traces = group_rows(parse_records(sources, _read), run_of=_trace_id, id_of=_key)
    for trace_id, rows in traces.items():
        yield _run(trace_id, rows)


def _is_row(body: JSONObject) -> bool:
    if has_object(body.get("prompt_blueprint"), "prompt_template"):
        return True
    kind = as_text(as_object(body.get("input")).get("type"))
    return kind in _TEMPLATES and {"provider", "model", "request_start_time"} <= body.keys()


def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield requests; raise `BadFile` for one that cannot become a step."""
    for row, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_row, refusal=_REFUSAL):
        id = as_text(first_member(row, "request_id", "id")) or f"{FORMAT}-{content_id(row, place)}"
        row = {**row, "request_id": id}
        _step(row, place)
        yield row


def _trace_id(row: JSONObject) -> str:
    return as_text(row.get("trace_id"))


def _key(row: JSONObject) -> str:
    return as_text(row["request_id"])


def _run(trace_id: str, rows: dict[str, JSONObject]) -> RecordedRun:
    steps = sort_causally([_step(row, f"request {key}") for key, row in rows.items()])
    metadata: JSONObject = {
        name: item for row in rows.values() for name, item in as_object(row.get("metadata")).items()
    }
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=FORMAT,
            format=FORMAT,
            # A request that failed may have been made again.
            has_succeeded=steps[-1].status is StepStatus.OK,
            tags=[as_text(tag) for row in rows.values() for tag in as_list(row.get("tags"))],
            metadata={"metadata": metadata},
            judgements=[score for key, row in rows.items() for score in _scores(row, key)],
        ),
        steps,
        location=f"trace {trace_id}",
    )


def _step(row: JSONObject, location: str) -> RecordedStep:
    blueprint = as_object(row.get("prompt_blueprint"))
    template = as_object(row.get("input")) or as_object(blueprint.get("prompt_template"))
    details = as_object(blueprint.get("metadata"))
    messages = _messages(template)
    answer = next(reversed(_messages(as_object(row.get("output")))), {})
    if blueprint and messages and messages[-1].get("role") == "assistant":
        answer = messages.pop()
    model = as_text(row.get("model"))
    error = as_text(row.get("error_message")) or ("error" if row.get("status") == "ERROR" else "")
    choice: JSONObject = {"message": {**answer, "role": "assistant"}}
    facts = SpanFacts(
        key=_key(row),
        name=model or "model",
        type=StepType.MODEL,
        times=parse_span(row.get("request_start_time"), row.get("request_end_time"), location),
        failed=bool(error),
        error=error,
        input={"messages": [*messages]},
        output={"choices": [choice]} if answer else None,
        attributes={
            **other_members(row, _FIELDS),
            **other_members(blueprint, frozenset({"prompt_template", "metadata"})),
            **omit(details, "model"),
        },
    )
    usage: JSONObject = {"input_tokens": row.get("input_tokens"), "output_tokens": row.get("output_tokens")}
    settings: JSONObject = {
        **as_object(as_object(details.get("model")).get("parameters")),
        **as_object(row.get("parameters")),
        **{name: template[name] for name in ("tools", "functions", "tool_choice") if template.get(name)},
    }
    facts = add_call(facts, settings=settings, model=model, provider=row.get("provider"), usage=usage)
    return build_step(add_cost(facts, row.get("price")))


def _messages(template: JSONObject) -> list[JSONObject]:
    """Return the messages of a template; a completion is one of the user."""
    if template.get("type") == "completion":
        return [{"role": "user", "content": template["content"]}] if template.get("content") else []
    return as_objects(template.get("messages"))


def _scores(row: JSONObject, step: str) -> Iterator[RecordedJudgement]:
    if row.get("score") is not None:
        yield judgement("score", row["score"], step=step)
