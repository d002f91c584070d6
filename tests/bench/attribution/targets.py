"""Targets of the benchmark and the value measured for each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tests.bench.attribution import scoring, track_b
from tests.bench.attribution.scoring import Row
from tests.bench.attribution.track_b import ChanceRow
from tests.bench.attribution.track_e import EditRow
from tests.bench.attribution.track_p import ProgramRow
from tests.bench.attribution.track_u import UnaidedRow

# The slice fails below these; the targets of the full size are higher.
HIGH: Final = 0.95
MEDIUM: Final = 0.75
F1: Final = 0.98
# With fewer pairs, the confidence bound is too wide for its target.
_MIN_PAIRS_FOR_BOUND: Final = 200


@dataclass(frozen=True, kw_only=True)
class Target:
    """One bar and its measured value. A value of None (not measured) reaches no bar."""

    name: str
    bar: float
    kind: Literal["at_least", "at_most"]
    value: float | None
    unit: str = "%"

    @property
    def is_reached(self) -> bool:
        if self.value is None:
            return False
        return self.value >= self.bar if self.kind == "at_least" else self.value <= self.bar


def cause_targets(rows: Sequence[Row]) -> Iterator[Target]:
    """Yield the targets of track A."""
    for split, group in scoring.group_by(rows, lambda row: row.split).items():
        if split != "adversarial":
            yield _at_least(
                f"A, {split}: a named change belongs to a true cause", 97, scoring.share(r.top for r in group)
            )
    yield _at_least("A: precision of `high`", 98, precision(rows, "high"))
    single = [row.confidence == "high" for row in rows if row.flavour in {"single", "pre-empted"}]
    yield _at_least("A: single causes that reach `high`", 85, scoring.share(single))
    yield _at_least("A: precision of `medium`", 75, precision(rows, "medium"))
    yield Target(
        name="A: change blamed although none had an effect", bar=0, kind="at_most", value=_percent(false_blame(rows))
    )
    for size, group in sorted(scoring.group_by(rows, lambda row: row.size).items(), key=lambda item: int(item[0])):
        median = scoring.median_of([row.search_replays for row in group if row.top is not None])
        yield Target(
            name=f"A: replays for the verdict, median at {size} changes",
            bar=2 * int(size) + 4,
            kind="at_most",
            value=median,
            unit="",
        )


def unaided_targets(rows: Sequence[UnaidedRow]) -> Iterator[Target]:
    """Yield the targets of track A unaided, for cases in which every relevant change is recorded."""
    recorded_rows = [row for row in rows if not row.hidden]
    high = [row.right for row in recorded_rows if row.confidence == "high"]
    yield _at_least(
        "A unaided: a named change belongs to a true cause", 97, scoring.share(row.top for row in recorded_rows)
    )
    yield _at_least("A unaided: precision of `high`", 98, scoring.share(high))
    chance_share = scoring.share(row.reported_as_chance for row in rows if row.top is not None)
    yield Target(name="A unaided: causes reported as chance", bar=0, kind="at_most", value=_percent(chance_share))
    blame_share = scoring.share(row.blames for row in rows if row.top is None)
    yield Target(
        name="A unaided: change blamed although none had an effect", bar=0, kind="at_most", value=_percent(blame_share)
    )


def unrecorded_target(rows: Sequence[UnaidedRow]) -> Target:
    """Return the same target including cases that the recordings cannot decide."""
    high = [row.right for row in rows if row.confidence == "high"]
    name = "A unaided, including causes that neither run recorded: precision of `high`"
    return _at_least(name, 100 * HIGH, scoring.share(high))


def program_targets(rows: Sequence[ProgramRow]) -> Iterator[Target]:
    """Yield the targets of track P per set of programs. The recordings alone must reach the same precision."""
    for name, group in scoring.group_by(rows, lambda row: row.set).items():
        top = scoring.share(row.top for row in group if row.live and not row.has_code_version and not row.hidden)
        yield _at_least(f"P, {name}: a named change belongs to a true cause", 97, top)
        high = scoring.share(row.right for row in group if row.confidence == "high")
        yield _at_least(f"P, {name}: precision of `high`", 98, high)
        blame_share = scoring.share(row.blames for row in group if row.top is None)
        yield _none(f"P, {name}: change blamed above `low` although none had an effect", blame_share)
        yield _none(f"P, {name}: causes reported as chance", scoring.share(row.reported_as_chance for row in group))


def chance_targets(rows: Sequence[ChanceRow]) -> Iterator[Target]:
    """Yield the targets of track B."""
    for budget in track_b.REPEATS:
        blames = [row.blames for row in rows if row.kind == "a/a" and row.gate and row.budget == budget]
        share = scoring.share(blames)
        upper = scoring.wilson(sum(blames), len(blames))[1] if blames else None
        yield Target(
            name=f"B: blame of pairs without a cause, {budget} repeats", bar=5, kind="at_most", value=_percent(share)
        )
        if len(blames) >= _MIN_PAIRS_FOR_BOUND:
            yield Target(
                name=f"B: upper bound of that (Wilson) at {len(blames):,} pairs",
                bar=7,
                kind="at_most",
                value=_percent(upper),
            )
    chance_share = scoring.share(row.reported_as_chance for row in rows if row.kind == "cause")
    yield Target(
        name="B: causes reported as chance by the recordings alone", bar=0, kind="at_most", value=_percent(chance_share)
    )
    high = [row.right for row in rows if row.gate and row.confidence == "high"]
    yield _at_least("B: precision of `high` under noise", 95, scoring.share(high))


def alignment_targets(rows: Sequence[EditRow], speed: Mapping[str, float]) -> Iterator[Target]:
    """Yield the targets of track E."""
    for source, group in scoring.group_by(rows, lambda row: row.source).items():
        f1 = scoring.mean(row.f1 for row in group)
        yield _at_least(f"E: F1 of the alignment, {source}", 98, f1)
    bars = {"align_1000_ms": ("1,000 × 1,000 steps aligned", 300), "text_20k_ms": ("20,000 words compared", 150)}
    for name, (label, bar) in bars.items():
        if name in speed:
            yield Target(name=f"E: {label}", bar=bar, kind="at_most", value=speed[name], unit="ms")


def precision(rows: Sequence[Row], level: str) -> float | None:
    """Return the share of a level's findings that are entirely true."""
    return scoring.share(row.right for row in rows if row.confidence == level)


def false_blame(rows: Sequence[Row]) -> float | None:
    return scoring.share(row.blames for row in rows if row.top is None)


def edit_f1(rows: Sequence[EditRow]) -> float | None:
    return scoring.mean(row.f1 for row in rows)


def _at_least(name: str, bar: float, share: float | None) -> Target:
    return Target(name=name, bar=bar, kind="at_least", value=_percent(share))


def _none(name: str, share: float | None) -> Target:
    return Target(name=name, bar=0, kind="at_most", value=_percent(share))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
