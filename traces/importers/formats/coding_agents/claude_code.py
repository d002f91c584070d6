"""Claude Code session files: lines that form a tree, because going back in a session leaves branches behind.

The run of a session is the branch that ends last. Every other branch with a model answer is a separate run that starts
with the shared messages. Sub-agents (`isSidechain`) are nested under the tool call that gave them their task, or under
the session's agent if there is none. A session may span several files of one import, as newer versions write each
sub-agent to a separate file. Without the session's file, a sub-agent is a run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import RunStatus
from traces.importers.common import transcripts
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, drop_unreadable, other_members
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents import claude_agents, claude_stream
from traces.importers.formats.coding_agents.claude_agents import SubAgent, nest, place
from traces.importers.formats.coding_agents.claude_branches import (
    Branch,
    Line,
    branches,
    chains,
    close_gaps,
    restore_order,
)

FORMAT = "claude-code"
_IDS = frozenset({"type", "session_id", "uuid"})
# Lines for the display, of which a session has many, and which repeat what messages and files contain.
_DISPLAY_LINES = frozenset({"progress", "file-history-snapshot", "stream_event"})
# Members of lines that name the session; one by the user comes last.
_TITLES = ("aiTitle", "customTitle")
_LINE_FIELDS = frozenset({"parentUuid", "sessionId", "session_id", "cwd", "gitBranch", "version", "userType"})
# Of a line with a message, what its step has under another name.
_READ_FIELDS = _LINE_FIELDS | {
    *("type", "uuid", "requestId", "toolUseResult", "timestamp", "message", "isSidechain", "isMeta", "agentId"),
    *("isApiErrorMessage", "isCompactSummary", "parent_tool_use_id", "logicalParentUuid"),
}
_READ_MESSAGE_FIELDS = frozenset({"role", "type", "content", "usage", "model", "stop_reason", "id"})
# What the user ran in the session, and what it printed: commands of the program, and those of the shell (`!`).
_COMMAND = "<command-name>"
_COMMAND_OUTPUT = ("<local-command-stdout>", "<local-command-stderr>")
_LOCAL_COMMAND = (*_COMMAND_OUTPUT, "<bash-input>", "<bash-stdout>", "<bash-stderr>")
_METADATA = ("cwd", "gitBranch", "version", "userType", "permissionMode", "forkedFrom")

# By session and kind.
_Statements = dict[str, dict[str, JSONObject]]
# Longer than the facts about a sub-agent.
_LONG = 2**16
_ONLY_NOTES = "only facts about a sub-agent: import the files of its session too"
_ONLY_RESULT = "only the result of a session: import its session file too, or its output as stream-json"


@dataclass(kw_only=True)
class _Session:
    """The lines of one session in the files of one import."""

    # By file.
    parts: list[list[Line]] = field(default_factory=list)
    titles: list[JSONValue] = field(default_factory=list)
    # Lines without an id, such as operations of the queue of prompts.
    events: list[JSONValue] = field(default_factory=list)
    # What a command that printed the session stated at its start and at its end.
    statements: dict[str, JSONObject] = field(default_factory=dict)
    last: Source

    @property
    def lines(self) -> list[Line]:
        """All lines, files by their start time; lines that a later file repeats are omitted.

        The output of a command has no times and comes last. In older versions, it has other ids than the session.
        """
        first_part, *later_parts = sorted(self.parts, key=_start)
        lines = first_part
        for part in later_parts:
            if claude_stream.is_line(part[0].record) and _message_ids(part) <= _message_ids(lines):
                continue
            line_ids = {line.id for line in lines if line.id}
            lines = [*lines, *(line for line in part if line.id not in line_ids)]
        return restore_order(lines)


def _start(part: list[Line]) -> tuple[bool, str]:
    time = as_text(part[0].record.get("timestamp"))
    return not time, time


def _message_ids(lines: list[Line]) -> set[str]:
    """Return the ids that the model's API gave to its answers."""
    return {id for line in lines if (id := as_text(as_object(line.record.get("message")).get("id")))}


def keys(source: Source) -> set[str]:
    """Return the ids of the sessions with lines in a file."""
    try:
        records = [record for record, _ in claude_stream.read_records(source)]
        sessions = {
            _session_id(record, source) for record in records if _is_line(record) or claude_stream.statement(record)
        }
        return sessions or {claude_agents.session_of(source.name)} - {""}
    except BadFile:
        return set()


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield the runs of each session, which may span several files."""
    sessions: dict[str, _Session] = {}
    results: list[tuple[Source, _Statements]] = []
    notes = {index: note for index, source in enumerate(sources) if (note := _note(source))}
    for source in [source for index, source in enumerate(sources) if index not in notes]:
        try:
            results.append((source, _read(source, sessions, qualify_locations=len(sources) > 1)))
        except BadFile as problem:
            source.problems.append(problem)
    for index in () if sessions else notes:
        sources[index].problems.append(BadFile(_ONLY_NOTES, "/"))
    for source, statements in results:
        for session_id, records in statements.items():
            if session_id in sessions:
                sessions[session_id].statements |= records
            else:
                source.problems.append(BadFile(_ONLY_RESULT, f"session {session_id}"))
    facts = {claude_agents.agent_of(sources[index].name): note for index, note in notes.items()}
    for session_id, session in sessions.items():
        try:
            for run in _runs(session_id, session, facts):
                yield _add_statements(run, session.statements) if run.external_id == session_id else run
        except BadFile as problem:
            session.last.problems.append(problem)


def _note(source: Source) -> JSONObject:
    """Return the first record of a file about a sub-agent; an empty object for any other file."""
    # A sample, because sessions are long, and reading lines reports the bad ones.
    sample = Source(name=source.name, data=source.data.split(b"\n", 1)[0] if len(source.data) > _LONG else source.data)
    try:
        record = next((record for record, _ in sample.objects()), {})
    except BadFile:
        return {}
    return record if claude_agents.is_note(record) else {}


def _read(source: Source, sessions: dict[str, _Session], *, qualify_locations: bool) -> _Statements:
    """Add the lines of a file to their sessions; return the beginnings and results of sessions in it."""
    parts: dict[str, list[Line]] = {}
    titles: list[JSONValue] = []
    events: list[JSONValue] = []
    statements: _Statements = {}
    for record, location in claude_stream.read_records(source):
        if record.get("type") == "summary":
            titles.append(record.get("summary"))
        elif name := claude_stream.statement(record):
            statements.setdefault(_session_id(record, source), {})[name] = record
        elif _is_line(record):
            line = _drop_unreadable(Line(record=_queued_message(record), location=location), source.problems)
            if qualify_locations:
                # Line locations are unique per file only.
                line = replace(line, location=f"{source.name}, {location}")
            parts.setdefault(_session_id(record, source), []).append(line)
        elif as_text(record.get("type")) not in _DISPLAY_LINES:
            events.append(record)
    for session_id, lines in parts.items():
        session = sessions.setdefault(session_id, _Session(last=source))
        session.parts.append(lines)
        session.titles += [title for title in titles if title not in session.titles]
        session.events, events = [*session.events, *events], []
        session.last = source
    return statements


def _add_statements(run: RecordedRun, statements: dict[str, JSONObject]) -> RecordedRun:
    """Return a run with what the command stated at its start and its end."""
    facts: JSONObject = {
        name: {key: item for key, item in record.items() if key not in _IDS and item not in (None, "", [], {})}
        for name, record in statements.items()
    }
    result = statements.get("result", {})
    return replace(
        run,
        # Of output, the agent is the program that wrote it.
        app=run.steps[0].name,
        status=RunStatus.FAILED if result.get("is_error") is True else run.status,
        metadata={**run.metadata, **facts},
        judgements=(*run.judgements, *claude_stream.read_termination(result)),
    )


def _is_line(record: JSONObject) -> bool:
    return record.get("type") != "summary" and ("uuid" in record or "message" in record)


def _queued_message(record: JSONObject) -> JSONObject:
    """Return what was typed or reported while the agent worked as a message; any other record as it is."""
    attachment = as_object(record.get("attachment"))
    if record.get("type") != "attachment" or attachment.get("type") != "queued_command":
        return record
    is_typed = attachment.get("commandMode") in (None, "prompt")
    message: JSONObject = {"role": "user", "content": attachment.get("prompt")}
    return {**record, "type": "user", "message": message, "isMeta": not is_typed}


def _session_id(record: JSONObject, source: Source) -> str:
    return as_text(first_member(record, "sessionId", "session_id")) or source.name


def _drop_unreadable(line: Line, problems: list[BadFile]) -> Line:
    """Return the line without an unreadable time or usage; add these to `problems`."""
    message = line.record.get("message")
    if not isinstance(message, dict):
        return line
    facts = TranscriptMessage(
        value={"ts": line.record.get("timestamp"), "usage": message.get("usage")}, location=line.location
    )
    (readable_facts,) = drop_unreadable([facts], problems)
    if readable_facts is facts:
        return line
    fields = {name: value for name, value in message.items() if name != "usage"}
    if usage := as_object(readable_facts.value).get("usage"):
        fields["usage"] = usage
    return Line(
        record={**line.record, "message": fields, "timestamp": as_object(readable_facts.value).get("ts")},
        location=line.location,
    )


def _runs(session_id: str, session: _Session, facts: dict[str, JSONObject]) -> Iterator[RecordedRun]:
    lines = session.lines
    settings = claude_stream.settings(session_id, session.statements.get("init", {}))
    main_lines = close_gaps([line for line in lines if not line.record.get("isSidechain")])
    agents = [
        SubAgent(
            lines=chain,
            steps=transcripts.build_steps(_messages(chain), settings),
            facts=facts.get(as_text(chain[0].record.get("agentId")), {}),
        )
        for chain in chains([line for line in lines if line.record.get("isSidechain")])
    ]
    main_branches = list(branches(main_lines))
    if not main_branches:
        yield from _lone_agents(session_id, agents)
    for index, branch in enumerate(main_branches):
        steps = place(transcripts.build_steps(_messages(branch.lines), settings), agents, also_uncalled=index == 0)
        if index == 0:
            yield _run(
                session_id,
                steps,
                branch.lines,
                {
                    "summaries": session.titles,
                    "events": [*session.events, *_events(lines)],
                    "other_branches": len(main_branches) - 1 or None,
                    "unanswered_messages": _unanswered_messages(main_lines, main_branches),
                },
            )
        else:
            yield _run(
                f"{session_id}/{branch.lines[branch.shared_length].id}",
                steps,
                branch.lines,
                {"left_branch_of": session_id, "shared_messages": branch.shared_length},
            )


def _events(lines: Sequence[Line]) -> Iterator[JSONValue]:
    """Yield the lines about the program: hooks, retries, compactions, times of turns."""
    for line in lines:
        if not line.is_message and as_text(line.record.get("type")) not in _DISPLAY_LINES:
            yield {name: item for name, item in line.record.items() if name not in _LINE_FIELDS and item is not None}


def _unanswered_messages(lines: Sequence[Line], main_branches: Sequence[Branch]) -> list[JSONValue]:
    """Return the messages outside all branches: requests withdrawn before a model answered."""
    locations = {line.location for branch in main_branches for line in branch.lines}
    return [line.record["message"] for line in lines if line.is_message and line.location not in locations]


def _lone_agents(session_id: str, agents: Sequence[SubAgent]) -> Iterator[RecordedRun]:
    """Yield the runs of sub-agents whose session is not in the import."""
    for agent in agents:
        name = agent.id or agent.lines[0].id
        yield _run(f"{session_id}/{name}", nest(agent, "", None), agent.lines, {"sub_agent_of": session_id})


def _run(external_id: str, steps: list[RecordedStep], lines: Sequence[Line], metadata: JSONObject) -> RecordedRun:
    first_record = lines[0].record
    session_facts = {name: first_record[name] for name in _METADATA if name in first_record}
    events = as_objects(metadata.get("events"))
    titles = [event[name] for name in _TITLES for event in events if event.get(name)]
    return build_run(
        RunFacts(
            external_id=external_id,
            app=FORMAT,
            format=FORMAT,
            title=as_text(titles[-1]) if titles else "",
            tags=[as_text(event.get("tag")) for event in events if event.get("type") == "tag"],
            # What the API refused last was not asked again.
            failed=lines[-1].record.get("isApiErrorMessage") is True,
            metadata={**session_facts, **metadata},
        ),
        steps,
        location=f"session {external_id}",
    )


def _messages(lines: Sequence[Line]) -> list[TranscriptMessage]:
    """Convert lines to messages; the lines of one API response form one message, with its usage once."""
    messages: list[TranscriptMessage] = []
    answers: dict[str, JSONObject] = {}
    for line, following in zip_longest(lines, lines[1:]):
        message = as_object(line.record["message"])
        answer = answers.get(line.answer)
        if answer is not None:
            answer["content"] = [*as_list(answer["content"]), *as_list(message.get("content"))]
            answer |= {name: message[name] for name in ("usage", "stop_reason") if message.get(name)}
            for part, fields in _other_fields(line.record, message).items():
                answer[part] = {**as_object(answer.get(part)), **fields}
            continue
        value = _message(line.record, message)
        is_summary = line.record.get("isCompactSummary") is True
        messages.append(
            TranscriptMessage(
                value=value,
                location=line.location,
                # The output of a command lacks the request.
                request_messages=None if messages or line.record.get("type") != "assistant" else [],
                is_injected=is_summary or _is_injected(line, following),
                resets_history=is_summary,
            )
        )
        if line.answer:
            answers[line.answer] = value
    return messages


def _is_injected(line: Line, following: Line | None) -> bool:
    """Return whether a message asks for nothing: the program added it, or it is about a command that ran locally."""
    if line.record.get("isMeta") is True:
        return not line.blocks("tool_result", "type")
    if line.text.startswith(_COMMAND):
        return following is not None and following.text.startswith(_COMMAND_OUTPUT)
    return line.text.startswith(_LOCAL_COMMAND)


def _message(record: JSONObject, message: JSONObject) -> JSONObject:
    content = message.get("content")
    record_fields = {name: record[name] for name in ("uuid", "requestId", "toolUseResult") if record.get(name)}
    message_fields = {name: message[name] for name in ("usage", "model", "stop_reason", "id") if message.get(name)}
    # Claude Code writes what the API refused as an answer.
    failure: JSONObject = {"error": True} if record.get("isApiErrorMessage") is True else {}
    blocks = list(content) if isinstance(content, list) else content
    return {
        "role": as_text(first_member(message, "role") or record.get("type")),
        "content": blocks,
        "ts": record.get("timestamp"),
        **message_fields,
        **record_fields,
        **failure,
        **_other_fields(record, message),
    }


def _other_fields(record: JSONObject, message: JSONObject) -> dict[str, JSONObject]:
    """Return what a line and its message state beside it, in members of their own: the names are the program's."""
    members = {
        "line": other_members(record, _READ_FIELDS),
        "message": other_members(message, _READ_MESSAGE_FIELDS),
    }
    return {part: fields for part, fields in members.items() if fields}
