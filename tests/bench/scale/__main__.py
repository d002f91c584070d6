"""`python -m tests.bench scale`: load runs into a database, and measure the REST API on it.

`--runs`, `--steps-per-run` and `--database` choose what is loaded. With `--keep FOLDER` the database stays there, and
the next call measures it again without loading.
"""

import argparse
import os
import sys
from pathlib import Path

from tests.services import postgres
from tests.services.processes import scratch_folder

MARK = "loaded"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench scale", description=__doc__)
    parser.add_argument("--runs", type=int, default=5_000)
    parser.add_argument("--steps-per-run", type=int, default=100)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--only", default="", help="part of a query's name")
    parser.add_argument("--combinations", type=int, metavar="N", help="measure every Nth pair of the list's filters")
    options = parser.parse_args(arguments)
    folder = options.keep.absolute() if options.keep else scratch_folder("fp-scale-")
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["FORKPOINT_HOME"] = str(folder / "home")
    os.environ["DJANGO_SETTINGS_MODULE"] = "cockpit.settings"
    if options.database == "postgresql":
        os.environ["DATABASE_URL"] = postgres.stored_server(folder).url
    import django

    django.setup()
    from django.core.management import call_command

    from tests.bench.scale.combinations import measure_combinations
    from tests.bench.scale.latency import measure_all
    from tests.bench.scale.loader import Loader

    call_command("migrate", verbosity=0)
    if not (folder / MARK).exists():
        Loader(runs=options.runs, steps=options.steps_per_run).load()
        (folder / MARK).touch()
    if options.combinations:
        measure_combinations(options.combinations)
        return
    measure_all(samples=options.samples, name_part=options.only)


if __name__ == "__main__":
    main(sys.argv[1:])
