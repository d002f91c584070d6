"""Track C: real recordings as replay oracle. Repeating a configuration means using its next recording."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from diffing.report.examination import Examination
from diffing.schemas.evidence import EvidenceQuestion, ProbeOutcome
from replay.proofs.changes import certificates
from replay.proofs.changes.roots import roots
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec
from replay.proofs.evidence.findings import prove
from tests.bench.attribution import pairs, scoring, transcripts
from traces.core.json_types import JSONObject

# Three names of one configuration: the same agent, model and prompt, run three times.
_ALIASES: Final = {
    "2026-02-21T00_37_20.185158_retail_llm_agent_gpt-4.1-mini_user_simulator_gpt-4.1-mini": "gpt-4.1-mini",
    "2026-02-21T14_34_07.403605_retail_llm_agent_gpt-4.1-mini_user_simulator_gpt-4.1-mini": "gpt-4.1-mini",
    "[Retail][Base][Gpt-4.1-mini][2026-02-22T13_32_37]": "gpt-4.1-mini",
}
REPEATS: Final = 10
_TASK_DONE: Final = EvidenceQuestion(kind="check", text="whether the task was done")


@dataclass
class Oracle:
    """Probe runner whose repeats are recordings: of one task, or of many for a question about a configuration."""

    base: Sequence[bool]
    candidate: Sequence[bool]
    base_outcome: bool

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        outcomes = self.candidate if ask.atoms else self.base
        if not 0 < ask.repeat <= len(outcomes):
            return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing="another recording of this configuration")
        return ProbeResult(
            outcome=ProbeOutcome.BASE if outcomes[ask.repeat - 1] == self.base_outcome else ProbeOutcome.CANDIDATE,
            live_calls=1,
        )

    def parts(self, atom: Atom) -> Sequence[Atom]:
        return []

    def path_steps(self, cause: Atoms) -> Sequence[PathStep]:
        return []


@dataclass(frozen=True, kw_only=True)
class RealRow:
    """One pair with different outcomes, or one comparison of two configurations over tasks."""

    scope: str  # "task" or "tasks"
    kind: str  # "same" or "swap"
    pair: str
    verdict: str
    confidence: str
    repeats: int
    blames: bool
    # Verdict of the diff without any repeat.
    recordings_verdict: str = ""
    recordings_confidence: str = ""
    # Verdict of the diff on repeats that are not declared as such.
    undeclared_verdict: str = ""


def rows(folder: Path, *, count: int, draws: int) -> list[RealRow]:
    multi = list(transcripts.rows(folder, transcripts.MULTI))
    repeats = list(transcripts.rows(folder, transcripts.REPEATS))
    results = _task_rows("airline", [(recording, "gpt-4o") for recording in repeats], count)
    results += _task_rows("retail", [(recording, _configuration(recording)) for recording in multi], count)
    return results + _population_rows(multi, draws)


def _configuration(row: JSONObject) -> str:
    return _ALIASES.get(_name(row), _name(row))


def _name(row: JSONObject) -> str:
    config = row["config"]
    return str(config.get("run")) if isinstance(config, dict) else ""


def _with_declaration(row: JSONObject) -> JSONObject:
    """Return the recording with its configuration and trial number declared."""
    if _name(row) not in _ALIASES:
        return row
    config: JSONObject = {"run": _configuration(row), "trial": list(_ALIASES).index(_name(row))}
    return {**row, "config": config, "source": _configuration(row)}


def _without_declaration(row: JSONObject) -> JSONObject:
    """Return the recording without its task, configuration and source."""
    return {key: value for key, value in row.items() if key not in {"task_id", "config", "source"}}


NamedRecording = tuple[JSONObject, str]


def _task_rows(name: str, recordings: Iterable[NamedRecording], count: int) -> list[RealRow]:
    """Prove pairs of one task with different outcomes. The other recordings of each side are its repeats."""
    by_task: dict[str, list[NamedRecording]] = {}
    for recording in recordings:
        by_task.setdefault(pairs.task(recording[0]), []).append(recording)
    differing: dict[str, list[tuple[NamedRecording, NamedRecording, list[NamedRecording]]]] = {"same": [], "swap": []}
    for group in by_task.values():
        for base, candidate in combinations(group, 2):
            if pairs.is_successful(base[0]) != pairs.is_successful(candidate[0]):
                rest = [recording for recording in group if recording[0] not in (base[0], candidate[0])]
                differing["same" if base[1] == candidate[1] else "swap"].append((base, candidate, rest))
    return [
        _task_row(name, kind, *pair)
        for kind, differing_pairs in differing.items()
        for pair in random.Random(f"{name} {kind}").sample(differing_pairs, min(count, len(differing_pairs)))
    ]


def _task_row(
    name: str, kind: str, base: NamedRecording, candidate: NamedRecording, rest: Sequence[NamedRecording]
) -> RealRow:
    repeats = [[pairs.is_successful(row) for row, config in rest if config == side[1]] for side in (base, candidate)]
    # A recording may repeat only one of the two sides.
    if kind == "same":
        repeats = [repeats[0][::2], repeats[0][1::2]]
    recordings = _with_declaration(base[0]), _with_declaration(candidate[0])
    verdict = _verdict_fields(
        Oracle(repeats[0], repeats[1], pairs.is_successful(base[0])), _case(pairs.examine_transcripts(*recordings))
    )
    attribution = pairs.compare_transcripts(*recordings).attribution
    verdict_without = (
        pairs.compare_transcripts(_without_declaration(base[0]), _without_declaration(candidate[0])).attribution.verdict
        if kind == "same"
        else ""
    )
    return RealRow(
        scope="task",
        kind=kind,
        pair=f"{name} {base[1]} / {candidate[1]}",
        recordings_verdict=attribution.verdict,
        recordings_confidence=attribution.confidence or "",
        undeclared_verdict=verdict_without,
        **verdict,
    )


def _case(examination: Examination) -> Case:
    """Build the case as the product does for two separate recordings; the question is task success."""
    atoms = certificates.valid_for([change.atom for change in roots(examination)], _TASK_DONE.kind)
    return Case(
        question=_TASK_DONE,
        atoms=atoms,
        is_sampled=True,
        chance=certificates.chance(examination, atoms, _TASK_DONE.kind, lattice=False),
    )


def _population_rows(recordings: Sequence[JSONObject], draws: int) -> list[RealRow]:
    """Prove pairs of recording sets over all tasks, of one or two configurations. Each repeat is another task."""
    sets: dict[str, list[bool]] = {}
    for row in recordings:
        config = row["config"]
        sets.setdefault(str(config.get("run")) if isinstance(config, dict) else "", []).append(pairs.is_successful(row))
    results = []
    case = Case(
        question=_TASK_DONE, atoms=[Atom(id="swap", category="model", title="the configuration")], is_sampled=True
    )
    for base, candidate in combinations(sorted(sets), 2):
        kind = "same" if _ALIASES.get(base, base) == _ALIASES.get(candidate, candidate) else "swap"
        for draw in range(draws):
            rng = random.Random(f"{base} {candidate} {draw}")
            sides = [rng.sample(sets[name], min(REPEATS, len(sets[name]))) for name in (base, candidate)]
            verdict = _verdict_fields(Oracle(sides[0], sides[1], base_outcome=False), case)
            results.append(RealRow(scope="tasks", kind=kind, pair=f"{base} / {candidate}", **verdict))
    return results


def _verdict_fields(lab: Oracle, case: Case) -> dict[str, Any]:
    findings = prove(case, lab, Budget(live_calls=None, repeats=REPEATS), parts=False, mediators=False)
    noise = findings.noise
    return {
        "verdict": findings.verdict,
        "confidence": findings.confidence,
        "repeats": min(noise.base_n, noise.candidate_n),
        "blames": bool(findings.primary) and findings.confidence in {"high", "medium"},
    }


def summary(rows: Sequence[RealRow]) -> JSONObject:
    cells: JSONObject = {}
    for scope in ("task", "tasks"):
        for kind in ("same", "swap"):
            group = [row for row in rows if (row.scope, row.kind) == (scope, kind)]
            cells[f"{kind}, one {scope}" if scope == "task" else f"{kind}, over tasks"] = _cell(group)
    cells["high without 4+4"] = sum(row.confidence == "high" and row.repeats < 4 for row in rows)
    return cells


def _cell(rows: Sequence[RealRow]) -> JSONObject:
    blame_count = sum(row.blames for row in rows)
    alone = [row.recordings_verdict for row in rows if row.recordings_verdict]
    verdicts_without = [row.undeclared_verdict for row in rows if row.undeclared_verdict]
    return {
        "pairs": len(rows),
        "blamed": blame_count,
        "wilson": list(scoring.wilson(blame_count, len(rows))),
        "noise": scoring.share(row.verdict == "noise" for row in rows),
        "levels": {level: sum(row.confidence == level for row in rows) for level in scoring.LEVELS},
        "recordings_alone": {verdict: alone.count(verdict) for verdict in sorted(set(alone))},
        "undeclared": {verdict: verdicts_without.count(verdict) for verdict in sorted(set(verdicts_without))},
        "recordings_alone_above_low": sum(row.recordings_confidence in {"medium", "high"} for row in rows),
    }


def as_json(row: RealRow) -> JSONObject:
    return asdict(row)
