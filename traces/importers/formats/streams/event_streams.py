"""Recorded streams of OpenAI, Anthropic, Gemini and servers like these: server-sent events, or events as JSON.

event: message_start
data: {"type": "message_start", …}

The answers are joined and read like those that came without a stream. The requests are not among them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers.common.identity import content_id
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text
from traces.importers.files.json_reader import json_value, parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Record, Source
from traces.importers.formats.chats import call_logs, openai
from traces.importers.formats.streams.joined_answers import Api, api_of, has_end, join_answer, starts_answer

FORMAT: Final = "event-stream"
_DATA: Final = re.compile(r"^data:[ ]?(.*)$", re.M)
_BEGINNING: Final = re.compile(rb"(?:^|\n)data: ?[{\[]")
_END: Final = "[DONE]"
# Enough to see whose stream it is.
_HEAD_SIZE: Final = 100_000
_MOST_EVENTS: Final = 20
_OLLAMA: Final = "ollama"
_OPENAI: Final = frozenset({"chat", "responses", _OLLAMA})
_CALL_LOG: Final = frozenset({"anthropic", "gemini"})


@dataclass(kw_only=True)
class _Answer:
    """The events of one answer, and the error that ended it."""

    api: Api
    location: str
    events: list[JSONObject] = field(default_factory=list)
    error: str = ""


def sniff(sample: Sample) -> float:
    """Return the confidence that the file is such a stream."""
    if _BEGINNING.search(sample.head[:_HEAD_SIZE]):
        matches = _DATA.finditer(decode_text(sample.head[:_HEAD_SIZE]))
        events = [as_object(_parse(match[1])) for match, _ in zip(matches, range(_MOST_EVENTS), strict=False)]
        return 1.0 if any(api_of(event) for event in events) else 0.0
    values = [value for value in sample.values if isinstance(value, dict | list)]
    is_list = len(values) == 1 and isinstance(values[0], list)
    events = [_unwrap(event) for event in as_objects(values[0] if is_list else values)[:_MOST_EVENTS]]
    return 1.0 if (is_list or sample.is_lines) and _is_stream(events) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the runs of the answers in a file."""
    bodies = [(answer, _body(answer)) for answer in _answers(source)]
    for read, apis in ((openai.parse, _OPENAI), (call_logs.parse, _CALL_LOG)):
        pairs = [(answer, body) for answer, body in bodies if answer.api in apis]
        documents = [Record(value=body, location=answer.location) for answer, body in pairs]
        answers = {_id(body): answer for answer, body in pairs}
        file = Source(name=source.name, data=b"", documents=documents)
        for run in read([file]) if documents else ():
            yield _mark(run, answers)
        source.problems += file.problems


def _is_stream(events: list[JSONObject]) -> bool:
    """Return whether objects are events of a stream: lists of whole answers of Gemini look alike."""
    apis = {api_of(event) for event in events} - {None}
    if "gemini" in apis:
        first = as_object(next(iter(as_objects(events[0].get("candidates"))), None))
        return len(events) > 1 and "finishReason" not in first
    return len(events) > 1 if "ollama" in apis else bool(apis)


def _parse(data: str) -> JSONValue:
    """Return the JSON of an event's data; None if it is none."""
    try:
        return json_value(data.encode())
    except BadFile:
        return None


def _unwrap(event: JSONObject) -> JSONObject:
    """Return an event that a program wrote beside its name."""
    return as_object(parse_embedded(event["data"])) if {"event", "data"} <= event.keys() else event


def _events(source: Source) -> Iterator[tuple[JSONObject, str]]:
    if not _BEGINNING.search(source.data[:_HEAD_SIZE]):
        yield from ((_unwrap(event), location) for event, location in source.entries())
        return
    for number, match in enumerate(_DATA.finditer(decode_text(source.data)), 1):
        data = match[1].strip()
        event = _parse(data)
        if isinstance(event, dict):
            yield event, f"event {number}"
        elif data and data != _END:
            source.problems.append(BadFile("an event of a stream that is no JSON object", f"event {number}"))


def _answers(source: Source) -> Iterator[_Answer]:
    """Yield the answers in the order in which they began; the chunks of several may alternate."""
    answers: list[_Answer] = []
    chats: dict[str, _Answer] = {}
    for event, location in _events(source):
        api = api_of(event)
        current = answers[-1] if answers else None
        if api is None:
            _add_error(current, event, location, source)
            continue
        if api == "chat" and (chat := chats.get(as_text(event.get("id")))):
            current = chat
        previous = current.events[-1] if current and current.api == api else None
        if current is None or starts_answer(api, event, previous):
            current = _Answer(api=api, location=location)
            answers.append(current)
        if api == "chat" and event.get("id"):
            chats[as_text(event["id"])] = current
        current.events.append(event)
    yield from answers


def _add_error(current: _Answer | None, event: JSONObject, location: str, source: Source) -> None:
    """Add an error that ended a stream to its answer; other events, such as pings, contain nothing."""
    error = as_object(event.get("error"))
    message = as_text(first_member(error, "message", "type", "code") or event.get("message"))
    if not error and event.get("type") != "error":
        return
    if current is None:
        source.problems.append(BadFile(f"a stream with an error instead of an answer: {message}", location))
    else:
        current.error = message or "error"


def _body(answer: _Answer) -> JSONObject:
    body = join_answer(answer.api, answer.events)
    name = "responseId" if answer.api == "gemini" else "id"
    return body if as_text(body.get(name)) else {**body, name: f"{FORMAT}-{content_id(body, answer.location)}"}


def _id(body: JSONObject) -> str:
    return as_text(first_member(body, "id", "responseId"))


def _mark(run: RecordedRun, answers: dict[str, _Answer]) -> RecordedRun:
    """Return a run with the errors and the missing ends of its streams."""
    steps = tuple(_mark_step(step, answers.get(step.key) or answers.get(run.external_id)) for step in run.steps)
    statuses = {new.status for new, old in zip(steps, run.steps, strict=True) if new.status is not old.status}
    status = RunStatus.FAILED if StepStatus.ERROR in statuses else RunStatus.PARTIAL if statuses else run.status
    app = _OLLAMA if any(step.provider == _OLLAMA for step in steps) else run.app
    return replace(run, steps=steps, status=status, app=app)


def _mark_step(step: RecordedStep, answer: _Answer | None) -> RecordedStep:
    if answer is None or step.type is not StepType.MODEL or step.status is not StepStatus.OK:
        return step
    if answer.api == _OLLAMA:
        step = replace(step, provider=_OLLAMA)
    if answer.error:
        return replace(step, status=StepStatus.ERROR, error=answer.error)
    return step if has_end(answer.api, answer.events) else replace(step, status=StepStatus.PARTIAL)
