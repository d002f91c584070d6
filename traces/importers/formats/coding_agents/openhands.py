"""OpenHands: events in one file each, as a list or lines, or inside the rows of an evaluation.

There are two kinds of events: actions and observations of the older server, and typed events of the agent SDK.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import (
    as_list,
    as_object,
    as_text,
    first_member,
    has_object,
    has_string,
    list_or_single,
    omit,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import normalize_provider, parse_cost
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents import openhands_actions, openhands_sdk
from traces.importers.formats.coding_agents.openhands_session import Session

FORMAT: Final = "openhands"
_LISTS: Final = ("history", "trajectory", "events")
_PARAMETERS: Final = ("temperature", "top_p", "top_k", "max_output_tokens", "reasoning_effort", "seed")
_ONLY_STATE: Final = "the state of a conversation without its events: import the folder `events` beside it too"
_METADATA: Final = ("instance_id", "metadata", "metrics", "error", "test_result", "report")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Recording:
    """The events of one session and the evaluation row around them."""

    body: JSONObject
    events: list[JSONObject]
    location: str
    # The state of a conversation of the SDK, from the file beside its events.
    state: JSONObject = field(default_factory=dict)

    @property
    def llm(self) -> JSONObject:
        settings = as_object(as_object(self.state.get("agent")).get("llm"))
        return settings or as_object(first_member(as_object(self.body.get("metadata")), "llm_config", "llm"))

    @property
    def metrics(self) -> JSONObject:
        """What the agent used in the whole session."""
        usages = as_object(as_object(self.state.get("stats")).get("usage_to_metrics"))
        return as_object(self.body.get("metrics")) or as_object(usages.get("agent"))


def sniff(sample: Sample) -> float:
    """Return the confidence that the file contains OpenHands events."""
    if any(_is_event(body) or _is_row(body) or _is_state(body) for body in sample.objects):
        return 1.0
    return (
        1.0
        if any(_is_event(_flatten(as_list(value))[0]) for value in sample.values if isinstance(value, list))
        else 0.0
    )


def lines_are_runs(sample: Sample) -> bool:
    """Return True if every line is an evaluation row, not an event."""
    return sample.is_lines and bool(sample.objects) and all(_is_row(body) for body in sample.objects)


def keys(source: Source) -> set[str]:
    """Group single-event files by folder; every other file is a group by itself."""
    try:
        is_single_event = not source.is_lines and _is_event(as_object(source.value))
        if not source.is_lines and _is_state(as_object(source.value)):
            return {f"folder {_events_folder(source.name)}"}
    except BadFile:
        is_single_event = False
    return {f"folder {_folder(source.name)}"} if is_single_event else {f"file {source.name}"}


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield the runs of the files; the single-event files of one folder form one run."""
    folders: dict[str, list[JSONObject]] = {}
    states: dict[str, tuple[JSONObject, Source]] = {}
    for source in sources:
        try:
            if not source.is_lines and _is_state(as_object(source.value)):
                states[_events_folder(source.name)] = (as_object(source.value), source)
                continue
            recordings = list(_recordings(source, folders))
            runs = [_run(recording) for recording in recordings]
        except BadFile as problem:
            source.problems.append(problem)
        else:
            yield from runs
    for _, source in (states[folder] for folder in states.keys() - folders.keys()):
        source.problems.append(BadFile(_ONLY_STATE, "/"))
    for folder, events in folders.items():
        state = states[folder][0] if folder in states else {}
        try:
            yield _run(_Recording(body={}, events=sorted(events, key=_order), location=folder, state=state))
        except BadFile as problem:
            sources[-1].problems.append(problem)


def _recordings(source: Source, folders: dict[str, list[JSONObject]]) -> Iterator[_Recording]:
    """Yield the sessions of a file; add a single event to its folder."""
    records = [(record.value, record.location) for record in source.records()]
    if source.is_lines and records and not any(_is_row(as_object(value)) for value, _ in records):
        yield _Recording(body={}, events=[as_object(value) for value, _ in records], location="")
        return
    for value, location in records:
        if isinstance(value, list) and not any(_is_row(as_object(item)) for item in value):
            yield _Recording(body={}, events=_flatten(value), location=location)
            continue
        for item in list_or_single(value):
            body = as_object(item)
            if _is_row(body):
                event_list = _event_list(body)
                yield _Recording(body=body, events=_flatten(event_list) if event_list else [], location=location)
            elif _is_event(body):
                folders.setdefault(_folder(source.name), []).append(body)
            else:
                raise BadFile("an event or a list of events was expected", location)


def _is_event(event: JSONObject) -> bool:
    kind = as_text(event.get("kind"))
    if kind in openhands_sdk.KINDS and "source" in event:
        return True
    return "source" in event and (
        (has_string(event, "action") and "args" in event) or (has_string(event, "observation") and "extras" in event)
    )


def _is_state(body: JSONObject) -> bool:
    """Return whether an object is the state of a conversation of the SDK (`base_state.json`)."""
    return {"id", "workspace"} <= body.keys() and has_object(as_object(body.get("agent")), "llm")


def _events_folder(state_file: str) -> str:
    return str(PurePosixPath(_folder(state_file)) / "events")


def _is_row(body: JSONObject) -> bool:
    """Return whether an object is the row of an evaluation: with events, or of a run that failed before any."""
    has_failed = {"instance_id", "history", "test_result"} <= body.keys() and bool(body.get("error"))
    return bool(_event_list(body)) or (has_failed and not body["history"])


def _event_list(body: JSONObject) -> list[JSONValue]:
    """Return the events in a row; older rows pair every action with its observation."""
    for name in _LISTS:
        events = as_list(body.get(name))
        if events and _is_event(_flatten(events)[0] if isinstance(events[0], list) else as_object(events[0])):
            return events
    return []


def _folder(name: str) -> str:
    return str(PurePosixPath(name.replace("\\", "/")).parent)


def _flatten(events: list[JSONValue]) -> list[JSONObject]:
    return [event for item in events for event in _pair(list_or_single(item))] or [{}]


def _pair(events: list[JSONValue]) -> list[JSONObject]:
    """Return events of which the first caused the others, if these do not state it."""
    if not events:
        return []
    first, *effects = (as_object(event) for event in events)
    cause = first.get("id")
    return [first, *(event if "cause" in event or cause is None else {**event, "cause": cause} for event in effects)]


def _order(event: JSONObject) -> tuple[str, int]:
    """Return the sort key of an event: its number on the server, or its time in the SDK."""
    number = event.get("id")
    return ("", number) if isinstance(number, int) else (as_text(event.get("timestamp")), 0)


def _run(recording: _Recording) -> RecordedRun:
    is_sdk = any("kind" in event for event in recording.events[:5])
    session: Session = (
        openhands_sdk.build_session(recording.events, recording.location, recording.metrics)
        if is_sdk
        else openhands_actions.build_session(recording.events, recording.location)
    )
    messages = _with_task(session.messages, recording)
    llm = recording.llm
    model = session.model or as_text(llm.get("model"))
    setting = TranscriptSettings(
        model=model,
        provider=normalize_provider(None, model.rpartition("/")[2]),
        parameters={name: llm[name] for name in _PARAMETERS if llm.get(name) is not None},
        tools=session.tools,
        agent=FORMAT,
    )
    steps = transcripts.replace_output(transcripts.build_steps(messages, setting), session.output)
    reason = as_text(session.metadata.get("error") if recording.events else recording.body.get("error"))
    if not recording.events or reason:
        steps[0] = replace(steps[0], status=StepStatus.ERROR, error=reason)
    if not session.has_costs:
        cost = parse_cost(recording.metrics.get("accumulated_cost") or session.cost)
        steps[0] = replace(steps[0], cost_usd=cost)
    return build_run(
        RunFacts(
            external_id=_identity(recording),
            app=FORMAT,
            format=FORMAT,
            failed=session.failed or bool(recording.body.get("error")),
            metadata={
                **{key: recording.body[key] for key in _METADATA if key in recording.body},
                **session.metadata,
                **({"events": session.notes} if session.notes else {}),
                "state": omit(recording.state, "agent", "id"),
            },
            tags=[f"task:{task}"] if (task := as_text(recording.body.get("instance_id"))) else [],
            judgements=[judgement("resolved", verdict) for verdict in _verdicts(recording.body)[:1]],
        ),
        steps,
        location=recording.location,
    )


def _with_task(messages: list[TranscriptMessage], recording: _Recording) -> list[TranscriptMessage]:
    """Insert the instruction of the row if no user message has it."""
    task = recording.body.get("instruction")
    if not task or any(
        as_object(message.value).get("role") == "user" and not message.is_injected for message in messages
    ):
        return messages
    return [
        TranscriptMessage(value={"role": "user", "content": task}, location=f"{recording.location}/instruction"),
        *messages,
    ]


def _identity(recording: _Recording) -> str:
    """Derive an id from the first event, as no event contains the session id."""
    first_event = recording.events[0] if recording.events else recording.body
    is_unique = not recording.events or first_event.get("timestamp") or has_string(first_event, "id")
    if id := as_text(recording.state.get("id")):
        return id
    name = as_text(first_member(recording.body, "instance_id", "conversation_id", "id"))
    digest = content_id(first_event if is_unique else [*recording.events], recording.location)
    return "-".join(part for part in (name or FORMAT, digest) if part)


def _verdicts(body: JSONObject) -> list[bool]:
    reports = [
        body,
        as_object(body.get("report")),
        as_object(body.get("test_result")),
        as_object(as_object(body.get("test_result")).get("report")),
        # Early versions have numbers there.
        as_object(as_object(body.get("test_result")).get("result")),
    ]
    verdicts = (report.get("resolved") for report in reports)
    return [bool(verdict) for verdict in verdicts if isinstance(verdict, bool) or verdict in (0, 1)]
