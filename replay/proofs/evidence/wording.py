"""Findings as typed values for the sentences: the conclusion, what it rests on, and what would settle it. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from diffing.schemas.evidence import CheapestExperiment, EvidenceVerdict, GateStatus, NoiseGate
from diffing.sentences import proofs
from diffing.sentences.findings import AssumptionKind, CoarserQuestion, Conclusion, ConclusionKind, TrialKind
from replay.proofs.core.types import Atom, Atoms, Seen
from replay.proofs.ladder import noise_gate
from replay.proofs.ladder.ladder import Ladder

_NAMED: Final = 3
_SETTLING: Final = 5  # repeats of each side: five against five, all different, have p = 0.008


@dataclass(frozen=True, kw_only=True)
class Told:
    """What the sentences are about."""

    ladder: Ladder
    kind: EvidenceVerdict
    sets: tuple[Atoms, ...]
    gate: NoiseGate


def conclusion(told: Told) -> str:
    """The finding in one sentence."""
    return proofs.conclusion(_conclusion(told))


def _conclusion(told: Told) -> Conclusion:
    match told.kind:
        case "no_effect":
            return _found(told, ConclusionKind.NO_EFFECT)
        case "noise" if told.gate.status == GateStatus.NOT_NEEDED:
            return _found(told, ConclusionKind.CHANCE, reason=told.gate.reason)
        case "noise":
            return _found(told, ConclusionKind.WITHIN_CHANCE)
        case "inconclusive":
            return _inconclusive(told)
        case "single":
            return _found(told, _single(told), sets=told.sets[:1])
        case "joint":
            enough = told.ladder.space.enough(told.sets[0])
            kind = ConclusionKind.JOINT if enough else ConclusionKind.ALL_NECESSARY
            return _found(told, kind, sets=told.sets[:1])
        case "over_determined":
            kind = ConclusionKind.NOT_ALONE if len(told.sets) == 1 else ConclusionKind.SEVERAL_CAUSES
            more = max(0, len(told.sets) - _NAMED)
            return _found(told, kind, sets=told.sets[:_NAMED], more=more)


def _found(
    told: Told, kind: ConclusionKind, *, sets: Sequence[Atoms] = (), more: int = 0, reason: str = ""
) -> Conclusion:
    models = _other_models(told.ladder)
    return Conclusion(
        kind=kind,
        gate=told.gate,
        sets=tuple(_titles(_members(told, one)) for one in sets),
        more=more,
        reason=reason,
        chance_open=bool(told.sets) and told.kind != "inconclusive" and told.gate.status == GateStatus.NOT_RUN,
        models=tuple(models[:_NAMED]),
        more_models=max(0, len(models) - _NAMED),
    )


def _other_models(ladder: Ladder) -> list[str]:
    """The models that answered in place of the recorded ones."""
    probes = ladder.facts.probes.values()
    return [*dict.fromkeys(name for probe in probes for name in probe.seen.other_models)]


def outcomes(seen: Iterable[Seen]) -> str:
    """What repeats came to, counted."""
    words = {"base": "as in the base", "candidate": "as in the candidate", "other": "something else"}
    counts = Counter(words.get(each.outcome, "could not run") for each in seen)
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def assumptions(told: Told, *, drawn: bool) -> list[str]:
    """What was compared instead of what was asked, and what has to be true for the finding to be."""
    return [*map(proofs.assumption, _coarsened(told.ladder)), *map(proofs.assumption, _assumed(told, drawn=drawn))]


def _assumed(told: Told, *, drawn: bool) -> Iterator[AssumptionKind]:
    if told.kind in {"single", "joint", "over_determined"} and not told.gate.base_n:
        yield AssumptionKind.THIS_RUN
    if drawn:
        yield AssumptionKind.NEW_ANSWER
    if told.sets:
        yield from _assumed_of(told, told.sets[0])
    if told.gate.base_n:
        yield AssumptionKind.SAME_MODELS


def _assumed_of(told: Told, cause: Atoms) -> Iterator[AssumptionKind]:
    """What has to be true of the cause."""
    ladder, space = told.ladder, told.ladder.space
    if any(atom.id in cause and atom.category == "structure" for atom in space.atoms):
        yield AssumptionKind.OUTPUT_ONLY
    if ladder.borrowed(cause):
        yield AssumptionKind.BORROWED_ANSWER
    if ladder.derived(cause):
        yield AssumptionKind.AGENT_CODE
    if ladder.assumed(cause):
        yield AssumptionKind.UNEXPLAINED_INPUT
    if not space.one and space.enough(space.all) is False:
        yield AssumptionKind.OTHER_DIFFERENCES


def _coarsened(ladder: Ladder) -> list[CoarserQuestion]:
    asked, compared = ladder.case.question, ladder.question
    if compared is asked:
        return []
    base, _ = noise_gate.sides(ladder.space)
    return [
        CoarserQuestion(
            exact=asked.text,
            exact_kind=asked.kind,
            coarse=compared.text,
            coarse_kind=compared.kind,
            differs_on_the_way=base.stray(),
        )
    ]


def cheapest(told: Told, *, sure: bool) -> CheapestExperiment | None:
    """What would settle it, and for how much."""
    if sure or not told.ladder.case.differs:
        return None
    if told.gate.status == GateStatus.NOT_RUN:
        text = proofs.experiment(TrialKind.REPEAT, repeats=_SETTLING)
        return _priced(told, text, 2 * _SETTLING)
    open_ = [atom for atom in _chosen(told) if _unknown(told, atom)]
    if not open_:
        return _by_hand(told)
    text = proofs.experiment(TrialKind.BOTH_WAYS, titles=_titles(open_[:_NAMED]))
    return _priced(told, text, 2 * len(open_))


def _by_hand(told: Told) -> CheapestExperiment | None:
    """Where no replay can tell any more: the agent itself can. What that costs nobody here knows."""
    if told.kind in {"joint", "over_determined"}:
        return None  # every member was tried: it is known as well as it can be
    untried = [atom for atom in told.ladder.case.atoms if not atom.testable]
    if untried:
        text = proofs.experiment(TrialKind.RUN_BOTH, titles=_titles(untried[:_NAMED]))
        return CheapestExperiment(text=text, replays=0, live_calls=0, cost_usd=None)
    if told.kind == "inconclusive" and told.ladder.space.enough(told.ladder.space.all) is False:
        text = proofs.experiment(TrialKind.RUN_ALL)
        return CheapestExperiment(text=text, replays=0, live_calls=0, cost_usd=None)
    return None


def _chosen(told: Told) -> Sequence[Atom]:
    """The changes that an experiment should be about: those found so far, else all."""
    found = frozenset[str]().union(*told.sets)
    atoms = told.ladder.space.atoms
    return [atom for atom in atoms if atom.id in found] or [atom for atom in atoms if atom.certificate is None]


def _unknown(told: Told, atom: Atom) -> bool:
    space, alone = told.ladder.space, frozenset({atom.id})
    return space.enough(space.with_required(alone)) is None or space.needed(alone) is None


def _priced(told: Told, text: str, replays: int) -> CheapestExperiment:
    case = told.ladder.case
    cost = None if case.live_cost_usd is None else round(replays * case.live_cost_usd, 6)
    return CheapestExperiment(text=text, replays=replays, live_calls=replays * case.live_calls, cost_usd=cost)


def _single(told: Told) -> ConclusionKind:
    """What is known of the only cause."""
    enough, needed = told.ladder.space.enough(told.sets[0]), told.ladder.space.needed(told.sets[0])
    if enough and needed:
        return ConclusionKind.BOTH_WAYS
    if enough:
        return ConclusionKind.SUFFICIENT
    return ConclusionKind.NECESSARY if needed else ConclusionKind.LAST_CANDIDATE


def _inconclusive(told: Told) -> Conclusion:
    ladder = told.ladder
    if not ladder.space.atoms:
        return _found(told, ConclusionKind.UNTESTABLE)
    if told.gate.status == GateStatus.NOT_RUN and not ladder.made():
        return _found(told, ConclusionKind.NO_PROOF, reason=told.gate.reason)
    if told.sets:
        return _found(told, ConclusionKind.ONE_OF_THESE, sets=told.sets[:1])
    if ladder.is_unanswerable:
        return _found(told, ConclusionKind.WORDING)
    if ladder.space.enough(ladder.space.all) is False:
        return _not_made(told)
    missed = [
        (bool(ask.repeat), probe.seen.missing) for ask, probe in ladder.facts.probes.items() if probe.seen.missing
    ]
    # What a probe missed says more than what a repeat did.
    missing = min(missed, default=(False, ""), key=lambda each: each[0])[1]
    return _found(told, ConclusionKind.INSEPARABLE, reason=missing)


def _not_made(told: Told) -> Conclusion:
    """The difference is there without what was applied. Unrecorded is only what no recorded difference can be."""
    left = [atom for atom in told.ladder.case.atoms if not atom.testable]
    if not left:
        return _found(told, ConclusionKind.UNRECORDED_CAUSE)
    named = _found(told, ConclusionKind.NOT_REPLAYABLE, more=max(0, len(left) - _NAMED))
    return replace(named, sets=(_titles(left[:_NAMED]),))


def _members(told: Told, atoms: Atoms) -> list[Atom]:
    return [atom for atom in told.ladder.space.atoms if atom.id in atoms]


def _titles(atoms: Sequence[Atom]) -> tuple[str, ...]:
    return tuple(atom.title for atom in atoms)
