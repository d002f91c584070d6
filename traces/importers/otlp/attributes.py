"""Span attributes: which were used, and the indexed ones as lists."""

from collections.abc import Iterable

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded


class Attributes:
    """The attributes of a span; what no `take` used is left over, to be kept as it came."""

    def __init__(self, given: JSONObject) -> None:
        self._given = given
        self._used: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def look(self, *names: str) -> JSONValue:
        """The first of these that says something; it stays left over."""
        return next((value for name in names if (value := self._given.get(name)) not in (None, "")), None)

    def take(self, *names: str) -> JSONValue:
        """The first of these that says something; all of them are used."""
        self._used.update(names)
        return self.look(*names)

    def take_json(self, *names: str) -> JSONValue:
        """As `take`, JSON text parsed."""
        return parse_embedded(self.take(*names))

    def take_indexed(self, prefix: str) -> JSONValue:
        """The attributes `prefix.0.…`, `prefix.1.…` as a list, deeper indexes as lists too; None without any."""
        names = [name for name in self._given if name.startswith(prefix + ".")]
        tree: JSONObject = {}
        for name in names:
            _put(tree, name[len(prefix) + 1 :].split(".", 30), self._given[name])
        self._used.update(names)
        return _listed(tree) if names else None

    def drop(self, *prefixes: str) -> None:
        """Mark as used what says again what another attribute said."""
        self._used.update(name for name in self._given if name.startswith(prefixes))

    def rest(self) -> JSONObject:
        return {name: value for name, value in self._given.items() if name not in self._used}

    def prefixed(self, prefix: str, names: Iterable[str]) -> JSONObject:
        """The named attributes under `prefix`, by their short names; used."""
        found = {name: self.take(prefix + name) for name in names}
        return {name: value for name, value in found.items() if value is not None}


def _put(tree: JSONObject, path: list[str], value: JSONValue) -> None:
    for key in path[:-1]:
        below = tree.get(key)
        if not isinstance(below, dict):
            below = {} if below is None else {"": below}
            tree[key] = below
        tree = below
    tree[path[-1]] = value


def _listed(value: JSONValue) -> JSONValue:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_listed(value[key]) for key in sorted(value, key=lambda key: (len(key), key))]
    return {key: _listed(each) for key, each in value.items()}
