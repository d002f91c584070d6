"""LM Evaluation Harness: samples (`samples_*.jsonl`), each a question with the answers of a model and their metrics."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import normalize_messages, result_text
from traces.importers.common.model_calls import normalize_parameters
from traces.importers.common.run_builder import AGENT_KEY, RunFacts, build_run
from traces.importers.files.source import Source

FORMAT: Final = "lm-eval"
_SAMPLE_FIELDS: Final = frozenset({"doc_id", "doc", "target", "resps"})
_NOT_METRICS: Final = _SAMPLE_FIELDS | {"arguments", "filtered_resps"}


def is_sample(value: JSONValue) -> bool:
    """Return True if `value` is a sample of a task."""
    return as_object(value).keys() >= _SAMPLE_FIELDS


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per sample."""
    for body, location in source.entries():
        yield _run(body, location)


def _run(body: JSONObject, location: str) -> RecordedRun:
    number = as_text(body.get("doc_id"))
    steps = [RecordedStep(key=AGENT_KEY, type=StepType.AGENT, name="sample"), *_calls(body)]
    other = {name: item for name, item in body.items() if name not in ("arguments", "resps")}
    return build_run(
        RunFacts(
            external_id=f"{number}-{content_id(body, location)}",
            app=FORMAT,
            format=FORMAT,
            name=f"sample {number}",
            tags=[f"filter:{name}" for name in [as_text(body.get("filter"))] if name],
            metadata=other,
            judgements=_metrics(body),
        ),
        steps,
        location=location,
    )


def _calls(body: JSONObject) -> Iterator[RecordedStep]:
    """Yield a model call per answer. A question with choices has a call per choice, and a question may be repeated."""
    requests = body.get("arguments")
    arguments = list(requests.values()) if isinstance(requests, dict) else as_list(requests)
    responses = as_list(body.get("resps"))
    for index, answers in enumerate(responses):
        request = arguments[index] if index < len(arguments) else None
        values = list(request.values()) if isinstance(request, dict) else as_list(request)
        for attempt, answer in enumerate(answers if isinstance(answers, list) else [answers]):
            yield RecordedStep(
                key=f"call-{index + 1}.{attempt + 1}",
                type=StepType.MODEL,
                name="model",
                parent=AGENT_KEY,
                input=_request(values),
                output={"message": {"role": "assistant", "content": _text(answer)}},
                attributes=_details(values, answer),
            )


def _request(values: list[JSONValue]) -> JSONObject:
    """Return the request: a prompt, or messages as JSON, and the settings."""
    settings = next((as_object(value) for value in values if isinstance(value, dict)), {})
    parameters = normalize_parameters(as_object(settings))
    messages: list[JSONValue] = [*normalize_messages(values[0] if values else None)]
    return {"messages": messages, **({"parameters": parameters} if parameters else {})}


def _text(answer: JSONValue) -> str:
    return answer if isinstance(answer, str) else result_text(answer)


def _details(values: list[JSONValue], answer: JSONValue) -> JSONObject:
    """Return the continuation whose likelihood was computed, and its result."""
    continuation = values[1] if len(values) > 1 and isinstance(values[1], str) else None
    return {"continuation": continuation, "loglikelihood": answer} if continuation is not None else {}


def _metrics(body: JSONObject) -> Iterator[RecordedJudgement]:
    names = [as_text(name) for name in as_list(body["metrics"])] if has_list(body, "metrics") else list(body)
    for name in names:
        value = body.get(name)
        if name not in _NOT_METRICS and isinstance(value, int | float):
            yield judgement(name, value)
