"""Names of attributes: which of some there are, and those with indexes, such as `llm.tools.0.tool.name`, as lists."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from traces.core.json_types import JSONObject, JSONValue

_MOST_LEVELS: Final = 30
# Sets of names that are remembered, and the names in one of them, with their characters: those with many indexes hardly
# repeat, and a client may send any.
_MOST_SETS: Final = 512
_MOST_NAMES: Final = 100
_MOST_CHARACTERS: Final = 10_000


class _Present(dict[tuple[str, ...], tuple[str, ...]]):
    """Of some names, those that there are, in their order; worked out when they are looked up for the first time."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self._all_names = frozenset(names)

    def __missing__(self, names: tuple[str, ...]) -> tuple[str, ...]:
        self[names] = present = tuple([name for name in names if name in self._all_names])
        return present


class _Groups(dict[str, tuple[str, ...]]):
    """Of a prefix, the names that begin with it; worked out when it is looked up for the first time."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._all_names = names
        # Each after a line break: one search for a prefix instead of one for each name.
        self._joined_names = "\n".join(["", *names])

    def __missing__(self, prefix: str) -> tuple[str, ...]:
        has_any = f"\n{prefix}" in self._joined_names
        names = tuple([name for name in self._all_names if name.startswith(prefix)]) if has_any else ()
        self[prefix] = names
        return names


class AttributeNames:
    """The names of a span's attributes. Most spans of a program have one of few sets, which are looked at once."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.present: Mapping[tuple[str, ...], tuple[str, ...]] = _Present(names)
        self.groups: Mapping[str, tuple[str, ...]] = _Groups(names)
        self._names = names
        self._results: dict[Callable[[str], str], Mapping[str, str]] = {}

    def results(self, function: Callable[[str], str]) -> Mapping[str, str]:
        """Return what a function returns for each name, without empty results."""
        results = self._results.get(function)
        if results is None:
            results = {name: result for name in self._names if (result := function(name))}
            self._results[function] = results
        return results


_known_names: Final[dict[tuple[str, ...], AttributeNames]] = {}


def names_of(attributes: JSONObject) -> AttributeNames:
    """Return the names of attributes: the same object for the same few names in the same order."""
    names = tuple(attributes)
    known_names = _known_names.get(names)
    if known_names is not None:
        return known_names
    new_names = AttributeNames(names)
    if len(names) <= _MOST_NAMES and sum(map(len, names)) <= _MOST_CHARACTERS:
        if len(_known_names) >= _MOST_SETS:
            _known_names.clear()
        _known_names[names] = new_names
    return new_names


def insert(tree: JSONObject, name: str, value: JSONValue) -> None:
    """Insert a value into nested objects, one level per segment of its name."""
    path = name.split(".", _MOST_LEVELS)
    for key in path[:-1]:
        child = tree.get(key)
        if not isinstance(child, dict):
            child = {} if child is None else {"": child}
            tree[key] = child
        tree = child
    tree[path[-1]] = value


def to_lists(value: JSONValue) -> JSONValue:
    """Convert nested objects whose keys are numbers to lists."""
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [to_lists(value[key]) for key in sorted(value, key=lambda key: (len(key), key))]
    return {key: to_lists(item) for key, item in value.items()}
