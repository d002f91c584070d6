"""The demo data of a fresh server, read over REST."""

import json
import urllib.request
from functools import cached_property
from typing import Any, ClassVar

from tests.support.patience import patience_s, wait_until

LOADED_LIMIT_S = 60


class Demo:
    """The failed run, the fork that fixes it, and their diff. An experiment and a bisection run when asked for."""

    KEYS: ClassVar[dict[str, str]] = {"help": "?", "palette": "Control+k"}

    def __init__(self, url: str) -> None:
        self._url = url
        self.session = self._finished_session()
        wait_until(self._has_runner, LOADED_LIMIT_S)
        self.failed_run: str = self.session["source_run"]

    def path(self, screen: str) -> str:
        diff, fork = self.session["diff"], self.session["fork_sequence_no"]
        match screen:
            case "experiment":
                return f"/experiments/{self._experiment}"
            case "bisection":
                return f"/bisections/{self._bisection}"
            case "share":
                return self._share("diff", diff)
            case "shared run" | "shared tree":
                return self._share(screen.removeprefix("shared "), self.failed_run)
            case "shared replay":
                return self._share("replay", self.session["id"])
        paths = {
            "run": f"/runs/{self.failed_run}",
            "step": f"/runs/{self.failed_run}?step={fork}",
            "tree view": f"/runs/{self.failed_run}?view=tree",
            "timeline": f"/runs/{self.failed_run}?view=timeline",
            "graph": f"/runs/{self.failed_run}?view=graph",
            "fork": f"/runs/{self.failed_run}?step={fork}&fork={fork}",
            "activity": "/activity",
            "replay": f"/replays/{self.session['id']}",
            "diff": f"/diffs/{diff}",
            "compare": "/compare",
            "tools": "/tools",
            "connect": "/connect",
            "runners": "/settings/runners",
            "hooks": "/settings/hooks",
            "redaction": "/settings/redaction",
            "matching": "/settings/matching",
            "settings": "/settings",
            "new experiment": f"/experiments/new?run={self.failed_run}&step={fork}",
            "outcomes": "/settings/outcomes?app=order-desk",
            "retention": "/settings/retention",
            "tree": f"/tree/{self.failed_run}",
            "report file": f"/api/v1/diffs/{diff}?format=html",
            "tour": "/tour",
            "login": "/login",
        }
        return paths.get(screen, "/")

    def url(self, screen: str) -> str:
        return self._url + self.path(screen)

    def ask(self, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/api/v1{path}", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=patience_s(30)) as response:
            return json.load(response)

    def wait_for_end(self, session: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            view: dict[str, Any] = self.ask(f"/replays/{session}")
            return view if view["ended_at"] and view["status"] not in ("pending", "running") else None

        return wait_until(look, LOADED_LIMIT_S)

    def _finished_session(self) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            sessions: list[dict[str, Any]] = self.ask("/replays")["sessions"]
            return next((session for session in sessions if session["diff"]), None)

        return wait_until(look, LOADED_LIMIT_S)

    def _has_runner(self) -> bool:
        """Return whether forks run the agent by themselves."""
        return any(runner["state"] == "online" for runner in self.ask("/runners?app=order-desk")["runners"])

    @cached_property
    def _bisection(self) -> str:
        """Run a bisection with the large model, and a control replay for the diff."""
        large = [{"match": {"type": "model"}, "model": {"model": "desk-large-1"}}]
        body = {
            "checks": [{"kind": "contains", "text": "42.00 EUR"}],
            "overrides": {"overrides": large},
            "samples": 1,
            "reproduce": 1,
            "confirm": 1,
        }
        bisection: str = self.ask(f"/runs/{self.failed_run}/bisect", body)["id"]
        lane = f"/diffs/{self.session['diff']}/unchanged"
        self.ask(lane, {})
        wait_until(
            lambda: self.ask(f"/bisections/{bisection}")["status"] == "completed" and self.ask(lane)["attached"],
            LOADED_LIMIT_S,
        )
        return bisection

    @cached_property
    def _experiment(self) -> str:
        """Run an experiment: both demo models, with and without the sentence that fixes the run."""
        models = [
            {"name": name, "overrides": [{"match": {"type": "model"}, "model": {"model": name}}]}
            for name in ("desk-small-1", "desk-large-1")
        ]
        overrides = self.session["overrides"]["overrides"]
        sparse = [{"match": {"type": "model"}, "prompt": {"system": entry["prompt"]["system"]}} for entry in overrides]
        prompts = [{"name": "as recorded"}, {"name": "units stated", "overrides": sparse}]
        axes = [{"name": "model", "values": models}, {"name": "prompt", "values": prompts}]
        body = {
            "run": self.failed_run,
            "fork_step": self.session["fork_sequence_no"],
            "axes": axes,
            "name": "Units",
            "checks": [{"kind": "contains", "text": "42.00 EUR"}],
        }
        experiment: str = self.ask("/experiments", body)["id"]
        wait_until(
            lambda: all(row["ars"] is not None for row in self.ask(f"/experiments/{experiment}")["results"]),
            LOADED_LIMIT_S,
        )
        return experiment

    def _share(self, kind: str, subject: str) -> str:
        link = self.ask("/shares", {"kind": kind, "subject": subject, "expires_in_s": 3600})
        url: str = link["url"]
        return "/" + url.removeprefix(self._url).lstrip("/")
