"""Renaming: which volatile value of a recording is which value of the running agent. Pure.

It is one to one and holds for the rest of the run: a value that would need two names is a difference.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from replay.reruns.core.volatile_values.volatile_tokens import CLOCK_KINDS, MEASURED_KINDS, Kind, may_replace, tokens
from traces.core.json_types import JSONValue

_Value = tuple[str, str]


@dataclass(slots=True)
class Renaming:
    """New values by kind and old value, and the other way around."""

    new: dict[_Value, str] = field(default_factory=dict)
    old: dict[_Value, str] = field(default_factory=dict)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str, str]]) -> "Renaming":
        """Return the renaming with these kinds, old values and new values."""
        renaming = cls()
        for space, old, new in pairs:
            renaming.new[space, old], renaming.old[space, new] = new, old
        return renaming

    def pairs(self) -> list[tuple[str, str, str]]:
        """Return the kind, old value and new value of each name."""
        return [(space, old, new) for (space, old), new in self.new.items()]

    def rewrite(self, text: str) -> str:
        """Return a text of the recording with the new values."""
        parts: list[str] = []
        at = 0
        for start, end, new in self.replacements(text):
            parts += [text[at:start], new]
            at = end
        return "".join([*parts, text[at:]]) if parts else text

    def replacements(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield where a text contains an old value, from start to end, and the new one."""
        at = 0
        for token in tokens(text) if self.new else ():
            end = at + len(token.text)
            new = self.new.get((_space(token.kind), token.text)) if token.kind else None
            if new is not None:
                yield at, end, new
            at = end


def named_values(value: JSONValue | Sequence[JSONValue]) -> Iterator[_Value]:
    """Yield the volatile values that a value contains, as `Renaming` knows them."""
    if isinstance(value, str):
        yield from ((_space(token.kind), token.text) for token in tokens(value) if token.kind)
    elif isinstance(value, dict | Sequence):
        for item in value.values() if isinstance(value, dict) else value:
            yield from named_values(item)
    elif value is not None:
        # A number is a time if its field says so.
        yield "time", str(value)


def nothing_is_meant(kind: Kind, old: str, new: str) -> bool:
    """Return False: every value of an execution may have been generated in it."""
    return False


@dataclass(slots=True)
class Trial:
    """What a comparison would add to a renaming. Nothing is kept before `keep`.

    `is_meant` gets an old value and the new one, and returns whether this is meant as it is, because the execution did
    not generate it.
    """

    renaming: Renaming
    names: Renaming = field(default_factory=Renaming)
    is_meant: Callable[[Kind, str, str], bool] = nothing_is_meant

    def name(self, old: str) -> str:
        """Return the new value of an id; the old one if it has none."""
        key = ("id", old)
        return self.names.new.get(key) or self.renaming.new.get(key, old)

    def accept(self, kind: Kind, old: str, new: str) -> bool:
        """Note that the new value stands where the old one stood; False if that contradicts what is known."""
        if kind in MEASURED_KINDS:
            return old == new or not self.is_meant(kind, old, new)
        space = _space(kind)
        if old == new and kind in CLOCK_KINDS:
            return True
        if self._lookup("new", space, old, new) != new or self._lookup("old", space, new, old) != old:
            return False
        if old == new or self.names.new.get((space, old)) == new or self.renaming.new.get((space, old)) == new:
            return True
        if not may_replace(kind, old, new) or self.is_meant(kind, old, new):
            return False
        self.names.new[space, old], self.names.old[space, new] = new, old
        return True

    def keep(self) -> None:
        """Add what was found to the renaming."""
        self.renaming.new |= self.names.new
        self.renaming.old |= self.names.old

    def new_count(self) -> int:
        """Return how many values the renaming does not contain yet."""
        return len(self.names.new.keys() - self.renaming.new.keys())

    def _lookup(self, side: str, space: str, key: str, default: str) -> str:
        trial_names: Mapping[_Value, str] = getattr(self.names, side)
        run_names: Mapping[_Value, str] = getattr(self.renaming, side)
        return trial_names.get((space, key)) or run_names.get((space, key), default)


def is_among(kind: str, value: str, values: Container[_Value]) -> bool:
    """Return whether a value is one of those that `named_values` found elsewhere."""
    return (_space(kind), value) in values


def _space(kind: str) -> str:
    """Return the kind under which a value is known: an id may look like a hexadecimal number in one of two places."""
    return "id" if kind == "hex" else kind
