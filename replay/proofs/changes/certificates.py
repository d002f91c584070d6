"""Certificates: changes that cannot have mattered in this run, by the recordings alone and without any replay. Pure.

They hold for taking one change alone back from the candidate. What a change would do on its own is not theirs to say.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from diffing.compare.comparison import Pair
from diffing.report.build import Examined
from diffing.schemas.evidence import Certificate, CertificateKind, QuestionKind
from diffing.sentences import proofs
from diffing.sentences.findings import ChanceKind
from replay.proofs.core.types import Atom

_ANSWERS: Final = frozenset(
    {"answer", "answer_exact", "answer_facts", "answer_alike"}
)  # the questions about the final answer


def certify(seen: Examined, places: Collection[int]) -> Certificate | None:
    """Why a change at these pairs cannot have reached the final answer; None where it can have."""
    comparison, reach, live = seen.comparison, seen.found.reach, seen.found.live
    # Links that lead from no change to the answer are incomplete, and certify nothing.
    if comparison.final is None or reach is None or not seen.found.has_links or not places:
        return None
    own = [comparison.pairs[place] for place in places]
    reached = (reach.after(places) | set(places)) & live
    if any(comparison.pairs[place].answers_differently for place in reached):
        return None
    if all(_same(pair) for pair in own):
        return _certificate("inert")
    if comparison.final.place in _reachable(seen, places):
        return _certificate("dominated")
    return _certificate("unreached")


def _certificate(kind: CertificateKind) -> Certificate:
    return Certificate(kind=kind, reason=proofs.certificate(kind))


def holding(atoms: Sequence[Atom], kind: QuestionKind) -> list[Atom]:
    """The changes with the certificates that hold for a question: those about ways to the answer say no more."""
    return [
        atom
        if kind in _ANSWERS or atom.certificate is None or atom.certificate.kind == "inert"
        else replace(atom, certificate=None)
        for atom in atoms
    ]


def chance(seen: Examined, changes: Collection[Atom], kind: QuestionKind, *, lattice: bool) -> str:
    """Why nobody's change can have made the difference; empty where one may have.

    Between separate recordings the changes are the roots themselves; between forks they are what somebody set, and
    have to be ruled out one by one.
    """
    judged = seen.found.chance if kind in _ANSWERS else seen.found.chance_at_all
    if not judged.certain or (lattice and any(change.certificate is None for change in changes)):
        return ""
    if judged.repeats is not None:
        return proofs.chance(ChanceKind.TRIALS, task=judged.repeats.task)
    drawn = seen.found.primary  # none where the final answers are the same, and the question is another one
    first = drawn.pair if drawn is not None else next(pair for pair in seen.comparison.acting if pair.differs)
    number = (first.base or first.step).sequence_no
    return proofs.chance(ChanceKind.RESAMPLING, step=number)


def _same(pair: Pair) -> bool:
    return pair.sides is not None and not pair.answers_differently


def _reachable(seen: Examined, places: Collection[int]) -> set[int]:
    """Every pair that the recorded data flow leads to, whatever was passed on."""
    found = set(places)
    waiting = list(places)
    while waiting:
        for travel in seen.flow.outgoing.get(waiting.pop(), ()):
            if travel.consumer not in found:
                found.add(travel.consumer)
                waiting.append(travel.consumer)
    return found
