"""Atoms: changes that no earlier change explains, each with all places where it shows. Pure."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from diffing.attribution.difference_origins import ChangedOutputs, Origin
from diffing.compare.comparison import Comparison, Pair
from diffing.content.facet import WINDOW, Facet
from diffing.content.message_diff import MessagePair
from diffing.schemas.terms import Category
from diffing.sequences.word_hunks import hunks
from traces.core.canonical import digest
from traces.core.vocabulary import StepType

AGENT_SETTINGS: Final = frozenset({"system prompt", "tool schemas", "model", "parameters"})
# Steps that answer from the environment.
_EXTERNAL: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})


@dataclass(frozen=True, kw_only=True, slots=True)
class Atom:
    """One change that no earlier change explains; `places` are the pairs that it affects, in order.

    `facet` is None for an unpaired step. `is_sampled`: a model answered the same request differently, without an
    override. `origin`: whether the change may follow from an earlier changed output. `input_place`: the agent or turn
    whose changed input the messages pass on. `user_message`: with which only one run goes on, at an unpaired step.
    `ends_loop`: code ended the agent's loop before an unpaired step.
    """

    category: Category
    places: tuple[int, ...]
    pair: Pair
    facet: Facet | None = None
    is_sampled: bool = False
    overridden: bool = False
    origin: Origin = Origin.EXOGENOUS
    input_place: int | None = None
    user_message: str = ""
    ends_loop: bool = False


@dataclass
class AtomSet:
    """All changes, each once with all of its places, in the order of their first places."""

    _atoms: dict[str, Atom] = field(default_factory=dict)
    # The atom of each message, by the message's key and its passages.
    _owners: dict[Hashable, str] = field(default_factory=dict)
    # The atom of each edit of an agent's system prompt, by role and differing words.
    _prompt_edits: dict[Hashable, str] = field(default_factory=dict)

    @property
    def atoms(self) -> list[Atom]:
        return list(self._atoms.values())

    def add(self, atom: Atom) -> None:
        """Add an atom; messages that differed in an earlier step belong to the atom from there.

        Example: the user's second message differs at step 4. At step 6, the second and the third message differ,
        because the history repeats the second. Step 6 is another place of that change, and the third message is new.
        """
        facet = atom.facet
        if facet is not None and (edit := _prompt_edit(atom, facet)):
            self._add(self._prompt_edits.setdefault(edit, _identity(atom)), atom)
            return
        if atom.input_place is None and (facet is None or not facet.messages or facet.kind == WINDOW):
            self._add(_identity(atom), atom)
            return
        if atom.input_place is not None:
            identity = f"input {atom.input_place}"
            self._owners.update((_owner_key(item), identity) for item in (facet.messages if facet else ()))
            self._add(identity, atom)
            return
        # The other facets have no messages.
        assert facet is not None
        for owner, items in self._by_owner(facet.messages).items():
            part = replace(atom, facet=replace(facet, messages=tuple(items)))
            identity = owner or _identity(part)
            self._owners.update((key, identity) for item in items for key in (_owner_key(item), _source_key(item)))
            self._add(identity, part)

    def _by_owner(self, messages: Sequence[MessagePair]) -> Mapping[str, list[MessagePair]]:
        items_by_owner: dict[str, list[MessagePair]] = {}
        for item in messages:
            items_by_owner.setdefault(self._owners.get(_source_key(item), ""), []).append(item)
        return items_by_owner

    def _add(self, identity: str, atom: Atom) -> None:
        previous = self._atoms.get(identity)
        self._atoms[identity] = _merge(previous, atom) if previous else atom


def _merge(previous: Atom, atom: Atom) -> Atom:
    """Add a place to a change; it is shown at its first place."""
    earliest = min(previous, atom, key=lambda entry: entry.pair.order_key)
    # Content that occurred before any output differed does not follow from one.
    origin = min(previous.origin, atom.origin, key=list(Origin).index)
    facet = earliest.facet
    if previous.input_place is not None and facet is not None and not facet.messages:
        # A call of code passes on less of the input than a message does.
        facet = next((item for item in (previous.facet, atom.facet) if item is not None and item.messages), facet)
    repeats = any(item.source is not None for item in (atom.facet.messages if atom.facet else ()))
    is_joined = facet is not None and (facet.kind == WINDOW or previous.input_place is not None or repeats)
    if facet is not None and is_joined and previous.facet is not None and atom.facet is not None:
        facet = replace(facet, messages=tuple(dict.fromkeys((*previous.facet.messages, *atom.facet.messages))))
    category = previous.category if previous.facet is None or previous.facet.messages else atom.category
    places = (*previous.places, *atom.places)
    return replace(previous, category=category, places=places, pair=earliest.pair, facet=facet, origin=origin)


def _owner_key(item: MessagePair) -> Hashable:
    return item.key, item.passages


def _source_key(item: MessagePair) -> Hashable:
    """The message or the remark that a message repeats, else the message itself."""
    return (item.source, ()) if isinstance(item.source, tuple) else _owner_key(item)


def _prompt_edit(atom: Atom, facet: Facet) -> Hashable:
    """The edit of an agent's system prompt, whatever else its text contains; None for any other change."""
    role = atom.pair.step.role
    if facet.kind != "system prompt" or not role or not isinstance(facet.base, str):
        return None
    words = tuple((hunk.base, hunk.candidate) for hunk in facet.passages or hunks(facet.base, str(facet.candidate)))
    return (role, words) if words else None


def _identity(atom: Atom) -> str:
    facet = atom.facet
    if facet is None and atom.is_sampled:
        # A sample may lead to more samples, so all of them are one change.
        return "sampled"
    if facet is None:
        return f"{atom.pair.place} "
    if facet.part == "output":
        return f"{_call(atom.pair)} {facet.kind}"
    if facet.kind == WINDOW:
        return f"{WINDOW} {facet.messages[0].op} {atom.pair.step.role}"
    if facet.messages:
        return digest([list(facet.messages[0].key)])
    return digest([facet.kind, facet.base, facet.candidate])


def _call(pair: Pair) -> str:
    """The call of a tool or a search and its answers, which are the same change wherever both runs repeat it."""
    if pair.sides is None or pair.step.type not in _EXTERNAL or not all(step.signature for step in pair.sides):
        return str(pair.place)
    return digest([[step.signature, step.status, step.output_ref] for step in pair.sides])


def is_agent_setting(atom: Atom) -> bool:
    """True for a change that affects every call of a model: its prompt, tools, name or settings."""
    return atom.facet is not None and atom.facet.kind in AGENT_SETTINGS


def with_agent_places(comparison: Comparison, outputs: ChangedOutputs, atoms: list[Atom]) -> list[Atom]:
    """Add the agent's unpaired calls to the places of standing changes, in place of atoms of their own.

    A setting acts through outputs: while all of them are equal, it is not what made code call once more or less. Nor
    does it make somebody speak again, which is an open change of its own.
    """
    unpaired_models = [
        pair
        for pair in comparison.differing
        if pair.sides is None
        and pair.step.type == StepType.MODEL
        and (comparison.derived or not outputs.leave_to_code(pair))
    ]
    places_by_agent: dict[str, set[int]] = {}
    for pair in unpaired_models:
        places_by_agent.setdefault(pair.step.role, set()).add(pair.place)
    behind = {place for atom in atoms if is_agent_setting(atom) for place in _agent_places(atom.pair, places_by_agent)}
    other_atoms = [
        atom
        for atom in atoms
        if atom.facet is not None or atom.origin is Origin.OPEN or atom.ends_loop or atom.pair.place not in behind
    ]
    return [
        replace(atom, places=tuple(sorted({*atom.places, *_agent_places(atom.pair, places_by_agent)})))
        if is_agent_setting(atom)
        else atom
        for atom in other_atoms
    ]


def _agent_places(pair: Pair, places: Mapping[str, set[int]]) -> set[int]:
    """The places of the agents of a pair; a step may have another name on the other side."""
    roles = {step.role for step in (pair.base, pair.candidate) if step is not None}
    return set[int]().union(*(places.get(role, ()) for role in roles))
