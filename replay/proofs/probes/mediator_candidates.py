"""Candidates for mediators: the recorded steps between a cause and the answer. Pure."""

from typing import Final, get_args

from diffing.compare.comparison import Pair
from diffing.compare.references import step_ref
from diffing.sentences.notes import facet_note, plain_text
from replay.overrides.profile import CallEnd
from replay.proofs.core.types import Atoms, PathStep
from replay.proofs.subject.subject import Subject
from traces.core.vocabulary import StepType

_TYPES: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT})
_ENDS: Final = frozenset(get_args(CallEnd))


def path_steps(subject: Subject, cause: Atoms) -> list[PathStep]:
    """The steps with a different output from which the answer is reachable, without the one that gives the answer."""
    examination = subject.examination
    atoms = {atom.id: atom for atom in subject.atoms}
    firsts = [atom.candidate.sequence_no for name in cause if (atom := atoms.get(name)) and atom.candidate]
    live = examination.reasoning.live
    pairs = [pair for pair in examination.comparison.acting if _is_clampable(pair) and pair.place in live]
    models = [pair for pair in pairs if pair.step.type == StepType.MODEL]
    last = models[-1] if models else None
    return [
        PathStep(number=pair.candidate.sequence_no, step=step_ref(pair.candidate), text=_text(subject, pair))
        for pair in pairs
        if pair.candidate is not None and pair is not last and pair.candidate.sequence_no >= min(firsts, default=0)
    ]


def clamp_of(subject: Subject, number: int) -> tuple[int, StepType, str, str]:
    """The candidate's step and its type, with output and status of its counterpart in the base."""
    pairs = subject.examination.comparison.pairs
    base, candidate = next(
        pair.sides for pair in pairs if pair.sides is not None and pair.sides[1].sequence_no == number
    )
    return candidate.sequence_no, StepType(candidate.type), base.output_ref, base.status


def _is_clampable(pair: Pair) -> bool:
    if pair.sides is None or not pair.answers_differently or pair.step.type not in _TYPES:
        return False
    return pair.step.type != StepType.TOOL or {side.status for side in pair.sides} <= _ENDS


def _text(subject: Subject, pair: Pair) -> str:
    facets = subject.examination.loaded_pairs.facets.get(pair.place, ())
    outputs = sorted(
        (facet for facet in facets if facet.part == "output"), key=lambda facet: facet.kind != "tool calls"
    )
    return plain_text(facet_note(outputs[0])) if outputs else "answered differently"
