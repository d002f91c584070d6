"""CrewAI: the log of tasks (JSON or text), the output of a crew, and the events of its event bus.

A log appends one execution to another: the first task that starts again while none is open begins the next run.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import parse_token_count
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text
from traces.importers.files.json_reader import first, items, obj, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.frameworks import crewai_events

FORMAT: Final = "crewai"
_ROOT: Final = "crew"
_STATES: Final = frozenset({"started", "completed", "failed"})
_ENTRY: Final = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d): (?=\w+=\")", re.M)
_FIELD: Final = re.compile(r'(?:^|", )(task_name|task|agent|status|output)="')
_MAPPED: Final = frozenset({"description", "raw", "agent", "name", "messages"})


def recognises(sample: Sample) -> float:
    """How sure it is that the file was written by CrewAI."""
    objects = sample.objects
    if any(_is_entry(each) or _is_output(each) for each in objects):
        return 1.0
    nested = [obj(event) for each in objects for event in items(each.get("events"))[:20]]
    if crewai_events.are_events([*objects, *nested]):
        return 1.0
    return 1.0 if not sample.values and _is_text(sample.head[:4_000]) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """The executions in the file."""
    if _is_text(source.data[:4_000]):
        yield from _log(_text_entries(decode_text(source.data)), "")
        return
    records = [(record.value, record.location) for record in source.records()]
    objects = [
        (obj(each), f"{where}/{at}" if isinstance(value, list) else where)
        for value, where in records
        for at, each in enumerate(value if isinstance(value, list) else [value])
    ]
    if outputs := [(body, where) for body, where in objects if _is_output(body)]:
        for body, where in outputs:
            yield _output(body, where)
    elif any(_is_entry(body) for body, _ in objects):
        yield from _log([body for body, _ in objects], records[0][1])
    else:
        events = [event for body, _ in objects for event in ([obj(e) for e in items(body.get("events"))] or [body])]
        yield from crewai_events.runs_of(events, FORMAT)


def _is_entry(body: JSONObject) -> bool:
    """An entry of the log of tasks."""
    return {"timestamp", "agent", "status"} <= body.keys() and text(body["status"]) in _STATES and "task" in body


def _is_output(body: JSONObject) -> bool:
    """What a crew's kick-off returns."""
    return "raw" in body and bool(items(body.get("tasks_output")))


def _is_text(data: bytes) -> bool:
    try:
        found = _ENTRY.match(decode_text(data).lstrip())
    except BadFile:
        return False
    return found is not None


def _text_entries(content: str) -> list[JSONObject]:
    parts = _ENTRY.split(content.lstrip())
    entries: list[JSONObject] = []
    for time, body in zip(parts[1::2], parts[2::2], strict=True):
        found = list(_FIELD.finditer(body.rstrip()))
        ends = [each.start() for each in found[1:]] + [len(body.rstrip().removesuffix('"'))]
        named = {each[1]: body[each.end() : end] for each, end in zip(found, ends, strict=True)}
        entries.append({"timestamp": time, **named})
    return entries


@dataclass(kw_only=True)
class _Task:
    """A task of the log: when an agent began it, and what came of it."""

    begun: JSONObject
    ended: JSONObject | None = None


def _log(entries: Sequence[JSONObject], where: str) -> Iterator[RecordedRun]:
    for executed in _executions(entries):
        kept: list[JSONValue] = [each for task in executed for each in (task.begun, task.ended) if each]
        external_id = f"{FORMAT}-{content_id(kept, where)}"
        steps = [_logged(task, f"task-{at}", where) for at, task in enumerate(executed, 1)]
        yield build_run(
            RunFacts(
                external_id=external_id,
                app=FORMAT,
                format=FORMAT,
                failed=any(step.status is StepStatus.ERROR for step in steps),
            ),
            _crew(steps),
            location=where,
        )


def _executions(entries: Sequence[JSONObject]) -> Iterator[list[_Task]]:
    tasks: list[_Task] = []
    pending: list[_Task] = []
    for entry in entries:
        if entry.get("status") == "started":
            if tasks and not pending and _same(tasks[0].begun, entry):
                yield tasks
                tasks = []
            tasks.append(_Task(begun=entry))
            pending.append(tasks[-1])
            continue
        task = _begun(pending, entry)
        if task is None:
            tasks.append(_Task(begun={}, ended=entry))
        else:
            pending.remove(task)
            task.ended = entry
    if tasks:
        yield tasks


def _same(one: JSONObject, other: JSONObject) -> bool:
    return all(one.get(name) == other.get(name) for name in ("task_name", "task", "agent"))


def _begun(pending: list[_Task], entry: JSONObject) -> _Task | None:
    """The open task that an entry ends: old logs have the result in place of the task."""
    same = next((task for task in pending if _same(task.begun, entry)), None)
    return same or next((task for task in pending if task.begun.get("agent") == entry.get("agent")), None)


def _logged(task: _Task, key: str, where: str) -> RecordedStep:
    begun, ended = task.begun, task.ended or {}
    output = ended.get("output")
    if output is None and task.ended is not None:
        output = ended.get("task")
    failed = ended.get("status") == "failed"
    asked = begun.get("task") if begun else None if ended.get("output") is None else ended.get("task")
    named = text(first(begun, "task_name") or first(ended, "task_name"))
    return RecordedStep(
        key=key,
        type=StepType.AGENT,
        name=text(first(begun, "agent") or first(ended, "agent")).strip() or "agent",
        parent=_ROOT,
        status=StepStatus.ERROR if failed else StepStatus.OK if task.ended is not None else StepStatus.PARTIAL,
        started_at=_time(begun, where),
        ended_at=_time(ended, where),
        input={"task": asked} if asked else None,
        output={"text": output} if output is not None and not failed else None,
        error=(text(output) or "failed") if failed else "",
        attributes={"task_name": named} if named not in {"", "None"} else {},
    )


def _time(entry: JSONObject, where: str) -> datetime | None:
    return parse_time(entry.get("timestamp"), f"{where}/timestamp")


def _crew(steps: list[RecordedStep], totals: JSONObject | None = None, where: str = "") -> list[RecordedStep]:
    """The steps of tasks below their crew; the last task's output is the crew's."""
    spent = totals or {}
    inner = [step for step in steps if step.parent == _ROOT]
    starts = [step.started_at for step in inner if step.started_at]
    ends = [step.ended_at for step in inner if step.ended_at]
    output = next((step.output for step in reversed(inner) if step.output is not None), None)
    root = RecordedStep(
        key=_ROOT,
        type=StepType.AGENT,
        name=_ROOT,
        started_at=min(starts, default=None),
        ended_at=max(ends, default=None),
        output=output,
        tokens_in=parse_token_count(spent.get("prompt_tokens"), where),
        tokens_out=parse_token_count(spent.get("completion_tokens"), where),
        tokens_cached=parse_token_count(spent.get("cached_prompt_tokens"), where),
    )
    return transcripts.replace_output([root, *steps], text(obj(output).get("text")))


def _output(body: JSONObject, where: str) -> RecordedRun:
    tasks = [obj(each) for each in items(body["tasks_output"])]
    steps = [
        step for at, task in enumerate(tasks, 1) for step in _task(task, f"task-{at}", f"{where}/tasks_output/{at - 1}")
    ]
    totals = obj(body.get("token_usage"))
    crew = _crew(steps, totals, f"{where}/token_usage")
    return build_run(
        RunFacts(
            external_id=text(first(body, "kickoff_id", "id")) or f"{FORMAT}-{content_id(body, where)}",
            app=FORMAT,
            format=FORMAT,
            metadata={"token_usage": totals, "json_dict": body.get("json_dict")},
        ),
        transcripts.replace_output(crew, text(body.get("raw"))),
        location=where,
    )


def _task(task: JSONObject, key: str, where: str) -> Iterator[RecordedStep]:
    """The agent's step of a task, with what was said in it where it is recorded."""
    asked = text(task.get("description"))
    rest: JSONObject = {
        name: value for name, value in task.items() if name not in _MAPPED and value not in (None, "", {}, [])
    }
    name = text(task.get("name"))
    yield RecordedStep(
        key=key,
        type=StepType.AGENT,
        name=text(task.get("agent")).strip() or "agent",
        parent=_ROOT,
        input={"task": asked} if asked else None,
        output={"text": task.get("raw")},
        attributes={**rest, **({"task_name": name} if name else {})},
    )
    said = [
        TranscriptMessage(value=each, location=f"{where}/messages/{at}")
        for at, each in enumerate(items(task.get("messages")))
    ]
    for step in transcripts.build_steps(said, TranscriptSettings())[1:] if said else []:
        if step.type is not StepType.OUTPUT:
            parent = key if step.parent == "agent" else f"{key}/{step.parent}"
            yield replace(
                step, key=f"{key}/{step.key}", parent=parent, links=tuple(f"{key}/{each}" for each in step.links)
            )
