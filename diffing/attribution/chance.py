"""Whether nothing but chance is left to blame: all that differs was drawn anew, and nobody changed anything. Pure.

A model draws its answers. Where two runs are declared to be tries at one task, so do those who play its users. What
somebody sets (prompts, tools, models, parameters, documents) is never drawn, nor is another answer of the world.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from diffing.attribution.declared_config import Repeats, declared_changes, repeats
from diffing.attribution.roots import Reaction, Roots
from diffing.attribution.unexplained_changes import Atom
from diffing.compare.comparison import Comparison, Pair
from diffing.sentences.changes import step_name, value_note
from diffing.sentences.verdicts import Doubt, DoubtKind
from traces.core.vocabulary import StepType

_WORLD: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})
_ACTS: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.TURN})
_TALK: Final = 2  # turns of a user; a task that is given once is set by somebody


@dataclass(frozen=True, kw_only=True, slots=True)
class Chance:
    """`drawn`: every root was drawn anew. `doubts`: what else may have made the difference."""

    drawn: bool = False
    doubts: tuple[Doubt, ...] = ()
    repeats: Repeats | None = None

    @property
    def certain(self) -> bool:
        return self.drawn and not self.doubts


def judged(comparison: Comparison, found: Roots, places: Collection[int], *, opened: Collection[int]) -> Chance:
    """Of the roots that can have reached the answer, and of what else differs at the places that can have."""
    atoms = found.atoms
    declared = repeats(comparison.base.run, comparison.candidate.run)
    talk = declared is not None and _is_talk(comparison)
    drawn = bool(atoms) and all(_is_drawn(atom, again=declared is not None, talk=talk) for atom in atoms)
    near = [reaction for reaction in found.reactions if reaction.pair.place in places]
    unread = [
        pair
        for pair in comparison.acting
        if pair.sides and pair.differs and pair.place in places and pair.place not in opened
    ]
    doubts = (
        *_settings(comparison),
        *_unrecorded(atoms),
        *_reactions(near, talk=talk),
        *_world(comparison, places),
        *_unread(unread),
    )
    return Chance(drawn=drawn, doubts=doubts, repeats=declared)


def _is_drawn(atom: Atom, *, again: bool, talk: bool) -> bool:
    facet = atom.facet
    if atom.sampled or not again or atom.overridden:
        return atom.sampled
    if facet is None:
        return atom.pair.step.type in _ACTS
    if facet.form == "messages":
        return talk and all(item.role == "user" for item in facet.messages)
    return facet.part == "output" and atom.pair.step.type == StepType.MODEL


def _is_talk(comparison: Comparison) -> bool:
    sides = comparison.base.steps, comparison.candidate.steps
    return all(sum(step.type == StepType.TURN for step in steps) >= _TALK for steps in sides)


def _settings(comparison: Comparison) -> Iterator[Doubt]:
    """What the runs declare of their configuration stands behind every step, and need not show in any."""
    changes = [] if comparison.derived else declared_changes(comparison.base.run, comparison.candidate.run)
    if changes:
        noted = "; ".join(value_note(change) for change in changes[:2])
        yield Doubt(kind=DoubtKind.CONFIGURATION, settings=noted)


def _unrecorded(atoms: Sequence[Atom]) -> Iterator[Doubt]:
    for atom in atoms:
        steps = (atom.pair.base, atom.pair.candidate)
        if atom.sampled and any(step is not None and not step.input_ref for step in steps):
            yield Doubt(kind=DoubtKind.REQUEST, step=step_name(atom.pair))
            return


def _reactions(reactions: Sequence[Reaction], *, talk: bool) -> Iterator[Doubt]:
    """The first of each kind."""
    first = {reaction.kind: reaction.pair for reaction in reversed(reactions)}
    for name, kind in _REACTIONS.items():
        if name in first and not (name == "user" and talk):
            yield Doubt(kind=kind, step=step_name(first[name]))


_REACTIONS: Final[Mapping[Literal["template", "variables", "user"], DoubtKind]] = {
    "template": DoubtKind.TEMPLATE,
    "variables": DoubtKind.VARIABLES,
    "user": DoubtKind.USER,
}


def _unread(pairs: Sequence[Pair]) -> Iterator[Doubt]:
    if pairs:
        yield Doubt(kind=DoubtKind.UNREAD, step=step_name(pairs[0]), more=len(pairs) - 1)


def _world(comparison: Comparison, places: Collection[int]) -> Iterator[Doubt]:
    """A call that was answered otherwise before any other call differed: nothing the run did explains that."""
    for pair in comparison.acting:
        if pair.step.type not in _WORLD:
            continue
        if pair.sides is None or "input" in pair.changes:
            return
        if pair.answers_differently and not pair.overridden and pair.place in places:
            yield Doubt(kind=DoubtKind.SAME_CALL, step=step_name(pair))
            return
