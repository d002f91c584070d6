"""Load the demo: the recordings, and the fork that fixes the failed run."""

from collections.abc import Iterator
from typing import Final

import structlog
from django.db import connections

from cockpit.demo.agent.record import RECORDINGS
from cockpit.demo.agent.scenarios import APP, REFUND, SCENARIOS
from cockpit.demo.local_model import provider
from replay.execution import runner
from replay.models import ReplaySession
from replay.overrides.profile import Match, Override, OverrideProfile, PromptOverride
from replay.sessions import services
from replay.sessions.schemas import ReplayRequest
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType
from traces.http.idempotency import Key
from traces.importers.files.source import Source
from traces.importers.formats.tracing import forkpoint_events
from traces.models import Run
from traces.runs import queries
from traces.runs import services as traces
from traces.storage import artifacts

UNIT_INSTRUCTION: Final = "Order totals are in cents, refunds are in euros: convert before you refund."
log = structlog.get_logger("cockpit.demo")


def load() -> None:
    """Load the demo in the background of a running server. A failure is logged and has no other effect."""
    try:
        put_in_store()
    except Exception:
        log.exception("demo_not_loaded", consequence="the cockpit works without it")
    finally:
        connections.close_all()


def put_in_store() -> ReplaySession:
    """Import the recordings and start the fork. Idempotent: a second call resumes unfinished work."""
    provider.start()
    for recording in _recordings():
        traces.record(recording)
    failed = Run.objects.get(app=APP, external_id=load_recording(REFUND).external_id)
    session = services.launch(_fork(failed), Key(text=failed.external_id, caller="demo"))
    if session.run_id is not None and session.ended_at is not None and session.diff_id is None:
        runner.compare(session.id)
    return session


def _fork(failed: Run) -> ReplayRequest:
    """Fork at the first model call, with a system prompt that states what the model overlooked."""
    steps = queries.steps(failed.id)
    first = next(step for step in steps if step.type == StepType.MODEL)
    prompt = next(step for step in steps if step.type == StepType.PROMPT)
    output = artifacts.payload(prompt.output_ref)
    text = output["text"] if isinstance(output, dict) else output
    override = Override(match=Match(type=StepType.MODEL), prompt=PromptOverride(system=f"{text}\n\n{UNIT_INSTRUCTION}"))
    overrides = OverrideProfile(overrides=[override])
    return ReplayRequest(run=str(failed.id), fork_step=first.sequence_no, overrides=overrides)


def _recordings() -> Iterator[RecordedRun]:
    """Yield the recordings. The failed run comes last, so it is the first in the list of runs."""
    return (load_recording(scenario.slug) for scenario in reversed(SCENARIOS))


def load_recording(slug: str) -> RecordedRun:
    file = RECORDINGS / f"{slug}.jsonl"
    [run] = forkpoint_events.parse([Source(name=file.name, data=file.read_bytes())])
    return run
