"""Track A: known causes, established by running every combination of the changes."""

import random
import time
from collections.abc import Sequence
from typing import Final

from replay.proofs.core.types import Budget
from replay.proofs.evidence.findings import prove
from tests.bench.attribution import scoring
from tests.bench.attribution.baselines import BASELINES, Blame
from tests.bench.attribution.cases import BenchCase, Split, draw_case
from tests.bench.attribution.lab import Bench, BenchLab
from tests.bench.attribution.scoring import Row

SEED: Final = 20_260_101
CaseId = tuple[Split, int]


def plan(count: int) -> list[CaseId]:
    """Plan the cases: half balanced, a quarter prior-friendly, a quarter adversarial."""
    quarter = count // 4
    sizes: dict[Split, int] = {
        "balanced": count - 2 * quarter,
        "prior-friendly": quarter,
        "adversarial": quarter,
    }
    return [(split, number) for split, size in sizes.items() for number in range(size)]


def case_of(split: Split, number: int) -> BenchCase:
    return draw_case(split, number, SEED, _misleads if split == "adversarial" else lambda case: True)


def _misleads(case: BenchCase) -> bool:
    """Return whether the changes at the first diverging step exist and are part of no cause."""
    bench = Bench(case)
    first = bench.first_divergence()
    acting = {injection.id for injection in case.injections if first in bench.places(injection)}
    members = frozenset[str]().union(*case.truth.sets)
    return bool(acting) and not acting & members


def row(case_id: CaseId) -> Row:
    """Build one case, prove it, and score the findings."""
    bench = Bench(case_of(*case_id))
    lab = BenchLab(bench)
    began = time.process_time()
    findings = prove(lab.case(), lab, Budget(probes=5000, live_calls=None))
    ms = 1000 * (time.process_time() - began)
    truth, case = bench.case.truth, bench.case
    members = frozenset[str]().union(*truth.sets)
    order = scoring.ranking(findings)
    named_ids = frozenset(findings.primary[0]) if findings.primary else frozenset[str]()
    blames = baseline_blames(bench)
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
        blames=bool(findings.primary),
        top=bool(named_ids) and order[0] in members if members else None,
        reciprocal=scoring.reciprocal_rank(order, members) if members else None,
        set_f1=scoring.set_f1(named_ids, truth.sets) if members else None,
        hunk=scoring.hunk_right(findings, bench) if members else None,
        mediator_off=scoring.mediator_off(findings, scoring.mediators(bench)) if members else None,
        search_replays=scoring.search_replays(findings),
        replays=lab.replays,
        executed_steps=findings.steps_executed,
        ms=ms,
        baselines={name: blame.atom in members for name, blame in blames.items()} if members else {},
        baseline_replays={name: blame.replays for name, blame in blames.items()} if members else {},
    )


def baseline_blames(bench: Bench) -> dict[str, Blame]:
    if not bench.case.truth.sets:
        return {}
    rng = random.Random(f"{bench.case.split} {bench.case.number}")
    return {name: baseline(bench, rng) for name, baseline in BASELINES.items()}


def rows(case_ids: Sequence[CaseId]) -> list[Row]:
    return [row(case_id) for case_id in case_ids]
