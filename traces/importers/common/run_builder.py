"""From the steps of a recording, in any order, to a run: tree, order, times, identity, name."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from traces.core.canonical import NotCanonical, digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus, StepType
from traces.importers.common.messages import first_request
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import items, obj, text
from traces.payloads.messages import ModelRequest

MOST_STEPS: Final = 500_000
_BARE: Final = frozenset({StepType.AGENT, StepType.TURN})
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_KEY_LENGTH: Final = 200
_NAME_LENGTH: Final = 120
_CONTAINERS: Final = (
    (re.compile(r"\bplan", re.I), StepType.PLANNER),
    (re.compile(r"guard|safety|moderat", re.I), StepType.SAFETY),
    (re.compile(r"valid|evaluat|verif", re.I), StepType.VALIDATOR),
    (re.compile(r"^turn\b", re.I), StepType.TURN),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """What a source says about a run besides its steps.

    `title` is the name that somebody gave to the run; `name` is used where there is none and no step shows a request.
    """

    external_id: str
    app: str
    format: str
    name: str = ""
    title: str = ""
    environment: str = ""
    failed: bool = False
    tags: Iterable[str] = ()
    metadata: JSONObject = field(default_factory=dict)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    judgements: Iterable[RecordedJudgement] = ()


def build_run(facts: RunFacts, steps: Sequence[RecordedStep], *, location: str = "") -> RecordedRun:
    """The run of these steps, which are in causal order already."""
    if not steps:
        raise BadFile("there is no step in this recording", location)
    if len(steps) > MOST_STEPS:
        raise BadFile(f"more than {MOST_STEPS} steps in one run", location)
    starts = [step.started_at for step in steps if step.started_at]
    ends = [end for step in steps if (end := step.ended_at or step.started_at)]
    return RecordedRun(
        external_id=_short_key(facts.external_id),
        name=_line(facts.title, _NAME_LENGTH) or run_name(steps, facts.name or facts.external_id),
        app=_line(facts.app, _NAME_LENGTH) or facts.format,
        format=facts.format,
        steps=_linked(tuple(_clean(step) for step in steps)),
        environment=_line(facts.environment, 60),
        status=_status(facts, steps),
        started_at=facts.started_at or min(starts, default=None),
        ended_at=facts.ended_at or max(ends, default=None),
        tags=tuple(dict.fromkeys(tag for each in facts.tags if (tag := _line(each, 100)))),
        metadata=obj(_plain({key: value for key, value in facts.metadata.items() if value not in (None, "", [], {})})),
        judgements=_judged(facts.judgements, steps),
    )


def is_empty(run: RecordedRun) -> bool:
    """Whether the recording names no more than its agent: no step holds a payload, an error or a time."""
    return all(
        step.type in _BARE
        and step.input is None
        and step.output is None
        and not step.error
        and step.started_at is None
        and step.ended_at is None
        for step in run.steps
    )


def sort_causally(steps: Sequence[RecordedStep], *, location: str = "") -> list[RecordedStep]:
    """By start time, parents before their children; a parent that is not there is noted and left out."""
    merged = {step.key: step for step in steps}
    known = [_adopted(step, merged) for step in merged.values()]
    depths = _depths({step.key: step.parent for step in known}, location)
    starts: dict[str, datetime] = {}
    for step in sorted(known, key=lambda each: depths[each.key]):
        above = starts[step.parent] if step.parent else _START
        starts[step.key] = max(step.started_at or above, above)
    return sorted(known, key=lambda each: (starts[each.key], depths[each.key], each.ended_at or starts[each.key]))


def merge_records(older: JSONObject, newer: JSONObject) -> JSONObject:
    """Two records of one thing: what the newer says, and what only the older says; objects field by field."""
    merged = dict(older)
    for key, value in newer.items():
        known = merged.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            merged[key] = merge_records(known, value)
        elif value is not None or key not in merged:
            merged[key] = value
    return merged


def run_name(steps: Sequence[RecordedStep], otherwise: str) -> str:
    """The first thing that a user asked, in one line."""
    before: Sequence[JSONValue] = []
    for step in steps:
        messages = ModelRequest(step.input).messages
        # a conversation grows: what the call before was shown holds no request, or it would have been returned
        known = (
            len(before) if before and len(messages) >= len(before) and messages[len(before) - 1] is before[-1] else 0
        )
        if request := first_request(messages[known:]):
            return _line(request, _NAME_LENGTH)
        before = messages or before
    asked = next((found for step in steps if (found := _asked(step.input))), "")
    return _line(asked or otherwise, _NAME_LENGTH)


def container_type(name: str) -> StepType:
    """The type of a span that only groups others: by its name where that says it, else an agent's work."""
    return next((type for pattern, type in _CONTAINERS if pattern.search(name)), StepType.AGENT)


def app_name(*candidates: JSONValue) -> str:
    """The first candidate that names an application."""
    names = (text(each).strip() for each in candidates)
    return next((each for each in names if each and each != "default" and not each.startswith("unknown_service")), "")


def match_calls(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Tool steps without a call id get that of the earlier model call with their name and arguments."""
    open_calls: list[tuple[str, str, str]] = []
    matched: list[RecordedStep] = []
    for step in steps:
        if step.type is StepType.MODEL:
            open_calls += [each for each in _calls_in(step.output) if each not in open_calls]
        elif step.type is StepType.TOOL:
            step = _with_call(step, open_calls)
        matched.append(step)
    return matched


def called_tool_names(outputs: Iterable[JSONValue]) -> frozenset[str]:
    """The names of all tools that these model outputs call."""
    return frozenset(name for output in outputs for name, _, _ in _calls_in(output))


def _with_call(step: RecordedStep, open_calls: list[tuple[str, str, str]]) -> RecordedStep:
    if step.call_id:
        open_calls[:] = [call for call in open_calls if call[2] != step.call_id]
        return step
    wanted = (step.called, _digest(step.input))
    found = next((call for call in open_calls if call[:2] == wanted), None)
    if found is None:
        return step
    open_calls.remove(found)
    return replace(step, call_id=found[2])


def _calls_in(output: JSONValue) -> list[tuple[str, str, str]]:
    calls = [obj(call) for call in items(obj(obj(output).get("message")).get("tool_calls"))]
    return [
        (text(call.get("name")), _digest(call.get("arguments")), text(call["id"])) for call in calls if call.get("id")
    ]


def _digest(value: JSONValue) -> str:
    try:
        return digest(value)
    except NotCanonical as error:
        raise BadFile(error.problem, error.where) from error


def _asked(value: JSONValue) -> str:
    """A request in an input that is no conversation."""
    if isinstance(value, str):
        return value
    given = obj(value)
    named = (given.get(key) for key in ("task", "query", "question", "input", "prompt"))
    return next((each for each in named if isinstance(each, str) and each.strip()), "")


def _status(facts: RunFacts, steps: Sequence[RecordedStep]) -> RunStatus:
    """A run failed when its source says so or a root step did; one failed tool is the agent's to handle."""
    if facts.failed or any(step.status is StepStatus.ERROR for step in steps if step.parent is None):
        return RunStatus.FAILED
    return RunStatus.COMPLETED


def _adopted(step: RecordedStep, known: dict[str, RecordedStep]) -> RecordedStep:
    if step.parent is None or step.parent in known:
        return step
    return replace(step, parent=None, attributes={**step.attributes, "missing_parent": step.parent})


def _depths(parents: dict[str, str | None], where: str) -> dict[str, int]:
    depths: dict[str, int] = {}
    for key in parents:
        path: list[str] = []
        at: str | None = key
        while at is not None and at not in depths:
            if at in path[-1:] or len(path) > len(parents):
                raise BadFile(f"the parents of step {at!r} form a cycle", where)
            path.append(at)
            at = parents[at]
        base = depths[at] if at is not None else -1
        depths |= {each: base + count for count, each in enumerate(reversed(path), 1)}
    return depths


def _linked(steps: tuple[RecordedStep, ...]) -> tuple[RecordedStep, ...]:
    """Links to what is not in the run are no links."""
    keys = {step.key for step in steps}
    return tuple(
        replace(step, links=tuple(link for link in step.links if link in keys)) if step.links else step
        for step in steps
    )


def _clean(step: RecordedStep) -> RecordedStep:
    """Names within the store's widths, without the NUL that a database text cannot hold."""
    if step.started_at and step.ended_at and step.ended_at < step.started_at:
        # clocks of two machines disagree: an end before its start is no end
        odd: JSONObject = {"recorded_end": step.ended_at.isoformat()}
        step = replace(step, ended_at=None, attributes={**step.attributes, **odd})
    held = {
        "key": _short_key(step.key),
        "parent": _short_key(step.parent) if step.parent else None,
        "links": tuple(_short_key(link) for link in step.links),
        "name": _line(step.name, _NAME_LENGTH) or step.type.value,
        "error": step.error.replace("\0", "�"),
        "provider": _line(step.provider, 80),
        "model": _line(step.model, _NAME_LENGTH),
        "tool_name": _line(step.tool_name, _KEY_LENGTH),
        "call_id": step.call_id.replace("\0", "�"),
    }
    changed: dict[str, Any] = {name: value for name, value in held.items() if value != getattr(step, name)}
    return replace(step, **changed) if changed else step


def _judged(judgements: Iterable[RecordedJudgement], steps: Sequence[RecordedStep]) -> tuple[RecordedJudgement, ...]:
    """Judgements within the store's widths; one of a step that is not in the run is one of the run's notes."""
    keys = {_short_key(step.key) for step in steps}
    fitted = []
    for each in judgements:
        step = None if each.step is None else _short_key(each.step)
        missing = step is not None and step not in keys
        fitted.append(
            replace(
                each,
                name=_line(each.name, _NAME_LENGTH) or "judgement",
                by=_line(each.by, _NAME_LENGTH),
                step=None if missing else step,
                kind=JudgementKind.NOTE if missing else each.kind,
                value=None if missing else each.value,
                text=(f"step {step}: {each.kind} {each.text}" if missing else each.text).replace("\0", "�"),
            )
        )
    return tuple(fitted)


def _short_key(key: str) -> str:
    """An identifier that fits, still unique."""
    plain = key.replace("\0", "�")
    return plain if len(plain) <= _KEY_LENGTH else f"{plain[:150]}…{_digest(plain)[:16]}"


def _line(value: str, width: int) -> str:
    line = " ".join(value[: width * 8].replace("\0", "�").split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def _plain(value: JSONValue) -> JSONValue:
    if isinstance(value, str):
        return value.replace("\0", "�")
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key.replace("\0", "�"): _plain(each) for key, each in value.items()}
    return value
