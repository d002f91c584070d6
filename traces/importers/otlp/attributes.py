"""Span attributes: records which ones were used, and converts indexed names to lists."""

from collections.abc import Iterable

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded


class Attributes:
    """The attributes of a span. Attributes that no method marks as used are returned by `rest`."""

    def __init__(self, values: JSONObject) -> None:
        self._values = values
        self._used_names: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def look(self, *names: str) -> JSONValue:
        """Return the first of these that is neither null nor empty, without marking it as used."""
        return next((value for name in names if (value := self._values.get(name)) not in (None, "")), None)

    def take(self, *names: str) -> JSONValue:
        """Return the first of these that is neither null nor empty, and mark all of them as used."""
        self._used_names.update(names)
        return self.look(*names)

    def take_json(self, *names: str) -> JSONValue:
        """Like `take`, and parse a JSON text."""
        return parse_embedded(self.take(*names))

    def take_indexed(self, prefix: str) -> JSONValue:
        """Take the attributes `prefix.0.…`, `prefix.1.…` as a list, also deeper indexes; None without any."""
        names = [name for name in self._values if name.startswith(prefix + ".")]
        tree: JSONObject = {}
        for name in names:
            _insert(tree, name[len(prefix) + 1 :].split(".", 30), self._values[name])
        self._used_names.update(names)
        return _to_lists(tree) if names else None

    def drop(self, *prefixes: str) -> None:
        """Mark attributes as used that only repeat others."""
        self._used_names.update(name for name in self._values if name.startswith(prefixes))

    def rest(self) -> JSONObject:
        return {name: value for name, value in self._values.items() if name not in self._used_names}

    def take_group(self, prefix: str, names: Iterable[str]) -> JSONObject:
        """Take the named attributes under `prefix`, keyed without the prefix."""
        group = {name: self.take(prefix + name) for name in names}
        return {name: value for name, value in group.items() if value is not None}


def _insert(tree: JSONObject, path: list[str], value: JSONValue) -> None:
    for key in path[:-1]:
        child = tree.get(key)
        if not isinstance(child, dict):
            child = {} if child is None else {"": child}
            tree[key] = child
        tree = child
    tree[path[-1]] = value


def _to_lists(value: JSONValue) -> JSONValue:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_to_lists(value[key]) for key in sorted(value, key=lambda key: (len(key), key))]
    return {key: _to_lists(item) for key, item in value.items()}
