"""Antigravity: transcripts of its editor and command line (`transcript_full.jsonl`, `transcript.jsonl`).

A line is a step: a request, an answer with its calls, or what a call of the last answer gave. Calls have no ids, so
each gets its place; results follow in the order of the calls.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, other_members
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Source

FORMAT: Final = "antigravity"
_ANSWER: Final = "PLANNER_RESPONSE"
_REQUEST: Final = "USER_INPUT"
_CHECKPOINT: Final = "CHECKPOINT"
# What the program adds to the context has this source.
_PROGRAM: Final = "SYSTEM"
_FAILURES: Final = frozenset({"ERROR", "CANCELED", "CANCELLED", "FAILED"})
_TASK: Final = re.compile(r"<USER_REQUEST>\s*(.+?)\s*</USER_REQUEST>", re.S)
_MODEL: Final = re.compile(r"`Model Selection` from .{1,80}? to (.{1,80}?)\.(?:\s|<|$)")
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})")
_USAGE: Final = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "prompt_token_count": "input_tokens",
    "candidates_token_count": "output_tokens",
    "cached_content_token_count": "cached_tokens",
}
_MAPPED_FIELDS: Final = frozenset(
    {"source", "type", "status", "created_at", "content", "thinking", "tool_calls", "usage", "model", *_USAGE}
)


@dataclass(kw_only=True)
class _Session:
    messages: list[TranscriptMessage] = field(default_factory=list)
    model: str = ""
    # Calls of the last answer without a result so far, by their ids.
    open_calls: deque[str] = field(default_factory=deque)
    is_reset: bool = False

    def add(self, value: JSONObject, location: str, *, is_injected: bool = False) -> None:
        message = TranscriptMessage(
            value=value, location=location, is_injected=is_injected, resets_history=self.is_reset
        )
        self.messages.append(message)
        self.is_reset = False


def is_step(value: JSONValue) -> bool:
    """Return True if `value` is a step of a transcript."""
    body = as_object(value)
    return "step_index" in body and as_text(body.get("type")) in {_ANSWER, _REQUEST}


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the conversation in a file."""
    records = [*source.objects()]
    session = _Session()
    for record, location in records:
        _add_step(session, record, location)
    first = next((record for record, _ in records if record.get("type") == _REQUEST), records[0][0] if records else {})
    task = _TASK.search(as_text(first.get("content")))
    yield build_run(
        RunFacts(
            # The folder has the id of the conversation; the beginning is the same while it grows.
            external_id=f"{FORMAT}-{content_id(first, 'line 1')}",
            app=FORMAT,
            format=FORMAT,
            title=task[1] if task else "",
        ),
        transcripts.build_steps(drop_unreadable(session.messages, source.problems), TranscriptSettings(agent=FORMAT)),
        location="line 1",
    )


def _add_step(session: _Session, record: JSONObject, location: str) -> None:
    kind, content = record.get("type"), record.get("content")
    value: JSONObject = {"role": "user", "content": content, "ts": record.get("created_at")}
    if kind == _REQUEST:
        if model := _MODEL.search(as_text(content)):
            session.model = model[1]
        session.add({**value, **_details(record)}, location)
    elif kind == _ANSWER:
        _add_answer(session, record, location)
    elif record.get("source") == _PROGRAM:
        session.is_reset = session.is_reset or kind == _CHECKPOINT
        if content:
            session.add(value, location, is_injected=True)
    else:
        _add_result(session, record, location)


def _add_answer(session: _Session, record: JSONObject, location: str) -> None:
    ids = [f"step-{as_text(record.get('step_index'))}.{number}" for number, _ in enumerate(_calls(record), 1)]
    session.open_calls = deque(ids)
    thoughts: list[JSONValue] = [{"type": "thinking", "thinking": record["thinking"]}] if record.get("thinking") else []
    texts: list[JSONValue] = [{"type": "text", "text": record["content"]}] if record.get("content") else []
    usage = {
        _USAGE[name]: count for name, count in {**record, **as_object(record.get("usage"))}.items() if name in _USAGE
    }
    facts: JSONObject = {
        "model": first_member(record, "model") or session.model,
        "usage": usage,
        "error": as_text(record.get("status")) if as_text(record.get("status")) in _FAILURES else None,
        **_details(record),
    }
    session.add(
        {
            "role": "assistant",
            "content": [*thoughts, *texts] or None,
            "tool_calls": [
                {"id": id, "name": call.get("name"), "arguments": _arguments(as_object(call.get("args")))}
                for id, call in zip(ids, _calls(record), strict=True)
            ],
            "ts": record.get("created_at"),
            **{name: item for name, item in facts.items() if item},
        },
        location,
    )


def _calls(record: JSONObject) -> list[JSONObject]:
    return as_objects(record.get("tool_calls"))


def _arguments(args: JSONObject) -> JSONObject:
    """Return arguments, of which some versions write each value as JSON."""
    return {name: _argument(value) for name, value in args.items()}


def _argument(value: JSONValue) -> JSONValue:
    words: dict[JSONValue, JSONValue] = {"true": True, "false": False, "null": None}
    if isinstance(value, str) and value in words:
        return words[value]
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    return parse_embedded(value)


def _add_result(session: _Session, record: JSONObject, location: str) -> None:
    failure = as_text(first_member(record, "content") or record.get("status"))
    facts: JSONObject = {"error": failure if as_text(record.get("status")) in _FAILURES else None, **_details(record)}
    session.add(
        {
            "role": "tool",
            "tool_call_id": session.open_calls.popleft() if session.open_calls else "",
            "content": record.get("content") or "",
            "ts": record.get("created_at"),
            "step_type": record.get("type"),
            **{name: item for name, item in facts.items() if item},
        },
        location,
    )


def _details(record: JSONObject) -> JSONObject:
    """Return what has no field; the state of a step is usual if it is done."""
    status: JSONObject = {} if record.get("status") in ("DONE", None) else {"status": record["status"]}
    return {**other_members(record, _MAPPED_FIELDS), **status}
