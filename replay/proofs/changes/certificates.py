"""Certificates: changes that, by the recordings alone, cannot have mattered in this run. Pure.

A certificate is about reverting one change from the candidate. It says nothing about applying that change alone.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from diffing.compare.comparison import Pair
from diffing.report.examination import Examination
from diffing.schemas.evidence import Certificate, CertificateKind, QuestionKind
from diffing.sentences import proofs
from diffing.sentences.findings import ChanceKind
from replay.proofs.core.types import Atom

# The questions about the final answer.
_ANSWERS: Final = frozenset({"answer", "answer_exact", "answer_facts", "answer_alike"})


def certify(examination: Examination, places: Collection[int]) -> Certificate | None:
    """The reason why a change at these pairs cannot have reached the final answer; None if it can have."""
    comparison, reach, live = examination.comparison, examination.reasoning.reach, examination.reasoning.live
    # Links that lead from no change to the answer are incomplete, and certify nothing.
    if comparison.final is None or reach is None or not examination.reasoning.has_links or not places:
        return None
    own = [comparison.pairs[place] for place in places]
    reachable = (reach.after(places) | set(places)) & live
    if any(comparison.pairs[place].answers_differently for place in reachable):
        return None
    if all(_answers_equally(pair) for pair in own):
        return _certificate("inert")
    if comparison.final.place in _reachable(examination, places):
        return _certificate("dominated")
    return _certificate("unreached")


def _certificate(kind: CertificateKind) -> Certificate:
    return Certificate(kind=kind, reason=proofs.certificate(kind))


def valid_for(atoms: Sequence[Atom], kind: QuestionKind) -> list[Atom]:
    """The changes, with only the certificates that apply to a question: most concern the final answer."""
    return [
        atom
        if kind in _ANSWERS or atom.certificate is None or atom.certificate.kind == "inert"
        else replace(atom, certificate=None)
        for atom in atoms
    ]


def chance(examination: Examination, changes: Collection[Atom], kind: QuestionKind, *, lattice: bool) -> str:
    """The reason why no change can have made the difference; empty if one may have.

    Between separate recordings, the changes are the roots themselves. Between forks, they are the overrides, and each
    of them has to be ruled out.
    """
    assessment = examination.reasoning.chance if kind in _ANSWERS else examination.reasoning.chance_at_all
    if not assessment.certain or (lattice and any(change.certificate is None for change in changes)):
        return ""
    if assessment.repeats is not None:
        return proofs.chance(ChanceKind.TRIALS, task=assessment.repeats.task)
    # There is no primary root if the final answers are equal and the question is about something else.
    primary = examination.reasoning.primary
    first = (
        primary.pair if primary is not None else next(pair for pair in examination.comparison.acting if pair.differs)
    )
    number = (first.base or first.step).sequence_no
    return proofs.chance(ChanceKind.RESAMPLING, step=number)


def _answers_equally(pair: Pair) -> bool:
    return pair.sides is not None and not pair.answers_differently


def _reachable(examination: Examination, places: Collection[int]) -> set[int]:
    """Every pair that recorded data flow leads to, whatever was passed on."""
    reachable = set(places)
    queue = list(places)
    while queue:
        for travel in examination.flow.outgoing(queue.pop()):
            if travel.consumer not in reachable:
                reachable.add(travel.consumer)
                queue.append(travel.consumer)
    return reachable
