"""Print the CPU time per span that each stage of an OTLP import takes, and the design's floor.

`python -m tests.bench.ingest [small|long] [--runs N] [--calls]`. With `--calls`, it prints the calls of functions per
span instead, in Python and in C: they are the same on a busy machine, and most of the time goes to them. The floor is
decoding every attribute plus one plain INSERT per span.
"""

import argparse
import os
import resource

from tests.services.processes import scratch_folder


def main(name: str, runs: int | None, *, counts_calls: bool) -> None:
    home = scratch_folder("fp-ingest-")
    os.environ["FORKPOINT_HOME"] = str(home)
    os.environ["DJANGO_SETTINGS_MODULE"] = "cockpit.settings"
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from tests.bench.ingest.floor import floor
    from tests.bench.ingest.stages import Stages, call_clock, import_all
    from tests.bench.ingest.workloads import requests, workload
    from traces.redaction.secrets import secret_detector

    call_command("migrate", verbosity=0)
    # Compiled once per process.
    secret_detector()
    load = workload(name, runs)
    stages = Stages()
    if counts_calls:
        with call_clock() as clock:
            stages.clock = clock
            import_all(requests(load), stages)
        for stage, calls in stages.seconds.items():
            print(f"  {stage:<12} {calls / stages.spans:9,.0f} calls per span")
        print(f"  {'all stages':<12} {sum(stages.seconds.values()) / stages.spans:9,.0f} calls per span")
        return
    import_all(requests(load), stages)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    stages.seconds["floor"] = floor(requests(load), home / "floor.sqlite3")
    print(f"{name}: {load.runs} runs, {stages.spans} spans, {stages.size / 2**20:,.0f} MiB")
    total = 0.0
    for stage, seconds in stages.seconds.items():
        print(f"  {stage:<12} {seconds / stages.spans * 1e6:9,.0f} us of CPU per span")
        total += 0 if stage == "floor" else seconds
    print(f"  {'all stages':<12} {total / stages.spans * 1e6:9,.0f} us of CPU per span")
    stored = sum(file.stat().st_size for file in home.rglob("*") if file.is_file() and "floor" not in file.name)
    print(f"  {memory} MiB of memory at most; stored {stored / stages.size:.1%} of what came in")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", choices=("small", "long"), nargs="?", default="small")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--calls", action="store_true")
    arguments = parser.parse_args()
    main(arguments.workload, arguments.runs, counts_calls=arguments.calls)
