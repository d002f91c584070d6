"""What a ladder has found out by now, as the report shows it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from diffing.schemas.evidence import AtomEvidence, EvidenceVerdict, Findings, Interaction, Mediator, ProbeEvidence
from replay.proofs.core.types import Atom, Atoms, Budget, Case, Lab
from replay.proofs.evidence import confidence, wording
from replay.proofs.evidence.confidence import Grounds
from replay.proofs.ladder import leads, mediators, noise_gate, shapley
from replay.proofs.ladder.facts import Probe, Space
from replay.proofs.ladder.ladder import Ladder
from replay.proofs.ladder.search import is_only, proved_single


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What follows from the probes; `sets` are the smallest ones that are enough, or else what is needed."""

    kind: EvidenceVerdict
    sets: tuple[Atoms, ...] = ()
    certified: bool = False  # certificates alone leave this one


@dataclass(frozen=True, kw_only=True)
class Shares:
    how: str
    values: dict[str, float]
    interactions: list[Interaction]


def prove(case: Case, lab: Lab, budget: Budget, *, parts: bool = True, mediators: bool = True) -> Findings:
    """The whole ladder at once."""
    ladder = Ladder(case=case, lab=lab, budget=budget, look_inside=parts, look_between=mediators)
    for _ in ladder.run():
        pass
    return findings(ladder)


def findings(ladder: Ladder) -> Findings:
    """Everything that is known by now."""
    found = verdict(ladder)
    grounds = _grounds(ladder, found)
    level = confidence.level(grounds)
    looked = found.kind not in {"noise", "no_effect"}
    given = _shares(ladder) if looked else Shares(how="none", values={}, interactions=[])
    calls, cost = ladder.spent()
    seen = [probe.seen for probe in ladder.facts.probes.values()]
    between = _mediators(ladder, found)
    told = wording.Told(ladder=ladder, kind=found.kind, sets=found.sets, gate=grounds.gate)
    repeats = min(grounds.gate.base_n, grounds.gate.candidate_n)
    return Findings(
        question=ladder.question,
        verdict=found.kind,
        conclusion=wording.conclusion(told),
        confidence=level.confidence,
        rule=level.rule,
        primary=[_ordered(ladder.space, one) for one in found.sets],
        atoms=list(_atoms(ladder, given, looked=looked)),
        probes=list(_probes(ladder)),
        mediators=between,
        noise=grounds.gate,
        interactions=given.interactions,
        shares="exact" if given.how == "exact" else "sampled" if given.how == "sampled" else "none",
        replays_cached=sum(each.settled and not each.live_calls for each in seen),
        replays_live=sum(bool(each.live_calls) for each in seen),
        steps_executed=sum(each.executed_steps for each in seen),
        live_calls=calls,
        cost_usd=cost,
        features=list(ladder.case.features),
        scope="over repeats" if repeats else "in this run",
        repeats=repeats,
        assumptions=[*ladder.case.assumptions, *wording.assumptions(told, drawn=grounds.drawn)],
        stopped=ladder.stopped,
        cheapest_experiment=wording.cheapest(told, sure=level.confidence in {"high", "noise"}),
    )


def verdict(ladder: Ladder) -> Verdict:
    """What kind of cause the probes show."""
    if not ladder.case.differs:
        return Verdict(kind="no_effect")
    if ladder.is_noise:
        return Verdict(kind="noise")
    if ladder.is_unanswerable:
        return Verdict(kind="inconclusive")
    space = ladder.space
    if space.contradicted:
        return Verdict(kind="inconclusive")
    if single := proved_single(space):
        return Verdict(kind="single", sets=(frozenset({single}),))
    sets = tuple(space.smallest())
    if sets:
        return Verdict(kind=_kind(space, sets), sets=sets)
    return _needed(ladder) or _left(ladder) or _narrowed(space) or Verdict(kind="inconclusive")


def _kind(space: Space, sets: tuple[Atoms, ...]) -> EvidenceVerdict:
    """Of sets that are enough; where a member can be missing, something else is enough as well."""
    dispensable = any(space.needed(frozenset({atom})) is False for one in sets for atom in one)
    if len(sets) > 1 or dispensable:
        return "over_determined"
    return "single" if len(sets[0]) == 1 else "joint"


def _needed(ladder: Ladder) -> Verdict | None:
    """Nothing is known to be enough, but without these the outcome is lost."""
    space = ladder.space
    needed = frozenset(atom.id for atom in space.atoms if space.needed(frozenset({atom.id})))
    if not needed:
        return None
    alone = next(iter(needed))
    single = len(needed) == 1 and space.enough(needed) is None
    return Verdict(kind="single" if single else "joint", sets=(frozenset({alone}) if single else needed,))


def _narrowed(space: Space) -> Verdict | None:
    """Some of the changes are enough, and which of them could not be told."""
    narrowed = [one for one in space.known_enough() if one != space.all]
    return Verdict(kind="inconclusive", sets=tuple(narrowed[:1])) if narrowed else None


def _left(ladder: Ladder) -> Verdict | None:
    """Certificates may rule out every change but one."""
    open_ = ladder.open()
    # Where a single probe says something, it counts and not what is left.
    settled = any(probe.seen.settled for probe in ladder.facts.probes.values() if not probe.asked.ask.repeat)
    every = all(atom.testable or atom.certificate is not None for atom in ladder.case.atoms)
    if len(open_) == 1 < len(ladder.space.atoms) and every and not settled:
        return Verdict(kind="single", sets=(frozenset(open_),), certified=True)
    return None


def _grounds(ladder: Ladder, found: Verdict) -> Grounds:
    space = ladder.space
    cause = found.sets[0] if found.sets else frozenset()
    searched = "search" in ladder.done or not ladder.space.atoms or ladder.stage in {"parts", "mediators", "shares"}
    return Grounds(
        verdict=found.kind,
        gate=ladder.noise(),
        left_by_certificates=found.certified,
        enough=space.enough(cause) if cause else None,
        needed=space.needed(cause) if cause else None,
        drawn=bool(cause) and ladder.drawn(cause),
        finished=searched,
        borrowed=bool(cause) and not ladder.case.one_space and ladder.borrowed(cause),
        derived=bool(cause) and ladder.derived(cause),
        assumed=bool(cause) and ladder.assumed(cause),
        follows=any(atom.id in cause and atom.follows for atom in space.atoms),
        stood_in=any(atom.id in cause and atom.category == "structure" for atom in space.atoms),
        confirmed=noise_gate.confirmed(space, cause) if cause else None,
        apart=bool(cause) and noise_gate.apart(space, cause),
        only=found.kind != "single" or is_only(space, next(iter(cause))),
        exhaustive=_is_exhaustive(space),
    )


def _is_exhaustive(space: Space) -> bool:
    names = [atom.id for atom in space.atoms]
    return len(names) <= shapley.MOST and shapley.known_values(space, names) is not None


def _shares(ladder: Ladder) -> Shares:
    """Exact where every combination is known."""
    atoms = ladder.open()
    values = shapley.known_values(ladder.space, atoms) if 0 < len(atoms) <= shapley.MOST else None
    if values is not None:
        rounded = {atom: round(share, 6) for atom, share in shapley.exact(values, atoms).items()}
        return Shares(how="exact", values=rounded, interactions=shapley.interactions(values, atoms))
    if ladder.sampled_shares is not None:
        rounded = {atom: round(share, 6) for atom, share in ladder.sampled_shares.items()}
        return Shares(how="sampled", values=rounded, interactions=[])
    return Shares(how="none", values={}, interactions=[])


def _mediators(ladder: Ladder, found: Verdict) -> list[Mediator]:
    return mediators.chain(ladder.facts, ladder.stages, ladder.space.all) if found.sets else []


def _atoms(ladder: Ladder, given: Shares, *, looked: bool) -> Iterator[AtomEvidence]:
    """The changes, each followed by its parts where it was divided; those that were seen to do nothing come last.

    Where nobody `looked` for a cause, the two recordings alone say nothing of what a change does.
    """
    parts = {drilled.atom.id: drilled.space for drilled in ladder.drilled}

    def told(atom: Atom, space: Space | None) -> Iterator[AtomEvidence]:
        yield _atom(atom, space, given)
        if (inner := parts.get(atom.id)) is not None:
            for part in inner.atoms:
                yield from told(part, inner)

    for atom in sorted(ladder.space.atoms, key=lambda atom: -leads.weight(ladder.space, atom) if looked else 0):
        yield from told(atom, ladder.space if looked else None)
    for atom in ladder.case.atoms:
        if not atom.testable:
            yield _atom(atom, None, given)


def _atom(atom: Atom, space: Space | None, given: Shares) -> AtomEvidence:
    alone = frozenset({atom.id})
    enough = space.enough(space.with_required(alone)) if space is not None else None
    needed = space.needed(alone) if space is not None else None
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
        sufficient=enough,
        necessary=False if needed is None and atom.certificate is not None else needed,
        shapley=given.values.get(atom.id),
    )


def _probes(ladder: Ladder) -> Iterator[ProbeEvidence]:
    """In the order in which they were made; repeats of one configuration together."""
    single = [probe for ask, probe in ladder.facts.probes.items() if not ask.repeat]
    groups: dict[tuple[Atoms, str], list[Probe]] = {}
    for ask, probe in ladder.facts.probes.items():
        if ask.repeat:
            groups.setdefault((ask.applied, ask.side), []).append(probe)
    for number, probes in enumerate([*groups.values(), *([probe] for probe in single)], 1):
        yield _probe(ladder, number, probes)


def _probe(ladder: Ladder, number: int, probes: list[Probe]) -> ProbeEvidence:
    first, seen = probes[0], [probe.seen for probe in probes]
    costs = [each.cost_usd for each in seen]
    known = [cost for cost in costs if cost is not None]
    last = next((each for each in seen if not each.settled), seen[-1])
    return ProbeEvidence(
        number=number,
        purpose=first.asked.purpose,
        applied=_in_order(ladder, first.asked.ask.applied),
        side=first.asked.ask.side,
        clamped=first.asked.ask.clamp,
        outcome=last.outcome,
        said=wording.outcomes(seen) if len(seen) > 1 else last.said,
        missing=last.missing,
        repeats=len(seen),
        executed_steps=sum(each.executed_steps for each in seen),
        cached_calls=sum(each.cached_calls for each in seen),
        live_calls=sum(each.live_calls for each in seen),
        cost_usd=sum(known) if len(known) == len(costs) else None,
        run=last.run,
    )


def _in_order(ladder: Ladder, applied: Atoms) -> list[str]:
    spaces = [ladder.space, *(drilled.space for drilled in ladder.drilled)]
    places = {atom.id: place for place, atom in enumerate(atom for space in spaces for atom in space.atoms)}
    return sorted(applied, key=lambda name: (places.get(name, len(places)), name))


def _ordered(space: Space, atoms: Atoms) -> list[str]:
    members = [atom for atom in space.atoms if atom.id in atoms]
    return [atom.id for atom in sorted(members, key=lambda atom: -leads.weight(space, atom))]
