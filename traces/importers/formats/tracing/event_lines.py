"""Canonical events of the capture SDK, one per line: their vocabulary, and the check of each event by itself."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from traces.core.json_access import as_object, as_text, is_integer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.importers.common.model_calls import normalize_usage
from traces.importers.common.times import parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_object

FORMAT: Final = "forkpoint"
# With which the program ended, in the end of a run of the gateway. A run keeps one that is not 0 in its metadata.
EXIT_CODE: Final = "exit_code"
# Number of the event with which the server opens a run: before all numbers of its client.
OPENING: Final = -1
STEP_TYPES: Final = {
    "model_called": StepType.MODEL,
    "model_result": StepType.MODEL,
    "tool_called": StepType.TOOL,
    "tool_result": StepType.TOOL,
    "retrieval_executed": StepType.RETRIEVAL,
    "prompt_rendered": StepType.PROMPT,
    "validator_decision": StepType.VALIDATOR,
    "safety_decision": StepType.SAFETY,
    "final_output": StepType.OUTPUT,
}
_GROUPS: Final = frozenset({"step_started", "step_finished"})
RUN_EVENTS: Final = frozenset({"run_started", "input_received", "run_completed", "run_failed"})
RUN_ENDS: Final = frozenset({"run_completed", "run_failed"})
# Fields of a payload of which an event needs at least one: without them, nothing tells what the step did.
_REQUIRED_FIELDS: Final = {
    "step_started": ("type",),
    "input_received": ("input",),
    "model_called": ("model_id", "request"),
    "model_result": ("response", "output", "status", "error"),
    "tool_called": ("tool_name",),
    "tool_result": ("result", "status", "error"),
    "retrieval_executed": ("query", "retriever_id", "candidate_list"),
    "prompt_rendered": ("rendered_prompt", "prompt_template", "prompt_template_id"),
    "validator_decision": ("decision", "output", "status"),
    "safety_decision": ("decision", "output", "status"),
    "final_output": ("output", "decision"),
}
# The client removed fields itself, so that the required ones may be missing.
_COMPLETE: Final = (None, "", "not_required")
_LONGEST_RUN_ID: Final = 200
_GREATEST_NUMBER: Final = 2**63 - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """An event of a run; those of a step have its id."""

    run_id: str
    step_id: str
    parent: str
    number: int
    type: str
    at: datetime | None
    payload: JSONObject
    raw: JSONObject
    location: str

    @property
    def title(self) -> str:
        """The event in words, for messages: its type, and its step."""
        return f"{self.type} of step “{self.step_id[:60]}”" if self.step_id else self.type


def is_event(value: JSONValue) -> bool:
    """Return whether a record looks like one of these events."""
    event = as_object(value)
    is_known_type = as_text(event.get("event_type")) in {*STEP_TYPES, *_GROUPS, *RUN_EVENTS}
    return is_known_type and "run_id" in event and "payload" in event


def check(record: JSONObject) -> Event:
    """Check an event of a client by itself; raise `BadFile` with the location of what is missing or invalid."""
    event = read_event(record, "")
    if not 0 <= event.number <= _GREATEST_NUMBER:
        raise BadFile("expected a sequence number from 0 to 2^63 - 1", "/sequence_no")
    if event.at is None:
        raise BadFile("the event has no time", "/timestamp_utc")
    if len(event.run_id) > _LONGEST_RUN_ID or "\0" in event.run_id:
        raise BadFile(f"the id of a run has at most {_LONGEST_RUN_ID} characters, none of them NUL", "/run_id")
    _check_payload(event)
    return event


def read_event(record: JSONObject, location: str) -> Event:
    """Read an event; raise `BadFile` if it has no place in a run."""
    number, kind = record.get("sequence_no"), as_text(record.get("event_type"))
    if kind not in STEP_TYPES and kind not in _GROUPS and kind not in RUN_EVENTS:
        raise BadFile(f"“{kind[:60]}” is not an event type", f"{location}/event_type")
    if not is_integer(number) or number < (OPENING if kind == "run_started" else 0):
        raise BadFile("expected a sequence number of 0 or more", f"{location}/sequence_no")
    if not as_text(record.get("run_id")):
        raise BadFile("the event has no run id", f"{location}/run_id")
    if kind not in RUN_EVENTS and not as_text(record.get("step_id")):
        raise BadFile("the event has no step id", f"{location}/step_id")
    return Event(
        run_id=as_text(record.get("run_id")),
        step_id=as_text(record.get("step_id")),
        parent=as_text(record.get("parent_step_id")),
        number=number,
        type=kind,
        at=parse_time(record.get("timestamp_utc"), f"{location}/timestamp_utc"),
        payload=require_object(record.get("payload"), f"{location}/payload"),
        raw=record,
        location=location,
    )


def _check_payload(event: Event) -> None:
    payload = event.payload
    fields = _REQUIRED_FIELDS.get(event.type, ())
    is_whole = event.raw.get("redaction_status") in _COMPLETE
    if is_whole and fields and payload.keys().isdisjoint(fields):
        raise BadFile(f"{event.type} needs {' or '.join(f'`{field}`' for field in fields)}", f"/payload/{fields[0]}")
    if is_whole and event.type == "step_started" and not as_text(payload.get("type")):
        raise BadFile("the step has no type", "/payload/type")
    parse_time(payload.get("started_at"), "/payload/started_at")
    normalize_usage(as_object(payload.get("token_usage")), "/payload/token_usage")
