"""Output items of runs of OpenAI's Evals API: the sampled answer to a row of data, and the results of its graders."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import normalize_provider, normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_object
from traces.importers.files.source import Source
from traces.importers.formats.chats.openai_items import normalize_client_answer, normalize_client_request

FORMAT: Final = "openai-eval-items"
_OBJECT: Final = "eval.run.output_item"
_STATUSES: Final = ("pass", "fail")
_SAMPLE_FIELDS: Final = frozenset({"output", "finish_reason", "model", "usage", "error"})


def is_page(value: JSONValue) -> bool:
    """Return True if `value` is an output item, a list of them, or a page of the API."""
    return as_object(first_item(_items(value))).get("object") == _OBJECT


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per item."""
    for record in source.records():
        for index, item in enumerate(as_objects(_items(record.value)) or [{}]):
            location = f"{record.location}/{index}"
            try:
                yield _run(require_object(item, location), location)
            except BadFile as problem:
                source.problems.append(problem)


def _items(value: JSONValue) -> JSONValue:
    return as_object(value)["data"] if has_list(value, "data") else value if isinstance(value, list) else [value]


def _run(item: JSONObject, location: str) -> RecordedRun:
    if item.get("object") != _OBJECT:
        raise BadFile("not an output item of a run of Evals", location)
    sample = as_object(item.get("sample"))
    error = as_object(sample.get("error"))
    reason = as_text(first_member(error, "message", "code"))
    model = as_text(sample.get("model"))
    time = parse_time(item.get("created_at"), location)
    step = build_step(
        SpanFacts(
            key="call",
            name=model or "model",
            type=StepType.MODEL,
            times=Span(start=None, end=time),
            failed=bool(reason),
            error=reason,
            request=normalize_client_request(omit(sample, *_SAMPLE_FIELDS)),
            answer=normalize_client_answer(sample.get("output"), as_text(sample.get("finish_reason"))),
            model=model,
            provider=normalize_provider(None, model) or "openai",
            usage=normalize_usage(as_object(sample.get("usage")), f"{location}/sample/usage"),
            attributes={"error_code": error["code"]} if error.get("code") and error.get("message") else {},
        )
    )
    return build_run(
        RunFacts(
            external_id=as_text(item.get("id")),
            app=as_text(item.get("eval_id")) or FORMAT,
            format=FORMAT,
            failed=bool(reason),
            tags=[f"sample:{as_text(item.get('datasource_item_id'))}"],
            metadata=omit(item, "object", "id", "sample", "results", "created_at", "status"),
            judgements=[*_verdict(item), *map(_judgement, as_objects(item.get("results")))],
        ),
        [step],
        location=location,
    )


def _verdict(item: JSONObject) -> Iterator[RecordedJudgement]:
    if item.get("status") in _STATUSES:
        yield judgement("passed", item["status"] == "pass")


def _judgement(result: JSONObject) -> RecordedJudgement:
    """Return the result of a grader; whether it passed is a detail of its score."""
    score = result.get("passed") if result.get("score") is None else result["score"]
    return judgement(
        as_text(result.get("name")) or "grader",
        score,
        author=as_text(result.get("type")),
        detail=omit(result, "name", "type", "score"),
    )
