"""LangGraph's checkpoints, in SQLite and as its savers return them, as the snapshots that its API returns.

A checkpoint has the state before a step, in MessagePack or JSON. What its tasks then wrote is in a table of its own,
where the path of a task ends with the name of its node: `~__pregel_pull, agent`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final

import msgspec

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files import sqlite_file
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value
from traces.importers.files.sample import Sample
from traces.importers.files.source import Record, Source
from traces.importers.files.sqlite_file import Database

# A column of both tables, as their definition contains it.
_NAMESPACE: Final = b"checkpoint_ns"
_KEY: Final = "thread_id, checkpoint_ns, checkpoint_id"
_COLUMNS: Final[dict[str, Sequence[str]]] = {"checkpoints": ("thread_id",), "writes": ("task_path",)}
_ERROR: Final = "__error__"
_INTERRUPT: Final = "__interrupt__"
_RESUME: Final = "__resume__"
_ANSWER: Final = "resumed_with"
# Channels that the engine uses to start nodes.
_CONTROL: Final = ("branch:", "__", "start:", "join:")
_BRANCH: Final = "branch:to:"
_START: Final = "__start__"
# Under this id is the answer to a graph that waited.
_NO_TASK: Final = "00000000-0000-0000-0000-000000000000"
# The fields of a CheckpointTuple, which JSON writes as a list.
_TUPLE: Final = ("config", "checkpoint", "metadata", "parent_config", "pending_writes")
# Of a Python object, MessagePack contains its module, its class, and then its content.
_CONTENT: Final = 2


def is_database(sample: Sample) -> bool:
    return sample.head.startswith(sqlite_file.MAGIC) and _NAMESPACE in sample.head


def read_snapshots(source: Source) -> list[Record]:
    """Return the snapshots of all threads. Raises `BadFile` for a database without checkpoints."""
    database = Database(source.data, _COLUMNS)
    try:
        if "checkpoints" not in database:
            raise BadFile("a database of LangGraph without `checkpoints`", "table checkpoints")
        tasks = _tasks(database) if "writes" in database else {}
        query = f"{_KEY}, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints ORDER BY {_KEY}"
        records = [_record(row, tasks) for row in database.select(query)]
    finally:
        database.close()
    if not records:
        raise BadFile("this database has no checkpoints", "table checkpoints")
    return records


def _record(row: tuple[Any, ...], tasks: Mapping[tuple[str, ...], list[JSONObject]]) -> Record:
    thread, namespace, id, parent, kind, data, metadata = row
    location = f"checkpoint {id}"
    checkpoint = as_object(_value(kind, data, location))
    config: JSONObject = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id}
    steps = tasks.get((thread, namespace, id), [])
    snapshot: JSONObject = {
        "values": state_channels(checkpoint),
        "config": {"configurable": config},
        "parent_config": {"configurable": {**config, "checkpoint_id": parent}} if parent else None,
        "metadata": _value("json", metadata, location) if metadata else {},
        "created_at": checkpoint.get("ts"),
        "tasks": [*steps],
        "next": waiting_nodes(steps),
    }
    return Record(value=snapshot, location=location)


def _tasks(database: Database) -> dict[tuple[str, ...], list[JSONObject]]:
    """Return the tasks of each checkpoint with what they wrote."""
    path = "task_path" if "task_path" in database.columns("writes") else "''"
    query = f"{_KEY}, task_id, {path}, channel, type, value FROM writes ORDER BY {_KEY}, task_id, idx"
    tasks: dict[tuple[str, ...], dict[str, JSONObject]] = {}
    for thread, namespace, id, task_id, task_path, channel, kind, data in database.select(query):
        task = tasks.setdefault((thread, namespace, id), {}).setdefault(
            task_id, {"id": task_id, "name": as_text(task_path).rpartition(", ")[2]}
        )
        add_write(task, channel, _value(kind, data, f"writes of task {task_id}"))
    return {key: _with_answer(by_id) for key, by_id in tasks.items()}


def _value(kind: Any, data: Any, location: str) -> JSONValue:
    """Decode a stored value. Raises `BadFile` for what cannot be decoded."""
    content = data.encode() if isinstance(data, str) else data or b""
    if kind in (None, "json"):
        return json_value(content)
    if kind == "null":
        return None
    if kind != "msgpack":
        return f"({kind} data)"
    try:
        return _plain(msgspec.msgpack.decode(content, ext_hook=_object_content))
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise BadFile(f"not MessagePack: {error}", location) from error


def _object_content(code: int, data: memoryview) -> Any:
    """Return the content of a Python object: its arguments or fields."""
    parts = msgspec.msgpack.decode(data, ext_hook=_object_content)
    return parts[_CONTENT] if isinstance(parts, list) and len(parts) > _CONTENT else parts


def _plain(value: Any) -> JSONValue:
    """Return a decoded value as JSON."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    is_json = value is None or isinstance(value, str | int | bool) or (isinstance(value, float) and isfinite(value))
    return value if is_json else str(value)


def documents(source: Source) -> Iterator[Source]:
    """Yield the file with its snapshots; nothing if it has none, which is a problem of the file."""
    try:
        source.documents = read_snapshots(source)
    except BadFile as problem:
        source.problems.append(problem)
    else:
        yield source


def checkpoint_tuple(value: list[JSONValue]) -> JSONObject:
    """Return the fields of a CheckpointTuple that is a list; empty for any other list."""
    fields: JSONObject = dict(zip(_TUPLE, value, strict=False))
    is_tuple = "configurable" in as_object(fields.get("config"))
    return fields if is_tuple and "channel_values" in as_object(fields.get("checkpoint")) else {}


def state_channels(checkpoint: JSONObject) -> JSONObject:
    """Return the state of a checkpoint without the channels of the engine."""
    values = as_object(checkpoint.get("channel_values"))
    return {name: value for name, value in values.items() if not name.startswith(_CONTROL)}


def add_write(task: JSONObject, channel: str, value: JSONValue) -> None:
    """Add what a task wrote to a channel."""
    if channel == _ERROR:
        task["error"] = value
    elif channel == _INTERRUPT:
        task["interrupts"] = value
    elif channel == _RESUME:
        task[_ANSWER] = value
    elif not channel.startswith(_CONTROL):
        task["result"] = {**as_object(task.get("result")), channel: value}


def waiting_nodes(tasks: Iterable[JSONObject]) -> list[JSONValue]:
    """Return the nodes whose tasks wait for an answer."""
    return [task["name"] for task in tasks if task.get("interrupts")]


def written_tasks(fields: JSONObject) -> list[JSONObject]:
    """Return the tasks of a checkpoint with its writes, which have no names: those of the nodes that it starts."""
    tasks: dict[str, JSONObject] = {}
    for write in map(as_list, as_list(fields.get("pending_writes"))):
        if len(write) == len(("task", "channel", "value")):
            task_id, channel, value = write
            add_write(tasks.setdefault(as_text(task_id), {"id": task_id}), as_text(channel), value)
    checkpoint = as_object(fields.get("checkpoint"))
    channels = [
        *as_object(checkpoint.get("channel_values")),
        *map(as_text, as_list(checkpoint.get("updated_channels"))),
    ]
    nodes = {name.removeprefix(_BRANCH): None for name in channels if name.startswith(_BRANCH) or name == _START}
    # Of several tasks, nothing states which one is a node's.
    name = _START if _START in nodes else " | ".join(nodes) or "task"
    return [{"name": name, **task} for task in _with_answer(tasks) if task.keys() > {"id"}]


def _with_answer(tasks: dict[str, JSONObject]) -> list[JSONObject]:
    """Return tasks; those that waited have the answer with which the graph went on."""
    answer = as_object(tasks.pop(_NO_TASK, None)).get(_ANSWER)
    return [
        task if answer is None or "interrupts" not in task else {_ANSWER: answer, **task} for task in tasks.values()
    ]
