"""Assembly of a run from recorded steps in any order: tree, order, times, identity, name."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import Any, Final

from traces.core.canonical import NotCanonical, canonical_bytes, digest_bytes
from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.step_header import evolve, step_view
from traces.core.storable_text import storable
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus, StepType
from traces.importers.common.judgements import words
from traces.importers.common.names import NAME_LENGTH, one_line, run_name, tool_words
from traces.importers.common.streamed_calls import Call, OpenCalls, restore_streamed_calls
from traces.importers.files.errors import BadFile
from traces.payloads.messages import ModelAnswer

MOST_STEPS: Final = 500_000
# Attribute of a step whose parent is not in the recording: the key of the parent.
MISSING_PARENT: Final = "missing_parent"
# Of the steps for a conversation as a whole, which no message stands for.
AGENT_KEY: Final = "agent"
OUTPUT_KEY: Final = "output"
DERIVED_KEYS: Final = frozenset({AGENT_KEY, OUTPUT_KEY})
_BARE: Final = frozenset({StepType.AGENT, StepType.TURN})
_CALL_TYPES: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL})
_FAILURES: Final = (StepStatus.ERROR, StepStatus.TIMEOUT)
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_KEY_LENGTH: Final = 200
# Fits into every column.
_SHORT: Final = 80
_CONTAINERS: Final = (
    (re.compile(r"\bplan", re.I), StepType.PLANNER),
    (re.compile(r"guard|safety|moderat", re.I), StepType.SAFETY),
    (re.compile(r"valid|evaluat|verif", re.I), StepType.VALIDATOR),
    (re.compile(r"^turn\b", re.I), StepType.TURN),
)


@step_view
class RunFacts:
    """A source's record of a run without its steps.

    `has_ended` is false if the source records ends and this run has none. `has_succeeded`: the program of the run ended
    with exit code 0. `title` is the run's explicit name; `name` is the fallback if there is no title and no step
    contains a request. Without any of these, a run is named after the tools that it calls, or else by its id.
    """

    external_id: str
    app: str
    format: str
    name: str = ""
    title: str = ""
    environment: str = ""
    failed: bool = False
    has_succeeded: bool = False
    has_ended: bool = True
    tags: Iterable[str] = ()
    metadata: JSONObject = field(default_factory=dict)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    judgements: Iterable[RecordedJudgement] = ()
    retractions: Iterable[RecordedJudgement] = ()


def build_run(facts: RunFacts, steps: Sequence[RecordedStep], *, location: str = "") -> RecordedRun:
    """Build the run of these causally ordered steps. Raises `BadFile` for no steps or too many.

    A step whose parent is missing, or whose parents form a cycle, becomes a root; its attributes name the parent.
    """
    if not steps:
        raise BadFile("this recording has no steps", location)
    if len(steps) > MOST_STEPS:
        raise BadFile(f"the run has more than {MOST_STEPS} steps", location)
    starts = [step.started_at for step in steps if step.started_at]
    ends = [end for step in steps if (end := step.ended_at or step.started_at)]
    start = facts.started_at or min(starts, default=None)
    end = facts.ended_at or max(ends, default=None)
    return RecordedRun(
        external_id=_short_key(facts.external_id),
        name=one_line(facts.title, NAME_LENGTH)
        or run_name(steps, facts.name or tool_words(steps) or facts.external_id),
        app=one_line(facts.app, NAME_LENGTH) or facts.format,
        format=facts.format,
        steps=_drop_missing_links(tuple(_fit_step(step) for step in _mend_parents(steps))),
        environment=one_line(facts.environment, 60),
        status=_status(facts, steps),
        started_at=start,
        # The clocks of two machines disagree.
        ended_at=None if start and end and end < start else end,
        tags=tuple(dict.fromkeys(tag for tag_value in facts.tags if (tag := one_line(tag_value, 100)))),
        metadata=as_object(
            storable({key: value for key, value in facts.metadata.items() if value not in (None, "", [], {})})
        ),
        judgements=fit_judgements(facts.judgements, _keys(steps)),
        retractions=fit_judgements(facts.retractions, _keys(steps)),
    )


def is_empty(run: RecordedRun) -> bool:
    """Return whether a run has no recorded step: only agents and turns without payload, error or time.

    The agent and the output of a conversation may have a payload, because they are derived from the facts about it.
    """
    return all(
        (step.key in DERIVED_KEYS or (step.type in _BARE and step.input is None and step.output is None))
        and not step.error
        and step.started_at is None
        and step.ended_at is None
        for step in run.steps
    )


def sort_causally(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Sort by start time, parents before children; a parent that is missing or in a cycle becomes an attribute."""
    by_key = {step.key: step for step in steps}
    steps = [_adopt_orphan(step, by_key) for step in by_key.values()]
    depths = _depths({step.key: step.parent for step in steps})
    if depths is None:
        steps = _cut_cycles(steps)
        depths = _depths({step.key: step.parent for step in steps}) or {}
    starts: dict[str, datetime] = {}
    for step in sorted(steps, key=lambda step: depths[step.key]):
        parent_start = starts[step.parent] if step.parent else _START
        starts[step.key] = max(step.started_at or parent_start, parent_start)
    return sorted(steps, key=lambda step: (starts[step.key], depths[step.key], step.ended_at or starts[step.key]))


def merge_records(older: JSONObject, newer: JSONObject) -> JSONObject:
    """Merge two records of the same object, field by field; the newer value wins unless it is null."""
    result = dict(older)
    for key, value in newer.items():
        older_value = result.get(key)
        if isinstance(older_value, dict) and isinstance(value, dict):
            result[key] = merge_records(older_value, value)
        elif value is not None or key not in result:
            result[key] = value
    return result


def container_type(name: str) -> StepType:
    """Infer the type of a span that only groups others from its name; the default is agent."""
    return next((type for pattern, type in _CONTAINERS if pattern.search(name)), StepType.AGENT)


def app_name(*candidates: JSONValue) -> str:
    """Return the first candidate that names an application."""
    names = (as_text(name).strip() for name in candidates)
    return next((name for name in names if name and name != "default" and not name.startswith("unknown_service")), "")


def match_calls(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Give tool steps without a call id that of an earlier model's call with the same name and arguments."""
    open_calls = OpenCalls()
    result: list[RecordedStep] = []
    for step in restore_streamed_calls(steps):
        if step.type is StepType.MODEL:
            open_calls.add(_calls_in(step.output))
        elif step.type is StepType.TOOL:
            step = _assign_call_id(step, open_calls)
        result.append(step)
    return result


def called_tool_names(outputs: Iterable[JSONValue]) -> frozenset[str]:
    """Return the names of all tools that these model outputs call."""
    return frozenset(
        as_text(call.get("name"))
        for output in outputs
        if type(output) is dict and "message" in output
        for call in ModelAnswer(output).calls
        if call.get("id")
    )


def _assign_call_id(step: RecordedStep, open_calls: OpenCalls) -> RecordedStep:
    """Assign the id of the first matching open call, and close that call."""
    if step.call_id:
        call = open_calls.close_id(step.call_id)
        return evolve(step, input=call.arguments) if call and _is_text_of(step.input, call.arguments) else step
    match = open_calls.close_content((step.callee, _canonical_bytes(step.input)))
    return step if match is None else evolve(step, call_id=match.id)


def _is_text_of(value: JSONValue, arguments: JSONObject) -> bool:
    """Return whether a value is what LangChain makes of arguments: the only one, or their text in Python."""
    if isinstance(value, dict | list) or value is None:
        return False
    only = next(iter(arguments.values())) if len(arguments) == 1 else None
    return value == only or value in (str(only), str(arguments))


def _calls_in(output: JSONValue) -> list[Call]:
    """Return the tool calls of a model's output that have an id."""
    return [
        Call(
            name=as_text(call.get("name")),
            arguments=as_object(call.get("arguments")),
            data=_canonical_bytes(call.get("arguments")),
            id=as_text(call["id"]),
        )
        for call in ModelAnswer(output).calls
        if call.get("id")
    ]


def _canonical_bytes(value: JSONValue) -> bytes:
    try:
        return canonical_bytes(value)
    except NotCanonical as error:
        raise BadFile(error.problem, error.pointer) from error


def _status(facts: RunFacts, steps: Sequence[RecordedStep]) -> RunStatus:
    """Return `FAILED` if the source says so or a root step failed; the agent handles failed calls itself.

    Calls are roots where no agent is recorded around them: a program that ended well then handled them.
    A run whose end was not recorded is `PARTIAL`, and so is one of requests without any answer.
    """
    handled_types = _CALL_TYPES if facts.has_succeeded else frozenset()
    roots = [step for step in steps if step.parent is None and step.type not in handled_types]
    if facts.failed or any(step.status in _FAILURES for step in roots):
        return RunStatus.FAILED
    return RunStatus.COMPLETED if facts.has_ended and not _is_unanswered(steps) else RunStatus.PARTIAL


def _is_unanswered(steps: Sequence[RecordedStep]) -> bool:
    """Return whether steps are requests of users, and nothing else happened."""
    types = {step.type for step in steps}
    return types in ({StepType.TURN}, {StepType.TURN, StepType.AGENT}) and not any(step.output for step in steps)


def _mend_parents(steps: Sequence[RecordedStep]) -> Sequence[RecordedStep]:
    """Make steps without a valid parent roots; steps with every parent before its children stay as they are."""
    keys: set[str] = set()
    for step in steps:
        if step.parent is not None and step.parent not in keys:
            by_key = {step.key: step for step in steps}
            return _cut_cycles([_adopt_orphan(step, by_key) for step in steps])
        keys.add(step.key)
    return steps


def _cut_cycles(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Make the first step of each cycle of parents a root."""
    by_key = {step.key: step for step in steps}
    finished_keys, roots = set[str](), set[str]()
    for key in by_key:
        path: dict[str, None] = {}
        current: str | None = key
        while current is not None and current not in finished_keys and current not in path:
            path[current] = None
            current = by_key[current].parent
        if current in path:
            cycle = list(path)[list(path).index(str(current)) :]
            roots.add(min(cycle, key=lambda key: (by_key[key].started_at or _START, key)))
        finished_keys.update(path)
    return [
        replace(step, parent=None, attributes={**step.attributes, "cyclic_parent": step.parent})
        if step.key in roots
        else step
        for step in steps
    ]


def _adopt_orphan(step: RecordedStep, by_key: dict[str, RecordedStep]) -> RecordedStep:
    if step.parent is None or step.parent in by_key:
        return step
    return replace(step, parent=None, attributes={**step.attributes, MISSING_PARENT: step.parent})


def _depths(parents: dict[str, str | None]) -> dict[str, int] | None:
    """Return how many ancestors each step has; None if parents form a cycle."""
    depths: dict[str, int] = {}
    for key in parents:
        path: list[str] = []
        current: str | None = key
        while current is not None and current not in depths:
            if current in path[-1:] or len(path) > len(parents):
                return None
            path.append(current)
            current = parents[current]
        base = depths[current] if current is not None else -1
        depths |= {ancestor: base + count for count, ancestor in enumerate(reversed(path), 1)}
    return depths


def _drop_missing_links(steps: tuple[RecordedStep, ...]) -> tuple[RecordedStep, ...]:
    """Drop links to steps that are not in the run."""
    keys = {step.key for step in steps}
    return tuple(
        replace(step, links=tuple(link for link in step.links if link in keys)) if step.links else step
        for step in steps
    )


def _fit_step(step: RecordedStep) -> RecordedStep:
    """Shorten names to the store's widths, and replace NUL, which database text cannot contain."""
    if step.started_at and step.ended_at and step.ended_at < step.started_at:
        # The clocks of two machines disagree.
        end_note: JSONObject = {"recorded_end": step.ended_at.isoformat()}
        step = replace(step, ended_at=None, attributes={**step.attributes, **end_note})
    if _fits(step):
        return step
    values = {
        "key": _short_key(step.key),
        "parent": _short_key(step.parent) if step.parent else None,
        "links": tuple(_short_key(link) for link in step.links),
        "name": one_line(step.name, NAME_LENGTH) or step.type.value,
        "error": step.error.replace("\0", "�"),
        "provider": one_line(step.provider, 80),
        "model": one_line(step.model, NAME_LENGTH),
        "tool_name": one_line(step.tool_name, _KEY_LENGTH),
        "call_id": step.call_id.replace("\0", "�"),
    }
    changes: dict[str, Any] = {name: value for name, value in values.items() if value != getattr(step, name)}
    return replace(step, **changes) if changes else step


def _fits(step: RecordedStep) -> bool:
    """Quick check that a step fits; false only means that it must be looked at."""
    words = (step.key, step.parent or "", step.provider, step.model, step.tool_name)
    joined_words = "".join(words)
    return (
        max(map(len, words)) <= _SHORT
        and joined_words.isprintable()
        and " " not in joined_words
        and bool(step.name)
        and one_line(step.name, _SHORT) == step.name
        and not step.links
        and "\0" not in step.error
        and "\0" not in step.call_id
    )


def fit_judgements(judgements: Iterable[RecordedJudgement], step_keys: Iterable[str]) -> tuple[RecordedJudgement, ...]:
    """Shorten judgements to the store's widths; a judgement of a missing step becomes a note on the run."""
    judgements = tuple(judgements)
    # Most runs arrive without any.
    keys = {_short_key(key) for key in step_keys} if judgements else set()
    result = []
    for judgement in judgements:
        step = None if judgement.step is None else _short_key(judgement.step)
        is_missing = step is not None and step not in keys
        result.append(
            replace(
                judgement,
                name=one_line(judgement.name, NAME_LENGTH) or "judgement",
                by=one_line(judgement.by, NAME_LENGTH),
                detail=as_object(storable(judgement.detail)),
                step=None if is_missing else step,
                kind=JudgementKind.NOTE if is_missing else judgement.kind,
                value=None if is_missing else judgement.value,
                text=(f"step {step}: {words(judgement)}" if is_missing else judgement.text).replace("\0", "�"),
            )
        )
    return tuple(result)


def _keys(steps: Iterable[RecordedStep]) -> Iterable[str]:
    return (step.key for step in steps)


def _short_key(key: str) -> str:
    """Shorten an identifier, keeping it unique."""
    plain = key.replace("\0", "�")
    return plain if len(plain) <= _KEY_LENGTH else f"{plain[:150]}…{digest_bytes(_canonical_bytes(plain))[:16]}"
