"""What the probes have shown so far, and what follows from it alone. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from diffing.schemas.evidence import ProbePurpose
from replay.proofs.core.types import Ask, Atom, Atoms, Seen, Side

NOTHING: Final[Atoms] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A probe that the search wants. A `free` one is not worth a live call; `then` will be wanted whatever it says."""

    ask: Ask
    purpose: ProbePurpose
    free: bool = False
    then: tuple[Ask, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A probe that was made, and what came of it."""

    asked: Asked
    seen: Seen


@dataclass
class Facts:
    """Every probe by what was asked; the latest answer counts, because a live one comes after a miss."""

    probes: dict[Ask, Probe] = field(default_factory=dict)
    recorded: dict[Ask, Seen] = field(default_factory=dict)  # what the two recordings are themselves

    def add(self, asked: Asked, seen: Seen) -> None:
        self.probes[asked.ask] = Probe(asked=asked, seen=seen)

    def seen(self, ask: Ask) -> Seen | None:
        if (recorded := self.recorded.get(ask)) is not None:
            return recorded
        probe = self.probes.get(ask)
        return None if probe is None else probe.seen


@dataclass(frozen=True, kw_only=True)
class Space:
    """Sets of atoms that can be applied to the base and reverted from the candidate.

    `context` is what is applied on either side besides: for the parts of one atom, the other members of its cause on
    the base, and every other change on the candidate. `whole` maps all parts of an atom to its own id.
    """

    facts: Facts
    atoms: Sequence[Atom]
    one: bool = False
    context: Mapping[Side, Atoms] = field(default_factory=lambda: {"base": NOTHING, "candidate": NOTHING})
    whole: tuple[Atoms, str] | None = None

    @property
    def all(self) -> Atoms:
        return frozenset(atom.id for atom in self.atoms)

    def ask(self, applied: Atoms, side: Side) -> Ask:
        if self.whole is not None and applied == self.whole[0]:
            applied = frozenset({self.whole[1]})
        return Ask(applied=applied | self.context[side], side=side)

    def seen(self, applied: Atoms, side: Side) -> Seen | None:
        return self.facts.seen(self.ask(applied, side))

    def enough(self, applied: Atoms) -> bool | None:
        """Whether the base with these changes has the candidate's outcome; None: not known.

        A tool that answers to another call as only the other run recorded brings what else is different there.
        """
        found = self._is_candidate(applied, ("base", "candidate") if self.one else ("base",))
        seen = None if self.one else self.seen(applied, "base")
        rekeyed = any(atom.rekeys and atom.id in applied for atom in self.atoms)
        return None if found and rekeyed and seen is not None and seen.borrowed else found

    def needed(self, atoms: Atoms) -> bool | None:
        """Whether the candidate without these changes has lost its outcome; None: not known."""
        sides: tuple[Side, ...] = ("candidate", "base") if self.one else ("candidate",)
        kept = self._is_candidate(self.all - self.with_dependents(atoms), sides)
        return None if kept is None else not kept

    def with_required(self, atoms: Atoms) -> Atoms:
        """The atoms with those that they have no meaning without."""
        by_id = {atom.id: atom for atom in self.atoms}
        found, waiting = set(atoms), list(atoms)
        while waiting:
            new = (by_id[waiting.pop()].requires & by_id.keys()) - found
            found |= new
            waiting += new
        return frozenset(found)

    def with_dependents(self, atoms: Atoms) -> Atoms:
        """The atoms with those that have no meaning without them."""
        found = set(atoms)
        while new := {atom.id for atom in self.atoms if atom.id not in found and atom.requires & found}:
            found |= new
        return frozenset(found)

    def valid(self, applied: Atoms) -> bool:
        return self.with_required(applied) == applied

    @property
    def contradicted(self) -> bool:
        """Whether replaying the source with all changes does not give the candidate: then others made it what it is."""
        seen = self.seen(self.all, "base") if self.one else None
        return seen is not None and seen.settled and seen.outcome != "candidate"

    def smallest(self) -> list[Atoms]:
        """The sets known to be enough of which no member can be left out."""
        return [one for one in self.known_enough() if self._is_minimal(one)]

    def known_enough(self) -> list[Atoms]:
        """The sets known to be enough, none of which holds another one; the smaller ones first."""
        found = [applied for applied in self._asked() if self.enough(applied)]
        ordered = sorted(set(found), key=self.order)
        return [one for one in ordered if not any(other < one for other in ordered)]

    def _is_minimal(self, applied: Atoms) -> bool:
        smaller = (applied - self.with_dependents(frozenset({atom})) for atom in applied)
        return all(self.enough(less) is False for less in smaller)

    def order(self, atoms: Atoms) -> tuple[int, list[int]]:
        """Smaller sets first, then the prior."""
        return len(atoms), sorted(place for place, atom in enumerate(self.atoms) if atom.id in atoms)

    def _is_candidate(self, applied: Atoms, sides: Sequence[Side]) -> bool | None:
        for side in sides:
            seen = self.seen(applied, side)
            if seen is not None and seen.assumed and seen.outcome == side:
                continue  # that nothing came of the changes was assumed
            if seen is not None and seen.settled:
                return seen.outcome == "candidate"
        return None

    def _asked(self) -> Iterator[Atoms]:
        """The sets of this space that somebody asked about."""
        for ask in (*self.facts.recorded, *self.facts.probes):
            if ask.clamp is None and not ask.repeat and (ask.side == "base" or self.one):
                context = self.context[ask.side]
                own = self._own(ask.applied, context)
                if context <= ask.applied and own is not None:
                    yield own

    def _own(self, applied: Atoms, context: Atoms) -> Atoms | None:
        """The atoms of this space in an ask; None where it is about others."""
        rest = applied - context
        if self.whole is not None and rest == {self.whole[1]}:
            return self.whole[0]
        return rest if rest <= self.all else None
