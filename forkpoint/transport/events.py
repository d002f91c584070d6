"""One event of a run, and its line in the recording format."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from forkpoint.encoding import thaw

# A payload as JSON or frozen, or a function that computes its JSON on the background thread.
Content = str | bytes | Callable[[], str]


class Event(NamedTuple):
    """An event. The agent's thread freezes the payload, which the agent may change; the rest is done later."""

    run_id: str
    step_id: str | None
    parent_id: str | None
    number: int
    type: str
    # Seconds since 1970.
    at: float
    payload: Content

    def line(self) -> str:
        """Return the event as a line of JSON. Ids and types need no escapes."""
        payload = self.payload() if callable(self.payload) else thaw(self.payload)
        return (
            f'{{"schema_version":"1.0.0","trace_id":"{self.run_id}","run_id":"{self.run_id}",'
            f'"step_id":{_quote(self.step_id)},"parent_step_id":{_quote(self.parent_id)},'
            f'"sequence_no":{self.number},"event_type":"{self.type}",'
            f'"timestamp_utc":"{datetime.fromtimestamp(self.at, UTC).isoformat()}","actor_type":"sdk",'
            f'"determinism_mode":"live","artifact_refs":[],"redaction_status":"not_required","payload":{payload}}}'
        )


def _quote(id: str | None) -> str:
    return "null" if id is None else f'"{id}"'
