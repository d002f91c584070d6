"""The changes that no earlier change explains, and the differences that only seem to be explained by one. Pure."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

from diffing.attribution.difference_origins import ChangedOutputs, Origin, Words
from diffing.attribution.unexplained_changes import Atom, Gathered
from diffing.compare.comparison import Comparison, Pair
from diffing.compare.data_flow import Flow, FlowLink
from diffing.content.facet import SYSTEM_ROLES, WINDOW, Facet
from diffing.content.message_diff import MessagePair
from diffing.schemas.terms import Category
from diffing.sequences.json_diff import value_changes
from diffing.sequences.text_diff import normalise, word_diff
from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.step_summaries import one_line

_STANDING: Final = frozenset({"system prompt", "tool schemas", "model", "parameters"})
_PASSING: Final = frozenset({StepType.PROMPT, StepType.OUTPUT})  # what only passes on what it is given
_OPENING: Final = "/messages/0"  # where a request has its system prompt
_SIDES: Final = ("base", "candidate")
_TEMPLATES: Final = frozenset({"template", "template version and variables"})
_WORLD: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_REWRITTEN: Final = 0.5  # share of characters; of two prompts that keep less, code may have chosen either


@dataclass(frozen=True, kw_only=True, slots=True)
class Reaction:
    """What differs after an earlier difference, and may come of it or not: a user's words, what a prompt is made of."""

    kind: Literal["user", "template", "variables"]
    pair: Pair


@dataclass(frozen=True, kw_only=True, slots=True)
class Roots:
    atoms: Sequence[Atom]
    reactions: Sequence[Reaction]


def roots(comparison: Comparison, facets: Mapping[int, Sequence[Facet]], flow: Flow) -> Roots:
    """In order; one change that shows in many steps is one."""
    changed = {pair.place for pair in comparison.acting if pair.answers_differently}
    tainted = flow.after({pair.place for pair in comparison.acting if pair.differs})
    outputs = ChangedOutputs(comparison)
    found = Gathered()
    reactions: list[Reaction] = []
    words = Words()
    for pair in comparison.acting:
        for facet in facets.get(pair.place, ()):
            if facet.part == "output":
                words.add(pair, _text(facet.base), _text(facet.candidate))
    for pair in comparison.acting:
        if not pair.differs:
            continue
        if pair.place in comparison.resampled_places:
            own: Iterable[Atom] = (Atom(category="output", places=(pair.place,), pair=pair, sampled=True),)
        else:
            context = _Context(
                tainted=pair.place in tainted,
                given=comparison.run_inputs,
                fed=_heads(travel for travel in flow.incoming.get(pair.place, ()) if travel.producer in changed),
                linked=_heads(flow.incoming.get(pair.place, ())),
                handed=_handed(pair, flow, changed),
                rendered=_handed(pair, flow, changed, whole=True),
                covered=_covered(pair, flow),
                world=outputs.calls_precede(pair),
                follows=not comparison.derived and outputs.precede(pair),
                replayed=comparison.derived,
                after_model=outputs.models_precede(pair),
                renamed=_is_renamed(pair),
                taken_up=partial(words.taken_up, pair),
                has_copies=partial(words.has_copies, pair),
                explained=partial(words.explain, pair),
                unread=_unread(pair, outputs, flow),
                feeding=frozenset(travel.producer for travel in flow.incoming.get(pair.place, ())),
            )
            own = _own(pair, facets.get(pair.place, ()), context)
            reactions += _reactions(pair, facets.get(pair.place, ()), context)
        for atom in own:
            found.add(atom)
    return Roots(atoms=_standing(comparison, found.atoms), reactions=reactions)


def is_standing(atom: Atom) -> bool:
    """Whether it stands behind every call of a model: its prompt, its tools, itself, its settings."""
    return atom.facet is not None and atom.facet.kind in _STANDING


def _standing(comparison: Comparison, atoms: list[Atom]) -> list[Atom]:
    """A prompt, tools or a model that changed stand behind every call of their agent, also of one run alone."""
    alone = [pair for pair in comparison.acting if pair.sides is None and pair.step.type == StepType.MODEL]
    own: dict[str, set[int]] = {}
    for pair in alone:
        own.setdefault(pair.step.role, set()).add(pair.place)
    behind = {place for atom in atoms if is_standing(atom) for place in _of_agents(atom.pair, own)}
    kept = [atom for atom in atoms if atom.facet is not None or atom.pair.place not in behind]
    return [
        replace(atom, places=tuple(sorted({*atom.places, *_of_agents(atom.pair, own)}))) if is_standing(atom) else atom
        for atom in kept
    ]


def _of_agents(pair: Pair, places: Mapping[str, set[int]]) -> set[int]:
    """The places of the agents that a pair is of; a step may have another name on the other side."""
    roles = {step.role for step in (pair.base, pair.candidate) if step is not None}
    return set[int]().union(*(places.get(role, ()) for role in roles))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Context:
    """What an earlier change can have brought about at a pair.

    `tainted`: something of it; `fed`: the messages that came from a changed step directly, `linked`: from any;
    `given`: what the runs were given to begin with; `handed`: what a changed step handed the step, by the paths'
    beginnings, `rendered`: the same without single values in other texts. `covered`: on each side the last message of
    the conversation that the step continues; `follows`: an earlier output differs, `after_model`: one of a model;
    `world`: an earlier call of a tool or retriever differs; `replayed`: one run is a replay of the other, in which no
    code ran that could have derived anything; `renamed`: the two steps have different names, as if code had chosen
    between them. `taken_up`: whether two texts differ by words in which earlier
    outputs do, `has_copies`: whether some of these words are the same.
    """

    tainted: bool
    fed: frozenset[str]
    linked: frozenset[str]
    given: frozenset[str]
    handed: frozenset[str]
    rendered: frozenset[str]
    covered: tuple[int, int]
    follows: bool
    after_model: bool
    world: bool
    replayed: bool
    renamed: bool
    unread: bool
    feeding: frozenset[int]
    explained: Callable[..., bool]
    taken_up: Callable[[str, str], bool]
    has_copies: Callable[[str, str], bool]


def _own(pair: Pair, facets: Sequence[Facet], context: _Context) -> Iterator[Atom]:
    """What changed at this pair itself, rather than because of something before it."""
    if pair.sides is None:
        if not context.tainted:
            yield Atom(category="structure", places=(pair.place,), pair=pair, origin=_derived(context))
        return
    given = [facet for facet in facets if facet.part != "output"]
    # Template and variables of one prompt are one change: what they render to is what is used.
    for facet in given[:1] if pair.step.type == StepType.PROMPT else given:
        for own, origin in _own_parts(facet, context):
            yield Atom(category=_category(own), places=(pair.place,), pair=pair, facet=own, origin=origin)
    made = [facet for facet in facets if facet.part == "output"]
    renders = pair.step.type == StepType.PROMPT and bool(given)
    passed_on = renders or (pair.step.type in _PASSING and bool(context.handed))
    if made and not given and _asked_alike(pair):
        yield _answered(pair, made[0], Origin.OPEN if context.world and pair.step.type in _WORLD else Origin.EXOGENOUS)
    elif made and ((pair.overridden and not passed_on) or (not given and not context.tainted)):
        yield _answered(pair, made[0], Origin.EXOGENOUS if pair.overridden else _derived(context))


def _is_renamed(pair: Pair) -> bool:
    roles = {step.role for step in pair.sides or ()}
    return len(roles) > 1 and "" not in roles


def _asked_alike(pair: Pair) -> bool:
    """Whether the same recorded call was answered otherwise: no earlier output explains that."""
    recorded = all(step.input_ref for step in pair.sides or ())
    return recorded and pair.step.type in {StepType.MODEL, *_WORLD} and "input" not in pair.changes


def _derived(context: _Context) -> Origin:
    return Origin.DERIVED if context.follows else Origin.EXOGENOUS


def _answered(pair: Pair, facet: Facet, origin: Origin) -> Atom:
    """Another answer to the same call: an operator's, the world's, or a model's that was sampled anew."""
    sampled = pair.step.type == StepType.MODEL and not pair.overridden
    return Atom(
        category=facet.category,
        places=(pair.place,),
        pair=pair,
        facet=facet,
        sampled=sampled,
        overridden=pair.overridden,
        origin=Origin.EXOGENOUS if sampled else origin,
    )


def _own_parts(facet: Facet, context: _Context) -> Iterator[tuple[Facet, Origin]]:
    """The facet, or the parts of it, that no recorded data flow brought about."""
    if facet.kind == "system prompt" and _OPENING in context.handed:
        yield from _beside_values(facet, context)
        return
    if facet.part == "config" or facet.kind in _STANDING:
        yield facet, _standing_origin(facet, context)
    elif facet.form == "messages":
        forgotten = tuple(item for item in facet.messages if _is_forgotten(item, context))
        if forgotten:
            window = replace(facet, kind=WINDOW, messages=forgotten)
            yield window, Origin.OPEN if context.follows else Origin.EXOGENOUS
        rest = [item for item in facet.messages if item not in forgotten]
        for origin in Origin:
            own = tuple(item for item in rest if _message_origin(item, context) is origin)
            if own:
                yield replace(facet, messages=own), origin
    elif not context.tainted:
        yield facet, _derived(context)
    elif facet.kind == "template" and not _is_handed(facet, context):
        yield facet, Origin.OPEN if context.follows else Origin.EXOGENOUS


def _beside_values(facet: Facet, context: _Context) -> Iterator[tuple[Facet, Origin]]:
    """A system prompt in which something of a changed step stands: what differs in it beside that, if anything."""
    texts = _text(facet.base), _text(facet.candidate)
    if _OPENING in context.rendered or context.taken_up(*texts):
        return
    yield facet, Origin.DERIVED if context.has_copies(*texts) else _standing_origin(facet, context)


def _standing_origin(facet: Facet, context: _Context) -> Origin:
    """Prompts, tools and models of a later agent are set with it, or chosen by code that read an earlier answer."""
    if not context.follows or (facet.part == "config" and facet.kind != "model"):
        return Origin.EXOGENOUS
    chosen = context.renamed or (facet.kind == "system prompt" and _is_another(facet))
    taken_up = context.taken_up(_text(facet.base), _text(facet.candidate))
    return Origin.DERIVED if chosen or taken_up else Origin.OPEN


def _text(value: JSONValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_another(facet: Facet) -> bool:
    """Whether two prompts have no sentence and few words in common: neither is an edit of the other."""
    base, candidate = normalise(str(facet.base or "")), normalise(str(facet.candidate or ""))
    if not {*_SENTENCE.split(base)}.isdisjoint(_SENTENCE.split(candidate)):
        return False
    spans = word_diff(base, candidate)
    total = sum(len(span.text) for span in spans)
    return total > 0 and sum(len(span.text) for span in spans if span.op == "equal") < _REWRITTEN * total


def _message_origin(item: MessagePair, context: _Context) -> Origin | None:
    """Where a differing message comes from; None where recorded data flow or the history says so.

    What the run was given before any answer follows from nothing. A reply in a conversation may be a person's.
    """
    if _is_covered(item, context):
        return None
    if _is_in(item, context.fed) or (context.tainted and _is_in(item, context.linked)):
        return None if _is_accounted_for(item, context) else Origin.DERIVED
    first = item.opening and not context.given.isdisjoint(map(one_line, (item.base, item.candidate)))
    if not context.follows or first:
        reacts = context.replayed and context.tainted and not first and item.role not in SYSTEM_ROLES
        return None if reacts else Origin.EXOGENOUS
    reply = item.role in SYSTEM_ROLES or (item.role == "user" and not (item.opening and context.after_model))
    return Origin.OPEN if reply and not context.taken_up(item.base, item.candidate) else Origin.DERIVED


def _is_accounted_for(item: MessagePair, context: _Context) -> bool:
    """Whether what recorded data flow brought to a message is all that code did to it, as far as that can be told.

    Where it took words from an output that nothing leads from, or read an answer that is taken up nowhere, it is not.
    """
    texts = item.base, item.candidate
    if context.explained(*texts, of=context.feeding):
        return True
    return not context.explained(*texts) and not context.unread


def _is_forgotten(item: MessagePair, context: _Context) -> bool:
    """Whether one side goes on a conversation with the message, and the other one goes on none, for want of it."""
    if context.replayed or (item.base_index is None) == (item.candidate_index is None):
        return False
    side = int(item.base_index is None)
    index = item.candidate_index if side else item.base_index
    return index is not None and index <= context.covered[side] and context.covered[1 - side] < 0


def _is_covered(item: MessagePair, context: _Context) -> bool:
    """Whether it stands in the conversation that the step continues: its difference was met there."""
    sides = zip((item.base_index, item.candidate_index), context.covered, strict=True)
    return all(index is None or index <= last for index, last in sides)


def _covered(pair: Pair, flow: Flow) -> tuple[int, int]:
    """The last message on each side that comes from the conversation which the step continues."""
    found = {"base": -1, "candidate": -1}
    for travel in flow.incoming.get(pair.place, ()):
        index = travel.path.removeprefix("/messages/")
        if travel.kind is EdgeKind.HISTORY and index.isdecimal():
            found[travel.side] = max(found[travel.side], int(index))
    return found["base"], found["candidate"]


def _unread(pair: Pair, outputs: ChangedOutputs, flow: Flow) -> bool:
    """Whether a model's answer before the pair differs that no recorded data flow takes up: then code has read it."""
    before = (each for each in outputs.pairs if each.step.type == StepType.MODEL and each.order_key < pair.order_key)
    return any(not flow.outgoing.get(each.place) for each in before)


def _reactions(pair: Pair, facets: Sequence[Facet], context: _Context) -> Iterator[Reaction]:
    """What `_own_part` puts down to something earlier although only the order of the steps says so."""
    if not (context.tainted or context.follows) or pair.sides is None:
        return
    for facet in facets:
        if facet.kind in _TEMPLATES and not _is_handed(facet, context):
            yield Reaction(kind="variables" if _is_filled_in(facet) else "template", pair=pair)
        said = (item for item in facet.messages if item.role == "user" and not _is_in(item, context.fed))
        if any(_message_origin(item, context) is not Origin.EXOGENOUS for item in said):
            yield Reaction(kind="user", pair=pair)


def _is_filled_in(facet: Facet) -> bool:
    """Whether only what was put into a template differs."""
    paths = [change.path for change in value_changes(facet.base, facet.candidate, limit=20)]
    return facet.kind == "template version and variables" and all(path.startswith("/variables") for path in paths)


def _is_handed(facet: Facet, context: _Context) -> bool:
    """Whether all that differs in it is what a changed step gave: a variable, say."""
    paths = [_head(change.path) for change in value_changes(facet.base, facet.candidate, limit=20)]
    return bool(paths) and context.handed.issuperset(paths)


def _is_in(item: MessagePair, paths: frozenset[str]) -> bool:
    places = {f"/messages/{index}" for index in (item.base_index, item.candidate_index) if index is not None}
    return not paths.isdisjoint(places)


def _heads(travels: Iterable[FlowLink]) -> frozenset[str]:
    """Which messages of a request the data flow leads to."""
    return frozenset(_head(travel.path) for travel in travels)


def _handed(pair: Pair, flow: Flow, changed: set[int], *, whole: bool = False) -> frozenset[str]:
    """Where the steps of both sides hold what a changed step gave; of a step that one side has, its own.

    With `whole`, more than some words of it.
    """
    into = [travel for travel in flow.incoming.get(pair.place, ()) if travel.producer in changed]
    into = [travel for travel in into if not whole or flow.is_whole(travel)]
    base, candidate = ({_head(travel.path) for travel in into if travel.side == side} for side in _SIDES)
    return frozenset(base & candidate if pair.sides else base | candidate)


def _head(path: str) -> str:
    """The beginning of a path: a message, a variable."""
    return "/".join(path.split("/")[:3])


def _category(facet: Facet) -> Category:
    """A changed message of the user is upstream of the run; an edited history is a changed prompt."""
    if facet.form == "messages":
        return "upstream" if facet.messages[0].role == "user" else "prompt"
    return facet.category
