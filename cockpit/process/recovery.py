"""Every worker looks after the others: work whose worker is gone, or whose message is lost, goes on by itself."""

import threading
from datetime import timedelta
from typing import Any

import structlog
from celery import bootsteps
from django.conf import settings
from django.db import Error, connection
from kombu.exceptions import KombuError, OperationalError

from diffing import services as diffs
from replay.bisection import services as bisections
from replay.calibration import services as calibrations
from replay.control_replays import attach
from replay.execution import leases
from replay.experiments import services as experiments
from replay.langfuse import export_worker
from replay.proofs import services as proofs
from replay.sessions import services as replays
from traces import enqueue

log = structlog.get_logger("cockpit.process.recovery")


def look_after(observer: leases.Observer) -> None:
    """Take over what was abandoned, and queue again what waits and is in no queue."""
    replays.take_over(observer)
    queued = enqueue.length()
    replays.requeue_unfinished(queued)
    experiments.requeue_unfinished(queued)
    bisections.requeue_unfinished()
    proofs.requeue_unfinished()
    attach.attach_forgotten()
    diffs.requeue_unfinished()
    export_worker.requeue_unfinished()
    calibrations.requeue_unfinished()


def at_start() -> None:
    """What an earlier process left is gone on with at once: nobody else can be at work on it."""
    replays.take_over(leases.Observer())
    requeued = replays.requeue_unfinished() + experiments.requeue_unfinished() + bisections.requeue_unfinished()
    requeued += proofs.requeue_unfinished(waiting_for=timedelta(0))
    requeued += diffs.requeue_unfinished(waiting_for=timedelta(0))
    requeued += export_worker.requeue_unfinished() + calibrations.requeue_unfinished()
    if requeued:
        log.info("requeued", count=requeued)


class RecoveryThread(threading.Thread):
    """Looks every few seconds, until it is stopped."""

    def __init__(self) -> None:
        super().__init__(name="recovery", daemon=True)
        self._done = threading.Event()
        self._observer = leases.Observer()

    def run(self) -> None:
        while True:
            self._look()
            if self._done.wait(settings.TAKEOVER_S / 3):
                return

    def stop(self) -> None:
        self._done.set()
        self.join()

    def _look(self) -> None:
        try:
            look_after(self._observer)
        except (Error, KombuError, OperationalError, OSError) as error:
            self._observer.forget()
            log.warning("recovery_waits", error=str(error).partition("\n")[0])
        except Exception as error:  # noqa: BLE001  # nobody would start it again
            log.error("recovery_failed", exc_info=error)
        finally:
            connection.close()


class Recovery(bootsteps.StartStopStep):
    """The watchman of a Celery worker, in its main process."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._watchman: RecoveryThread | None = None

    def start(self, parent: Any) -> None:
        self._watchman = RecoveryThread()
        self._watchman.start()

    def stop(self, parent: Any) -> None:
        if self._watchman is not None:
            self._watchman.stop()
            self._watchman = None

    terminate = stop
