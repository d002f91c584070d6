"""Redaction of what a session adds to the recording: live answers, changed requests, and errors."""

from typing import Any, Final

from replay.core.calls import Call
from traces.core.json_access import as_list, as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import RunStatus, StepType
from traces.ingest.redaction import redaction_note, with_note
from traces.models import Run
from traces.redaction_policies import services as policies

_SPACES: Final = " \n\t"
_KEY_START: Final = "-----BEGIN"
_KEY_END: Final = "-----END"


class SessionRedaction:
    """Applies the policy of the source run's app, as it was when this worker took the session over."""

    def __init__(self, app: str) -> None:
        self._redaction = policies.redaction_of(app)
        self._redactor = self._redaction.redactor()

    def field(self, type: StepType, field: str, value: JSONValue) -> JSONValue:
        """Redact a payload; what a detector finds in one place of it is replaced everywhere in it."""
        if self._redaction.is_off:
            return value
        result = self._redactor.field(type, field, value)
        if self._redactor.literals and result is not value:
            result = self._redactor.for_literals().field(type, field, result)
        return result

    def text(self, text: str) -> str:
        return text if self._redaction.is_off else self._redactor.text(text)

    def beginning(self, text: str) -> str:
        """Return as much of a growing text as its next characters cannot turn into a part of a secret, redacted."""
        return text if self._redaction.is_off else self._redactor.text(text[: _complete_length(text)])

    def request(self, call: Call) -> JSONValue:
        """Return a call's input as it may be stored."""
        return self.field(call.type, "input", call.input)

    def outcome(self, kind: str, outcome: dict[str, Any]) -> dict[str, Any]:
        """Return the outcome of a live call as it may be stored: the answer that the replay then works with."""
        type = StepType(kind)
        if "documents" in outcome:
            output = self.field(type, "output", {"documents": outcome["documents"]})
            return {**outcome, "documents": as_list(as_object(output).get("documents"))}
        return {**outcome, "output": self.field(type, "output", outcome["output"])}

    def mark(self, run: Run) -> None:
        """State in the metadata of an unsealed derived run what was redacted."""
        if note := redaction_note(self._redactor):
            Run.objects.filter(id=run.id, status=RunStatus.RUNNING).update(metadata=with_note(run.metadata, note))


def _complete_length(text: str) -> int:
    """Return the length up to the last complete word, before a key that has begun and not ended."""
    start = text.rfind(_KEY_START)
    end = start if start >= 0 and _KEY_END not in text[start:] else len(text)
    return max(text.rfind(character, 0, end) for character in _SPACES) + 1


def source_note(run: Run) -> JSONObject:
    """Return what a source run's metadata says about its redaction: its derived runs contain the same values."""
    return {"redaction": run.metadata["redaction"]} if "redaction" in run.metadata else {}
