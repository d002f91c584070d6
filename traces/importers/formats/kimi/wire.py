"""What both logs (`wire.jsonl`) have in common: answers in pieces, counts of tokens, and sessions without ids."""

from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.identity import content_id
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage
from traces.importers.files.errors import BadFile

_TEXTS: Final = ("text", "think")


@dataclass(kw_only=True)
class WireSession:
    """The messages of an agent so far, and the answer that further pieces belong to."""

    messages: list[TranscriptMessage] = field(default_factory=list)
    answer: JSONObject | None = None
    # Settings of the request that it answers.
    parameters: JSONObject = field(default_factory=dict)
    # The next message begins a history of its own.
    is_reset: bool = False
    # What the program notes besides.
    events: list[JSONValue] = field(default_factory=list)

    def add(self, value: JSONObject, location: str, *, is_injected: bool = False) -> None:
        message = TranscriptMessage(
            value=value, location=location, is_injected=is_injected, resets_history=self.is_reset
        )
        self.messages.append(message)
        self.is_reset = False

    def begin_answer(self, time: JSONValue, location: str) -> JSONObject:
        """Begin an answer whose request was sent at this time."""
        self.answer = {"role": "assistant", "content": [], "tool_calls": [], "ts": time}
        self.parameters = {}
        self.messages.append(
            TranscriptMessage(
                value=self.answer,
                location=location,
                resets_history=self.is_reset,
                parameters=self.parameters,
                started_at=parse_time(time, location),
            )
        )
        self.is_reset = False
        return self.answer

    def current_answer(self, time: JSONValue, location: str) -> JSONObject:
        """Return the answer that a piece belongs to, which ends with it so far."""
        answer = self.answer or self.begin_answer(time, location)
        answer["ts"] = time
        return answer

    def entries(self) -> list[TranscriptMessage]:
        """Return the messages without answers of which nothing was recorded."""
        return [message for message in self.messages if not _is_empty_answer(as_object(message.value))]


def _is_empty_answer(message: JSONObject) -> bool:
    return message.get("role") == "assistant" and not (
        message.get("content") or message.get("tool_calls") or message.get("usage") or message.get("error")
    )


def add_part(answer: JSONObject, part: JSONObject) -> None:
    """Add a part to an answer. Pieces of a text that follow each other are one."""
    content = as_list(answer["content"])
    last = as_object(content[-1]) if content else {}
    name = as_text(part.get("type"))
    if name in _TEXTS and last.get("type") == name and last.keys() == part.keys() == {"type", name}:
        last[name] = as_text(last[name]) + as_text(part[name])
        return
    content.append({**part})


def add_call(answer: JSONObject, call: JSONObject) -> None:
    as_list(answer["tool_calls"]).append(call)


def usage(counts: JSONObject, names: tuple[str, str, str, str]) -> JSONObject:
    """Return counts in Anthropic's terms; `names` are those of the uncached input, cache reads, writes and output."""
    fields = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    token_counts = {
        field: counts[name] for field, name in zip(fields, names, strict=True) if counts.get(name) is not None
    }
    return token_counts if any(token_counts.values()) else {}


def session_id(records: list[tuple[JSONObject, str]], kind: str) -> str:
    """Return an id that a session keeps while it grows: its folder has the real one, so it is that of its beginning."""
    if not records:
        raise BadFile("the log has no records", "line 1")
    beginning: list[JSONValue] = []
    for record, _ in records:
        beginning.append(record)
        if kind in (record.get("type"), as_object(record.get("message")).get("type")):
            break
    return content_id(beginning, "")
