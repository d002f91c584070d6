"""What a proof would do and cost, found out without asking anybody."""

from collections.abc import Sequence

from replay.models import Proof
from replay.proofs import driver
from replay.proofs.core.schemas import AtomPlan, ProofPlan, ProofRefusal, ProofRequest
from replay.proofs.core.types import Ask, Atom, Seen
from replay.proofs.ladder.ladder import Ladder
from replay.proofs.ladder.statistics import FIRST
from replay.proofs.probes.probe_runner import ProbeRunner
from replay.proofs.subject.subject import unserved

_TRIED = 12  # changes whose probes are tried for the plan; of more the worst is assumed


def plan(proof: Proof, request: ProofRequest) -> ProofPlan:
    """Tries in memory which probes the recordings answer; the others are priced as replays of the whole."""
    ladder = driver.ladder_of(proof)
    case, lab = ladder.case, ladder.lab
    assert isinstance(lab, ProbeRunner)  # as `driver` makes it
    tried = [(atom, _tried(ladder, lab, atom)) for atom in (ladder.space.atoms[:_TRIED] if case.differs else ())]
    dear = sum(_is_dear(seen) for _, both in tried for seen in both)
    dear += 2 * max(0, len(ladder.space.atoms) - _TRIED) if case.differs else 0
    repeats = 2 * request.budget.repeats if case.sampled and case.differs else 0
    replays = dear + repeats
    return ProofPlan(
        question=request.question,
        differs=case.differs,
        base_outcome=case.names["base"],
        candidate_outcome=case.names["candidate"],
        atoms=[*(_atom(atom, both, case.live_calls) for atom, both in tried), *_others(ladder, len(tried))],
        sampled=case.sampled,
        probes=driver.expected(ladder) if case.differs else 0,
        repeats=repeats,
        live_calls=replays * case.live_calls,
        cost_usd=None if case.live_cost_usd is None and replays else round(replays * (case.live_cost_usd or 0.0), 6),
        missing=_missing(lab, [seen for _, both in tried for seen in both], repeats=bool(repeats)),
        refusals=[],
        warnings=_warnings(ladder, request, dear),
    )


def refused(request: ProofRequest, refusals: Sequence[ProofRefusal]) -> ProofPlan:
    """The plan of a proof that is refused before anything is looked at."""
    return ProofPlan(
        question=request.question,
        differs=False,
        base_outcome="",
        candidate_outcome="",
        atoms=[],
        sampled=False,
        probes=0,
        repeats=0,
        live_calls=0,
        cost_usd=0.0,
        missing=[],
        refusals=list(refusals),
        warnings=[],
    )


def _missing(lab: ProbeRunner, seen: Sequence[Seen], *, repeats: bool) -> list[str]:
    """What no budget could buy."""
    unknown = [f"nothing is configured to ask {model} anew" for model in unserved(lab.subject)] if repeats else []
    return list(dict.fromkeys([*unknown, *(each.missing for each in seen if each.missing)]))


def _tried(ladder: Ladder, lab: ProbeRunner, atom: Atom) -> tuple[Seen, Seen]:
    space, alone = ladder.space, frozenset({atom.id})
    asks = (
        Ask(applied=space.with_required(alone), side="base"),
        Ask(applied=space.all - space.with_dependents(alone), side="candidate"),
    )
    applied, reverted = (lab.tried(ask) for ask in asks)
    return applied, reverted


def _atom(atom: Atom, both: tuple[Seen, Seen], calls: int) -> AtomPlan:
    return AtomPlan(
        id=atom.id,
        category=atom.category,
        title=atom.title,
        testable=atom.testable,
        why_not=atom.why_not,
        certificate=atom.certificate.reason if atom.certificate is not None else "",
        live_calls=sum(map(_is_dear, both)) * calls,
    )


def _is_dear(seen: Seen) -> bool:
    """Whether the probe takes live calls, and somebody could answer them."""
    return seen.outcome == "needs_live" and not seen.missing


def _others(ladder: Ladder, tried: int) -> list[AtomPlan]:
    """Changes that cannot be tested, and those beyond the ones that were tried."""
    left = [*ladder.space.atoms[tried:], *(atom for atom in ladder.case.atoms if not atom.testable)]
    return [
        AtomPlan(
            id=atom.id,
            category=atom.category,
            title=atom.title,
            testable=atom.testable,
            why_not=atom.why_not,
            certificate=atom.certificate.reason if atom.certificate is not None else "",
            live_calls=None,
        )
        for atom in left
    ]


def _warnings(ladder: Ladder, request: ProofRequest, dear: int) -> list[str]:
    found = []
    if dear:
        replays = "1 replay asks" if dear == 1 else f"{dear} replays ask"
        found.append(
            f"{replays} models anew: no recorded answer is one to a request that reads otherwise, so chance "
            "has a say in all that follows it."
        )
    if not ladder.case.differs:
        found.append("Both runs have the same outcome: there is nothing to prove.")
    elif ladder.case.chance:
        found.append(f"Chance is the answer without any probe: {ladder.case.chance}. Repeats would say how often.")
    elif ladder.case.sampled and request.budget.live_calls == 0:
        found.append(
            "Answers were drawn from a model. Without live calls chance cannot be ruled out, only stored repeats count."
        )
    if ladder.case.sampled and request.budget.repeats < FIRST:
        found.append(f"Fewer than {FIRST} repeats of each side can rule out nothing.")
    return found
