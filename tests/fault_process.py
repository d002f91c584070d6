"""Replays in processes of their own, on a store of their own: `python -m tests.fault_process prepare|work|report`."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

ENTRIES = [{"match": {"type": "model"}, "prompt": {"system": "Be brief."}}]
TURNS = 8
_SESSIONS = "TEST_SESSIONS"
_STATUSES = "SELECT status FROM replay_replaysession"


def environment(
    home: Path, base_url: str, *, sessions: int = 1, services: dict[str, str] | None = None
) -> dict[str, str]:
    """Embedded, whatever shape the tests themselves run in; `services` make it distributed."""
    kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    provider = {"desk": {"protocol": "openai", "base_url": f"{base_url}/v1"}}
    own = {"FORKPOINT_HOME": str(home), "FORKPOINT_PROVIDERS": json.dumps(provider), _SESSIONS: str(sessions)}
    return {**kept, **own, **(services or {})}


def start(command: str, env: dict[str, str]) -> "subprocess.Popen[bytes]":
    quiet = subprocess.DEVNULL
    return subprocess.Popen(_arguments(command), env=env, start_new_session=True, stdout=quiet, stderr=quiet)


class Nursery:
    """Workers that start at once, each a process of its own, because Python and Django are loaded only once."""

    def __init__(self, env: dict[str, str]) -> None:
        self._parent = subprocess.Popen(_arguments("nurse"), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def start(self) -> int:
        """The process id of a new worker."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(b"start\n")
        self._parent.stdin.flush()
        return int(self._parent.stdout.readline())

    def close(self) -> None:
        self._parent.kill()
        self._parent.communicate()


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a worker with all its processes, as a machine that loses power does."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def ask(command: str, env: dict[str, str]) -> Any:
    """What a command printed as JSON."""
    done = subprocess.run(_arguments(command), env=env, stdout=subprocess.PIPE, timeout=120, check=True)
    return json.loads(done.stdout)


def unfinished(env: dict[str, str]) -> int:
    """How many sessions have not ended, read beside whoever works on them."""
    if url := env.get("DATABASE_URL"):
        with psycopg.connect(url) as server:
            rows = server.execute(_STATUSES).fetchall()
    else:
        with closing(sqlite3.connect(Path(env["FORKPOINT_HOME"]) / "forkpoint.sqlite3", timeout=20)) as database:
            rows = database.execute(_STATUSES).fetchall()
    return sum(status in {"pending", "running"} for (status,) in rows)


def lost_or_repeated(reports: list[Any], asked: Counter[str]) -> list[str]:
    """What a killed worker broke, in words: nothing, if replays are durable. `asked` counts requests by question."""
    found = []
    for index, report in enumerate(reports):
        if not report["status"].startswith("completed"):
            found.append(f"session {index} is {report['status']}: {report['error']}")
        numbers = [int(line.split()[0]) for line in report["steps"]]
        if numbers != list(range(1, len(report["source"]) + 1)):
            found.append(f"session {index} has the steps {numbers}")
        tried = Counter(number for number, _, _ in report["attempts"])
        succeeded = Counter(number for number, _, status in report["attempts"] if status == "succeeded")
        if len(succeeded) != TURNS or set(succeeded.values()) != {1}:
            found.append(f"session {index}: the calls succeeded {dict(succeeded)} times")
        last = {number: status for number, _, status in report["attempts"]}
        if set(last.values()) != {"succeeded"}:
            found.append(f"session {index}: a call was made again after it had succeeded")
        # A worker may die between storing that it will call and calling, so that fewer requests than attempts come.
        requests = sum(asked[question(index, turn)] for turn in range(1, TURNS + 1))
        if not TURNS <= requests <= sum(tried.values()):
            found.append(f"session {index}: {requests} requests for {sum(tried.values())} attempts")
    return found


def question(session: int, turn: int) -> str:
    return f"Question {turn}?" if session == 0 else f"Question {turn} of customer {session}?"


def _arguments(command: str) -> list[str]:
    return [sys.executable, "-m", "tests.fault_process", command]


def _prepare() -> None:
    """A database with runs of eight turns, and a session of each that waits for a worker."""
    from django.core.management import call_command

    from replay import preflight, services
    from tests.replay_runs import Says, order_desk
    from traces.services import record

    call_command("migrate", verbosity=0)
    for index in range(int(os.environ[_SESSIONS])):
        conversation = [(question(index, turn), (Says(f"Recorded answer {turn}."),)) for turn in range(1, TURNS + 1)]
        run_id = record(order_desk(conversation, external_id=f"desk-{index}")).run_id
        body: Any = {"run": str(run_id), "fork_step": 2, "overrides": {"overrides": ENTRIES}}
        services.launch(preflight.parse(body))
    print("null")


def _work() -> None:
    """A real Celery worker, which first takes over what another one left."""
    from django.conf import settings

    from replay import services

    if not settings.EMBEDDED:
        services.requeue_unfinished()
        os.execv(sys.executable, [sys.executable, "-m", "celery", "-A", "cockpit", "worker", "-c", "2", "-l", "ERROR"])
    _in_threads()


def _nurse() -> None:
    """Fork a worker for every line that comes."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead, so that they leave no zombies
    for _ in sys.stdin.buffer:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _in_threads()
        print(child, flush=True)


def _in_threads() -> None:
    """A Celery worker in threads of this process, on whichever broker there is."""
    from cockpit.embedded import EmbeddedWorker
    from replay import services

    EmbeddedWorker().start()
    services.requeue_unfinished()
    time.sleep(300)
    os._exit(0)


def _report() -> None:
    from replay.models import Attempt, ReplaySession
    from traces.models import Step

    found = []
    for session in ReplaySession.objects.order_by("created_at"):
        steps = Step.objects.filter(run=session.run).order_by("sequence_no") if session.run else Step.objects.none()
        attempts = Attempt.objects.filter(session=session).order_by("id")
        found.append(
            {
                "status": session.status, "error": session.error, "live_calls": session.live_calls,
                "steps": [f"{step.sequence_no} {step.type} {step.label} {step.summary}" for step in steps],
                "attempts": list(attempts.values_list("sequence_no", "attempt", "status")),
                "source": list(Step.objects.filter(run_id=session.source_run_id).values_list("label", flat=True)),
            }
        )  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cockpit.settings")
    import django

    django.setup()
    {"prepare": _prepare, "work": _work, "nurse": _nurse, "report": _report}[sys.argv[1]]()
