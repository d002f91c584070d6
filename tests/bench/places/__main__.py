"""`python -m tests.bench.places PATH...`: how often each kind of place is the step that people blamed.

A path is a file of transcripts (`.jsonl`, `.jsonl.gz`) with labels or outcomes, or a folder of Who&When.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from replay.inspection.core.place_accuracy import Accuracy
from replay.inspection.core.places import Place, PlaceKind
from tests.bench.places.labelled import Failure, places, read


@dataclass(frozen=True, kw_only=True)
class Row:
    """A run with its places, each with its distance in messages from the blamed one."""

    failure: Failure
    places: Sequence[Place]

    def distances(self, kind: PlaceKind) -> list[int]:
        """How far each place of a kind is from the label; one without a message is as far as can be."""
        label, messages = self.failure.label, self.failure.messages
        assert label is not None
        numbers = [messages.get(place.step or 0) for place in self.places if place.kind is kind]
        return [abs(number - label) if number is not None else len(messages) for number in numbers]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.places", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    rows = [Row(failure=each, places=places(each.run)) for path in parser.parse_args().paths for each in read(path)]
    console = Console(width=150)
    sources = sorted({row.failure.source for row in rows})
    for source in sources:
        of = [row for row in rows if row.failure.source == source]
        labelled = [row for row in of if row.failure.label is not None and not row.failure.passed]
        if labelled:
            console.print(_precision(source, labelled))
        console.print(_frequency(source, of))


def accuracy(source: str, rows: Sequence[Row], kind: PlaceKind) -> Accuracy:
    distances = [distance for row in rows for distance in row.distances(kind)]
    return Accuracy(
        source=source,
        places=len(distances),
        exact=sum(distance == 0 for distance in distances),
        near=sum(distance <= 1 for distance in distances),
    )


def floor(rows: Sequence[Row], off: int) -> float:
    """How near a message of an agent is that is drawn at random."""
    shares = [
        sum(abs(number - (row.failure.label or 0)) <= off for number in row.failure.answers) / len(row.failure.answers)
        for row in rows
    ]
    return sum(shares) / len(shares)


def _precision(source: str, rows: Sequence[Row]) -> Table:
    head = ("kind", "runs with one", "places", "the blamed step", "at most one message away", "95 % (Wilson)")
    table = Table(*head, title=f"{source}: {len(rows)} labelled failures")
    for kind in PlaceKind:
        found = accuracy(source, rows, kind)
        if found.places:
            low, high = found.interval
            runs = sum(bool(row.distances(kind)) for row in rows)
            table.add_row(
                kind,
                str(runs),
                str(found.places),
                _share(found.exact, found.places),
                _share(found.near, found.places),
                f"{low:.0%} to {high:.0%}",
            )
    table.add_row("a random message of an agent", str(len(rows)), "–", f"{floor(rows, 0):.1%}", f"{floor(rows, 1):.1%}")
    return table


def _frequency(source: str, rows: Sequence[Row]) -> Table:
    """A kind that passing runs have as often says little about a failure."""
    failed, passed = ([row for row in rows if row.failure.passed is is_passed] for is_passed in (False, True))
    table = Table("kind", "failed runs with one", "passed runs with one", title=f"{source}: {len(rows)} runs")
    for kind in PlaceKind:
        counts = [sum(any(place.kind is kind for place in row.places) for row in of) for of in (failed, passed)]
        if any(counts):
            table.add_row(kind, _share(counts[0], len(failed)), _share(counts[1], len(passed)))
    return table


def _share(hits: int, n: int) -> str:
    return f"{hits} of {n} ({hits / n:.0%})" if n else "–"


if __name__ == "__main__":
    main()
