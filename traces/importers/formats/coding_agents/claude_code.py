"""Claude Code session files: lines that form a tree, because going back in a session leaves branches behind.

A session's run is the branch that ends last; every other branch on which the model answered is a run of its own, which
begins with the messages that they share. Sub-agents (`isSidechain`) are nested under the tool call that gave them their
task, or under the session's agent where none did. A session may be spread over several files of one import, as newer
versions write each sub-agent to a file of its own; where the session's file is not among them, a sub-agent is a run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common import transcripts
from traces.importers.common.messages import message_text
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcripts import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, text
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents.claude_branches import Branch, Line, branches, chains, joined
from traces.payloads.messages import ModelRequest

FORMAT = "claude-code"
_SETTING = TranscriptSettings(provider="anthropic", agent="claude-code")
_KEPT = ("cwd", "gitBranch", "version", "userType", "permissionMode", "forkedFrom")


@dataclass(kw_only=True)
class _Session:
    """What the files of one import hold of a session."""

    parts: list[list[Line]] = field(default_factory=list)  # by file
    titles: list[JSONValue] = field(default_factory=list)
    last: Source

    @property
    def lines(self) -> list[Line]:
        """All lines, the file that begins first before the others; a line that a later file repeats is left out."""
        ordered = sorted(self.parts, key=lambda part: text(part[0].given.get("timestamp")))
        found = ordered[0]
        for part in ordered[1:]:
            known = {line.id for line in found if line.id}
            found = [*found, *(line for line in part if line.id not in known)]
        return found


def keys(source: Source) -> set[str]:
    """The sessions that have lines in a file."""
    try:
        return {_session_of(given, source) for given, _ in source.objects() if _is_line(given)}
    except BadFile:
        return set()


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """The runs of each session, which may be spread over several files."""
    sessions: dict[str, _Session] = {}
    for source in sources:
        try:
            _read(source, sessions, several=len(sources) > 1)
        except BadFile as problem:
            source.problems.append(problem)
    for session_id, session in sessions.items():
        try:
            yield from _runs(session_id, session.lines, session.titles)
        except BadFile as problem:
            session.last.problems.append(problem)


def _read(source: Source, sessions: dict[str, _Session], *, several: bool) -> None:
    parts: dict[str, list[Line]] = {}
    titles: list[JSONValue] = []
    for given, where in source.objects():
        if given.get("type") == "summary":
            titles.append(given.get("summary"))
        elif _is_line(given):
            line = _checked(Line(given=given, where=where), source.problems)
            # lines are told apart by their places
            placed = replace(line, where=f"{source.name}, {where}") if several else line
            parts.setdefault(_session_of(given, source), []).append(placed)
    for session_id, lines in parts.items():
        session = sessions.setdefault(session_id, _Session(last=source))
        session.parts.append(lines)
        session.titles += [title for title in titles if title not in session.titles]
        session.last = source


def _is_line(given: JSONObject) -> bool:
    return given.get("type") != "summary" and ("uuid" in given or "message" in given)


def _session_of(given: JSONObject, source: Source) -> str:
    return text(given.get("sessionId")) or source.name


def _checked(line: Line, skipped: list[BadFile]) -> Line:
    """The line without a time or counts that cannot be read, which are noted."""
    message = line.given.get("message")
    if not isinstance(message, dict):
        return line
    said = TranscriptMessage(
        value={"ts": line.given.get("timestamp"), "usage": message.get("usage")}, location=line.where
    )
    (sound,) = transcripts.drop_unreadable([said], skipped)
    if sound is said:
        return line
    kept = {name: value for name, value in message.items() if name != "usage"}
    if usage := obj(sound.value).get("usage"):
        kept["usage"] = usage
    return Line(given={**line.given, "message": kept, "timestamp": obj(sound.value).get("ts")}, where=line.where)


def _runs(session_id: str, lines: list[Line], titles: list[JSONValue]) -> Iterator[RecordedRun]:
    told = joined([line for line in lines if not line.given.get("isSidechain")])
    agents = chains([line for line in lines if line.given.get("isSidechain")])
    found = list(branches(told))
    if not found:
        yield from _lone_agents(session_id, agents)
    for at, branch in enumerate(found):
        steps = _with_agents(transcripts.build_steps(_messages(branch.lines), _SETTING), agents, also_uncalled=at == 0)
        if at == 0:
            yield _run(
                session_id,
                steps,
                branch.lines,
                {
                    "summaries": titles,
                    "other_branches": len(found) - 1 or None,
                    "unanswered_messages": _unanswered(told, found),
                },
            )
        else:
            yield _run(
                f"{session_id}/{branch.lines[branch.shared].id}",
                steps,
                branch.lines,
                {"left_branch_of": session_id, "shared_messages": branch.shared},
            )


def _unanswered(lines: Sequence[Line], found: Sequence[Branch]) -> list[JSONValue]:
    """The messages that are on no branch: what a user took back before a model answered it."""
    taken = {line.where for branch in found for line in branch.lines}
    return [line.given["message"] for line in lines if line.is_message and line.where not in taken]


def _lone_agents(session_id: str, agents: Sequence[list[Line]]) -> Iterator[RecordedRun]:
    """Sub-agents whose session is in another file."""
    for chain in agents:
        name = text(chain[0].given.get("agentId")) or chain[0].id
        steps = _nested(transcripts.build_steps(_messages(chain), _SETTING), "", None)
        yield _run(f"{session_id}/{name}", steps, chain, {"sub_agent_of": session_id})


def _run(external_id: str, steps: list[RecordedStep], lines: Sequence[Line], metadata: JSONObject) -> RecordedRun:
    begun = lines[0].given
    kept = {name: begun[name] for name in _KEPT if name in begun}
    return build_run(
        RunFacts(external_id=external_id, app=FORMAT, format=FORMAT, metadata={**kept, **metadata}),
        steps,
        location=f"session {external_id}",
    )


def _with_agents(
    steps: list[RecordedStep], agents: Sequence[Sequence[Line]], *, also_uncalled: bool
) -> list[RecordedStep]:
    """The steps with those of the sub-agents below the calls that gave them their tasks."""
    for at, chain in enumerate(agents, 1):
        inner = transcripts.build_steps(_messages(chain), _SETTING)
        caller = _call_of(inner, steps)
        if caller is None and not also_uncalled:
            continue
        place = len(steps) if caller is None else caller + 1
        steps[place:place] = _nested(inner, f"side-{at}/", steps[caller or 0])
    return steps


def _call_of(inner: list[RecordedStep], steps: list[RecordedStep]) -> int | None:
    """The place of the tool call whose arguments hold the first words said to a sub-agent, and that has none yet."""
    told = next((ModelRequest(step.input).messages for step in inner if step.type is StepType.MODEL), [])
    tasks = [words for message in told if obj(message).get("role") == "user" and (words := message_text(obj(message)))]
    taken = {step.parent for step in steps}
    for place, step in enumerate(steps):
        if tasks and step.type is StepType.TOOL and step.key not in taken and _holds(step.input, tasks[0]):
            return place
    return None


def _holds(arguments: JSONValue, task: str) -> bool:
    return any(isinstance(value, str) and value.strip() == task.strip() for value in obj(arguments).values())


def _messages(lines: Sequence[Line]) -> list[TranscriptMessage]:
    """Lines as messages; the lines of one API response are one message, counted once."""
    told: list[TranscriptMessage] = []
    answers: dict[str, JSONObject] = {}
    for line in lines:
        message = obj(line.given["message"])
        known = answers.get(line.answer)
        if known is not None:
            known["content"] = [*items(known["content"]), *items(message.get("content"))]
            known["usage"] = first(message, "usage") or known.get("usage")
            continue
        value = _message(line.given, message)
        compacted = line.given.get("isCompactSummary") is True
        told.append(
            TranscriptMessage(
                value=value,
                location=line.where,
                is_injected=compacted or line.given.get("isMeta") is True,
                resets_history=compacted,
            )
        )
        if line.answer:
            answers[line.answer] = value
    return told


def _message(given: JSONObject, message: JSONObject) -> JSONObject:
    content = message.get("content")
    kept = {name: given[name] for name in ("uuid", "requestId", "toolUseResult") if given.get(name)}
    said = {name: message[name] for name in ("usage", "model", "stop_reason") if message.get(name)}
    blocks = list(content) if isinstance(content, list) else content
    return {
        "role": text(first(message, "role") or given.get("type")),
        "content": blocks,
        "ts": given.get("timestamp"),
        **said,
        **kept,
    }


def _nested(steps: list[RecordedStep], prefix: str, caller: RecordedStep | None) -> list[RecordedStep]:
    """The steps of a sub-agent below its caller, or by themselves."""
    above = caller.key if caller else None
    return [
        replace(
            step,
            key=prefix + step.key,
            parent=above if step.parent is None else prefix + step.parent,
            name="sub-agent" if step.parent is None else step.name,
        )
        for step in steps
    ]
