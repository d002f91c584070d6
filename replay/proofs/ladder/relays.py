"""Order the changes of an undecided proof by their standing: own changes, relays, refuted changes, the rest. Pure.

    base       keeper "dose=400"    -> code -> "You take 400 mg"    -> doctor "go on"
    candidate  keeper "dose=900"    -> code -> "You take 900 mg"    -> doctor "stop"
    probe      base, with what code composed held to "You take 900 mg"  -> "stop": the difference passes through here

Code composed the message. It may have passed on a change or have been changed itself, so the message stays below every
change of its own that is still possible, and above those that replays have refuted. A relay that makes no difference is
refuted as well. The order is no evidence: no level of confidence rests on it.
"""

from collections.abc import Sequence
from typing import Final

from diffing.schemas.evidence import ProbeOutcome
from replay.proofs.core.types import Atom, ProbeSpec
from replay.proofs.ladder import leads
from replay.proofs.ladder.facts import Facts, ProbeRequest, Space
from replay.proofs.ladder.search import Steps

# Relays to probe: each costs at most one replay with new answers.
_MAX_PROBED: Final = 6
_OWN, _RELAY, _NO_CAUSE, _REST = range(4)


def hold(relays: Sequence[Atom]) -> Steps[None]:
    """Hold each relay alone to the candidate's recording, in a replay of the base."""
    for relay in [relay for relay in relays if relay.certificate is None][:_MAX_PROBED]:
        yield ProbeRequest(spec=_spec(relay), purpose="apply")


def _is_enough(facts: Facts, relay: Atom) -> bool | None:
    """Return whether the base with this relay held has the candidate's outcome; None: unknown."""
    result = facts.result(_spec(relay))
    if result is None or not result.is_settled:
        return None
    # An unchanged outcome shows nothing if it was assumed that the relay had no effect.
    if result.assumed_steps and result.outcome == ProbeOutcome.BASE:
        return None
    return result.outcome == ProbeOutcome.CANDIDATE


def ranking(space: Space, atoms: Sequence[Atom]) -> list[Atom]:
    """The changes of an undecided proof, the most likely first."""
    own = {atom.id for atom in space.atoms}

    def order(atom: Atom) -> tuple[int, float]:
        standing = _standing(space, atom)
        return standing, -leads.weight(space, atom) if atom.id in own else 0

    return sorted([*space.atoms, *(atom for atom in atoms if not atom.testable)], key=order)


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
