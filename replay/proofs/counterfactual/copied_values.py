"""What the agent's code copied from outputs into later inputs, by how both differ between two recordings. Pure."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from diffing.attribution.difference_origins import Origin
from diffing.attribution.unexplained_changes import Atom as Root
from diffing.compare.comparison import Pair
from diffing.content.facet import SYSTEM_ROLES
from diffing.content.message_diff import MessagePair, changed_messages
from diffing.sequences.word_hunks import Hunk, hunks, is_copy, is_repeated
from replay.core.graph import CopiedValue, Graph, Link
from replay.inputs.copied_values import text_of
from replay.proofs.changes.overrides import Found, number, obj
from replay.proofs.core.types import Side
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType

_SIDES: Final[tuple[tuple[Side, int], ...]] = (("base", 0), ("candidate", 1))
_SOURCES: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL})
_LATEST: Final = 60  # outputs before a step that are looked through
Links = Mapping[int, tuple[Link, ...]]  # by consumer


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Links by side, and the places whose inputs differ in nothing but copied values."""

    links: Mapping[Side, Links] = field(default_factory=lambda: {"base": {}, "candidate": {}})
    whole: frozenset[int] = frozenset()

    def within(self, graph: Graph, side: Side) -> Graph:
        """The graph of a side with what was copied."""
        return with_links(graph, self.links[side])


def with_links(graph: Graph, links: Links) -> Graph:
    """A graph with more links, as far as their steps belong to it."""
    if not links:
        return graph
    known = dict(graph.links)
    for consumer, more in links.items():
        if consumer in graph.by_no:
            known[consumer] = (*known.get(consumer, ()), *more)
    return replace(graph, links=known)


def dumped_links(links: Links) -> JSONObject:
    """Links as they are stored with a probe."""
    return {
        str(consumer): [
            {
                "producer": link.producer,
                "path": link.consumer_path,
                "copied": [{**asdict(each), "rivals": list[JSONValue](sorted(each.rivals))} for each in link.copies],
            }
            for link in found
        ]
        for consumer, found in links.items()
    }


def loaded_links(stored: dict[str, Any]) -> Links:
    return {
        int(consumer): tuple(
            Link(
                producer=link["producer"],
                kind=EdgeKind.VALUE,
                consumer_path=link["path"],
                copies=tuple(CopiedValue(**{**each, "rivals": frozenset(each["rivals"])}) for each in link["copied"]),
            )
            for link in found
        )
        for consumer, found in stored.items()
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class _Text:
    """A text of an input on both sides, with its paths."""

    base: str
    candidate: str
    paths: tuple[str, str]


def copies(found: Found, roots: Sequence[Root]) -> Copies:
    """What was copied into the inputs that may derive from an earlier output."""
    reader = _Reader(found, _given(roots))
    links: dict[Side, dict[int, tuple[Link, ...]]] = {"base": {}, "candidate": {}}
    whole: set[int] = set()
    partly: set[int] = set()
    for root in roots:
        for place in root.places if root.origin is Origin.DERIVED else ():
            texts = _texts(found, root, place)
            traced = [reader.trace(found.pairs[place], text) for text in texts or ()]
            (whole if texts and all(each is not None for each in traced) else partly).add(place)
            for each in filter(None, traced):
                for side, at in _SIDES:
                    consumer = number(found.pairs[place], at) or 0
                    links[side][consumer] = (*links[side].get(consumer, ()), *each[at])
    return Copies(links=links, whole=frozenset(whole - partly))


def _given(roots: Sequence[Root]) -> list[tuple[int, Hunk]]:
    """What was changed in messages from outside, with the place where it stands first."""
    return [
        (root.places[0], hunk)
        for root in roots
        if root.origin is Origin.EXOGENOUS and root.facet is not None
        for item in root.facet.messages
        for hunk in hunks(item.base, item.candidate)
    ]


@dataclass
class _Reader:
    """The outputs that differ, by the words in which they do."""

    found: Found
    given: Sequence[tuple[int, Hunk]]
    _hunks: dict[int, list[Hunk]] = field(default_factory=dict)

    def trace(self, pair: Pair, text: _Text) -> tuple[list[Link], list[Link]] | None:
        """The links into a text, by side; None where not all that differs in it is a copy.

        What was changed from outside and is repeated in it stays as the replayed side has it.
        """
        copied: tuple[dict[int, list[CopiedValue]], dict[int, list[CopiedValue]]] = (
            defaultdict(list),
            defaultdict(list),
        )
        for hunk in hunks(text.base, text.candidate):
            sources = [source for source in self._before(pair) if any(is_copy(hunk, one) for one in self._of(source))]
            if not sources and not any(place < pair.place and is_repeated(hunk, one) for place, one in self.given):
                return None
            for _, at in _SIDES if sources else ():
                value = _copied(hunk, at, sources)
                for producer in value.rivals:
                    copied[at][producer].append(value)
        return _links(copied[0], text.paths[0]), _links(copied[1], text.paths[1])

    def _before(self, pair: Pair) -> list[Pair]:
        """The outputs of both sides that differ and were given before a step, the latest of them."""
        own = number(pair, 0) or 0, number(pair, 1) or 0
        before = [
            each
            for each in self.found.pairs
            if each.sides is not None
            and each.answers_differently
            and each.step.type in _SOURCES
            and (number(each, 0) or 0) < own[0]
            and (number(each, 1) or 0) < own[1]
        ]
        return before[-_LATEST:]

    def _of(self, pair: Pair) -> list[Hunk]:
        if pair.place not in self._hunks:
            base, candidate = (text_of(StepType(pair.step.type), output) for output in self.found.outputs(pair))
            self._hunks[pair.place] = hunks(base, candidate)
        return self._hunks[pair.place]


def _copied(hunk: Hunk, side: int, sources: Sequence[Pair]) -> CopiedValue:
    own, other = (hunk.base, hunk.candidate) if side == 0 else (hunk.candidate, hunk.base)
    start, end = hunk.base_span if side == 0 else hunk.candidate_span
    rivals = frozenset(no for source in sources if (no := number(source, side)) is not None)
    return CopiedValue(start=start, end=end, own=own, other=other, rivals=rivals)


def _links(copied: Mapping[int, Sequence[CopiedValue]], path: str) -> list[Link]:
    return [
        Link(producer=producer, kind=EdgeKind.VALUE, consumer_path=path, copies=tuple(values))
        for producer, values in copied.items()
    ]


def _texts(found: Found, root: Root, place: int) -> list[_Text] | None:
    """The texts of a place in which a difference shows; None where it is no other text in the same place."""
    pair = found.pairs[place]
    if pair.sides is None or root.facet is None:
        return None
    left, right = (obj(value) for value in found.inputs(pair))
    if root.facet.kind == "system prompt" or root.facet.messages:
        keys = {item.key for item in root.facet.messages}
        return _message_texts(left.get("messages"), right.get("messages"), keys)
    if root.facet.part != "input":
        return None
    names = [name for name in {**left, **right} if left.get(name) != right.get(name)]
    sides = [(name, left.get(name), right.get(name)) for name in names]
    texts = [
        _Text(base=one, candidate=other, paths=(f"/{name}", f"/{name}"))
        for name, one, other in sides
        if isinstance(one, str) and isinstance(other, str)
    ]
    return texts if len(texts) == len(names) else None


def _message_texts(base: JSONValue, candidate: JSONValue, keys: Collection[tuple[str, str]]) -> list[_Text] | None:
    """The contents of the messages with these keys, or of the system prompt."""
    sides = base if isinstance(base, list) else [], candidate if isinstance(candidate, list) else []
    found: list[_Text] = []
    for item in changed_messages(*sides):
        if item.key not in keys and (keys or item.role not in SYSTEM_ROLES):
            continue
        if item.base_index is None or item.candidate_index is None:
            return None
        texts = [obj(side[at]).get("content") for side, at in zip(sides, _indexes(item), strict=True)]
        if not all(isinstance(text, str) for text in texts):
            return None
        paths = tuple(f"/messages/{at}/content" for at in _indexes(item))
        found.append(_Text(base=str(texts[0]), candidate=str(texts[1]), paths=(paths[0], paths[1])))
    return found


def _indexes(item: MessagePair) -> tuple[int, int]:
    return item.base_index or 0, item.candidate_index or 0
