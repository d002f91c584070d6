"""The local store: Django set up in this process, and a worker for replays."""

import contextlib
import functools
import os
from collections.abc import Iterator

import httpx2

from cockpit.cli.errors import Exit, Failure
from cockpit.cli.transport import StreamingTransport


@contextlib.contextmanager
def open_store(*, migrate: bool = True) -> Iterator[httpx2.Client]:
    """Open a client of the application inside this process; migrate the database by default."""
    set_up()
    from django.conf import settings
    from django.db import OperationalError, connections

    from cockpit.wsgi import application

    # A process that can open the store needs no token.
    settings.LOGIN_REQUIRED = False
    try:
        if migrate:
            _migrate()
    except OperationalError as error:
        raise Failure(f"cannot open the database: {error}", exit=Exit.UNAVAILABLE) from error
    with httpx2.Client(transport=StreamingTransport(application), base_url=server_address(), timeout=None) as http:
        yield http
    connections.close_all()


def set_up() -> None:
    """Set up Django. An invalid setting raises a `Failure` that names it and the fix."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cockpit.settings")
    # The commands report what they do; the log is for unexpected events.
    os.environ.setdefault("FORKPOINT_LOG_LEVEL", "warning")
    import django
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise Failure(str(error), exit=Exit.BAD_INPUT, code="validation_error") from error


def server_address() -> str:
    """Return the address at which the server of this store would listen: links lead there."""
    from django.conf import settings

    host = f"[{settings.HOST}]" if ":" in settings.HOST else settings.HOST
    return f"http://{host}:{settings.PORT}"


@functools.cache
def start_worker() -> None:
    """Start a worker in threads of this process, and the local model. Later calls do nothing."""
    from django.conf import settings

    if not settings.EMBEDDED:
        return
    from cockpit.demo.local_model import provider
    from cockpit.serving.embedded_worker import EmbeddedWorker

    provider.start()
    EmbeddedWorker().start()


def _migrate() -> None:
    """Migrate the database if needed. The check is cheap; Django's command always does all of its work."""
    from django.core.management import call_command
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0)
