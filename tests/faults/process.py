"""Entry points of separate processes: `prepare`, `nurse` and `report`."""

import json
import os
import signal
import sys
import time
from typing import Any, Final

PROGRAM: Final = "from tests.faults.process import main; main()"
SESSIONS = "TEST_SESSIONS"


def _prepare() -> None:
    """Prepare a database with recordings whose tools may run; prints their ids and a token."""
    from django.core.management import call_command

    from cockpit.http import tokens
    from replay.tool_review import services
    from tests.faults import desk
    from traces.runs.services import record

    call_command("migrate", verbosity=0)
    services.decide({desk.CHARGES: True, desk.LOOKS_UP: True}, author="the tests")
    runs = [str(record(desk.recording(number)).run_id) for number in range(int(os.environ[SESSIONS]))]
    print(json.dumps({"runs": runs, "token": tokens.create(name="tests", role="admin")}))


def _nurse() -> None:
    """Fork a worker for every input line, after loading their modules once."""
    from channels.layers import get_channel_layer
    from django.core.checks import run_checks
    from redis import asyncio  # noqa: F401

    import cockpit.serving.embedded_worker  # noqa: F401
    import diffing.tasks  # noqa: F401
    import replay.tasks  # noqa: F401
    from replay.live import providers
    from replay.live.tools import dispatch  # noqa: F401

    run_checks()
    os.environ["CELERY_SKIP_CHECKS"] = "1"
    get_channel_layer()
    providers.warm()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are never reaped: leave no zombies
    for _ in sys.stdin.buffer:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _work()
        print(child, flush=True)


def _work() -> None:
    """Run a Celery worker in threads of this process, on the configured broker."""
    from cockpit.serving.embedded_worker import EmbeddedWorker

    EmbeddedWorker().start()
    time.sleep(300)
    os._exit(0)


def _report() -> None:
    """Print all stored data of the sessions, in the order of their recordings."""
    from replay.models import ReplaySession

    sessions = ReplaySession.objects.order_by("source_run__external_id", "created_at")
    reports = sorted(map(_of_session, sessions), key=lambda report: report["customer"])
    print(json.dumps(reports))


def _of_session(session: Any) -> dict[str, Any]:
    from replay.models import Attempt, SessionMessage
    from traces.models import Step

    steps = Step.objects.filter(run=session.run).order_by("sequence_no") if session.run else Step.objects.none()
    attempts = Attempt.objects.filter(session=session).order_by("sequence_no", "attempt")
    messages = SessionMessage.objects.filter(session=session).order_by("seq")
    return {
        "customer": int(session.source_run.external_id.rpartition("-")[2]),
        "status": session.status,
        "error": session.error,
        "diff": session.diff_id is not None,
        "live_calls": session.live_calls,
        "steps": [[step.sequence_no, step.type, step.label, step.tool_name, step.summary] for step in steps],
        "sealed": bool(session.run and session.run.sealed_at),
        "source": list(Step.objects.filter(run_id=session.source_run_id).values_list("label", flat=True)),
        "attempts": [list(row) for row in attempts.values_list("sequence_no", "kind", "status", "error_code")],
        "messages": [list(row) for row in messages.values_list("seq", "type")],
        "last_seq": session.last_seq,
        "id": str(session.id),
    }


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cockpit.settings")
    import django

    django.setup()
    {"prepare": _prepare, "nurse": _nurse, "report": _report}[sys.argv[1]]()
