"""Kimi Code: the log of an agent (`agents/*/wire.jsonl`): changes of its context, and the events of its loop.

The folder of a session has one of the session's agent (`main`) and one of each subagent, whose task is in its call.
Beside it, `state.json` has the title of the session, and which agent started which.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, has_object, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TranscriptSettings, drop_unreadable
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.kimi.wire import WireSession, add_call, add_part, session_id, usage
from traces.importers.formats.session_logs.threads import Thread, nest

FORMAT: Final = "kimi-code"
_COUNTS: Final = ("inputOther", "inputCacheRead", "inputCacheCreation", "output")
# Names of folders.
_AGENTS: Final = "agents"
_MAIN: Final = "main"
_STATE: Final = "state.json"
_ONLY_STATE: Final = "only the state of a session: import the folder `agents` beside it, too"
_BEGINNING: Final = "turn.prompt"
_LINES: Final = frozenset({_BEGINNING, "context.append_message", "context.append_loop_event"})
_NOT_CONFIG: Final = frozenset({"type", "time", "systemPrompt"})
_PARAMETERS: Final = {"maxTokens": "max_tokens", "thinkingEffort": "thinking_effort"}
_NOT_REQUEST: Final = _NOT_CONFIG | {"model", "provider", *_PARAMETERS}
_CALL_FACTS: Final = ("description", "display")
_STEP_FACTS: Final = frozenset({"type", "uuid", "usage", "finishReason"})


@dataclass(kw_only=True)
class _Session(WireSession):
    config: JSONObject = field(default_factory=dict)
    system: JSONValue = None
    tools: JSONValue = None
    # The last request to a model.
    request: JSONObject = field(default_factory=dict)
    # A request of the user that has not become a message of the context.
    prompt: JSONObject | None = None
    # How the program showed calls, by their ids.
    call_facts: dict[str, JSONObject] = field(default_factory=dict)
    has_failed: bool = False


def is_line(value: JSONValue) -> bool:
    """Return True if `value` is a change of the context, the beginning of a turn, or the state of a session."""
    body = as_object(value)
    if _is_state(body):
        return True
    kind = as_text(body.get("type"))
    return kind in _LINES and (has_object(body, "message") or has_object(body, "event") or "input" in body)


def _is_state(body: JSONObject) -> bool:
    return has_object(body, _AGENTS) and as_object(as_object(body[_AGENTS]).get(_MAIN)).get("type") == _MAIN


def keys(source: Source) -> set[str]:
    """Return the folder of the agents of a session; the file itself outside of such a folder."""
    return {_folder(source.name) or source.name}


def _folder(name: str) -> str:
    path = PurePosixPath(name)
    if path.name == _STATE:
        return str(path.parent / _AGENTS)
    return str(path.parent.parent) if path.parent.parent.name == _AGENTS else ""


def _state(source: Source) -> JSONObject:
    """Return the state of a session; an empty object for the log of an agent."""
    if PurePosixPath(source.name).name != _STATE and source.is_lines:
        return {}
    try:
        body = as_object(source.value)
    except BadFile:
        return {}
    return body if _is_state(body) else {}


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield the runs of the agents; subagents are inside the run of their session."""
    threads: dict[str, Thread] = {}
    states = {number: state for number, source in enumerate(sources) if (state := _state(source))}
    sessions = {_folder(sources[number].name): state for number, state in states.items()}
    if len(states) == len(sources):
        for source in sources:
            source.problems.append(BadFile(_ONLY_STATE, "/"))
    for number, source in enumerate(sources):
        if number in states:
            continue
        session = sessions.get(_folder(source.name), {})
        try:
            run = _parse(source, session)
        except BadFile as problem:
            source.problems.append(problem)
            continue
        folder, agent = _folder(source.name), PurePosixPath(source.name).parent.name
        # Of two files with a name, the second is another session.
        is_known = not folder or f"{folder}/{agent}" in threads
        id = str(number) if is_known else f"{folder}/{agent}"
        parent = as_text(as_object(as_object(session.get(_AGENTS)).get(agent)).get("parentAgentId")) or _MAIN
        threads[id] = Thread(run=run, parent="" if is_known or agent == _MAIN else f"{folder}/{parent}")
    yield from nest(threads)


def _parse(source: Source, state: JSONObject) -> RecordedRun:
    records = [*source.objects()]
    session = _Session()
    for record, location in records:
        _add_record(session, record, location)
    _add_prompt(session, "line 1")
    settings = TranscriptSettings(
        model=as_text(session.request.get("model") or session.config.get("modelAlias")),
        provider=normalize_provider(session.request.get("provider")),
        system=session.system,
        tools=normalize_tools(session.tools or []),
        agent=as_text(session.config.get("agentId")) or FORMAT,
    )
    return build_run(
        RunFacts(
            external_id=f"{FORMAT}-{session_id(records, _BEGINNING)}",
            app=FORMAT,
            format=FORMAT,
            failed=session.has_failed,
            title=as_text(state.get("title")) if settings.agent in (_MAIN, FORMAT) else "",
            metadata={**session.config, **omit(state, "title", _AGENTS), "events": session.events},
        ),
        transcripts.build_steps(drop_unreadable(session.entries(), source.problems), settings),
        location="line 1",
    )


def _add_record(session: _Session, record: JSONObject, location: str) -> None:
    time = first_member(record, "time", "timestamp")
    match record.get("type"):
        case "metadata" | "config.update" | "profile.bind":
            session.system = record.get("systemPrompt") or session.system
            session.config |= {name: item for name, item in record.items() if name not in _NOT_CONFIG and item}
        case "llm.tools_snapshot":
            session.tools = session.tools or record.get("tools")
        case "llm.request":
            _add_request(session, record)
        case "turn.prompt":
            _add_prompt(session, location)
            session.prompt = {"role": "user", "content": record.get("input"), "ts": time}
        case "context.append_message":
            _add_message(session, as_object(record.get("message")), time, location)
        case "context.append_loop_event":
            _add_prompt(session, location)
            _add_loop_event(session, as_object(record.get("event")), time, location)
        case "context.apply_compaction":
            _add_summary(session, record, time, location)
        case "usage.record" if record.get("usageScope") == "turn" and session.answer is not None:
            # The end of a step states the same.
            _add_usage(session.answer, record)
        case _:
            _add_note(session, record)


def _add_note(session: _Session, record: JSONObject) -> None:
    """Note what the program did."""
    match record.get("type"):
        case "context.clear":
            session.is_reset, session.answer = True, None
        case "turn.ended":
            session.has_failed = record.get("reason") == "failed"
    session.events.append(record)


def _add_prompt(session: _Session, location: str) -> None:
    """Add a request of the user that no message of the context repeats."""
    if session.prompt is not None:
        session.answer = None
        session.add(session.prompt, location)
        session.prompt = None


def _add_message(session: _Session, message: JSONObject, time: JSONValue, location: str) -> None:
    """Add a message to the context. What the program adds, such as reminders, begins no turn."""
    origin = message.get("origin")
    kind = as_text(as_object(origin).get("kind") or (origin if isinstance(origin, str) else "user"))
    facts: JSONObject = {
        "tool_calls": message.get("toolCalls"),
        "tool_call_id": message.get("toolCallId"),
        "origin": origin if kind != "user" else None,
        "message_id": message.get("id"),
    }
    value = {
        "role": message.get("role"),
        "content": message.get("content"),
        "ts": time,
        **{name: item for name, item in facts.items() if item},
    }
    is_request = message.get("role") == "user" and kind == "user"
    if is_request:
        session.prompt = session.answer = None
    session.add(value, location, is_injected=message.get("role") == "user" and not is_request)


def _add_request(session: _Session, request: JSONObject) -> None:
    """Note a request; its settings are those of the answer that began before it in the log."""
    session.request = request
    session.system = session.system or request.get("systemPrompt")
    if session.answer is not None:
        session.answer["model"] = request.get("model")
        session.answer["request"] = {name: item for name, item in request.items() if name not in _NOT_REQUEST}
        session.parameters |= {name: request[key] for key, name in _PARAMETERS.items() if request.get(key)}


def _add_loop_event(session: _Session, event: JSONObject, time: JSONValue, location: str) -> None:
    match event.get("type"):
        case "step.begin":
            session.begin_answer(time, location)
        case "content.part":
            add_part(session.current_answer(time, location), as_object(event.get("part")))
        case "tool.call":
            call: JSONObject = {
                "id": event.get("toolCallId"),
                "name": event.get("name"),
                "arguments": event.get("args"),
            }
            add_call(session.current_answer(time, location), call)
            facts: JSONObject = {name: event[name] for name in _CALL_FACTS if event.get(name)}
            session.call_facts[as_text(event.get("toolCallId"))] = facts
        case "tool.result":
            facts = session.call_facts.pop(as_text(event.get("toolCallId")), {})
            session.add({**facts, **_result(event), "ts": time}, location)
        case "step.end" if session.answer is not None:
            _end_answer(session.answer, event)
        case _:
            session.events.append({**event, "time": time})


def _end_answer(answer: JSONObject, event: JSONObject) -> None:
    facts: JSONObject = {name: item for name, item in event.items() if name not in _STEP_FACTS}
    answer |= {**facts, "finish_reason": event.get("finishReason")}
    _add_usage(answer, event)


def _add_usage(answer: JSONObject, record: JSONObject) -> None:
    if counts := usage(as_object(record.get("usage")), _COUNTS):
        answer["usage"] = counts


def _result(event: JSONObject) -> JSONObject:
    result = as_object(event.get("result"))
    content = first_member(result, "output", "content")
    facts = {name: item for name, item in result.items() if name not in ("output", "content", "isError") and item}
    return {
        "role": "tool",
        "tool_call_id": event.get("toolCallId"),
        "content": "" if content is None else content,
        **({"is_error": True} if result.get("isError") is True else {}),
        **facts,
    }


def _add_summary(session: _Session, record: JSONObject, time: JSONValue, location: str) -> None:
    """Add the summary with which the context begins after a compaction."""
    session.is_reset, session.answer = True, None
    value: JSONObject = {"role": "user", "content": first_member(record, "contextSummary", "summary"), "ts": time}
    session.add(value, location, is_injected=True)
    session.events.append(record)
