"""ATIF trajectories (`trajectory.json` of Harbor and Terminal-Bench).

An agent that runs out of context goes on in another file, with `-cont-1` and so on after the session's id: one run.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.messages import normalize_tools
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcripts import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, require_list, require_object, text
from traces.importers.files.source import Source, parse_records

FORMAT = "atif"
_CONTINUED: Final = re.compile(r"(.+)-cont-([1-9]\d{0,5})")
_KEPT: Final = ("schema_version", "final_metrics", "notes", "extra", "continued_trajectory_ref")
_ROLES = {"user": "user", "agent": "assistant", "system": "system"}
_MAPPED = frozenset(
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
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """One trajectory: a whole session, or what an agent did in it until it ran out of context."""

    given: JSONObject
    session: str
    number: int  # 0: the beginning
    said: list[TranscriptMessage]


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """One run for each session, its continuations in it; the same file twice counts once."""
    sessions: dict[str, list[dict[int, _Part]]] = {}
    for part in parse_records(sources, _part):
        known = sessions.setdefault(part.session, [])
        if any(part.number in parts and parts[part.number].given == part.given for parts in known):
            continue
        free = next((parts for parts in known if part.number not in parts), None)
        if free is None:
            known.append(free := {})
        free[part.number] = part
    for known in sessions.values():
        for parts in known:
            yield _run([parts[number] for number in sorted(parts)])


def keys(source: Source) -> set[str]:
    """The sessions that have a trajectory in a file."""
    return {part.session for part in parse_records([source], _part)}


def _part(given: JSONValue, where: str) -> Iterator[_Part]:
    """A trajectory of which a run can be made."""
    body = require_object(given, where)
    named = text(first(body, "session_id", "trajectory_id"))
    if not named:
        raise BadFile("an ATIF trajectory without `session_id`", f"{where}/session_id")
    continued = _CONTINUED.fullmatch(named)
    steps = require_list(body.get("steps"), f"{where}/steps")
    said = [each for at, step in enumerate(steps) for each in _messages(step, f"{where}/steps/{at}")]
    part = _Part(
        given=body,
        session=continued[1] if continued else named,
        number=int(continued[2]) if continued else 0,
        said=said,
    )
    _run([part])
    yield part


def _run(parts: Sequence[_Part]) -> RecordedRun:
    begun, *continued = parts
    agent = obj(begun.given.get("agent"))
    model = text(agent.get("model_name"))
    setting = TranscriptSettings(
        model=model,
        provider=normalize_provider(None, model),
        agent=text(agent.get("name")) or "agent",
        tools=normalize_tools(agent.get("tool_definitions") or []),
    )
    said = list(begun.said)
    for part in continued:
        said += [replace(each, resets_history=at == 0) for at, each in enumerate(part.said)]
    # a continuation of which the beginning is not there stands for itself
    external_id = begun.session if begun.number == 0 else text(first(begun.given, "session_id", "trajectory_id"))
    return build_run(
        RunFacts(
            external_id=external_id,
            app=text(agent.get("name")) or FORMAT,
            format=FORMAT,
            metadata={"agent": agent, **_kept(begun), "continuations": [_kept(part) for part in continued]},
        ),
        transcripts.build_steps(said, setting),
        location=f"session {external_id}",
    )


def _kept(part: _Part) -> JSONObject:
    return {name: part.given[name] for name in _KEPT if name in part.given}


def _messages(given: JSONValue, where: str) -> Iterator[TranscriptMessage]:
    step = require_object(given, where)
    aside = step.get("is_copied_context") is True  # a continuation begins with what it takes over
    role = _ROLES.get(text(step.get("source")))
    if role is None:
        raise BadFile(f"{text(step.get('source'))[:40]!r} is no source of an ATIF step", f"{where}/source")
    content: JSONValue = step.get("message")
    if thought := text(step.get("reasoning_content")):
        spoken: list[JSONValue] = [{"type": "text", "text": content}] if content else []
        content = [{"type": "thinking", "thinking": thought}, *spoken]
    calls: list[JSONValue] = [
        {
            "id": first(obj(call), "tool_call_id"),
            "name": obj(call).get("function_name"),
            "arguments": obj(call).get("arguments"),
        }
        for call in items(step.get("tool_calls"))
    ]
    metrics = obj(step.get("metrics"))
    rest = {key: value for key, value in step.items() if key not in _MAPPED and value is not None}
    yield TranscriptMessage(
        location=where,
        is_injected=aside,
        value={
            "role": role,
            "content": content,
            "ts": step.get("timestamp"),
            **({"tool_calls": calls} if calls else {}),
            **({"usage": metrics, "cost": metrics.get("cost_usd")} if metrics else {}),
            **rest,
            **({"model": step["model_name"]} if step.get("model_name") else {}),
        },
    )
    for at, result in enumerate(items(obj(step.get("observation")).get("results"))):
        answer = obj(result)
        yield TranscriptMessage(
            location=f"{where}/observation/results/{at}",
            is_injected=aside,
            value={
                "role": "tool",
                "tool_call_id": text(answer.get("source_call_id")),
                "content": answer.get("content"),
                "ts": step.get("timestamp"),
            },
        )
