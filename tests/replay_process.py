"""Replays in processes of their own, on a home of their own: `python -m tests.replay_process prepare|work|report`."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

ENTRIES = [{"match": {"type": "model"}, "prompt": {"system": "Be brief."}}]


def environment(home: Path, base_url: str) -> dict[str, str]:
    """Embedded, whatever shape the tests themselves run in."""
    kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    provider = {"desk": {"protocol": "openai", "base_url": f"{base_url}/v1"}}
    return {**kept, "FORKPOINT_HOME": str(home), "FORKPOINT_PROVIDERS": json.dumps(provider)}


def start(command: str, env: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(_arguments(command), env=env)


def ask(command: str, env: dict[str, str]) -> Any:
    """What a command printed as JSON."""
    done = subprocess.run(_arguments(command), env=env, stdout=subprocess.PIPE, timeout=120, check=True)
    return json.loads(done.stdout)


def status(env: dict[str, str]) -> str:
    """The session's status, read beside whoever works on it."""
    with closing(sqlite3.connect(Path(env["FORKPOINT_HOME"]) / "forkpoint.sqlite3", timeout=20)) as database:
        return str(database.execute("SELECT status FROM replay_replaysession").fetchone()[0])


def _arguments(command: str) -> list[str]:
    return [sys.executable, "-m", "tests.replay_process", command]


def _prepare() -> None:
    """A database with a run of eight turns, and a session that waits for a worker."""
    from django.core.management import call_command

    from replay import preflight, services
    from tests.replay_runs import Says, order_desk
    from traces.services import record

    call_command("migrate", verbosity=0)
    conversation = [(f"Question {number}?", (Says(f"Recorded answer {number}."),)) for number in range(1, 9)]
    run_id = record(order_desk(conversation)).run_id
    body: Any = {"run": str(run_id), "fork_step": 2, "overrides": {"overrides": ENTRIES}}
    print(json.dumps(str(services.launch(preflight.parse(body)).id)))


def _work() -> None:
    """A real Celery worker, which first takes over what another one left."""
    from cockpit.embedded import EmbeddedWorker
    from replay import services

    EmbeddedWorker().start()
    services.requeue_unfinished()
    time.sleep(300)


def _report() -> None:
    from replay.models import Attempt, ReplaySession
    from traces.models import Step

    session = ReplaySession.objects.get()
    assert session.run is not None
    steps = Step.objects.filter(run=session.run).order_by("sequence_no")
    print(
        json.dumps(
            {
                "status": session.status, "error": session.error, "live_calls": session.live_calls,
                "steps": [f"{step.sequence_no} {step.type} {step.label} {step.summary}" for step in steps],
                "attempts": list(Attempt.objects.order_by("id").values_list("sequence_no", "attempt", "status")),
                "source": list(Step.objects.filter(run_id=session.source_run_id).values_list("label", flat=True)),
            }
        )
    )  # fmt: skip


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cockpit.settings")
    import django

    django.setup()
    {"prepare": _prepare, "work": _work, "report": _report}[sys.argv[1]]()
