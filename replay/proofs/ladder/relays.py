"""Order the changes of an undecided proof by their standing: own changes, relays, refuted changes, the rest. Pure.

    base       keeper "dose=400"    -> code -> "You take 400 mg"    -> doctor "go on"
    candidate  keeper "dose=900"    -> code -> "You take 900 mg"    -> doctor "stop"
    probe      base, with what code composed held to "You take 900 mg"  -> "stop": the difference passes through here

Code composed the message. It may have passed on a change or have been changed itself, so the message stays below every
change of its own that is still possible, and above those that replays have refuted. A relay that makes no difference is
refuted as well.

A relay with several parts is held part by part. A part that is enough alone is decisive: a change that recurs there is
more likely than one that recurs in the other parts only. The order is no evidence: no level of confidence rests on it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from diffing.schemas.evidence import ProbeOutcome
from diffing.sequences.recurrence import Texts, recurs
from replay.proofs.core.types import Atom, ProbeSpec
from replay.proofs.ladder import leads
from replay.proofs.ladder.facts import Facts, ProbeRequest, Space
from replay.proofs.ladder.search import Steps

# Relays to probe, and parts of one that matters: each costs at most one replay with new answers.
_MAX_PROBED: Final = 6
_MAX_PARTS: Final = 6
# The weight for a change that recurs in a decisive part, and against one that recurs elsewhere only.
_RECURRENCE_WEIGHT: Final = 3.0
_OWN, _RELAY, _NO_CAUSE, _REST = range(4)
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


def _is_enough(facts: Facts, relay: Atom) -> bool | None:
    """Return whether the base with this relay held has the candidate's outcome; None: unknown."""
    result = facts.result(_spec(relay))
    if result is None or not result.is_settled:
        return None
    # An unchanged outcome shows nothing if it was assumed that the relay had no effect.
    if result.assumed_steps and result.outcome == ProbeOutcome.BASE:
        return None
    return result.outcome == ProbeOutcome.CANDIDATE


def ranking(space: Space, atoms: Sequence[Atom], parts: Parts) -> list[Atom]:
    """The changes of an undecided proof, the most likely first."""
    own = {atom.id for atom in space.atoms}
    decisive, other = _passages(space, atoms, parts)

    def weight(atom: Atom) -> float:
        texts = (*atom.texts, *leads.moved_texts(space, atom))
        if any(recurs(mine, theirs) for mine in texts for theirs in decisive):
            return leads.weight(space, atom) + _RECURRENCE_WEIGHT
        is_elsewhere = any(recurs(mine, theirs) for mine in texts for theirs in other)
        return leads.weight(space, atom) - _RECURRENCE_WEIGHT * is_elsewhere

    def order(atom: Atom) -> tuple[int, float]:
        standing = _standing(space, atom)
        return standing, -weight(atom) if atom.id in own else 0

    return sorted([*space.atoms, *(atom for atom in atoms if not atom.testable)], key=order)


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
        has_no_effect = space.is_enough(space.with_required(alone)) is False and space.is_needed(alone) is False
        return _NO_CAUSE if has_no_effect else _OWN
    if not atom.is_relay:
        return _REST
    return _NO_CAUSE if atom.certificate is not None or _is_enough(space.facts, atom) is False else _RELAY


def _spec(relay: Atom) -> ProbeSpec:
    return ProbeSpec(atoms=frozenset({relay.id}), side="base")
