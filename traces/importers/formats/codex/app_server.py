"""Messages of `codex app-server`, one per line: what it told its client of threads, turns and items.

Items are those of `codex exec --json` in another spelling. Those of a stored thread are in its turns.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, is_integer, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.codex import exec_output, subagents
from traces.importers.formats.session_logs.threads import Thread, nest

FORMAT: Final = "codex-app-server"
_METHODS: Final = re.compile(r"(?:thread|turn|item)/\w+(?:/\w+)*")
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
# Items that are no messages and no calls.
_NOTES: Final = frozenset({"context_compaction", "entered_review_mode", "exited_review_mode", "hook_prompt"})
_NO_ANSWERS: Final = ("user_message", "reasoning")
_COUNTS: Final = {
    "inputTokens": "input_tokens",
    "cachedInputTokens": "cached_input_tokens",
    "outputTokens": "output_tokens",
    "reasoningOutputTokens": "reasoning_output_tokens",
}


@dataclass(kw_only=True)
class _Thread:
    """What the messages state of a thread."""

    facts: JSONObject = field(default_factory=dict)
    items: dict[str, tuple[JSONObject, str]] = field(default_factory=dict)
    # The last item that a model wrote.
    last_answer: str = ""
    # By that item.
    usages: dict[str, JSONObject] = field(default_factory=dict)
    total: JSONObject = field(default_factory=dict)
    requests: list[JSONValue] = field(default_factory=list)
    notes: list[JSONValue] = field(default_factory=list)
    failure: str = ""
    has_ended: bool = False


def is_message(value: JSONValue) -> bool:
    """Return True if `value` is about an item or a turn, or has a stored thread."""
    body = as_object(value)
    params = as_object(body.get("params"))
    if _METHODS.fullmatch(as_text(body.get("method"))):
        return "threadId" in params or "id" in as_object(params.get("thread")) or "id" in as_object(params.get("item"))
    return any("items" in turn for turn in _turns(as_object(as_object(body.get("result")).get("thread"))))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per thread, with those of subagents inside."""
    states: dict[str, _Thread] = {}
    id = ""
    for record, location in source.objects():
        for holder in (as_object(record.get("params")), as_object(record.get("result"))):
            thread = as_object(holder.get("thread"))
            id = as_text(first_member(holder, "threadId") or thread.get("id")) or id
            if id and holder:
                _add(states.setdefault(id, _Thread()), record, holder, location)
    threads: dict[str, Thread] = {}
    for id, state in states.items():
        try:
            threads[id] = Thread(
                run=_run(id, state), parent=subagents.parent_of(state.facts), calls=dict(_started_threads(state))
            )
        except BadFile as problem:
            source.problems.append(problem)
    yield from nest(threads)


def _turns(thread: JSONObject) -> list[JSONObject]:
    return as_objects(thread.get("turns"))


def _add(thread: _Thread, record: JSONObject, body: JSONObject, location: str) -> None:
    """Add a notification, a request or a response; `body` is what it is about."""
    known_thread = as_object(body.get("thread"))
    facts = {name: body[name] for name in ("model", "reasoningEffort", "cwd") if body.get(name)}
    thread.facts |= {**omit(known_thread, "turns", "id"), **facts}
    for turn in _turns(known_thread):
        _add_items(thread, as_objects(turn.get("items")), location)
    match as_text(record.get("method")):
        case "item/started" | "item/completed":
            times = {name: body[name] for name in ("startedAtMs", "completedAtMs") if body.get(name)}
            _add_items(thread, [{**as_object(body.get("item")), **times}], location)
        case "turn/start":
            thread.requests += as_list(body.get("input"))
        case "thread/tokenUsage/updated":
            _add_usage(thread, as_object(body.get("tokenUsage")))
        case "turn/completed":
            failure = as_object(as_object(body.get("turn")).get("error"))
            thread.failure, thread.has_ended = as_text(failure.get("message")), True
        case "error":
            thread.notes.append(body)


def _add_items(thread: _Thread, items: Iterable[JSONObject], location: str) -> None:
    for item in items:
        body = {_snake(name): value for name, value in item.items()}
        body |= {name: _snake(as_text(body.get(name))) for name in ("type", "status") if body.get(name)}
        if body.get("type") == "reasoning":
            texts = [as_text(text) for text in as_list(first_member(body, "summary", "content"))]
            body["text"] = "\n".join(texts)
        if as_text(body.get("type")) in _NOTES:
            thread.notes.append(item)
        else:
            id = as_text(item.get("id")) or location
            known_item, _ = thread.items.get(id, ({}, ""))
            known_item |= body
            thread.items[id] = (known_item, location)
            thread.last_answer = thread.last_answer if body.get("type") in _NO_ANSWERS else id


def _snake(name: str) -> str:
    return _CAPITAL.sub("_", name).lower()


def _add_usage(thread: _Thread, usage: JSONObject) -> None:
    """Add the usage of a response to its last item, once: Codex repeats it."""
    total = as_object(usage.get("total"))
    last = as_object(usage.get("last"))
    if total == thread.total or not thread.last_answer:
        return
    thread.total = total
    counts = thread.usages.setdefault(thread.last_answer, {})
    for name, count in last.items():
        if name in _COUNTS and is_integer(count):
            earlier_count = counts.get(_COUNTS[name])
            counts[_COUNTS[name]] = count + (earlier_count if is_integer(earlier_count) else 0)


def _started_threads(thread: _Thread) -> Iterator[tuple[str, str]]:
    for id, (item, _) in thread.items.items():
        yield from subagents.started_threads({**item, "id": id})


def _run(id: str, thread: _Thread) -> RecordedRun:
    entries = [*exec_output.read_items(_items(thread))]
    has_request = any(as_object(entry.value).get("role") == "user" for entry in entries)
    if not has_request and thread.requests:
        entries.insert(0, TranscriptMessage(value={"role": "user", "content": thread.requests}, location="line 1"))
    elif not has_request and entries:
        entries[0] = TranscriptMessage(value=entries[0].value, location=entries[0].location, request_messages=[])
    facts = thread.facts
    effort = facts.get("reasoningEffort")
    settings = TranscriptSettings(
        model=as_text(facts.get("model")),
        provider=as_text(facts.get("modelProvider")) or "openai",
        parameters={"reasoning_effort": effort} if effort else {},
        agent="codex",
    )
    return build_run(
        RunFacts(
            external_id=id,
            app="codex",
            format=FORMAT,
            title=as_text(facts.get("name")),
            failed=bool(thread.failure),
            has_ended=thread.has_ended,
            started_at=parse_time(facts.get("createdAt"), "createdAt"),
            metadata={
                **omit(facts, "model", "modelProvider", "reasoningEffort", "name"),
                "error": thread.failure,
                "notes": thread.notes,
            },
        ),
        transcripts.build_steps(entries, settings),
        location=f"thread {id}",
    )


def _items(thread: _Thread) -> Iterator[tuple[JSONObject, str]]:
    for id, (item, location) in thread.items.items():
        usage: JSONObject = {"usage": thread.usages[id]} if id in thread.usages else {}
        yield {**item, **usage}, location
