"""Chance: whether sampling alone explains the differences of two runs. Pure.

Models sample their answers. If two runs are declared trials of one task, simulated users sample their messages as well.
Prompts, tools, models, parameters and documents are set, not sampled; neither are the answers of tools and retrievers.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from diffing.attribution.declared_config import Repeats, declared_changes, repeats
from diffing.attribution.difference_origins import Origin
from diffing.attribution.roots import Reaction, Roots
from diffing.attribution.unexplained_changes import Atom
from diffing.compare.comparison import Comparison, Pair
from diffing.sentences.changes import step_name
from diffing.sentences.notes import plain_text, value_note
from diffing.sentences.verdicts import Doubt, DoubtKind
from traces.core.vocabulary import StepType

_WORLD: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})
_ACTS: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.TURN})
# Fewer user turns are a task that was set, not a dialogue.
_MIN_USER_TURNS: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Chance:
    """`all_sampled`: every root is a new sample. `doubts`: other possible causes of the difference."""

    all_sampled: bool = False
    doubts: tuple[Doubt, ...] = ()
    repeats: Repeats | None = None

    @property
    def certain(self) -> bool:
        return self.all_sampled and not self.doubts


def assess(comparison: Comparison, roots: Roots, places: Collection[int], *, loaded_places: Collection[int]) -> Chance:
    """Assess the roots that can have reached the answer, and the other differences at `places`."""
    atoms = roots.atoms
    declaration = repeats(comparison.base.run, comparison.candidate.run)
    is_dialogue = declaration is not None and _is_dialogue(comparison)
    all_sampled = bool(atoms) and all(
        _is_sampled(atom, is_repeat=declaration is not None, is_dialogue=is_dialogue) for atom in atoms
    )
    nearby_reactions = [reaction for reaction in roots.reactions if reaction.pair.place in places]
    unread_pairs = [
        pair for pair in comparison.differing if pair.sides and pair.place in places and pair.place not in loaded_places
    ]
    doubts = (
        *_settings(comparison),
        *_unrecorded_requests(atoms),
        *_reactions(nearby_reactions, is_dialogue=is_dialogue),
        *_different_answers(comparison, places),
        *_unread_contents(unread_pairs),
    )
    return Chance(all_sampled=all_sampled, doubts=doubts, repeats=declaration)


def _is_sampled(atom: Atom, *, is_repeat: bool, is_dialogue: bool) -> bool:
    facet = atom.facet
    if atom.is_sampled or not is_repeat or atom.overridden:
        return atom.is_sampled
    if atom.origin is Origin.DERIVED:
        # Trials of one configuration have the same code: what it made of a sample is no cause of its own.
        return True
    if facet is None:
        return atom.pair.step.type in _ACTS
    # After other calls, an environment may answer the same call differently.
    if facet.part == "output" and atom.pair.step.type in _WORLD and atom.origin is Origin.OPEN:
        return True
    if facet.form == "messages":
        return is_dialogue and all(item.role == "user" for item in facet.messages)
    return facet.part == "output" and atom.pair.step.type == StepType.MODEL


def _is_dialogue(comparison: Comparison) -> bool:
    sides = comparison.base.steps, comparison.candidate.steps
    return all(sum(step.type == StepType.TURN for step in steps) >= _MIN_USER_TURNS for steps in sides)


def _settings(comparison: Comparison) -> Iterator[Doubt]:
    """The declared configurations, which affect every step and need not show in any."""
    changes = [] if comparison.derived else declared_changes(comparison.base.run, comparison.candidate.run)
    if changes:
        settings = "; ".join(plain_text(value_note(change)) for change in changes[:2])
        yield Doubt(kind=DoubtKind.CONFIGURATION, settings=settings)


def _unrecorded_requests(atoms: Sequence[Atom]) -> Iterator[Doubt]:
    for atom in atoms:
        steps = (atom.pair.base, atom.pair.candidate)
        if atom.is_sampled and any(step is not None and not step.input_ref for step in steps):
            yield Doubt(kind=DoubtKind.REQUEST, step=step_name(atom.pair))
            return


def _reactions(reactions: Sequence[Reaction], *, is_dialogue: bool) -> Iterator[Doubt]:
    """The first reaction of each kind."""
    first = {reaction.kind: reaction.pair for reaction in reversed(reactions)}
    for name, kind in _REACTIONS.items():
        if name in first and not (name == "user" and is_dialogue):
            yield Doubt(kind=kind, step=step_name(first[name]))


_REACTIONS: Final[Mapping[Literal["template", "variables", "user"], DoubtKind]] = {
    "template": DoubtKind.TEMPLATE,
    "variables": DoubtKind.VARIABLES,
    "user": DoubtKind.USER,
}


def _unread_contents(pairs: Sequence[Pair]) -> Iterator[Doubt]:
    if pairs:
        yield Doubt(kind=DoubtKind.UNREAD, step=step_name(pairs[0]), more=len(pairs) - 1)


def _different_answers(comparison: Comparison, places: Collection[int]) -> Iterator[Doubt]:
    """The first call that was answered differently, before any other call differs."""
    for pair in comparison.acting:
        if pair.step.type not in _WORLD:
            continue
        if pair.sides is None or "input" in pair.changes:
            return
        if pair.answers_differently and not pair.overridden and pair.place in places:
            yield Doubt(kind=DoubtKind.SAME_CALL, step=step_name(pair))
            return
