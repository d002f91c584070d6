"""`python -m tests.bench.attribution`: accuracy of the product's attribution, as tables and as a JSON file.

`--page` writes the benchmark page of the docs; use it with the full size and a data folder.
"""

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

import django
import orjson
from rich.console import Console
from rich.table import Table as RichTable

DATA = "FORKPOINT_BENCH_DATA"
# Levels and verdicts are enums, also as keys.
_JSON_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS


def main() -> None:
    # The product's modules define Django models, which cannot be imported before the setup.
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cockpit.settings")
    django.setup()
    from tests.bench.attribution import page
    from tests.bench.attribution.program_sets import SETS
    from tests.bench.attribution.results import SIZES, measure
    from tests.bench.attribution.tables import tables

    arguments = _arguments(sizes=tuple(SIZES), programs=tuple(SETS))
    start = time.process_time()
    results = measure(
        arguments.size, arguments.tracks, data=arguments.data, jobs=arguments.jobs, programs=arguments.programs
    )
    console = Console(width=170)
    for table in tables(results):
        rich_table = RichTable(*table.head, title=table.title)
        for row in table.rows:
            rich_table.add_row(*(cell.replace("**", "") for cell in row))
        console.print(rich_table)
    console.print(f"{time.process_time() - start:.1f} s of processor time in this process; {arguments.jobs} processes")
    if arguments.json:
        arguments.json.write_bytes(orjson.dumps(results.as_json(), option=_JSON_OPTIONS))
    if arguments.page:
        arguments.page.write_text(page.render(results), encoding="utf-8")


def _arguments(*, sizes: Sequence[str], programs: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.attribution", description=__doc__)
    parser.add_argument("--size", choices=sizes, default="slice")
    parser.add_argument("--tracks", default="aupbcde", help="letters of the tracks to run")
    parser.add_argument("--programs", choices=programs, help="run only this set of programs of track P")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get(DATA), help=f"folder of real recordings (or {DATA})"
    )
    parser.add_argument("--json", type=Path, help="file for everything that was measured")
    parser.add_argument("--page", type=Path, help="file for the tables as Markdown")
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
