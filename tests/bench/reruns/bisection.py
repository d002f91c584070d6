"""Which answer broke a run: how many reruns and calls find it, beside timefork. tracefork has no such search.

`python -m tests.bench.reruns.bisection [--calls N]`. The model gives one wrong answer while the agent is recorded, and
right ones afterwards. Each tool gets one sample for each rerun.
"""

import argparse
import os
import re
import subprocess
import time
from collections.abc import Callable
from typing import Any, Final

import httpx2
from rich.console import Console
from rich.table import Table

from tests.bench.reruns.__main__ import calls_of, model_server
from tests.bench.reruns.tools import AGENT, Forkpoint, Timefork, Tool, run
from tests.services.processes import scratch_folder
from tests.support.command_line import COMMAND
from tests.support.patience import wait_until

_LIMIT_S: Final = 300
# The place of the wrong answer in the run.
_PLACE: Final = 0.4

# The number of the answer, from 1, and of the reruns that found it.
Finding = tuple[int, int]


def main(calls: int) -> None:
    scratch = scratch_folder("fp-bisect-")
    slip = 1 + int(_PLACE * calls)
    title = f"Answer {slip} of {calls} is wrong, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    table = Table("tool", "found", "reruns", "live calls", "seconds", title=title)
    searches: dict[type[Tool], Callable[[Any, int], Finding]] = {Forkpoint: _by_forkpoint, Timefork: _by_timefork}
    with model_server() as upstream:
        for kind, search in searches.items():
            tool = kind(scratch / kind.name, upstream)
            _set_slip(upstream, slip)
            tool.record(calls)
            _set_slip(upstream, 0)
            before, start = calls_of(upstream), time.perf_counter()
            found, reruns = search(tool, calls)
            duration = time.perf_counter() - start
            table.add_row(kind.name, str(found), str(reruns), str(calls_of(upstream) - before), f"{duration:.1f}")
            tool.stored_bytes()
    Console(width=110).print(table)


def _by_forkpoint(tool: Forkpoint, calls: int) -> Finding:
    """Search with a runner, which starts the agent for each rerun."""
    words = [*COMMAND, "runner", "--app", "bench", "--url", tool.server.url, "--", *AGENT, str(calls)]
    variables = {**os.environ, "FORKPOINT_HOME": str(tool.home / "runner"), "OPENAI_API_KEY": "none"}
    with subprocess.Popen(words, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as runner:
        try:
            wait_until(lambda: _ask(tool, "/runners")["runners"], _LIMIT_S)
            wait_until(lambda: _ask(tool, f"/runs/{tool.run_id}")["sealed"], _LIMIT_S)
            once = {"samples": 1, "reproduce": 1, "confirm": 1}
            body = {"checks": [{"kind": "not_contains", "text": "wrong"}], "engine": "agent", **once}
            id = _ask(tool, f"/runs/{tool.run_id}/bisect", body)["id"]
            wait_until(lambda: _ask(tool, f"/bisections/{id}")["status"] != "running", _LIMIT_S)
            bisection = _ask(tool, f"/bisections/{id}")
        finally:
            runner.terminate()
    # All steps of the run are model calls.
    return bisection["result"]["commit"]["step"]["sequence_no"], bisection["probes"]


def _by_timefork(tool: Timefork, calls: int) -> Finding:
    result = run([tool.program, "bisect", "last", "--", *AGENT, str(calls)], tool.variables, cwd=tool.home)
    found = re.search(r"step (\d+) is where the run became unsalvageable", result.stdout)
    reruns = re.search(r"(\d+) probes", result.stdout)
    assert found, result.stdout
    assert reruns, result.stdout
    return int(found[1]) + 1, int(reruns[1])


def _ask(tool: Forkpoint, path: str, body: Any = None) -> Any:
    method = "GET" if body is None else "POST"
    response = httpx2.request(method, f"{tool.server.url}/api/v1{path}", json=body, trust_env=False)
    assert response.is_success, response.text
    return response.json()


def _set_slip(upstream: str, number: int) -> None:
    httpx2.put(f"{upstream}/slip/{number}", trust_env=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.reruns.bisection",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--calls", type=int, default=40, help="calls of the agent")
    main(parser.parse_args().calls)
