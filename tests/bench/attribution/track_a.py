"""Track A: causes that are known, because every combination was run."""

import random
import time
from collections.abc import Sequence
from typing import Final

from replay.proofs.core.types import Budget
from replay.proofs.evidence.findings import prove
from tests.bench.attribution import scoring
from tests.bench.attribution.baselines import BASELINES, Blame
from tests.bench.attribution.cases import BenchCase, Split, one
from tests.bench.attribution.lab import Bench, BenchLab
from tests.bench.attribution.scoring import Row

SEED: Final = 20_260_101
Numbered = tuple[Split, int]


def plan(count: int) -> list[Numbered]:
    """Half of the cases balanced, a quarter each that please the prior and that mislead."""
    quarter = count // 4
    sizes: dict[Split, int] = {
        "balanced": count - 2 * quarter,
        "prior-friendly": quarter,
        "adversarial": quarter,
    }
    return [(split, number) for split, size in sizes.items() for number in range(size)]


def case_of(split: Split, number: int) -> BenchCase:
    return one(split, number, SEED, _misleads if split == "adversarial" else lambda case: True)


def _misleads(case: BenchCase) -> bool:
    """Whether what acts on the first step that answers differently is no part of any cause."""
    bench = Bench(case)
    first = bench.first_divergence()
    acting = {injection.id for injection in case.injections if first in bench.places(injection)}
    members = frozenset[str]().union(*case.truth.sets)
    return bool(acting) and not acting & members


def row(numbered: Numbered) -> Row:
    """Make one case, prove it, and compare."""
    bench = Bench(case_of(*numbered))
    lab = BenchLab(bench)
    began = time.process_time()
    findings = prove(lab.case(), lab, Budget(probes=5000, live_calls=None))
    ms = 1000 * (time.process_time() - began)
    truth, case = bench.case.truth, bench.case
    members = frozenset[str]().union(*truth.sets)
    ranked = scoring.ranking(findings)
    named = frozenset(findings.primary[0]) if findings.primary else frozenset[str]()
    blames = blamed(bench)
    return Row(
        split=case.split,
        number=case.number,
        pipeline=case.pipeline.name,
        size=len(case.injections),
        flavour=truth.flavour,
        verdict=findings.verdict,
        confidence=findings.confidence,
        right=scoring.right(findings, truth.sets, truth.structure),
        kind_right=scoring.kind_of(findings) == truth.structure,
        blamed=bool(findings.primary),
        top=bool(named) and ranked[0] in members if members else None,
        reciprocal=scoring.reciprocal_rank(ranked, members) if members else None,
        set_f1=scoring.set_f1(named, truth.sets) if members else None,
        hunk=scoring.hunk_right(findings, bench) if members else None,
        mediator_off=scoring.mediator_off(findings, scoring.mediators(bench)) if members else None,
        searched=scoring.searched(findings),
        replays=lab.replays,
        executed=findings.steps_executed,
        ms=ms,
        baselines={name: blame.atom in members for name, blame in blames.items()} if members else {},
        baseline_replays={name: blame.replays for name, blame in blames.items()} if members else {},
    )


def blamed(bench: Bench) -> dict[str, Blame]:
    if not bench.case.truth.sets:
        return {}
    rng = random.Random(f"{bench.case.split} {bench.case.number}")
    return {name: baseline(bench, rng) for name, baseline in BASELINES.items()}


def rows(numbered: Sequence[Numbered]) -> list[Row]:
    return [row(each) for each in numbered]
