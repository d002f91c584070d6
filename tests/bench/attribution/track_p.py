"""Track P: programs whose code turns one answer into another call's input, given only two recordings."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from diffing.schemas.evidence import Findings
from replay.proofs.core.types import Budget
from replay.proofs.evidence.findings import prove
from tests.bench.attribution import scoring
from tests.bench.attribution.program_lab import ProgramBench, ProgramLab
from tests.bench.attribution.program_sets import SETS
from tests.bench.attribution.programs.shapes import draw_case
from tests.bench.attribution.truth import Ids
from traces.core.json_types import JSONObject

SEED: Final = 20_261_122
_MODES: Final = (
    ("models callable", True, False),
    ("recordings alone", False, False),
    ("models callable, code version recorded", True, True),
)
_REPEATS: Final = 10
# Number of cases that covers every combination of size and cause.
_CYCLE: Final = 16
# Set of programs, index of the program in it, number of the case.
Job = tuple[str, int, int]


@dataclass(frozen=True, kw_only=True)
class ProgramRow:
    """Result of one case. `live`: models may be called for answers that are not recorded. `has_code_version`: both
    runs have recorded the version of the agent's code.

    `top`: the first change named, or listed if none is named, belongs to a cause; None if there is no cause.
    `code_edit`: an edit of the agent's own code belongs to a cause.
    `hidden`: a change that matters is not recorded on both sides. `diff`: `top` for the diff alone.
    """

    set: str
    group: str
    program: str
    number: int
    live: bool
    has_code_version: bool
    verdict: str
    confidence: str
    right: bool
    names_change: bool
    top: bool | None
    diff: bool | None
    code_edit: bool
    hidden: bool
    blames: bool
    replays: int

    @property
    def reported_as_chance(self) -> bool:
        """Return whether a difference with a cause was reported as chance or as no difference."""
        return self.top is not None and self.verdict in {"noise", "no_effect"}


def plan(cases: int, *, held_out: bool, only: str | None = None) -> list[Job]:
    """Plan this number of cases per program, different ones if they are few. `only` names one set of programs."""
    sets = [only] if only else [name for name in SETS if held_out or name == "development"]
    return [
        (name, index, (5 * index + 7 * turn) % max(_CYCLE, cases))
        for name in sets
        for index in range(len(SETS[name].programs))
        for turn in range(cases)
    ]


def rows(jobs: Sequence[Job]) -> list[ProgramRow]:
    """Prove each case twice, with callable models and from the recordings alone; some with the version of the code."""
    modes = ((True, False), (False, False), (True, True))
    return [
        row(job, live=live, has_code_version=has_code_version)
        for job in jobs
        for live, has_code_version in modes
        if not has_code_version or SETS[job[0]].code_edits
    ]


def row(job: Job, *, live: bool, has_code_version: bool = False) -> ProgramRow:
    name, index, number = job
    program = SETS[name].programs[index]
    bench = ProgramBench(draw_case(program, number, SEED), has_code_version=has_code_version)
    lab = ProgramLab(bench)
    budget = Budget(probes=500, live_calls=None if live else 0, repeats=_REPEATS)
    findings = prove(lab.case(), lab, budget, parts=False, mediators=False)
    truth = lab.true_changes
    named_sets = [frozenset(lab.edits_of.get(atom, atom) for atom in ids) for ids in findings.primary]
    members = frozenset[str]().union(*truth.sets)
    order = [lab.edits_of.get(atom, atom) for atom in ranking(findings)]
    diff_order = [lab.edits_of.get(atom, atom) for atom in lab.changes.changes]
    return ProgramRow(
        set=name,
        group=program.group,
        program=program.name,
        number=number,
        live=live,
        has_code_version=has_code_version,
        verdict=findings.verdict,
        confidence=findings.confidence,
        names_change=bool(named_sets),
        right=_structure(findings, named_sets) == truth.structure and all(ids in truth.sets for ids in named_sets),
        top=order[:1] != [] and order[0] in members if members else None,
        diff=diff_order[:1] != [] and diff_order[0] in members if members else None,
        code_edit=any(name.startswith("code.") for name in members),
        hidden=not all(lab.is_recorded(name) for name in members),
        blames=bool(named_sets) and findings.confidence in {"high", "medium"},
        replays=lab.replays,
    )


def _structure(findings: Findings, named_sets: Sequence[Ids]) -> str:
    """Return the verdict's kind in terms of true changes. Several found changes may be one true change."""
    kind = scoring.kind_of(findings)
    if kind in {"none", "inconclusive"}:
        return kind
    if len(set(named_sets)) > 1:
        return "over_determined"
    return "single" if len(named_sets[0]) == 1 else "joint"


def ranking(findings: Findings) -> list[str]:
    """Order the changes as the report does: named, open, excluded by a certificate."""
    order = scoring.ranking(findings)
    certified_ids = {atom.id for atom in findings.atoms if atom.certificate is not None}
    named_atoms = {atom for members in findings.primary for atom in members}
    return sorted(order, key=lambda atom: (atom not in named_atoms, atom in certified_ids))


def summary(rows: Sequence[ProgramRow]) -> JSONObject:
    """Summarise by set, mode and group of programs. Cases that the recordings cannot decide are counted separately."""
    cells: JSONObject = {}
    for set in SETS:
        for mode, live, has_code_version in _MODES:
            group = [row for row in rows if (row.set, row.live, row.has_code_version) == (set, live, has_code_version)]
            groups = scoring.group_by(group, lambda row: row.group)
            cells |= {f"{set}, {mode}, {name}": cell(group_rows) for name, group_rows in groups.items()}
            if group:
                cells[f"{set}, {mode}, all"] = cell(group)
    return cells


def cell(rows: Sequence[ProgramRow]) -> JSONObject:
    decidable = [row for row in rows if not row.hidden]
    tops = [row.top for row in decidable if row.top is not None]
    high = [row.right for row in rows if row.confidence == "high"]
    return {
        "cases": len(rows),
        "hidden": len(rows) - len(decidable),
        "top1": scoring.share(row.top for row in decidable),
        "caused": len(tops),
        "sure": len(high),
        "top1_interval": list(scoring.wilson(sum(tops), len(tops))),
        "high_interval": list(scoring.wilson(sum(high), len(high))),
        "diff": scoring.share(row.diff for row in decidable),
        "named": scoring.share(None if row.top is None else row.names_change for row in decidable),
        "excused": scoring.share(row.reported_as_chance for row in rows if row.top is not None),
        "false_blame": scoring.share(row.blames for row in rows if row.top is None),
        "levels": {
            level: {
                "cases": sum(row.confidence == level for row in rows),
                "precision": scoring.share(row.right for row in rows if row.confidence == level),
            }
            for level in scoring.LEVELS
        },
    }


def as_json(row: ProgramRow) -> JSONObject:
    return asdict(row)
