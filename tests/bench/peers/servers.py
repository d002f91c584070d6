"""Servers to compare: how each is installed, started, and asked for the number of spans that can be queried."""

import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.clients.environments import ROOT, build_environment
from tests.services.processes import free_port, start, stop
from tests.services.server import Server

_ENVIRONMENTS: Final = ROOT / ".make/peers"
# For queries of a server that is busy with its backlog.
_QUERY_S: Final = 300
_PAGE: Final = 200


class TraceServer(ABC):
    """One running server with its own home; stops at the end of the `with` block."""

    name: str
    headers: Mapping[str, str] = {}

    def __init__(self, home: Path) -> None:
        self.home = home
        self.url = ""
        self.pid = 0

    @abstractmethod
    def __enter__(self) -> "TraceServer": ...

    @abstractmethod
    def __exit__(self, *_: object) -> None: ...

    @abstractmethod
    def count_spans(self) -> int:
        """Return the number of spans that the server's own API reports."""

    def ask(self, method: str, path: str, **options: Any) -> Any:
        response = httpx2.request(method, f"{self.url}{path}", timeout=_QUERY_S, trust_env=False, **options)
        return response.raise_for_status().json()


class Forkpoint(TraceServer):
    """`forkpoint serve` with its defaults, which include the detection of secrets."""

    name = "Forkpoint"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._server = Server(home, "--no-demo")
        # Of each run that the list has shown.
        self._steps: dict[str, int] = {}

    def __enter__(self) -> "Forkpoint":
        self._server.start()
        self.url, self.pid = self._server.url, self._server.pid
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def count_spans(self) -> int:
        """Add up the steps of all runs in the list, which counts the newest revision of each.

        Other servers answer with one number, and a page takes 30 ms of processor time. So only the beginning of the
        list is read, up to a page that is known; all of it, once its beginning is known.
        """
        cursor, has_news = "", False
        while True:
            page = self.ask("GET", "/api/v1/runs", params={"limit": _PAGE, "cursor": cursor})
            steps = {run["external_id"]: int(run["steps"]) for run in page["runs"]}
            is_known = steps.items() <= self._steps.items()
            self._steps |= steps
            if page["next"] is None or (has_news and is_known):
                return sum(self._steps.values())
            has_news = has_news or not is_known
            cursor = page["next"]


class Peer(TraceServer):
    """A server of another project, in its own environment."""

    requirement: str
    health: str
    variables: Mapping[str, str] = {}

    @classmethod
    def install(cls) -> Path:
        """Return the folder of its programs."""
        return build_environment(_ENVIRONMENTS, cls.name, (cls.requirement,)).parent

    @abstractmethod
    def command(self, port: int) -> tuple[str, ...]: ...

    def __enter__(self) -> "Peer":
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.home.mkdir()
        program, *arguments = self.command(port)
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), **self.variables, **self.addresses(port)}
        self._process = start(
            [self.install() / program, *arguments],
            is_ready=self._is_ready,
            stop_signal=signal.SIGTERM,
            log=self.home.with_suffix(".log"),
            env=environ,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
        )
        self.pid = self._process.pid
        return self

    def __exit__(self, *_: object) -> None:
        stop(self._process, signal.SIGTERM)

    def addresses(self, port: int) -> dict[str, str]:
        """Return the environment variables that contain the port or the home."""
        return {}

    def _is_ready(self) -> bool:
        try:
            return httpx2.get(f"{self.url}{self.health}", timeout=5, trust_env=False).is_success
        except httpx2.HTTPError:
            return False


class Phoenix(Peer):
    """Acknowledges spans when they are in a queue in memory, and stores them afterwards."""

    name = "Phoenix"
    requirement = "arize-phoenix==20.26.1"
    health = "/healthz"
    variables = {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }

    def command(self, port: int) -> tuple[str, ...]:
        return "phoenix", "serve"

    def addresses(self, port: int) -> dict[str, str]:
        return {
            "PHOENIX_PORT": str(port),
            "PHOENIX_GRPC_PORT": str(free_port()),
            "PHOENIX_WORKING_DIR": str(self.home),
        }

    def count_spans(self) -> int:
        answer = self.ask("POST", "/graphql", json={"query": "{projects{edges{node{recordCount}}}}"})
        return sum(int(edge["node"]["recordCount"]) for edge in answer["data"]["projects"]["edges"])


class MLflow(Peer):
    """The tracking server with its default of four worker processes, without the processes that run scorers."""

    name = "MLflow"
    requirement = "mlflow==3.17.2"
    health = "/health"
    headers = {"x-mlflow-experiment-id": "0"}
    variables = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}

    def command(self, port: int) -> tuple[str, ...]:
        store = f"sqlite:///{self.home / 'mlflow.db'}"
        return "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--backend-store-uri", store

    def count_spans(self) -> int:
        query = {
            "experiment_ids": ["0"],
            "view_type": "SPANS",
            "metric_name": "span_count",
            "aggregations": [{"aggregation_type": "COUNT"}],
        }
        points = self.ask("POST", "/api/3.0/mlflow/traces/metrics", json=query).get("data_points", [])
        return sum(int(point["values"]["COUNT"]) for point in points)


class Timetravel(Peer):
    name = "agent-timetravel"
    requirement = "agent-timetravel==0.2.5"
    health = "/healthz"

    def command(self, port: int) -> tuple[str, ...]:
        return "agent-timetravel", "serve", "--port", str(port), "--db", str(self.home / "timetravel.db")

    def count_spans(self) -> int:
        spans, offset = 0, 0
        while True:
            page = self.ask("GET", "/api/v1/traces", params={"limit": _PAGE, "offset": offset})
            spans += sum(int(trace["span_count"]) for trace in page["items"])
            offset += _PAGE
            if offset >= page["total"]:
                return spans


PEERS: Final[tuple[type[Peer], ...]] = (Phoenix, MLflow, Timetravel)
