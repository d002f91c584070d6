"""`make bench`: every case in one process, on a database of its own, one table.

`python -m tests.bench [--full] [part of a name]`; the cases that take minutes run with `--full` only.
"""

import os
import sys
import time

from tests.services.processes import scratch_folder


def main(chosen: str, *, full: bool) -> None:
    os.environ["FORKPOINT_HOME"] = str(scratch_folder("fp-bench-"))
    os.environ["DJANGO_SETTINGS_MODULE"] = "cockpit.settings"
    import django

    django.setup()
    from django.core.management import call_command
    from rich.console import Console
    from rich.table import Table

    from diffing.content import embeddings
    from tests.bench.cases import CASES, Case

    def verdict(case: Case, measured: float) -> tuple[str, str]:
        """How many times better than the bar, and whether it is reached."""
        if case.bar is None:
            return "", "no bar"
        ratio = case.bar / measured if case.kind == "at_most" else measured / case.bar
        return f"{ratio:.2f}", "[green]reached[/]" if ratio >= 1 else "[bold red]missed[/]"

    call_command("migrate", verbosity=0)
    table = Table("what", "measured", "bar", "ratio", "verdict", title=f"{os.cpu_count()} cores, SQLite")
    for case in CASES:
        if chosen not in case.what or (case.takes_minutes and not full):
            continue
        if case.embeds and not embeddings.is_installed():
            print(f"{case.what}: needs the extra `semantic`", file=sys.stderr)
            continue
        began = time.perf_counter()
        measured = case.measure()
        print(f"{case.what}: {measured:,.2f} {case.unit} ({time.perf_counter() - began:.1f} s)", file=sys.stderr)
        bar = f"{'≤' if case.kind == 'at_most' else '≥'} {case.bar:,g} {case.unit}" if case.bar else ""
        table.add_row(case.what, f"{measured:,.2f} {case.unit}", bar, *verdict(case, measured))
    Console(width=110).print(table)


if __name__ == "__main__":
    given = [each for each in sys.argv[1:] if each != "--full"]
    main(given[0] if given else "", full="--full" in sys.argv)
