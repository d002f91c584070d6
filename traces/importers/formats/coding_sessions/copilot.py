"""GitHub Copilot: events of a session, as its command line and VS Code store them, and as the command line prints them.

The events of a subagent have its id; its steps are nested under the call that started it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement, termination
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.errors import BadFile, Problems
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Source

FORMAT: Final = "copilot"
_OWN: Final = frozenset(
    {"session.start", "user.message", "assistant.message", "assistant.turn_start", "assistant.turn_end"}
    | {"tool.execution_start", "tool.execution_complete", "subagent.started"}
)
_GROUPS: Final = ("session.", "user.", "assistant.", "tool.", "mcp.", "model.", "system.", "hook.", "permission.")
_ENVELOPE: Final = frozenset({"id", "timestamp", "parentId"})
_NOTICES: Final = frozenset(
    {"session.error", "session.warning", "session.truncation", "session.handoff", "session.snapshot_rewind", "abort"}
    | {"session.compaction_complete", "model.call_failure"}
)
_USER_FIELDS: Final = ("transformedContent", "attachments", "source", "agentMode")
_COUNTS: Final = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadTokens": "cached_tokens",
    "cacheWriteTokens": "cache_write_tokens",
    "reasoningTokens": "reasoning_tokens",
}
_MOST_LEVELS: Final = 20


@dataclass(kw_only=True)
class _Thread:
    """The conversation of the session's agent, or of a subagent."""

    # The call that started it, and what is known about it.
    call_id: str = ""
    facts: JSONObject = field(default_factory=dict)
    error: str = ""
    entries: list[TranscriptMessage] = field(default_factory=list)
    # The last answer. Its message may still get thoughts and usage.
    answer: JSONObject | None = None
    thoughts: list[str] = field(default_factory=list)
    usage: JSONObject = field(default_factory=dict)
    call_ids: set[str] = field(default_factory=set)


@dataclass(kw_only=True)
class _Session:
    id: str = ""
    model: str = ""
    threads: dict[str, _Thread] = field(default_factory=dict)
    call_times: dict[str, JSONValue] = field(default_factory=dict)
    facts: JSONObject = field(default_factory=dict)
    notices: list[JSONValue] = field(default_factory=list)
    # Why the session's agent failed last; an answer after it shows that it went on.
    failure: str = ""
    is_aborted: bool = False
    exit_code: JSONValue = None
    outcome: JSONObject = field(default_factory=dict)


def is_event(value: JSONValue) -> bool:
    """Return True if `value` is an event of a session, or a list of them."""
    body = as_object(first_item(value))
    if has_list(body, "events"):
        return is_event(body["events"])
    kind = as_text(body.get("type"))
    if not has_object(body, "data"):
        return False
    return kind in _OWN or (kind.startswith(_GROUPS) and body.keys() >= _ENVELOPE)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the session in a file."""
    session = _Session()
    events = [*_events(source)]
    for event, location in events:
        _read(session, event, location)
    outcome, summary = session.outcome.get("success"), as_text(session.outcome.get("summary"))
    yield build_run(
        RunFacts(
            external_id=session.id or f"{FORMAT}-{_first_id(events)}",
            app=FORMAT,
            format=FORMAT,
            failed=bool(session.failure) or session.exit_code not in (None, 0),
            has_ended=not session.is_aborted,
            metadata={**session.facts, "notices": session.notices, "exit_code": session.exit_code},
            judgements=[
                *([judgement("success", outcome, text=summary)] if isinstance(outcome, bool) else []),
                *([termination("aborted")] if session.is_aborted else []),
            ],
        ),
        _steps(session, source.problems),
    )


def _events(source: Source) -> Iterator[tuple[JSONObject, str]]:
    for body, location in source.entries():
        if has_list(body, "events"):
            for index, event in enumerate(as_objects(body["events"])):
                yield event, f"{location}/events/{index}"
        else:
            yield body, location


def _first_id(events: Iterable[tuple[JSONObject, str]]) -> str:
    first = next((event for event, _ in events if event.get("id")), None)
    return as_text(first["id"]) if first else content_id([event for event, _ in events], "")


def _read(session: _Session, event: JSONObject, location: str) -> None:
    kind, data = as_text(event.get("type")), as_object(event.get("data"))
    thread = session.threads.setdefault(_thread_id(event, data), _Thread())
    if kind.startswith("session.") or kind == "result":
        _read_fact(session, event, kind, data)
    if kind.startswith("subagent."):
        thread.call_id = as_text(data.get("toolCallId")) or thread.call_id
        thread.error = as_text(data.get("error"))
        thread.facts |= data
    _read_message(session, thread, event, location)
    if kind in _NOTICES:
        session.notices.append({"type": kind, "timestamp": event.get("timestamp"), **data})
    if kind in ("session.error", "abort") and not event.get("agentId"):
        session.is_aborted |= kind == "abort"
        session.failure = as_text(data.get("message"))


def _read_fact(session: _Session, event: JSONObject, kind: str, data: JSONObject) -> None:
    """Read what an event states about the session as a whole."""
    session.id = session.id or as_text(first_member({**event, **data}, "sessionId"))
    session.model = as_text(first_member(data, "selectedModel", "newModel", "chosenModel")) or session.model
    match kind:
        case "session.start" | "session.resume":
            session.facts |= {name: item for name, item in data.items() if name != "sessionId"}
        case "session.shutdown":
            session.facts["shutdown"] = data
        case "session.title_changed":
            session.facts["title"] = data.get("title")
        case "session.task_complete":
            session.outcome = data
        case "result":
            session.exit_code, session.facts["usage"] = event.get("exitCode"), event.get("usage")


def _thread_id(event: JSONObject, data: JSONObject) -> str:
    """Return the id of a subagent; the call that started it, in older versions; empty for the session's agent."""
    starting_call = data.get("toolCallId") if as_text(event.get("type")).startswith("subagent.") else ""
    return as_text(event.get("agentId") or data.get("parentToolCallId") or starting_call)


def _read_message(session: _Session, thread: _Thread, event: JSONObject, location: str) -> None:
    data, time = as_object(event.get("data")), event.get("timestamp")
    match event.get("type"):
        case "user.message" if data.get("content"):
            notes = {name: data[name] for name in _USER_FIELDS if data.get(name) not in (None, "", [], data["content"])}
            _add(thread, {"role": "user", "content": data["content"], "ts": time, **notes}, location)
        case "system.message":
            _add(thread, {"role": "system", "content": data.get("content"), "ts": time}, location)
        case "assistant.reasoning" if data.get("content"):
            _add_thought(thread, as_text(data["content"]))
        case "assistant.usage":
            _add_usage(thread, data)
        case "assistant.message":
            _add_answer(session, thread, data, time, location)
        case "tool.execution_start":
            _start_call(session, thread, data, time, location)
        case "tool.execution_complete":
            _add(thread, {**_result(data), "ts": time}, location)
            # The next answer is another one.
            thread.answer = None
        case "session.compaction_complete" if data.get("summaryContent"):
            summary: JSONObject = {"role": "user", "content": data["summaryContent"], "ts": time}
            thread.entries.append(
                TranscriptMessage(value=summary, location=location, is_injected=True, resets_history=True)
            )


def _add(thread: _Thread, message: JSONObject, location: str) -> None:
    # The request of an answer that comes first is unknown.
    request: JSONValue = [] if not thread.entries and message["role"] == "assistant" else None
    thread.entries.append(TranscriptMessage(value=message, location=location, request_messages=request))


def _add_answer(session: _Session, thread: _Thread, data: JSONObject, time: JSONValue, location: str) -> None:
    """Add an answer, or another part of the last one."""
    if thread is session.threads.get(""):
        session.failure, session.is_aborted = "", False
    calls: list[JSONValue] = [
        {"id": call.get("toolCallId"), "name": call.get("name"), "arguments": parse_embedded(call.get("arguments"))}
        for call in as_objects(data.get("toolRequests"))
    ]
    thread.call_ids |= {as_text(as_object(call)["id"]) for call in calls}
    thoughts = [*thread.thoughts, as_text(data.get("reasoningText"))]
    blocks = [*map(_thinking, dict.fromkeys(filter(None, thoughts)))]
    text: list[JSONValue] = [{"type": "text", "text": data["content"]}] if data.get("content") else []
    thread.thoughts = []
    last = thread.answer
    if last is not None and data.get("chunkIndex") and last["apiCallId"] == data.get("apiCallId"):
        last["content"] = [*as_list(last["content"]), *blocks, *text]
        last["tool_calls"] = [*as_list(last["tool_calls"]), *calls]
        return
    model = data.get("model") or thread.facts.get("model") or session.model
    usage: JSONObject = {"output_tokens": data["outputTokens"]} if data.get("outputTokens") else {}
    answer: JSONObject = {
        "role": "assistant",
        "content": [*blocks, *text],
        "tool_calls": calls,
        "ts": time,
        "model": model,
        "usage": {**usage, **thread.usage},
        "apiCallId": data.get("apiCallId"),
        "messageId": data.get("messageId"),
        "citations": data.get("citations"),
        "server_tools": data.get("serverTools"),
    }
    thread.answer, thread.usage = answer, {}
    _add(thread, answer, location)


def _thinking(thought: str) -> JSONValue:
    return {"type": "thinking", "thinking": thought}


def _add_thought(thread: _Thread, thought: str) -> None:
    """Add a thought to the answer that it follows, unless that has it, else to the next one."""
    if thread.answer is None:
        thread.thoughts.append(thought)
    elif _thinking(thought) not in as_list(thread.answer["content"]):
        thread.answer["content"] = [_thinking(thought), *as_list(thread.answer["content"])]


def _add_usage(thread: _Thread, data: JSONObject) -> None:
    """Add what an answer used to it, or to the next one if it already has its usage."""
    usage: JSONObject = {name: data[count] for count, name in _COUNTS.items() if data.get(count)}
    if thread.answer is None or "input_tokens" in as_object(thread.answer["usage"]):
        thread.usage = usage
    else:
        thread.answer["usage"] = {**as_object(thread.answer["usage"]), **usage}
        thread.answer["finish_reason"] = data.get("finishReason")


def _start_call(session: _Session, thread: _Thread, data: JSONObject, time: JSONValue, location: str) -> None:
    """Note when a call began. One that no answer requested is a request of the user."""
    id = as_text(data.get("toolCallId"))
    session.call_times[id] = time
    if id not in thread.call_ids:
        call: JSONObject = {"id": id, "name": data.get("toolName"), "arguments": data.get("arguments")}
        thread.call_ids.add(id)
        if thread.answer is None:
            thread.answer = {"role": "assistant", "content": None, "tool_calls": [], "ts": time, "usage": {}}
            thread.answer |= {"model": data.get("model") or session.model, "apiCallId": None}
            _add(thread, thread.answer, location)
        thread.answer["tool_calls"] = [*as_list(thread.answer["tool_calls"]), call]


def _result(data: JSONObject) -> JSONObject:
    result, error = as_object(data.get("result")), as_object(data.get("error"))
    content = first_member(result, "content", "contents") if result else data.get("result")
    failure = as_text(error.get("message")) or (as_text(content) or "error" if data.get("success") is False else "")
    details = {name: result[name] for name in ("detailedContent", "contents", "structuredContent") if result.get(name)}
    return {
        "role": "tool",
        "tool_call_id": data.get("toolCallId"),
        "content": content if content is not None else failure or None,
        **({"error": failure} if failure else {}),
        **{name: item for name, item in details.items() if item != content},
        **({"telemetry": data["toolTelemetry"]} if data.get("toolTelemetry") else {}),
    }


def _steps(session: _Session, problems: Problems) -> list[RecordedStep]:
    """Return the steps of the session's agent and of its subagents."""
    tree = _Tree(session=session, problems=problems)
    root, *steps = tree.steps(session.threads.pop("", _Thread()), 0)
    for id in [*session.threads]:
        steps += tree.subagent(id, root.key, 0)
    failed = replace(root, status=StepStatus.ERROR, error=session.failure) if session.failure else root
    return [failed, *steps]


@dataclass(kw_only=True)
class _Tree:
    """The steps of all agents, each subagent after the call that started it."""

    session: _Session
    problems: Problems
    placed_ids: set[str] = field(default_factory=set)

    def steps(self, thread: _Thread, level: int) -> list[RecordedStep]:
        if level > _MOST_LEVELS:
            raise BadFile(f"subagents are nested deeper than {_MOST_LEVELS} levels", "")
        agent = as_text(first_member(thread.facts, "agentDisplayName", "agentName")) or FORMAT
        entries = drop_unreadable(thread.entries, self.problems)
        steps: list[RecordedStep] = []
        for step in transcripts.build_steps(entries, TranscriptSettings(agent=agent)):
            steps.append(self._with_start(step))
            for id in self._subagent_ids.get(step.call_id, ()):
                steps += self.subagent(id, step.key, level)
        return steps

    def subagent(self, id: str, parent: str, level: int) -> Iterator[RecordedStep]:
        """Yield the steps of a subagent, unless another call already contains them."""
        if id in self.placed_ids:
            return
        self.placed_ids.add(id)
        thread = self.session.threads[id]
        root, *steps = self.steps(thread, level + 1)
        status = StepStatus.ERROR if thread.error else root.status
        root = replace(
            root, status=status, error=thread.error, attributes={**root.attributes, **thread.facts, "agent_id": id}
        )
        for step in (root, *steps):
            yield replace(
                step,
                key=f"{id}/{step.key}",
                parent=f"{id}/{step.parent}" if step.parent else parent,
                links=tuple(f"{id}/{link}" for link in step.links),
            )

    @cached_property
    def _subagent_ids(self) -> dict[str, list[str]]:
        """The subagents by the call that started them, which in older versions is their id."""
        ids: dict[str, list[str]] = {}
        for id, thread in self.session.threads.items():
            ids.setdefault(thread.call_id or id, []).append(id)
        return ids

    def _with_start(self, step: RecordedStep) -> RecordedStep:
        time = self.session.call_times.get(step.call_id)
        if step.type is not StepType.TOOL or time is None:
            return step
        (entry,) = drop_unreadable([TranscriptMessage(value={"ts": time}, location=step.call_id)], self.problems)
        return replace(step, started_at=parse_time(as_object(entry.value).get("ts"), step.call_id) or step.started_at)
