"""The steps that an override names or matches. Pure."""

from fnmatch import fnmatchcase
from functools import cached_property
from typing import Final

from replay.core.graph import Graph, Node
from replay.overrides.profile import Override

_LONGEST_NUMBER: Final = 10  # what is longer is an id without a letter, or nothing


class StepsByName:
    """The steps of a graph, found without looking at each of them for each entry."""

    def __init__(self, graph: Graph) -> None:
        self.fork = graph.fork
        self._graph = graph

    @cached_property
    def _by_id(self) -> dict[str, Node]:
        return {ref: node for node in self._graph.nodes for ref in (str(node.id), node.id.hex)}

    @cached_property
    def _earlier(self) -> dict[str, int]:
        return {ref: node.no for node in self._graph.by_no.values() for ref in (str(node.id), node.id.hex)}

    def by_reference(self, ref: str) -> Node | None:
        """The step with this number or id from the fork on."""
        if not ref.isdecimal() or len(ref) > _LONGEST_NUMBER:
            return self._by_id.get(ref)
        node = self._graph.by_no.get(int(ref))
        return node if node is not None and node.no >= self.fork else None

    def number_before_fork(self, ref: str) -> int | None:
        """The number of a step before the fork."""
        if ref.isdecimal() and 0 < int(ref) < self.fork:
            return int(ref)
        return self._earlier.get(ref)

    def matches(self, entry: Override) -> list[Node]:
        """In order. Names are looked at once, however many steps have them."""
        found = (
            nodes
            for (type, name, model), nodes in self._graph.by_kind.items()
            if type is entry.match.type and matches_name(entry, name, model)
        )
        return sorted((node for nodes in found for node in nodes if entry.match.includes(node.no)), key=_number)


def _number(node: Node) -> int:
    return node.no


def matches_name(entry: Override, name: str, model: str) -> bool:
    """Whether an entry takes in steps of this name and model."""
    match = entry.match
    named = match.name is None or fnmatchcase(name, match.name)
    return named and (match.model is None or fnmatchcase(model, match.model))
