"""Claude Code session files: lines that form a tree, because rewinding leaves branches behind.

The run is the branch that ends last; how many others there are is noted. Sub-agents (`isSidechain`) are nested
under the tool call that gave them their task, or under the session's agent where none did.
"""

from collections.abc import Iterator
from dataclasses import replace

from traces.importers import transcripts
from traces.importers.building import RunFacts, finish
from traces.importers.messages import said
from traces.importers.reading import first, items, obj, text
from traces.importers.source import Source
from traces.importers.transcripts import Said, Setting
from traces.json_types import JSONObject, JSONValue
from traces.recording import RecordedRun, RecordedStep
from traces.vocabulary import StepType

FORMAT = "claude-code"
_LINE = tuple[JSONObject, str]
_SETTING = Setting(provider="anthropic", agent="claude-code")


def parse(source: Source) -> Iterator[RecordedRun]:
    """One run for each session in the file."""
    sessions: dict[str, list[_LINE]] = {}
    titles: list[JSONValue] = []
    for given, where in source.objects():
        if text(given.get("type")) in {"user", "assistant"} and isinstance(given.get("message"), dict):
            sessions.setdefault(text(given.get("sessionId")), []).append((given, where))
        elif given.get("type") == "summary":
            titles.append(given.get("summary"))
    for session_id, lines in sessions.items():
        yield _run(session_id or source.name, lines, titles)


def _run(session_id: str, lines: list[_LINE], titles: list[JSONValue]) -> RecordedRun:
    main = [line for line in lines if not line[0].get("isSidechain")]
    side = [line for line in lines if line[0].get("isSidechain")]
    branch = _branch(main) if main else []
    steps = transcripts.steps_of(_messages(branch), _SETTING)
    for at, chain in enumerate(_chains(side), 1):
        inner = transcripts.steps_of(_messages(chain), _SETTING)
        caller = _call_of(inner, steps)
        place = len(steps) if caller is None else caller + 1
        steps[place:place] = _nested(inner, f"side-{at}/", steps[caller or 0])
    first_line = lines[0][0]
    parents = {text(line[0].get("parentUuid")) for line in main}
    leaves = sum(text(line[0].get("uuid")) not in parents for line in main)
    kept = ("cwd", "gitBranch", "version", "userType", "permissionMode", "forkedFrom")
    return finish(
        RunFacts(external_id=session_id, app=FORMAT, format=FORMAT,
                 metadata={**{name: first_line[name] for name in kept if name in first_line}, "summaries": titles,
                           "other_branches": max(leaves - 1, 0) or None}),
        steps, where=f"session {session_id}",
    )  # fmt: skip


def _branch(lines: list[_LINE]) -> list[_LINE]:
    """From the last line back to its root."""
    by_id = {text(line[0].get("uuid")): line for line in lines}
    path: dict[str, _LINE] = {}
    at = text(lines[-1][0].get("uuid"))
    while at in by_id and at not in path:
        path[at] = by_id[at]
        at = text(first(by_id[at][0], "parentUuid", "logicalParentUuid"))
    return list(reversed(path.values())) or lines


def _chains(lines: list[_LINE]) -> Iterator[list[_LINE]]:
    """Sub-agents one by one: a line whose parent is not among them begins another."""
    known: dict[str, list[_LINE]] = {}
    chains: list[list[_LINE]] = []
    for line in lines:
        chain = known.get(text(line[0].get("parentUuid")))
        if chain is None:
            chain = []
            chains.append(chain)
        chain.append(line)
        known[text(line[0].get("uuid"))] = chain
    yield from chains


def _call_of(inner: list[RecordedStep], steps: list[RecordedStep]) -> int | None:
    """The place of the tool call whose arguments hold the first words said to a sub-agent, and that has none yet."""
    told = next((items(obj(step.input).get("messages")) for step in inner if step.type is StepType.MODEL), [])
    tasks = [words for message in told if obj(message).get("role") == "user" and (words := said(obj(message)))]
    taken = {step.parent for step in steps}
    for place, step in enumerate(steps):
        if tasks and step.type is StepType.TOOL and step.key not in taken and _holds(step.input, tasks[0]):
            return place
    return None


def _holds(arguments: JSONValue, task: str) -> bool:
    return any(isinstance(value, str) and value.strip() == task.strip() for value in obj(arguments).values())


def _messages(lines: list[_LINE]) -> list[Said]:
    """Lines as messages; the lines of one API response are one message, counted once."""
    said: list[Said] = []
    last_id = ""
    for given, where in lines:
        message = obj(given["message"])
        answer_id = text(message.get("id"))
        if answer_id and answer_id == last_id:
            known = obj(said[-1].value)
            known["content"] = [*items(known["content"]), *items(message.get("content"))]
            known["usage"] = first(message, "usage") or known.get("usage")
        else:
            said.append(Said(value=_message(given, message), where=where))
        last_id = answer_id
    return said


def _message(given: JSONObject, message: JSONObject) -> JSONObject:
    content = message.get("content")
    kept = {
        name: given[name]
        for name in ("uuid", "requestId", "isMeta", "isCompactSummary", "toolUseResult")
        if given.get(name)
    }
    said = {name: message[name] for name in ("usage", "model", "stop_reason") if message.get(name)}
    blocks = list(content) if isinstance(content, list) else content
    return {"role": text(first(message, "role") or given.get("type")), "content": blocks, "ts": given.get("timestamp"),
            **said, **kept}  # fmt: skip


def _nested(steps: list[RecordedStep], prefix: str, root: RecordedStep) -> list[RecordedStep]:
    return [
        replace(step, key=prefix + step.key, parent=root.key if step.parent is None else prefix + step.parent,
                name="sub-agent" if step.parent is None else step.name)
        for step in steps
    ]  # fmt: skip
