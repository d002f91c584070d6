"""Load the demo: the recordings, and the fork that fixes the failed run."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Final
from uuid import UUID

import structlog
from django.db import connections

from cockpit.demo.agent import APP
from cockpit.demo.agent.scenarios import ENVIRONMENT, RECORDINGS, REFUND, SCENARIOS
from cockpit.demo.local_model import provider
from replay.execution import runner
from replay.models import ReplaySession
from replay.overrides.profile import Match, Override, OverrideProfile, PromptOverride
from replay.sessions import services
from replay.sessions.schemas import ReplayRequest
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunSource, StepType
from traces.errors import NotFound
from traces.http.idempotency import Key, find_made, make_once
from traces.importers.files.source import Source
from traces.importers.formats.tracing import forkpoint_events
from traces.models import Run
from traces.retention import deletions
from traces.runs import queries
from traces.runs import services as traces
from traces.storage import artifacts

UNIT_INSTRUCTION: Final = "Order totals are in cents, refunds are in euros: convert before you refund."
log = structlog.get_logger("cockpit.demo")


# Set once the demo is loaded, or failed to load.
completion: Final = threading.Event()
_KIND: Final = "demo"


def load(*, restores_deleted: bool = False, start_runner: Callable[[], None] | None = None) -> None:
    """Load the demo in the background of a running server. A failure is logged and has no other effect.

    `start_runner` is called between the recordings and the fork, so that the desk itself decides the fork.
    """
    try:
        put_recordings(restores_deleted=restores_deleted)
        if start_runner and has_runs():
            start_runner()
        put_fork(restores_deleted=restores_deleted)
    except Exception:
        log.exception("demo_not_loaded", consequence="the cockpit works without it")
    finally:
        completion.set()
        connections.close_all()


def put_recordings(*, restores_deleted: bool = False) -> None:
    """Start the model and import the recordings, each only once; `restores_deleted` brings back deleted ones."""
    provider.start()
    for recording in _recordings():
        _put(recording, restores_deleted=restores_deleted)


def put_fork(*, restores_deleted: bool = False) -> ReplaySession | None:
    """Start the fork of the failed run unless it was started before, and return it; None if one of them was deleted.

    The agent runs it if its runner is online. A second call resumes unfinished work.
    """
    failed = failed_run()
    if failed is None:
        return None
    session = _fork_of(failed, restores_deleted=restores_deleted)
    if session is not None and session.run_id is not None and session.ended_at is not None and session.diff_id is None:
        runner.compare(session.id)
    return session


def failed_run() -> Run | None:
    """Return the failed run of the demo, unless it was deleted."""
    runs = Run.objects.filter(app=APP, external_id=_failed_id(), deletion=None)
    return runs.order_by("-revision").first()


def has_runs() -> bool:
    """Return whether users have left any recording of the demo."""
    return Run.objects.filter(app=APP, environment=ENVIRONMENT, source=RunSource.IMPORT, deletion=None).exists()


def first_fork(run: Run) -> ReplaySession | None:
    """Return the first replay of a run: the demo starts it when it has imported the run."""
    return ReplaySession.objects.filter(source_run=run, is_probe=False).order_by("created_at").first()


def _put(recording: RecordedRun, *, restores_deleted: bool) -> None:
    key = Key(text=recording.external_id, caller=_KIND)
    if find_made(_KIND, key, None) and not restores_deleted:
        return
    newest = Run.objects.filter(app=APP, external_id=recording.external_id).order_by("-revision").first()
    run_id = newest.id if newest else traces.record(recording).run_id
    if restores_deleted and not _show(run_id):
        run_id = traces.record(recording).run_id
    make_once(_KIND, key, None, lambda: str(run_id))


def _fork_of(failed: Run, *, restores_deleted: bool) -> ReplaySession | None:
    """Return the first fork of the failed run; start it unless users have deleted it."""
    key = Key(text=f"fork of {failed.id}", caller=_KIND)
    session = first_fork(failed)
    if session is None and (restores_deleted or not find_made(_KIND, key, None)):
        session = services.launch(_fork(failed))
    if session is not None:
        make_once(_KIND, key, None, lambda: str(session.id))
        if restores_deleted and session.run_id is not None:
            _show(session.run_id)
    return session


def _show(run_id: UUID) -> bool:
    """Restore a run if it is deleted; return False if its contents are removed."""
    if not Run.objects.filter(id=run_id, deletion__isnull=False).exists():
        return True
    try:
        deletions.restore(run_id, by=_KIND)
    except NotFound:
        return False
    return True


def _fork(failed: Run) -> ReplayRequest:
    """Fork at the first model call, with a system prompt that states what the model overlooked."""
    steps = queries.steps(failed.id)
    first = next(step for step in steps if step.type == StepType.MODEL)
    prompt = next(step for step in steps if step.type == StepType.PROMPT)
    output = artifacts.payload(prompt.output_ref)
    text = output["text"] if isinstance(output, dict) else output
    override = Override(match=Match(type=StepType.MODEL), prompt=PromptOverride(system=f"{text}\n\n{UNIT_INSTRUCTION}"))
    overrides = OverrideProfile(overrides=[override])
    return ReplayRequest(run=str(failed.id), fork_step=first.sequence_no, overrides=overrides, engine="auto")


def _recordings() -> Iterator[RecordedRun]:
    """Yield the recordings. The failed run comes last, so it is the first in the list of runs."""
    return (load_recording(scenario.slug) for scenario in reversed(SCENARIOS))


@cache
def _failed_id() -> str:
    """Return the identity of the failed run, without keeping its recording."""
    return load_recording(REFUND).external_id


def load_recording(slug: str) -> RecordedRun:
    """Read a recording. Its model is a local program, so its calls cost nothing."""
    file = RECORDINGS / f"{slug}.jsonl"
    [run] = forkpoint_events.parse([Source(name=file.name, data=file.read_bytes())])
    steps = (replace(step, cost_usd=Decimal(0)) if step.type is StepType.MODEL else step for step in run.steps)
    return replace(run, steps=tuple(steps))
