"""Select the steps that an override names or matches. Pure."""

from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain
from typing import Final

from replay.core.graph import Graph, Node
from replay.overrides.profile import Override

# Longer references are ids without a letter.
_MAX_DIGITS: Final = 10


class StepsByName:
    """Indexes over the steps of a graph, so that an entry does not scan all of them."""

    def __init__(self, graph: Graph) -> None:
        self.fork = graph.fork
        self._graph = graph

    @cached_property
    def _by_id(self) -> dict[str, Node]:
        return {ref: node for node in self._graph.nodes for ref in (str(node.id), node.id.hex)}

    @cached_property
    def _earlier(self) -> dict[str, int]:
        nodes = chain(self._graph.by_no.values(), self._graph.earlier_calls.values())
        return {ref: node.no for node in nodes for ref in (str(node.id), node.id.hex)}

    def by_reference(self, ref: str) -> Node | None:
        """Step with this number or id, from the fork on."""
        if not ref.isdecimal() or len(ref) > _MAX_DIGITS:
            return self._by_id.get(ref)
        node = self._graph.by_no.get(int(ref))
        return node if node is not None and node.no >= self.fork else None

    def number_before_fork(self, ref: str) -> int | None:
        """Number of a step before the fork."""
        if ref.isdecimal() and 0 < int(ref) < self.fork:
            return int(ref)
        return self._earlier.get(ref)

    def matches(self, entry: Override) -> list[Node]:
        """Steps that an entry matches by type, in order; each distinct name is matched once."""
        groups = (
            nodes
            for (type, name, model), nodes in self._graph.by_kind.items()
            if type is entry.match.type and matches_name(entry, name, model)
        )
        return sorted((node for nodes in groups for node in nodes if entry.match.includes(node.no)), key=_number)


def _number(node: Node) -> int:
    return node.no


def matches_name(entry: Override, name: str, model: str) -> bool:
    """True if an entry matches this name and model."""
    match = entry.match
    is_match = match.name is None or fnmatchcase(name, match.name)
    return is_match and (match.model is None or fnmatchcase(model, match.model))
