"""Worker for integration tests: threads of the test process or its own process, depending on the shape."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.db import connection

from cockpit.serving.embedded_worker import STOP_LIMIT_S, EmbeddedWorker
from tests.services.processes import WORKER_OPTIONS, scratch_folder, start, stop
from tests.services.warm_start import CELERY, WarmProcess
from tests.support.patience import patience_s


def _test_database_url() -> str:
    """Return the URL of the database that pytest-django created."""
    parts = urlsplit(os.environ["DATABASE_URL"])
    return urlunsplit(parts._replace(path=f"/{connection.settings_dict['NAME']}"))


@contextmanager
def worker_process() -> Iterator[subprocess.Popen[bytes]]:
    """Run `celery -A cockpit worker` as deployed. Tests may kill it."""
    log = scratch_folder("fp-worker-") / "log"
    process = start(
        [CELERY, "-A", "cockpit", "worker", "--concurrency", "2", *WORKER_OPTIONS],
        # Tasks sent before it listens wait in the queue.
        is_ready=lambda: True,
        stop_signal=signal.SIGTERM,
        log=log,
        env={**os.environ, "DATABASE_URL": _test_database_url()},
        launch=WarmProcess,
    )
    try:
        yield process
    finally:
        stop(process, signal.SIGTERM)


@contextmanager
def running_worker() -> Iterator[None]:
    """Run a worker until the test ends."""
    if settings.EMBEDDED:
        worker = EmbeddedWorker()
        worker.start()
        yield
        assert worker.stop(patience_s(STOP_LIMIT_S)), "the embedded worker did not stop"
    else:
        with worker_process():
            yield
