"""Deployment of the whole product in separate processes, driven over REST while parts are killed."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import httpx2
import psycopg

from tests.faults import desk, process
from tests.faults.verdict import broken
from tests.services.processes import WORKER_OPTIONS, free_port, start, stop
from tests.services.warm_start import CELERY, WarmProcess
from tests.support.patience import patience_s

TAKEOVER_S: Final = 1
# Between two looks at the deployment, each of which costs it requests.
_PAUSE_S: Final = 0.3
_FINAL_STATUSES: Final = ("completed", "failed", "cancelled")
_DEFAULT_ANSWER: Final = {"status": "ok", "action": "answer", "output": {"done": "the operator says"}}


class Deployment:
    """A database, a client of the web server, and workers that can be killed."""

    def __init__(self, env: Mapping[str, str], sessions: int) -> None:
        self.env = {**env, process.SESSIONS: str(sessions)}
        # Begins to load while the database is made.
        self._nursery = Nursery(self.env) if "REDIS_URL" in self.env else None
        preparation = ask("prepare", self.env)
        self._fresh: list[str] = preparation["runs"]
        self.session_ids: list[str] = []
        self.questions = 0
        self.http = httpx2.Client(headers={"authorization": f"Bearer {preparation['token']}"}, timeout=patience_s(10))

    @property
    def nursery(self) -> "Nursery":
        assert self._nursery is not None, "the one process has its worker inside"
        return self._nursery

    def close(self) -> None:
        if self._nursery is not None:
            self._nursery.close()
        self.http.close()

    def launch(self, count: int) -> list[str]:
        """Launch sessions on separate runs; returns their ids."""
        new_ids = []
        for _ in range(count):
            new_ids.append(str(self.post("/replays", desk.request(self.fresh_run()))["id"]))
        self.session_ids += new_ids
        return new_ids

    def fresh_run(self) -> str:
        """Return a recording without sessions."""
        return self._fresh.pop(0)

    def post(self, path: str, body: Any = None) -> Any:
        """Post a request and return the answer."""
        response = self.http.post(f"/api/v1{path}", json=body)
        assert response.status_code in {200, 201}, response.text
        return response.json()

    def get(self, path: str) -> Any:
        return self.http.get(f"/api/v1{path}").json()

    def statuses(self) -> set[str]:
        return {session["status"] for session in self._sessions()}

    def open_sessions(self) -> list[str]:
        """Return sessions that have not ended or are not compared, and answer open questions."""
        sessions = self._sessions()
        for session in sessions:
            if session["status"] == "awaiting_operator":
                self.answer(session)
        return [session["id"] for session in sessions if not _is_over(session)]

    def wait(self, seconds: float) -> float:
        """Wait until all sessions have ended, ignoring server errors; returns the time it took."""
        began = time.monotonic()
        while time.monotonic() < began + patience_s(seconds):
            with contextlib.suppress(AssertionError, httpx2.TransportError):
                if not self.open_sessions():
                    return time.monotonic() - began
            time.sleep(_PAUSE_S)
        raise AssertionError(f"did not end in {patience_s(seconds):.0f} s: {ask('report', self.env)}")

    def broken(self, request_counts: Counter[str]) -> list[str]:
        """Return what is wrong with the launched sessions; experiment rows share request names."""
        return broken(
            [report for report in ask("report", self.env) if report["id"] in self.session_ids], request_counts
        )

    def _sessions(self) -> list[dict[str, Any]]:
        response = self.http.get("/api/v1/replays", params={"limit": 200})
        assert response.status_code == 200, response.text
        return [session for session in response.json()["sessions"] if session["id"] in self.session_ids]

    def answer(self, session: dict[str, Any]) -> None:
        """Answer the session's question like an operator who looked up the outcome."""
        operator_answer = {**_DEFAULT_ANSWER, "sequence_no": session["question"]["sequence_no"]}
        self.http.post(f"/api/v1/replays/{session['id']}/answer", json=operator_answer)
        self.questions += 1


def _is_over(session: dict[str, Any]) -> bool:
    completed = session["status"].startswith("completed")
    return session["diff"] is not None if completed else session["status"].startswith(_FINAL_STATUSES)


def environment(home: Path, base_url: str, services: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment of the processes: embedded, unless `services` are passed."""
    # Processes that recompile everything start slowly.
    foreign = {"DATABASE_URL", "REDIS_URL", "PYTHONDONTWRITEBYTECODE"}
    variables = {name: value for name, value in os.environ.items() if name not in foreign}
    providers = {"desk": {"protocol": "openai", "base_url": f"{base_url}/v1", "timeout_s": 30}}
    return {
        **variables,
        "FORKPOINT_HOME": str(home),
        "FORKPOINT_PROVIDERS": json.dumps(providers),
        "FORKPOINT_TOOLS": json.dumps(desk.tools(base_url)),
        "FORKPOINT_TAKEOVER_S": str(TAKEOVER_S),
        "FORKPOINT_SECRET_KEY": "0123456789abcdef" * 4,
        **(services or {}),
    }


def database_on(server_url: str) -> str:
    """Create an empty database on a PostgreSQL server."""
    name = f"faults_{uuid4().hex[:12]}"
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
    return f"{server_url.rpartition('/')[0]}/{name}"


@contextlib.contextmanager
def web(env: Mapping[str, str], home: Path) -> Iterator[str]:
    """Start a web process as in production; yields its address."""
    with web_process(env, home) as (url, _):
        yield url


@contextlib.contextmanager
def web_process(env: Mapping[str, str], home: Path) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Start a web process as in production; yields its address and the process."""
    port = free_port()

    def answers() -> bool:
        try:
            return httpx2.get(f"http://127.0.0.1:{port}/api/v1/health").status_code == 200
        except httpx2.TransportError:
            return False

    running = start(
        ["from cockpit.serving.web import main; main()"],
        is_ready=answers,
        stop_signal=signal.SIGTERM,
        log=home.with_suffix(".web"),
        env={**env, "FORKPOINT_PORT": str(port)},
        launch=WarmProcess,
    )
    try:
        yield f"http://127.0.0.1:{port}", running
    finally:
        stop(running, signal.SIGTERM)


@contextlib.contextmanager
def celery(env: Mapping[str, str], home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Start `celery -A cockpit worker` as in production: a process that forks others."""
    running = start(
        # In a session of its own, because a terminal interrupts all processes of one.
        [f"import os; os.setsid(); {CELERY}", "-A", "cockpit", "worker", "-c", "2", "-l", "WARNING", *WORKER_OPTIONS],
        is_ready=lambda: True,
        stop_signal=signal.SIGTERM,
        log=home.with_suffix(".celery"),
        env=env,
        launch=WarmProcess,
    )
    try:
        yield running
    finally:
        stop(running, signal.SIGTERM)


class Nursery:
    """Starts workers quickly: each is forked from a process that has loaded Python and Django."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._parent = WarmProcess([process.PROGRAM, "nurse"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._alive: set[int] = set()

    def start(self) -> int:
        """Start a worker and return its process id."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(b"start\n")
        self._parent.stdin.flush()
        worker = int(self._parent.stdout.readline())
        self._alive.add(worker)
        return worker

    def kill(self, worker: int) -> None:
        """Kill a process with SIGKILL, like the kernel's OOM killer."""
        os.kill(worker, signal.SIGKILL)
        self._alive.discard(worker)

    def clear(self) -> None:
        for worker in list(self._alive):
            self.kill(worker)

    def close(self) -> None:
        self.clear()
        self._parent.kill()
        self._parent.communicate()


def ask(command: str, env: Mapping[str, str]) -> Any:
    """Run a command and parse its JSON output."""
    with WarmProcess([process.PROGRAM, command], env=env, stdout=subprocess.PIPE) as running:
        out, _ = running.communicate(timeout=120)
    assert running.returncode == 0, command
    return json.loads(out.splitlines()[-1])


def wait_until(happens: Callable[[], object], seconds: float = 40, step: float = _PAUSE_S) -> None:
    start = time.monotonic()
    while not happens():
        if (elapsed_s := time.monotonic() - start) > patience_s(seconds):
            raise AssertionError(f"it did not happen in {elapsed_s:.0f} s")
        time.sleep(step)
