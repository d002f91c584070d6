"""The runs that a server has recorded, over its REST interface."""

from dataclasses import dataclass
from typing import Any

import httpx2

from tests.support.patience import wait_until


@dataclass(frozen=True, kw_only=True)
class RecordedTrace:
    """A sealed run with its steps in full."""

    run: dict[str, Any]
    steps: list[dict[str, Any]]
    judgements: list[dict[str, Any]]

    def of_type(self, type: str) -> list[dict[str, Any]]:
        return [step for step in self.steps if step["type"] == type]


@dataclass(frozen=True, kw_only=True)
class RecordingServer:
    """A server to which agents send what they do."""

    server_url: str

    def recorded(self, external_id: str, *, judgements: int = 0) -> RecordedTrace:
        """Return a run that has ended, once it has so many judgements."""

        def summary() -> dict[str, Any] | None:
            response = httpx2.get(f"{self.server_url}/api/v1/runs/{external_id}")
            return response.json() if response.status_code == 200 and response.json()["status"] != "running" else None

        run = wait_until(summary, 30, lambda: external_id)
        statements = wait_until(lambda: self._judgements(run["id"], judgements), 30)
        listing = self._get(f"runs/{run['id']}/steps")["steps"]
        steps = [self._get(f"runs/{run['id']}/steps/{step['sequence_no']}") for step in listing]
        return RecordedTrace(run=run, steps=steps, judgements=statements[0])

    def replay(self, trace: RecordedTrace) -> str:
        """Replay a run without changes, once it is sealed; return the status of the session."""
        return str(self.replay_session(trace)["status"])

    def replay_session(self, trace: RecordedTrace) -> dict[str, Any]:
        """Replay a run without changes, once it is sealed; return the session when it has ended."""

        def start() -> Any:
            response = httpx2.post(f"{self.server_url}/api/v1/replays", json={"run": trace.run["id"]})
            return response.json() if response.status_code < 300 else None

        session = wait_until(start, 30)

        def end() -> dict[str, Any] | None:
            view: dict[str, Any] = self._get(f"replays/{session['id']}")
            return None if view["status"] in ("pending", "running") else view

        return wait_until(end, 60)

    def _judgements(self, run_id: str, count: int) -> list[list[dict[str, Any]]]:
        items = self._get(f"runs/{run_id}/judgements")["judgements"]
        return [items] if len(items) >= count else []

    def _get(self, path: str) -> Any:
        return httpx2.get(f"{self.server_url}/api/v1/{path}").raise_for_status().json()
