"""OpenHands: events as files of one event each, as a list or lines, or inside the rows of an evaluation.

Both kinds of events are read: actions and observations of the older server, and the typed events of the agent SDK.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import normalize_provider, parse_cost
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcripts import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents import openhands_actions, openhands_sdk
from traces.importers.formats.coding_agents.openhands_session import Session

FORMAT: Final = "openhands"
_LISTS: Final = ("history", "trajectory", "events")
_KEPT: Final = ("instance_id", "metadata", "metrics", "error", "test_result", "report")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Recording:
    """The events of one session, and the row around them."""

    body: JSONObject
    events: list[JSONObject]
    where: str


def recognises(sample: Sample) -> float:
    """How sure it is that the file holds events of OpenHands."""
    if any(_is_event(each) or _listed(each) for each in sample.objects):
        return 1.0
    return 1.0 if any(_is_event(_flat(items(value))[0]) for value in sample.values if isinstance(value, list)) else 0.0


def lines_are_runs(sample: Sample) -> bool:
    """Whether every line is the row of an evaluation, not an event."""
    return sample.is_lines and bool(sample.objects) and all(_listed(each) for each in sample.objects)


def keys(source: Source) -> set[str]:
    """A file of one event belongs to those of its folder, any other stands for itself."""
    try:
        alone = not source.is_lines and _is_event(obj(source.value))
    except BadFile:
        alone = False
    return {f"folder {_folder(source.name)}"} if alone else {f"file {source.name}"}


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """The runs of the files; files of one event each are one run where they lie in one folder."""
    folders: dict[str, list[JSONObject]] = {}
    for source in sources:
        try:
            recordings = list(_recordings(source, folders))
            runs = [_run(each) for each in recordings]
        except BadFile as problem:
            source.problems.append(problem)
        else:
            yield from runs
    for folder, events in folders.items():
        try:
            yield _run(_Recording(body={}, events=sorted(events, key=_order), where=folder))
        except BadFile as problem:
            sources[-1].problems.append(problem)


def _recordings(source: Source, folders: dict[str, list[JSONObject]]) -> Iterator[_Recording]:
    """The sessions of a file; a lone event goes to those of its folder."""
    records = [(record.value, record.location) for record in source.records()]
    if source.is_lines and records and not any(_listed(obj(value)) for value, _ in records):
        yield _Recording(body={}, events=[obj(value) for value, _ in records], where="")
        return
    for value, where in records:
        if isinstance(value, list) and not any(_listed(obj(each)) for each in value):
            yield _Recording(body={}, events=_flat(value), where=where)
            continue
        for each in value if isinstance(value, list) else [value]:
            body = obj(each)
            if listed := _listed(body):
                yield _Recording(body=body, events=_flat(listed), where=where)
            elif _is_event(body):
                folders.setdefault(_folder(source.name), []).append(body)
            else:
                raise BadFile("an event or a list of events was expected", where)


def _is_event(event: JSONObject) -> bool:
    kind = text(event.get("kind"))
    if kind in openhands_sdk.KINDS and "source" in event:
        return True
    return "source" in event and (
        (isinstance(event.get("action"), str) and "args" in event)
        or (isinstance(event.get("observation"), str) and "extras" in event)
    )


def _listed(body: JSONObject) -> list[JSONValue]:
    """The events in a row; older rows pair every action with its observation."""
    for name in _LISTS:
        listed = items(body.get(name))
        if listed and _is_event(_flat(listed)[0] if isinstance(listed[0], list) else obj(listed[0])):
            return listed
    return []


def _folder(name: str) -> str:
    return str(PurePosixPath(name.replace("\\", "/")).parent)


def _flat(listed: list[JSONValue]) -> list[JSONObject]:
    return [obj(event) for each in listed for event in (each if isinstance(each, list) else [each])] or [{}]


def _order(event: JSONObject) -> tuple[str, int]:
    """Numbers count events of the server; the SDK has only their times."""
    number = event.get("id")
    return ("", number) if isinstance(number, int) else (text(event.get("timestamp")), 0)


def _run(given: _Recording) -> RecordedRun:
    is_sdk = any("kind" in event for event in given.events[:5])
    read = openhands_sdk.session_of if is_sdk else openhands_actions.session_of
    session: Session = read(given.events, given.where)
    said = _with_task(session.said, given)
    model = session.model or text(obj(obj(given.body.get("metadata")).get("llm_config")).get("model"))
    setting = TranscriptSettings(
        model=model, provider=normalize_provider(None, model.rpartition("/")[2]), tools=session.tools, agent=FORMAT
    )
    steps = transcripts.replace_output(transcripts.build_steps(said, setting), session.output)
    if not session.has_costs:
        cost = parse_cost(obj(given.body.get("metrics")).get("accumulated_cost"))
        steps[0] = replace(steps[0], cost_usd=cost)
    return build_run(
        RunFacts(
            external_id=_identity(given),
            app=FORMAT,
            format=FORMAT,
            failed=session.failed or bool(given.body.get("error")),
            metadata={**{key: given.body[key] for key in _KEPT if key in given.body}, **session.metadata},
            tags=[f"task:{task}"] if (task := text(given.body.get("instance_id"))) else [],
            judgements=[judgement("resolved", verdict) for verdict in _verdicts(given.body)[:1]],
        ),
        steps,
        location=given.where,
    )


def _with_task(said: list[TranscriptMessage], given: _Recording) -> list[TranscriptMessage]:
    """The row's instruction, where no user says it."""
    task = given.body.get("instruction")
    if not task or any(obj(each.value).get("role") == "user" and not each.is_injected for each in said):
        return said
    return [TranscriptMessage(value={"role": "user", "content": task}, location=f"{given.where}/instruction"), *said]


def _identity(given: _Recording) -> str:
    """The session's own id is in no event: its first event, which has an id or a time, stands for it."""
    begun = given.events[0]
    dated = begun.get("timestamp") or isinstance(begun.get("id"), str)
    named = text(first(given.body, "instance_id", "conversation_id", "id"))
    digest = content_id(begun if dated else [*given.events], given.where)
    return "-".join(part for part in (named or FORMAT, digest) if part)


def _verdicts(body: JSONObject) -> list[bool]:
    reports = [
        body,
        obj(body.get("report")),
        obj(body.get("test_result")),
        obj(obj(body.get("test_result")).get("report")),
    ]
    return [verdict for each in reports if isinstance(verdict := each.get("resolved"), bool)]
