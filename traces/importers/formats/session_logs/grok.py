"""Grok: the files of a session's folder, or one of them. `chat_history.jsonl` has the messages of the model, without
times and tokens, which `updates.jsonl` has: what the client was told in the Agent Client Protocol, as other logs are.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_object, member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import PROVIDER_RAN, normalize_provider, normalize_usage, usage_details
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings, continuation
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.session_logs import agent_client
from traces.importers.formats.session_logs.agent_client import Session

FORMAT: Final = "grok"
_FILES: Final = frozenset({"chat_history.jsonl", "updates.jsonl", "summary.json"})
_MARKS: Final = frozenset({"synthetic_reason", "prompt_index", "model_id", "model_fingerprint"})
_ONLY_SUMMARY: Final = "only facts about a session: import its `chat_history.jsonl` too"
_MESSAGE_FIELDS: Final = ("type", "content", "tool_calls", "model_id", "reasoning_effort")


@dataclass(kw_only=True)
class _Folder:
    """The files of a session."""

    # Their records, which are read once, so that each problem is reported once.
    history: list[tuple[JSONObject, str]] = field(default_factory=list)
    updates: list[tuple[JSONObject, str]] = field(default_factory=list)
    history_name: str = ""
    summary: JSONObject = field(default_factory=dict)
    last: Source


def is_record(value: JSONValue) -> bool:
    """Return True if `value` is a line of a session's files, or their summary."""
    body = as_object(value)
    return agent_client.is_message(body) or _is_message(body) or _is_summary(body)


def _is_message(body: JSONObject) -> bool:
    kind = as_text(body.get("type"))
    if kind == "backend_tool_call":
        return has_object(body, "kind")
    return kind in ("user", "assistant") and "content" in body and not body.keys().isdisjoint(_MARKS)


def _is_summary(body: JSONObject) -> bool:
    is_session = {"id", "cwd"} <= as_object(body.get("info")).keys()
    return is_session and not body.keys().isdisjoint({"session_summary", "generated_title", "current_model_id"})


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield the runs of Grok's folders, and those of each other file."""
    folders: dict[str, _Folder] = {}
    for source in sources:
        path = PurePosixPath(source.name)
        name = str(path.parent) if path.name in _FILES and len(path.parts) > 1 else source.name
        try:
            _add_file(folders.setdefault(name, _Folder(last=source)), source)
        except BadFile as problem:
            source.problems.append(problem)
    for name, folder in folders.items():
        try:
            yield from _runs(PurePosixPath(name).name, folder)
        except BadFile as problem:
            folder.last.problems.append(problem)


def _add_file(folder: _Folder, source: Source) -> None:
    folder.last = source
    if not source.is_lines and _is_summary(as_object(source.value)):
        folder.summary = as_object(source.value)
        return
    records = [*source.objects()]
    if any(agent_client.is_message(record) for record, _ in records):
        folder.updates = records
    else:
        folder.history, folder.history_name = records, PurePosixPath(source.name).name


def _runs(name: str, folder: _Folder) -> Iterator[RecordedRun]:
    sessions = agent_client.read(folder.updates)
    if not sessions and not folder.history:
        raise BadFile(_ONLY_SUMMARY, "/")
    if not folder.history:
        yield from (_run(id, session, session.pieces.messages, folder.summary) for id, session in sessions.items())
        return
    session = next(iter(sessions.values()), Session())
    # The history has them.
    session.calls = {}
    session.model = as_text(folder.summary.get("current_model_id")) or session.model
    messages = [*_read_history(folder.history)]
    models = (as_text(as_object(message.value).get("model")) for message in messages)
    session.model = next(filter(None, models), session.model)
    folder_name = "" if name == folder.history_name else name
    id = as_text(member(folder.summary, "info", "id")) or next(iter(sessions), "") or folder_name
    yield _run(id, session, messages, folder.summary)


def _read_history(records: Iterable[tuple[JSONObject, str]]) -> Iterator[TranscriptMessage]:
    """Yield the messages; thoughts and searches by the provider are part of the answer that follows."""
    thoughts: list[JSONObject] = []
    actions: list[TextAction] = []
    location = ""
    for record, location in records:
        kind = as_text(record.get("type"))
        facts = omit(record, *_MESSAGE_FIELDS)
        if kind == "reasoning":
            thoughts.append(record)
        elif kind == "backend_tool_call":
            actions.append(_search(as_object(record.get("kind"))))
        elif kind == "assistant":
            yield _answer(record, thoughts, actions, location)
            thoughts, actions = [], []
        else:
            role = "tool" if kind == "tool_result" else kind
            yield TranscriptMessage(
                value={**facts, "role": role, "content": record.get("content")},
                location=location,
                is_injected=bool(record.get("synthetic_reason")),
            )
    if thoughts or actions:
        yield _answer({}, thoughts, actions, location)


def _answer(
    record: JSONObject, thoughts: Sequence[JSONObject], actions: Sequence[TextAction], location: str
) -> TranscriptMessage:
    texts = ("\n".join(as_text(part.get("text")) for part in as_objects(item.get("summary"))) for item in thoughts)
    content = record.get("content")
    thinking: list[JSONValue] = [{"type": "thinking", "thinking": text} for text in texts if text]
    blocks: list[JSONValue] = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
    effort = record.get("reasoning_effort")
    value: JSONObject = {
        **omit(record, *_MESSAGE_FIELDS),
        "role": "assistant",
        "content": [*thinking, *blocks],
        "tool_calls": as_list(record.get("tool_calls")),
        "model": record.get("model_id"),
        **continuation({"output": [*thoughts]}),
    }
    return TranscriptMessage(
        value=value,
        location=location,
        parameters={"reasoning_effort": effort} if effort else {},
        actions=tuple(actions),
    )


def _search(call: JSONObject) -> TextAction:
    """Return the call of a tool that the provider ran, whose result is not recorded."""
    details: JSONObject = {name: call[name] for name in ("id", "status") if call.get(name)}
    return TextAction(
        name=as_text(call.get("tool_type")),
        arguments=first_member(call, "action") or {},
        status=StepStatus.ERROR if call.get("status") == "failed" else StepStatus.OK,
        attributes={PROVIDER_RAN: True, **details},
    )


def _run(id: str, session: Session, messages: Sequence[TranscriptMessage], summary: JSONObject) -> RecordedRun:
    model = session.model
    is_grok = bool(summary) or model.startswith(FORMAT)
    agent, provider = (FORMAT, "xai") if is_grok else ("agent", normalize_provider(None, model))
    steps = transcripts.build_steps([*messages], TranscriptSettings(model=model, provider=provider, agent=agent))
    # Tokens are known for turns only, each of which has several calls.
    counts = agent_client.total_usage(session.usages)
    usage = normalize_usage(counts, "usage")
    root = replace(
        steps[0],
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        tokens_cached=usage.tokens_cached,
        cost_usd=usage.cost_usd,
        attributes={**steps[0].attributes, **usage_details(counts)},
    )
    times = [parse_time(time, "timestamp") for time in session.times[:1] + session.times[-1:]]
    return build_run(
        RunFacts(
            external_id=id or f"{FORMAT}-{content_id([message.value for message in messages], '')}",
            app=agent,
            format=FORMAT,
            title=as_text(first_member(summary, "generated_title", "session_summary")) or session.title,
            started_at=times[0] if times else None,
            ended_at=times[-1] if times else None,
            metadata={
                **omit(summary, "generated_title"),
                "stop_reason": session.stop_reason,
                "usage": [*session.usages],
                "events": session.events,
                "pending_calls": [*agent_client.pending_calls(session)],
            },
        ),
        [root, *steps[1:]],
        location="line 1",
    )
