"""Windsurf: transcripts that its hook `post_cascade_response_with_transcript` names, one step per line.

A line has what it states in a member named like its type. What the agent did has no ids: it belongs to the answer
before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_object, as_text, has_object, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import (
    TextAction,
    TranscriptMessage,
    TranscriptSettings,
    drop_unreadable,
)
from traces.importers.files.source import Source

FORMAT: Final = "windsurf"
_REQUEST: Final = "user_input"
_ANSWER: Final = "planner_response"
_SETTINGS: Final = TranscriptSettings(agent=FORMAT)


@dataclass(kw_only=True)
class _Entry:
    """A request, or an answer with what the agent did after it."""

    value: JSONObject
    location: str
    actions: list[TextAction] = field(default_factory=list)

    def message(self) -> TranscriptMessage:
        return TranscriptMessage(value=self.value, location=self.location, actions=tuple(self.actions))


def is_step(value: JSONValue) -> bool:
    """Return True if `value` is a request or an answer of a transcript."""
    body = as_object(value)
    return body.get("type") in (_REQUEST, _ANSWER) and has_object(body, as_text(body["type"]))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the transcript in a file."""
    entries: list[_Entry] = []
    records = [*source.objects()]
    for record, location in records:
        _add_step(entries, record, location)
    messages = drop_unreadable([entry.message() for entry in entries], source.problems)
    yield build_run(
        RunFacts(
            # The name of the file is the id; the beginning is the same while it grows.
            external_id=f"{FORMAT}-{content_id(records[0][0] if records else None, 'line 1')}",
            app=FORMAT,
            format=FORMAT,
        ),
        transcripts.build_steps(messages, _SETTINGS),
        location="line 1",
    )


def _add_step(entries: list[_Entry], record: JSONObject, location: str) -> None:
    kind = as_text(record.get("type"))
    content = as_object(record.get(kind))
    details = omit(record, "type", "timestamp", "status", kind)
    time: JSONObject = {"ts": record["timestamp"]} if record.get("timestamp") else {}
    match kind:
        case "user_input":
            value = {"role": "user", "content": content.get("user_response"), **time, **omit(content, "user_response")}
            entries.append(_Entry(value={**value, **details}, location=location))
        case "planner_response":
            value = {"role": "assistant", "content": content.get("response"), **time, **omit(content, "response")}
            entries.append(_Entry(value={**value, **details}, location=location))
        case _:
            if not entries or entries[-1].value["role"] != "assistant":
                entries.append(_Entry(value={"role": "assistant", "content": None, **time}, location=location))
            entries[-1].actions.append(
                TextAction(
                    name=kind,
                    arguments=record.get(kind) or {},
                    status=StepStatus.OK if record.get("status") == "done" else StepStatus.PARTIAL,
                    ended_at=parse_time(record.get("timestamp"), location),
                    attributes=details,
                )
            )
