"""The steps between a cause and the answer, as the recordings show them: candidates for mediators. Pure."""

from typing import Final, get_args

from diffing.compare.comparison import Pair
from diffing.compare.references import step_ref
from diffing.sentences.changes import facet_note
from replay.overrides.profile import CallEnd
from replay.proofs.core.types import Atoms, Stage
from replay.proofs.subject.subject import Subject
from traces.core.vocabulary import StepType

_TYPES: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT})
_ENDS: Final = frozenset(get_args(CallEnd))


def stages(subject: Subject, cause: Atoms) -> list[Stage]:
    """Steps that answered otherwise, from which the answer can have been reached, but for the one that gives it."""
    seen = subject.seen
    atoms = {atom.id: atom for atom in subject.atoms}
    firsts = [atom.candidate.sequence_no for name in cause if (atom := atoms.get(name)) and atom.candidate]
    pairs = [pair for pair in seen.comparison.acting if _clampable(pair) and pair.place in seen.found.live]
    models = [pair for pair in pairs if pair.step.type == StepType.MODEL]
    last = models[-1] if models else None
    return [
        Stage(number=pair.candidate.sequence_no, step=step_ref(pair.candidate), text=_text(subject, pair))
        for pair in pairs
        if pair.candidate is not None and pair is not last and pair.candidate.sequence_no >= min(firsts, default=0)
    ]


def clamped(subject: Subject, number: int) -> tuple[int, StepType, str, str]:
    """The candidate's step, its type, and what its counterpart in the base answered and how that ended."""
    pairs = subject.seen.comparison.pairs
    base, candidate = next(
        pair.sides for pair in pairs if pair.sides is not None and pair.sides[1].sequence_no == number
    )
    return candidate.sequence_no, StepType(candidate.type), base.output_ref, base.status


def _clampable(pair: Pair) -> bool:
    if pair.sides is None or not pair.answers_differently or pair.step.type not in _TYPES:
        return False
    return pair.step.type != StepType.TOOL or {side.status for side in pair.sides} <= _ENDS


def _text(subject: Subject, pair: Pair) -> str:
    facets = subject.seen.opened.facets.get(pair.place, ())
    made = [facet for facet in facets if facet.part == "output"]
    told = sorted(made, key=lambda facet: facet.kind != "tool calls")
    return facet_note(told[0]) if told else "answered otherwise"
