"""Edges into any value: by the digest of the whole, by its parts, then by its texts and short values."""

from collections.abc import Iterator

import orjson

from traces.core.json_access import as_list
from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind
from traces.provenance.edge_facts import SNIPPET, EdgeFact, cut_evidence
from traces.provenance.hidden_content import is_hidden
from traces.provenance.input_origins import empty_values, hidden_content, scalars
from traces.provenance.output_placements import PLAIN, Reading
from traces.provenance.step_outputs import LISTS_OF_PARTS, ProvenanceState, index_texts
from traces.provenance.text_index import TextMatch, is_distinctive


def value_edges(no: int, value: JSONValue, ref: str, state: ProvenanceState) -> Iterator[EdgeFact]:
    """Find the edges into a value: one if the whole value was produced before, else those into its parts and texts."""
    whole = state.parts.get(ref) if ref else None
    if whole is not None and isinstance(value, dict) and not _hides_content(value):
        yield EdgeFact(
            producer=whole[0], consumer=no, kind=EdgeKind.DIGEST, producer_path=whole[1], evidence="the same value"
        )
        return
    rest = value
    if isinstance(value, dict):
        for key in LISTS_OF_PARTS:
            for index, item in enumerate(as_list(value.get(key))):
                yield from _part_edges(no, item, f"/{key}/{index}", f"/{key}/*", state)
        rest = {
            key: item for key, item in value.items() if not (key in LISTS_OF_PARTS and item and isinstance(item, list))
        }
    yield from _content_edges(no, rest, "", "", state)


def _content_edges(no: int, value: JSONValue, path: str, shape: str, state: ProvenanceState) -> Iterator[EdgeFact]:
    """Find the edges into what code composed; what it left empty may also depend on an output."""
    yield from text_edges(no, value, path, shape, state)
    for empty_path, empty_shape, empty_value in empty_values(value, path, shape):
        note_empty_value(no, empty_path, empty_shape, empty_value, state)


def note_empty_value(no: int, path: str, shape: str, value: JSONValue, state: ProvenanceState) -> None:
    """Note a null, an empty text, a list or an object without items that code wrote."""
    state.unexplained_content.append(state.origins.item(no, path, shape, orjson.dumps(value).decode()))


def _part_edges(no: int, item: JSONValue, path: str, shape: str, state: ProvenanceState) -> Iterator[EdgeFact]:
    part = state.parts.get(state.splitter.part_digest(item))
    if part is None or _hides_content(item):
        yield from _content_edges(no, item, path, shape, state)
        return
    yield EdgeFact(
        producer=part[0],
        consumer=no,
        kind=EdgeKind.DIGEST,
        consumer_path=path,
        producer_path=part[1],
        evidence="the same part",
    )


def _hides_content(value: JSONValue) -> bool:
    return any(is_hidden(str(leaf)) for _, _, leaf in scalars(value, "", ""))


def text_edges(
    no: int, value: JSONValue, path: str, shape: str, state: ProvenanceState, reading: Reading = PLAIN
) -> Iterator[EdgeFact]:
    """Find the edges into every scalar of a value."""
    for scalar_path, scalar_shape, scalar in scalars(value, path, shape):
        yield from scalar_edges(no, scalar, scalar_path, scalar_shape, state, reading)


def scalar_edges(
    no: int, value: JSONValue, path: str, shape: str, state: ProvenanceState, reading: Reading = PLAIN
) -> Iterator[EdgeFact]:
    """Find the edges into one scalar of an input, and note the part of it that stays unexplained."""
    if isinstance(value, bool) or shape.endswith("/type"):
        state.unexplained_content.append(state.origins.item(no, path, shape, str(value)))
        return
    index_texts(state)
    text = value if isinstance(value, str) else str(value)
    if is_hidden(text):
        state.unexplained_content.append(hidden_content(no, path, text))
        return
    producers: set[int] = set()
    is_whole, owner = False, 0
    for match in state.texts.find(text) if is_distinctive(text) else ():
        if reading.hides(match.producer, match.snippet):
            continue
        producers.add(match.producer)
        if match.is_whole:
            is_whole, owner = True, match.producer
        yield EdgeFact(
            producer=match.producer,
            consumer=no,
            kind=_kind_of(match, text),
            consumer_path=path,
            producer_path=match.path,
            evidence=cut_evidence(match.snippet),
        )
    sources, content = state.origins.text(no, path, shape, text, reading)
    if not is_whole:
        state.unexplained_content += content
    for source in sources:
        # Code may have taken the text from a later output, which has it among other words.
        if source.producer not in producers and source.producer > owner:
            producers.add(source.producer)
            yield EdgeFact(
                producer=source.producer,
                consumer=no,
                kind=EdgeKind.VALUE,
                consumer_path=path,
                producer_path=source.path,
                evidence=cut_evidence(source.text),
            )


def _kind_of(match: TextMatch, text: str) -> EdgeKind:
    return EdgeKind.DIGEST if match.is_whole and len(text) >= SNIPPET else EdgeKind.TEXT
