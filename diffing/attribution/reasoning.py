"""Why the answers differ, as far as the recordings alone can tell.

Roots are changes that no earlier change explains. Those whose effect cannot have reached the final answer are
discarded (inert, unreached or dominated: every way passes an answer that is the same in both runs). Of the rest
only those count that precede the first changed answer; the order of the replay-fork-diff document (prompt,
retrieval, tool, model) picks one. Where nobody changed anything, it was chance. Recordings alone never give more
than medium confidence.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from diffing.attribution import chance
from diffing.attribution.chance import Chance
from diffing.attribution.difference_origins import Entry, Origin, Reach, entry_of
from diffing.attribution.roots import Roots, is_standing, roots
from diffing.attribution.unexplained_changes import Atom
from diffing.compare.comparison import Comparison, Pair
from diffing.compare.data_flow import Flow
from diffing.content.facet import Facet
from diffing.schemas.terms import Category
from traces.core.vocabulary import EdgeKind, StepType

# The document's four priorities, with what it does not name where it belongs: the user's words are part of the
# request; a step that is new or gone explains more than an answer that differs for no recorded reason.
PRIORITY: Final[tuple[Category, ...]] = ("prompt", "upstream", "retrieval", "tool", "model", "structure", "output")

_ASKED: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})  # what an agent asks for, to use the answer
_SOME: Final = 3  # unpaired steps from which on two runs are strangers; fewer may be one that is new or gone
_DOING: Final = _ASKED | {StepType.MODEL, StepType.PROMPT}
Verdict = Literal["cause", "no_difference", "no_effect", "noise", "inconclusive"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reasoning:
    """The verdict with what it rests on; `primary` is there only for the verdicts `cause` and `noise`."""

    verdict: Verdict
    primary: Atom | None = None
    rivals: tuple[Atom, ...] = ()
    discarded: tuple[Atom, ...] = ()
    later: tuple[Atom, ...] = ()
    connected: bool = True  # the recorded data flow leads from the cause to the final answer
    linked: bool = True  # something leads from a change to the final answer: else the links are incomplete
    live: frozenset[int] = frozenset()  # changed pairs from which the final answer can have been reached
    reach: Reach | None = None  # where changes may have come
    chance: Chance = field(default_factory=Chance)  # of what can have reached the final answer
    chance_at_all: Chance = field(default_factory=Chance)  # of every difference, for questions about other outcomes
    strangers: bool = False  # two recordings that have no step in common

    @property
    def atoms(self) -> list[Atom]:
        """Every change, whatever became of it."""
        primary = [] if self.primary is None else [self.primary]
        return [*primary, *self.rivals, *self.later, *self.discarded]


def reason(comparison: Comparison, facets: Mapping[int, Sequence[Facet]], flow: Flow) -> Reasoning:
    """Discard, order and choose; `facets` are those of the opened pairs by place."""
    if not any(pair.differs for pair in comparison.acting):
        return Reasoning(verdict="no_difference")
    final = comparison.final
    found = roots(comparison, facets, flow)
    found = replace(found, atoms=[atom for atom in found.atoms if not _restates(atom, final)])
    judged = chance.judged(comparison, found, range(len(comparison.pairs)), opened=facets)
    if final is None or not final.answers_differently:
        return Reasoning(verdict="no_effect", discarded=tuple(found.atoms), chance=judged, chance_at_all=judged)
    if _strangers(comparison) and not judged.certain:
        return Reasoning(verdict="inconclusive", strangers=True)
    reach = Reach(comparison, flow, _entries(comparison, flow, found.atoms))
    chosen = _choose(comparison, facets, flow, found, reach)
    return replace(chosen, chance_at_all=judged, reach=reach)


def _entries(comparison: Comparison, flow: Flow, atoms: Sequence[Atom]) -> dict[int, Entry]:
    """Where the agent's code may have put what it made of earlier outputs, or done something because of them."""
    follows = [atom for atom in atoms if atom.origin is not Origin.EXOGENOUS]
    places = {place for atom in follows for place in atom.places}
    places |= {pair.place for pair in comparison.acting if pair.sides is None and not _is_asked_for(pair, flow)}
    return {place: entry_of(comparison.pairs[place]) for place in places}


def _is_asked_for(pair: Pair, flow: Flow) -> bool:
    """Whether a step of one run alone was made because a model called for it, or goes on after such a call."""
    travels = flow.incoming.get(pair.place, ())
    return any(travel.kind in {EdgeKind.TOOL_CALL_ID, EdgeKind.HISTORY} for travel in travels)


def _strangers(comparison: Comparison) -> bool:
    """Whether the runs did not do one thing alike: then no single change stands between them."""
    did = [pair for pair in comparison.acting if pair.step.type in _DOING]
    return not comparison.derived and len(did) > _SOME and all(pair.sides is None for pair in did)


def _choose(comparison: Comparison, opened: Collection[int], flow: Flow, found: Roots, reach: Reach) -> Reasoning:
    atoms, final = found.atoms, comparison.final
    assert final is not None  # its caller looked
    traced = [atom for atom in atoms if _acts(comparison, flow, atom, flow.before(final.place) | {final.place})]
    live = frozenset(reach.before(final.place) | {final.place})
    open_ = [atom for atom in atoms if atom in traced or _acts(comparison, reach, atom, live)]
    drawn = all(atom.sampled for atom in open_)  # before chance is blamed, whoever can have done it is asked
    alive = [atom for atom in atoms if atom in open_ or (drawn and _untraced(comparison, flow, atom))]
    discarded = tuple(atom for atom in atoms if atom not in alive)
    connected = bool(open_)
    if not connected:  # the links are incomplete: nothing is certified, so nothing may be discarded
        alive, discarded = list(atoms), ()
    places = live if connected else range(len(comparison.pairs))
    first = _first_answer(comparison, places)
    early = [atom for atom in alive if min(map(comparison.turn, atom.places)) <= first] or alive
    if all(map(is_choice, early)):  # by a call that was not recorded, of what is behind all calls
        early += [atom for atom in alive if is_standing(atom)] or [atom for atom in alive if _is_given(atom)]
    later = tuple(atom for atom in alive if atom not in early)
    judged = chance.judged(comparison, replace(found, atoms=alive), places, opened=opened)
    undecided = Reasoning(
        verdict="inconclusive",
        rivals=tuple(early),
        discarded=discarded,
        later=later,
        connected=connected,
        live=live,
        linked=connected,
        chance=judged,
    )
    if judged.certain:
        return _drawn(undecided, alive)
    best = min(early, key=_rank, default=None)
    rivals = tuple(atom for atom in early if atom is not best)
    if best is None or best.sampled or any(_rank(atom) == _rank(best) for atom in rivals):
        return undecided
    return replace(undecided, verdict="cause", primary=best, rivals=rivals, connected=best in traced)


def _untraced(comparison: Comparison, flow: Flow, atom: Atom) -> bool:
    """Whether it is another answer of a tool in recordings that trace no tool's answer: that rules nothing out.

    A replay's links are made anew from all that it was asked, a recording's hold what somebody chose to record.
    """
    final = comparison.final
    if comparison.derived or final is None or atom.pair.step.type not in _ASKED:
        return False
    answers = [pair.place for pair in comparison.pairs if pair.step.type in _ASKED]
    changed = [place for place in atom.places if comparison.pairs[place].answers_differently and place < final.place]
    return bool(changed) and not any(flow.outgoing.get(place) for place in answers)


def _drawn(found: Reasoning, atoms: Sequence[Atom]) -> Reasoning:
    """Chance did it; what was drawn first is named."""
    first = min(atoms, key=lambda atom: atom.places[0])
    others = tuple(atom for atom in atoms if atom is not first)
    return replace(found, verdict="noise", primary=first, rivals=others, later=())


def _restates(atom: Atom, final: Pair | None) -> bool:
    """Whether it only says that the final answer differs, which is what is to be explained."""
    return atom.pair is final and atom.pair.step.type == StepType.OUTPUT and not atom.overridden


def _acts(comparison: Comparison, flow: Flow | Reach, atom: Atom, live: Collection[int]) -> bool:
    """Whether the final answer can have felt it: it changed an answer on the way there, at its step or later."""
    reached = (flow.after(atom.places) | set(atom.places)).intersection(live)
    return any(comparison.pairs[place].answers_differently for place in reached)


def _first_answer(comparison: Comparison, places: Collection[int]) -> int:
    """The turn of the first changed answer among `places`."""
    acting = (pair.place for pair in comparison.acting if pair.place in places and pair.answers_differently)
    return min(map(comparison.turn, acting), default=2 * len(comparison.pairs))


def _rank(atom: Atom) -> tuple[bool, int]:
    """What may be an effect comes last, then the document's priority.

    What a tool was called with is no answer of a tool: somebody before it chose that.
    """
    return atom.origin is Origin.DERIVED, PRIORITY.index("structure" if is_choice(atom) else atom.category)


def _is_given(atom: Atom) -> bool:
    """Whether it is a message that no earlier output can have brought about, as what the run was given is."""
    return atom.origin is Origin.EXOGENOUS and atom.facet is not None and bool(atom.facet.messages)


def is_choice(atom: Atom) -> bool:
    """Whether a call differs for no recorded reason, and nobody who forked a run set it."""
    return atom.facet is not None and atom.facet.kind == "arguments" and not atom.overridden
