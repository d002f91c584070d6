"""Aider: the history of chats in a project (`.aider.chat.history.md`), a Markdown file with all sessions.

A user's lines begin with `####`, what the program printed with `>`, and the rest is the model's text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import termination
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "aider"
_START: Final = re.compile(r"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$", re.M)
_MODEL: Final = re.compile(r"(?:Main model|Models?): (\S+?),?(?: |$)")
_COUNT: Final = r"([\d.,]+[kM]?)"
_USAGE: Final = re.compile(
    rf"Tokens: {_COUNT} sent(?:, {_COUNT} cache write)?(?:, {_COUNT} cache hit)?, {_COUNT} received\."
    r"(?: Cost: \$([\d.]+) message)?"
)
_THOUGHTS: Final = re.compile(r"\s*<(thinking-content-[0-9a-f]+|think|thinking)>(.*?)</\1>", re.S)
_ERROR: Final = re.compile(
    r"(?:litellm\.)?[A-Z]\w*(?:Error|Exception)\b|Can't initialize prompt toolkit|.*API error", re.S
)
_COMMAND: Final = re.compile(r"/[a-z][\w-]*|!")
_FACTORS: Final = {"k": 1_000, "M": 1_000_000}
# Aider ends the lines that it marks with two blanks.
_LINE_END: Final = "  "
_SAMPLE: Final = 100_000


@dataclass(kw_only=True)
class _Block:
    """Consecutive lines of the user, the program or the model."""

    speaker: str
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()


@dataclass(kw_only=True)
class _Session:
    model: str = ""
    entries: list[TranscriptMessage] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    # The message that what the program prints belongs to.
    last: JSONObject = field(default_factory=dict)
    # Of a command: until the next message, because it may be long.
    output: list[str] = field(default_factory=list)
    # Whether a request waits for its answer.
    is_waiting: bool = False
    is_interrupted: bool = False
    failure: str = ""


def sniff(sample: Sample) -> float:
    """Return the confidence that this is such a history."""
    if sample.is_binary:
        return 0.0
    try:
        return 1.0 if _START.search(decode_text(sample.head[:_SAMPLE])) else 0.0
    except BadFile:
        return 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per session with a request to a model."""
    parts = _START.split(decode_text(source.data).replace("\r\n", "\n"))
    count = 0
    for time, content in zip(parts[1::2], parts[2::2], strict=True):
        session = _read(content)
        if session.requests:
            count += 1
            yield _run(time, session)
    if not count:
        source.problems.append(BadFile("these sessions of Aider have no request to a model", "line 1"))


def _run(time: str, session: _Session) -> RecordedRun:
    is_cut_off = session.is_waiting and session.is_interrupted
    place = f"session of {time}"
    return build_run(
        RunFacts(
            external_id=f"{FORMAT}-{time.replace(' ', 'T')}-{content_id(session.requests[0], place)}",
            app=FORMAT,
            format=FORMAT,
            failed=bool(session.failure),
            has_ended=not session.is_waiting or bool(session.failure),
            started_at=parse_time(time, place),
            metadata={"header": [*session.header]},
            judgements=[termination("interrupted")] if is_cut_off else [],
        ),
        transcripts.build_steps(session.entries, TranscriptSettings(agent=FORMAT)),
        location=place,
    )


def _read(content: str) -> _Session:
    session = _Session()
    blocks = list(_blocks(content))
    for index, block in enumerate(blocks):
        following = [other.speaker for other in blocks[index + 1 : index + 3]]
        match block.speaker:
            case "user" if _COMMAND.match(block.text) and "model" not in following:
                _add_command(session, block.text, index)
            case "user":
                _add_request(session, block.text, index)
            case "model" if session.requests:
                _add_answer(session, block.text, index)
            case _:
                _add_notes(session, block, index)
    _end_command(session)
    return session


def _blocks(content: str) -> Iterator[_Block]:
    """Yield the blocks of a session. Lines of the model may have the same marks, but do not end with two blanks."""
    block = _Block(speaker="", lines=[])
    lines = content.split("\n")
    # An editor may have removed the blanks.
    has_ends = any(_speaker(line) != "model" and line.endswith(_LINE_END) for line in lines)
    for line in lines:
        speaker = _speaker(line) if line.endswith(_LINE_END) or not has_ends else "model"
        if not line.strip() and block.speaker != "model":
            # A blank line ends a block; the model's may have some.
            if block.lines:
                yield block
            block = _Block(speaker="", lines=[])
            continue
        if speaker != block.speaker:
            if block.lines:
                yield block
            block = _Block(speaker=speaker, lines=[])
        block.lines.append(_without_mark(line, speaker))
    if block.lines:
        yield block


def _speaker(line: str) -> str:
    if line.startswith("#### ") or line.rstrip() == "####":
        return "user"
    return "program" if line.startswith("> ") or line.rstrip() == ">" else "model"


def _without_mark(line: str, speaker: str) -> str:
    if speaker == "model":
        return line
    return line.rstrip()[5 if speaker == "user" else 2 :]


def _add(session: _Session, message: JSONObject, index: int) -> None:
    _end_command(session)
    session.entries.append(TranscriptMessage(value=message, location=f"block {index + 1}"))
    session.last = message


def _end_command(session: _Session) -> None:
    if session.output:
        session.last["content"] = "\n".join(filter(None, session.output))
        session.output = []


def _add_request(session: _Session, text: str, index: int) -> None:
    session.requests.append(text)
    session.is_waiting, session.is_interrupted, session.failure = True, False, ""
    _add(session, {"role": "user", "content": text}, index)


def _add_command(session: _Session, text: str, index: int) -> None:
    """Add what the user told the program to do: a call that no model made."""
    name, _, arguments = text.partition(" ")
    call: JSONObject = {"id": f"command-{index}", "name": name, "arguments": {"text": arguments}}
    _add(session, {"role": "user", "content": None, "tool_calls": [call]}, index)
    _add(session, {"role": "tool", "tool_call_id": call["id"], "content": ""}, index)


def _add_answer(session: _Session, text: str, index: int) -> None:
    thoughts = _THOUGHTS.match(text)
    blocks: list[JSONValue] = [{"type": "thinking", "thinking": thoughts[2].strip()}] if thoughts else []
    rest = text[thoughts.end() :].strip() if thoughts else text
    blocks += [{"type": "text", "text": rest}] if rest else []
    session.is_waiting, session.failure = False, ""
    _add(session, {"role": "assistant", "content": blocks, "model": session.model, "notes": []}, index)


def _add_notes(session: _Session, block: _Block, index: int) -> None:
    """Add what the program printed to the answer or command that it follows."""
    text = block.text
    if model := _MODEL.match(text) or next(filter(None, map(_MODEL.match, block.lines)), None):
        session.model = model[1]
    if not session.requests and session.last.get("role") != "tool":
        session.header += block.lines
        return
    session.is_interrupted |= "KeyboardInterrupt" in text or "^C" in text
    error = next((line for line in block.lines if _ERROR.match(line)), "") if session.is_waiting else ""
    if error:
        session.failure, session.is_waiting = error, False
        answer: JSONObject = {"role": "assistant", "content": None, "model": session.model, "error": error}
        _add(session, answer, index)
    if session.last.get("role") == "tool":
        session.output.append(text)
        return
    session.last["notes"] = notes = _notes(session.last)
    notes += block.lines
    if usage := next(filter(None, map(_USAGE.search, block.lines)), None):
        session.last |= _usage(usage)


def _notes(message: JSONObject) -> list[JSONValue]:
    notes = message.get("notes")
    return notes if isinstance(notes, list) else []


def _usage(match: re.Match[str]) -> JSONObject:
    """Return the tokens and the cost of an answer; Aider rounds them."""
    counts = {"input_tokens": match[1], "cache_write_tokens": match[2], "cached_tokens": match[3]}
    usage: JSONObject = {name: _count(text) for name, text in counts.items() if text}
    return {"usage": {**usage, "output_tokens": _count(match[4])}, **({"cost": match[5]} if match[5] else {})}


def _count(text: str) -> int:
    number = text.replace(",", "")
    factor = _FACTORS.get(number[-1], 1)
    try:
        return round(float(number.rstrip("kM")) * factor)
    except ValueError:
        return 0
