"""`make bench`: run every case in one process, on an own database, and print one table.

`python -m tests.bench [--full] [part of a name]`. Cases that take minutes run only with `--full`.
`python -m tests.bench scale --help`: the REST API at 100,000 runs.
"""

import os
import sys
import time

from tests.bench.scale import __main__ as scale
from tests.services.processes import scratch_folder


def main(name_part: str, *, full: bool) -> None:
    os.environ["FORKPOINT_HOME"] = str(scratch_folder("fp-bench-"))
    os.environ["DJANGO_SETTINGS_MODULE"] = "cockpit.settings"
    import django

    django.setup()
    from django.core.management import call_command
    from rich.console import Console
    from rich.table import Table

    from diffing.content import embeddings
    from tests.bench.case import Case
    from tests.bench.cases import CASES

    def verdict(case: Case, value: float) -> tuple[str, str]:
        """Return how many times better than the bar the value is, and whether it reaches the bar."""
        if case.bar is None:
            return "", "no bar"
        ratio = case.bar / value if case.kind == "at_most" else value / case.bar
        return f"{ratio:.2f}", "[green]reached[/]" if ratio >= 1 else "[bold red]missed[/]"

    call_command("migrate", verbosity=0)
    table = Table("case", "measured", "bar", "ratio", "verdict", title=f"{os.cpu_count()} cores, SQLite")
    for case in CASES:
        if name_part not in case.name or (case.takes_minutes and not full):
            continue
        if case.embeds and not embeddings.is_installed():
            print(f"{case.name}: needs the extra `semantic`", file=sys.stderr)
            continue
        start = time.perf_counter()
        value = case.measure()
        print(f"{case.name}: {value:,.2f} {case.unit} ({time.perf_counter() - start:.1f} s)", file=sys.stderr)
        bar = f"{'≤' if case.kind == 'at_most' else '≥'} {case.bar:,g} {case.unit}" if case.bar else ""
        table.add_row(case.name, f"{value:,.2f} {case.unit}", bar, *verdict(case, value))
    Console(width=110).print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["scale"]:
        scale.main(sys.argv[2:])
        sys.exit()
    arguments = [argument for argument in sys.argv[1:] if argument != "--full"]
    main(arguments[0] if arguments else "", full="--full" in sys.argv)
