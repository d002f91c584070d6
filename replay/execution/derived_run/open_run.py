"""Open a session's derived run, or take it over from a dead worker."""

from collections.abc import Mapping
from datetime import UTC, datetime

from django.db import transaction

from replay.execution.derived_run import step_rows
from replay.execution.session_row import SessionRow
from traces.captions import services as captions
from traces.core.schema import ForkChange
from traces.core.vocabulary import RunSource
from traces.models import Step
from traces.runs import services as traces


def open_run(row: SessionRow) -> Mapping[int, Step]:
    """Open the run, or take it over from the last checkpoint; returns the steps written so far."""
    session = row.session
    if session.run_id is None:
        _begin(row)
        return {}
    with transaction.atomic():
        # Locks the session, so that no other worker writes steps that would be discarded here.
        row.update()
        discarded_steps = traces.truncate_steps(row.run_id, session.checkpoint_no)
    if discarded_steps or session.lost_workers:
        takeover = [datetime.now(UTC).isoformat(), session.checkpoint_no, discarded_steps]
        row.update(takeovers=[*session.takeovers, takeover])
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
        if session.change is not None:
            captions.describe_fork(session.run.id, ForkChange.model_validate(session.change))
        row.update(run=session.run)
        row.append_messages("session")
