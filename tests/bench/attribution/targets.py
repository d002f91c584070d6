"""The bars of the design, and what was measured against each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tests.bench.attribution import scoring, track_b
from tests.bench.attribution.scoring import Row
from tests.bench.attribution.track_b import ChanceRow
from tests.bench.attribution.track_e import EditRow
from tests.bench.attribution.track_p import ProgramRow
from tests.bench.attribution.track_u import UnaidedRow

HIGH: Final = 0.95  # below this the slice fails; the target is higher
MEDIUM: Final = 0.75
F1: Final = 0.98
_BOUNDED: Final = 200  # of fewer pairs no bound is narrow enough


@dataclass(frozen=True, kw_only=True)
class Target:
    """`measured` is None where nothing was measured, which reaches no bar."""

    what: str
    bar: float
    kind: Literal["at_least", "at_most"]
    measured: float | None
    unit: str = "%"

    @property
    def reached(self) -> bool:
        if self.measured is None:
            return False
        return self.measured >= self.bar if self.kind == "at_least" else self.measured <= self.bar


def of_causes(rows: Sequence[Row]) -> Iterator[Target]:
    """Track A."""
    for split, of in scoring.by(rows, lambda row: row.split).items():
        if split != "adversarial":
            yield _at_least(f"A, {split}: a named change belongs to a true cause", 97, scoring.share(r.top for r in of))
    yield _at_least("A: precision of `high`", 98, precision(rows, "high"))
    single = [row.confidence == "high" for row in rows if row.flavour in {"single", "pre-empted"}]
    yield _at_least("A: single causes that reach `high`", 85, scoring.share(single))
    yield _at_least("A: precision of `medium`", 75, precision(rows, "medium"))
    yield Target(
        what="A: blame where nothing had an effect", bar=0, kind="at_most", measured=_percent(false_blame(rows))
    )
    for size, of in sorted(scoring.by(rows, lambda row: row.size).items(), key=lambda item: int(item[0])):
        median = scoring.median_of([row.searched for row in of if row.top is not None])
        yield Target(
            what=f"A: replays for the verdict, median at {size} changes",
            bar=2 * int(size) + 4,
            kind="at_most",
            measured=median,
            unit="",
        )


def unaided(rows: Sequence[UnaidedRow]) -> Iterator[Target]:
    """Track A without being told what changed, where everything that matters is recorded."""
    known = [row for row in rows if not row.hidden]
    high = [row.right for row in known if row.confidence == "high"]
    yield _at_least("A unaided: a named change belongs to a true cause", 97, scoring.share(row.top for row in known))
    yield _at_least("A unaided: precision of `high`", 98, scoring.share(high))
    excused = scoring.share(row.excused for row in rows if row.top is not None)
    yield Target(what="A unaided: causes called chance", bar=0, kind="at_most", measured=_percent(excused))
    blamed = scoring.share(row.blamed for row in rows if row.top is None)
    yield Target(what="A unaided: blame where nothing had an effect", bar=0, kind="at_most", measured=_percent(blamed))


def unrecorded(rows: Sequence[UnaidedRow]) -> Target:
    """The same with the cases that no recording could tell."""
    high = [row.right for row in rows if row.confidence == "high"]
    what = "A unaided, with causes that neither run recorded: precision of `high`"
    return _at_least(what, 100 * HIGH, scoring.share(high))


def of_programs(rows: Sequence[ProgramRow]) -> Iterator[Target]:
    """Track P, each set of programs for itself. What the recordings alone name is held to the same precision."""
    for name, of in scoring.by(rows, lambda row: row.set).items():
        top = scoring.share(row.top for row in of if row.live and not row.hidden)
        yield _at_least(f"P, {name}: a named change belongs to a true cause", 97, top)
        high = scoring.share(row.right for row in of if row.confidence == "high")
        yield _at_least(f"P, {name}: precision of `high`", 98, high)
        blamed = scoring.share(row.blamed for row in of if row.top is None)
        yield _none(f"P, {name}: blame above `low` where nothing had an effect", blamed)
        yield _none(f"P, {name}: causes called chance", scoring.share(row.excused for row in of))


def of_chance(rows: Sequence[ChanceRow]) -> Iterator[Target]:
    """Track B."""
    for budget in track_b.REPEATS:
        blamed = [row.blamed for row in rows if row.kind == "a/a" and row.gated and row.budget == budget]
        share = scoring.share(blamed)
        upper = scoring.wilson(sum(blamed), len(blamed))[1] if blamed else None
        yield Target(
            what=f"B: blame of pairs without a cause, {budget} repeats", bar=5, kind="at_most", measured=_percent(share)
        )
        if len(blamed) >= _BOUNDED:
            yield Target(
                what=f"B: its upper bound (Wilson) at {len(blamed):,} pairs",
                bar=7,
                kind="at_most",
                measured=_percent(upper),
            )
    excused = scoring.share(row.excused for row in rows if row.kind == "cause")
    yield Target(
        what="B: causes called chance by the recordings alone", bar=0, kind="at_most", measured=_percent(excused)
    )
    high = [row.right for row in rows if row.gated and row.confidence == "high"]
    yield _at_least("B: precision of `high` under noise", 95, scoring.share(high))


def of_edits(rows: Sequence[EditRow], speed: Mapping[str, float]) -> Iterator[Target]:
    """Track E."""
    for source, of in scoring.by(rows, lambda row: row.source).items():
        f1 = scoring.mean(row.f1 for row in of)
        yield _at_least(f"E: F1 of the alignment, {source}", 98, f1)
    bars = {"align_1000_ms": ("1,000 × 1,000 steps aligned", 300), "text_20k_ms": ("20,000 words compared", 150)}
    for name, (what, bar) in bars.items():
        if name in speed:
            yield Target(what=f"E: {what}", bar=bar, kind="at_most", measured=speed[name], unit="ms")


def precision(rows: Sequence[Row], level: str) -> float | None:
    """Of the findings of a level, the share in which every word is true."""
    return scoring.share(row.right for row in rows if row.confidence == level)


def false_blame(rows: Sequence[Row]) -> float | None:
    return scoring.share(row.blamed for row in rows if row.top is None)


def edit_f1(rows: Sequence[EditRow]) -> float | None:
    return scoring.mean(row.f1 for row in rows)


def _at_least(what: str, bar: float, share: float | None) -> Target:
    return Target(what=what, bar=bar, kind="at_least", measured=_percent(share))


def _none(what: str, share: float | None) -> Target:
    return Target(what=what, bar=0, kind="at_most", measured=_percent(share))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
