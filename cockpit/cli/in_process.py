"""The store on this machine: Django set up in this process, and its worker when a replay needs one."""

import contextlib
import functools
import os
from collections.abc import Iterator

import httpx

from cockpit.cli.errors import Exit, Failure
from cockpit.cli.transport import StreamingTransport


@contextlib.contextmanager
def opened(*, migrate: bool = True) -> Iterator[httpx.Client]:
    """A client of the application inside this process, the database brought up to date unless told not to."""
    set_up()
    from django.conf import settings
    from django.db import OperationalError, connections

    from cockpit.wsgi import application

    # Whoever can open the store itself needs no token for it.
    settings.LOGIN_REQUIRED = False
    try:
        if migrate:
            _migrate()
    except OperationalError as error:
        raise Failure(f"cannot open the database: {error}", exit=Exit.UNAVAILABLE) from error
    # Links that are made here lead to where the server of this store would listen.
    host = f"[{settings.HOST}]" if ":" in settings.HOST else settings.HOST
    with httpx.Client(
        transport=StreamingTransport(application), base_url=f"http://{host}:{settings.PORT}", timeout=None
    ) as http:
        yield http
    connections.close_all()


def set_up() -> None:
    """Settings from the environment; a wrong one is named, with the fix."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cockpit.settings")
    # The commands say themselves what happens; the log is for what they do not expect.
    os.environ.setdefault("FORKPOINT_LOG_LEVEL", "warning")
    import django
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise Failure(str(error), exit=Exit.BAD_INPUT, code="validation_error") from error


@functools.cache
def start_worker() -> None:
    """Work on what is queued, in threads of this process, with the local model at hand; once is enough."""
    from django.conf import settings

    if not settings.EMBEDDED:
        return
    from cockpit.demo.local_model import provider
    from cockpit.serving.embedded_worker import EmbeddedWorker

    provider.start()
    EmbeddedWorker().start()


def _migrate() -> None:
    """Bring the database up to date. Looking takes little; Django's command always does everything."""
    from django.core.management import call_command
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0)
