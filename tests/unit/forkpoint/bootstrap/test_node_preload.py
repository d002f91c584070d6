"""`--freeze` in Node: the recorded clock, and random numbers and ids from a seed."""

import os
import subprocess
from pathlib import Path

from forkpoint.bootstrap.node_preload import node_preload

ROOT = Path(__file__).parents[4]
DRAWS = """
import { randomBytes, randomFillSync, randomInt, randomUUID } from "node:crypto";
import { Worker } from "node:worker_threads";
const numbers = crypto.getRandomValues(new Uint32Array(2));
console.log(Math.random(), randomUUID(), crypto.randomUUID(), numbers.join(), randomInt(5, 9e9));
console.log(randomBytes(4).toString("hex"));
console.log(randomFillSync(new Uint16Array(3), 1).join());
const bytes = (size) => new Promise((resolve) => randomBytes(size, (_, view) => resolve(view.toString("hex"))));
console.log((await Promise.all([bytes(9), bytes(1)])).join());
new Worker("console.log(crypto.randomUUID())", { eval: true });
"""
CLOCK = """
class Later extends Date {}
const [now, later] = [new Date(), new Later()];
console.log(now.toISOString().slice(0, 15), later instanceof Later, now.constructor === Date, Date().slice(0, 15));
console.log(Date.now() - now < 60_000, new Date(0).getTime(), Date.UTC(2026, 0), typeof structuredClone(now).getTime());
const start = Date.now();
await new Promise((resolve) => setTimeout(resolve, 20));
console.log(Date.now() - start > 10);
"""


def run_node(program: str, **variables: str) -> list[str]:
    environment = {**os.environ, "NODE_OPTIONS": "--no-deprecation", "TZ": "UTC", **variables}
    command: list[str | Path] = [ROOT / "scripts/with-node", "node", "--input-type=module", "-e", program]
    result = subprocess.run(
        command, env={**environment, **node_preload(environment)}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    output: str = result.stdout
    return output.splitlines()


def test_draws_of_a_seed_are_the_same_each_time() -> None:
    recorded_lines = run_node(DRAWS, FORKPOINT_SEED="run-1")
    assert run_node(DRAWS, FORKPOINT_FREEZE="2026-03-01T10:00:00+00:00 run-1") == recorded_lines
    assert not set(run_node(DRAWS, FORKPOINT_SEED="run-2")) & set(recorded_lines)
    first_line, *_, id_of_thread = recorded_lines
    # The first element of the view is not filled.
    assert (recorded_lines[2].partition(",")[0], id_of_thread in first_line) == ("0", False)
    assert run_node(DRAWS) != run_node(DRAWS)


def test_clock_starts_with_the_recording_and_goes_on() -> None:
    lines = run_node(CLOCK, FORKPOINT_FREEZE="2001-02-03T10:00:00+00:00 run-1")
    assert lines == ["2001-02-03T10:0 true true Sat Feb 03 2001", "true 0 1767225600000 number", "true"]


def test_options_of_the_user_stay() -> None:
    options = node_preload({"NODE_OPTIONS": "--max-old-space-size=100"})["NODE_OPTIONS"]
    assert options.startswith("--max-old-space-size=100 --require=")
