"""Results of promptfoo: its JSON output, the summary inside it, and rows as JSON Lines.

Each row is a run: the prompt with its variables, the provider's answer, and a validator per assertion.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_object,
    list_or_single,
    omit,
    other_members,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import normalize_messages, normalize_tool_call, result_text
from traces.importers.common.model_calls import (
    model_input,
    normalize_answer,
    normalize_parameters,
    normalize_provider,
    normalize_usage,
    parse_cost,
)
from traces.importers.common.run_builder import AGENT_KEY, OUTPUT_KEY, RunFacts, app_name, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded, require_object
from traces.importers.files.source import Source

FORMAT: Final = "promptfoo"
_ROW_FIELDS: Final = frozenset(
    {"id", "testCase", "testIdx", "promptIdx", "promptId", "prompt", "vars", "metadata", "latencyMs", "description"}
    | {"provider", "response", "gradingResult", "namedScores", "score", "success", "error", "failureReason", "cost"}
    | {"tokenUsage"}
)
_TEST_FIELDS: Final = frozenset({"vars", "assert", "description", "metadata"})
_RESPONSE_FIELDS: Final = frozenset(
    {"output", "error", "tokenUsage", "cost", "finishReason", "cached", "metadata", "sessionId", "latencyMs"}
)
_ROOT: Final = "test"
# Settings of a provider that are no parameters of its requests.
_CLIENT: Final = re.compile(r"api|base|organization|timeout|cost|python|worker", re.I)
# `failureReason` of a row without an answer from the provider.
_PROVIDER_FAILURE: Final = 2


@dataclass(frozen=True, kw_only=True)
class _Evaluation:
    """The facts that an output file has for all its rows."""

    id: str = ""
    description: str = ""
    timestamp: JSONValue = None
    prompts: list[JSONValue] = field(default_factory=list)
    # Of providers, by their names.
    settings: dict[str, JSONObject] = field(default_factory=dict)
    tags: JSONValue = None
    # The version of promptfoo, and who ran it.
    program: JSONValue = None


@dataclass(frozen=True, kw_only=True)
class _Row:
    body: JSONObject
    evaluation: _Evaluation
    location: str


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per row."""
    for record in source.records():
        if not is_output(record.value) and source.is_lines:
            source.problems.append(BadFile("not a result of promptfoo", record.location))
            continue
        for row in _rows(record.value, _Evaluation(), record.location):
            try:
                yield _run(row)
            except BadFile as problem:
                source.problems.append(problem)


def is_output(value: JSONValue) -> bool:
    """Return True if `value` is an output file, a summary, or a result row."""
    if isinstance(value, list):
        return bool(value) and _is_row(as_object(value[0]))
    body = as_object(value)
    if _is_row(body):
        return True
    results = body.get("results")
    if isinstance(results, list):
        return bool(results) and _is_row(as_object(results[0]))
    return isinstance(results, dict) and is_output(results)


def _is_row(body: JSONObject) -> bool:
    return {"vars", "prompt"} <= body.keys() and not body.keys().isdisjoint({"gradingResult", "success"})


def _rows(value: JSONValue, evaluation: _Evaluation, location: str) -> Iterator[_Row]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _rows(item, evaluation, f"{location}/{index}")
        return
    body = require_object(value, location)
    if "results" not in body:
        yield _Row(body=body, evaluation=evaluation, location=location)
        return
    config = as_object(body.get("config"))
    file_evaluation = _Evaluation(
        id=as_text(first_member(body, "evalId")) or evaluation.id,
        description=as_text(config.get("description")) or evaluation.description,
        timestamp=first_member(body, "timestamp", "createdAt") or evaluation.timestamp,
        prompts=as_list(body.get("prompts")),
        settings=dict(_settings(config.get("providers"))) or evaluation.settings,
        tags=config.get("tags") or evaluation.tags,
        program=as_object(body.get("metadata")) or evaluation.program,
    )
    yield from _rows(body["results"], file_evaluation, f"{location}/results")


def _settings(providers: JSONValue) -> Iterator[tuple[str, JSONObject]]:
    """Yield the settings of providers under their names: objects with an id, or the settings by id."""
    for provider in as_objects(list_or_single(providers)):
        by_id = {id: as_object(item) for id, item in provider.items()} if "id" not in provider else {}
        for id, body in (by_id or {as_text(provider["id"]): provider}).items():
            for name in {id, as_text(body.get("label"))} - {""}:
                yield name, as_object(body.get("config"))


def _run(row: _Row) -> RecordedRun:
    body, test = row.body, as_object(row.body.get("testCase"))
    description = as_text(first_member(body, "description") or test.get("description"))
    metadata: JSONObject = {
        **other_members(body, _ROW_FIELDS),
        "provider_id": as_object(body.get("provider")).get("id"),
        "evaluation": row.evaluation.id,
        "tags": row.evaluation.tags,
        "test": body.get("testIdx"),
        "prompt": body.get("promptIdx"),
        "variables": body.get("vars"),
        "metadata": body.get("metadata"),
        "session_id": as_object(body.get("response")).get("sessionId"),
        "program": row.evaluation.program,
        "test_metadata": test.get("metadata"),
        "test_case": other_members(test, _TEST_FIELDS),
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
            started_at=parse_time(row.evaluation.timestamp, row.location),
            judgements=list(_judgements(body)),
        ),
        list(_steps(row)),
        location=row.location,
    )


def _identity(row: _Row) -> str:
    body, evaluation = row.body, row.evaluation
    if key := as_text(first_member(body, "id")):
        return key
    coordinates = [
        as_text(body.get(name)) for name in ("testIdx", "promptIdx", "repeatIndex") if body.get(name) is not None
    ]
    return "/".join([evaluation.id, *coordinates]) if evaluation.id and coordinates else content_id(body, row.location)


def _label(body: JSONObject) -> str:
    provider = body.get("provider")
    return as_text(first_member(as_object(provider), "label", "id")) or as_text(provider)


def _steps(row: _Row) -> Iterator[RecordedStep]:
    body = row.body
    model = _model(row)
    turns = _turns(row, model)
    yield _root(row, model, with_usage=bool(turns))
    variables = as_object(body.get("vars"))
    if variables:
        yield RecordedStep(
            key="prompt",
            type=StepType.PROMPT,
            name=as_text(as_object(body.get("prompt")).get("label"))[:60] or "prompt",
            parent=_ROOT,
            input={"template": _template(row), "variables": variables},
            output={"text": _prompt_text(body)},
        )
    yield from turns or [model]
    for index, result in enumerate(as_list(as_object(body.get("gradingResult")).get("componentResults"))):
        if isinstance(result, dict):
            yield _check(result, index)


def _root(row: _Row, model: RecordedStep, *, with_usage: bool) -> RecordedStep:
    """Return the step around a row; of a conversation, only the sums of all its calls were recorded."""
    body, prompt_text = row.body, _prompt_text(row.body)
    messages = as_list(as_object(model.input).get("messages"))
    root = RecordedStep(
        key=_ROOT,
        type=StepType.AGENT,
        name=_label(body) or "test",
        input={"messages": messages} if messages and prompt_text.startswith("[") else {"task": prompt_text},
        output=model.output and {"text": result_text(as_object(body.get("response")).get("output"))},
        status=model.status,
        error=model.error,
    )
    if not with_usage:
        return root
    return replace(
        root,
        tokens_in=model.tokens_in,
        tokens_out=model.tokens_out,
        cost_usd=model.cost_usd,
        attributes=model.attributes,
    )


def _turns(row: _Row, model: RecordedStep) -> list[RecordedStep]:
    """Return the steps of a conversation with a simulated user or an attacker; none of a single call."""
    request = as_object(model.input)
    settings = TranscriptSettings(
        model=model.model,
        provider=model.provider,
        tools=as_list(request.get("tools")),
        parameters=as_object(request.get("parameters")),
    )
    steps = transcripts.build_steps(_conversation(row), settings)[1:]
    return [
        replace(step, parent=_ROOT if step.parent == AGENT_KEY else step.parent)
        for step in steps
        if step.key != OUTPUT_KEY
    ]


def _conversation(row: _Row) -> list[TranscriptMessage]:
    """Return the messages between a simulated user and the provider, or the attempts of an attacker."""
    details = as_object(row.body.get("metadata")) | as_object(as_object(row.body.get("response")).get("metadata"))
    messages, attempts = as_objects(details.get("messages")), as_objects(details.get("redteamHistory"))
    if any(message.get("role") == "assistant" for message in messages):
        return [TranscriptMessage(value=message, location=row.location) for message in messages]
    entries: list[TranscriptMessage] = []
    for attempt in attempts:
        request: JSONObject = {"role": "user", "content": attempt.get("prompt")}
        answer: JSONObject = {
            "role": "assistant",
            "content": attempt.get("output"),
            **omit(attempt, "prompt", "output"),
        }
        entries.append(TranscriptMessage(value=request, location=row.location, resets_history=True))
        entries.append(TranscriptMessage(value=answer, location=row.location))
    return entries


def _template(row: _Row) -> str:
    """Return the prompt without its variables filled in; its label if the file lacks the template."""
    index = row.body.get("promptIdx")
    prompt = (
        row.evaluation.prompts[index] if isinstance(index, int) and 0 <= index < len(row.evaluation.prompts) else None
    )
    return as_text(first_member(as_object(prompt), "raw", "template")) or as_text(
        as_object(row.body.get("prompt")).get("label")
    )


def _prompt_text(body: JSONObject) -> str:
    prompt = body.get("prompt")
    return as_text(first_member(as_object(prompt), "raw", "display")) or as_text(prompt)


def _model(row: _Row) -> RecordedStep:
    body, response = row.body, as_object(row.body.get("response"))
    provider, model = _provider_and_model(body)
    counts = as_object(first_member(response, "tokenUsage") or body.get("tokenUsage"))
    usage = normalize_usage(
        {"input": counts.get("prompt"), "output": counts.get("completion")}, f"{row.location}/tokenUsage"
    )
    prompt = parse_embedded(_prompt_text(body))
    messages = normalize_messages(prompt if isinstance(prompt, list) else _prompt_text(body))
    provider_id = as_text(as_object(body.get("provider")).get("id"))
    settings = row.evaluation.settings.get(_label(body)) or row.evaluation.settings.get(provider_id) or {}
    # Those of the prompt override those of the provider.
    config = {**(settings if model else {}), **as_object(as_object(body.get("prompt")).get("config"))}
    parameters: JSONObject = {
        key: value for key, value in config.items() if not isinstance(value, dict | list) and not _CLIENT.match(key)
    }
    tools = normalize_tools(config["tools"]) if isinstance(config.get("tools"), list) else []
    failure = _failure(body)
    details = as_object(counts.get("completionDetails"))
    facts: JSONObject = {
        "cached": response.get("cached"),
        "cached_tokens": counts.get("cached"),
        "latency_ms": body.get("latencyMs"),
        "response_metadata": response.get("metadata"),
        "token_details": {name: count for name, count in details.items() if count},
        **other_members(response, _RESPONSE_FIELDS),
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
        input=model_input(messages, tools, normalize_parameters(parameters)) if messages else None,
        output=None if failure else normalize_answer(_answer(response), as_text(response.get("finishReason"))).output,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        cost_usd=parse_cost(first_member(body, "cost") or response.get("cost")),
        attributes={name: value for name, value in facts.items() if value not in (None, "", {}, [])},
    )


def _provider_and_model(body: JSONObject) -> tuple[str, str]:
    """Return provider and model from names like `openai:chat:gpt-4o-mini`; a script has neither."""
    name = as_text(first_member(as_object(body.get("provider")), "id")) or as_text(body.get("provider"))
    if "://" in name or ":" not in name:
        return "", ""
    provider, _, rest = name.partition(":")
    model = rest.rsplit(":", 1)[-1]
    return normalize_provider(provider, model), model


def _answer(response: JSONObject) -> JSONValue:
    """Return the answer: a text, an object, or a message with tool calls."""
    output = response.get("output")
    if output == "":
        return {"role": "assistant", "content": ""}
    calls = as_list(output)
    if calls and all(has_object(call, "function") for call in calls):
        return {"role": "assistant", "content": None, "tool_calls": [normalize_tool_call(call) for call in calls]}
    return output


def _failure(body: JSONObject) -> str:
    """Return the provider's error; the `error` of a row may also be the reason of a failed assertion."""
    error = as_text(as_object(body.get("response")).get("error"))
    if body.get("failureReason") == _PROVIDER_FAILURE:
        return error or as_text(body.get("error")) or "error"
    return error or ("" if body.get("response") else as_text(body.get("error")))


def _check(result: JSONObject, number: int) -> RecordedStep:
    """Convert the result of an assertion into a validator step."""
    assertion = as_object(result.get("assertion"))
    details = {name: result[name] for name in ("score", "reason") if result.get(name) is not None}
    # A model that grades has a request and tokens, and a set of assertions their results.
    facts: JSONObject = {
        name: result[name] for name in ("tokensUsed", "metadata", "componentResults") if result.get(name)
    }
    return RecordedStep(
        key=f"assertion-{number}",
        type=StepType.VALIDATOR,
        parent=_ROOT,
        input=assertion or None,
        name=as_text(first_member(assertion, "metric", "type")) or "assertion",
        output={"passed": result["pass"], **details} if isinstance(result.get("pass"), bool) else details or None,
        attributes=facts,
    )


def _judgements(body: JSONObject) -> Iterator[RecordedJudgement]:
    grading = as_object(body.get("gradingResult"))
    success = body.get("success") if isinstance(body.get("success"), bool) else grading.get("pass")
    if isinstance(success, bool):
        yield judgement("success", success, text=as_text(grading.get("reason")))
    if (score := first_member(body, "score") if body.get("score") is not None else grading.get("score")) is not None:
        yield judgement("score", score)
    if comment := as_text(grading.get("comment")):
        yield judgement("comment", comment)
    for name, value in (as_object(body.get("namedScores")) or as_object(grading.get("namedScores"))).items():
        yield judgement(name, value)
