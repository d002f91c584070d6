"""Edges in little memory. Pure.

A long conversation that drops its oldest messages has hundreds of edges into each step, with few different texts.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from traces.core.vocabulary import EdgeKind
from traces.provenance.edge_facts import EdgeFact

_KINDS: Final = tuple(EdgeKind)


class PackedEdges(Collection[EdgeFact]):
    """Edges in the order in which they are added: 24 bytes each, and each text once."""

    def __init__(self) -> None:
        # Six per edge: producer, consumer, kind, and the numbers of its three texts.
        self._numbers = array("I")
        self._texts: dict[str, int] = {}

    def extend(self, edges: Iterable[EdgeFact]) -> None:
        """Add edges."""
        for edge in edges:
            texts = map(self._number_of, (edge.consumer_path, edge.producer_path, edge.evidence))
            self._numbers.extend((edge.producer, edge.consumer, _KINDS.index(edge.kind), *texts))

    def _number_of(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def __len__(self) -> int:
        return len(self._numbers) // 6

    def __iter__(self) -> Iterator[EdgeFact]:
        texts = [*self._texts]
        numbers = iter(self._numbers)
        for producer, consumer, kind, consumer_path, producer_path, evidence in zip(*[numbers] * 6, strict=True):
            yield EdgeFact(
                producer=producer,
                consumer=consumer,
                kind=_KINDS[kind],
                consumer_path=texts[consumer_path],
                producer_path=texts[producer_path],
                evidence=texts[evidence],
            )

    def __contains__(self, edge: object) -> bool:
        return any(edge == other for other in self)
