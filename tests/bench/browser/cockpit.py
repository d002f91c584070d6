"""A server with the demo and long runs, and pages of it in new browser profiles without a cache."""

import atexit
import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from io import BytesIO
from typing import Any, Final

from playwright.sync_api import Page, sync_playwright

from tests.bench.recordings import STEPS_PER_CUSTOMER, desk
from tests.browser.cockpit import DESK, SLOW_MS, Cockpit
from tests.services import chromium
from tests.services.processes import scratch_folder
from tests.services.server import Server
from tests.support.patience import patience_ms, patience_s, wait_until
from tests.support.recordings import assistant, model_step, user
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun
from traces.imports import portable_runs
from traces.models import Run
from traces.runs import services

_DEMO_LIMIT_S: Final = 60
_IMPORT_LIMIT_S: Final = 300
# As long as the prompt of a coding agent.
_RULE: Final = "Rule {number}: look the order up, compare it with the policy, and state the amount in euros.\n"
_RULES: Final = 200


@cache
def started_server() -> Server:
    """Start a server, which ends with this process, and wait for its demo."""
    running = Server(scratch_folder("fp-bench-browser-") / "home")
    running.start()
    atexit.register(running.stop)
    wait_until(lambda: any(session["diff"] for session in _ask(running, "/replays")["sessions"]), _DEMO_LIMIT_S)
    return running


def _ask(server: Server, path: str, body: bytes | None = None) -> Any:
    headers = {"Content-Type": "application/octet-stream"}
    request = urllib.request.Request(f"{server.url}/api/v1{path}", body, headers)
    with urllib.request.urlopen(request, timeout=patience_s(_IMPORT_LIMIT_S)) as response:
        return json.load(response)


@cache
def long_run(steps: int) -> str:
    """Import a run whose first prompt is long; return its address on the server."""
    recording = _with_long_prompt(desk(steps // STEPS_PER_CUSTOMER, f"browser-{steps}"))
    bundle = BytesIO()
    portable_runs.export(Run.objects.get(id=services.record(recording).run_id), bundle)
    (imported,) = _ask(started_server(), "/runs/import?filename=run.fpbundle", bundle.getvalue())["runs"]
    return f"/runs/{imported['id']}"


def _with_long_prompt(run: RecordedRun) -> RecordedRun:
    prompt = "".join(_RULE.format(number=number) for number in range(_RULES))
    system: JSONObject = {"role": "system", "content": prompt}
    first = model_step("greet", [system, user("Good morning!")], assistant("Good morning! Which order is it about?"))
    return replace(run, steps=(first, *run.steps))


@contextmanager
def open_browser(*, is_first_visit: bool = False) -> Iterator[Cockpit]:
    """Open an empty page in a new browser."""
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright, chromium.path())
        page: Page = browser.new_page(viewport=DESK)
        yield Cockpit(page, started_server().url, is_first_visit=is_first_visit)
        browser.close()


def settle(page: Page) -> None:
    """Wait until nothing is loaded any more."""
    page.wait_for_load_state("networkidle", timeout=patience_ms(SLOW_MS))
