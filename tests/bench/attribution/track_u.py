"""Track A unaided: the product gets only the two recordings."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from replay.proofs.core.types import Budget
from replay.proofs.evidence.findings import prove
from tests.bench.attribution import scoring
from tests.bench.attribution.lab import Bench
from tests.bench.attribution.track_a import CaseId, case_of
from tests.bench.attribution.unaided_lab import HIDDEN, UnaidedLab
from traces.core.json_types import JSONObject


@dataclass(frozen=True, kw_only=True)
class UnaidedRow:
    """One case. `hidden`: a change that matters shows in neither recording, so they cannot reveal the truth."""

    split: str
    number: int
    pipeline: str
    # Number of changes that the product found.
    changes_found: int
    verdict: str
    confidence: str
    right: bool
    top: bool | None
    hidden: bool
    blames: bool
    reported_as_chance: bool
    replays: int


def row(case_id: CaseId) -> UnaidedRow:
    bench = Bench(case_of(*case_id))
    lab = UnaidedLab(bench)
    findings = prove(lab.case(), lab, Budget(probes=5000, live_calls=None))
    truth = lab.truth()
    members = frozenset[str]().union(*truth.sets)
    return UnaidedRow(
        split=bench.case.split,
        number=bench.case.number,
        pipeline=bench.case.pipeline.name,
        changes_found=len(lab.changes.changes),
        verdict=findings.verdict,
        confidence=findings.confidence,
        right=scoring.right(findings, truth.sets, truth.structure),
        top=bool(findings.primary) and findings.primary[0][0] in members if members else None,
        hidden=HIDDEN in members,
        blames=bool(findings.primary),
        reported_as_chance=findings.verdict == "noise",
        replays=lab.replays,
    )


def rows(case_ids: Sequence[CaseId]) -> list[UnaidedRow]:
    return [row(case_id) for case_id in case_ids]


def summary(rows: Sequence[UnaidedRow]) -> JSONObject:
    """Summarise all cases, and those in which every relevant change is recorded."""
    groups = {"all": rows, "all relevant changes recorded": [row for row in rows if not row.hidden]}
    return {name: _cell(group) for name, group in groups.items()}


def _cell(rows: Sequence[UnaidedRow]) -> JSONObject:
    return {
        "cases": len(rows),
        "right": scoring.share(row.right for row in rows),
        "top1": scoring.share(row.top for row in rows),
        "undecided": scoring.share(row.verdict == "inconclusive" for row in rows),
        "false_blame": scoring.share(row.blames for row in rows if row.top is None),
        "replays_median": scoring.median_of([row.replays for row in rows if row.top is not None]),
        "levels": {
            level: {
                "cases": sum(row.confidence == level for row in rows),
                "precision": scoring.share(row.right for row in rows if row.confidence == level),
            }
            for level in scoring.LEVELS
        },
    }


def as_json(row: UnaidedRow) -> JSONObject:
    return asdict(row)
