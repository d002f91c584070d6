"""opencode: its database and files, exported sessions, messages of its API, output of `opencode run --format json`.

A message has its facts in `info` and its contents in `parts`. A subagent has a session of its own, which the call of
the `task` tool names: exported together, it is part of the run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import item_by_item
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.coding_sessions import opencode_db, opencode_storage

FORMAT: Final = "opencode"
_EVENTS: Final = frozenset({"step_start", "step_finish", "text", "tool_use", "reasoning", "error"})
_MAPPED_INFO: Final = frozenset(
    {"id", "sessionID", "role", "time", "modelID", "providerID", "cost", "tokens", "finish", "error", "model"}
)
_PART_IDS: Final = frozenset({"id", "sessionID", "messageID"})
_CONTENTS: Final = frozenset({"text", "reasoning", "tool", "file", "step-start"})
_MOST_LEVELS: Final = 20
_FINAL_STATES: Final = frozenset({"completed", "error"})


@dataclass(kw_only=True)
class _Session:
    info: JSONObject = field(default_factory=dict)
    # By id.
    messages: dict[str, JSONObject] = field(default_factory=dict)
    # Whether these are events of the program, which lack the requests.
    is_output: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Times:
    start: JSONValue
    end: JSONValue


def sniff(sample: Sample) -> float:
    """Return the confidence that opencode wrote the file."""
    is_known = opencode_db.is_database(sample.head) or any(map(is_export, sample.values))
    return 1.0 if is_known or any(map(opencode_storage.is_stored, sample.values)) else 0.0


def is_export(value: JSONValue) -> bool:
    """Return True if `value` is an exported session, messages of one, or an event of the program."""
    body = as_object(first_item(value))
    if has_object(body, "info") and has_list(body, "messages"):
        return any(map(_is_message, as_list(body["messages"])[:3])) or "projectID" in as_object(body["info"])
    return _is_message(body) or _is_event(body)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per session that no other session started."""
    sessions: dict[str, _Session] = {}
    for id, info, message in parse_records([*_readable(sources)], _read):
        session = sessions.setdefault(id, _Session())
        session.info |= info
        _add_message(session, message)
    children = {child for id, session in sessions.items() for child in _children(session) if child != id}
    placed_ids: set[str] = set()
    # Sessions that start each other in a circle come last.
    for id in sorted(sessions, key=children.__contains__):
        if id not in placed_ids:
            try:
                yield _run(id, sessions, placed_ids)
            except BadFile as problem:
                sources[-1].problems.append(problem)


def _readable(sources: Sequence[Source]) -> Iterator[Source]:
    """Yield the files, with the sessions of databases and of stored files as documents."""
    stored_files: list[Source] = []
    for source in sources:
        if opencode_db.is_database(source.data):
            try:
                source.documents = [*opencode_db.read(source)]
            except BadFile as problem:
                source.problems.append(problem)
            if source.documents:
                yield source
        elif _is_stored(source):
            stored_files.append(source)
        else:
            yield source
    if stored_files and (documents := [*opencode_storage.read(stored_files)]):
        stored_files[-1].documents = documents
        yield stored_files[-1]


def _is_stored(source: Source) -> bool:
    try:
        return opencode_storage.is_stored(source.value)
    except BadFile:
        return False


def _is_message(value: JSONValue) -> bool:
    body = as_object(value)
    return has_list(body, "parts") and {"id", "sessionID", "role"} <= as_object(body.get("info")).keys()


def _is_event(body: JSONObject) -> bool:
    return as_text(body.get("type")) in _EVENTS and {"timestamp", "sessionID"} <= body.keys()


@item_by_item
def _read(value: JSONValue, location: str) -> Iterator[tuple[str, JSONObject, JSONObject]]:
    """Yield messages with the id and the facts of their session."""
    body = as_object(value)
    if _is_message(body):
        yield as_text(as_object(body["info"])["sessionID"]), {}, body
    elif _is_event(body):
        part = as_object(body.get("part"))
        error: JSONObject = {"error": body["error"]} if body.get("error") else {}
        info: JSONObject = {
            "id": part.get("messageID") or f"error at {body['timestamp']}",
            "role": "assistant",
            **error,
        }
        yield as_text(body["sessionID"]), {}, {"info": info, "parts": [part] if part else [], "is_output": True}
    elif has_object(body, "info") and has_list(body, "messages"):
        info = as_object(body["info"])
        id = as_text(info.get("id")) or content_id(as_list(body["messages"]), location)
        for index, message in enumerate(as_list(body["messages"])):
            if not has_object(message, "info"):
                raise BadFile("a message of opencode needs its `info`", f"{location}/messages/{index}")
            yield id, info, as_object(message)
    else:
        raise BadFile("not a session or message of opencode", location)


def _add_message(session: _Session, message: JSONObject) -> None:
    info = as_object(message["info"])
    id = as_text(info.get("id")) or str(len(session.messages))
    session.is_output |= message.get("is_output") is True
    earlier = session.messages.get(id) if session.is_output else None
    parts = [*as_list(as_object(earlier).get("parts")), *as_list(message.get("parts"))]
    session.messages[id] = {"info": {**as_object(as_object(earlier).get("info")), **info}, "parts": parts}


def _children(session: _Session) -> Iterator[str]:
    for message in session.messages.values():
        for part in as_objects(message.get("parts")):
            if child := _child(part):
                yield child


def _child(part: JSONObject) -> str:
    """Return the session that a call started."""
    return as_text(as_object(as_object(part.get("state")).get("metadata")).get("sessionId"))


def _run(id: str, sessions: dict[str, _Session], placed_ids: set[str]) -> RecordedRun:
    session = sessions[id]
    info = session.info
    last = as_object(as_object(list(session.messages.values())[-1]).get("info"))
    time = as_object(info.get("time"))
    return build_run(
        RunFacts(
            external_id=id,
            app=FORMAT,
            format=FORMAT,
            title=as_text(info.get("title")),
            failed=bool(last.get("error")),
            metadata=_session_facts(info),
            started_at=parse_time(time.get("created"), f"session {id}"),
        ),
        _steps(id, sessions, placed_ids, 0),
        location=f"session {id}",
    )


def _session_facts(info: JSONObject) -> JSONObject:
    return {name: item for name, item in info.items() if name not in ("id", "time")}


def _steps(id: str, sessions: dict[str, _Session], placed_ids: set[str], level: int) -> list[RecordedStep]:
    """Return the steps of a session, each first call of a subagent before the steps of its session."""
    if level > _MOST_LEVELS:
        raise BadFile(f"subagents are nested deeper than {_MOST_LEVELS} levels", f"session {id}")
    placed_ids.add(id)
    session = sessions[id]
    messages = list(session.messages.values())
    answers = [answer for message in messages for answer in _answers(message)]
    entries = [entry for message in messages for entry in _entries(message)]
    if session.is_output and entries:
        # The request is unknown.
        entries[0] = replace(entries[0], request_messages=[])
    agent = next((name for message in messages if (name := as_text(as_object(message["info"]).get("agent")))), FORMAT)
    pending_answers = iter(answers)
    calls = {as_text(part.get("callID")): part for _, parts in answers for part in parts if _kind(part) == "tool"}
    steps: list[RecordedStep] = []
    for step in transcripts.build_steps(entries, TranscriptSettings(agent=agent)):
        child = ""
        if step.type is StepType.MODEL:
            info, parts = next(pending_answers)
            step = replace(
                _with_times(step, _answer_times(info, parts)),
                provider=normalize_provider(info.get("providerID"), step.model),
            )
        elif step.type is StepType.TOOL and (part := calls.get(step.call_id)):
            step, child = _with_times(step, _times(as_object(part.get("state")))), _child(part)
        steps.append(step)
        if child in sessions and child not in placed_ids:
            first, *rest = _steps(child, sessions, placed_ids, level + 1)
            first = replace(first, attributes={**first.attributes, **_session_facts(sessions[child].info)})
            steps += _subagent(child, step.key, [first, *rest])
    return steps


def _subagent(id: str, parent: str, steps: list[RecordedStep]) -> Iterator[RecordedStep]:
    for step in steps:
        yield replace(
            step,
            key=f"{id}/{step.key}",
            parent=f"{id}/{step.parent}" if step.parent else parent,
            links=tuple(f"{id}/{link}" for link in step.links),
        )


def _with_times(step: RecordedStep, times: _Times) -> RecordedStep:
    start, end = parse_time(times.start, f"step {step.key}"), parse_time(times.end, f"step {step.key}")
    return replace(step, started_at=start or step.started_at, ended_at=end or (None if start else step.ended_at))


def _times(body: JSONObject) -> _Times:
    time = as_object(body.get("time"))
    return _Times(start=time.get("start"), end=time.get("end"))


def _answers(message: JSONObject) -> Iterator[tuple[JSONObject, list[JSONObject]]]:
    """Yield each answer of a message with its parts. A message of older versions has several, each after a start."""
    info, parts = as_object(message["info"]), as_objects(message.get("parts"))
    if info.get("role") != "assistant":
        return
    groups: list[list[JSONObject]] = []
    for part in parts:
        if not groups or (_kind(part) == "step-start" and any(_kind(item) in _CONTENTS for item in groups[-1])):
            groups.append([])
        groups[-1].append(part)
    for index, group in enumerate(groups or [[]]):
        is_last = index + 1 >= len(groups)
        facts = info if is_last else {name: item for name, item in info.items() if name not in ("error", "finish")}
        yield (facts if index == 0 else {**facts, "time": None}), group


def _answer_times(info: JSONObject, parts: list[JSONObject]) -> _Times:
    """Return when an answer began, and when its last text ended or its first call began."""
    time = as_object(info.get("time"))
    calls = [_times(as_object(part.get("state"))).start for part in parts if _kind(part) == "tool"]
    texts = [_times(part) for part in parts if _kind(part) in ("text", "reasoning")]
    ends = [*calls[:1], *(text.end for text in reversed(texts)), time.get("completed")]
    starts = [start for start in (time.get("created"), *(text.start for text in texts)) if start]
    return _Times(start=next(iter(starts), None), end=next((end for end in ends if end), None))


def _entries(message: JSONObject) -> Iterator[TranscriptMessage]:
    info, location = as_object(message["info"]), f"message {as_text(as_object(message['info']).get('id'))}"
    if info.get("role") != "assistant":
        yield TranscriptMessage(value=_request(info, as_objects(message.get("parts"))), location=location)
        return
    for facts, parts in _answers(message):
        yield TranscriptMessage(value=_answer(facts, parts), location=location)
        for part in parts:
            if _kind(part) == "tool" and as_text(as_object(part.get("state")).get("status")) in _FINAL_STATES:
                yield TranscriptMessage(value=_result(part), location=location)
    if info.get("summary") is True:
        # Later requests begin with the summary.
        text: JSONObject = {"role": "assistant", "content": _blocks(as_objects(message.get("parts")))}
        yield TranscriptMessage(value=text, location=location, is_injected=True, resets_history=True)


def _request(info: JSONObject, parts: list[JSONObject]) -> JSONObject:
    extra_parts = [part for part in parts if _kind(part) not in _CONTENTS]
    notes: JSONObject = {"other_parts": [*map(_without_ids, extra_parts)]} if extra_parts else {}
    return {"role": info.get("role"), "content": _blocks(parts), **_facts(info), "model": None, **notes}


def _answer(info: JSONObject, parts: list[JSONObject]) -> JSONObject:
    finish = next((part for part in reversed(parts) if _kind(part) == "step-finish"), {})
    calls: list[JSONValue] = [
        {
            "id": part.get("callID"),
            "name": part.get("tool"),
            "arguments": as_object(part.get("state")).get("input"),
        }
        for part in parts
        if _kind(part) == "tool"
    ]
    extra_parts = [part for part in parts if _kind(part) not in _CONTENTS and part is not finish]
    error = as_object(info.get("error"))
    facts: JSONObject = {
        **_facts(info),
        "model": info.get("modelID"),
        "usage": _usage(as_object(first_member(finish, "tokens") or info.get("tokens"))),
        "cost": first_member(finish, "cost") if finish else info.get("cost"),
        "finish_reason": first_member(finish, "reason") or info.get("finish"),
        "error": as_object(error.get("data")).get("message") or error.get("name"),
        "error_details": error or None,
        "snapshots": [part["snapshot"] for part in parts if part.get("snapshot")] or None,
        "other_parts": [*map(_without_ids, extra_parts)] or None,
    }
    known_facts = {name: item for name, item in facts.items() if item not in (None, {}, "")}
    return {"role": "assistant", "content": _blocks(parts) or None, "tool_calls": calls, **known_facts}


def _facts(info: JSONObject) -> JSONObject:
    """Return the facts of a message that have no field of their own, and its time."""
    facts = {name: item for name, item in info.items() if name not in _MAPPED_INFO and item not in (None, {}, [], "")}
    time = as_object(info.get("time"))
    return {**facts, "message_id": info.get("id"), "ts": first_member(time, "completed", "created")}


def _blocks(parts: list[JSONObject]) -> list[JSONValue]:
    blocks: list[JSONValue] = []
    for part in parts:
        if _kind(part) == "text":
            blocks.append({"type": "text", "text": part.get("text")})
        elif _kind(part) == "reasoning":
            blocks.append({"type": "thinking", "thinking": part.get("text")})
        elif _kind(part) == "file":
            blocks.append(_without_ids(part))
    return blocks


def _result(part: JSONObject) -> JSONObject:
    state = as_object(part.get("state"))
    failed: JSONObject = {"error": state.get("error") or "error"} if state.get("status") == "error" else {}
    metadata = {name: item for name, item in as_object(state.get("metadata")).items() if item != state.get("output")}
    facts: JSONObject = {"title": state.get("title"), "metadata": metadata, "attachments": state.get("attachments")}
    return {
        "role": "tool",
        "tool_call_id": part.get("callID"),
        "content": first_member(state, "output") if not failed else state.get("error"),
        "ts": _times(state).end,
        **failed,
        **{name: item for name, item in facts.items() if item not in (None, "", {}, [])},
    }


def _kind(part: JSONObject) -> str:
    return as_text(part.get("type"))


def _without_ids(part: JSONObject) -> JSONObject:
    return {name: item for name, item in part.items() if name not in _PART_IDS}


def _usage(tokens: JSONObject) -> JSONObject:
    """Return token counts: opencode counts cached input and thoughts separately from input and output."""
    cache = as_object(tokens.get("cache"))
    counts = {
        "prompt_tokens": _sum(tokens.get("input"), cache.get("read"), cache.get("write")),
        "completion_tokens": _sum(tokens.get("output"), tokens.get("reasoning")),
    }
    details = {
        "cached_tokens": cache.get("read"),
        "cache_write": cache.get("write"),
        "reasoning": tokens.get("reasoning"),
    }
    return {name: count for name, count in {**counts, **details}.items() if count}


def _sum(*counts: JSONValue) -> int | None:
    known_counts = [count for count in counts if isinstance(count, int)]
    return sum(known_counts) if known_counts else None
