"""Reasoning about the cause from the recordings alone. Pure.

Roots are changes that no earlier change explains. Roots that cannot have reached the final answer are excluded: inert,
unreached, or dominated (every path passes an answer that is the same in both runs). Of the others, only those before
the first changed answer count, and the order of the replay-fork-diff document (prompt, retrieval, tool, model) selects
one. If all of them are samples, the cause is chance. Recordings alone never give more than medium confidence.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from diffing.attribution import chance
from diffing.attribution.chance import Chance
from diffing.attribution.difference_origins import Entry, Origin, Reach, entry_of
from diffing.attribution.roots import Roots, roots
from diffing.attribution.run_inputs import NO_INPUTS, RunInputs
from diffing.attribution.unexplained_changes import Atom, is_agent_setting
from diffing.compare.comparison import Comparison, Pair
from diffing.compare.data_flow import Flow
from diffing.content.facet import Facet
from diffing.schemas.terms import AttributionVerdict, Category
from diffing.sequences.word_hunks import Hunk, hunks, is_repeated
from traces.core.json_access import text_or_json
from traces.core.vocabulary import EdgeKind, StepType

# The document's four priorities, extended: the user's message is part of the request, and an additional or missing step
# explains more than an answer that differs without a recorded reason.
PRIORITY: Final[tuple[Category, ...]] = ("prompt", "upstream", "retrieval", "tool", "model", "structure", "output")

_CALLS: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})
# Two runs without any pair have nothing in common if they have more steps than this.
_MIN_UNPAIRED: Final = 3
_ACTIONS: Final = _CALLS | {StepType.MODEL, StepType.PROMPT}


@dataclass(frozen=True, kw_only=True, slots=True)
class Reasoning:
    """A verdict and its grounds; `primary` is set only for the verdicts `cause` and `noise`."""

    verdict: AttributionVerdict
    primary: Atom | None = None
    rivals: tuple[Atom, ...] = ()
    exclusions: tuple[Atom, ...] = ()
    later: tuple[Atom, ...] = ()
    # Recorded data flow leads from the cause to the final answer.
    is_connected: bool = True
    # Some link leads from a change to the final answer. If not, the links are incomplete.
    has_links: bool = True
    # Places from which a change can have reached the final answer.
    live: frozenset[int] = frozenset()
    reach: Reach | None = None
    # Chance for the differences that can have reached the final answer.
    chance: Chance = field(default_factory=Chance)
    # Chance for all differences, for questions about other outcomes.
    chance_at_all: Chance = field(default_factory=Chance)
    # Two recordings without a common step.
    nothing_in_common: bool = False

    @property
    def atoms(self) -> list[Atom]:
        """All changes, the excluded ones included."""
        primary = [] if self.primary is None else [self.primary]
        return [*primary, *self.rivals, *self.later, *self.exclusions]


def reason(
    comparison: Comparison, facets: Mapping[int, Sequence[Facet]], flow: Flow, inputs: RunInputs = NO_INPUTS
) -> Reasoning:
    """Exclude, rank and select the roots; `facets` are those of the loaded pairs, by place."""
    if not comparison.differing:
        return Reasoning(verdict=AttributionVerdict.NO_DIFFERENCE)
    final = comparison.final
    differences = roots(comparison, facets, flow, inputs)
    differences = replace(
        differences, atoms=[atom for atom in differences.atoms if not _is_answer_difference(atom, final)]
    )
    chance_at_all = chance.assess(comparison, differences, range(len(comparison.pairs)), loaded_places=facets)
    if final is None or not final.answers_differently:
        return Reasoning(
            verdict=AttributionVerdict.NO_EFFECT,
            exclusions=tuple(differences.atoms),
            chance=chance_at_all,
            chance_at_all=chance_at_all,
        )
    if _have_nothing_in_common(comparison) and not chance_at_all.certain:
        return Reasoning(verdict=AttributionVerdict.INCONCLUSIVE, nothing_in_common=True)
    entries = _entries(comparison, flow, differences.atoms)
    if not comparison.derived and _is_composed(final, facets, flow):
        entries[final.place] = entry_of(final)
    reach = Reach(comparison, flow, entries)
    reasoning = _select(comparison, facets, flow, differences, reach)
    return replace(reasoning, chance_at_all=chance_at_all, reach=reach)


def _entries(comparison: Comparison, flow: Flow, atoms: Sequence[Atom]) -> dict[int, Entry]:
    """Places where the agent's code may have used earlier outputs, in content or to decide on a step."""
    follows = [atom for atom in atoms if atom.origin is not Origin.EXOGENOUS]
    places = {place for atom in follows for place in atom.places}
    places |= {pair.place for pair in comparison.differing if pair.sides is None and not _follows_from_call(pair, flow)}
    return {place: entry_of(comparison.pairs[place]) for place in places}


def _is_composed(final: Pair, facets: Mapping[int, Sequence[Facet]], flow: Flow) -> bool:
    """True if final answers differ by more than the outputs that recorded data flow leads from: code made the rest."""
    if final.step.type != StepType.OUTPUT:
        return False
    sources = [hunk for link in flow.incoming(final.place) for hunk in _output_hunks(facets.get(link.producer, ()))]
    own = _output_hunks(facets.get(final.place, ()))
    return not all(any(is_repeated(hunk, source) for source in sources) for hunk in own)


def _output_hunks(facets: Sequence[Facet]) -> list[Hunk]:
    texts = [(text_or_json(facet.base), text_or_json(facet.candidate)) for facet in facets if facet.part == "output"]
    return [hunk for base, candidate in texts for hunk in hunks(base, candidate)]


def _follows_from_call(pair: Pair, flow: Flow) -> bool:
    """True if an unpaired step answers a model's call, or continues after the answers to its calls.

    Code alone decides whether a conversation goes on after an answer without calls.
    """
    links = flow.incoming(pair.place)
    return any(link.kind is EdgeKind.TOOL_CALL_ID for link in links)


def _have_nothing_in_common(comparison: Comparison) -> bool:
    """True if no call of one run corresponds to a call of the other; then no single change separates them."""
    active_pairs = [pair for pair in comparison.acting if pair.step.type in _ACTIONS]
    return (
        not comparison.derived
        and len(active_pairs) > _MIN_UNPAIRED
        and all(pair.sides is None for pair in active_pairs)
    )


def _select(
    comparison: Comparison, loaded_places: Collection[int], flow: Flow, roots: Roots, reach: Reach
) -> Reasoning:
    atoms, final = roots.atoms, comparison.final
    # The caller has checked this.
    assert final is not None
    traced_atoms = [
        atom for atom in atoms if _can_affect_answer(comparison, flow, atom, flow.before(final.place) | {final.place})
    ]
    live = frozenset(reach.before(final.place) | {final.place})
    reachable = [atom for atom in atoms if atom in traced_atoms or _can_affect_answer(comparison, reach, atom, live)]
    # Before chance is blamed, changes that the links may have missed are suspects as well.
    only_sampled = all(atom.is_sampled for atom in reachable)
    suspects = [
        atom for atom in atoms if atom in reachable or (only_sampled and _is_untraced_answer(comparison, flow, atom))
    ]
    exclusions = tuple(atom for atom in atoms if atom not in suspects)
    is_connected = bool(reachable)
    # The links are incomplete: there are no certificates, so nothing may be excluded.
    if not is_connected:
        suspects, exclusions = list(atoms), ()
    places = live if is_connected else range(len(comparison.pairs))
    first = _first_answer(comparison, places)
    early_suspects = [atom for atom in suspects if min(map(comparison.turn, atom.places)) <= first] or suspects
    # Only calls differ: a model chose them in an unrecorded request, so the settings of all calls are suspects as well.
    if all(is_choice(atom) or _is_model_choice(atom, flow) for atom in early_suspects):
        early_suspects += [atom for atom in suspects if is_agent_setting(atom)] or [
            atom for atom in suspects if _is_run_input(atom)
        ]
    later = tuple(atom for atom in suspects if atom not in early_suspects)
    chance_verdict = chance.assess(comparison, replace(roots, atoms=suspects), places, loaded_places=loaded_places)
    open_reasoning = Reasoning(
        verdict=AttributionVerdict.INCONCLUSIVE,
        rivals=tuple(early_suspects),
        exclusions=exclusions,
        later=later,
        is_connected=is_connected,
        live=live,
        has_links=is_connected,
        chance=chance_verdict,
    )
    if chance_verdict.certain:
        return _blame_chance(open_reasoning, suspects)
    best = min(early_suspects, key=_rank, default=None)
    rivals = tuple(atom for atom in early_suspects if atom is not best)
    if best is None or best.is_sampled or any(_rank(atom) == _rank(best) for atom in rivals):
        return open_reasoning
    return replace(
        open_reasoning, verdict=AttributionVerdict.CAUSE, primary=best, rivals=rivals, is_connected=best in traced_atoms
    )


def _is_untraced_answer(comparison: Comparison, flow: Flow, atom: Atom) -> bool:
    """True for another answer of a tool, in recordings that link no tool answer to anything.

    Then the missing link does not rule the answer out. The links of a replay are derived from all of its requests;
    those of a recording depend on what was recorded.
    """
    final = comparison.final
    if comparison.derived or final is None or atom.pair.step.type not in _CALLS:
        return False
    call_places = [pair.place for pair in comparison.pairs if pair.step.type in _CALLS]
    changed_places = [
        place for place in atom.places if comparison.pairs[place].answers_differently and place < final.place
    ]
    return bool(changed_places) and not any(flow.outgoing(place) for place in call_places)


def _blame_chance(reasoning: Reasoning, atoms: Sequence[Atom]) -> Reasoning:
    """The verdict of chance, with the first sample as the primary atom."""
    first = min(atoms, key=lambda atom: atom.places[0])
    rivals = tuple(atom for atom in atoms if atom is not first)
    return replace(reasoning, verdict=AttributionVerdict.NOISE, primary=first, rivals=rivals, later=())


def _is_answer_difference(atom: Atom, final: Pair | None) -> bool:
    """True if the atom is the difference of the final answer itself, which is to be explained."""
    return atom.pair is final and atom.pair.step.type == StepType.OUTPUT and not atom.overridden


def _can_affect_answer(comparison: Comparison, flow: Flow | Reach, atom: Atom, live: Collection[int]) -> bool:
    """True if the atom changed an answer on a path to the final answer, at its own step or later."""
    places_after = (flow.after(atom.places) | set(atom.places)).intersection(live)
    return any(comparison.pairs[place].answers_differently for place in places_after)


def _first_answer(comparison: Comparison, places: Collection[int]) -> int:
    """The turn of the first changed answer among `places`."""
    acting = (pair.place for pair in comparison.differing if pair.place in places and pair.answers_differently)
    return min(map(comparison.turn, acting), default=2 * len(comparison.pairs))


def _rank(atom: Atom) -> tuple[bool, int]:
    """Sort key: derived differences last, then the document's priority.

    The arguments of a call rank as structure, not as an answer of the tool: an earlier step chose them.
    """
    return atom.origin is Origin.DERIVED, PRIORITY.index("structure" if is_choice(atom) else atom.category)


def _is_run_input(atom: Atom) -> bool:
    """True for a message that cannot follow from an earlier output, such as the run's input."""
    return atom.origin is Origin.EXOGENOUS and atom.facet is not None and bool(atom.facet.messages)


def _is_model_choice(atom: Atom, flow: Flow) -> bool:
    """True for a call of one run alone that answered a model, though the answer with which it asked is not recorded."""
    if atom.pair.sides is not None or atom.pair.step.type not in _CALLS:
        return False
    answers_model = any(link.kind is EdgeKind.TOOL_CALL_ID for link in flow.outgoing(atom.pair.place))
    return answers_model and not _follows_from_call(atom.pair, flow)


def is_choice(atom: Atom) -> bool:
    """True if a call differs without a recorded reason and was not overridden."""
    return atom.facet is not None and atom.facet.kind == "arguments" and not atom.overridden
