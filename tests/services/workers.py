"""A worker for integration tests: threads of the test process, or a process of its own, as the shape has it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.db import connection

from cockpit.serving.embedded_worker import EmbeddedWorker
from tests.services.processes import WORKER_OPTIONS, scratch_folder, start, stop


def _test_database_url() -> str:
    """Where the tests write: the same server, the database that pytest-django made."""
    parts = urlsplit(os.environ["DATABASE_URL"])
    return urlunsplit(parts._replace(path=f"/{connection.settings_dict['NAME']}"))


@contextmanager
def worker_process() -> Iterator[subprocess.Popen[bytes]]:
    """`celery -A cockpit worker`, as it is deployed; tests may kill it."""
    log = scratch_folder("fp-worker-") / "log"
    command = [sys.executable, "-m", "celery", "-A", "cockpit", "worker", "--concurrency", "2", *WORKER_OPTIONS]
    process = start(
        command,
        answers=lambda: True,  # what is sent before it listens waits in the queue
        stop_signal=signal.SIGTERM,
        log=log,
        env={**os.environ, "DATABASE_URL": _test_database_url()},
    )
    try:
        yield process
    finally:
        stop(process, signal.SIGTERM)


@contextmanager
def running_worker() -> Iterator[None]:
    """Somebody who does the work, until the test ends."""
    if settings.EMBEDDED:
        embedded = EmbeddedWorker()
        embedded.start()
        yield
        assert embedded.stop(), "the embedded worker did not stop"
    else:
        with worker_process():
            yield
