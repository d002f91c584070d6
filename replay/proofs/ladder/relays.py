"""Order the changes of an undecided proof by their standing: own changes, relays, refuted changes, the rest. Pure.

    base       keeper "dose=400"    -> code -> "You take 400 mg"    -> doctor "go on"
    candidate  keeper "dose=900"    -> code -> "You take 900 mg"    -> doctor "stop"
    probe      base, with what code composed held to "You take 900 mg"  -> "stop": the difference passes through here

Code composed the message. It may have passed on a change or have been changed itself, so the message stays below every
change of its own that is still possible, and above those that replays have refuted. A relay that makes no difference is
refuted as well.

A relay with several parts is held part by part. A part that is enough alone is decisive: a change that recurs there is
more likely than one that recurs in the other parts only. If nothing else tells two changes apart, one whose subject is
named only in lines that differ is more likely than one whose subject is named only in lines that do not.

Code may also have made a message of an earlier change, or a relay after it called a step more or less. So a message in
which an earlier change recurs comes after that change, and steps of one run only and relays keep the order of the run.
The order is no evidence: no level of confidence rests on it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from diffing.schemas.evidence import ProbeOutcome
from diffing.sequences.recurrence import Texts, distinct_words, recurs, recurs_in_words
from diffing.sequences.word_hunks import hunks
from replay.proofs.core.types import Atom, ProbeSpec
from replay.proofs.ladder import leads
from replay.proofs.ladder.facts import Facts, ProbeRequest, Space
from replay.proofs.ladder.footprints import LineNames, recurs_in
from replay.proofs.ladder.search import Steps

# Relays to probe, and parts of one that matters: each costs at most one replay with new answers.
_MAX_PROBED: Final = 6
_MAX_PARTS: Final = 6
# The weight for a change that recurs in a decisive part, and against one that recurs elsewhere only.
_RECURRENCE_WEIGHT: Final = 3.0
# The weight for a change whose subject is named in lines that differ only, and against one named in equal lines only.
# It breaks ties: a subject is named for many reasons.
_SUBJECT_WEIGHT: Final = 0.25
# The weight for a change that moves an output whose difference recurs in the final answers.
_ANSWER_WEIGHT: Final = 3.0
# The weight for what code did differently if different code made the recordings. A recorded trace outweighs it.
_CODE_WEIGHT: Final = 1.0
_OWN, _RELAY, _UNLIKELY, _NO_CAUSE, _REST = range(5)
# The parts of the relays that were divided; a relay without parts has none.
Parts = Mapping[str, Sequence[Atom]]
Divide = Callable[[Atom], Sequence[Atom]]


def hold(space: Space, relays: Sequence[Atom], divide: Divide) -> Steps[dict[str, list[Atom]]]:
    """Hold each relay alone to the candidate's recording, in a replay of the base; return the parts held as well."""
    parts: dict[str, list[Atom]] = {}
    is_open = any(_standing(space, atom) == _OWN for atom in space.atoms)
    for relay in [relay for relay in relays if relay.certificate is None][:_MAX_PROBED]:
        yield ProbeRequest(spec=_spec(relay), purpose="apply")
        # Every part costs a replay, so only one relay is divided.
        if is_open and _is_enough(space.facts, relay) and not any(parts.values()):
            parts[relay.id] = [*divide(relay)]
            for part in parts[relay.id] if len(parts[relay.id]) <= _MAX_PARTS else ():
                yield ProbeRequest(spec=_spec(part), purpose="apply")
    return parts


def most_probes(relays: Sequence[Atom], divide: Divide) -> int:
    """The most replays that holding these relays takes, with the parts of one of them."""
    open_relays = [relay for relay in relays if relay.certificate is None][:_MAX_PROBED]
    counts = [len(divide(relay)) for relay in open_relays]
    return len(open_relays) + max((count for count in counts if count <= _MAX_PARTS), default=0)


def _is_enough(facts: Facts, relay: Atom) -> bool | None:
    """Return whether the base with this relay held has the candidate's outcome; None: unknown."""
    result = facts.result(_spec(relay))
    if result is None or not result.is_settled or result.is_assumed("base"):
        return None
    return result.outcome == ProbeOutcome.CANDIDATE


def ranking(
    space: Space, atoms: Sequence[Atom], parts: Parts, *, answers: Texts = ("", ""), other_code: bool = False
) -> list[Atom]:
    """The changes of an undecided proof, the most likely first. `other_code`: different code made the recordings.

    `answers`: the final answers of the two runs.
    """
    open_relays = [atom for atom in atoms if atom.is_relay and _standing(space, atom) == _RELAY]
    passages, line_names = _passages(space, atoms, parts), LineNames.from_relays(open_relays)
    weights = {
        atom.id: _weight(space, atom, passages, line_names) + _ANSWER_WEIGHT * _moves_to(space, atom, answers)
        for atom in space.atoms
    }
    _put_consequences_last(space, weights)
    code = _first_of_code(space, atoms) if other_code else None

    def order(atom: Atom) -> tuple[int, float]:
        if atom is code:
            return _OWN, -max(_CODE_WEIGHT, weights.get(atom.id, 0))
        if atom.is_by_code:
            return _OWN, -math.inf
        standing = _standing(space, atom)
        # Whatever differs first may have made what code composed later.
        return standing, _place(atom) if standing == _RELAY else -weights.get(atom.id, 0)

    return sorted([*space.atoms, *(atom for atom in atoms if not atom.testable)], key=order)


def _first_of_code(space: Space, atoms: Sequence[Atom]) -> Atom | None:
    """The first thing that code did differently without a trace of another change; None if there is none."""
    own = [atom for atom in space.atoms if _standing(space, atom) == _OWN and atom.category != "structure"]
    open_atoms = [
        atom
        for atom in atoms
        if (atom.is_relay or atom.category == "structure") and _standing(space, atom) in {_OWN, _RELAY}
    ]
    candidates = [atom for atom in open_atoms if not any(recurs_in(change, atom) for change in own)]
    return min(candidates, key=_place, default=None)


def _weight(space: Space, atom: Atom, passages: tuple[list[Texts], list[Texts]], line_names: LineNames) -> float:
    decisive, other = passages
    weight = leads.weight(space, atom) + _SUBJECT_WEIGHT * line_names.fit(atom)
    texts = (*atom.texts, *leads.moved_texts(space, atom))
    if any(recurs(mine, theirs) for mine in texts for theirs in decisive):
        return weight + _RECURRENCE_WEIGHT
    is_elsewhere = any(recurs(mine, theirs) for mine in texts for theirs in other)
    return weight - _RECURRENCE_WEIGHT * is_elsewhere


def _moves_to(space: Space, atom: Atom, answers: Texts) -> bool:
    """Return whether what a change alone makes of an output recurs in the difference of the final answers."""
    return any(recurs_in_words(texts, answers) for texts in leads.moved_texts(space, atom, whole=True))


def _put_consequences_last(space: Space, weights: dict[str, float]) -> None:
    """Put a difference that code may have made of an earlier one, whose words recur in it, after that one."""
    own = [atom for atom in space.atoms if _standing(space, atom) == _OWN]
    for atom in own:
        if not atom.follows or atom.category != "upstream":
            continue
        earlier = (
            other for other in own if not other.follows and _place(other) < _place(atom) and _shares_words(other, atom)
        )
        for source in earlier:
            weights[atom.id] = min(weights[atom.id], weights[source.id] - 1)


def _shares_words(source: Atom, atom: Atom) -> bool:
    """Return whether words of which only one text has a change recur in another, on either side.

    On the other side: code that leaves out what a search found adds what it no longer finds.
    """
    own, other = _differing_words(source.texts), _differing_words(atom.texts)
    return bool(other) and 2 * len(own & other) >= len(other)


def _differing_words(texts: Iterable[Texts]) -> set[str]:
    return {word for pair in texts for words in distinct_words(*pair) for word in words}


def _place(atom: Atom) -> int:
    """The step of the base at which a change shows, else that of the candidate."""
    step = atom.base or atom.candidate
    return 0 if step is None else step.sequence_no


def _passages(space: Space, atoms: Sequence[Atom], parts: Parts) -> tuple[list[Texts], list[Texts]]:
    """The texts of the parts of relays that are enough alone, and those of the other parts."""
    decisive: list[Texts] = []
    other: list[Texts] = []
    for relay in [atom for atom in atoms if atom.is_relay and _is_enough(space.facts, atom)]:
        if relay.id not in parts:
            continue
        # A relay without parts is one itself. If no part is enough alone, nothing tells them apart.
        own = parts[relay.id] or [relay]
        enough = [part for part in own if _is_enough(space.facts, part)]
        rest = [part for part in own if _is_enough(space.facts, part) is False] if enough else []
        decisive += [texts for part in enough for texts in part.texts]
        other += [texts for part in rest for texts in part.texts]
    return decisive, other


def _standing(space: Space, atom: Atom) -> int:
    if atom.testable:
        alone = frozenset({atom.id})
        effects = space.is_enough(space.with_required(alone)), space.is_needed(alone)
        if effects == (False, False):
            return _NO_CAUSE
        is_doubtful = False in effects or atom.id in space.traceless
        return _UNLIKELY if is_doubtful and True not in effects else _OWN
    if atom.is_input:
        # Code reads values. A sentence more is for a model.
        return _RELAY if any(hunk.base and hunk.candidate for hunk in hunks(*atom.texts[0])) else _REST
    if not atom.is_relay:
        return _RELAY if atom.category == "structure" else _REST
    return _NO_CAUSE if atom.certificate is not None or _is_enough(space.facts, atom) is False else _RELAY


def _spec(relay: Atom) -> ProbeSpec:
    return ProbeSpec(atoms=frozenset({relay.id}), side="base")
