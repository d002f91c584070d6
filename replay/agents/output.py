"""What agents print, as it arrives from their runners."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import Max

from replay.execution import event_log
from replay.execution.messages import OutputMessage
from replay.execution.session_redaction import SessionRedaction
from replay.models import ReplaySession, RunnerOutput
from replay.runners.schemas import Stream

# Of one start of an agent. The beginning goes first: what went wrong is at the end.
MOST_LINES: Final = 2_000
LONGEST_LINE: Final = 4_000


@dataclass(frozen=True, kw_only=True, slots=True)
class PrintedLine:
    """A line of an agent; `no` counts the lines of one start, and lines that the runner dropped."""

    no: int
    stream: Stream
    text: str
    at: datetime


def append(session: ReplaySession, attempt: int, lines: Sequence[PrintedLine]) -> None:
    """Store lines, without those that arrived before, and forget the oldest ones of a start that has too many.

    A start that has not happened has no lines, and numbers may come in any order: a hostile runner must not fill the
    database.
    """
    if not lines or session.rerun is None or attempt > session.rerun.attempt:
        return
    redaction = SessionRedaction(session.source_run.app)
    rows = [
        RunnerOutput(
            session=session,
            attempt=attempt,
            no=line.no,
            stream=line.stream,
            # PostgreSQL stores no NUL.
            text=redaction.text(line.text[:LONGEST_LINE].replace("\x00", "�")),
            at=line.at,
        )
        for line in lines[-MOST_LINES:]
    ]
    with transaction.atomic():
        RunnerOutput.objects.bulk_create(rows, ignore_conflicts=True)
        stored_lines = RunnerOutput.objects.filter(session=session, attempt=attempt)
        last = stored_lines.aggregate(last=Max("no"))["last"]
        stored_lines.filter(no__lte=last - MOST_LINES).delete()
        event_log.append(session.id, OutputMessage(seq=0))
