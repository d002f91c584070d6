"""State and checkpoints of LangGraph: snapshot histories, thread states of its platform, checkpoints, and streams.

The snapshots of a thread show what each node added to the state. Nodes become containers; their messages become the
model and tool steps inside. Each branch of a forked thread is a run.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_list, has_string
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source, parse_records
from traces.importers.files.sqlite_file import MAGIC
from traces.importers.formats.databases import langgraph_checkpoints
from traces.importers.formats.frameworks import langchain
from traces.importers.formats.langgraph import nodes, streams, subgraphs
from traces.importers.formats.langgraph.nodes import Node

FORMAT: Final = "langgraph"
# The fields of a StateSnapshot, which JSON writes as a list.
_TUPLE: Final = ("values", "next", "config", "metadata", "created_at", "parent_config", "tasks", "interrupts")
_TASK_TUPLE: Final = ("id", "name", "path", "error", "interrupts", "state", "result")
_HOLDERS: Final = ("history", "states", "checkpoints", "data")
# Of the metadata of a checkpoint, what differs between those of a thread, or is the run's own.
_CHECKPOINT_FACTS: Final = ("source", "step", "parents", "writes", "score", "thread_id", "graph_id", "graph_name")
_INTERNAL: Final = ("__", "langgraph_", "checkpoint_")
_VIRTUAL_NODES: Final = ("__start__", "__end__")


@dataclass(frozen=True, kw_only=True)
class _Snapshot:
    """The state of a thread at the start of a step."""

    id: str
    parent: str
    thread: str
    values: JSONObject
    metadata: JSONObject
    created_at: JSONValue
    tasks: list[JSONObject]
    next: list[str]
    location: str
    # When a thread of the platform began, how it ended and why; of a thread, `created_at` is its last change.
    began_at: JSONValue = None
    status: str = ""
    error: str = ""

    @property
    def step(self) -> int:
        step = self.metadata.get("step")
        return step if isinstance(step, int) else 0


@dataclass(kw_only=True)
class _Growth:
    """The messages and nodes of the snapshots read so far."""

    # Of a subgraph, whose first messages are those of the graph around it.
    is_inner: bool
    messages: list[TranscriptMessage] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    seen_keys: set[str] = field(default_factory=set)
    # Message numbers of tool results by call id.
    results: dict[str, list[int]] = field(default_factory=dict)


def sniff(sample: Sample) -> float:
    """Return the confidence that the file has states, as JSON or in a database."""
    is_recording = langgraph_checkpoints.is_database(sample) or any(map(is_state, sample.values))
    chunks = streams.server_events(sample.head) or sample.values
    return 1.0 if is_recording or streams.is_stream(chunks) else 0.0


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per thread, and one per additional branch."""
    threads: dict[str, dict[str, _Snapshot]] = {}
    for snapshot in parse_records(list(_documents(sources)), _read):
        threads.setdefault(snapshot.thread, {})[snapshot.id] = snapshot
    outer_threads = {subgraphs.outer_thread(thread) for thread in threads} & threads.keys()
    runs: dict[str, RecordedRun] = {}
    for thread, snapshots in threads.items():
        is_inner = subgraphs.outer_thread(thread) in outer_threads
        newest, *older_branches = _branches(list(snapshots.values()))
        run = _run(thread, newest, is_inner=is_inner)
        if is_inner or thread in outer_threads:
            runs[thread] = run
        else:
            yield run
        yield from (_run(f"{thread}/{branch[-1].id}", branch, is_inner=is_inner) for branch in older_branches)
    yield from subgraphs.nest(runs)


def _documents(sources: Sequence[Source]) -> Iterator[Source]:
    """Yield the files whose states can be read."""
    for source in sources:
        if source.data.startswith(MAGIC):
            yield from langgraph_checkpoints.documents(source)
        else:
            yield from streams.documents(source)


def is_state(value: JSONValue) -> bool:
    """Return True if `value` is a snapshot, a checkpoint or a thread, or contains some."""
    if isinstance(value, list):
        return bool(value) and (
            _fields(value) is not None or (isinstance(value[0], dict | list) and is_state(value[0]))
        )
    fields = as_object(value)
    if _fields(fields) is not None:
        return True
    return any(has_list(fields, name) and fields[name] and is_state(fields[name]) for name in _HOLDERS)


def _read(value: JSONValue, location: str) -> Iterator[_Snapshot]:
    snapshot = _fields(value)
    if snapshot is not None:
        yield _snapshot(snapshot, location)
        return
    entries = (
        value
        if isinstance(value, list)
        else next((as_object(value)[name] for name in _HOLDERS if has_list(value, name)), None)
    )
    if not isinstance(entries, list):
        raise BadFile("not a LangGraph snapshot or checkpoint", location or "/")
    for index, entry in enumerate(entries):
        yield from _read(entry, f"{location}/{index}")


def _fields(value: JSONValue) -> JSONObject | None:
    """Return the fields of a snapshot in any form; None for anything else."""
    if isinstance(value, list):
        if len(value) == 5 and (fields := langgraph_checkpoints.checkpoint_tuple(value)):
            return _fields(fields)
        if len(value) < 6 or not isinstance(value[0], dict) or not isinstance(value[1], list):
            return None
        fields = dict(zip(_TUPLE, value, strict=False))
        return fields if "configurable" in as_object(fields.get("config")) else None
    body = as_object(value)
    if "values" in body and ("next" in body or "thread_id" in body or "checkpoint" in body):
        return body
    checkpoint = as_object(body.get("checkpoint")) or body
    if "channel_values" not in checkpoint:
        return None
    names = ("metadata", "config", "parent_config")
    tasks = langgraph_checkpoints.written_tasks(body)
    return {name: body.get(name) for name in names} | {
        "values": langgraph_checkpoints.state_channels(checkpoint),
        "tasks": [*tasks],
        "next": langgraph_checkpoints.waiting_nodes(tasks),
        "created_at": checkpoint.get("ts"),
        "checkpoint_id": checkpoint.get("id"),
    }


def _snapshot(fields: JSONObject, location: str) -> _Snapshot:
    config = _configurable(fields, "config", "checkpoint")
    parent_config = _configurable(fields, "parent_config", "parent_checkpoint")
    metadata = as_object(fields.get("metadata"))
    thread = as_text(
        first_member(config, "thread_id") or first_member(fields, "thread_id") or first_member(metadata, "thread_id")
    )
    namespace = as_text(config.get("checkpoint_ns"))
    values = fields.get("values")
    is_thread = "updated_at" in fields and "next" not in fields
    parse_time(fields.get("created_at"), f"{location}/created_at")
    return _Snapshot(
        id=as_text(first_member(config, "checkpoint_id") or first_member(fields, "checkpoint_id"))
        or content_id(fields, location),
        parent=as_text(parent_config.get("checkpoint_id")),
        thread="/".join(part for part in (thread, namespace) if part) or f"thread-{content_id(fields, location)}",
        values=_channels(values),
        metadata=metadata,
        created_at=fields["updated_at"] if is_thread else fields.get("created_at"),
        tasks=[_task(item) for item in as_list(fields.get("tasks"))],
        next=[as_text(item) for item in as_list(fields.get("next"))],
        location=location,
        began_at=fields.get("created_at") if is_thread else None,
        status=as_text(fields.get("status")) if is_thread else "",
        error=_error(fields) if is_thread else "",
    )


def _channels(values: JSONValue) -> JSONObject:
    """Return the state by channel; a graph may have a single unnamed channel."""
    if isinstance(values, dict) or values is None:
        return as_object(values)
    return {"messages" if isinstance(values, list) else "state": values}


def _configurable(fields: JSONObject, config: str, checkpoint: str) -> JSONObject:
    return as_object(as_object(fields.get(config)).get("configurable")) or as_object(fields.get(checkpoint))


def _task(value: JSONValue) -> JSONObject:
    return dict(zip(_TASK_TUPLE, value, strict=False)) if isinstance(value, list) else as_object(value)


def _branches(snapshots: list[_Snapshot]) -> Iterator[list[_Snapshot]]:
    """Yield the path to each leaf snapshot of a thread, the newest leaf first."""
    sorted_snapshots = sorted(
        snapshots, key=lambda snapshot: (snapshot.step, as_text(snapshot.created_at), snapshot.id)
    )
    by_id = {snapshot.id: snapshot for snapshot in sorted_snapshots}
    parents = {snapshot.parent for snapshot in sorted_snapshots}
    if parents.isdisjoint(by_id):
        yield sorted_snapshots
        return
    cycle = BadFile(
        f"the checkpoints of thread {sorted_snapshots[0].thread} form a cycle", sorted_snapshots[0].location
    )
    leaves = [snapshot for snapshot in sorted_snapshots if snapshot.id not in parents]
    if not leaves:
        raise cycle
    for leaf in sorted(leaves, key=lambda snapshot: as_text(snapshot.created_at), reverse=True):
        path = [leaf]
        while (parent := by_id.get(path[-1].parent)) is not None:
            path.append(parent)
            if len(path) > len(by_id):
                raise cycle
        yield path[::-1]


def _run(external_id: str, snapshots: list[_Snapshot], *, is_inner: bool) -> RecordedRun:
    growth = _Growth(is_inner=is_inner)
    previous: _Snapshot | None = None
    for snapshot in snapshots:
        _add_snapshot(growth, previous, snapshot)
        previous = snapshot
    last_snapshot, metadata = snapshots[-1], snapshots[-1].metadata
    pending = [node for node in _pending_nodes(last_snapshot) if last_snapshot.next or node.error]
    setting = TranscriptSettings(agent=_graph(metadata) or "graph", provider=langchain.find_provider(growth.messages))
    talk = transcripts.build_steps(growth.messages, setting)
    steps = nodes.nest_steps(talk, [*growth.nodes, *pending], growth.results)
    conversation = _conversation(last_snapshot.values)
    state = {key: value for key, value in last_snapshot.values.items() if key != conversation}
    if not growth.messages:
        first_values = next((snapshot.values for snapshot in snapshots if snapshot.values), {})
        steps[0] = replace(steps[0], input=first_values or None, output=last_snapshot.values or None)
    is_timed = any(step.started_at or step.ended_at for step in steps)
    return build_run(
        RunFacts(
            external_id=external_id,
            app=app_name(_graph(metadata)) or FORMAT,
            format=FORMAT,
            # A single state does not show when its messages were added.
            started_at=None if is_timed else parse_time(last_snapshot.began_at, last_snapshot.location),
            ended_at=None if is_timed else parse_time(last_snapshot.created_at, last_snapshot.location),
            failed=last_snapshot.status == "error" or any(node.error for node in [*growth.nodes, *pending]),
            metadata={
                "thread_id": last_snapshot.thread,
                "checkpoint_id": last_snapshot.id,
                "state": state,
                "next": list(last_snapshot.next),
                "error": last_snapshot.error,
                **_facts(metadata),
            },
        ),
        steps,
        location=last_snapshot.location,
    )


def _facts(metadata: JSONObject) -> JSONObject:
    """Return what the program, its user and the platform state of a thread in the metadata of its checkpoints."""
    return {
        name: value
        for name, value in metadata.items()
        if name not in _CHECKPOINT_FACTS and not name.startswith(_INTERNAL)
    }


def _graph(metadata: JSONObject) -> str:
    return as_text(first_member(metadata, "graph_id", "graph_name"))


def _add_snapshot(growth: _Growth, previous: _Snapshot | None, current: _Snapshot) -> None:
    """Add the messages and nodes that are new in a snapshot."""
    new_messages: dict[str, int] = {}
    is_new = previous is not None or current.metadata.get("source") == "input"
    for key, message in _message_keys(_messages(current.values)):
        if key in growth.seen_keys:
            continue
        growth.seen_keys.add(key)
        location = f"{current.location}/values/messages"
        value = langchain.normalize_message(message, location)
        if is_new:
            value["ts"] = current.created_at
        is_injected = growth.is_inner and current.step <= 0
        growth.messages.append(TranscriptMessage(value=value, location=location, is_injected=is_injected))
        new_messages[key] = len(growth.messages)
        if value["role"] == "tool" and (call_id := as_text(value.get("tool_call_id"))):
            growth.results.setdefault(call_id, []).append(new_messages[key])
    if previous is not None:
        growth.nodes += _finished_nodes(previous, current, new_messages)


def _finished_nodes(previous: _Snapshot, current: _Snapshot, new_messages: dict[str, int]) -> Iterator[Node]:
    """Yield the nodes that ran between two snapshots, with the messages that they added."""
    writes = as_object(current.metadata.get("writes"))
    planned_tasks: list[JSONObject] = previous.tasks or [{"name": name} for name in list(writes) or previous.next]
    tasks = [task for task in planned_tasks if as_text(task.get("name")) not in ("", *_VIRTUAL_NODES)]
    for index, task in enumerate(tasks):
        name = as_text(task.get("name"))
        output = task.get("result") if task.get("result") is not None else writes.get(name)
        messages = [
            new_messages[key]
            for key, _ in _message_keys(as_list(as_object(output).get("messages")))
            if key in new_messages
        ]
        if len(tasks) == 1:
            messages = list(new_messages.values())
            output = output if output is not None else _changes(previous.values, current.values)
        yield Node(
            key=as_text(task.get("id")) or f"{current.id}/{name}/{index}",
            name=name,
            messages=messages,
            first_message=min(new_messages.values(), default=None),
            input=_state(previous.values) if previous.metadata.get("source") != streams.STREAM else None,
            output=output,
            error=_error(task),
            interrupts=as_list(task.get("interrupts")),
            resumed_with=task.get("resumed_with"),
            started_at=parse_time(previous.created_at, previous.location),
            ended_at=parse_time(current.created_at, current.location),
        )


def _pending_nodes(last_snapshot: _Snapshot) -> Iterator[Node]:
    """Yield the next nodes of the last snapshot: interrupted, failed, or not started."""
    for task in last_snapshot.tasks:
        if name := as_text(task.get("name")):
            yield Node(
                key=as_text(task.get("id")) or f"{last_snapshot.id}/{name}",
                name=name,
                input=_state(last_snapshot.values),
                output=task.get("result"),
                error=_error(task),
                interrupts=as_list(task.get("interrupts")),
                is_pending=True,
                started_at=parse_time(last_snapshot.created_at, last_snapshot.location),
            )


def _error(task: JSONObject) -> str:
    error = task.get("error")
    return as_text(error) or (
        as_text(first_member(as_object(error), "message", "error")) or str(error) if error else ""
    )


def _state(values: JSONObject) -> JSONObject | None:
    return {key: value for key, value in values.items() if not _is_channel(value) and not key.startswith("__")} or None


def _changes(previous: JSONObject, current: JSONObject) -> JSONObject | None:
    return {key: value for key, value in (_state(current) or {}).items() if previous.get(key) != value} or None


def _messages(values: JSONObject) -> list[JSONValue]:
    """Return the conversation in a state."""
    return as_list(values.get(_conversation(values)))


def _conversation(values: JSONObject) -> str:
    """Return the name of the channel with the conversation; empty without one."""
    if _is_channel(values.get("messages")):
        return "messages"
    return next((name for name, value in values.items() if _is_channel(value)), "")


def _is_channel(value: JSONValue) -> bool:
    return isinstance(value, list) and bool(value) and (langchain.is_message(value[0]) or has_string(value[0], "role"))


def _message_keys(messages: list[JSONValue]) -> Iterator[tuple[str, JSONValue]]:
    """Yield messages with keys: the id, or the content plus the number of its occurrence."""
    counts: Counter[str] = Counter()
    for message in messages:
        fields = as_object(message)
        inner = as_object(fields.get("kwargs")) or as_object(fields.get("data")) or fields
        key = as_text(inner.get("id"))
        if not key:
            content = content_id(message, "/messages")
            counts[content] += 1
            key = f"{content}#{counts[content]}"
        yield key, message
