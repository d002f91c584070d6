"""The evidence ladder: chance, certificates, search, shares, parts, mediators. Pure.

What it finds can be asked for after any probe, and only ever gets surer. It is driven from outside, one probe at a
time, so that whoever drives it can store every answer, stop, and go on later with the answers that there are.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from diffing.schemas.evidence import EvidenceQuestion, GateStatus, NoiseGate
from replay.proofs.core.types import (
    Allowance,
    Ask,
    Atom,
    Atoms,
    Budget,
    Case,
    Lab,
    ManyAtOnce,
    Seen,
    Side,
    Spending,
    Stage,
)
from replay.proofs.counterfactual import outcomes
from replay.proofs.ladder import mediators, noise_gate, shapley
from replay.proofs.ladder.facts import NOTHING, Asked, Facts, Space
from replay.proofs.ladder.search import FACTORIAL, Steps, explain, factorial, others, proved_single

StageName = Literal["noise", "search", "parts", "mediators", "shares", ""]
_ANSWERS = frozenset({"answer", "answer_exact", "answer_facts"})  # the questions that ask for equal answers
_DEEPEST = 3  # levels of parts: a paragraph, its sentence, the words
_SEED = 20_261  # of the permutations: the same proof asks the same probes
_ALIKE = "repeats are not more like the recording that they repeat than like the other one"
_SAMPLED = 16  # changes up to which shares are sampled


class Exhausted(Exception):
    """No probe is left in the budget."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """A probe that was just made. `fresh` is false where an earlier answer did."""

    stage: StageName
    asked: Asked
    seen: Seen


@dataclass
class Drilled:
    """A divided atom: the space of its parts."""

    atom: Atom
    space: Space


@dataclass
class Ladder:
    """One proof: `run` it; `findings` of it can be asked for at any time."""

    case: Case
    lab: Lab
    budget: Budget
    look_inside: bool = True
    look_between: bool = True
    facts: Facts = field(default_factory=Facts)
    stage: StageName = ""
    stopped: Literal["", "budget", "cancelled"] = ""
    done: set[StageName] = field(default_factory=set)
    drilled: list[Drilled] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    sampled_shares: dict[str, float] | None = None

    def __post_init__(self) -> None:
        self.question = self.case.question
        ordered = sorted((atom for atom in self.case.atoms if atom.testable), key=lambda atom: (atom.rank, atom.id))
        self.space = Space(facts=self.facts, atoms=ordered, one=self.case.one_space)
        self.facts.recorded[Ask(applied=NOTHING, side="base")] = Seen(outcome="base")
        self.facts.recorded[Ask(applied=self.space.all, side="candidate")] = Seen(outcome="candidate")

    def run(self) -> Iterator[Made]:
        """Make one probe after the other; each is stored in the facts before it is told."""
        try:
            yield from self._climb()
        except Exhausted:
            self.stopped = "budget"
        self.stage = ""

    def cancel(self) -> None:
        self.stopped = "cancelled"

    def noise(self) -> NoiseGate:
        found = noise_gate.verdict(
            self.space, sampled=self.case.sampled, most=self.budget.repeats, finished="noise" in self.done
        )
        if (
            found.status == GateStatus.RULED_OUT
            and self.question.kind == "answer_alike"
            and not noise_gate.are_recognised(self.space)
        ):
            # Likeness sorts any two texts; that it sorts the sides otherwise says nothing unless it knows each again.
            found = found.model_copy(update={"status": GateStatus.NOT_RULED_OUT, "reason": _ALIKE})
        certified = self.case.chance and found.status in {GateStatus.NOT_RUN, GateStatus.NOT_NEEDED}
        return (
            found.model_copy(update={"status": GateStatus.NOT_NEEDED, "reason": self.case.chance})
            if certified
            else found
        )

    @property
    def is_noise(self) -> bool:
        """Whether chance explains it: repeats say so, or nobody changed anything and no repeats say otherwise."""
        status = self.noise().status
        mixed = status == GateStatus.NOT_RULED_OUT and noise_gate.overlap(self.space)
        return mixed or bool(self.case.chance and status != GateStatus.RULED_OUT)

    @property
    def is_unanswerable(self) -> bool:
        """Whether repeats differ under every question, and never come to the same on both sides."""
        return not self.is_noise and self.noise().status == GateStatus.NOT_RULED_OUT

    def spent(self) -> tuple[int, float | None]:
        """Live calls, and their cost; None: not known. Probes that were begun ahead in vain count as well."""
        seen: list[Seen | Spending] = [probe.seen for probe in self.facts.probes.values()]
        if isinstance(self.lab, ManyAtOnce):
            seen.append(self.lab.ahead())
        costs = [each.cost_usd for each in seen]
        known = [cost for cost in costs if cost is not None]
        return sum(each.live_calls for each in seen), sum(known) if len(known) == len(costs) else None

    def made(self) -> int:
        """Probes without the repeats."""
        return sum(not ask.repeat for ask in self.facts.probes)

    def repeats(self) -> int:
        return sum(bool(ask.repeat) for ask in self.facts.probes)

    def cause(self) -> Atoms:
        """The smallest set that is enough, else what is needed; empty while nothing is found."""
        if single := proved_single(self.space):
            return frozenset({single})
        sets = self.space.smallest()
        if sets:
            return sets[0]
        return frozenset(atom.id for atom in self.space.atoms if self.space.needed(frozenset({atom.id})))

    def _climb(self) -> Iterator[Made]:
        if not self.case.differs or not self.space.atoms:
            return
        if self.case.sampled:
            yield from self._drive("noise", noise_gate.run(self.space, self.budget.repeats))
            while self._coarsen():
                yield from self._drive("noise", noise_gate.run(self.space, self.budget.repeats))
        self.done.add("noise")
        if self.is_noise or self.is_unanswerable:
            return
        yield from self._drive("search", self._search())
        if not self.space.smallest():
            return
        yield from self._drive("shares", self._shares())
        if self.look_inside:
            yield from self._drive("parts", self._parts())
        if self.look_between:
            yield from self._drive("mediators", self._mediators())

    def _coarsen(self) -> bool:
        """Ask a coarser question where repeats of the unchanged base disagree under this one; False: keep it."""
        base, candidate = noise_gate.sides(self.space)
        scale = [self.case.question, *self.case.coarser]
        if base.stray() and self.question.kind in _ANSWERS:
            # They give something else each time, so no two answers can be expected to be equal.
            self._ask(scale[-1])
            return False
        if self.noise().status == GateStatus.RULED_OUT or not noise_gate.disagree(base):
            return False
        for question in scale[scale.index(self.question) + 1 :]:
            self._ask(question)
            differs = self._recorded("base") != self._recorded("candidate")
            if question is scale[-1] or (differs and noise_gate.is_steady(base) and noise_gate.is_steady(candidate)):
                return True
        return False

    def _ask(self, question: EvidenceQuestion) -> None:
        """Look at every probe under a question."""
        self.question = question
        for ask, probe in self.facts.probes.items():
            self.facts.probes[ask] = replace(probe, seen=self._seen(ask, probe.seen))

    def _recorded(self, side: Side) -> str:
        return self.case.values.get(side, {}).get(self.question.kind, "")

    def _seen(self, ask: Ask, seen: Seen) -> Seen:
        """A probe under the question that is asked now."""
        kind = self.question.kind
        value = seen.values.get(kind)
        if self.question is self.case.question or not seen.settled or value is None:
            return seen
        if kind == "answer_alike":
            outcome = outcomes.alike(value, self._texts("base", ask), self._texts("candidate", ask))
            return replace(seen, outcome=outcome, value="")
        base, candidate = self._recorded("base"), self._recorded("candidate")
        return replace(seen, outcome=outcomes.classify(value, base=base, candidate=candidate), value=value)

    def _texts(self, side: Side, but: Ask) -> list[str]:
        """The answers of a side: the recorded one and those of its repeats, without the one that is looked at."""
        applied = NOTHING if side == "base" else self.space.all
        probes = self.facts.probes.items()
        own = [
            probe.seen
            for ask, probe in probes
            if ask.repeat and (ask.applied, ask.side) == (applied, side) and ask != but
        ]
        known = [seen.values[self.question.kind] for seen in own if self.question.kind in seen.values]
        return [self._recorded(side), *known]

    def _drive(self, stage: StageName, steps: Steps[None]) -> Iterator[Made]:
        self.stage = stage
        answer: Generator[Asked, Seen, None] = steps
        try:
            asked = next(answer)
            while True:
                seen = self._answer(asked)
                yield Made(stage=stage, asked=asked, seen=seen)
                asked = answer.send(seen)
        except StopIteration:
            self.done.add(stage)

    def _answer(self, asked: Asked) -> Seen:
        """What is known already, unless a live call may now tell more."""
        allowance = Allowance() if asked.free else self._left()
        known = self.facts.seen(asked.ask)
        may_spend = allowance.live_calls != 0 and allowance.cost_usd != 0
        if known is not None and (known.settled or not may_spend or known.live_calls):
            return known
        if known is None and not asked.ask.repeat and self.made() >= self.budget.probes:
            raise Exhausted
        if isinstance(self.lab, ManyAtOnce):
            self.lab.expect(asked.then)
        self.facts.add(asked, self.lab.probe(asked.ask, allowance))
        if self.question is not self.case.question:
            self._ask(self.question)
        return self.facts.probes[asked.ask].seen

    def _left(self) -> Allowance:
        calls, cost = self.spent()
        most = self.budget
        return Allowance(
            live_calls=None if most.live_calls is None else max(0, most.live_calls - calls),
            cost_usd=None if most.cost_usd is None else max(0.0, most.cost_usd - (cost or 0.0)),
        )

    def _search(self) -> Steps[None]:
        yield from explain(self.space)
        single = proved_single(self.space)
        if single is not None and self.drawn(frozenset({single})):
            yield from noise_gate.confirm(self.space, frozenset({single}), self.budget.repeats)

    def drawn(self, cause: Atoms) -> bool:
        """Whether a probe that decides about this cause needed a new answer."""
        return any(seen.live_calls for seen in self._deciding(cause))

    def borrowed(self, cause: Atoms) -> bool:
        """Whether a probe that decides about this cause took a tool's answer from another run."""
        return any(seen.borrowed for seen in self._deciding(cause))

    def derived(self, cause: Atoms) -> bool:
        """Whether a probe that decides about this cause took what the agent's code did from the other run."""
        return any(seen.derived for seen in self._deciding(cause))

    def assumed(self, cause: Atoms) -> bool:
        """Whether a probe that decides about this cause takes a step to be unaffected that may not be."""
        return any(seen.assumed for seen in self._deciding(cause))

    def _deciding(self, cause: Atoms) -> list[Seen]:
        asks = self.space.ask(cause, "base"), self.space.ask(self.space.all - cause, "candidate")
        return [seen for ask in asks if (seen := self.facts.seen(ask)) is not None]

    def open(self) -> list[str]:
        """The changes that no certificate rules out."""
        return [atom.id for atom in self.space.atoms if atom.certificate is None]

    def _shares(self) -> Steps[None]:
        if proved_single(self.space):
            return  # the whole is its share
        atoms = self.open()
        if len(atoms) <= FACTORIAL:
            yield from factorial(self.space, atoms)
        elif len(atoms) <= _SAMPLED:
            self.sampled_shares = yield from shapley.sample(self.space, atoms, _SEED)
            yield from others(self.space)

    def _parts(self) -> Steps[None]:
        cause = self.cause()
        by_id = {atom.id: atom for atom in self.space.atoms}
        for name in sorted(cause):
            outside = {"base": cause - {name}, "candidate": self.space.all - {name}}
            yield from self._divide(by_id[name], outside["base"], outside["candidate"], _DEEPEST)

    def _divide(self, atom: Atom, base: Atoms, candidate: Atoms, levels: int) -> Steps[None]:
        """Find the part of an atom that did it, and divide that again."""
        parts = [part for part in self.lab.parts(atom) if part.testable] if levels else []
        if len(parts) < 2:
            return
        whole = frozenset(part.id for part in parts), atom.id
        one = self.case.one_space and base == candidate
        space = Space(
            facts=self.facts, atoms=parts, one=one, context={"base": base, "candidate": candidate}, whole=whole
        )
        self.drilled.append(Drilled(atom=atom, space=space))
        yield from explain(space)
        single = proved_single(space)
        part = next((part for part in parts if part.id == single), None)
        if part is not None:
            yield from self._divide(part, base, candidate | (whole[0] - {part.id}), levels - 1)

    def _mediators(self) -> Steps[None]:
        self.stages = list(self.lab.stages(self.cause()))
        if self.stages:
            yield from mediators.find(self.facts, self.stages, self.space.all)
