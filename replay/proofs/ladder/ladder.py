"""The evidence ladder: chance, search, shares, parts, mediators. Pure.

An example. A support agent refunds 20 in the base and 65 in the candidate, which has a new system prompt (P), another
model (M) and a renamed tool (T). A probe replays one side with a subset of the changes; below, `base + P` is the base
with P applied, and `candidate - P` is the candidate with P reverted.

    stage       probes                          outcome       conclusion
    noise       base, 5 repeats unchanged       5 times 20    every repeat matches its own recording:
                candidate, 5 repeats unchanged  5 times 65    chance is rejected (p = 0.008)
    search      base + P M T                    candidate     no untracked change is left
                candidate - P M T               base
                base + P                        candidate     P is enough
                candidate - P                   base          P is needed: a proved single cause
                base + M, base + T              base          nothing else is enough, so P is the only cause
                candidate - M, candidate - T    candidate     neither M nor T is needed
    shares      (none)                                        a proved single cause has the whole share
    parts       base + P/0, candidate - P/0     candidate,    of the two sentences that P changes, the first one
                                                base          is enough and needed
    mediators   candidate, step 3 as in base    base          the effect passes through step 3

If no change is enough alone, the search looks for smallest sets by delta debugging (`search.minimal`), and the shares
of up to six changes are exact Shapley values over every combination (`shapley`). A probe without a recorded answer
becomes a live session if the budget allows one; else it is unsettled and counts as neither outcome.

Findings can be computed after any probe, and more probes only make them surer. The driver runs one probe at a time, so
that it can store every result, stop, and continue later from the stored results.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from diffing.schemas.evidence import EvidenceQuestion, GateStatus, NoiseGate, ProbeOutcome
from diffing.sentences.findings import GateReason
from diffing.sentences.proofs import gate_reason
from replay.proofs.core.types import (
    Allowance,
    Atom,
    Atoms,
    BatchProber,
    Budget,
    Case,
    PathStep,
    Prober,
    ProbeResult,
    ProbeSpec,
    Spending,
)
from replay.proofs.ladder import footprints, mediators, noise_gate, relays, shapley
from replay.proofs.ladder.compared_question import ComparedQuestion
from replay.proofs.ladder.facts import NO_ATOMS, Facts, Probe, ProbeRequest, Space
from replay.proofs.ladder.search import FACTORIAL, Steps, explain, factorial, more_sets, proved_single
from replay.proofs.ladder.statistics import ALPHA

StageName = Literal["noise", "search", "parts", "mediators", "shares", ""]
# Levels of parts: a paragraph, its sentence, the words.
_DEEPEST = 3
# The seed of the permutations, fixed so that a repeated proof requests the same probes.
_SEED = 20_261
# Up to this many changes, shares are sampled.
_MAX_SAMPLING = 16
# Changes to repeat alone: each costs as many replays as a side.
_MAX_SUSPECTS = 6


class OutOfBudget(Exception):
    """The probe budget is used up."""


@dataclass(frozen=True, kw_only=True)
class LadderStep:
    """A request of the ladder and its result, from a new probe or an earlier one."""

    stage: StageName
    request: ProbeRequest
    result: ProbeResult


@dataclass
class DividedAtom:
    """An atom and the space of its parts."""

    atom: Atom
    space: Space


@dataclass
class Ladder:
    """One proof. Call `run` to drive it; `findings` can be computed at any time."""

    case: Case
    prober: Prober
    budget: Budget
    look_inside: bool = True
    look_between: bool = True
    facts: Facts = field(default_factory=Facts)
    stage: StageName = ""
    stop_reason: Literal["", "budget", "cancelled"] = ""
    completed_stages: set[StageName] = field(default_factory=set)
    divided_atoms: list[DividedAtom] = field(default_factory=list)
    path_steps: list[PathStep] = field(default_factory=list)
    relay_parts: dict[str, list[Atom]] = field(default_factory=dict)
    sampled_shares: dict[str, float] | None = None
    # Starts of the unchanged agent, before the search.
    controls: Sequence[Probe] = ()

    def __post_init__(self) -> None:
        atoms = sorted((atom for atom in self.case.atoms if atom.testable), key=lambda atom: (atom.rank, atom.id))
        self.space = Space(
            facts=self.facts,
            atoms=atoms,
            one_space=self.case.one_space,
            runs_agent=self.case.runs_agent,
            traceless=footprints.traceless_results(self.case.atoms, other_code=self.case.other_code),
        )
        self.facts.recordings[ProbeSpec(atoms=NO_ATOMS, side="base")] = ProbeResult(outcome=ProbeOutcome.BASE)
        self.facts.recordings[ProbeSpec(atoms=self.space.all, side="candidate")] = ProbeResult(
            outcome=ProbeOutcome.CANDIDATE
        )
        self.compared_question = ComparedQuestion(self.case, self.space)

    @property
    def question(self) -> EvidenceQuestion:
        """The question that is compared: the requested one, or a coarser one."""
        return self.compared_question.current

    def run(self) -> Iterator[LadderStep]:
        """Run one probe after another; each is stored in the facts before it is yielded."""
        try:
            yield from self._climb()
        except OutOfBudget:
            self.stop_reason = "budget"
        self.stage = ""

    def cancel(self) -> None:
        self.stop_reason = "cancelled"

    def noise(self) -> NoiseGate:
        gate = self._gate()
        # Any two answers resemble either side, so that a few that do show nothing.
        by_most = self.compared_question.is_alike
        if gate.status == GateStatus.RULED_OUT and not noise_gate.are_recognised(self.space, by_most=by_most):
            gate = self._with_doubt(gate)
        if self.case.chance and gate.status in {GateStatus.NOT_RUN, GateStatus.NOT_NEEDED}:
            return gate.model_copy(update={"status": GateStatus.NOT_NEEDED, "reason": self.case.chance})
        return gate

    def _gate(self) -> NoiseGate:
        return noise_gate.verdict(
            self.space,
            is_sampled=self.case.is_sampled,
            most=self.budget.repeats,
            finished="noise" in self.completed_stages,
        )

    def _with_doubt(self, gate: NoiseGate) -> NoiseGate:
        """The result if the sides differ, but the outcome recorded for one is not the usual one of its repeats."""
        if self.compared_question.is_alike:
            # Similarity separates any two texts. That it separates the sides means nothing here.
            status, kind = GateStatus.NOT_RULED_OUT, GateReason.NOT_RECOGNISABLE
        else:
            # The changes have an effect. But chance may have made the recorded outcomes, which are not the usual ones,
            # unless repeats without answers of the other run show that a change makes the candidate's.
            cause = self.cause()
            if cause and noise_gate.is_confirmed(self.space, cause) and not self.used_borrowed_answer(cause):
                return gate
            status, kind = GateStatus.NOT_RUN, GateReason.UNUSUAL
        return gate.model_copy(update={"status": status, "reason": gate_reason(kind)})

    @property
    def is_noise(self) -> bool:
        """True if chance explains the difference: by repeats, or because nothing changed and no repeat disagrees.

        Repeats that an exact test separates are no evidence of chance, although a part of them coincide.
        """
        gate = self.noise()
        has_effect = gate.p is not None and gate.p < ALPHA
        is_open = gate.status == GateStatus.NOT_RULED_OUT and not has_effect
        within_chance = is_open and self.compared_question.sides_coincide()
        return within_chance or bool(self.case.chance and gate.status != GateStatus.RULED_OUT)

    @property
    def is_unanswerable(self) -> bool:
        """True if repeats differ under every question and never coincide between the sides."""
        return not self.is_noise and self.noise().status == GateStatus.NOT_RULED_OUT

    @property
    def is_separate(self) -> bool:
        """True if the two runs were recorded separately, each with what its tools answered then."""
        return not self.case.one_space or self.case.home is not None

    def spending(self) -> tuple[int, float | None]:
        """Live calls and their cost, None if unknown; probes that were started ahead and not used count as well."""
        items: list[ProbeResult | Spending] = [probe.result for probe in (*self.controls, *self.facts.probes.values())]
        if isinstance(self.prober, BatchProber):
            items.append(self.prober.ahead())
        known_costs = [item.cost_usd for item in items if item.cost_usd is not None]
        return sum(item.live_calls for item in items), sum(known_costs) if len(known_costs) == len(items) else None

    def probe_count(self) -> int:
        """The number of probes that are not repeats."""
        return len(self.controls) + sum(not spec.repeat for spec in self.facts.probes)

    def repeat_count(self) -> int:
        return sum(bool(spec.repeat) for spec in self.facts.probes)

    def cause(self) -> Atoms:
        """The smallest set that is enough, else the needed changes; empty while nothing is found."""
        if single := proved_single(self.space):
            return frozenset({single})
        sets = self.space.smallest()
        if sets:
            return sets[0]
        return frozenset(atom.id for atom in self.space.atoms if self.space.is_needed(frozenset({atom.id})))

    def _climb(self) -> Iterator[LadderStep]:
        if not self.case.differs or not self.space.atoms or self.case.obstacle:
            return
        if self.case.is_sampled:
            yield from self._drive("noise", noise_gate.run(self.space, self.budget.repeats))
            while self.compared_question.coarsen(self._gate()):
                yield from self._drive("noise", noise_gate.run(self.space, self.budget.repeats))
            self.compared_question.find_overlap(self._gate())
        self.completed_stages.add("noise")
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

    def _drive(self, stage: StageName, steps: Steps[None]) -> Iterator[LadderStep]:
        self.stage = stage
        # `Steps` is a generator; the annotation is for `send`.
        requests: Generator[ProbeRequest, ProbeResult, None] = steps
        try:
            request = next(requests)
            while True:
                result = self._fulfil(request)
                yield LadderStep(stage=stage, request=request, result=result)
                request = requests.send(result)
        except StopIteration:
            self.completed_stages.add(stage)

    def _fulfil(self, request: ProbeRequest) -> ProbeResult:
        """Return the known result, unless a live call is now allowed and may settle the probe."""
        allowance = Allowance() if request.free else self._remaining_allowance()
        earlier = self.facts.result(request.spec)
        may_spend = allowance.live_calls != 0 and allowance.cost_usd != 0
        if earlier is not None and (earlier.is_settled or not may_spend or earlier.live_calls):
            return earlier
        if earlier is None and not request.spec.repeat and self.probe_count() >= self.budget.probes:
            raise OutOfBudget
        if isinstance(self.prober, BatchProber):
            self.prober.expect(request.lookahead)
        self.facts.add(request, self.prober.probe(request.spec, allowance))
        self.compared_question.reinterpret_all()
        return self.facts.probes[request.spec].result

    def _remaining_allowance(self) -> Allowance:
        calls, cost = self.spending()
        limit = self.budget
        return Allowance(
            live_calls=None if limit.live_calls is None else max(0, limit.live_calls - calls),
            cost_usd=None if limit.cost_usd is None else max(0.0, limit.cost_usd - (cost or 0.0)),
        )

    def _search(self) -> Steps[None]:
        yield from explain(self.space)
        yield from self._tell_apart()
        single = proved_single(self.space) or self._only_set()
        if single is not None and self.used_new_answer(frozenset({single})):
            yield from noise_gate.confirm(self.space, frozenset({single}), self.budget.repeats)
        relay_atoms = [atom for atom in self.case.atoms if atom.is_relay]
        sets = [causes for causes in self.space.smallest() or [self.cause()] if self.used_derived_code(causes)]
        suspects = yield from footprints.find_bypassed(self.space, sets, relay_atoms, self.prober.parts)
        self.space = replace(self.space, traceless=self.space.traceless | suspects)
        if not self.cause():
            self.relay_parts = yield from relays.hold(self.space, relay_atoms, self.prober.parts)

    def _tell_apart(self) -> Steps[None]:
        """Repeat the members of sets that chance may have made: repeats vary, and a probe of each is one sample."""
        sets = self.space.smallest()
        members = frozenset[str]().union(*sets)
        is_open = len(members) > 1 and any(self.used_new_answer(causes) for causes in sets)
        if is_open and self.noise().status == GateStatus.RULED_OUT and noise_gate.vary(self.space):
            names = [atom.id for atom in self.space.atoms if atom.id in members][:_MAX_SUSPECTS]
            yield from noise_gate.tell_apart(self.space, names, self.budget.repeats)

    def _only_set(self) -> str | None:
        """The only change that is enough, if there is no other set."""
        sets = self.space.smallest()
        return next(iter(sets[0])) if len(sets) == 1 == len(sets[0]) else None

    def used_new_answer(self, cause: Atoms) -> bool:
        """True if a decisive probe of this cause needed a live call."""
        return any(result.live_calls for result in self._decisive_results(cause))

    def used_borrowed_answer(self, cause: Atoms) -> bool:
        """True if a decisive probe of this cause used a tool's answer from another run."""
        return any(result.borrowed_answers for result in self._decisive_results(cause))

    def used_derived_code(self, cause: Atoms) -> bool:
        """True if a decisive probe of this cause, or a repeat, rests on what the agent's code did in a recording."""
        repeats = [result for side in noise_gate.sides(self.space) for result in side.all()]
        return any(result.derived for result in (*self._decisive_results(cause), *repeats))

    def differs_in_form(self, cause: Atoms) -> bool:
        """True if a decisive probe has a recorded answer but for its case or spacing, where only these are ignored."""
        results = self._decisive_results(cause) if self.question.kind == "answer" else []
        forms = [(result.outcome, result.values.get("answer_exact")) for result in results]
        sides = [(side, values.get("answer_exact")) for side, values in self.case.values.items()]
        return any(form is not None and own == side and form != text for own, form in forms for side, text in sides)

    def used_assumption(self, cause: Atoms) -> bool:
        """True if a decisive probe of this cause assumed a step to be unaffected."""
        return any(result.assumed_steps for result in self._decisive_results(cause))

    def _decisive_results(self, cause: Atoms) -> list[ProbeResult]:
        specs = self.space.spec(cause, "base"), self.space.spec(self.space.all - cause, "candidate")
        return [result for spec in specs if (result := self.facts.result(spec)) is not None]

    def open(self) -> list[str]:
        """The changes that no certificate rules out."""
        return [atom.id for atom in self.space.atoms if atom.certificate is None]

    def most_repeats(self, *, may_call: bool) -> int:
        """The most repeats of this proof: those of both sides; if new answers may show the cause, as many of both with
        and without it; and of several changes, as many with each of them alone."""
        suspects = min(len(self.open()), _MAX_SUSPECTS)
        sides = 2 if not may_call else 4 if suspects < 2 else 4 + suspects
        return sides * self.budget.repeats if self.case.is_sampled and self.case.differs else 0

    def _shares(self) -> Steps[None]:
        # A proved single cause has the whole share.
        if proved_single(self.space):
            return
        atoms = self.open()
        if len(atoms) <= FACTORIAL:
            yield from factorial(self.space, atoms)
        elif len(atoms) <= _MAX_SAMPLING:
            self.sampled_shares = yield from shapley.sample(self.space, atoms, _SEED)
            yield from more_sets(self.space)

    def _parts(self) -> Steps[None]:
        cause = self.cause()
        by_id = {atom.id: atom for atom in self.space.atoms}
        for name in sorted(cause):
            yield from self._divide(by_id[name], cause - {name}, self.space.all - {name}, _DEEPEST)

    def _divide(self, atom: Atom, base: Atoms, candidate: Atoms, levels: int) -> Steps[None]:
        """Find the part of an atom that made the difference, and divide that part in turn."""
        parts = [part for part in self.prober.parts(atom) if part.testable] if levels else []
        if len(parts) < 2:
            return
        whole = frozenset(part.id for part in parts), atom.id
        space = Space(
            facts=self.facts,
            atoms=parts,
            one_space=self.case.one_space and base == candidate,
            context={"base": base, "candidate": candidate},
            whole=whole,
        )
        self.divided_atoms.append(DividedAtom(atom=atom, space=space))
        yield from explain(space)
        single = proved_single(space)
        part = next((part for part in parts if part.id == single), None)
        if part is not None:
            yield from self._divide(part, base, candidate | (whole[0] - {part.id}), levels - 1)

    def _mediators(self) -> Steps[None]:
        self.path_steps = list(self.prober.path_steps(self.cause()))
        if self.path_steps:
            yield from mediators.find(self.facts, self.path_steps, self.space.all)
