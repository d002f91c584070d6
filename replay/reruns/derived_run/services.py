"""Write the run of a fork whose agent has ended."""

from collections.abc import Sequence

from replay.core.graph import CHECKS
from replay.execution.session_redaction import source_note
from replay.models import Rerun
from replay.overrides.profile import OverrideProfile
from replay.reruns import recordings
from replay.reruns.core.checks import Check, changed_numbers
from replay.reruns.derived_run import contents
from replay.sessions.prepare import Source
from replay.sessions.schemas import ReplayRequest
from traces.captions import services as captions
from traces.core.schema import ForkChange
from traces.core.vocabulary import Label, Reason, RunStatus
from traces.ingest.step_rows import StepRow
from traces.models import Run
from traces.runs import services as traces


def write(rerun: Rerun, status: RunStatus) -> Run | None:
    """Write and seal the run of the agent's last start; None if nothing of it is known."""
    derived = contents.read(rerun)
    if derived is None:
        return None
    run = _open(rerun, derived.rows)
    derived.store_payloads(run.id)
    derived.restore_payloads(run.id)
    traces.append_steps(run.id, derived.rows)
    traces.seal_run(run.id, status)
    return run


def changes_checks(rerun: Rerun) -> bool:
    """Return whether a check in the agent's last start decided differently than in the recording."""
    derived = contents.read(rerun)
    rows = [row for row in (() if derived is None else derived.rows) if row.type in CHECKS]
    checks = [Check(row.sequence_no, row.type, row.name, row.status) for row in rows]
    return bool(changed_numbers(recordings.load_checks(rerun.source_run_id), checks))


def _open(rerun: Rerun, rows: Sequence[StepRow]) -> Run:
    source = rerun.source_run
    first_change = next((row.sequence_no for row in rows if not _is_recorded(row)), rerun.fork_sequence_no)
    run = traces.open_run(
        name=source.name,
        app=source.app,
        source_run=source,
        fork_sequence_no=first_change,
        environment=source.environment,
        metadata={
            "rerun": {"id": str(rerun.id), "source_run": str(source.id)},
            **({"input": source.metadata["input"]} if "input" in source.metadata else {}),
            **source_note(source),
        },
    )
    captions.describe_fork(run.id, _change(rerun))
    return run


def _is_recorded(row: StepRow) -> bool:
    return row.label is Label.EXACT or row.reason == Reason.SOURCE_OUTPUT_REUSED


def _change(rerun: Rerun) -> ForkChange:
    profile = OverrideProfile.model_validate(rerun.profile.profile if rerun.profile else {"overrides": []})
    if not profile.overrides:
        return ForkChange(text="Agent run again", target="", count=0)
    run = str(rerun.source_run_id)
    return Source(run, rerun.fork_sequence_no).change(ReplayRequest(run=run, overrides=profile))
