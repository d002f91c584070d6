"""Track C: real recordings as the replay oracle. Repeating a configuration means to look its next recording up."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from diffing.report.examination import Examination
from diffing.schemas.evidence import EvidenceQuestion
from replay.proofs.changes import certificates
from replay.proofs.changes.roots import roots
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec
from replay.proofs.evidence.findings import prove
from tests.bench.attribution import pairs, scoring, transcripts
from traces.core.json_types import JSONObject

# One configuration under three names: the same agent, model and prompt, run three times.
_SAME: Final = {
    "2026-02-21T00_37_20.185158_retail_llm_agent_gpt-4.1-mini_user_simulator_gpt-4.1-mini": "gpt-4.1-mini",
    "2026-02-21T14_34_07.403605_retail_llm_agent_gpt-4.1-mini_user_simulator_gpt-4.1-mini": "gpt-4.1-mini",
    "[Retail][Base][Gpt-4.1-mini][2026-02-22T13_32_37]": "gpt-4.1-mini",
}
REPEATS: Final = 10
_DONE: Final = EvidenceQuestion(kind="check", text="whether the task was done")


@dataclass
class Oracle:
    """A lab whose repeats are recordings: of one task, or of many where the question is about the configuration."""

    base: Sequence[bool]
    candidate: Sequence[bool]
    lost: bool  # the base's outcome

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        given = self.candidate if ask.atoms else self.base
        if not 0 < ask.repeat <= len(given):
            return ProbeResult(outcome="needs_live", missing="another recording of this configuration")
        return ProbeResult(outcome="base" if given[ask.repeat - 1] == self.lost else "candidate", live_calls=1)

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
    blamed: bool
    recordings: str = ""  # what the diff says without any repeat
    recordings_confidence: str = ""
    undeclared: str = ""  # what it says of repeats that nobody declared as such


def rows(folder: Path, *, sampled: int, draws: int) -> list[RealRow]:
    multi = list(transcripts.rows(folder, transcripts.MULTI))
    repeats = list(transcripts.rows(folder, transcripts.REPEATS))
    found = _task_rows("airline", [(each, "gpt-4o") for each in repeats], sampled)
    found += _task_rows("retail", [(each, _configuration(each)) for each in multi], sampled)
    return found + _population_rows(multi, draws)


def _configuration(row: JSONObject) -> str:
    return _SAME.get(_name(row), _name(row))


def _name(row: JSONObject) -> str:
    config = row["config"]
    return str(config.get("run")) if isinstance(config, dict) else ""


def _declared(row: JSONObject) -> JSONObject:
    """The recording as whoever ran it could have named it: one configuration, and which try it was."""
    if _name(row) not in _SAME:
        return row
    config: JSONObject = {"run": _configuration(row), "trial": list(_SAME).index(_name(row))}
    return {**row, "config": config, "source": _configuration(row)}


def _undeclared(row: JSONObject) -> JSONObject:
    """The recording without a word about what it was a recording of."""
    return {key: value for key, value in row.items() if key not in {"task_id", "config", "source"}}


Named = tuple[JSONObject, str]


def _task_rows(name: str, given: Iterable[Named], sampled: int) -> list[RealRow]:
    """Pairs of one task whose outcomes differ; the other recordings of each side are its repeats."""
    by_task: dict[str, list[Named]] = {}
    for each in given:
        by_task.setdefault(pairs.task(each[0]), []).append(each)
    differing: dict[str, list[tuple[Named, Named, list[Named]]]] = {"same": [], "swap": []}
    for of in by_task.values():
        for one, other in combinations(of, 2):
            if pairs.succeeded(one[0]) != pairs.succeeded(other[0]):
                rest = [each for each in of if each[0] not in (one[0], other[0])]
                differing["same" if one[1] == other[1] else "swap"].append((one, other, rest))
    return [
        _task_row(name, kind, *pair)
        for kind, found in differing.items()
        for pair in random.Random(f"{name} {kind}").sample(found, min(sampled, len(found)))
    ]


def _task_row(name: str, kind: str, one: Named, other: Named, rest: Sequence[Named]) -> RealRow:
    alike = [[pairs.succeeded(row) for row, config in rest if config == side[1]] for side in (one, other)]
    if kind == "same":  # each recording repeats one side only
        alike = [alike[0][::2], alike[0][1::2]]
    given = _declared(one[0]), _declared(other[0])
    verdict = _proved(Oracle(alike[0], alike[1], pairs.succeeded(one[0])), _case(pairs.examined(*given)))
    said = pairs.compared(*given).attribution
    silent = pairs.compared(_undeclared(one[0]), _undeclared(other[0])).attribution.verdict if kind == "same" else ""
    return RealRow(
        scope="task",
        kind=kind,
        pair=f"{name} {one[1]} / {other[1]}",
        recordings=said.verdict,
        recordings_confidence=said.confidence or "",
        undeclared=silent,
        **verdict,
    )


def _case(seen: Examination) -> Case:
    """As the product makes it of two separate recordings; the question is whether the task was done."""
    atoms = certificates.valid_for([change.atom for change in roots(seen)], _DONE.kind)
    return Case(
        question=_DONE, atoms=atoms, is_sampled=True, chance=certificates.chance(seen, atoms, _DONE.kind, lattice=False)
    )


def _population_rows(given: Sequence[JSONObject], draws: int) -> list[RealRow]:
    """Two recordings sets of all tasks, of the same configuration or of two; each repeat is another task."""
    sets: dict[str, list[bool]] = {}
    for row in given:
        config = row["config"]
        sets.setdefault(str(config.get("run")) if isinstance(config, dict) else "", []).append(pairs.succeeded(row))
    found = []
    case = Case(question=_DONE, atoms=[Atom(id="swap", category="model", title="the configuration")], is_sampled=True)
    for one, other in combinations(sorted(sets), 2):
        kind = "same" if _SAME.get(one, one) == _SAME.get(other, other) else "swap"
        for draw in range(draws):
            rng = random.Random(f"{one} {other} {draw}")
            sides = [rng.sample(sets[name], min(REPEATS, len(sets[name]))) for name in (one, other)]
            verdict = _proved(Oracle(sides[0], sides[1], lost=False), case)
            found.append(RealRow(scope="tasks", kind=kind, pair=f"{one} / {other}", **verdict))
    return found


def _proved(lab: Oracle, case: Case) -> dict[str, Any]:
    findings = prove(case, lab, Budget(live_calls=None, repeats=REPEATS), parts=False, mediators=False)
    noise = findings.noise
    return {
        "verdict": findings.verdict,
        "confidence": findings.confidence,
        "repeats": min(noise.base_n, noise.candidate_n),
        "blamed": bool(findings.primary) and findings.confidence in {"high", "medium"},
    }


def summary(rows: Sequence[RealRow]) -> JSONObject:
    found: JSONObject = {}
    for scope in ("task", "tasks"):
        for kind in ("same", "swap"):
            of = [row for row in rows if (row.scope, row.kind) == (scope, kind)]
            found[f"{kind}, one {scope}" if scope == "task" else f"{kind}, over tasks"] = _cell(of)
    found["above medium without 4+4"] = sum(row.confidence == "high" and row.repeats < 4 for row in rows)
    return found


def _cell(rows: Sequence[RealRow]) -> JSONObject:
    blamed = sum(row.blamed for row in rows)
    alone = [row.recordings for row in rows if row.recordings]
    silent = [row.undeclared for row in rows if row.undeclared]
    return {
        "pairs": len(rows),
        "blamed": blamed,
        "wilson": list(scoring.wilson(blamed, len(rows))),
        "noise": scoring.share(row.verdict == "noise" for row in rows),
        "levels": {level: sum(row.confidence == level for row in rows) for level in scoring.LEVELS},
        "recordings_alone": {said: alone.count(said) for said in sorted(set(alone))},
        "undeclared": {said: silent.count(said) for said in sorted(set(silent))},
        "recordings_alone_above_low": sum(row.recordings_confidence in {"medium", "high"} for row in rows),
    }


def as_json(row: RealRow) -> JSONObject:
    return asdict(row)
