"""Findings: everything a ladder knows so far, as the report shows it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from diffing.schemas.evidence import AtomEvidence, EvidenceVerdict, Findings, Interaction, Mediator, ProbeEvidence
from replay.proofs.core.types import Atom, Atoms, Budget, Case, Prober
from replay.proofs.evidence import confidence, wording
from replay.proofs.evidence.confidence import Grounds
from replay.proofs.ladder import leads, mediators, noise_gate, relays, shapley
from replay.proofs.ladder.facts import Probe, Space
from replay.proofs.ladder.ladder import Ladder
from replay.proofs.ladder.search import is_only, proved_single


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the probes imply. `sets`: the smallest sets that are enough, or else the needed changes.

    `by_certificates`: certificates rule out every other change, and no probe shows it.
    """

    kind: EvidenceVerdict
    sets: tuple[Atoms, ...] = ()
    by_certificates: bool = False


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Each change's share in the difference; `method` is how they were computed."""

    method: Literal["exact", "sampled", "none"]
    values: dict[str, float]
    interactions: list[Interaction]


def prove(case: Case, prober: Prober, budget: Budget, *, parts: bool = True, mediators: bool = True) -> Findings:
    """Run a whole ladder."""
    ladder = Ladder(case=case, prober=prober, budget=budget, look_inside=parts, look_between=mediators)
    for _ in ladder.run():
        pass
    return findings(ladder)


def findings(ladder: Ladder) -> Findings:
    """Return everything that is known so far."""
    conclusion = verdict(ladder)
    grounds = _grounds(ladder, conclusion)
    level = confidence.level(grounds)
    searched_causes = conclusion.kind not in {EvidenceVerdict.NOISE, EvidenceVerdict.NO_EFFECT}
    shares = _shares(ladder) if searched_causes else Shares(method="none", values={}, interactions=[])
    calls, cost = ladder.spending()
    results = [probe.result for probe in (*ladder.controls, *ladder.facts.probes.values())]
    context = wording.FindingContext(ladder=ladder, kind=conclusion.kind, sets=conclusion.sets, gate=grounds.gate)
    repeats = min(grounds.gate.base_n, grounds.gate.candidate_n)
    return Findings(
        question=ladder.question,
        verdict=conclusion.kind,
        conclusion=wording.conclusion(context),
        confidence=level.confidence,
        rule=level.rule,
        primary=[_members(ladder, conclusion, causes) for causes in conclusion.sets],
        atoms=list(_atoms(ladder, shares, conclusion)),
        probes=list(_probes(ladder)),
        mediators=_mediators(ladder, conclusion),
        noise=grounds.gate,
        interactions=shares.interactions,
        shares=shares.method,
        replays_cached=sum(result.is_settled and not result.live_calls for result in results),
        replays_live=sum(bool(result.live_calls) for result in results),
        steps_executed=sum(result.executed_steps for result in results),
        live_calls=calls,
        cost_usd=cost,
        agent_ran=ladder.case.runs_agent,
        features=list(ladder.case.features),
        scope="over repeats" if repeats else "in this run",
        repeats=repeats,
        assumptions=[*ladder.case.assumptions, *wording.assumptions(context, new_answer=grounds.new_answer)],
        stopped=ladder.stop_reason,
        cheapest_experiment=wording.cheapest(context, sure=level.confidence in {"high", "noise"}),
    )


def verdict(ladder: Ladder) -> Verdict:
    """Return the kind of cause that the probes show."""
    if not ladder.case.differs:
        return Verdict(kind=EvidenceVerdict.NO_EFFECT)
    if ladder.is_noise:
        return Verdict(kind=EvidenceVerdict.NOISE)
    if ladder.is_unanswerable or ladder.case.obstacle:
        return Verdict(kind=EvidenceVerdict.INCONCLUSIVE)
    space = ladder.space
    if space.is_contradicted:
        return Verdict(kind=EvidenceVerdict.INCONCLUSIVE)
    if single := proved_single(space):
        return Verdict(kind=EvidenceVerdict.SINGLE, sets=(frozenset({single}),))
    sets = tuple(space.smallest())
    if sets:
        return Verdict(kind=_kind(space, sets), sets=sets)
    return (
        _needed_changes(ladder)
        or _by_elimination(ladder)
        or _subset(space)
        or Verdict(kind=EvidenceVerdict.INCONCLUSIVE)
    )


def _kind(space: Space, sets: tuple[Atoms, ...]) -> EvidenceVerdict:
    """Classify sets that are enough; if a member can be missing, something else is enough as well."""
    dispensable = any(space.is_needed(frozenset({atom})) is False for causes in sets for atom in causes)
    if len(sets) > 1 or dispensable:
        return EvidenceVerdict.OVER_DETERMINED
    return EvidenceVerdict.SINGLE if len(sets[0]) == 1 else EvidenceVerdict.JOINT


def _needed_changes(ladder: Ladder) -> Verdict | None:
    """The changes without which the outcome is lost, while nothing is known to be enough."""
    space = ladder.space
    needed_ids = frozenset(atom.id for atom in space.atoms if space.is_needed(frozenset({atom.id})))
    if not needed_ids:
        return None
    single = len(needed_ids) == 1 and space.is_enough(needed_ids) is None
    return Verdict(kind=EvidenceVerdict.SINGLE if single else EvidenceVerdict.JOINT, sets=(needed_ids,))


def _subset(space: Space) -> Verdict | None:
    """Some of the changes are enough, and it is unknown which of them."""
    subsets = [subset for subset in space.known_enough() if subset != space.all]
    return Verdict(kind=EvidenceVerdict.INCONCLUSIVE, sets=tuple(subsets[:1])) if subsets else None


def _by_elimination(ladder: Ladder) -> Verdict | None:
    """The only change that certificates do not rule out."""
    open_ = ladder.open()
    # A probe with an outcome outweighs an argument by elimination.
    probes = [
        probe for spec, probe in ladder.facts.probes.items() if not spec.repeat and spec.atoms <= ladder.space.all
    ]
    has_outcome = any(probe.result.is_settled for probe in probes)
    all_covered = all(atom.testable or atom.certificate is not None for atom in ladder.case.atoms)
    if len(open_) == 1 < len(ladder.space.atoms) and all_covered and not has_outcome:
        return Verdict(kind=EvidenceVerdict.SINGLE, sets=(frozenset(open_),), by_certificates=True)
    return None


def _grounds(ladder: Ladder, conclusion: Verdict) -> Grounds:
    space = ladder.space
    cause = conclusion.sets[0] if conclusion.sets else frozenset()
    derived_code = bool(cause) and ladder.used_derived_code(cause)
    return Grounds(
        verdict=conclusion.kind,
        gate=ladder.noise(),
        left_by_certificates=conclusion.by_certificates,
        is_enough=space.is_enough(cause) if cause else None,
        is_needed=space.is_needed(cause) if cause else None,
        restores_base=not cause or space.restores_base(cause),
        new_answer=bool(cause) and ladder.used_new_answer(cause),
        finished="search" in ladder.completed_stages
        or not ladder.space.atoms
        or bool(ladder.case.obstacle)
        or ladder.stage in {"parts", "mediators", "shares"},
        borrowed_answer=bool(cause) and ladder.is_separate and ladder.used_borrowed_answer(cause),
        derived_code=derived_code,
        chosen_words=not ladder.case.same_code and any(map(_has_chosen_words, ladder.case.atoms)),
        less_detail=ladder.case.lacks_models or (ladder.case.lacks_lookups and derived_code),
        assumed_unaffected=bool(cause) and ladder.used_assumption(cause),
        follows=any(atom.id in cause and atom.follows for atom in space.atoms),
        common_origin=any(atom.id in cause and atom.has_common_origin for atom in space.atoms),
        other_form=bool(cause) and ladder.differs_in_form(cause),
        stand_in=any(atom.id in cause and atom.category == "structure" for atom in space.atoms),
        repeat_p=noise_gate.repeat_p(space, cause) if cause else None,
        apart=bool(cause) and noise_gate.apart(space, cause),
        is_only=conclusion.kind != EvidenceVerdict.SINGLE or is_only(space, next(iter(cause))),
        exhaustive=_is_exhaustive(space),
    )


def _has_chosen_words(atom: Atom) -> bool:
    return atom.has_own_words and atom.certificate is None


def _is_exhaustive(space: Space) -> bool:
    names = [atom.id for atom in space.atoms]
    return len(names) <= shapley.MOST and shapley.known_values(space, names) is not None


def _shares(ladder: Ladder) -> Shares:
    """Shares of each change, exact if every combination is known."""
    atoms = ladder.open()
    values = shapley.known_values(ladder.space, atoms) if 0 < len(atoms) <= shapley.MOST else None
    if values is not None:
        shares = {atom: round(share, 6) for atom, share in shapley.exact(values, atoms).items()}
        return Shares(method="exact", values=shares, interactions=shapley.interactions(values, atoms))
    if ladder.sampled_shares is not None:
        shares = {atom: round(share, 6) for atom, share in ladder.sampled_shares.items()}
        return Shares(method="sampled", values=shares, interactions=[])
    return Shares(method="none", values={}, interactions=[])


def _mediators(ladder: Ladder, conclusion: Verdict) -> list[Mediator]:
    return mediators.chain(ladder.facts, ladder.path_steps, ladder.space.all) if conclusion.sets else []


def _atoms(ladder: Ladder, shares: Shares, conclusion: Verdict) -> Iterator[AtomEvidence]:
    """The changes, each followed by its parts if it was divided; those that seem to have no effect come last.

    Without a search for causes, the two recordings alone show nothing about the effect of a change.
    """
    parts = {division.atom.id: division.space for division in ladder.divided_atoms}
    searched_causes = conclusion.kind not in {EvidenceVerdict.NOISE, EvidenceVerdict.NO_EFFECT}

    def with_parts(atom: Atom, space: Space | None) -> Iterator[AtomEvidence]:
        yield _atom(atom, space, shares)
        if (inner := parts.get(atom.id)) is not None:
            for part in inner.atoms:
                yield from with_parts(part, inner)

    for atom in _in_order(ladder, conclusion, searched_causes=searched_causes):
        if atom.testable:
            yield from with_parts(atom, ladder.space if searched_causes else None)
        else:
            yield _atom(atom, None, shares)
            yield from (_atom(part, None, shares) for part in ladder.relay_parts.get(atom.id, ()))


def _in_order(ladder: Ladder, conclusion: Verdict, *, searched_causes: bool) -> list[Atom]:
    """The changes by what probes and hints suggest, the untestable ones last unless nothing is decided."""
    space = ladder.space
    if searched_causes and (not conclusion.sets or conclusion.kind == EvidenceVerdict.INCONCLUSIVE):
        answers = [ladder.case.values.get(side, {}).get("answer_exact", "") for side in ("base", "candidate")]
        return relays.ranking(
            space,
            ladder.case.atoms,
            ladder.relay_parts,
            answers=(answers[0], answers[1]),
            other_code=ladder.case.other_code,
        )
    # Of the members of a set that is enough, those shown without an assumption about the agent's code come first.
    is_enough = any(space.is_enough(causes) for causes in conclusion.sets)

    def order(atom: Atom) -> tuple[float, bool]:
        return -leads.weight(space, atom), is_enough and leads.rests_on_code(space, atom)

    own = sorted(space.atoms, key=order) if searched_causes else space.atoms
    return [*own, *(atom for atom in ladder.case.atoms if not atom.testable)]


def _atom(atom: Atom, space: Space | None, shares: Shares) -> AtomEvidence:
    alone = frozenset({atom.id})
    is_enough = space.is_enough(space.with_required(alone)) if space is not None else None
    is_needed = space.is_needed(alone) if space is not None else None
    return AtomEvidence(
        id=atom.id,
        parent=atom.parent,
        category=atom.category,
        title=atom.title,
        description=atom.description,
        base=atom.base,
        candidate=atom.candidate,
        testable=atom.testable,
        why_not=atom.why_not,
        certificate=atom.certificate,
        sufficient=is_enough,
        necessary=False if is_needed is None and atom.certificate is not None else is_needed,
        shapley=shares.values.get(atom.id),
    )


def _probes(ladder: Ladder) -> Iterator[ProbeEvidence]:
    """The probes in the order in which they ran, with the repeats of one configuration grouped at the front."""
    single = [probe for spec, probe in ladder.facts.probes.items() if not spec.repeat]
    groups: dict[tuple[Atoms, str], list[Probe]] = {}
    for spec, probe in ladder.facts.probes.items():
        if spec.repeat:
            groups.setdefault((spec.atoms, spec.side), []).append(probe)
    controls = [[probe] for probe in ladder.controls]
    for number, probes in enumerate([*controls, *groups.values(), *([probe] for probe in single)], 1):
        yield _probe(ladder, number, probes)


def _probe(ladder: Ladder, number: int, probes: list[Probe]) -> ProbeEvidence:
    request, results = probes[0].request, [probe.result for probe in probes]
    known_costs = [result.cost_usd for result in results if result.cost_usd is not None]
    # Of repeats, one without an outcome explains why there are not more of them.
    last = next((result for result in results if not result.is_settled), results[-1])
    return ProbeEvidence(
        number=number,
        purpose=request.purpose,
        applied=_by_rank(ladder, request.spec.atoms),
        side=request.spec.side,
        clamped=request.spec.clamp,
        outcome=last.outcome,
        said=wording.outcomes(results) if len(results) > 1 else last.summary,
        missing=last.missing,
        repeats=len(results),
        outcomes=[result.outcome for result in results],
        executed_steps=sum(result.executed_steps for result in results),
        cached_calls=sum(result.cached_calls for result in results),
        live_calls=sum(result.live_calls for result in results),
        cost_usd=sum(known_costs) if len(known_costs) == len(results) else None,
        run=last.run,
    )


def _by_rank(ladder: Ladder, atoms: Atoms) -> list[str]:
    spaces = [ladder.space, *(division.space for division in ladder.divided_atoms)]
    places = {atom.id: place for place, atom in enumerate(atom for space in spaces for atom in space.atoms)}
    return sorted(atoms, key=lambda name: (places.get(name, len(places)), name))


def _members(ladder: Ladder, conclusion: Verdict, atoms: Atoms) -> list[str]:
    """The members of a set, in the order in which the report lists them."""
    return [atom.id for atom in _in_order(ladder, conclusion, searched_causes=True) if atom.id in atoms]
