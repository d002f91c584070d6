"""The last messages of requests, without the history before them.

A request of a long run refers to thousands of messages in a tree of blocks. Only the blocks that contain messages from
an index on are loaded, for all requests together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from traces.core.json_access import as_list, as_object
from traces.core.json_types import JSONValue
from traces.payloads.parts import BLOCK, BLOCKS, LITERAL, PART

Load = Callable[[Iterable[str]], Mapping[str, JSONValue]]


class Tail(NamedTuple):
    """The stored request `ref` from message `start` on."""

    ref: str
    start: int


class _Node(NamedTuple):
    """A message at height 0, or a block of messages; the first `start` messages below it are left out."""

    digest: str
    height: int
    start: int


def message_digests(requests: Mapping[int, Tail], load: Load) -> dict[int, list[str]]:
    """Return the digests of the messages of requests, by the keys of `requests`.

    A request without stored messages is absent, and one whose blocks are lost ends before the first of these.
    """
    roots = load({tail.ref for tail in requests.values()})
    nodes = {
        key: list(_root_nodes(roots[tail.ref], tail.start))
        for key, tail in requests.items()
        if _has_messages(roots.get(tail.ref))
    }
    while blocks := {node.digest for items in nodes.values() for node in items if node.height}:
        values = load(blocks)
        nodes = {key: list(_expand(items, values)) for key, items in nodes.items()}
    return {key: [node.digest for node in items] for key, items in nodes.items()}


def _has_messages(root: JSONValue) -> bool:
    return LITERAL not in as_object(root) and "messages" in as_object(root)


def _root_nodes(root: JSONValue, start: int) -> Iterator[_Node]:
    messages = as_object(root).get("messages")
    levels = as_list(as_object(messages).get(BLOCKS, [messages]))
    for position, level in enumerate(levels):
        height = len(levels) - 1 - position
        nodes, start = _nodes(as_list(level), height, start)
        yield from nodes


def _nodes(entries: Sequence[JSONValue], height: int, start: int) -> tuple[list[_Node], int]:
    """Return the nodes of a level from message `start` on, and how many messages are left out after it."""
    size = BLOCK**height
    skip = min(start // size, len(entries))
    rest = start - skip * size
    nodes = [_Node(str(as_object(entry).get(PART, "")), height, 0) for entry in entries[skip:]]
    if nodes:
        nodes[0] = nodes[0]._replace(start=rest)
        rest = 0
    return nodes, rest


def _expand(nodes: Sequence[_Node], values: Mapping[str, JSONValue]) -> Iterator[_Node]:
    for node in nodes:
        if not node.height:
            yield node
            continue
        if node.digest not in values:
            return
        yield from _nodes(as_list(values[node.digest]), node.height - 1, node.start)[0]
