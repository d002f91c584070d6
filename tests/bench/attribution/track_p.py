"""Track P: programs whose code turns one answer into another call's input. Two recordings are all there is."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from diffing.schemas.evidence import Findings
from replay.proofs.core.types import Budget
from replay.proofs.evidence.findings import prove
from tests.bench.attribution import scoring
from tests.bench.attribution.program_lab import ProgramBench, ProgramLab
from tests.bench.attribution.programs.blind import BLIND
from tests.bench.attribution.programs.development import PROGRAMS
from tests.bench.attribution.programs.fresh import FRESH
from tests.bench.attribution.programs.heldout import HELD_OUT
from tests.bench.attribution.programs.shapes import Program, draw_case
from tests.bench.attribution.programs.unseen import UNSEEN
from tests.bench.attribution.truth import Ids
from traces.core.json_types import JSONObject

SEED: Final = 20_261_122
HELD_OUT_SETS: Final = ("held out", "unseen", "fresh", "blind")
SETS: Final[Mapping[str, Sequence[Program]]] = {
    "development": PROGRAMS,
    "held out": HELD_OUT,
    "unseen": UNSEEN,
    "fresh": FRESH,
    "blind": BLIND,
}
_REPEATS: Final = 10
_CYCLE: Final = 16  # cases until sizes and causes have taken all turns
Job = tuple[str, int, int]  # a set of programs, the program's place in it, the number of the case


@dataclass(frozen=True, kw_only=True)
class ProgramRow:
    """What was found in one case. `live`: models that did not record an answer could be asked.

    `top`: the first change that is named, or else listed, belongs to a cause; None where there is no cause.
    `hidden`: a change that matters shows in neither recording. `diff`: the same as `top` of the diff alone.
    """

    set: str
    group: str
    program: str
    number: int
    live: bool
    verdict: str
    confidence: str
    right: bool
    named: bool
    top: bool | None
    diff: bool | None
    hidden: bool
    blamed: bool
    replays: int

    @property
    def excused(self) -> bool:
        """Whether a difference with a cause was called chance, or no difference."""
        return self.top is not None and self.verdict in {"noise", "no_effect"}


def plan(cases: int, *, held_out: bool, only: str | None = None) -> list[Job]:
    """So many cases of each program; few of them are not the same ones for each. `only` names one set of programs."""
    sets = [only] if only else [name for name in SETS if held_out or name not in HELD_OUT_SETS]
    return [
        (name, at, (5 * at + 7 * turn) % max(_CYCLE, cases))
        for name in sets
        for at in range(len(SETS[name]))
        for turn in range(cases)
    ]


def rows(jobs: Sequence[Job]) -> list[ProgramRow]:
    """Each case twice: with models that can be asked, and from the recordings alone."""
    return [row(job, live=live) for job in jobs for live in (True, False)]


def row(job: Job, *, live: bool) -> ProgramRow:
    name, at, number = job
    program = SETS[name][at]
    bench = ProgramBench(draw_case(program, number, SEED))
    lab = ProgramLab(bench)
    budget = Budget(probes=500, live_calls=None if live else 0, repeats=_REPEATS)
    findings = prove(lab.case(), lab, budget, parts=False, mediators=False)
    truth = lab.true_changes
    named = [frozenset(lab.edits_of.get(atom, atom) for atom in one) for one in findings.primary]
    members = frozenset[str]().union(*truth.sets)
    order = [lab.edits_of.get(atom, atom) for atom in ranking(findings)]
    listed = [lab.edits_of.get(atom, atom) for atom in lab.changes.changes]
    return ProgramRow(
        set=name,
        group=program.group,
        program=program.name,
        number=number,
        live=live,
        verdict=findings.verdict,
        confidence=findings.confidence,
        named=bool(named),
        right=_structure(findings, named) == truth.structure and all(one in truth.sets for one in named),
        top=order[:1] != [] and order[0] in members if members else None,
        diff=listed[:1] != [] and listed[0] in members if members else None,
        hidden=not all(lab.is_recorded(name) for name in members),
        blamed=bool(named) and findings.confidence in {"high", "medium"},
        replays=lab.replays,
    )


def _structure(findings: Findings, named: Sequence[Ids]) -> str:
    """The kind of the verdict, of true changes: several found ones may be the same true one."""
    kind = scoring.kind_of(findings)
    if kind in {"none", "inconclusive"}:
        return kind
    if len(set(named)) > 1:
        return "over_determined"
    return "single" if len(named[0]) == 1 else "joint"


def ranking(findings: Findings) -> list[str]:
    """The changes as a reader meets them: those that are named, then those that are open, then those ruled out."""
    ranked = scoring.ranking(findings)
    certified = {atom.id for atom in findings.atoms if atom.certificate is not None}
    named = {atom for one in findings.primary for atom in one}
    return sorted(ranked, key=lambda atom: (atom not in named, atom in certified))


def summary(rows: Sequence[ProgramRow]) -> JSONObject:
    """By set, mode and group of programs; the cases that no recording can tell are counted apart."""
    cells: JSONObject = {}
    for set in SETS:
        for live in (True, False):
            of = [row for row in rows if row.set == set and row.live == live]
            mode = "models can be asked" if live else "recordings alone"
            groups = scoring.by(of, lambda row: row.group)
            cells |= {f"{set}, {mode}, {name}": cell(each) for name, each in groups.items()}
            if of:
                cells[f"{set}, {mode}, all"] = cell(of)
    return cells


def cell(rows: Sequence[ProgramRow]) -> JSONObject:
    told = [row for row in rows if not row.hidden]
    tops = [row.top for row in told if row.top is not None]
    high = [row.right for row in rows if row.confidence == "high"]
    return {
        "cases": len(rows),
        "hidden": len(rows) - len(told),
        "top1": scoring.share(row.top for row in told),
        "caused": len(tops),
        "sure": len(high),
        "top1_interval": list(scoring.wilson(sum(tops), len(tops))),
        "high_interval": list(scoring.wilson(sum(high), len(high))),
        "diff": scoring.share(row.diff for row in told),
        "named": scoring.share(None if row.top is None else row.named for row in told),
        "excused": scoring.share(row.excused for row in rows if row.top is not None),
        "false_blame": scoring.share(row.blamed for row in rows if row.top is None),
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
