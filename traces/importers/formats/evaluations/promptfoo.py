"""Results of promptfoo: its JSON output, the summary inside it, and rows as JSON Lines.

Each row is a run: the prompt with its variables, the answer of the provider, and a validator for each assertion.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import as_text, normalize_messages, normalize_tool_call
from traces.importers.common.model_calls import (
    model_input,
    normalize_answer,
    normalize_parameters,
    normalize_provider,
    normalize_usage,
    parse_cost,
)
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.times import parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, parse_embedded, require_object, text
from traces.importers.files.source import Source

FORMAT: Final = "promptfoo"
_ROOT: Final = "test"
_PROVIDER_FAILED: Final = 2  # `failureReason` of a row whose provider gave no answer


@dataclass(frozen=True, kw_only=True)
class _Evaluation:
    """What an output file states about all of its rows."""

    id: str = ""
    description: str = ""
    timestamp: JSONValue = None
    prompts: list[JSONValue] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class _Row:
    body: JSONObject
    evaluation: _Evaluation
    where: str


def parse(source: Source) -> Iterator[RecordedRun]:
    """One run for each row."""
    for record in source.records():
        for row in _rows(record.value, _Evaluation(), record.location):
            try:
                yield _run(row)
            except BadFile as problem:
                source.problems.append(problem)


def is_output(value: JSONValue) -> bool:
    """Whether `value` is an output file, a summary, or a row of results."""
    if isinstance(value, list):
        return bool(value) and _is_row(obj(value[0]))
    given = obj(value)
    if _is_row(given):
        return True
    results = given.get("results")
    if isinstance(results, list):
        return bool(results) and _is_row(obj(results[0]))
    return isinstance(results, dict) and is_output(results)


def _is_row(given: JSONObject) -> bool:
    return {"vars", "prompt"} <= given.keys() and not given.keys().isdisjoint({"gradingResult", "success"})


def _rows(value: JSONValue, evaluation: _Evaluation, where: str) -> Iterator[_Row]:
    if isinstance(value, list):
        for at, each in enumerate(value):
            yield from _rows(each, evaluation, f"{where}/{at}")
        return
    given = require_object(value, where)
    if "results" not in given:
        yield _Row(body=given, evaluation=evaluation, where=where)
        return
    known = _Evaluation(
        id=text(first(given, "evalId")) or evaluation.id,
        description=text(obj(given.get("config")).get("description")) or evaluation.description,
        timestamp=first(given, "timestamp", "createdAt") or evaluation.timestamp,
        prompts=items(given.get("prompts")),
    )
    yield from _rows(given["results"], known, f"{where}/results")


def _run(row: _Row) -> RecordedRun:
    body, test = row.body, obj(row.body.get("testCase"))
    description = text(first(body, "description") or test.get("description"))
    metadata: JSONObject = {
        "evaluation": row.evaluation.id,
        "test": body.get("testIdx"),
        "prompt": body.get("promptIdx"),
        "variables": body.get("vars"),
        "metadata": body.get("metadata"),
        "latency_ms": body.get("latencyMs"),
        "description": description,
    }
    return build_run(
        RunFacts(
            external_id=_identity(row),
            app=app_name(row.evaluation.description) or FORMAT,
            format=FORMAT,
            name=description,
            tags=[f"provider:{_label(body)}"] if _label(body) else [],
            metadata=metadata,
            started_at=parse_time(row.evaluation.timestamp, row.where),
            judgements=list(_judgements(body)),
        ),
        list(_steps(row)),
        location=row.where,
    )


def _identity(row: _Row) -> str:
    body, evaluation = row.body, row.evaluation
    if key := text(first(body, "id")):
        return key
    place = [text(body.get(name)) for name in ("testIdx", "promptIdx", "repeatIndex") if body.get(name) is not None]
    return "/".join([evaluation.id, *place]) if evaluation.id and place else content_id(body, row.where)


def _label(body: JSONObject) -> str:
    provider = body.get("provider")
    return text(first(obj(provider), "label", "id")) or text(provider)


def _steps(row: _Row) -> Iterator[RecordedStep]:
    body = row.body
    model, failure = _model(row), _failure(body)
    asked = _prompt_text(body)
    messages = items(obj(model.input).get("messages"))
    yield RecordedStep(
        key=_ROOT,
        type=StepType.AGENT,
        name=_label(body) or "test",
        input={"messages": messages} if messages and asked.startswith("[") else {"task": asked},
        output=model.output and {"text": as_text(obj(body.get("response")).get("output"))},
        status=StepStatus.ERROR if failure else StepStatus.OK,
        error=failure,
    )
    variables = obj(body.get("vars"))
    if variables:
        yield RecordedStep(
            key="prompt",
            type=StepType.PROMPT,
            name=text(obj(body.get("prompt")).get("label"))[:60] or "prompt",
            parent=_ROOT,
            input={"template": _template(row), "variables": variables},
            output={"text": asked},
        )
    yield model
    for at, each in enumerate(items(obj(body.get("gradingResult")).get("componentResults"))):
        if isinstance(each, dict):
            yield _check(each, at)


def _template(row: _Row) -> str:
    """The prompt before its variables were put in, where the file has it."""
    at = row.body.get("promptIdx")
    known = row.evaluation.prompts[at] if isinstance(at, int) and 0 <= at < len(row.evaluation.prompts) else None
    return text(first(obj(known), "raw", "template")) or text(obj(row.body.get("prompt")).get("label"))


def _prompt_text(body: JSONObject) -> str:
    prompt = body.get("prompt")
    return text(first(obj(prompt), "raw", "display")) or text(prompt)


def _model(row: _Row) -> RecordedStep:
    body, response = row.body, obj(row.body.get("response"))
    provider, model = _named(body)
    counts = obj(first(response, "tokenUsage") or body.get("tokenUsage"))
    usage = normalize_usage(
        {"input": counts.get("prompt"), "output": counts.get("completion")}, f"{row.where}/tokenUsage"
    )
    spoken = parse_embedded(_prompt_text(body))
    messages = normalize_messages(spoken if isinstance(spoken, list) else _prompt_text(body))
    config = obj(obj(body.get("prompt")).get("config"))
    parameters: JSONObject = {key: value for key, value in config.items() if not isinstance(value, dict | list)}
    failure = _failure(body)
    facts: JSONObject = {
        "cached": response.get("cached"),
        "cached_tokens": counts.get("cached"),
        "latency_ms": body.get("latencyMs"),
        "raw": response.get("raw"),
        "response_metadata": response.get("metadata"),
    }
    return RecordedStep(
        key="model",
        type=StepType.MODEL,
        name=model or provider or "provider",
        parent=_ROOT,
        model=model,
        provider=provider,
        status=StepStatus.ERROR if failure else StepStatus.OK,
        error=failure,
        input=model_input(messages, [], normalize_parameters(parameters)) if messages else None,
        output=None if failure else normalize_answer(_answer(response), text(response.get("finishReason"))).output,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        cost_usd=parse_cost(first(body, "cost") or response.get("cost")),
        attributes={name: value for name, value in facts.items() if value not in (None, "", {}, [])},
    )


def _named(body: JSONObject) -> tuple[str, str]:
    """Provider and model, out of `openai:chat:gpt-4o-mini` and its like; a script has no model."""
    name = text(first(obj(body.get("provider")), "id")) or text(body.get("provider"))
    if "://" in name or ":" not in name:
        return "", ""
    provider, _, rest = name.partition(":")
    model = rest.rsplit(":", 1)[-1]
    return normalize_provider(provider, model), model


def _answer(response: JSONObject) -> JSONValue:
    """The answer: a text, an object, or the tool calls that a model asked for."""
    output = response.get("output")
    calls = items(output)
    if calls and all(isinstance(obj(each).get("function"), dict) for each in calls):
        return {"role": "assistant", "content": None, "tool_calls": [normalize_tool_call(each) for each in calls]}
    return output


def _failure(body: JSONObject) -> str:
    """Why the provider gave no answer; `error` of a row may also be the reason of a failed assertion."""
    error = text(obj(body.get("response")).get("error"))
    if body.get("failureReason") == _PROVIDER_FAILED:
        return error or text(body.get("error")) or "error"
    return error or ("" if body.get("response") else text(body.get("error")))


def _check(result: JSONObject, at: int) -> RecordedStep:
    """An assertion as a validator."""
    assertion = obj(result.get("assertion"))
    kept = {name: result[name] for name in ("score", "reason") if result.get(name) is not None}
    return RecordedStep(
        key=f"assertion-{at}",
        type=StepType.VALIDATOR,
        parent=_ROOT,
        input=assertion or None,
        name=text(first(assertion, "metric", "type")) or "assertion",
        output={"passed": result["pass"], **kept} if isinstance(result.get("pass"), bool) else kept or None,
    )


def _judgements(body: JSONObject) -> Iterator[RecordedJudgement]:
    grading = obj(body.get("gradingResult"))
    success = body.get("success") if isinstance(body.get("success"), bool) else grading.get("pass")
    if isinstance(success, bool):
        yield judgement("success", success, text=text(grading.get("reason")))
    if (score := first(body, "score") if body.get("score") is not None else grading.get("score")) is not None:
        yield judgement("score", score)
    for name, value in (obj(body.get("namedScores")) or obj(grading.get("namedScores"))).items():
        yield judgement(name, value)
