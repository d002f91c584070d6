"""What a LangGraph graph streams, chunk by chunk, as the snapshots that its API returns.

Chunks of one mode are alone; with several modes or subgraphs, they name them:

    {"agent": {"messages": […]}}   ["updates", {"agent": …}]   [["sub:1"], "updates", {"agent": …}]

`updates` are what nodes added to the state, `values` states, and `debug` checkpoints and the results of tasks. The
platform sends them as events of a server:

    event: updates
    data: {"agent": {"messages": […]}}
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, list_or_single
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.identity import content_id
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text
from traces.importers.files.json_reader import json_value
from traces.importers.files.source import Record, Source
from traces.importers.formats.frameworks import langchain

# Where a snapshot comes from that has only what a node changed.
STREAM: Final = "stream"
_MODES: Final = frozenset({"updates", "values", "debug", "checkpoints", "tasks", "messages", "custom"})
# Of events of the platform: its run, how the run failed, and the end.
_RUN_MODES: Final = frozenset({"metadata", "error", "end"})
_SERVER_START: Final = re.compile(rb"\s*event: ?(?:metadata|values|updates|debug|checkpoints|tasks)[|\r\n]")
_SERVER_EVENT: Final = re.compile(r"^event: ?([a-z]+)([^\r\n]*)\r?\ndata: ?([^\r\n]*)", re.M)
_DEBUG_KINDS: Final = frozenset({"checkpoint", "task", "task_result"})
# Chunks by which a stream is recognised.
_DETECTION: Final = 20
# Members of other formats beside which messages are; no nodes.
_NO_NODES: Final = frozenset(
    {"inputs", "outputs", "input", "output", "request", "response", "data", "values", "state", "result", "kwargs"}
)


@dataclass(frozen=True, kw_only=True)
class _Chunk:
    mode: str
    data: JSONValue
    namespace: str = ""


@dataclass(kw_only=True)
class _Graph:
    """The snapshots of a graph or a subgraph so far."""

    config: JSONObject
    snapshots: list[JSONObject] = field(default_factory=list)
    # Of the last checkpoint, by their ids.
    tasks: dict[str, JSONObject] = field(default_factory=dict)
    # What nodes wrote since the last state.
    writes: JSONObject = field(default_factory=dict)
    state: JSONObject = field(default_factory=dict)

    def add_state(self, values: JSONValue, writes: JSONObject, source: str) -> None:
        metadata: JSONObject = {"step": len(self.snapshots), "writes": writes, "source": source}
        self.snapshots.append({"values": values, "config": self.config, "metadata": metadata, "next": []})

    def add_update(self, node: str, update: JSONValue) -> None:
        """Add the changes by a node: later snapshots do not repeat them, so that the cost stays linear."""
        changes = as_object(update) if not isinstance(update, list) else {"messages": update}
        changes = {name: _without_removals(item) for name, item in changes.items()}
        if node.startswith("__"):
            changes = {node: update}
        if not self.snapshots:
            # The state before the first node is unknown.
            self.add_state({}, {}, STREAM)
        self.state |= changes
        self.add_state(changes, {} if node.startswith("__") else {node: changes}, STREAM)

    def add_error(self, error: JSONObject) -> None:
        """Add the failure of the run, of which no node is named."""
        if not self.snapshots:
            self.add_state({}, {}, STREAM)
        texts = (as_text(error.get(name)) for name in ("error", "message"))
        task: JSONObject = {"name": "run", "error": ": ".join(filter(None, texts)) or "error"}
        self.snapshots[-1]["tasks"] = [*as_list(self.snapshots[-1].get("tasks")), task]

    def add_checkpoint(self, payload: JSONObject, time: JSONValue) -> None:
        config = {**self.config, **as_object(as_object(payload.get("config")).get("configurable"))}
        tasks = [dict(task) for task in as_objects(payload.get("tasks"))]
        self.tasks = {as_text(task.get("id")): task for task in tasks}
        snapshot: JSONObject = {**payload, "config": {"configurable": config}, "created_at": time, "tasks": [*tasks]}
        self.snapshots.append(snapshot)

    def add_result(self, payload: JSONObject) -> None:
        if task := self.tasks.get(as_text(payload.get("id"))):
            result = payload.get("result")
            pairs = (as_list(pair) for pair in as_list(result))
            channels: JSONObject = {as_text(pair[0]): pair[1] for pair in pairs if len(pair) == 2}
            task |= {"error": payload.get("error"), "interrupts": payload.get("interrupts") or []}
            task["result"] = channels or result


def _without_removals(value: JSONValue) -> JSONValue:
    """Return a change of a channel, as a list if it is a message; removals of earlier messages are none."""
    if langchain.is_message(value):
        return [value]
    return [item for item in value if not langchain.is_removal(item)] if isinstance(value, list) else value


def is_stream(values: Sequence[JSONValue]) -> bool:
    """Return whether these values of a file are chunks of a stream."""
    items = _items(values)[:_DETECTION]
    chunks = [chunk for item in items if (chunk := _chunk(item))]
    if chunks and len(chunks) == len(items):
        return any(_has_state(chunk) for chunk in chunks) and (len(items) > 1 or chunks[0].mode == "debug")
    return _are_states(items)


def server_events(data: bytes) -> list[JSONValue]:
    """Return the chunks in events that the platform sent; empty for anything else. The last may be cut off."""
    if not _SERVER_START.match(data):
        return []
    chunks: list[JSONValue] = []
    for mode, path, text in _SERVER_EVENT.findall(decode_text(data)):
        # Pieces of messages (`messages/partial`) are in the state as well.
        if mode in _MODES | _RUN_MODES and not path.startswith("/"):
            with suppress(BadFile):
                chunks.append({"event": f"{mode}{path}", "data": json_value(text.encode())})
    return chunks


def documents(source: Source) -> Iterator[Source]:
    """Yield the file with the snapshots of its stream; any other file unchanged."""
    try:
        values = server_events(source.data) or [record.value for record in source.records()]
        if is_stream(values):
            source.documents = _snapshots(_items(values), source)
    except BadFile as problem:
        source.problems.append(problem)
    else:
        yield source


def _snapshots(items: Sequence[JSONValue], source: Source) -> list[Record]:
    are_states = _are_states(items[:_DETECTION])
    chunks: list[_Chunk] = []
    for number, item in enumerate(items, 1):
        chunk = _Chunk(mode="values", data=item) if are_states else _chunk(item)
        if chunk is None:
            source.problems.append(BadFile("not a chunk of the stream of a LangGraph graph", f"chunk {number}"))
        else:
            chunks.append(chunk)
    modes = {chunk.mode for chunk in chunks}
    facts = next((as_object(chunk.data) for chunk in chunks if chunk.mode == "metadata"), {})
    thread = as_text(first_member(facts, "thread_id", "run_id")) or f"stream-{content_id([*items], '')}"
    graphs: dict[str, _Graph] = {}
    for chunk in chunks:
        config: JSONObject = {"thread_id": thread, "checkpoint_ns": chunk.namespace}
        _add(graphs.setdefault(chunk.namespace, _Graph(config={"configurable": config})), chunk, modes)
    for graph in graphs.values():
        _complete(graph)
    snapshots = [snapshot for graph in graphs.values() for snapshot in graph.snapshots]
    return [Record(value=snapshot, location=f"chunk {number}") for number, snapshot in enumerate(snapshots, 1)]


def _add(graph: _Graph, chunk: _Chunk, modes: set[str]) -> None:
    """Add a chunk to its graph; of what several modes state, the most detailed one counts."""
    has_checkpoints = not modes.isdisjoint({"debug", "checkpoints"})
    body = as_object(chunk.data)
    match chunk.mode:
        case "debug" if body.get("type") == "checkpoint":
            graph.add_checkpoint(as_object(body.get("payload")), body.get("timestamp"))
        case "debug":
            graph.add_result(as_object(body.get("payload")))
        case "checkpoints":
            graph.add_checkpoint(body, None)
        case "tasks":
            graph.add_result(body)
        case "error":
            graph.add_error(body)
        case "values" if not has_checkpoints:
            graph.add_state(chunk.data, graph.writes, "loop")
            graph.writes = {}
        case "updates" if not has_checkpoints and "values" in modes:
            graph.writes |= body
        case "updates" if not has_checkpoints:
            for node, update in body.items():
                graph.add_update(node, update)


def _complete(graph: _Graph) -> None:
    """Give the last snapshot of a stream of updates the whole state, except for earlier messages."""
    if graph.state:
        last = graph.snapshots[-1]
        last["values"] = {**graph.state, **as_object(last["values"])}


def _items(values: Sequence[JSONValue]) -> Sequence[JSONValue]:
    """Return the chunks: the lines of a file, or the items of its list."""
    if len(values) == 1 and isinstance(values[0], list) and _chunk(values[0]) is None:
        return values[0]
    return values


def _chunk(value: JSONValue) -> _Chunk | None:
    """Return the chunk in one of its forms; None for anything else."""
    if isinstance(value, list):
        return _tuple_chunk(value)
    body = as_object(value)
    if as_text(body.get("type")) in _DEBUG_KINDS and "payload" in body:
        return _Chunk(mode="debug", data=body)
    mode, _, namespace = as_text(body.get("event") or body.get("type")).partition("|")
    if mode in _MODES | _RUN_MODES and "data" in body:
        path = [as_text(part) for part in as_list(body.get("ns"))]
        return _Chunk(mode=mode, data=body["data"], namespace=namespace or "|".join(path))
    return _Chunk(mode="updates", data=body) if _is_update(body) else None


def _tuple_chunk(value: list[JSONValue]) -> _Chunk | None:
    namespace = "|".join(map(as_text, value[0])) if value and isinstance(value[0], list) else ""
    rest = value[1:] if value and isinstance(value[0], list) else value
    if len(rest) == 2 and as_text(rest[0]) in _MODES:
        return _Chunk(mode=as_text(rest[0]), data=rest[1], namespace=namespace)
    chunk = _chunk(rest[0]) if len(rest) == 1 and len(value) == 2 and isinstance(rest[0], dict) else None
    return chunk and _Chunk(mode=chunk.mode, data=chunk.data, namespace=namespace)


def _is_update(body: JSONObject) -> bool:
    """Return whether an object has the changes by nodes: every member is a node, or an interrupt."""
    if not body or not body.keys().isdisjoint(_NO_NODES):
        return False
    are_nodes = all(
        update is None or isinstance(update, dict) or name.startswith("__") for name, update in body.items()
    )
    return are_nodes and (any(map(_has_messages, body.values())) or body.keys() == {"__interrupt__"})


def _has_messages(update: JSONValue) -> bool:
    return any(langchain.is_message(message) for message in list_or_single(as_object(update).get("messages")))


def _has_state(chunk: _Chunk) -> bool:
    """Return whether a chunk shows the state of a graph."""
    body = as_object(chunk.data)
    if chunk.mode == "debug":
        return body.get("type") == "checkpoint"
    return chunk.mode == "checkpoints" or _has_messages(body) or _is_update(body)


def _are_states(items: Sequence[JSONValue]) -> bool:
    """Return whether each value is the state before it with more messages, which their ids show."""
    states = [_message_ids(item) for item in items]
    if len(states) < 2 or not all(states):
        return False
    return all(later[: len(state)] == state for state, later in pairwise(states))


def _message_ids(value: JSONValue) -> list[str]:
    messages = as_list(as_object(value).get("messages")) if has_list(value, "messages") else []
    ids = [as_text(langchain.message_id(message)) for message in messages]
    return ids if all(ids) else []
