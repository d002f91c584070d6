"""What the agent of a fork does besides its model calls, as its SDK and the gateway report it."""

from datetime import timedelta
from typing import Final
from uuid import UUID

import orjson

from replay.core.vocabulary import RerunDecision
from replay.models import Rerun, RerunReport
from replay.reruns import starts
from traces.collectors.events import split
from traces.core.json_access import as_integer, as_object
from traces.recordings import segment_redaction
from traces.redaction_policies import services as policies
from traces.schemas import EventReceipt
from traces.storage.compression import compress, decompress

# The low bits of an event's number distinguish events of the same microsecond since the start of the rerun.
_SALT_BITS: Final = 6


def store(
    rerun_id: UUID,
    lines: bytes,
    *,
    attempt: int | None,
    step_key: str = "",
    no: int | None = None,
    decision: RerunDecision | None = None,
) -> EventReceipt:
    """Store events as the app's policy allows; those of a rerun that becomes no run, or has ended, are not needed.

    With a `decision`, they are about one step, which is answered as recorded step `no`, or runs. Raise
    `SessionConflict` if they are about an agent that was started again since.
    """
    rerun = Rerun.objects.select_related("source_run").get(id=rerun_id)
    starts.require(rerun, attempt)
    events = split(lines, run_id=str(rerun.id))
    data = b"".join(_set_time(line, rerun) for segment in events.segments for line in segment.data.splitlines())
    if data and rerun.profile_id is not None and rerun.ended_at is None:
        redaction = policies.redaction_of(rerun.source_run.app)
        RerunReport.objects.create(
            rerun=rerun,
            attempt=rerun.attempt,
            events=compress(segment_redaction.redact_data(data, redaction).data),
            step_key=step_key,
            sequence_no=no,
            decision=decision or "",
        )
    return EventReceipt(accepted=events.event_count, rejected=events.rejected)


def lines(report: RerunReport) -> bytes:
    return decompress(report.events)


def _set_time(line: bytes, rerun: Rerun) -> bytes:
    """Return an event with the time that its number states: the agent's clock may be set to that of its recording."""
    event = as_object(orjson.loads(line))
    passed_us = (as_integer(event.get("sequence_no")) or 0) >> _SALT_BITS
    at = rerun.created_at + timedelta(microseconds=passed_us)
    return orjson.dumps({**event, "timestamp_utc": at.isoformat()}) + b"\n"
