"""Which changes made the difference: apply and revert, one at a time, then the smallest sets. Pure.

Exact where every probe is settled. What is not settled counts as neither, so that a set found is enough for sure,
while a smaller one may exist that could not be tried.
"""

from collections.abc import Callable, Generator, Sequence
from itertools import chain, combinations
from typing import Final, TypeVar

from diffing.schemas.evidence import ProbePurpose
from replay.proofs.core.types import Atoms, Seen, Side
from replay.proofs.ladder.facts import NOTHING, Asked, Space

T = TypeVar("T")
Steps = Generator[Asked, Seen, T]
FACTORIAL: Final = 6  # changes whose every combination is tried
_ONE_BY_ONE: Final = 60  # more changes are halved first: two probes for each would be too many
_SETS: Final = 4  # smallest sets that are looked for where several are enough


def explain(space: Space) -> Steps[None]:
    """Find what is enough and what is needed."""
    if not space.atoms:
        return
    yield from _reproduce(space)
    if space.contradicted:
        return
    if len(space.atoms) <= _ONE_BY_ONE:
        yield from one_at_a_time(space, free=True)
        if not proved_single(space):
            yield from one_at_a_time(space, free=False)
    if proved_single(space) and len(space.atoms) <= _ONE_BY_ONE:
        yield from _rivals(space)
    if not proved_single(space):
        yield from _sets(space)
        yield from _shared(space)
        yield from _members(space)


def proved_single(space: Space) -> str | None:
    """The change that is enough and needed, where there is one and nothing else is enough."""
    sets = space.smallest()
    if len(sets) != 1 or len(sets[0]) != 1 or not space.needed(sets[0]):
        return None
    return next(iter(sets[0]))


def is_only(space: Space, single: str) -> bool:
    """Whether every other change was tried alone, and is not enough.

    That the others together are not enough does not show it: one of them may undo what another one does. Of so many
    changes that they are halved it has to do.
    """
    if len(space.atoms) > _ONE_BY_ONE:
        return True
    return all(
        space.enough(space.with_required(frozenset({name}))) is False
        for name in space.all - space.with_dependents(frozenset({single}))
    )


def one_at_a_time(space: Space, *, free: bool) -> Steps[None]:
    """Apply each change alone and revert each alone. Live calls are spent only until one is both."""
    certified = [atom for atom in space.atoms if atom.certificate is not None]
    for atom in (*(atom for atom in space.atoms if atom.certificate is None), *certified):
        alone = frozenset({atom.id})
        if not free and proved_single(space):
            return
        yield from _tried(space, space.with_required(alone), "base", "apply", free=free)
        if atom.certificate is None:  # else it is known already
            yield from _tried(space, space.all - space.with_dependents(alone), "candidate", "revert", free=free)


def _rivals(space: Space) -> Steps[None]:
    """Try alone what was not tried, as long as one change is enough and needed: another one may be enough as well."""
    for atom in space.atoms:
        if single := proved_single(space):
            alone = space.with_required(frozenset({atom.id}))
            if atom.id != single and single not in alone:
                yield from _tried(space, alone, "base", "apply")


def factorial(space: Space, atoms: Sequence[str]) -> Steps[None]:
    """Every combination of a few changes, as far as that costs nothing."""
    for applied in subsets(atoms):
        if space.valid(applied) and space.enough(applied) is None:
            yield from _tried(space, applied, "base", "factorial", free=True)


def subsets(atoms: Sequence[str]) -> list[Atoms]:
    """All of them, the small ones first."""
    sizes = (combinations(atoms, size) for size in range(len(atoms) + 1))
    return [frozenset(chosen) for chosen in chain.from_iterable(sizes)]


def minimal(space: Space, universe: Atoms, holds: Callable[[Atoms], Steps[bool]]) -> Steps[Atoms]:
    """A set within `universe`, for which it holds, of which no member can be left out (ddmin)."""
    items = [atom.id for atom in space.atoms if atom.id in universe]
    parts = 2
    while len(items) > 1:
        smaller = yield from _smaller(items, parts, holds)
        if smaller is not None:
            kept, parts = smaller
            items = [item for item in items if item in kept]
        elif parts >= len(items):
            break
        else:
            parts = min(len(items), 2 * parts)
    return frozenset(items)


def enough(space: Space, applied: Atoms) -> Steps[bool]:
    """Whether these changes are known to be enough, asking where it is not known."""
    if space.enough(applied) is None and space.valid(applied):
        yield from _tried(space, applied, "base", "search")
    return space.enough(applied) is True


def needed(space: Space, atoms: Atoms) -> Steps[bool]:
    """Whether the outcome is known to be lost without these changes."""
    if space.needed(atoms) is None and space.with_dependents(atoms) == atoms:
        yield from _tried(space, space.all - atoms, "candidate", "search")
    return space.needed(atoms) is True


def _smaller(items: list[str], parts: int, holds: Callable[[Atoms], Steps[bool]]) -> Steps[tuple[Atoms, int] | None]:
    """A part of the items, or all but one part, for which it holds; with the number of parts to go on with."""
    chunks = [frozenset(items[at * len(items) // parts : (at + 1) * len(items) // parts]) for at in range(parts)]
    for chunk in chunks:
        if (yield from holds(chunk)):
            return chunk, 2
    if parts > 2:
        for chunk in chunks:
            if (yield from holds(frozenset(items) - chunk)):
                return frozenset(items) - chunk, max(parts - 1, 2)
    return None


def _reproduce(space: Space) -> Steps[None]:
    """Whether the known changes are all that matters."""
    yield from _tried(space, space.all, "base", "reproduce")
    yield from _tried(space, NOTHING, "candidate", "reproduce")


def _sets(space: Space) -> Steps[None]:
    """Smallest sets that are enough, each without a member of those before; else the smallest that is needed."""
    for _ in range(_SETS):
        found = space.smallest()
        left = space.all - space.with_dependents(frozenset(_dispensable(space, one) for one in found))
        if not left or any(_indispensable(space, one) for one in found) or not (yield from enough(space, left)):
            break
        yield from minimal(space, left, lambda applied: enough(space, applied))
        if space.smallest() == found:
            break
    if not space.smallest() and (yield from needed(space, space.all)):
        yield from minimal(space, space.all, lambda atoms: needed(space, atoms))


def others(space: Space) -> Steps[None]:
    """Smallest sets inside of what turned out to be enough although it holds none of those found.

    Where a change disturbs what another one does, no way from the whole downwards leads to them: the whole without a
    member is not enough, and a part of it is.
    """
    while len(found := space.smallest()) < _SETS:
        apart = (one for one in space.known_enough() if not any(known <= one for known in found))
        if (other := next(apart, None)) is None:
            break
        yield from minimal(space, other, lambda applied: enough(space, applied))
        if space.smallest() == found:
            break
    yield from _members(space)


def _shared(space: Space) -> Steps[None]:
    """What several sets have in common may be enough, where a change more made it too little or too much."""
    found = space.known_enough()
    shared = frozenset[str]().union(*found).intersection(*found)
    if len(found) > 1 and shared and (yield from enough(space, shared)):
        yield from minimal(space, shared, lambda applied: enough(space, applied))


def _dispensable(space: Space, found: Atoms) -> str:
    """The member to do without in the search for another set, rather one that is not needed."""
    members = [atom.id for atom in space.atoms if atom.id in found]
    return next((member for member in members if space.needed(frozenset({member})) is False), members[-1])


def _indispensable(space: Space, found: Atoms) -> bool:
    """Whether every member is needed: then no other set can be enough, unless more changes do less."""
    return all(space.needed(frozenset({member})) for member in found)


def _members(space: Space) -> Steps[None]:
    """For the members of what was found, what is not known yet about each alone."""
    for found in space.smallest():
        for atom in space.atoms:
            if atom.id in found and space.needed(frozenset({atom.id})) is None:
                dependents = space.with_dependents(frozenset({atom.id}))
                yield from _tried(space, space.all - dependents, "candidate", "revert")


def _tried(space: Space, applied: Atoms, side: Side, purpose: ProbePurpose, *, free: bool = False) -> Steps[None]:
    seen = space.seen(applied, side)
    if seen is None or not seen.settled:
        yield Asked(ask=space.ask(applied, side), purpose=purpose, free=free)
