"""The Celery application, run by threads of the web process (embedded) or by `celery -A cockpit worker`."""

import os
import sys
from typing import Any

from celery import Celery
from celery.signals import worker_init, worker_shutting_down

from replay.live import shutdown

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cockpit.settings")

# Celery prepends the working directory: modules in it would replace those of libraries.
_path = [*sys.path]
app = Celery("cockpit")
sys.path[:] = _path
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_shutting_down.connect(weak=False)
def _hand_back(**_: Any) -> None:
    shutdown.request()


@worker_init.connect(weak=False)
def _look_after_others(**_: Any) -> None:
    from cockpit.process.assembly import Assembly  # noqa: PLC0415  # needs Django, which Celery sets up before this
    from cockpit.process.indexing import Indexing  # noqa: PLC0415  # as above
    from cockpit.process.purging import Purging  # noqa: PLC0415  # as above
    from cockpit.process.recovery import Recovery  # noqa: PLC0415  # as above

    app.steps["worker"].update({Recovery, Assembly, Purging, Indexing})
