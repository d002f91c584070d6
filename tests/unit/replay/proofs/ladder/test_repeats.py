"""Noisy models: the recorded outcome is the usual one, and repeats tell chance samples from causes."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from diffing.schemas.evidence import Findings, ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, PathStep, ProbeResult, ProbeSpec
from replay.proofs.evidence.findings import prove
from replay.proofs.ladder.ladder import Ladder
from tests.support.ladder_truths import case

OTHERS = ("late", "lost", "unpaid", "closed", "none")
CAUSE = frozenset("a")


@dataclass
class NoisyModel:
    """A prober of two changes, the first of which is the cause. `error`: the outcome of a sample that errs."""

    error: Callable[[ProbeSpec], str | None]

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        value = self.error(spec) or ("candidate" if spec.atoms >= CAUSE else "base")
        outcome = ProbeOutcome(value) if value in {"base", "candidate"} else ProbeOutcome.OTHER
        return ProbeResult(outcome=outcome, value=value, live_calls=1)

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: Atoms) -> list[PathStep]:
        return []


def prove_model(error: Callable[[ProbeSpec], str | None]) -> Findings:
    return prove(case(2, is_sampled=True), NoisyModel(error), Budget(live_calls=None))


@pytest.mark.parametrize(("kinds", "status"), [(5, "rejected"), (1, "not_run")])
def test_most_frequent_outcome_is_the_usual_one(kinds: int, status: str) -> None:
    """Half of the samples err. If they err differently, the recorded outcome is still the usual one."""

    def error(spec: ProbeSpec) -> str | None:
        number = spec.repeat // 2 % kinds
        return OTHERS[number] if spec.repeat and (spec.repeat % 2 == 0 or spec.repeat == 1) else None

    findings = prove_model(error)
    assert (findings.noise.status, findings.primary) == (status, [["a"]])


def test_repeats_refute_a_sample_that_erred() -> None:
    """One sample of the base with the other change alone shows the candidate's outcome by chance."""

    def error(spec: ProbeSpec) -> str | None:
        erred = spec.side == "base" and spec.atoms == frozenset("b") and not spec.repeat
        return "candidate" if erred else "other" if spec.repeat == 3 else None

    findings = prove_model(error)
    assert (findings.verdict, findings.confidence, findings.primary) == ("single", "high", [["a"]])


def test_repeats_confirm_a_cause_whose_sample_erred() -> None:
    def error(spec: ProbeSpec) -> str | None:
        erred = spec.side == "base" and spec.atoms == CAUSE and not spec.repeat
        return "other" if erred or spec.repeat == 3 else None

    findings = prove_model(error)
    assert (findings.verdict, findings.primary) == ("single", [["a"]])


def test_preview_counts_the_repeats_of_each_suspect() -> None:
    """Each change alone seems to be enough, so that all of them are repeated, beside both sides."""

    def error(spec: ProbeSpec) -> str | None:
        if not spec.repeat:
            return "candidate" if spec.side == "base" and len(spec.atoms) == 1 else None
        return (
            OTHERS[spec.repeat % 5] if spec.repeat in {3, 5, 7} or (len(spec.atoms) == 1 and spec.repeat % 2) else None
        )

    ladder = Ladder(case=case(3, is_sampled=True), prober=NoisyModel(error), budget=Budget(live_calls=None))
    repeats = sum(step.request.spec.repeat > 0 for step in ladder.run())
    assert 4 * ladder.budget.repeats < repeats <= ladder.most_repeats(may_call=True)
