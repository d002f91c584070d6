"""The whole way of spans on one thread: acknowledged, assembled, stored and sealed, beside the design's floor.

`python -m tests.bench.ingest.arrival [small|long] [--runs N]` prints one line of JSON. It runs in a process of its own,
so that its memory and database are those of the workload alone.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

from tests.services.processes import scratch_folder


@cache
def measure(name: str, runs: int) -> dict[str, Any]:
    """Measure a workload in a new process."""
    command = [sys.executable, "-m", "tests.bench.ingest.arrival", name, "--runs", str(runs)]
    output = subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[3]).stdout
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


def main(name: str, runs: int) -> None:
    home = scratch_folder("fp-arrival-")
    os.environ |= {
        "FORKPOINT_HOME": str(home),
        "FORKPOINT_QUIET_S": "0",
        "DJANGO_SETTINGS_MODULE": "cockpit.settings",
    }
    import django

    django.setup()
    from django.core.management import call_command

    from tests.bench.ingest.floor import floor
    from tests.bench.ingest.stored_bytes import stored_bytes
    from tests.bench.ingest.workloads import requests, workload
    from traces.collectors.otlp import segments
    from traces.importers.otlp.raw_spans import Signal
    from traces.models import Run, Step
    from traces.recordings import arrivals, assembler, segment_redaction
    from traces.redaction_policies.services import redaction_of

    call_command("migrate", verbosity=0)
    # Compiled once per process.
    segment_redaction.redact_data(b"", redaction_of(""))
    load, size, seconds, before = workload(name, runs), 0, 0.0, stored_bytes()
    for body in requests(load):
        size += len(body)
        start = time.process_time()
        arrivals.accept(segments.split(body, Signal.TRACES).segments)
        seconds += time.process_time() - start
    accept_seconds = seconds
    # After the look that collects the batches of one flush.
    time.sleep(0.3)
    start = time.process_time()
    while assembler.work():
        pass
    seconds += time.process_time() - start
    assert Run.objects.filter(sealed_at__isnull=False).count() == load.runs
    spans = Step.objects.count()
    stored = stored_bytes() - before
    floor_seconds = floor(requests(load), home / "floor.sqlite3")
    result = {
        "spans": spans,
        "cpu_us": seconds / spans * 1e6,
        # Until they are acknowledged.
        "accept_us": accept_seconds / spans * 1e6,
        "floor_us": floor_seconds / spans * 1e6,
        "of_floor": floor_seconds / seconds,
        "stored_percent": 100 * stored / size,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", choices=("small", "long"), nargs="?", default="small")
    parser.add_argument("--runs", type=int, default=2_000)
    arguments = parser.parse_args()
    main(arguments.workload, arguments.runs)
