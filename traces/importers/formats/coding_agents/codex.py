"""Codex rollout files: response items, with the session's settings and running token counts between them.

When a conversation gets too long, Codex goes on with a summary (`compacted`): the model calls after it are shown that.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.model_calls import normalize_provider, parse_token_count
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcripts import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, text
from traces.importers.files.source import Source

FORMAT = "codex"
TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})
_SHOWN = frozenset({"message", *_CALLS, *_RESULTS})  # of a history that took the place of another
_SESSION = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens")


@dataclass(kw_only=True)
class _Rollout:
    meta: JSONObject = field(default_factory=dict)
    model: str = ""
    said: list[TranscriptMessage] = field(default_factory=list)
    speaking: JSONObject | None = None  # the assistant message that response items still add to
    counted: JSONObject = field(default_factory=dict)
    compacted: int = 0
    effort: JSONValue = None


@dataclass(kw_only=True)
class _File:
    """The records of one rollout file with their places."""

    source: Source
    records: list[tuple[JSONObject, str]]

    @property
    def session(self) -> str:
        metas = (obj(given.get("payload")) for given, _ in self.records if given.get("type") == "session_meta")
        return text(first(next(metas, {}), "session_id", "id")) or _session_in(self.source.name)

    @property
    def begun(self) -> str:
        return next((text(given.get("timestamp")) for given, _ in self.records if given.get("timestamp")), "")


def keys(source: Source) -> set[str]:
    """The session of a file."""
    try:
        return {_File(source=source, records=list(source.objects())).session}
    except BadFile:
        return set()


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """One run for each session; rollouts that resume one are written to further files."""
    sessions: dict[str, list[_File]] = {}
    for source in sources:
        try:
            read = _File(source=source, records=list(source.objects()))
        except BadFile as problem:
            source.problems.append(problem)
        else:
            sessions.setdefault(read.session, []).append(read)
    for files in sessions.values():
        ordered = sorted(files, key=lambda each: each.begun)
        try:
            yield _session(ordered)
        except BadFile as problem:
            ordered[-1].source.problems.append(problem)


def _session(files: list[_File]) -> RecordedRun:
    rollout = _Rollout()
    for given, where in _records(files):
        payload = obj(given.get("payload"))
        match given.get("type"):
            case "session_meta":
                rollout.meta = rollout.meta or payload  # a resumed rollout repeats it
            case "turn_context":
                rollout.model, rollout.effort = text(payload.get("model")) or rollout.model, payload.get("effort")
            case "response_item":
                _item(rollout, payload, given.get("timestamp"), where)
            case "event_msg" if payload.get("type") == "token_count":
                _count(rollout, obj(payload.get("info")))
            case "compacted":
                _compact(rollout, payload, given.get("timestamp"), where)
    if not rollout.said:
        raise BadFile("a Codex rollout without any message", "line 1")
    rollout.said = transcripts.drop_unreadable(rollout.said, files[-1].source.problems)
    return _run(rollout, files[0].source.name)


def _records(files: list[_File]) -> Iterator[tuple[JSONObject, str]]:
    """The records of all files in order; what a later file repeats of those before it is left out."""
    seen: set[str] = set()
    for at, each in enumerate(files):
        mine = [digest(given) if len(files) > 1 else "" for given, _ in each.records]
        for (given, where), name in zip(each.records, mine, strict=True):
            if at == 0 or name not in seen:
                yield given, where if len(files) == 1 else f"{each.source.name}, {where}"
        seen.update(mine)


def _run(rollout: _Rollout, name: str) -> RecordedRun:
    meta = rollout.meta
    instructions = meta.get("base_instructions")
    setting = TranscriptSettings(
        model=rollout.model,
        provider=normalize_provider(meta.get("model_provider"), rollout.model),
        agent="codex",
        system=first(obj(instructions), "text") or first(meta, "instructions"),
    )
    kept = ("cwd", "originator", "cli_version", "source", "git", "forked_from_id", "parent_thread_id")
    metadata: JSONObject = {key: meta[key] for key in kept if meta.get(key)}
    return build_run(
        RunFacts(
            external_id=text(first(meta, "session_id", "id")) or _session_in(name),
            app=FORMAT,
            format=FORMAT,
            metadata={**metadata, "compactions": rollout.compacted or None},
        ),
        transcripts.build_steps(rollout.said, setting),
        location="line 1",
    )


def _session_in(name: str) -> str:
    """The session that a file is named after, where the line that says it is lost."""
    match = _SESSION.search(name)
    return match[0] if match else name


def _item(rollout: _Rollout, item: JSONObject, time: JSONValue, where: str) -> None:
    kind = text(item.get("type"))
    if kind == "message" and item.get("role") != "assistant":
        rollout.speaking = None
        rollout.said.append(TranscriptMessage(value={**item, "ts": time}, location=where))
    elif kind in _RESULTS:
        rollout.speaking = None
        output = item.get("output")
        message: JSONObject = {"role": "tool", "tool_call_id": item.get("call_id"), "content": output, "ts": time}
        rollout.said.append(TranscriptMessage(value=message, location=where))
    elif kind in {"message", "reasoning"} or kind in _CALLS:
        _speak(rollout, item, kind, time, where)


def _compact(rollout: _Rollout, payload: JSONObject, time: JSONValue, where: str) -> None:
    """What the model is shown from here on: as the rollout says, else the user's requests and the summary."""
    rollout.compacted += 1
    rollout.speaking = None
    shown = [obj(item) for item in items(payload.get("replacement_history")) if obj(item).get("type") in _SHOWN]
    if not shown:
        asked = [
            obj(each.value) for each in rollout.said if obj(each.value).get("role") == "user" and not each.is_injected
        ]
        shown = [*asked, {"role": "user", "content": payload.get("message")}]
    rollout.said += [
        TranscriptMessage(value={**item, "ts": time}, location=where, is_injected=True, resets_history=at == 0)
        for at, item in enumerate(shown)
    ]


def _speak(rollout: _Rollout, item: JSONObject, kind: str, time: JSONValue, where: str) -> None:
    """Items of one response, up to the next result or request, are one message."""
    if rollout.speaking is None:
        rollout.speaking = {"role": "assistant", "content": [], "tool_calls": [], "ts": time, "model": rollout.model}
        parameters: JSONObject = {"reasoning_effort": rollout.effort} if rollout.effort else {}
        rollout.said.append(TranscriptMessage(value=rollout.speaking, location=where, parameters=parameters))
    message = rollout.speaking
    message["ts"] = time
    if kind in _CALLS:
        call: JSONObject = {
            "id": first(item, "call_id", "id"),
            "name": first(item, "name") or kind,
            "arguments": item.get(_CALLS[kind]),
        }
        message["tool_calls"] = [*items(message["tool_calls"]), call]
    elif kind == "reasoning":
        thought = "\n".join(text(obj(each).get("text")) for each in items(first(item, "summary", "content")))
        blocks: list[JSONValue] = [{"type": "thinking", "thinking": thought}] if thought else []
        message["content"] = [*items(message["content"]), *blocks]
    else:
        content = item.get("content")
        message["content"] = [*items(message["content"]), *([content] if isinstance(content, str) else items(content))]


def _count(rollout: _Rollout, info: JSONObject) -> None:
    """Counts are of the whole session so far: a response's own are the difference."""
    total = obj(info.get("total_token_usage"))
    spent: dict[str, int] = {}
    for name in _COUNTS:
        now, before = total.get(name), rollout.counted.get(name, 0)
        if isinstance(now, int) and isinstance(before, int) and now >= before:
            spent[name] = now - before
    rollout.counted = total
    told = (obj(each.value) for each in reversed(rollout.said) if not each.is_injected)
    answer = next((message for message in told if message.get("role") == "assistant"), None)
    if answer is not None and any(spent.values()):
        # also what was spent beside answers, as on a summary: all steps together are the total
        known = obj(answer.get("usage"))
        answer["usage"] = known | {
            name: count + (parse_token_count(known.get(name), "/usage") or 0) for name, count in spent.items()
        }
