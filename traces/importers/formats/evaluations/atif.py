"""ATIF trajectories (`trajectory.json` of Harbor and Terminal-Bench).

An agent that runs out of context continues in another file, whose session id ends with `-cont-1` and so on: one run.
Trajectories of subagents that a trajectory contains are nested under the call whose result refers to them. The result
of the trial, in another file, has the rewards.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, list_or_single
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_provider, parse_cost, parse_token_count
from traces.importers.common.run_builder import AGENT_KEY, RunFacts, build_run
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_list, require_object
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.evaluations.harbor_trials import (
    Trial,
    find_trials,
    is_trial,
    lone_trials,
    read_trial,
    trajectory_key,
    trial_run,
)

FORMAT = "atif"
_CONTINUATION: Final = re.compile(r"(.+)-cont-([1-9]\d{0,5})")
_METADATA: Final = ("schema_version", "trajectory_id", "final_metrics", "notes", "extra", "continued_trajectory_ref")
_MOST_LEVELS: Final = 20
_SUBAGENTS: Final = "subagent_trajectories"
_REFERENCE: Final = "subagent_trajectory_ref"
_MAPPED_RESULT_FIELDS = frozenset({"source_call_id", "content"})
_ROLES = {"user": "user", "agent": "assistant", "system": "system"}
_MAPPED_FIELDS = frozenset(
    {
        "step_id",
        "source",
        "message",
        "reasoning_content",
        "tool_calls",
        "observation",
        "metrics",
        "timestamp",
        "model_name",
        "is_copied_context",
        "reasoning_effort",
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """One trajectory: a whole session, or the part up to the end of the context."""

    body: JSONObject
    file: str
    session: str
    # 0 is the first part.
    number: int
    messages: list[TranscriptMessage]


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per session including its continuations, with the rewards of its trial; ignore duplicate files."""
    sessions: dict[str, list[dict[int, _Part]]] = {}
    trials: list[Trial] = []
    for item in _read(sources):
        if isinstance(item, Trial):
            trials.append(item)
        else:
            _add_part(sessions.setdefault(item.session, []), item)
    runs = [list(parts.values()) for copies in sessions.values() for parts in copies]
    files = [{part.file: trajectory_key(part.file, part.body) for part in parts} for parts in runs]
    alone = lone_trials(trials, files)
    yield from map(trial_run, alone)
    folders = {trial.key for trial in alone}
    matches = find_trials([trial for trial in trials if trial.key not in folders], files)
    for parts, trial in zip(runs, matches, strict=True):
        yield _run(sorted(parts, key=lambda part: part.number), trial)


def keys(source: Source) -> set[str]:
    """Return the ids of the sessions in a file, and what identifies their trial."""
    items = list(_read([source]))
    trials = {item.key if isinstance(item, Trial) else trajectory_key(item.file, item.body) for item in items}
    return {item.session for item in items if isinstance(item, _Part)} | (trials - {""})


def _read(sources: Sequence[Source]) -> Iterator[_Part | Trial]:
    for source in sources:
        yield from parse_records([source], partial(_read_record, source))


def _add_part(copies: list[dict[int, _Part]], part: _Part) -> None:
    """Add a part to the first copy of its session that lacks it, unless it is a duplicate."""
    if any(part.number in parts and parts[part.number].body == part.body for parts in copies):
        return
    parts_by_number = next((parts for parts in copies if part.number not in parts), None)
    if parts_by_number is None:
        copies.append(parts_by_number := {})
    parts_by_number[part.number] = part


def _read_record(source: Source, value: JSONValue, location: str) -> Iterator[_Part | Trial]:
    """Read a trajectory or the result of a trial; raise `BadFile` if no run can be built from it."""
    body = require_object(value, location)
    if is_trial(body):
        yield read_trial(source, body)
        return
    # Both ids are optional since version 1.7.
    session_id = _session_id(body) or f"{FORMAT}-{content_id(body, location)}"
    match = _CONTINUATION.fullmatch(session_id)
    part = _Part(
        body=body,
        file=source.name,
        session=match[1] if match else session_id,
        number=int(match[2]) if match else 0,
        messages=list(_all_messages(body, location)),
    )
    _run([part])
    yield part


def _session_id(body: JSONObject) -> str:
    return as_text(first_member(body, "session_id", "trajectory_id"))


def _run(parts: Sequence[_Part], trial: Trial | None = None) -> RecordedRun:
    first_part, *continuations = parts
    agent = as_object(first_part.body.get("agent"))
    messages = list(first_part.messages)
    for part in continuations:
        messages += [replace(message, resets_history=index == 0) for index, message in enumerate(part.messages)]
    # A continuation without its first part is a separate run.
    external_id = first_part.session if first_part.number == 0 else _session_id(first_part.body)
    return build_run(
        RunFacts(
            external_id=external_id,
            app=as_text(agent.get("name")) or FORMAT,
            format=FORMAT,
            metadata={
                "agent": agent,
                **_metadata(first_part),
                "continuations": [_metadata(part) for part in continuations],
                **({"trial": trial.body} if trial else {}),
            },
            tags=[f"task:{trial.task}"] if trial and trial.task else [],
            failed=trial is not None and bool(trial.error),
            judgements=trial.judgements() if trial else (),
        ),
        _steps([part.body for part in parts], messages, f"session {external_id}", 0),
        location=f"session {external_id}",
    )


def _steps(
    bodies: Sequence[JSONObject], messages: list[TranscriptMessage], location: str, level: int
) -> list[RecordedStep]:
    """Return the steps of a trajectory, each call of a subagent before the steps of that subagent."""
    if level > _MOST_LEVELS:
        raise BadFile(f"subagents are nested deeper than {_MOST_LEVELS} levels", location)
    waiting = {_subagent_id(body, index): body for index, body in enumerate(_subagents(bodies))}
    references, notes = _references(bodies), _call_notes(bodies)
    steps: list[RecordedStep] = []
    for step in transcripts.build_steps(messages, _settings(bodies[0])):
        is_call = step.type is StepType.TOOL and bool(step.call_id)
        if is_call and step.call_id in notes:
            step = replace(step, attributes={**step.attributes, "call": notes[step.call_id]})
        steps.append(step)
        for id in references.get(step.call_id, ()) if is_call else ():
            if (body := waiting.pop(id, None)) is not None:
                steps += _subagent(id, body, step.key, location, level)
    steps[0] = _with_totals(steps, bodies, location)
    for id, body in waiting.items():
        steps += _subagent(id, body, AGENT_KEY, location, level)
    return steps


def _with_totals(steps: Sequence[RecordedStep], bodies: Sequence[JSONObject], location: str) -> RecordedStep:
    """Return the agent's step with the totals of a trajectory whose steps have no metrics."""
    metrics = [step.get("metrics") for body in bodies for step in as_objects(body.get("steps"))]
    totals = as_object(bodies[0].get("final_metrics"))
    if any(metrics) or len(bodies) > 1:
        return steps[0]
    return replace(
        steps[0],
        tokens_in=parse_token_count(totals.get("total_prompt_tokens"), location),
        tokens_out=parse_token_count(totals.get("total_completion_tokens"), location),
        tokens_cached=parse_token_count(totals.get("total_cached_tokens"), location),
        cost_usd=parse_cost(totals.get("total_cost_usd")),
    )


def _settings(body: JSONObject) -> TranscriptSettings:
    agent = as_object(body.get("agent"))
    model = as_text(agent.get("model_name"))
    return TranscriptSettings(
        model=model,
        provider=normalize_provider(None, model),
        agent=as_text(agent.get("name")) or "agent",
        tools=normalize_tools(agent.get("tool_definitions") or []),
    )


def _subagents(bodies: Iterable[JSONObject]) -> list[JSONObject]:
    return [subagent for body in bodies for subagent in as_objects(body.get(_SUBAGENTS))]


def _subagent_id(body: JSONObject, index: int) -> str:
    return as_text(first_member(body, "trajectory_id", "session_id")) or f"subagent-{index}"


def _subagent(id: str, body: JSONObject, parent: str, location: str, level: int) -> Iterator[RecordedStep]:
    """Yield the steps of a subagent with the keys of this run."""
    place = f"{location}/{id}"
    facts: JSONObject = {name: body[name] for name in ("agent", *_METADATA) if name in body}
    for step in _steps([body], list(_all_messages(body, place)), place, level + 1):
        is_agent = step.key == AGENT_KEY
        yield replace(
            step,
            key=f"{id}/{step.key}",
            parent=f"{id}/{step.parent}" if step.parent else parent,
            links=tuple(f"{id}/{link}" for link in step.links),
            attributes={**step.attributes, **facts} if is_agent else step.attributes,
        )


def _references(bodies: Iterable[JSONObject]) -> dict[str, list[str]]:
    """Return the subagents whose work the results of calls contain, by call."""
    references: dict[str, list[str]] = {}
    for body in bodies:
        for result in _results(body):
            ids = [
                as_text(first_member(as_object(item), "trajectory_id", "session_id"))
                for item in list_or_single(result.get(_REFERENCE))
            ]
            references.setdefault(as_text(result.get("source_call_id")), []).extend(ids)
    return references


def _results(body: JSONObject) -> Iterator[JSONObject]:
    for step in as_objects(body.get("steps")):
        yield from as_objects(as_object(step.get("observation")).get("results"))


def _call_notes(bodies: Iterable[JSONObject]) -> dict[str, JSONValue]:
    """Return the custom data of calls, by call."""
    calls = [
        call for body in bodies for step in as_objects(body.get("steps")) for call in as_objects(step.get("tool_calls"))
    ]
    return {as_text(call.get("tool_call_id")): call["extra"] for call in calls if call.get("extra")}


def _metadata(part: _Part) -> JSONObject:
    return {name: part.body[name] for name in _METADATA if name in part.body}


def _all_messages(body: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    call_ids: set[str] = set()
    for index, value in enumerate(require_list(body.get("steps"), f"{location}/steps")):
        place = f"{location}/steps/{index}"
        step = require_object(value, place)
        ids = {as_text(call.get("tool_call_id")) for call in as_objects(step.get("tool_calls"))} - {""}
        # Conversions of event logs repeat a call in the step of its result.
        if not (ids and ids <= call_ids and step.get("observation")):
            yield _message(step, place)
        call_ids |= ids
        yield from _result_messages(step, place)


def _message(step: JSONObject, location: str) -> TranscriptMessage:
    # A continuation starts with messages copied from the part before it.
    is_copy = step.get("is_copied_context") is True
    role = _ROLES.get(as_text(step.get("source")))
    if role is None:
        raise BadFile(f"“{as_text(step.get('source'))[:40]}” is not a source of an ATIF step", f"{location}/source")
    content: JSONValue = step.get("message")
    if thought := as_text(step.get("reasoning_content")):
        text_blocks: list[JSONValue] = [{"type": "text", "text": content}] if content else []
        content = [{"type": "thinking", "thinking": thought}, *text_blocks]
    calls: list[JSONValue] = [
        {
            "id": first_member(as_object(call), "tool_call_id"),
            "name": as_object(call).get("function_name"),
            "arguments": as_object(call).get("arguments"),
        }
        for call in as_list(step.get("tool_calls"))
    ]
    metrics = as_object(step.get("metrics"))
    other_fields = {key: value for key, value in step.items() if key not in _MAPPED_FIELDS and value is not None}
    effort = step.get("reasoning_effort")
    return TranscriptMessage(
        location=location,
        is_injected=is_copy,
        parameters={"reasoning_effort": effort} if effort else {},
        value={
            "role": role,
            "content": content,
            "ts": step.get("timestamp"),
            **({"tool_calls": calls} if calls else {}),
            **({"usage": metrics, "cost": metrics.get("cost_usd")} if metrics else {}),
            **other_fields,
            **({"model": step["model_name"]} if step.get("model_name") else {}),
        },
    )


def _result_messages(step: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    """Yield the results of calls. One without the id of a call belongs to all calls of its step, which it follows."""
    call_ids = [as_text(call.get("tool_call_id")) for call in as_objects(step.get("tool_calls"))]
    results = as_objects(as_object(step.get("observation")).get("results"))
    answered_ids = {as_text(result.get("source_call_id")) for result in results}
    open_ids = [id for id in call_ids if id not in answered_ids]
    for index, result in enumerate(results):
        notes = {name: item for name, item in result.items() if name not in _MAPPED_RESULT_FIELDS and item}
        id = as_text(result.get("source_call_id"))
        for call_id in [id] if id else open_ids or [""]:
            yield TranscriptMessage(
                location=f"{location}/observation/results/{index}",
                is_injected=step.get("is_copied_context") is True,
                value={
                    "role": "tool",
                    "tool_call_id": call_id,
                    "content": result.get("content"),
                    "ts": step.get("timestamp"),
                    **notes,
                },
            )
        open_ids = open_ids if id else []
