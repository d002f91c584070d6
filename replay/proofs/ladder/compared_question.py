"""The question under which outcomes are compared: the requested one, or a coarser one if repeats disagree. Pure."""

from dataclasses import replace
from typing import Final

from diffing.schemas.evidence import EvidenceQuestion, GateStatus, NoiseGate, QuestionKind
from replay.proofs.core.types import Case, ProbeResult, ProbeSpec, Side
from replay.proofs.counterfactual import outcomes
from replay.proofs.ladder import noise_gate
from replay.proofs.ladder.facts import NO_ATOMS, Space
from traces.signatures.call_shapes import stated_facts

# The questions that compare answers for equality.
_ANSWERS: Final = frozenset({"answer", "answer_exact", "answer_facts"})


class ComparedQuestion:
    """The current question of a proof; the probes of its space are interpreted under it."""

    def __init__(self, case: Case, space: Space) -> None:
        self._case = case
        self._space = space
        self.current = case.question

    def coarsen(self, gate: NoiseGate) -> bool:
        """Switch to a coarser question if repeats of an unchanged side disagree under this one; False to keep it."""
        base, candidate = noise_gate.sides(self._space)
        is_ruled_out = gate.status == GateStatus.RULED_OUT
        if is_ruled_out and (base.stray() or noise_gate.are_recognised(self._space, by_most=self.is_alike)):
            return False
        scale = [self._case.question, *self._case.coarser]
        if base.stray() and self.current.kind in _ANSWERS:
            # The outputs differ each time, so no two answers can be expected to be equal.
            self._switch(next(filter(self._is_about_figures, scale), scale[-1]))
            if not (noise_gate.is_steady(base) and noise_gate.is_steady(candidate)):
                self._switch(scale[-1])
            return False
        if not (noise_gate.disagree(base) or noise_gate.disagree(candidate)):
            return False
        question = self.current
        for coarser_question in scale[scale.index(question) + 1 :]:
            self._switch(coarser_question)
            if self._differs() and noise_gate.is_steady(base) and noise_gate.is_steady(candidate):
                return True
        if is_ruled_out or question is scale[-1]:
            self._switch(question)
            return False
        return True

    def find_overlap(self, gate: NoiseGate) -> None:
        """Switch to the finest question under which repeats of the sides coincide, if none separates the sides.

        Answers that resemble neither recorded one coincide in nothing.
        """
        if gate.status != GateStatus.NOT_RULED_OUT or self.sides_coincide():
            return
        last_question = self.current
        for question in (self._case.question, *self._case.coarser):
            self._switch(question)
            if self._differs() and self._can_coincide() and self.sides_coincide():
                return
        self._switch(last_question)

    def sides_coincide(self) -> bool:
        """True if the two sides ever have the same outcome.

        If no repeat resembles the recorded answer of its side, resemblance means nothing.
        """
        is_meaningful = not self.is_alike or any(side.side in side.outcomes() for side in noise_gate.sides(self._space))
        return is_meaningful and noise_gate.overlap(self._space)

    def base_varies(self, kind: QuestionKind) -> bool:
        """True if the unchanged base, recorded or repeated, has several outcomes under a question of this kind."""
        base, _ = noise_gate.sides(self._space)
        repeated_values = {result.values.get(kind, result.outcome) for result in base.all() if result.is_settled}
        recorded_value = self._case.values.get("base", {}).get(kind)
        return len(repeated_values | ({recorded_value} if recorded_value is not None else set())) > 1

    @property
    def is_alike(self) -> bool:
        """True if the question is about resemblance: any two answers resemble either side."""
        return self.current.kind == "answer_alike"

    def _differs(self) -> bool:
        return self._recorded_value("base") != self._recorded_value("candidate")

    def _is_about_figures(self, question: EvidenceQuestion) -> bool:
        """Return whether the question compares facts, and the two recorded answers have different numbers.

        Without repeats that end, nothing shows which words of quantity belong to the wording.
        """
        numbers = [[fact for fact in facts if any(map(str.isdigit, fact))] for facts in self._stated_facts()]
        return question.kind == "answer_facts" and numbers[0] != numbers[1]

    def _can_coincide(self) -> bool:
        """Return whether equal outcomes mean something: answers that state no facts may differ in all they say."""
        return self.current.kind != "answer_facts" or all(self._stated_facts())

    def _stated_facts(self) -> list[list[str]]:
        """The facts in the two recorded answers."""
        answers = [self._case.values.get(side, {}).get("answer_exact", "") for side in ("base", "candidate")]
        return [[*stated_facts(answer)] for answer in answers]

    def _switch(self, question: EvidenceQuestion) -> None:
        self.current = question
        self._reinterpret_probes()

    def reinterpret_all(self) -> None:
        """Reinterpret every probe after one was added; under the requested question, each is already right."""
        if self.current is not self._case.question:
            self._reinterpret_probes()

    def _reinterpret_probes(self) -> None:
        for spec, probe in self._space.facts.probes.items():
            self._space.facts.probes[spec] = replace(probe, result=self._reinterpret(spec, probe.result))

    def _recorded_value(self, side: Side) -> str:
        return self._case.values.get(side, {}).get(self.current.kind, "")

    def _reinterpret(self, spec: ProbeSpec, result: ProbeResult) -> ProbeResult:
        """The result of a probe under the current question."""
        kind = self.current.kind
        value = result.values.get(kind)
        if not result.is_settled or value is None:
            return result
        if kind == "answer_alike":
            outcome = outcomes.alike(value, self._answers("base", spec), self._answers("candidate", spec))
            return replace(result, outcome=outcome, value="")
        base, candidate = self._recorded_value("base"), self._recorded_value("candidate")
        return replace(result, outcome=outcomes.classify(value, base=base, candidate=candidate), value=value)

    def _answers(self, side: Side, exclude: ProbeSpec) -> list[str]:
        """The answers of a side: the recorded one and those of its repeats, without the excluded one."""
        atoms = NO_ATOMS if side == "base" else self._space.all
        repeats = [
            probe.result
            for spec, probe in self._space.facts.probes.items()
            if spec.repeat and (spec.atoms, spec.side) == (atoms, side) and spec != exclude
        ]
        kind = self.current.kind
        return [self._recorded_value(side), *(repeat.values[kind] for repeat in repeats if kind in repeat.values)]
