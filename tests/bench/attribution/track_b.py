"""Track B: chance. A model that slips, pairs without a cause, pairs with one, and what repeats are worth."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Final

from replay.proofs.core.types import Allowance, Atoms, Budget, Case, ProbeResult, ProbeSpec
from replay.proofs.evidence.findings import prove
from tests.bench.attribution import scoring
from tests.bench.attribution.cases import BenchCase, Split
from tests.bench.attribution.lab import Bench, BenchLab
from tests.bench.attribution.mechanisms.dice import RECORDING, Dice, Drawn, NeedsLive, key_of
from tests.bench.attribution.mechanisms.pipelines import Pipeline
from tests.bench.attribution.replays import REEXECUTE, Source, replay
from tests.bench.attribution.track_a import case_of
from tests.bench.attribution.truth import Injection, find
from tests.bench.attribution.unaided import UnaidedLab
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType

EPS: Final = (0.0, 0.02, 0.1, 0.3)
REPEATS: Final = (4, 6, 10)


@dataclass
class ChanceLab(BenchLab):
    """Probes reuse what is recorded and draw only what is new; repeats draw everything anew.

    Not `coupled`: every probe draws everything anew, as replaying without recordings would.
    """

    dice: Dice = field(default_factory=lambda: Dice(0.0, 0))
    coupled: bool = True
    gated: bool = True
    drawn: dict[str, JSONObject] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for source in (self.bench.base, self.bench.candidate):
            self.drawn |= _recorded(source)

    def case(self) -> Case:
        exact = super().case()
        return Case(
            question=exact.question,
            atoms=exact.atoms,
            differs=exact.differs,
            features=exact.features,
            one_space=True,
            is_sampled=self.gated and self.dice.eps > 0,
        )

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        bench = self.bench
        source = bench.base if ask.side == "base" else bench.candidate
        anew = bool(ask.repeat) or not self.coupled
        throw = f"{ask.side} {sorted(ask.atoms)} {ask.clamp} {ask.repeat}" if anew else "probe"
        model = Drawn(
            lambda key, request, name: self.dice.draw(throw, key, request, name),
            known={} if anew else self.drawn,
            allowed=allowance.live_calls,
        )
        self.replays += 1
        try:
            policy = REEXECUTE if anew else None
            came = replay(source, bench.settings(ask.atoms), model=model, clamp=self._clamp(ask), policy=policy)
        except NeedsLive:
            return ProbeResult(outcome="needs_live", missing="a model's answer", live_calls=model.count)
        return ProbeResult(
            outcome=self.outcome(came.answer), summary=came.answer, executed_steps=came.resolved, live_calls=model.count
        )


def _recorded(source: Source) -> dict[str, JSONObject]:
    found = {}
    for step in source.run.steps:
        if step.type is StepType.MODEL and isinstance(step.input, dict) and isinstance(step.output, dict):
            message = step.output["message"]
            assert isinstance(message, dict)
            found[key_of(step.input, step.model)] = message
    return found


@dataclass
class Thrown(Bench):
    """A case whose two recordings are two samples."""

    dice: Dice = field(default_factory=lambda: Dice(0.0, 0))
    attempt: int = 0

    def __post_init__(self) -> None:
        program = self.case.pipeline.program
        before, after = self.settings(()), self.settings(self.case.by_id)
        self.base = Source.of(program, before, self.dice.model(f"{RECORDING} base {self.attempt}"))
        self.candidate = Source.of(program, after, self.dice.model(f"{RECORDING} candidate {self.attempt}"))


@dataclass(frozen=True, kw_only=True)
class ChanceRow:
    """One pair that differs, and what was said of it."""

    kind: str  # "a/a" or "cause"
    eps: float
    budget: int  # repeats of each side at most
    coupled: bool
    gated: bool
    verdict: str
    confidence: str
    blamed: bool
    right: bool
    repeats: int
    live_calls: int
    looked_at: int  # pairs that had to be recorded until one differed
    excused: bool = False  # called chance by the two recordings alone


def without_cause(number: int, eps: float) -> Thrown:
    """Two samples that differ although nothing but words was changed between them."""
    case = idle_case(number)
    for attempt in count():
        bench = Thrown(case, dice=Dice(eps, number), attempt=attempt)
        if bench.base.answer != bench.candidate.answer:
            return bench
    raise AssertionError("counting never ends")


def idle_case(number: int) -> BenchCase:
    """A case whose changes never matter, taken from those of the first track."""
    for offset in count():
        case = case_of("balanced", 6 * (1000 * (number + 1) + offset) + 2 + number % 2)  # of 3 or 5 changes
        idle = tuple(each for each in case.injections if each.id not in case.truth.acting)
        if idle:
            return _only(case.pipeline, idle[:3], number)
    raise AssertionError("counting never ends")


def _only(pipeline: Pipeline, injections: Sequence[Injection], number: int) -> BenchCase:
    split: Split = "balanced"
    truth = find(pipeline, injections)
    return BenchCase(number=number, split=split, pipeline=pipeline, injections=tuple(injections), truth=truth)


def with_cause(number: int, eps: float) -> Thrown:
    """Two samples of a case with a single cause, both as they are without slips."""
    case = _single(number)
    for attempt in count():
        bench = Thrown(case, dice=Dice(eps, number), attempt=attempt)
        if (bench.base.answer, bench.candidate.answer) == (case.truth.base, case.truth.full):
            return bench
    raise AssertionError("counting never ends")


def _single(number: int) -> BenchCase:
    for offset in count():
        case = case_of("balanced", 6 * (7_000_000 + 10 * number + offset) + 1 + number % 4)  # of 2 to 8 changes
        if case.truth.structure == "single":
            return case
    raise AssertionError("counting never ends")


def row(bench: Thrown, kind: str, budget: int, *, coupled: bool = True, gated: bool = True) -> ChanceRow:
    lab = ChanceLab(bench, dice=bench.dice, coupled=coupled, gated=gated)
    findings = prove(lab.case(), lab, Budget(probes=500, live_calls=None, repeats=budget), parts=False, mediators=False)
    named: Atoms = frozenset(findings.primary[0]) if findings.primary else frozenset()
    sets = bench.case.truth.sets
    return ChanceRow(
        kind=kind,
        eps=bench.dice.eps,
        budget=budget,
        coupled=coupled,
        gated=gated,
        verdict=findings.verdict,
        confidence=findings.confidence,
        blamed=bool(findings.primary) and findings.confidence != "low",
        right=named in sets if kind == "cause" else not findings.primary,
        repeats=max(findings.noise.base_n, findings.noise.candidate_n),
        live_calls=findings.live_calls,
        looked_at=bench.attempt + 1,
        excused=UnaidedLab(bench).seen.reasoning.chance.certain,
    )


Job = tuple[str, int, float]


def plan(alike: int, caused: int) -> list[Job]:
    """Pairs without a cause and pairs with one; without noise no two samples differ, so eps 0 has only causes."""
    noisy = EPS[1:]
    jobs: list[Job] = [("a/a", number, noisy[number % len(noisy)]) for number in range(alike)]
    return jobs + [("cause", number, EPS[number % len(EPS)]) for number in range(caused)]


def rows(jobs: Sequence[Job]) -> list[ChanceRow]:
    """Each pair with every budget of repeats, and once without gate: coupled, and sampled afresh."""
    found = []
    for kind, number, eps in jobs:
        bench = (without_cause if kind == "a/a" else with_cause)(number, eps)
        found += [row(bench, kind, budget) for budget in REPEATS]
        found += [row(bench, kind, 0, coupled=coupled, gated=False) for coupled in (True, False)]
    return found


def summary(rows: Sequence[ChanceRow]) -> JSONObject:
    """By eps and budget: false blame with its interval, power, repeats until it was decided."""
    found: JSONObject = {}
    for eps in EPS:
        for budget in (*REPEATS, 0):
            for coupled in (True, False) if budget == 0 else (True,):
                of = [row for row in rows if (row.eps, row.budget, row.coupled) == (eps, budget, coupled)]
                name = f"eps {eps:g}, " + (f"{budget} repeats" if budget else "no gate, " + _way(coupled))
                found[name] = _cell(of)
    gated = [row for row in rows if row.kind == "a/a" and row.gated]
    found["a/a, all eps"] = {
        f"{budget} repeats": _false(row for row in gated if row.budget == budget) for budget in REPEATS
    }
    return found


def _way(coupled: bool) -> str:
    return "coupled" if coupled else "sampled afresh"


def _cell(rows: Sequence[ChanceRow]) -> JSONObject:
    caused = [row for row in rows if row.kind == "cause"]
    high = [row.right for row in caused if row.confidence == "high"]
    return {
        "false_blame": _false(row for row in rows if row.kind == "a/a"),
        "cause_pairs": len(caused),
        "power": scoring.share(row.right and row.confidence in {"high", "medium"} for row in caused),
        "right": scoring.share(row.right for row in caused),
        "high": len(high),
        "high_precision": scoring.share(high),
        "repeats": scoring.mean(float(row.repeats) for row in rows),
        "live_calls": scoring.mean(float(row.live_calls) for row in rows),
    }


def _false(rows: Iterable[ChanceRow]) -> JSONObject:
    given = list(rows)
    hits = sum(row.blamed for row in given)
    low, high = scoring.wilson(hits, len(given))
    return {"pairs": len(given), "blamed": hits, "share": hits / len(given) if given else None, "wilson": [low, high]}


def as_json(row: ChanceRow) -> JSONObject:
    return asdict(row)
