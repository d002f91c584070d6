"""ATIF trajectories (`trajectory.json` of Harbor and Terminal-Bench).

An agent that runs out of context continues in another file, whose session id ends with `-cont-1` and so on: one run.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.messages import normalize_tools
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_list, require_object
from traces.importers.files.source import Source, parse_records

FORMAT = "atif"
_CONTINUATION: Final = re.compile(r"(.+)-cont-([1-9]\d{0,5})")
_METADATA: Final = ("schema_version", "final_metrics", "notes", "extra", "continued_trajectory_ref")
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
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """One trajectory: a whole session, or the part up to the end of the context."""

    body: JSONObject
    session: str
    # 0 is the first part.
    number: int
    messages: list[TranscriptMessage]


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per session including its continuations; ignore duplicate files."""
    sessions: dict[str, list[dict[int, _Part]]] = {}
    for part in parse_records(sources, _read_part):
        copies = sessions.setdefault(part.session, [])
        if any(part.number in parts and parts[part.number].body == part.body for parts in copies):
            continue
        parts_by_number = next((parts for parts in copies if part.number not in parts), None)
        if parts_by_number is None:
            copies.append(parts_by_number := {})
        parts_by_number[part.number] = part
    for copies in sessions.values():
        for parts in copies:
            yield _run([parts[number] for number in sorted(parts)])


def keys(source: Source) -> set[str]:
    """Return the ids of the sessions in a file."""
    return {part.session for part in parse_records([source], _read_part)}


def _read_part(value: JSONValue, location: str) -> Iterator[_Part]:
    """Read a trajectory; raise `BadFile` if no run can be built from it."""
    body = require_object(value, location)
    session_id = as_text(first_member(body, "session_id", "trajectory_id"))
    if not session_id:
        raise BadFile("an ATIF trajectory without `session_id`", f"{location}/session_id")
    match = _CONTINUATION.fullmatch(session_id)
    steps = require_list(body.get("steps"), f"{location}/steps")
    messages = [message for index, step in enumerate(steps) for message in _messages(step, f"{location}/steps/{index}")]
    part = _Part(
        body=body,
        session=match[1] if match else session_id,
        number=int(match[2]) if match else 0,
        messages=messages,
    )
    _run([part])
    yield part


def _run(parts: Sequence[_Part]) -> RecordedRun:
    first_part, *continuations = parts
    agent = as_object(first_part.body.get("agent"))
    model = as_text(agent.get("model_name"))
    setting = TranscriptSettings(
        model=model,
        provider=normalize_provider(None, model),
        agent=as_text(agent.get("name")) or "agent",
        tools=normalize_tools(agent.get("tool_definitions") or []),
    )
    messages = list(first_part.messages)
    for part in continuations:
        messages += [replace(message, resets_history=index == 0) for index, message in enumerate(part.messages)]
    # A continuation without its first part is a separate run.
    external_id = (
        first_part.session
        if first_part.number == 0
        else as_text(first_member(first_part.body, "session_id", "trajectory_id"))
    )
    return build_run(
        RunFacts(
            external_id=external_id,
            app=as_text(agent.get("name")) or FORMAT,
            format=FORMAT,
            metadata={
                "agent": agent,
                **_metadata(first_part),
                "continuations": [_metadata(part) for part in continuations],
            },
        ),
        transcripts.build_steps(messages, setting),
        location=f"session {external_id}",
    )


def _metadata(part: _Part) -> JSONObject:
    return {name: part.body[name] for name in _METADATA if name in part.body}


def _messages(value: JSONValue, location: str) -> Iterator[TranscriptMessage]:
    step = require_object(value, location)
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
    yield TranscriptMessage(
        location=location,
        is_injected=is_copy,
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
    for index, result in enumerate(as_list(as_object(step.get("observation")).get("results"))):
        answer = as_object(result)
        yield TranscriptMessage(
            location=f"{location}/observation/results/{index}",
            is_injected=is_copy,
            value={
                "role": "tool",
                "tool_call_id": as_text(answer.get("source_call_id")),
                "content": answer.get("content"),
                "ts": step.get("timestamp"),
            },
        )
