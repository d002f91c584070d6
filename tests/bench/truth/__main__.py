"""`python -m tests.bench.truth --programs N --seed S`: labels of forks against true runs, as a table.

Exits with 1 if a step is called exact that is not, unless docs/labels.md names the kind.
"""

import argparse
import sys
import time

from rich.console import Console
from rich.table import Table

from tests.bench.truth.kinds import KINDS
from tests.bench.truth.measuring import MODES, Results, measure


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.truth", description=__doc__)
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=[*KINDS], default="patterns", help="statements of the programs")
    arguments = parser.parse_args()
    start = time.process_time()
    results = measure(arguments.programs, arguments.seed, arguments.kind)
    console = Console(width=170)
    console.print(_table(results))
    for mode in MODES:
        exact, equal = results.exact[mode], results.equal[mode]
        console.print(f"{mode}: {exact} of {equal} equal steps are exact ({exact / max(equal, 1):.1%})")
    console.print(
        f"{results.programs} programs, {results.refused} of them refused, "
        f"{time.process_time() - start:.1f} s of processor time"
    )
    return 0 if results.is_right else 1


def _table(results: Results) -> Table:
    table = Table("mode", "kind", "named", "programs", "example", title="Wrong labels: first one of each program")
    for (mode, kind, is_named), examples in sorted(results.findings.items(), key=lambda item: -len(item[1])):
        table.add_row(mode, kind, "yes" if is_named else "no", str(len(examples)), examples[0])
    return table


if __name__ == "__main__":
    sys.exit(main())
