"""The derived run of a session, opened once and taken over by whoever goes on."""

from collections.abc import Mapping
from datetime import UTC, datetime

from django.db import transaction

from replay.execution.derived_run import step_rows
from replay.execution.session_row import SessionRow
from traces.core.vocabulary import RunSource
from traces.models import Step
from traces.runs import services as traces


def open_run(row: SessionRow) -> Mapping[int, Step]:
    """Open the run, or take it over from the last checkpoint; returns the steps that were written by then."""
    session = row.session
    if session.run_id is None:
        _begin(row)
        return {}
    with transaction.atomic():
        row.update()  # holds the session, so that nobody else writes steps that this would take back
        taken_back = traces.truncate_steps(row.run_id, session.checkpoint_no)
    if taken_back or session.lost_workers:
        taken_over = [datetime.now(UTC).isoformat(), session.checkpoint_no, taken_back]
        row.update(takeovers=[*session.takeovers, taken_over])
        row.append_messages("session")
    steps = Step.objects.filter(run_id=row.run_id, sequence_no__gte=session.fork_sequence_no)
    return {step.sequence_no: step for step in steps}


def _begin(row: SessionRow) -> None:
    session = row.session
    with transaction.atomic():
        session.run = traces.open_run(
            name=session.source_run.name,
            app=session.source_run.app,
            source_run=session.source_run,
            fork_sequence_no=session.fork_sequence_no,
            session_id=session.id,
            environment=session.source_run.environment,
            metadata=step_rows.metadata(session),
            source=RunSource.PROBE if session.is_probe else RunSource.REPLAY,
        )
        row.update(run=session.run)
        row.append_messages("session")
