"""From a ladder to the typed values of its sentences: conclusion, assumptions, and what would settle it. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from diffing.schemas.evidence import CheapestExperiment, EvidenceVerdict, GateStatus, NoiseGate
from diffing.sentences import proofs
from diffing.sentences.findings import AssumptionKind, CoarserQuestion, Conclusion, ConclusionKind, TrialKind
from replay.proofs.core.types import Atom, Atoms, ProbeResult
from replay.proofs.ladder import noise_gate
from replay.proofs.ladder.ladder import Ladder

_MAX_NAMES: Final = 3
# Repeats of each side to propose: five against five, all different, give p = 0.008.
_PROPOSED_REPEATS: Final = 5


@dataclass(frozen=True, kw_only=True)
class FindingContext:
    """The ladder and its verdict, which the sentences describe."""

    ladder: Ladder
    kind: EvidenceVerdict
    sets: tuple[Atoms, ...]
    gate: NoiseGate


def conclusion(context: FindingContext) -> str:
    """Word the finding in one sentence."""
    return proofs.conclusion(_conclusion(context))


def _conclusion(context: FindingContext) -> Conclusion:
    match context.kind:
        case EvidenceVerdict.NO_EFFECT:
            return _conclude(context, ConclusionKind.NO_EFFECT)
        case EvidenceVerdict.NOISE if context.gate.status == GateStatus.NOT_NEEDED:
            return _conclude(context, ConclusionKind.CHANCE, reason=context.gate.reason)
        case EvidenceVerdict.NOISE:
            return _conclude(context, ConclusionKind.WITHIN_CHANCE)
        case EvidenceVerdict.INCONCLUSIVE:
            return _inconclusive(context)
        case EvidenceVerdict.SINGLE:
            return _conclude(context, _single(context), sets=context.sets[:1])
        case EvidenceVerdict.JOINT:
            enough = context.ladder.space.is_enough(context.sets[0])
            kind = ConclusionKind.JOINT if enough else ConclusionKind.ALL_NECESSARY
            return _conclude(context, kind, sets=context.sets[:1])
        case EvidenceVerdict.OVER_DETERMINED:
            kind = ConclusionKind.NOT_ALONE if len(context.sets) == 1 else ConclusionKind.SEVERAL_CAUSES
            more = max(0, len(context.sets) - _MAX_NAMES)
            return _conclude(context, kind, sets=context.sets[:_MAX_NAMES], more=more)


def _conclude(
    context: FindingContext, kind: ConclusionKind, *, sets: Sequence[Atoms] = (), more: int = 0, reason: str = ""
) -> Conclusion:
    models = _other_models(context.ladder)
    return Conclusion(
        kind=kind,
        gate=context.gate,
        sets=tuple(_titles(_members(context, causes)) for causes in sets),
        more=more,
        reason=reason,
        chance_open=bool(context.sets)
        and context.kind != EvidenceVerdict.INCONCLUSIVE
        and context.gate.status == GateStatus.NOT_RUN,
        models=tuple(models[:_MAX_NAMES]),
        more_models=max(0, len(models) - _MAX_NAMES),
    )


def _other_models(ladder: Ladder) -> list[str]:
    """Models that answered in place of the recorded ones."""
    probes = ladder.facts.probes.values()
    return [*dict.fromkeys(name for probe in probes for name in probe.result.other_models)]


def outcomes(results: Iterable[ProbeResult]) -> str:
    """The outcomes of repeats, counted."""
    return proofs.outcome_counts(Counter(result.outcome for result in results))


def assumptions(context: FindingContext, *, new_answer: bool) -> list[str]:
    """The question compared in place of the requested one, and what must be true for the finding to be."""
    kinds = _assumption_kinds(context, new_answer=new_answer)
    return [*map(proofs.assumption, _coarser_question(context.ladder)), *map(proofs.assumption, kinds)]


def _assumption_kinds(context: FindingContext, *, new_answer: bool) -> Iterator[AssumptionKind]:
    if context.kind.names_cause and not context.gate.base_n:
        yield AssumptionKind.THIS_RUN
    if new_answer:
        yield AssumptionKind.NEW_ANSWER
    if context.sets:
        yield from _cause_assumptions(context, context.sets[0])
    if context.gate.base_n:
        yield AssumptionKind.SAME_MODELS
    if context.ladder.case.other_code:
        yield AssumptionKind.OTHER_CODE


def _cause_assumptions(context: FindingContext, cause: Atoms) -> Iterator[AssumptionKind]:
    """What must be true of the cause."""
    ladder, space = context.ladder, context.ladder.space
    if any(atom.id in cause and atom.category == "structure" for atom in space.atoms):
        yield AssumptionKind.OUTPUT_ONLY
    if ladder.used_borrowed_answer(cause):
        yield AssumptionKind.BORROWED_ANSWER
    if ladder.used_derived_code(cause):
        yield AssumptionKind.AGENT_CODE
    if ladder.used_assumption(cause):
        yield AssumptionKind.UNEXPLAINED_INPUT
    if not space.one_space and space.is_enough(space.all) is False:
        yield AssumptionKind.OTHER_DIFFERENCES


def _coarser_question(ladder: Ladder) -> list[CoarserQuestion]:
    original, current = ladder.case.question, ladder.question
    if current is original:
        return []
    base, _ = noise_gate.sides(ladder.space)
    return [
        CoarserQuestion(
            side="base" if base.stray() or ladder.compared_question.base_varies(original.kind) else "candidate",
            exact=original.text,
            exact_kind=original.kind,
            coarse=current.text,
            coarse_kind=current.kind,
            differs_on_the_way=base.stray(),
        )
    ]


def cheapest(context: FindingContext, *, sure: bool) -> CheapestExperiment | None:
    """The cheapest experiment that would settle the finding, with its cost."""
    if sure or not context.ladder.case.differs or context.ladder.case.obstacle:
        return None
    if context.gate.status == GateStatus.NOT_RUN:
        text = proofs.experiment(TrialKind.REPEAT, repeats=_PROPOSED_REPEATS)
        return _price_experiment(context, text, 2 * _PROPOSED_REPEATS)
    open_ = [atom for atom in _subjects(context) if _is_unknown(context, atom)]
    if not open_:
        return _by_hand(context)
    text = proofs.experiment(TrialKind.BOTH_WAYS, titles=_titles(open_[:_MAX_NAMES]))
    return _price_experiment(context, text, 2 * len(open_))


def _by_hand(context: FindingContext) -> CheapestExperiment | None:
    """An experiment with the agent itself, if no replay can settle more. Its cost is unknown."""
    # Every member was tried, so no experiment would show more.
    if context.kind in {EvidenceVerdict.JOINT, EvidenceVerdict.OVER_DETERMINED}:
        return None
    untestable = [atom for atom in context.ladder.case.atoms if not atom.testable]
    if untestable:
        text = proofs.experiment(TrialKind.RUN_BOTH, titles=_titles(untestable[:_MAX_NAMES]))
        return CheapestExperiment(text=text, replays=0, live_calls=0, cost_usd=None)
    if (
        context.kind == EvidenceVerdict.INCONCLUSIVE
        and context.ladder.space.is_enough(context.ladder.space.all) is False
    ):
        text = proofs.experiment(TrialKind.RUN_ALL)
        return CheapestExperiment(text=text, replays=0, live_calls=0, cost_usd=None)
    return None


def _subjects(context: FindingContext) -> Sequence[Atom]:
    """The changes that an experiment should test: the causes found so far, else all."""
    causes = frozenset[str]().union(*context.sets)
    atoms = context.ladder.space.atoms
    return [atom for atom in atoms if atom.id in causes] or [atom for atom in atoms if atom.certificate is None]


def _is_unknown(context: FindingContext, atom: Atom) -> bool:
    space, alone = context.ladder.space, frozenset({atom.id})
    return space.is_enough(space.with_required(alone)) is None or space.is_needed(alone) is None


def _price_experiment(context: FindingContext, text: str, replays: int) -> CheapestExperiment:
    case = context.ladder.case
    cost = None if case.live_cost_usd is None else round(replays * case.live_cost_usd, 6)
    return CheapestExperiment(text=text, replays=replays, live_calls=replays * case.live_calls, cost_usd=cost)


def _single(context: FindingContext) -> ConclusionKind:
    """What is known about the only cause."""
    is_enough, is_needed = (
        context.ladder.space.is_enough(context.sets[0]),
        context.ladder.space.is_needed(context.sets[0]),
    )
    if is_enough and is_needed:
        return ConclusionKind.BOTH_WAYS
    if is_enough:
        return ConclusionKind.SUFFICIENT
    return ConclusionKind.NECESSARY if is_needed else ConclusionKind.LAST_CANDIDATE


def _inconclusive(context: FindingContext) -> Conclusion:
    ladder = context.ladder
    if ladder.case.obstacle:
        return _conclude(context, ConclusionKind.NO_PROOF, reason=ladder.case.obstacle)
    if not ladder.space.atoms:
        return _conclude(context, ConclusionKind.UNTESTABLE)
    if context.gate.status == GateStatus.NOT_RUN and not ladder.probe_count():
        return _conclude(context, ConclusionKind.NO_PROOF, reason=context.gate.reason)
    if context.sets:
        return _conclude(context, ConclusionKind.ONE_OF_THESE, sets=context.sets[:1])
    if ladder.is_unanswerable:
        return _conclude(context, ConclusionKind.WORDING)
    if ladder.space.is_contradicted or ladder.space.is_enough(ladder.space.all) is False:
        return _not_reproduced(context)
    # What a probe lacked is more informative than what a repeat lacked.
    probes = sorted(ladder.facts.probes.items(), key=lambda item: bool(item[0].repeat))
    missing = next((probe.result.missing for _, probe in probes if probe.result.missing), "")
    return _conclude(context, ConclusionKind.INSEPARABLE, reason=missing)


def _not_reproduced(context: FindingContext) -> Conclusion:
    """All applied changes together do not make the difference.

    The cause is called unrecorded only if no recorded difference is left that could be it.
    """
    untestable = [atom for atom in context.ladder.case.atoms if not atom.testable]
    if not untestable:
        return _conclude(context, ConclusionKind.UNRECORDED_CAUSE)
    conclusion = _conclude(context, ConclusionKind.NOT_REPLAYABLE, more=max(0, len(untestable) - _MAX_NAMES))
    return replace(conclusion, sets=(_titles(untestable[:_MAX_NAMES]),))


def _members(context: FindingContext, atoms: Atoms) -> list[Atom]:
    return [atom for atom in context.ladder.space.atoms if atom.id in atoms]


def _titles(atoms: Sequence[Atom]) -> tuple[str, ...]:
    return tuple(atom.title for atom in atoms)
