"""Kiro's command line: the messages of a session (`.jsonl`), and what is known of it in the file beside (`.json`).

Answers have no times: only requests have them, and the turns of the session, with the tokens of all their calls.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_object, member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_provider, parse_token_count
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

FORMAT: Final = "kiro"
_ROLES: Final = {"Prompt": "user", "AssistantMessage": "assistant", "ToolResults": "tool"}
_ONLY_FACTS: Final = "only facts about a session: import its `.jsonl` file too"
_COUNTS: Final = ("input_token_count", "output_token_count", "cache_read_input_token_count")
# In the names of its files.
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NOT_FACTS: Final = ("session_id", "title", "session_state", "updated_at")


@dataclass(kw_only=True)
class _Session:
    """The files of a session."""

    records: list[tuple[JSONObject, str]] = field(default_factory=list)
    facts: JSONObject = field(default_factory=dict)
    last: Source


def is_record(value: JSONValue) -> bool:
    """Return True if `value` is a line of a session, or the file beside it."""
    body = as_object(value)
    is_line = has_object(body, "data") and isinstance(as_object(body["data"]).get("content"), list)
    return (is_line and as_text(body.get("kind")) in _ROLES) or _is_facts(body)


def _is_facts(body: JSONObject) -> bool:
    return {"session_id", "session_state", "cwd"} <= body.keys()


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per session: files with the same name before their ends."""
    sessions: dict[str, _Session] = {}
    for source in sources:
        try:
            session = sessions.setdefault(str(PurePosixPath(source.name).with_suffix("")), _Session(last=source))
            session.last = source
            for record, location in source.objects():
                if _is_facts(record):
                    session.facts = record
                else:
                    session.records.append((record, location))
        except BadFile as problem:
            source.problems.append(problem)
    for name, session in sessions.items():
        try:
            yield _run(PurePosixPath(name).name, session)
        except BadFile as problem:
            session.last.problems.append(problem)


def _run(name: str, session: _Session) -> RecordedRun:
    if not session.records:
        raise BadFile(_ONLY_FACTS, "/")
    facts, state = session.facts, as_object(session.facts.get("session_state"))
    info = as_object(member(state, "rts_model_state", "model_info")) or as_object(state.get("model_info"))
    model = as_text(first_member(info, "model_id", "model_name"))
    messages = [(record, location) for record, location in session.records if as_text(record.get("kind")) in _ROLES]
    entries = [entry for record, location in messages for entry in _entries(record, location)]
    events = [record for record, _ in session.records if as_text(record.get("kind")) not in _ROLES]
    steps = transcripts.build_steps(
        entries, TranscriptSettings(model=model, provider=normalize_provider(None, model), agent="kiro")
    )
    turns = as_objects(member(state, "conversation_metadata", "user_turn_metadatas"))
    tokens_in, tokens_out, tokens_cached = (_sum(turns, count) for count in _COUNTS)
    steps[0] = replace(steps[0], tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached)
    id = facts.get("session_id") or (match[0] if (match := _ID.search(name)) else "")
    return build_run(
        RunFacts(
            external_id=as_text(id) or f"{FORMAT}-{content_id([record for record, _ in session.records], '')}",
            app=FORMAT,
            format=FORMAT,
            title=as_text(facts.get("title")),
            started_at=parse_time(facts.get("created_at"), "created_at"),
            ended_at=parse_time(facts.get("updated_at"), "updated_at"),
            metadata={**omit(facts, *_NOT_FACTS), **state, "events": [*events]},
        ),
        steps,
        location="line 1",
    )


def _sum(turns: Sequence[JSONObject], name: str) -> int | None:
    """Return the sum of a count, of which 0 means that it was not counted."""
    return sum(parse_token_count(turn.get(name), name) or 0 for turn in turns) or None


def _entries(record: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    """Yield the messages of a line; each result is one."""
    data, kind = as_object(record.get("data")), as_text(record.get("kind"))
    time = member(data, "meta", "timestamp")
    blocks = as_objects(data.get("content"))
    facts = omit(data, "content")
    if kind == "ToolResults":
        results = [as_object(block.get("data")) for block in blocks if block.get("kind") == "toolResult"]
        for number, result in enumerate(results):
            # What the line states of all results is with the first.
            details = facts if number == 0 else {}
            yield TranscriptMessage(value={**details, **_result(result), "ts": time}, location=location)
        return
    calls = [as_object(block.get("data")) for block in blocks if block.get("kind") == "toolUse"]
    value: JSONObject = {
        **facts,
        "role": _ROLES[kind],
        "content": [_block(block) for block in blocks if block.get("kind") != "toolUse"],
        "tool_calls": [
            {"id": call.get("toolUseId"), "name": call.get("name"), "arguments": call.get("input")} for call in calls
        ],
        "ts": time,
    }
    yield TranscriptMessage(value=value, location=location)


def _block(block: JSONObject) -> JSONValue:
    kind, data = as_text(block.get("kind")), block.get("data")
    if kind == "text":
        return {"type": "text", "text": data}
    if kind == "thinking":
        return {"type": "thinking", "thinking": as_object(data).get("text"), **omit(as_object(data), "text")}
    return {"type": kind, **(as_object(data) or {"data": data})}


def _result(result: JSONObject) -> JSONObject:
    content = result.get("content")
    blocks = [block.get("data") for block in as_objects(content)]
    output = content if isinstance(content, str) else blocks[0] if len(blocks) == 1 else [*blocks]
    failure: JSONObject = {"is_error": True} if result.get("status") == "error" else {}
    return {"role": "tool", "tool_call_id": result.get("toolUseId"), "content": output, **failure}
