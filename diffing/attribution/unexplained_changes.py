"""Changes that no earlier change explains, gathered from the places where they show. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from diffing.attribution.difference_origins import Origin
from diffing.compare.comparison import Pair
from diffing.content.facet import WINDOW, Facet
from diffing.content.message_diff import MessagePair
from diffing.schemas.terms import Category
from traces.core.canonical import digest


@dataclass(frozen=True, kw_only=True, slots=True)
class Atom:
    """One change that no earlier change explains. `places` are the pairs it acts on, the first one first.

    `facet` is None for a step that only one side has; `sampled` marks a model that answered the same request
    differently without anybody's doing. `origin` says whether it may itself follow from an earlier changed output.
    """

    category: Category
    places: tuple[int, ...]
    pair: Pair
    facet: Facet | None = None
    sampled: bool = False
    overridden: bool = False
    origin: Origin = Origin.EXOGENOUS


@dataclass
class Gathered:
    """Each change once, with all of its places, in the order in which they first show."""

    _atoms: dict[str, Atom] = field(default_factory=dict)
    _owners: dict[tuple[str, str], str] = field(default_factory=dict)  # of messages: the atom that they belong to

    @property
    def atoms(self) -> list[Atom]:
        return list(self._atoms.values())

    def add(self, atom: Atom) -> None:
        """A message that differed before belongs to the atom that it is part of there; what differs beside it is new.

        Example: the user's second message differs at step 4. At step 6 the second and the third one do, because the
        history repeats the second: step 6 is one more place of that change, and the third message is another change.
        """
        facet = atom.facet
        if facet is None or not facet.messages or facet.kind == WINDOW:
            self._add(_identity(atom), atom)
            return
        for owner, items in self._by_owner(facet.messages).items():
            part = replace(atom, facet=replace(facet, messages=tuple(items)))
            identity = owner or _identity(part)
            self._owners.update((item.key, identity) for item in items)
            self._add(identity, part)

    def _by_owner(self, messages: Sequence[MessagePair]) -> Mapping[str, list[MessagePair]]:
        found: dict[str, list[MessagePair]] = {}
        for item in messages:
            found.setdefault(self._owners.get(item.key, ""), []).append(item)
        return found

    def _add(self, identity: str, atom: Atom) -> None:
        known = self._atoms.get(identity)
        self._atoms[identity] = _also(known, atom) if known else atom


def _also(known: Atom, atom: Atom) -> Atom:
    """One change at one more place; it is shown where it stands first."""
    shown = min(known, atom, key=lambda each: each.pair.order_key)
    # What stood somewhere before any output differed does not follow from one.
    origin = min(known.origin, atom.origin, key=list(Origin).index)
    facet = shown.facet
    if facet is not None and facet.kind == WINDOW and known.facet is not None and atom.facet is not None:
        facet = replace(facet, messages=tuple(dict.fromkeys((*known.facet.messages, *atom.facet.messages))))
    return replace(known, places=(*known.places, *atom.places), pair=shown.pair, facet=facet, origin=origin)


def _identity(atom: Atom) -> str:
    facet = atom.facet
    if facet is None and atom.sampled:
        return "sampled"  # what comes of another answer may be another answer again
    if facet is None or facet.part == "output":
        return f"{atom.pair.place} {facet.kind if facet else ''}"
    if facet.kind == WINDOW:
        return f"{WINDOW} {facet.messages[0].op} {atom.pair.step.role}"
    if facet.messages:
        return digest([list(facet.messages[0].key)])
    return digest([facet.kind, facet.base, facet.candidate])
