"""Coarser questions of a proof, and the results of its probes under them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from diffing.schemas.evidence import EvidenceQuestion
from replay.proofs.core.types import Atoms, Case, ProbeResult, ProbeSpec, Side
from replay.proofs.counterfactual import outcomes
from replay.proofs.ladder.facts import NO_ATOMS, Facts
from traces.signatures.call_shapes import stated_facts

# The questions that compare answers for equality.
ANSWERS: Final = frozenset({"answer", "answer_exact", "answer_facts"})


@dataclass(frozen=True, kw_only=True)
class Questions:
    """The requested question and coarser ones, the finest first. `changes`: all that separate the two sides."""

    case: Case
    facts: Facts
    changes: Atoms

    @property
    def scale(self) -> list[EvidenceQuestion]:
        return [self.case.question, *self.case.coarser]

    def is_about_figures(self, question: EvidenceQuestion) -> bool:
        """Return whether the question compares facts, and the two recorded answers have different numbers.

        Without repeats that end, nothing shows which words of quantity belong to the wording.
        """
        answers = [self.case.values.get(side, {}).get("answer_exact", "") for side in ("base", "candidate")]
        numbers = [[fact for fact in stated_facts(answer) if any(map(str.isdigit, fact))] for answer in answers]
        return question.kind == "answer_facts" and numbers[0] != numbers[1]

    def separates(self, question: EvidenceQuestion) -> bool:
        """Return whether the two recordings have different outcomes under a question."""
        return self._recorded_value("base", question) != self._recorded_value("candidate", question)

    def reinterpret(self, question: EvidenceQuestion, spec: ProbeSpec, result: ProbeResult) -> ProbeResult:
        """The result of a probe under a question."""
        value = result.values.get(question.kind)
        if question is self.case.question or not result.is_settled or value is None:
            return result
        if question.kind == "answer_alike":
            outcome = outcomes.alike(value, *(self._answers(side, spec) for side in ("base", "candidate")))
        else:
            base, candidate = (self._recorded_value(side, question) for side in ("base", "candidate"))
            outcome = outcomes.classify(value, base=base, candidate=candidate)
        return replace(result, outcome=outcome, value=value)

    def _recorded_value(self, side: Side, question: EvidenceQuestion) -> str:
        return self.case.values.get(side, {}).get(question.kind, "")

    def _answers(self, side: Side, exclude: ProbeSpec) -> Sequence[str]:
        """The answers of a side: the recorded one and those of its repeats, without the excluded one."""
        atoms = NO_ATOMS if side == "base" else self.changes
        kind: Final = "answer_alike"
        repeats = [
            probe.result.values[kind]
            for spec, probe in self.facts.probes.items()
            if spec.repeat
            and (spec.atoms, spec.side) == (atoms, side)
            and spec != exclude
            and kind in probe.result.values
        ]
        return [self.case.values.get(side, {}).get(kind, ""), *repeats]
