"""Codex rollout files: response items, with the session's settings and running token counts between them.

When a conversation gets too long, Codex replaces it with a summary (`compacted`), which later model calls receive.
Rollouts of 2025 have bare items after a header line; those of the first versions are one document with `items`.
Where items are missing, events that repeat them are read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath

from traces.core.canonical import digest
from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.model_calls import PROVIDER_RAN, normalize_provider, parse_token_count
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import (
    TextAction,
    TranscriptMessage,
    TranscriptSettings,
    continuation,
    drop_unreadable,
)
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.codex import events, results, subagents
from traces.importers.formats.session_logs.threads import Thread, nest

FORMAT = "codex"
TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})
_BARE_ITEMS = frozenset({"message", "reasoning", "web_search_call", *_CALLS, *_RESULTS})
# Item types of a replacement history.
_HISTORY_TYPES = frozenset({"message", *_CALLS, *_RESULTS})
_SESSION = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_COUNTS = (
    *("input_tokens", "cached_input_tokens", "cache_write_input_tokens"),
    *("output_tokens", "reasoning_output_tokens"),
)
# Facts about the session that have fields of their own, or that its steps have.
_MAPPED_FACTS = frozenset({"id", "timestamp", "model", "model_provider", "base_instructions", "instructions"})
_FAILURES = frozenset({"error", "stream_error"})
_ENDS = frozenset({"exec_command_end", "mcp_tool_call_end"})
# Events for the display, which repeat what items contain, or stand for missing ones. Others are about the session, such
# as a review.
_DISPLAYS = re.compile(
    r"user_message|agent_\w+|token_count|\w+_(?:delta|begin|started|updated)|patch_apply_end|web_search_end|item_completed"
    r"|raw_response_item|session_configured|turn_diff|view_image_tool_call|(?:task|turn)_complete|\w*background\w*"
)


@dataclass(kw_only=True)
class _Rollout:
    meta: JSONObject = field(default_factory=dict)
    model: str = ""
    messages: list[TranscriptMessage] = field(default_factory=list)
    # The assistant message that further response items extend.
    answer: JSONObject | None = None
    token_counts: JSONObject = field(default_factory=dict)
    compactions: int = 0
    # Events that no item repeats, and the error since the last item of the model.
    notices: list[JSONValue] = field(default_factory=list)
    failure: str = ""
    effort: JSONValue = None
    # What the program measured of calls, by their ids.
    ends: dict[str, JSONObject] = field(default_factory=dict)
    context: JSONObject = field(default_factory=dict)
    summaries: list[JSONValue] = field(default_factory=list)
    # Calls that started other threads.
    started_threads: dict[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class _File:
    """The records of one rollout file with their locations."""

    source: Source
    records: list[tuple[JSONObject, str]]

    @property
    def meta(self) -> JSONObject:
        metas = (as_object(record.get("payload")) for record, _ in self.records if record.get("type") == "session_meta")
        return next(metas, {})

    @property
    def session(self) -> str:
        # A thread. A session has several: those of its subagents.
        return as_text(first_member(self.meta, "id", "session_id")) or _session_in_name(self.source.name)

    @cached_property
    def content_ids(self) -> frozenset[str]:
        """The digests of the records, which each of many subagents compares with its own."""
        return frozenset(subagents.content_ids(self.records))

    @property
    def start(self) -> str:
        return next((as_text(record.get("timestamp")) for record, _ in self.records if record.get("timestamp")), "")


def is_rollout(value: JSONValue) -> bool:
    """Return whether `value` is a line of a rollout, or a whole one of the first versions."""
    body = as_object(value)
    is_record = as_text(body.get("type")) in TYPES and has_object(body, "payload")
    return is_record or body == {"record_type": "state"} or _is_document(body) or events.is_output(body)


def keys(source: Source) -> set[str]:
    """Return the id of a file's session, and those of the sessions that started it."""
    try:
        file = _open(source)
    except BadFile:
        return set()
    outer_ids = {subagents.parent_of(file.meta), as_text(file.meta.get("session_id"))}
    return {file.session} | outer_ids - {""}


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per session; a resumed session spans several rollout files, and so do subagents."""
    sessions: dict[str, list[_File]] = {}
    for source in sources:
        try:
            file = _open(source)
        except BadFile as problem:
            source.problems.append(problem)
        else:
            sessions.setdefault(file.session, []).append(file)
    parents = {id: subagents.parent_of(files[0].meta) for id, files in sessions.items()}
    for family in subagents.families(parents):
        threads: dict[str, Thread] = {}
        for id in family:
            files_by_start = sorted(sessions[id], key=lambda file: file.start)
            try:
                threads[id] = _thread(files_by_start, sessions.get(parents[id], []))
            except BadFile as problem:
                files_by_start[-1].source.problems.append(problem)
        yield from nest(threads)


def _open(source: Source) -> _File:
    records = (pair for value, location in source.objects() for pair in _read_records(value, location))
    return _File(source=source, records=events.read_output([*events.drop_repeats(records)]))


def _read_records(value: JSONObject, location: str) -> Iterator[tuple[JSONObject, str]]:
    """Yield a line as the records of later versions, which have a type and a payload."""
    if _is_document(value):
        yield {"type": "session_meta", "payload": value["session"]}, f"{location}/session"
        for index, item in enumerate(as_objects(value["items"])):
            yield from _read_records(item, f"{location}/items/{index}")
    elif as_text(value.get("type")) in _BARE_ITEMS and "payload" not in value:
        yield {"type": "response_item", "timestamp": value.get("timestamp"), "payload": value}, location
    elif "type" not in value and {"id", "timestamp"} <= value.keys():
        yield {"type": "session_meta", "payload": value}, location
    else:
        yield value, location


def _is_document(body: JSONObject) -> bool:
    return has_list(body, "items") and {"id", "timestamp"} <= as_object(body.get("session")).keys()


def _thread(files: list[_File], outer_files: list[_File]) -> Thread:
    rollout, records = _Rollout(), list(_records(files))
    own_start = subagents.start_of_own(records, (file.content_ids for file in outer_files))
    for record, location in events.with_missing_items(records):
        payload = as_object(record.get("payload"))
        if location == own_start or record.get("ordinal") == rollout.meta.get("subagent_history_start_ordinal", ""):
            own_start = ""
            _inherit(rollout)
        match record.get("type"):
            case "session_meta":
                # A resumed rollout repeats it.
                rollout.meta = rollout.meta or payload
            case "turn_context":
                rollout.model, rollout.effort = as_text(payload.get("model")) or rollout.model, payload.get("effort")
                rollout.context = payload
            case "response_item":
                _item(rollout, payload, record.get("timestamp"), location)
            case "event_msg":
                _event(rollout, payload)
            case "compacted":
                _compact(rollout, payload, record.get("timestamp"), location)
    if not rollout.messages:
        raise BadFile("a Codex rollout without messages", "line 1")
    rollout.messages = drop_unreadable(rollout.messages, files[-1].source.problems)
    run = _run(rollout, files[0].source.name)
    parent, path = subagents.parent_of(rollout.meta), subagents.path_of(rollout.meta)
    return Thread(run=run, parent=parent, path=path, calls=rollout.started_threads)


def _inherit(rollout: _Rollout) -> None:
    """Make all messages so far context: a subagent begins with those of the agent that started it."""
    rollout.messages = [replace(message, is_injected=True) for message in rollout.messages]
    rollout.answer = None


def _records(files: list[_File]) -> Iterator[tuple[JSONObject, str]]:
    """Yield the records of all files in order; omit records that a later file repeats."""
    seen_digests: set[str] = set()
    for index, file in enumerate(files):
        digests = [digest(record) if len(files) > 1 else "" for record, _ in file.records]
        for (record, location), record_digest in zip(file.records, digests, strict=True):
            if index == 0 or record_digest not in seen_digests:
                yield record, location if len(files) == 1 else f"{file.source.name}, {location}"
        seen_digests.update(digests)


def _run(rollout: _Rollout, name: str) -> RecordedRun:
    meta = rollout.meta
    instructions = meta.get("base_instructions")
    setting = TranscriptSettings(
        model=rollout.model or as_text(meta.get("model")),
        provider=normalize_provider(meta.get("model_provider"), rollout.model),
        agent="codex",
        system=first_member(as_object(instructions), "text") or first_member(meta, "instructions"),
    )
    own_facts = _MAPPED_FACTS | ({"session_id"} if meta.get("session_id") == meta.get("id") else set())
    metadata: JSONObject = {key: item for key, item in meta.items() if key not in own_facts}
    steps = transcripts.build_steps(rollout.messages, setting)
    # Without times of the items, that of the session is the only one.
    start = None if steps[0].started_at else parse_time(meta.get("timestamp"), "line 1")
    return build_run(
        RunFacts(
            external_id=as_text(first_member(meta, "id", "session_id")) or _session_in_name(name),
            app=FORMAT,
            format=FORMAT,
            failed=bool(rollout.failure),
            started_at=start,
            metadata={
                **metadata,
                "compactions": rollout.compactions or None,
                "summaries": rollout.summaries,
                "notices": rollout.notices,
                "turn_context": rollout.context,
            },
        ),
        _fail(steps, rollout.failure),
        location="line 1",
    )


def _event(rollout: _Rollout, payload: JSONObject) -> None:
    kind = as_text(payload.get("type"))
    for thread, call in subagents.started_threads(payload):
        rollout.started_threads.setdefault(thread, call)
    if kind == "token_count":
        _count(rollout, as_object(payload.get("info")))
    elif kind in _ENDS:
        rollout.ends[as_text(payload.get("call_id"))] = payload
    elif not _DISPLAYS.fullmatch(kind):
        _notice(rollout, payload)


def _notice(rollout: _Rollout, payload: JSONObject) -> None:
    """Note an event that no item repeats. Codex tries again after errors: only the last one ends a session."""
    rollout.notices.append(payload)
    if as_text(payload.get("type")) in _FAILURES:
        rollout.failure = as_text(payload.get("message")) or "error"


def _fail(steps: list[RecordedStep], failure: str) -> list[RecordedStep]:
    return [replace(steps[0], status=StepStatus.ERROR, error=failure), *steps[1:]] if failure else steps


def _session_in_name(name: str) -> str:
    """Return the session id in a file name, for files without a session line."""
    match = _SESSION.search(name)
    return match[0] if match else PurePosixPath(name).name


def _item(rollout: _Rollout, item: JSONObject, time: JSONValue, location: str) -> None:
    kind = as_text(item.get("type"))
    if kind == "message" and item.get("role") != "assistant":
        rollout.answer = None
        additions, request = events.split_additions(item)
        for content, is_injected in ((additions, True), (request, False)):
            value: JSONObject = {**item, "content": content, "ts": time}
            if content:
                rollout.messages.append(TranscriptMessage(value=value, location=location, is_injected=is_injected))
    elif kind == "agent_message":
        _hear(rollout, item, time, location)
    elif kind in _RESULTS:
        rollout.answer = None
        output = item.get("output")
        message: JSONObject = {"role": "tool", "tool_call_id": item.get("call_id"), "content": output, "ts": time}
        message |= {name: item[name] for name in ("name", "namespace") if item.get(name)}
        end = rollout.ends.pop(as_text(item.get("call_id")), {})
        message |= {name: end[name] for name in ("duration", "exit_code") if name in end}
        if error := results.output_error(output) or results.end_error(end):
            message["error"] = error
        rollout.messages.append(TranscriptMessage(value=message, location=location))
    elif kind in {"message", "reasoning"} or kind in _CALLS:
        rollout.failure = ""
        _add_to_answer(rollout, item, kind, time, location)
    elif kind.endswith("_call"):
        _add_to_answer(rollout, item, kind, time, location)
        rollout.messages[-1] = _with_action(rollout.messages[-1], item, kind)


def _hear(rollout: _Rollout, item: JSONObject, time: JSONValue, location: str) -> None:
    """Add a message from another agent: the task of a subagent, or else a report in the middle of a turn."""
    rollout.answer = None
    is_task = all(message.is_injected for message in rollout.messages)
    value: JSONObject = {**item, "role": "user", "name": item.get("author"), "ts": time}
    rollout.messages.append(TranscriptMessage(value=value, location=location, is_injected=not is_task))


def _with_action(message: TranscriptMessage, item: JSONObject, kind: str) -> TranscriptMessage:
    """Add the call of a tool that the provider ran, such as a web search. Its result is not recorded."""
    arguments = first_member(item, "action", "arguments", "query") or {}
    status = StepStatus.ERROR if item.get("status") == "failed" else StepStatus.OK
    name = kind.removesuffix("_call")
    action = TextAction(name=name, arguments=arguments, status=status, attributes={PROVIDER_RAN: True})
    return replace(message, actions=(*message.actions, action))


def _compact(rollout: _Rollout, payload: JSONObject, time: JSONValue, location: str) -> None:
    """Restart the history: with the recorded replacement, or with the user's requests and the summary."""
    rollout.compactions += 1
    if payload.get("message"):
        rollout.summaries.append(payload["message"])
    rollout.answer = None
    history = [
        as_object(item)
        for item in as_list(payload.get("replacement_history"))
        if as_text(as_object(item).get("type")) in _HISTORY_TYPES
    ]
    if not history:
        requests = [
            as_object(message.value)
            for message in rollout.messages
            if as_object(message.value).get("role") == "user" and not message.is_injected
        ]
        history = [*requests, {"role": "user", "content": payload.get("message")}]
    rollout.messages += [
        TranscriptMessage(value={**item, "ts": time}, location=location, is_injected=True, resets_history=index == 0)
        for index, item in enumerate(history)
    ]


def _add_to_answer(rollout: _Rollout, item: JSONObject, kind: str, time: JSONValue, location: str) -> None:
    """Add an item to the answer; all items up to the next result or request form one message."""
    if rollout.answer is None:
        rollout.answer = {"role": "assistant", "content": [], "tool_calls": [], "ts": time, "model": rollout.model}
        parameters: JSONObject = {"reasoning_effort": rollout.effort} if rollout.effort else {}
        rollout.messages.append(TranscriptMessage(value=rollout.answer, location=location, parameters=parameters))
    message = rollout.answer
    message["ts"] = time
    if marks := continuation({"output": [item]}):
        message["continuation"] = [*as_list(message.get("continuation")), *as_list(marks["continuation"])]
    if kind in _CALLS:
        call: JSONObject = {
            "id": first_member(item, "call_id", "id"),
            "name": first_member(item, "name") or kind,
            "arguments": item.get(_CALLS[kind]),
        }
        message["tool_calls"] = [*as_list(message["tool_calls"]), call]
    elif kind == "reasoning":
        thought = "\n".join(
            as_text(as_object(part).get("text")) for part in as_list(first_member(item, "summary", "content"))
        )
        blocks: list[JSONValue] = [{"type": "thinking", "thinking": thought}] if thought else []
        message["content"] = [*as_list(message["content"]), *blocks]
    elif kind == "message":
        content = item.get("content")
        message["content"] = [
            *as_list(message["content"]),
            *([content] if isinstance(content, str) else as_list(content)),
        ]


def _count(rollout: _Rollout, info: JSONObject) -> None:
    """Add the usage of a response: the difference between the session totals before and after it."""
    total = as_object(info.get("total_token_usage"))
    usage: dict[str, int] = {}
    for name in _COUNTS:
        count, previous_count = total.get(name), rollout.token_counts.get(name, 0)
        if isinstance(count, int) and isinstance(previous_count, int) and count >= previous_count:
            usage[name] = count - previous_count
    rollout.token_counts = total
    messages = (as_object(message.value) for message in reversed(rollout.messages) if not message.is_injected)
    answer = next((message for message in messages if message.get("role") == "assistant"), None)
    if answer is not None and any(usage.values()):
        # Includes usage outside answers, such as for a summary, so that the steps add up to the total.
        earlier_usage = as_object(answer.get("usage"))
        answer["usage"] = earlier_usage | {
            name: count + (parse_token_count(earlier_usage.get(name), "/usage") or 0) for name, count in usage.items()
        }
