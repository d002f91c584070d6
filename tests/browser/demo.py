"""What the demo of a fresh server holds, found through the REST interface as any program would."""

import json
import time
import urllib.request
from typing import Any, ClassVar

LOADED_LIMIT_S = 60


class Demo:
    """The failed run, the fork that mends it, and the diff between them."""

    KEYS: ClassVar[dict[str, str]] = {"help": "?", "palette": "Control+k"}

    def __init__(self, url: str) -> None:
        self._url = url
        self.session = self._finished_session()
        self.failed_run = self.session["source_run"]
        self._shared = self._share()
        self.experiment = self._experiment()
        self.bisection = self._bisection()

    def path(self, screen: str) -> str:
        diff, fork = self.session["diff"], self.session["fork_sequence_no"]
        paths = {
            "run": f"/runs/{self.failed_run}",
            "step": f"/runs/{self.failed_run}?step={fork}",
            "fork": f"/runs/{self.failed_run}?step={fork}&fork={fork}",
            "replays": "/replays",
            "replay": f"/replays/{self.session['id']}",
            "diffs": "/diffs",
            "diff": f"/diffs/{diff}",
            "compare": "/compare",
            "tools": "/tools",
            "hooks": "/hooks",
            "settings": "/settings",
            "share": self._shared,
            "experiments": "/experiments",
            "new experiment": f"/experiments/new?run={self.failed_run}&step={fork}",
            "experiment": f"/experiments/{self.experiment}",
            "bisections": "/bisections",
            "bisection": f"/bisections/{self.bisection}",
            "tree": f"/tree/{self.failed_run}",
            "report file": f"/api/v1/diffs/{diff}?format=html",
            "login": "/login",
        }
        return paths.get(screen, "/")

    def url(self, screen: str) -> str:
        return self._url + self.path(screen)

    def ask(self, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/api/v1{path}", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    def wait_for_end(self, session: str) -> dict[str, Any]:
        until = time.monotonic() + LOADED_LIMIT_S
        while time.monotonic() < until:
            found: dict[str, Any] = self.ask(f"/replays/{session}")
            if found["ended_at"] and found["status"] not in ("pending", "running"):
                return found
            time.sleep(0.2)
        raise AssertionError(f"session {session} did not end in time")

    @classmethod
    def finished(cls, url: str) -> dict[str, Any]:
        """The demo's replay at its end, and nothing else of the demo."""
        demo = cls.__new__(cls)
        demo._url = url
        return demo._finished_session()

    def _finished_session(self) -> dict[str, Any]:
        until = time.monotonic() + LOADED_LIMIT_S
        while time.monotonic() < until:
            for session in self.ask("/replays")["sessions"]:
                if session["diff"]:
                    found: dict[str, Any] = session
                    return found
            time.sleep(0.2)
        raise AssertionError("the demo's replay was not there in time")

    def _bisection(self) -> str:
        """Until which step the large model would have helped; and, beside the diff, a replay without the changes."""
        large = [{"match": {"type": "model"}, "model": {"model": "desk-large-1"}}]
        body = {"checks": [{"kind": "contains", "text": "42.00 EUR"}], "overrides": {"overrides": large}, "samples": 1,
                "reproduce": 1, "confirm": 1}  # fmt: skip
        bisection: str = self.ask(f"/runs/{self.failed_run}/bisect", body)["id"]
        lane = f"/diffs/{self.session['diff']}/unchanged"
        self.ask(lane, {})
        until = time.monotonic() + LOADED_LIMIT_S
        while time.monotonic() < until:
            if self.ask(f"/bisections/{bisection}")["status"] == "completed" and self.ask(lane)["attached"]:
                return bisection
            time.sleep(0.2)
        raise AssertionError("the demo's bisection did not end in time")

    def _experiment(self) -> str:
        """Both models of the demo, each with and without the sentence that mends the run."""
        models = [
            {"name": name, "overrides": [{"match": {"type": "model"}, "model": {"model": name}}]}
            for name in ("desk-small-1", "desk-large-1")
        ]
        told = self.session["overrides"]["overrides"]
        sparse = [{"match": {"type": "model"}, "prompt": {"system": entry["prompt"]["system"]}} for entry in told]
        prompts = [{"name": "as recorded"}, {"name": "units told", "overrides": sparse}]
        axes = [{"name": "model", "values": models}, {"name": "prompt", "values": prompts}]
        body = {
            "run": self.failed_run, "fork_step": self.session["fork_sequence_no"], "axes": axes, "name": "Units",
            "checks": [{"kind": "contains", "text": "42.00 EUR"}],
        }  # fmt: skip
        experiment: str = self.ask("/experiments", body)["id"]
        until = time.monotonic() + LOADED_LIMIT_S
        while time.monotonic() < until:
            rows = self.ask(f"/experiments/{experiment}")["results"]
            if all(row["ars"] is not None for row in rows):
                return experiment
            time.sleep(0.2)
        raise AssertionError("the experiment did not end in time")

    def _share(self) -> str:
        url: str = self.ask(f"/diffs/{self.session['diff']}/shares", {"expires_in_s": 3600})["url"]
        return "/" + url.removeprefix(self._url).lstrip("/")
