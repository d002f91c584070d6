"""CrewAI: task logs (JSON or text), the output of a crew, and the events of its event bus.

A log contains several executions. A new run starts when the first task starts again while no task is open, or when
tasks of the same agents come again in the same order.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import orjson

from traces.core.json_access import as_list, as_object, as_text, first_member, list_or_single
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import parse_token_count
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.frameworks import crewai_events

FORMAT: Final = "crewai"
_ROOT: Final = "crew"
_STATES: Final = frozenset({"started", "completed", "failed"})
_ENTRY: Final = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d): (?=\w+=\")", re.M)
_FIELD: Final = re.compile(
    r'(?:^|", )(task_name|task|agent|status|output|input|message|level|crew|flow|tool|error|duration|metadata)="'
)
_ENTRY_FIELDS: Final = frozenset({"timestamp", "task_name", "task", "agent", "status", "output", "error"})
_TASK_KEY: Final = ("task_name", "task", "agent")
_TOOL_FAILURE: Final = "Error executing tool"
_MAPPED_FIELDS: Final = frozenset({"description", "raw", "agent", "name", "messages"})


def sniff(sample: Sample) -> float:
    """Return the confidence that CrewAI wrote the file."""
    objects = sample.objects
    if any(_is_entry(body) or _is_output(body) for body in objects):
        return 1.0
    event_lists = [as_object(event) for body in objects for event in as_list(body.get("events"))[:20]]
    if crewai_events.are_events([*objects, *event_lists]):
        return 1.0
    return 1.0 if not sample.values and _is_text(sample.head[:4_000]) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per execution in the file."""
    if _is_text(source.data[:4_000]):
        yield from _log_runs(_text_entries(decode_text(source.data)), "")
        return
    records = [(record.value, record.location) for record in source.records()]
    objects = [
        (as_object(item), f"{location}/{index}" if isinstance(value, list) else location)
        for value, location in records
        for index, item in enumerate(list_or_single(value))
    ]
    if outputs := [(body, location) for body, location in objects if _is_output(body)]:
        for body, location in outputs:
            yield _output_run(body, location)
    elif any(_is_entry(body) for body, _ in objects):
        yield from _log_runs([body for body, _ in objects], records[0][1])
    else:
        events = [
            event
            for body, _ in objects
            for event in ([as_object(value) for value in as_list(body.get("events"))] or [body])
        ]
        yield from crewai_events.build_runs(events, FORMAT)


def _is_entry(body: JSONObject) -> bool:
    """Return True for an entry of a task log."""
    return {"timestamp", "agent", "status"} <= body.keys() and as_text(body["status"]) in _STATES and "task" in body


def _is_output(body: JSONObject) -> bool:
    """Return True for the output of a crew."""
    return "raw" in body and bool(as_list(body.get("tasks_output")))


def _is_text(data: bytes) -> bool:
    try:
        match = _ENTRY.match(decode_text(data).lstrip())
    except BadFile:
        return False
    return match is not None


def _text_entries(content: str) -> list[JSONObject]:
    parts = _ENTRY.split(content.lstrip())
    entries: list[JSONObject] = []
    for timestamp, body in zip(parts[1::2], parts[2::2], strict=True):
        matches = list(_FIELD.finditer(body.rstrip()))
        ends = [match.start() for match in matches[1:]] + [len(body.rstrip().removesuffix('"'))]
        fields = {match[1]: body[match.end() : end] for match, end in zip(matches, ends, strict=True)}
        entries.append({"timestamp": timestamp, **fields})
    return entries


@dataclass(kw_only=True)
class _LoggedTask:
    """The start and end entries of a task in the log."""

    start: JSONObject
    end: JSONObject | None = None


def _log_runs(entries: Sequence[JSONObject], location: str) -> Iterator[RecordedRun]:
    for tasks in (part for group in _executions(entries) for part in _cycles(group)):
        task_entries: list[JSONValue] = [entry for task in tasks for entry in (task.start, task.end) if entry]
        external_id = f"{FORMAT}-{content_id(task_entries, location)}"
        steps = [_log_step(task, f"task-{number}", location) for number, task in enumerate(tasks, 1)]
        yield build_run(
            RunFacts(
                external_id=external_id,
                app=FORMAT,
                format=FORMAT,
                failed=any(step.status is StepStatus.ERROR for step in steps),
                has_ended=all(task.end for task in tasks),
            ),
            _crew(steps),
            location=location,
        )


def _executions(entries: Sequence[JSONObject]) -> Iterator[list[_LoggedTask]]:
    tasks: list[_LoggedTask] = []
    pending: list[_LoggedTask] = []
    for entry in entries:
        if entry.get("status") == "started":
            if tasks and not pending and _is_same_task(tasks[0].start, entry):
                yield tasks
                tasks = []
            tasks.append(_LoggedTask(start=entry))
            pending.append(tasks[-1])
            continue
        task = _find_open_task(pending, entry)
        if task is None:
            tasks.append(_LoggedTask(start={}, end=entry))
        else:
            pending.remove(task)
            task.end = entry
    if tasks:
        yield tasks


def _cycles(tasks: list[_LoggedTask]) -> Iterator[list[_LoggedTask]]:
    """Yield the executions among tasks whose first one has other inputs each time, and thus another description.

    An example is `weather in Paris, poem, weather in Rome, poem`: a task is back after two, and so are all agents.
    """
    starts = [task.start for task in tasks]
    last_places: dict[str, int] = {}
    length = 0
    for index, start in enumerate(starts):
        key = orjson.dumps([start.get(name) for name in _TASK_KEY]).decode()
        length = length or (index - last_places[key] if start and key in last_places else 0)
        last_places[key] = index
    agents = [start.get("agent") for start in starts]
    if not length or any(agent != agents[index % length] for index, agent in enumerate(agents)):
        yield tasks
        return
    yield from (tasks[first : first + length] for first in range(0, len(tasks), length))


def _is_same_task(start: JSONObject, entry: JSONObject) -> bool:
    return all(start.get(name) == entry.get(name) for name in _TASK_KEY)


def _find_open_task(pending: list[_LoggedTask], entry: JSONObject) -> _LoggedTask | None:
    """Return the open task that an entry ends; old logs have the result in place of the task."""
    match = next((task for task in pending if _is_same_task(task.start, entry)), None)
    return match or next((task for task in pending if task.start.get("agent") == entry.get("agent")), None)


def _log_step(task: _LoggedTask, key: str, location: str) -> RecordedStep:
    start, end = task.start, task.end or {}
    output = end.get("output")
    if output is None and task.end is not None:
        output = end.get("task")
    is_failure = end.get("status") == "failed"
    request = start.get("task") if start else None if end.get("output") is None else end.get("task")
    task_name = as_text(first_member(start, "task_name") or first_member(end, "task_name"))
    return RecordedStep(
        key=key,
        type=StepType.AGENT,
        name=as_text(first_member(start, "agent") or first_member(end, "agent")).strip() or "agent",
        parent=_ROOT,
        status=StepStatus.ERROR if is_failure else StepStatus.OK if task.end is not None else StepStatus.PARTIAL,
        started_at=_time(start, location),
        ended_at=_time(end, location),
        input={"task": request} if request else None,
        output={"text": output} if output is not None and not is_failure else None,
        error=(as_text(end.get("error")) or as_text(output) or "failed") if is_failure else "",
        attributes={**_other_fields(start), **_other_fields(end), **_task_name(task_name)},
    )


def _task_name(task: str) -> JSONObject:
    return {"task_name": task} if task not in {"", "None"} else {}


def _other_fields(entry: JSONObject) -> JSONObject:
    return {key: value for key, value in entry.items() if key not in _ENTRY_FIELDS and value not in (None, "", {}, [])}


def _time(entry: JSONObject, location: str) -> datetime | None:
    return parse_time(entry.get("timestamp"), f"{location}/timestamp")


def _crew(steps: list[RecordedStep], totals: JSONObject | None = None, location: str = "") -> list[RecordedStep]:
    """Return the task steps below a crew step, whose output is that of the last task."""
    token_totals = totals or {}
    task_steps = [step for step in steps if step.parent == _ROOT]
    starts = [step.started_at for step in task_steps if step.started_at]
    ends = [step.ended_at for step in task_steps if step.ended_at]
    output = next((step.output for step in reversed(task_steps) if step.output is not None), None)
    root = RecordedStep(
        key=_ROOT,
        type=StepType.AGENT,
        name=_ROOT,
        started_at=min(starts, default=None),
        ended_at=max(ends, default=None),
        output=output,
        tokens_in=parse_token_count(token_totals.get("prompt_tokens"), location),
        tokens_out=parse_token_count(token_totals.get("completion_tokens"), location),
        tokens_cached=parse_token_count(token_totals.get("cached_prompt_tokens"), location),
    )
    return transcripts.replace_output([root, *steps], as_text(as_object(output).get("text")))


def _output_run(body: JSONObject, location: str) -> RecordedRun:
    tasks = [as_object(task) for task in as_list(body["tasks_output"])]
    steps = [
        step
        for number, task in enumerate(tasks, 1)
        for step in _task_steps(task, f"task-{number}", f"{location}/tasks_output/{number - 1}")
    ]
    totals = as_object(body.get("token_usage"))
    crew = _crew(steps, totals, f"{location}/token_usage")
    return build_run(
        RunFacts(
            external_id=as_text(first_member(body, "kickoff_id", "id")) or f"{FORMAT}-{content_id(body, location)}",
            app=FORMAT,
            format=FORMAT,
            metadata={"token_usage": totals, "json_dict": body.get("json_dict")},
        ),
        transcripts.replace_output(crew, as_text(body.get("raw"))),
        location=location,
    )


def _task_steps(task: JSONObject, key: str, location: str) -> Iterator[RecordedStep]:
    """Yield the agent step of a task and the steps of its recorded messages."""
    request = as_text(task.get("description"))
    other_fields: JSONObject = {
        name: value for name, value in task.items() if name not in _MAPPED_FIELDS and value not in (None, "", {}, [])
    }
    name = as_text(task.get("name"))
    messages = [
        TranscriptMessage(value=_with_failure(value), location=f"{location}/messages/{index}", actions=_calls(value))
        for index, value in enumerate(_messages(task))
    ]
    transcript = transcripts.build_steps(messages, TranscriptSettings()) if messages else []
    notes = transcript[0].attributes if transcript else {}
    yield RecordedStep(
        key=key,
        type=StepType.AGENT,
        name=as_text(task.get("agent")).strip() or "agent",
        parent=_ROOT,
        input={"task": request} if request else None,
        output={"text": task.get("raw")},
        attributes={**other_fields, **({"task_name": name} if name else {}), **notes},
    )
    for step in transcript[1:]:
        if step.type is not StepType.OUTPUT:
            parent = key if step.parent == "agent" else f"{key}/{step.parent}"
            yield replace(
                step, key=f"{key}/{step.key}", parent=parent, links=tuple(f"{key}/{link}" for link in step.links)
            )


def _messages(task: JSONObject) -> list[JSONValue]:
    """Return the messages of a task; CrewAI keeps the last answer only as the result of the task."""
    messages, result = as_list(task.get("messages")), task.get("raw")
    has_answer = not messages or as_object(messages[-1]).get("role") == "assistant" or not result
    return messages if has_answer else [*messages, {"role": "assistant", "content": result, "text_of": "task result"}]


def _calls(message: JSONValue) -> tuple[TextAction, ...]:
    """Return the call in the text of an answer, to which CrewAI adds what the tool returned."""
    body = as_object(message)
    text = as_text(body.get("content")) if body.get("role") == "assistant" else ""
    call, mark, result = text.partition("\nObservation:")
    head, input_mark, arguments = call.rpartition("\nAction Input:")
    _, action_mark, name = head.rpartition("Action:")
    if not (mark and input_mark and action_mark):
        return ()
    error = result.strip() if result.lstrip().startswith(_TOOL_FAILURE) else ""
    return (
        TextAction(
            name=name.strip(),
            arguments=parse_embedded(arguments.strip()),
            output=result.strip(),
            error=error,
            status=StepStatus.ERROR if error else StepStatus.OK,
        ),
    )


def _with_failure(message: JSONValue) -> JSONValue:
    """Return a result with its failure, which only its text states."""
    body = as_object(message)
    is_failure = body.get("role") == "tool" and as_text(body.get("content")).startswith(_TOOL_FAILURE)
    return {**body, "is_error": True} if is_failure else message
