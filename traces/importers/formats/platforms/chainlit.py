"""Chainlit and Literal AI: threads with their steps, as data layers and the API return them.

{"id", "createdAt", "userIdentifier", "steps": [{"id", "parentId", "type": "llm", "input", "output", "generation"}]}
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import (
    as_boolean,
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    other_members,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import result_text
from traces.importers.common.run_builder import RunFacts, app_name, build_run, match_calls, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call

FORMAT: Final = "chainlit"
_HOLDERS: Final = ("data", "threads")
_REFUSAL: Final = "a thread of Chainlit needs `id` and `steps`"
_TYPES: Final = {
    "llm": StepType.MODEL,
    "tool": StepType.TOOL,
    "retrieval": StepType.RETRIEVAL,
    "rerank": StepType.RETRIEVAL,
    "embedding": StepType.RETRIEVAL,
    "user_message": StepType.TURN,
    "assistant_message": StepType.OUTPUT,
    "system_message": StepType.OUTPUT,
}
_STEP: Final = frozenset({"id", "type", "parentId", "output"})
_COUNTS: Final = {"inputTokenCount": "prompt_tokens", "outputTokenCount": "completion_tokens"}
_MAPPED_STEP: Final = frozenset(
    {*_STEP, "name", "input", "createdAt", "start", "startTime", "end", "endTime", "isError", "error", "generation"}
    | {"feedback", "scores", "threadId", "streaming", "showInput", "waitForAnswer", "indent", "tags"}
)
_MAPPED_GENERATION: Final = frozenset(
    {*_COUNTS, "tokenCount", "provider", "model", "settings", "tools", "messages", "messageCompletion", "prompt"}
    | {"completion", "error", "type", "id"}
)
_MAPPED_THREAD: Final = frozenset({"id", "steps", "name", "tags", "createdAt", "elements"})


def is_export(value: JSONValue) -> bool:
    """Return whether `value` is a thread, or a list or page of these."""
    body = as_object(first_item(value))
    return _is_thread(body) or any(has_list(body, name) and is_export(body[name]) for name in _HOLDERS)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per thread."""
    yield from parse_records([source], _read)


def _is_thread(body: JSONObject) -> bool:
    steps = as_objects(body.get("steps"))[:1]
    return bool(as_text(body.get("id")) and steps) and all(step.keys() >= _STEP for step in steps)


def _read(value: JSONValue, location: str) -> Iterator[RecordedRun]:
    for thread, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_thread, refusal=_REFUSAL):
        yield _run(thread, place)


def _run(thread: JSONObject, location: str) -> RecordedRun:
    rows = {as_text(row.get("id")) or f"step-{number}": row for number, row in enumerate(as_objects(thread["steps"]))}
    steps = [_step(row, id, f"{location}/steps/{number}") for number, (id, row) in enumerate(rows.items())]
    return build_run(
        RunFacts(
            external_id=as_text(thread["id"]),
            app=app_name(as_object(thread.get("metadata")).get("chat_profile")) or FORMAT,
            format=FORMAT,
            title=as_text(thread.get("name")),
            tags=[as_text(tag) for row in (thread, *rows.values()) for tag in as_list(row.get("tags"))],
            metadata={**other_members(thread, _MAPPED_THREAD), "elements": thread.get("elements")},
            judgements=[item for id, row in rows.items() for item in _judgements(row, id)],
        ),
        match_calls(sort_causally(steps)),
        location=location,
    )


def _step(row: JSONObject, id: str, location: str) -> RecordedStep:
    kind, generation = as_text(row.get("type")), as_object(parse_embedded(row.get("generation")))
    step_type = StepType.MODEL if generation else _TYPES.get(kind, StepType.AGENT)
    error = generation.get("error") or row.get("error")
    has_failed = as_boolean(row.get("isError")) is True or bool(error)
    start = first_member(row, "start", "startTime", "createdAt")
    output = parse_embedded(row.get("output"))
    is_request = step_type is StepType.TURN
    facts = SpanFacts(
        key=id,
        name=as_text(row.get("name")) or kind,
        type=step_type,
        parent=as_text(row.get("parentId")) or None,
        times=parse_span(start, first_member(row, "end", "endTime"), location),
        failed=has_failed,
        error=result_text(error or output or "error") if has_failed else "",
        # A message of the user is the output of its step.
        input=(row.get("output") if is_request else parse_embedded(row.get("input"))) or None,
        output=None if is_request or output == "" else output,
        attributes={
            **other_members(row, _MAPPED_STEP),
            **other_members({"generation": other_members(generation, _MAPPED_GENERATION)}, ()),
        },
    )
    return build_step(_call(facts, generation) if step_type is StepType.MODEL else facts)


def _call(facts: SpanFacts, generation: JSONObject) -> SpanFacts:
    """Return the facts of a model's step with the request and answer of its generation."""
    messages, prompt = as_list(generation.get("messages")), generation.get("prompt")
    if messages or prompt:
        facts.input = {"messages": messages} if messages else {"prompt": prompt}
    facts.output = first_member(generation, "messageCompletion", "completion") or facts.output
    settings = {**as_object(generation.get("settings")), **other_members({"tools": generation.get("tools")}, ())}
    return add_call(
        facts,
        settings={name: value for name, value in settings.items() if value is not None},
        model=as_text(generation.get("model")),
        provider=generation.get("provider"),
        usage={_COUNTS[name]: item for name, item in generation.items() if name in _COUNTS and item},
    )


def _judgements(row: JSONObject, step: str) -> Iterator[RecordedJudgement]:
    """Yield the feedback of users on a message, and scores of Literal AI."""
    feedback = as_object(row.get("feedback"))
    comment = as_text(feedback.get("comment"))
    if (value := feedback.get("value")) in (0, 1):
        kind = JudgementKind.PASS if value else JudgementKind.FAIL
        yield RecordedJudgement(name="feedback", kind=kind, text=comment, step=step)
    for score in as_objects(row.get("scores")):
        text = as_text(score.get("comment"))
        name = as_text(score.get("name")) or "score"
        yield judgement(name, score.get("value"), text=text, author=as_text(score.get("type")), step=step)
