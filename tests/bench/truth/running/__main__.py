"""`python -m tests.bench.truth.running --programs N --seed S`: forks of programs that run as processes.

Exits with 1 if a label, a plan or a count is wrong, unless docs/labels.md names the kind.
"""

import argparse
import sys

from rich.console import Console
from rich.table import Table

from tests.bench.truth.kinds import KINDS
from tests.bench.truth.running.forking import running_bench
from tests.bench.truth.running.measuring import Tally, measure
from tests.services.processes import scratch_folder


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.truth.running", description=__doc__)
    parser.add_argument("--programs", type=int, default=20)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--kind", choices=[*KINDS], default="patterns", help="statements of the programs")
    arguments = parser.parse_args()
    tally = Tally()
    with running_bench(scratch_folder("fp-truth-"), arguments.kind) as bench:
        for number in range(arguments.programs):
            measure(bench, f"{arguments.seed}.{number}", tally)
            print(f"{number + 1} programs", file=sys.stderr)
    console = Console(width=170)
    table = Table("mode", "kind", "named", "programs", "example")
    for (mode, kind, is_named), examples in sorted(tally.wrong.items(), key=lambda item: -len(item[1])):
        table.add_row(mode, kind, "yes" if is_named else "no", str(len(examples)), ", ".join(examples[:3]))
    console.print(table)
    console.print(f"{tally.programs} programs; steps {dict(tally.steps)}; refused {dict(tally.refused)}")
    return 0 if tally.is_right else 1


if __name__ == "__main__":
    sys.exit(main())
