"""`python -m tests.bench.attribution`: how right the product's causes are, as tables and as a JSON file.

The full size with a data folder also writes the page in the docs.
"""

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

import django
import orjson
from rich.console import Console
from rich.table import Table as Shown

DATA = "FORKPOINT_BENCH_DATA"


def main() -> None:
    # The product's modules define Django models, which cannot be imported before the setup.
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cockpit.settings")
    django.setup()
    from tests.bench.attribution import page, track_p
    from tests.bench.attribution.results import SIZES, measure
    from tests.bench.attribution.tables import tables

    given = _arguments(sizes=tuple(SIZES), programs=tuple(track_p.SETS))
    began = time.process_time()
    results = measure(given.size, given.tracks, data=given.data, jobs=given.jobs, programs=given.programs)
    console = Console(width=170)
    for table in tables(results):
        shown = Shown(*table.head, title=table.title)
        for row in table.rows:
            shown.add_row(*(cell.replace("**", "") for cell in row))
        console.print(shown)
    console.print(f"{time.process_time() - began:.1f} s of processor time in this process, {given.jobs} at work")
    if given.json:
        given.json.write_bytes(orjson.dumps(results.as_json(), option=orjson.OPT_INDENT_2))
    if given.page:
        given.page.write_text(page.written(results), encoding="utf-8")


def _arguments(*, sizes: Sequence[str], programs: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.attribution", description=__doc__)
    parser.add_argument("--size", choices=sizes, default="slice")
    parser.add_argument("--tracks", default="aupbcde", help="letters of the tracks to run")
    parser.add_argument("--programs", choices=programs, help="the one set of programs of track P to run")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get(DATA), help=f"folder of real recordings (or {DATA})"
    )
    parser.add_argument("--json", type=Path, help="file for everything that was measured")
    parser.add_argument("--page", type=Path, help="file for the tables as Markdown")
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
