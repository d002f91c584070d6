"""Values that the agent's code copied from outputs into later inputs, found by comparing two recordings. Pure."""

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
from replay.proofs.changes.overrides import RunPair, number
from replay.proofs.core.types import Side
from traces.core.json_access import as_list, as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType

_SIDES: Final[tuple[tuple[Side, int], ...]] = (("base", 0), ("candidate", 1))
_SOURCES: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL})
# The number of preceding outputs to search for the source of a value.
_MAX_SOURCES: Final = 60
# By consumer.
Links = Mapping[int, tuple[Link, ...]]


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Links by side, and the places whose inputs differ in nothing but copied values."""

    links: Mapping[Side, Links] = field(default_factory=lambda: {"base": {}, "candidate": {}})
    whole: frozenset[int] = frozenset()


def with_links(graph: Graph, links: Links) -> Graph:
    """A graph with additional links, as far as it contains their steps."""
    if not links:
        return graph
    merged_links = dict(graph.links)
    for consumer, more in links.items():
        if graph.find(consumer) is not None:
            merged_links[consumer] = (*merged_links.get(consumer, ()), *more)
    return replace(graph, links=merged_links)


def dump_links(links: Links) -> JSONObject:
    """The form in which links are stored with a probe."""
    return {
        str(consumer): [
            {
                "producer": link.producer,
                "path": link.consumer_path,
                "copied": [{**asdict(span), "rivals": list[JSONValue](sorted(span.rivals))} for span in link.copies],
            }
            for link in consumer_links
        ]
        for consumer, consumer_links in links.items()
    }


def load_links(dump: dict[str, Any]) -> Links:
    return {
        int(consumer): tuple(
            Link(
                producer=link["producer"],
                kind=EdgeKind.VALUE,
                consumer_path=link["path"],
                copies=tuple(CopiedValue(**{**span, "rivals": frozenset(span["rivals"])}) for span in link["copied"]),
            )
            for link in consumer_links
        )
        for consumer, consumer_links in dump.items()
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class _Text:
    """A text of an input on both sides, with its path on each."""

    base: str
    candidate: str
    paths: tuple[str, str]


def copies(runs: RunPair, roots: Sequence[Root]) -> Copies:
    """The values copied into inputs that may derive from an earlier output."""
    tracer = _CopyTracer(runs, _outside_hunks(roots))
    # Recorded links miss short values. Of these, only those of tools and retrievers have a fixed form.
    result_tracer = _CopyTracer(runs, (), results_only=True)
    links: dict[Side, dict[int, tuple[Link, ...]]] = {"base": {}, "candidate": {}}
    whole: set[int] = set()
    partly: set[int] = set()
    for root in roots:
        for place in root.places if root.origin is Origin.DERIVED else ():
            texts = _texts(runs, root, place)
            traces = [tracer.trace(runs.pairs[place], text) for text in texts or ()]
            (whole if texts and all(trace is not None for trace in traces) else partly).add(place)
            for trace in filter(None, traces):
                for side, index in _SIDES:
                    consumer = number(runs.pairs[place], index) or 0
                    links[side][consumer] = (*links[side].get(consumer, ()), *trace[index])
    for pair in runs.pairs:
        if pair.place in whole | partly or pair.step.type != StepType.MODEL or "input" not in pair.changes:
            continue
        traces = [result_tracer.trace(pair, text) for text in _opening_texts(runs, pair)]
        for trace in filter(None, traces):
            for side, index in _SIDES:
                consumer = number(pair, index) or 0
                links[side][consumer] = (*links[side].get(consumer, ()), *trace[index])
    return Copies(links=links, whole=frozenset(whole - partly))


def _opening_texts(runs: RunPair, pair: Pair) -> list[_Text]:
    """The differing messages of a request before any answer, which code composed."""
    if pair.sides is None:
        return []
    sides = _messages(runs, pair)
    texts = (_content_text(item, sides) for item in changed_messages(*sides) if item.opening and item.role == "user")
    return [text for text in texts if text is not None]


def _messages(runs: RunPair, pair: Pair) -> tuple[list[JSONValue], list[JSONValue]]:
    left, right = (as_list(as_object(value).get("messages")) for value in runs.inputs(pair))
    return left, right


def _outside_hunks(roots: Sequence[Root]) -> list[tuple[int, Hunk]]:
    """The changes in messages from outside, each with its first place."""
    return [
        (root.places[0], hunk)
        for root in roots
        if root.origin is Origin.EXOGENOUS and root.facet is not None
        for item in root.facet.messages
        for hunk in item.passages or hunks(item.base, item.candidate)
    ]


@dataclass
class _CopyTracer:
    """Finds the outputs that a changed text was copied from.

    `outside`: changes in messages from outside. `results_only`: values that a model may have said are left to the
    recorded links.
    """

    runs: RunPair
    outside: Sequence[tuple[int, Hunk]]
    results_only: bool = False
    _hunks: dict[int, list[Hunk]] = field(default_factory=dict)

    def trace(self, pair: Pair, text: _Text) -> tuple[list[Link], list[Link]] | None:
        """The links into a text, by side; None if a part that differs is not a copy.

        A change from outside that the text repeats needs no link: it stays as on the replayed side.
        """
        spans: tuple[dict[int, list[CopiedValue]], dict[int, list[CopiedValue]]] = (
            defaultdict(list),
            defaultdict(list),
        )
        for hunk in hunks(text.base, text.candidate):
            sources = [
                source
                for source in self._sources(pair)
                if any(is_copy(hunk, output_hunk) for output_hunk in self._output_hunks(source))
            ]
            if self.results_only and any(source.step.type == StepType.MODEL for source in sources):
                continue
            if not sources and not self._is_from_outside(hunk, pair):
                return None
            for _, index in _SIDES if sources else ():
                span = _span(hunk, index, sources)
                for producer in span.rivals:
                    spans[index][producer].append(span)
        return _links(spans[0], text.paths[0]), _links(spans[1], text.paths[1])

    def _is_from_outside(self, hunk: Hunk, pair: Pair) -> bool:
        return any(place <= pair.place and is_repeated(hunk, outside_hunk) for place, outside_hunk in self.outside)

    def _sources(self, pair: Pair) -> list[Pair]:
        """The latest steps before a pair whose outputs differ."""
        own = number(pair, 0) or 0, number(pair, 1) or 0
        sources = [
            source
            for source in self.runs.pairs
            if source.sides is not None
            and source.answers_differently
            and source.step.type in _SOURCES
            and (number(source, 0) or 0) < own[0]
            and (number(source, 1) or 0) < own[1]
        ]
        return sources[-_MAX_SOURCES:]

    def _output_hunks(self, pair: Pair) -> list[Hunk]:
        if pair.place not in self._hunks:
            base, candidate = (text_of(StepType(pair.step.type), output) for output in self.runs.outputs(pair))
            self._hunks[pair.place] = hunks(base, candidate)
        return self._hunks[pair.place]


def _span(hunk: Hunk, side: int, sources: Sequence[Pair]) -> CopiedValue:
    own, opposite = (hunk.base, hunk.candidate) if side == 0 else (hunk.candidate, hunk.base)
    start, end = hunk.base_span if side == 0 else hunk.candidate_span
    rivals = frozenset(no for source in sources if (no := number(source, side)) is not None)
    return CopiedValue(start=start, end=end, own=own, other=opposite, rivals=rivals)


def _links(spans: Mapping[int, Sequence[CopiedValue]], path: str) -> list[Link]:
    return [
        Link(producer=producer, kind=EdgeKind.VALUE, consumer_path=path, copies=tuple(producer_spans))
        for producer, producer_spans in spans.items()
    ]


def _texts(runs: RunPair, root: Root, place: int) -> list[_Text] | None:
    """The texts at a place that differ; None if the difference is not between two texts at the same path."""
    pair = runs.pairs[place]
    if pair.sides is None or root.facet is None:
        return None
    left, right = (as_object(value) for value in runs.inputs(pair))
    if root.facet.kind == "system prompt" or root.facet.messages:
        keys = {item.key for item in root.facet.messages}
        return _message_texts(left.get("messages"), right.get("messages"), keys)
    if root.facet.part != "input":
        return None
    names = [name for name in {**left, **right} if left.get(name) != right.get(name)]
    sides = [(name, left.get(name), right.get(name)) for name in names]
    texts = [
        _Text(base=base, candidate=candidate, paths=(f"/{name}", f"/{name}"))
        for name, base, candidate in sides
        if isinstance(base, str) and isinstance(candidate, str)
    ]
    return texts if len(texts) == len(names) else None


def _message_texts(base: JSONValue, candidate: JSONValue, keys: Collection[tuple[str, str]]) -> list[_Text] | None:
    """The contents of the messages with these keys, or of the system prompt."""
    sides = as_list(base), as_list(candidate)
    message_texts: list[_Text] = []
    for item in changed_messages(*sides):
        if item.key not in keys and (keys or item.role not in SYSTEM_ROLES):
            continue
        text = _content_text(item, sides)
        if text is None:
            return None
        message_texts.append(text)
    return message_texts


def _content_text(item: MessagePair, sides: tuple[list[JSONValue], list[JSONValue]]) -> _Text | None:
    """The content of a message on both sides; None if it is not a text on both."""
    if item.base_index is None or item.candidate_index is None:
        return None
    indexes = item.base_index, item.candidate_index
    base, candidate = (as_object(side[index]).get("content") for side, index in zip(sides, indexes, strict=True))
    if not isinstance(base, str) or not isinstance(candidate, str):
        return None
    paths = f"/messages/{indexes[0]}/content", f"/messages/{indexes[1]}/content"
    return _Text(base=base, candidate=candidate, paths=paths)
