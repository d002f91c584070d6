"""Track B: chance. A model that errs at random, pairs with and without a cause, and the value of repeats."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Final

from diffing.schemas.evidence import ProbeOutcome
from replay.proofs.core.types import Allowance, Atoms, Budget, Case, ProbeResult, ProbeSpec
from replay.proofs.evidence.findings import prove
from tests.bench.attribution import scoring
from tests.bench.attribution.cases import BenchCase, Split
from tests.bench.attribution.lab import Bench, BenchLab
from tests.bench.attribution.mechanisms.dice import RECORDING, Dice, NeedsLive, SampledModel, key_of
from tests.bench.attribution.mechanisms.pipelines import Pipeline
from tests.bench.attribution.replays import REEXECUTE, Source, replay
from tests.bench.attribution.track_a import case_of
from tests.bench.attribution.truth import Injection, find
from tests.bench.attribution.unaided_lab import UnaidedLab
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType

EPS: Final = (0.0, 0.02, 0.1, 0.3)
REPEATS: Final = (4, 6, 10)


@dataclass
class ChanceLab(BenchLab):
    """Lab whose probes reuse recorded answers and sample only new ones; repeats sample everything again.

    Without `coupling`, every probe samples everything again, like a replay without recordings.
    """

    dice: Dice = field(default_factory=lambda: Dice(0.0, 0))
    coupling: bool = True
    gate: bool = True
    recorded_answers: dict[str, JSONObject] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for source in (self.bench.base, self.bench.candidate):
            self.recorded_answers |= _recorded_answers(source)

    def case(self) -> Case:
        exact = super().case()
        return Case(
            question=exact.question,
            atoms=exact.atoms,
            differs=exact.differs,
            features=exact.features,
            one_space=True,
            is_sampled=self.gate and self.dice.eps > 0,
        )

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        bench = self.bench
        source = bench.base if ask.side == "base" else bench.candidate
        fresh = bool(ask.repeat) or not self.coupling
        sample_key = f"{ask.side} {sorted(ask.atoms)} {ask.clamp} {ask.repeat}" if fresh else "probe"
        model = SampledModel(
            lambda key, request, name: self.dice.draw(sample_key, key, request, name),
            answers={} if fresh else self.recorded_answers,
            max_calls=allowance.live_calls,
        )
        self.replays += 1
        try:
            policy = REEXECUTE if fresh else None
            result = replay(source, bench.settings(ask.atoms), model=model, clamp=self._clamp(ask), policy=policy)
        except NeedsLive:
            return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing="a model's answer", live_calls=model.count)
        return ProbeResult(
            outcome=self.outcome(result.answer),
            value=result.answer,
            summary=result.answer,
            executed_steps=result.resolved_steps,
            live_calls=model.count,
        )


def _recorded_answers(source: Source) -> dict[str, JSONObject]:
    answers = {}
    for step in source.run.steps:
        if step.type is StepType.MODEL and isinstance(step.input, dict) and isinstance(step.output, dict):
            message = step.output["message"]
            assert isinstance(message, dict)
            answers[key_of(step.input, step.model)] = message
    return answers


@dataclass
class SampledBench(Bench):
    """Case whose two recordings are random samples."""

    dice: Dice = field(default_factory=lambda: Dice(0.0, 0))
    attempt: int = 0

    def __post_init__(self) -> None:
        program = self.case.pipeline.program
        before, after = self.settings(()), self.settings(self.case.by_id)
        self.base = Source.record(program, before, self.dice.model(f"{RECORDING} base {self.attempt}"))
        self.candidate = Source.record(program, after, self.dice.model(f"{RECORDING} candidate {self.attempt}"))


@dataclass(frozen=True, kw_only=True)
class ChanceRow:
    """One pair with different answers, and its verdict."""

    kind: str  # "a/a" or "cause"
    eps: float
    # Maximum number of repeats per side.
    budget: int
    coupling: bool
    gate: bool
    verdict: str
    confidence: str
    blames: bool
    right: bool
    repeats: int
    live_calls: int
    # Pairs recorded until one met the condition.
    recorded_pairs: int
    # Reported as chance from the two recordings alone.
    reported_as_chance: bool = False


def without_cause(number: int, eps: float) -> SampledBench:
    """Sample a pair with different answers although the only changes are rewordings."""
    case = idle_case(number)
    for attempt in count():
        bench = SampledBench(case, dice=Dice(eps, number), attempt=attempt)
        if bench.base.answer != bench.candidate.answer:
            return bench
    raise AssertionError("counting never ends")


def idle_case(number: int) -> BenchCase:
    """Return a case whose changes never matter, derived from a case of track A."""
    for offset in count():
        # These numbers give cases of 3 or 5 changes.
        case = case_of("balanced", 6 * (1000 * (number + 1) + offset) + 2 + number % 2)
        idle = tuple(injection for injection in case.injections if injection.id not in case.truth.acting)
        if idle:
            return _only(case.pipeline, idle[:3], number)
    raise AssertionError("counting never ends")


def _only(pipeline: Pipeline, injections: Sequence[Injection], number: int) -> BenchCase:
    split: Split = "balanced"
    truth = find(pipeline, injections)
    return BenchCase(number=number, split=split, pipeline=pipeline, injections=tuple(injections), truth=truth)


def with_cause(number: int, eps: float) -> SampledBench:
    """Sample a case with a single cause until both recordings give the answers of an error-free model."""
    case = _single(number)
    for attempt in count():
        bench = SampledBench(case, dice=Dice(eps, number), attempt=attempt)
        if (bench.base.answer, bench.candidate.answer) == (case.truth.base, case.truth.full):
            return bench
    raise AssertionError("counting never ends")


def _single(number: int) -> BenchCase:
    for offset in count():
        # These numbers give cases of 2 to 8 changes.
        case = case_of("balanced", 6 * (7_000_000 + 10 * number + offset) + 1 + number % 4)
        if case.truth.structure == "single":
            return case
    raise AssertionError("counting never ends")


def row(bench: SampledBench, kind: str, budget: int, *, coupling: bool = True, gate: bool = True) -> ChanceRow:
    lab = ChanceLab(bench, dice=bench.dice, coupling=coupling, gate=gate)
    findings = prove(lab.case(), lab, Budget(probes=500, live_calls=None, repeats=budget), parts=False, mediators=False)
    named_atoms: Atoms = frozenset(findings.primary[0]) if findings.primary else frozenset()
    sets = bench.case.truth.sets
    return ChanceRow(
        kind=kind,
        eps=bench.dice.eps,
        budget=budget,
        coupling=coupling,
        gate=gate,
        verdict=findings.verdict,
        confidence=findings.confidence,
        blames=bool(findings.primary) and findings.confidence != "low",
        right=named_atoms in sets if kind == "cause" else not findings.primary,
        repeats=max(findings.noise.base_n, findings.noise.candidate_n),
        live_calls=findings.live_calls,
        recorded_pairs=bench.attempt + 1,
        reported_as_chance=UnaidedLab(bench).examination.reasoning.chance.certain,
    )


Job = tuple[str, int, float]


def plan(aa_pairs: int, cause_pairs: int) -> list[Job]:
    """Plan pairs without and with a cause. At eps 0 two samples never differ, so it has only pairs with a cause."""
    noisy = EPS[1:]
    jobs: list[Job] = [("a/a", number, noisy[number % len(noisy)]) for number in range(aa_pairs)]
    return jobs + [("cause", number, EPS[number % len(EPS)]) for number in range(cause_pairs)]


def rows(jobs: Sequence[Job], ungated: int) -> list[ChanceRow]:
    """Prove each pair with every budget of repeats; the first `ungated` of a kind also without the gate.

    Without it, in two ways: coupled, and resampled.
    """
    results = []
    for kind, number, eps in jobs:
        bench = (without_cause if kind == "a/a" else with_cause)(number, eps)
        results += [row(bench, kind, budget) for budget in REPEATS]
        if number < ungated:
            results += [row(bench, kind, 0, coupling=coupling, gate=False) for coupling in (True, False)]
    return results


def summary(rows: Sequence[ChanceRow]) -> JSONObject:
    """Summarise by eps and budget: false blame with its interval, power, repeats until the decision."""
    cells: JSONObject = {}
    for eps in EPS:
        for budget in (*REPEATS, 0):
            for coupling in (True, False) if budget == 0 else (True,):
                group = [row for row in rows if (row.eps, row.budget, row.coupling) == (eps, budget, coupling)]
                name = f"eps {eps:g}, " + (f"{budget} repeats" if budget else "no gate, " + _sampling(coupling))
                cells[name] = _cell(group)
    gated_rows = [row for row in rows if row.kind == "a/a" and row.gate]
    cells["a/a, all eps"] = {
        f"{budget} repeats": _blame_rate(row for row in gated_rows if row.budget == budget) for budget in REPEATS
    }
    return cells


def _sampling(coupling: bool) -> str:
    return "coupled" if coupling else "resampled"


def _cell(rows: Sequence[ChanceRow]) -> JSONObject:
    with_cause = [row for row in rows if row.kind == "cause"]
    high = [row.right for row in with_cause if row.confidence == "high"]
    return {
        "false_blame": _blame_rate(row for row in rows if row.kind == "a/a"),
        "cause_pairs": len(with_cause),
        "power": scoring.share(row.right and row.confidence in {"high", "medium"} for row in with_cause),
        "right": scoring.share(row.right for row in with_cause),
        "high": len(high),
        "high_precision": scoring.share(high),
        "repeats": scoring.mean(float(row.repeats) for row in rows),
        "live_calls": scoring.mean(float(row.live_calls) for row in rows),
    }


def _blame_rate(rows: Iterable[ChanceRow]) -> JSONObject:
    pairs = list(rows)
    hits = sum(row.blames for row in pairs)
    low, high = scoring.wilson(hits, len(pairs))
    return {"pairs": len(pairs), "blamed": hits, "share": hits / len(pairs) if pairs else None, "wilson": [low, high]}


def as_json(row: ChanceRow) -> JSONObject:
    return asdict(row)
