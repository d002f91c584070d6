"""Recovery of abandoned work: sessions of dead workers, and work whose queue message was lost."""

from datetime import timedelta

import structlog
from django.conf import settings
from kombu.exceptions import KombuError, OperationalError

from cockpit.process.worker_threads import ThreadStep, WorkerThread
from diffing import services as diffs
from replay.agents import connections
from replay.bisection import services as bisections
from replay.calibration import agent_starts
from replay.calibration import services as calibrations
from replay.control_replays import attach
from replay.execution import leases
from replay.experiments import services as experiments
from replay.langfuse import export_worker
from replay.proofs import services as proofs
from replay.sessions import services as replays
from traces import enqueue
from traces.judgements import rule_changes as outcome_rules

log = structlog.get_logger("cockpit.process.recovery")


def look_after(observer: leases.Observer) -> None:
    """Take over abandoned sessions, and queue waiting work that is in no queue."""
    replays.take_over(observer)
    queue_length = enqueue.length()
    replays.requeue_unfinished(queue_length)
    experiments.requeue_unfinished(queue_length)
    bisections.requeue_unfinished()
    proofs.requeue_unfinished()
    attach.attach_missed()
    agent_starts.compare_missed()
    diffs.requeue_unfinished()
    export_worker.requeue_unfinished()
    calibrations.requeue_unfinished()
    outcome_rules.requeue_unfinished()


def at_start() -> None:
    """Resume the work of an earlier process at once: no other process can own it."""
    connections.disconnect_all()
    replays.take_over(leases.Observer())
    count = replays.requeue_unfinished() + experiments.requeue_unfinished() + bisections.requeue_unfinished()
    count += proofs.requeue_unfinished(waiting_for=timedelta(0))
    count += diffs.requeue_unfinished(waiting_for=timedelta(0))
    count += export_worker.requeue_unfinished() + calibrations.requeue_unfinished()
    count += outcome_rules.requeue_unfinished()
    if count:
        log.info("requeued", count=count)


class RecoveryThread(WorkerThread):
    """Runs the recovery every few seconds until it is stopped."""

    outages = (*WorkerThread.outages, KombuError, OperationalError)

    def __init__(self) -> None:
        self._pause_s = settings.TAKEOVER_S / 3
        super().__init__("recovery", first_pause_s=0.0, after_error_s=self._pause_s)
        self._observer = leases.Observer()

    def work(self) -> float:
        try:
            look_after(self._observer)
        except self.outages:
            self._observer.forget()
            raise
        return self._pause_s


class Recovery(ThreadStep):
    """Runs the recovery thread in the main process of a Celery worker."""

    thread_type = RecoveryThread
