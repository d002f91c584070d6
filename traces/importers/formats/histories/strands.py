"""Sessions of Strands Agents: stored messages, each in a file of its own, or together in a list or lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import is_message
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "strands"


@dataclass(frozen=True, kw_only=True, slots=True)
class _StoredMessage:
    """A stored message, and where it is."""

    body: JSONObject
    location: str

    @property
    def number(self) -> int:
        number = self.body["message_id"]
        return number if isinstance(number, int) else 0


def is_session(value: JSONValue) -> bool:
    """Return True if `value` is a stored message, or a list of these."""
    body = as_object(first_item(value))
    return is_message(body.get("message")) and isinstance(body.get("message_id"), int) and "created_at" in body


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per folder of messages, which is one agent of a session."""
    folders: dict[str, list[_StoredMessage]] = {}
    for source in sources:
        folder = folders.setdefault(str(PurePosixPath(source.name).parent), [])
        for body, location in source.entries():
            if is_session(body):
                folder.append(_StoredMessage(body=body, location=f"{source.name}{location}"))
    for folder_name, messages in folders.items():
        if messages:
            yield _run(folder_name, sorted(messages, key=lambda message: message.number))


def _run(folder: str, messages: list[_StoredMessage]) -> RecordedRun:
    names = [name for part in PurePosixPath(folder).parts if (name := part.removeprefix("session_")) != part]
    first = messages[0].body
    return build_run(
        RunFacts(
            external_id="/".join(names) or f"{FORMAT}-{content_id([first], messages[0].location)}",
            app=FORMAT,
            format=FORMAT,
        ),
        transcripts.build_steps(
            [TranscriptMessage(value=_message(item.body), location=item.location) for item in messages],
            TranscriptSettings(),
        ),
        location=messages[0].location,
    )


def _message(body: JSONObject) -> JSONObject:
    """Return the message, or the one that was stored in its place to hide its content."""
    message = as_object(body.get("redact_message")) or as_object(body["message"])
    metadata = as_object(message.get("metadata"))
    usage: JSONObject = {"usage": metadata["usage"]} if metadata.get("usage") else {}
    return {**message, "ts": as_text(body.get("created_at")), **usage}
