"""The changes that no earlier change explains, and the differences that only seem to be explained by one. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from diffing.comparison import Comparison, Pair
from diffing.facets import SYSTEM_ROLES, Facet
from diffing.flow import Flow
from diffing.messages import MessagePair
from diffing.structure import value_changes
from diffing.terms import Category
from traces.canonical import digest
from traces.summaries import one_line
from traces.vocabulary import StepType

_STANDING: Final = frozenset({"system prompt", "tool schemas", "model", "parameters"})
_PASSING: Final = frozenset({StepType.PROMPT, StepType.OUTPUT})  # what only passes on what it is given
_OPENING: Final = "/messages/0"  # where a request has its system prompt
_SIDES: Final = ("base", "candidate")
_TEMPLATES: Final = frozenset({"template", "template version and variables"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Atom:
    """One change that no earlier change explains. `places` are the pairs it acts on, the first one first.

    `facet` is None for a step that only one side has; `sampled` marks a model that answered the same request
    differently without anybody's doing.
    """

    category: Category
    places: tuple[int, ...]
    pair: Pair
    facet: Facet | None = None
    sampled: bool = False
    overridden: bool = False


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
    found: dict[str, Atom] = {}
    reactions: list[Reaction] = []
    for pair in comparison.acting:
        if not pair.differs:
            continue
        if pair.place in comparison.resampled:
            own: Iterable[Atom] = (Atom(category="output", places=(pair.place,), pair=pair, sampled=True),)
        else:
            context = _Context(
                tainted=pair.place in tainted, fed=_fed(pair, flow, changed), given=comparison.given,
                handed=_handed(pair, flow, changed),
            )  # fmt: skip
            own = _own(pair, facets.get(pair.place, ()), context)
            reactions += _reactions(pair, facets.get(pair.place, ()), context)
        for atom in own:
            key = _identity(atom)
            known = found.get(key)
            found[key] = _also(known, atom) if known else atom
    return Roots(atoms=_standing(comparison, list(found.values())), reactions=reactions)


def _also(known: Atom, atom: Atom) -> Atom:
    """One change at one more place; it is shown where it stands first."""
    shown = min(known, atom, key=lambda each: each.pair.when)
    return replace(known, places=(*known.places, *atom.places), pair=shown.pair, facet=shown.facet)


def is_standing(atom: Atom) -> bool:
    """Whether it stands behind every call of a model: its prompt, its tools, itself, its settings."""
    return atom.facet is not None and atom.facet.kind in _STANDING


def _standing(comparison: Comparison, atoms: list[Atom]) -> list[Atom]:
    """A prompt, tools or a model that changed stand behind every model call, also behind those of one run alone."""
    alone = {p.place for p in comparison.acting if p.both is None and p.step.type == StepType.MODEL}
    standing = [atom for atom in atoms if is_standing(atom)]
    if not alone or not standing:
        return atoms
    kept = [atom for atom in atoms if atom.facet is not None or atom.pair.place not in alone]
    return [replace(atom, places=tuple(sorted({*atom.places, *alone}))) if atom in standing else atom for atom in kept]


def _identity(atom: Atom) -> str:
    facet = atom.facet
    if facet is None and atom.sampled:
        return "sampled"  # what comes of another answer may be another answer again
    if facet is None or facet.part == "output":
        return f"{atom.pair.place} {facet.kind if facet else ''}"
    if facet.messages:
        return digest([list(facet.messages[0].key)])
    return digest([facet.kind, facet.base, facet.candidate])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Context:
    """What an earlier change can have brought about at a pair.

    `tainted`: something of it; `fed`: the messages that came from a changed step directly; `given`: what the runs were
    given to begin with; `handed`: what a changed step handed the step, by the paths' beginnings.
    """

    tainted: bool
    fed: frozenset[str]
    given: frozenset[str]
    handed: frozenset[str]


def _own(pair: Pair, facets: Sequence[Facet], context: _Context) -> Iterable[Atom]:
    """What changed at this pair itself, rather than because of something before it."""
    if pair.both is None:
        if not context.tainted:
            yield Atom(category="structure", places=(pair.place,), pair=pair)
        return
    given = [facet for facet in facets if facet.part != "output"]
    # Template and variables of one prompt are one change: what they render to is what is used.
    for facet in given[:1] if pair.step.type == StepType.PROMPT else given:
        own = _own_part(facet, context)
        if own:
            yield Atom(category=_category(own), places=(pair.place,), pair=pair, facet=own)
    made = [facet for facet in facets if facet.part == "output"]
    renders = pair.step.type == StepType.PROMPT and bool(given)
    passed_on = renders or (pair.step.type in _PASSING and bool(context.handed))
    if made and ((pair.overridden and not passed_on) or (not given and not context.tainted)):
        yield _answered(pair, made[0])


def _answered(pair: Pair, facet: Facet) -> Atom:
    """Another answer to the same call: an operator's, the world's, or a model's that was sampled anew."""
    sampled = pair.step.type == StepType.MODEL and not pair.overridden
    return Atom(
        category=facet.category,
        places=(pair.place,),
        pair=pair,
        facet=facet,
        sampled=sampled,
        overridden=pair.overridden,
    )


def _own_part(facet: Facet, context: _Context) -> Facet | None:
    """The facet, or the part of it, that no earlier step brought about."""
    if facet.kind == "system prompt" and _OPENING in context.handed:
        return None  # rendered by a step that changed
    if facet.part == "config" or facet.kind in _STANDING:
        return facet
    if facet.form == "messages":
        own = tuple(item for item in facet.messages if _is_own(item, context))
        return replace(facet, messages=own) if own else None
    return None if context.tainted else facet


def _is_own(item: MessagePair, context: _Context) -> bool:
    """After a changed answer the history differs, and what a user says may be a reaction to it.

    But what the run was given before any answer is nobody's reaction.
    """
    if item.role in SYSTEM_ROLES:
        return True
    if _is_fed(item, context):
        return False
    first = item.opening and not context.given.isdisjoint(map(one_line, (item.base, item.candidate)))
    return first or not context.tainted


def _reactions(pair: Pair, facets: Sequence[Facet], context: _Context) -> Iterator[Reaction]:
    """What `_own_part` puts down to something earlier although only the order of the steps says so."""
    if not context.tainted or pair.both is None:
        return
    for facet in facets:
        if facet.kind in _TEMPLATES and not _is_handed(facet, context):
            yield Reaction(kind="variables" if _is_filled_in(facet) else "template", pair=pair)
        said = (item for item in facet.messages if item.role == "user" and not _is_fed(item, context))
        if any(not _is_own(item, context) for item in said):
            yield Reaction(kind="user", pair=pair)


def _is_filled_in(facet: Facet) -> bool:
    """Whether only what was put into a template differs."""
    paths = [change.path for change in value_changes(facet.base, facet.candidate, limit=20)]
    return facet.kind == "template version and variables" and all(path.startswith("/variables") for path in paths)


def _is_handed(facet: Facet, context: _Context) -> bool:
    """Whether all that differs in it is what a changed step gave: a variable, say."""
    paths = [_head(change.path) for change in value_changes(facet.base, facet.candidate, limit=20)]
    return bool(paths) and context.handed.issuperset(paths)


def _is_fed(item: MessagePair, context: _Context) -> bool:
    places = {f"/messages/{index}" for index in (item.base_index, item.candidate_index) if index is not None}
    return not context.fed.isdisjoint(places)


def _fed(pair: Pair, flow: Flow, changed: set[int]) -> frozenset[str]:
    """Which messages of the request came from a changed step directly."""
    paths = [travel.path for travel in flow.into.get(pair.place, ()) if travel.producer in changed]
    return frozenset(map(_head, paths))


def _handed(pair: Pair, flow: Flow, changed: set[int]) -> frozenset[str]:
    """Where the steps of both sides hold what a changed step gave; of a step that one side has, its own."""
    into = [travel for travel in flow.into.get(pair.place, ()) if travel.producer in changed]
    base, candidate = ({_head(travel.path) for travel in into if travel.side == side} for side in _SIDES)
    return frozenset(base & candidate if pair.both else base | candidate)


def _head(path: str) -> str:
    """The beginning of a path: a message, a variable."""
    return "/".join(path.split("/")[:3])


def _category(facet: Facet) -> Category:
    """A changed message of the user is upstream of the run; an edited history is a changed prompt."""
    if facet.form == "messages":
        return "upstream" if facet.messages[0].role == "user" else "prompt"
    return facet.category
