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
from tests.bench.places.failures import Failure, places, read


@dataclass(frozen=True, kw_only=True)
class Row:
    """A labelled run and the places that the inspection finds in it."""

    failure: Failure
    places: Sequence[Place]

    def distances(self, kind: PlaceKind) -> list[int]:
        """Return the distance in messages of each place of a kind from the label; the maximum if it has no message."""
        label, messages = self.failure.label, self.failure.messages
        assert label is not None
        numbers = [messages.get(place.step or 0) for place in self.places if place.kind is kind]
        return [abs(number - label) if number is not None else len(messages) for number in numbers]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.places", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    rows = [
        Row(failure=failure, places=places(failure.run)) for path in parser.parse_args().paths for failure in read(path)
    ]
    console = Console(width=150)
    sources = sorted({row.failure.source for row in rows})
    for source in sources:
        source_rows = [row for row in rows if row.failure.source == source]
        labelled_rows = [row for row in source_rows if row.failure.label is not None and not row.failure.is_successful]
        if labelled_rows:
            console.print(_precision(source, labelled_rows))
        console.print(_frequency(source, source_rows))


def accuracy(source: str, rows: Sequence[Row], kind: PlaceKind) -> Accuracy:
    distances = [distance for row in rows for distance in row.distances(kind)]
    return Accuracy(
        source=source,
        places=len(distances),
        exact=sum(distance == 0 for distance in distances),
        near=sum(distance <= 1 for distance in distances),
    )


def floor(rows: Sequence[Row], distance: int) -> float:
    """Return the share of random agent messages within a distance of the label."""
    shares = [
        sum(abs(number - (row.failure.label or 0)) <= distance for number in row.failure.answers)
        / len(row.failure.answers)
        for row in rows
    ]
    return sum(shares) / len(shares)


def _precision(source: str, rows: Sequence[Row]) -> Table:
    head = ("kind", "runs with one", "places", "the blamed step", "at most one message away", "95 % (Wilson)")
    table = Table(*head, title=f"{source}: {len(rows)} labelled failures")
    for kind in PlaceKind:
        result = accuracy(source, rows, kind)
        if result.places:
            low, high = result.interval
            runs = sum(bool(row.distances(kind)) for row in rows)
            table.add_row(
                kind,
                str(runs),
                str(result.places),
                _share(result.exact, result.places),
                _share(result.near, result.places),
                f"{low:.0%} to {high:.0%}",
            )
    table.add_row("a random message of an agent", str(len(rows)), "–", f"{floor(rows, 0):.1%}", f"{floor(rows, 1):.1%}")
    return table


def _frequency(source: str, rows: Sequence[Row]) -> Table:
    """Compare failed with passed runs. A kind equally frequent in both says little about failures."""
    failed, passed_rows = (
        [row for row in rows if row.failure.is_successful is is_passed] for is_passed in (False, True)
    )
    table = Table("kind", "failed runs with one", "passed runs with one", title=f"{source}: {len(rows)} runs")
    for kind in PlaceKind:
        counts = [
            sum(any(place.kind is kind for place in row.places) for row in group) for group in (failed, passed_rows)
        ]
        if any(counts):
            table.add_row(kind, _share(counts[0], len(failed)), _share(counts[1], len(passed_rows)))
    return table


def _share(hits: int, n: int) -> str:
    return f"{hits} of {n} ({hits / n:.0%})" if n else "–"


if __name__ == "__main__":
    main()
