"""Find the changes that made the difference: apply and revert each alone, then find the smallest sets. Pure.

Exact if every probe is settled. An unsettled probe counts as neither outcome, so a set found is certainly enough,
but there may be a smaller one that could not be tried.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import chain, combinations
from typing import Final, TypeVar

from diffing.schemas.evidence import ProbePurpose
from replay.proofs.core.types import Atom, Atoms, ProbeResult, Side
from replay.proofs.ladder.facts import NO_ATOMS, ProbeRequest, Space

T = TypeVar("T")
Steps = Generator[ProbeRequest, ProbeResult, T]
# Up to this many changes, every combination is tried.
FACTORIAL: Final = 6
# More changes are halved first: two probes for each would be too many.
_ONE_BY_ONE: Final = 60
# Smallest sets to search for if several are enough.
_SETS: Final = 4


def explain(space: Space) -> Steps[None]:
    """Find the changes that are enough and those that are needed."""
    if not space.atoms:
        return
    yield from _reproduce(space)
    if space.is_contradicted:
        return
    if len(space.atoms) <= _ONE_BY_ONE:
        yield from one_at_a_time(space, free=True)
        if not proved_single(space):
            yield from one_at_a_time(space, free=False)
    if proved_single(space) and len(space.atoms) <= _ONE_BY_ONE:
        yield from _rivals(space)
    if not proved_single(space):
        yield from _sets(space)
        yield from _common_part(space)
        yield from _members(space)


def proved_single(space: Space) -> str | None:
    """The change that is enough and needed, if there is one and nothing else is enough."""
    sets = space.smallest()
    if len(sets) != 1 or len(sets[0]) != 1 or not space.is_needed(sets[0]):
        return None
    return next(iter(sets[0]))


def is_only(space: Space, single: str) -> bool:
    """Return whether every other change was tried alone and is not enough.

    That the others together are not enough does not prove it: one may undo the effect of another. With so many changes
    that they are halved, it has to do.
    """
    if len(space.atoms) > _ONE_BY_ONE:
        return True
    return all(
        space.is_enough(space.with_required(frozenset({name}))) is False
        for name in space.all - space.with_dependents(frozenset({single}))
    )


def one_at_a_time(space: Space, *, free: bool) -> Steps[None]:
    """Apply each change alone and revert each alone. Spend live calls only until one is both enough and needed."""
    certified_atoms = [atom for atom in space.atoms if atom.certificate is not None]
    atoms = [*(atom for atom in space.atoms if atom.certificate is None), *certified_atoms]
    pairs = [list(_both_ways(space, atom)) for atom in atoms]
    for number, pair in enumerate(pairs, 1):
        if not free and proved_single(space):
            return
        # Free probes all follow; of the others, only those of the same change are certain to.
        rest = [trial for later in pairs[number:] for trial in later] if free else []
        for place, (subset, side, purpose) in enumerate(pair, 1):
            following = [(later_subset, later_side) for later_subset, later_side, _ in (*pair[place:], *rest)]
            yield from _try(space, subset, side, purpose, free=free, following=following)


def _both_ways(space: Space, atom: Atom) -> Iterator[tuple[Atoms, Side, ProbePurpose]]:
    alone = frozenset({atom.id})
    yield space.with_required(alone), "base", "apply"
    # A certificate already says that the change can be reverted.
    if atom.certificate is None:
        yield space.all - space.with_dependents(alone), "candidate", "revert"


def _rivals(space: Space) -> Steps[None]:
    """Try the untried changes alone while one change is enough and needed: another one may be enough as well."""
    for atom in space.atoms:
        if single := proved_single(space):
            alone = space.with_required(frozenset({atom.id}))
            if atom.id != single and single not in alone:
                yield from _try(space, alone, "base", "apply")


def factorial(space: Space, atoms: Sequence[str]) -> Steps[None]:
    """Try every combination of a few changes as far as that costs nothing."""
    for subset in subsets(atoms):
        if space.valid(subset) and space.is_enough(subset) is None:
            yield from _try(space, subset, "base", "factorial", free=True)


def subsets(atoms: Sequence[str]) -> list[Atoms]:
    """All subsets, the smaller ones first."""
    sizes = (combinations(atoms, size) for size in range(len(atoms) + 1))
    return [frozenset(combination) for combination in chain.from_iterable(sizes)]


def minimal(space: Space, universe: Atoms, is_true: Callable[[Atoms], Steps[bool]]) -> Steps[Atoms]:
    """Reduce `universe` to a set for which `is_true` is true and of which no member can be left out (ddmin)."""
    items = [atom.id for atom in space.atoms if atom.id in universe]
    parts = 2
    while len(items) > 1:
        smaller = yield from _smaller(items, parts, is_true)
        if smaller is not None:
            remaining, parts = smaller
            items = [item for item in items if item in remaining]
        elif parts >= len(items):
            break
        else:
            parts = min(len(items), 2 * parts)
    return frozenset(items)


def check_enough(space: Space, subset: Atoms) -> Steps[bool]:
    """Return whether these changes are known to be enough; probe if that is unknown."""
    if space.is_enough(subset) is None and space.valid(subset):
        yield from _try(space, subset, "base", "search")
    return space.is_enough(subset) is True


def check_needed(space: Space, atoms: Atoms) -> Steps[bool]:
    """Return whether the outcome is known to be lost without these changes; probe if that is unknown."""
    if space.is_needed(atoms) is None and space.with_dependents(atoms) == atoms:
        yield from _try(space, space.all - atoms, "candidate", "search")
    return space.is_needed(atoms) is True


def _smaller(items: list[str], parts: int, is_true: Callable[[Atoms], Steps[bool]]) -> Steps[tuple[Atoms, int] | None]:
    """A chunk of the items, or all but one chunk, for which `is_true` is true; with the next number of chunks."""
    chunks = [
        frozenset(items[index * len(items) // parts : (index + 1) * len(items) // parts]) for index in range(parts)
    ]
    for chunk in chunks:
        if (yield from is_true(chunk)):
            return chunk, 2
    if parts > 2:
        for chunk in chunks:
            if (yield from is_true(frozenset(items) - chunk)):
                return frozenset(items) - chunk, max(parts - 1, 2)
    return None


def _reproduce(space: Space) -> Steps[None]:
    """Check whether the known changes are all that matters."""
    yield from _try(space, space.all, "base", "reproduce", following=[(NO_ATOMS, "candidate")])
    yield from _try(space, NO_ATOMS, "candidate", "reproduce")


def _sets(space: Space) -> Steps[None]:
    """Find the smallest sets that are enough, none with a member of a previous one; else the smallest needed set."""
    for _ in range(_SETS):
        sets = space.smallest()
        rest = space.all - space.with_dependents(frozenset(_dispensable(space, causes) for causes in sets))
        if (
            not rest
            or any(_is_indispensable(space, causes) for causes in sets)
            or not (yield from check_enough(space, rest))
        ):
            break
        yield from minimal(space, rest, lambda subset: check_enough(space, subset))
        if space.smallest() == sets:
            break
    if not space.smallest() and (yield from check_needed(space, space.all)):
        yield from minimal(space, space.all, lambda atoms: check_needed(space, atoms))


def more_sets(space: Space) -> Steps[None]:
    """Find smallest sets inside subsets that turned out to be enough although they contain none of the known sets.

    If one change disturbs the effect of another, no path down from all changes leads to them: all but one member is not
    enough, but a part of that is.
    """
    while len(sets := space.smallest()) < _SETS:
        remaining = (subset for subset in space.known_enough() if not any(causes <= subset for causes in sets))
        if (start := next(remaining, None)) is None:
            break
        yield from minimal(space, start, lambda subset: check_enough(space, subset))
        if space.smallest() == sets:
            break
    yield from _members(space)


def _common_part(space: Space) -> Steps[None]:
    """Try what several sets have in common: it may be enough if one more change undid or exceeded its effect."""
    sets = space.known_enough()
    common = frozenset[str]().union(*sets).intersection(*sets)
    if len(sets) > 1 and common and (yield from check_enough(space, common)):
        yield from minimal(space, common, lambda subset: check_enough(space, subset))


def _dispensable(space: Space, causes: Atoms) -> str:
    """The member to leave out when searching for another set, preferably one that is not needed."""
    names = [atom.id for atom in space.atoms if atom.id in causes]
    return next((name for name in names if space.is_needed(frozenset({name})) is False), names[-1])


def _is_indispensable(space: Space, causes: Atoms) -> bool:
    """Return whether every member is needed: then no other set can be enough, unless more changes have less effect."""
    return all(space.is_needed(frozenset({member})) for member in causes)


def _members(space: Space) -> Steps[None]:
    """Revert each member of the smallest sets alone, unless the result is known."""
    for causes in space.smallest():
        for atom in space.atoms:
            if atom.id in causes and space.is_needed(frozenset({atom.id})) is None:
                dependents = space.with_dependents(frozenset({atom.id}))
                yield from _try(space, space.all - dependents, "candidate", "revert")


def _try(
    space: Space,
    subset: Atoms,
    side: Side,
    purpose: ProbePurpose,
    *,
    free: bool = False,
    following: Sequence[tuple[Atoms, Side]] = (),
) -> Steps[None]:
    """Probe a subset, unless the result is known; `following`: the subsets to try next, whatever it is."""
    if not _is_settled(space, subset, side):
        specs = [
            space.spec(later, later_side)
            for later, later_side in following
            if not _is_settled(space, later, later_side)
        ]
        lookahead = tuple(dict.fromkeys(specs))
        yield ProbeRequest(spec=space.spec(subset, side), purpose=purpose, free=free, lookahead=lookahead)


def _is_settled(space: Space, subset: Atoms, side: Side) -> bool:
    result = space.result(subset, side)
    return result is not None and result.is_settled
