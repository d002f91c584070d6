"""State and checkpoints of LangGraph: histories of snapshots, thread states of its platform, savers' checkpoints.

The snapshots of a thread tell what each node added to the state. Nodes become containers, the messages that they
added become the model and tool steps in them. Where a thread was forked, each branch is a run.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, text
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.frameworks import langchain, langgraph_nodes
from traces.importers.formats.frameworks.langgraph_nodes import Node

FORMAT: Final = "langgraph"
# The fields of a StateSnapshot, which JSON writes as a list.
_TUPLE: Final = ("values", "next", "config", "metadata", "created_at", "parent_config", "tasks", "interrupts")
_TASK_TUPLE: Final = ("id", "name", "path", "error", "interrupts", "state", "result")
_HOLDERS: Final = ("history", "states", "checkpoints", "data")
_HIDDEN: Final = ("__start__", "__end__")


@dataclass(frozen=True, kw_only=True)
class _Snapshot:
    """The state of a thread at the beginning of a step."""

    id: str
    parent: str
    thread: str
    values: JSONObject
    metadata: JSONObject
    created: JSONValue
    tasks: list[JSONObject]
    next: list[str]
    where: str

    @property
    def step(self) -> int:
        step = self.metadata.get("step")
        return step if isinstance(step, int) else 0


@dataclass(kw_only=True)
class _Growth:
    """What the snapshots read so far contain."""

    messages: list[TranscriptMessage] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    # numbers of tool results by the id of their call
    results: dict[str, list[int]] = field(default_factory=dict)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """One run for each thread, and one for each other branch of it."""
    threads: dict[str, dict[str, _Snapshot]] = {}
    for snapshot in parse_records(sources, _read):
        threads.setdefault(snapshot.thread, {})[snapshot.id] = snapshot
    for thread, snapshots in threads.items():
        for at, branch in enumerate(_branches(list(snapshots.values()))):
            yield _run(thread if at == 0 else f"{thread}/{branch[-1].id}", branch)


def is_state(value: JSONValue) -> bool:
    """Whether `value` is a snapshot, a checkpoint or a thread, or holds some."""
    if isinstance(value, list):
        return bool(value) and (
            _fields(value) is not None or (isinstance(value[0], dict | list) and is_state(value[0]))
        )
    given = obj(value)
    if _fields(given) is not None:
        return True
    return any(isinstance(given.get(name), list) and given[name] and is_state(given[name]) for name in _HOLDERS)


def _read(value: JSONValue, where: str) -> Iterator[_Snapshot]:
    given = _fields(value)
    if given is not None:
        yield _snapshot(given, where)
        return
    listed = (
        value
        if isinstance(value, list)
        else next((obj(value)[name] for name in _HOLDERS if isinstance(obj(value).get(name), list)), None)
    )
    if not isinstance(listed, list):
        raise BadFile("this is no snapshot or checkpoint of LangGraph", where or "/")
    for at, each in enumerate(listed):
        yield from _read(each, f"{where}/{at}")


def _fields(value: JSONValue) -> JSONObject | None:
    """The fields of a snapshot, from any form; None for anything else."""
    if isinstance(value, list):
        if len(value) < 6 or not isinstance(value[0], dict) or not isinstance(value[1], list):
            return None
        named: JSONObject = dict(zip(_TUPLE, value, strict=False))
        return named if "configurable" in obj(named.get("config")) else None
    given = obj(value)
    if "values" in given and ("next" in given or "thread_id" in given or "checkpoint" in given):
        return given
    checkpoint = obj(given.get("checkpoint")) or given
    if "channel_values" not in checkpoint:
        return None
    names = ("metadata", "config", "parent_config")
    return {name: given.get(name) for name in names} | {
        "values": checkpoint["channel_values"],
        "created_at": checkpoint.get("ts"),
        "checkpoint_id": checkpoint.get("id"),
    }


def _snapshot(given: JSONObject, where: str) -> _Snapshot:
    own = _configurable(given, "config", "checkpoint")
    before = _configurable(given, "parent_config", "parent_checkpoint")
    metadata = obj(given.get("metadata"))
    thread = text(first(own, "thread_id") or first(given, "thread_id") or first(metadata, "thread_id"))
    namespace = text(own.get("checkpoint_ns"))
    values = given.get("values")
    parse_time(given.get("created_at"), f"{where}/created_at")
    return _Snapshot(
        id=text(first(own, "checkpoint_id") or first(given, "checkpoint_id")) or content_id(given, where),
        parent=text(before.get("checkpoint_id")),
        thread="/".join(part for part in (thread, namespace) if part) or f"thread-{content_id(given, where)}",
        values=_channels(values),
        metadata=metadata,
        created=first(given, "created_at", "updated_at"),
        tasks=[_task(each) for each in items(given.get("tasks"))],
        next=[text(each) for each in items(given.get("next"))],
        where=where,
    )


def _channels(values: JSONValue) -> JSONObject:
    """The state by channel; a graph may have a single one without a name."""
    if isinstance(values, dict) or values is None:
        return obj(values)
    return {"messages" if isinstance(values, list) else "state": values}


def _configurable(given: JSONObject, config: str, checkpoint: str) -> JSONObject:
    return obj(obj(given.get(config)).get("configurable")) or obj(given.get(checkpoint))


def _task(value: JSONValue) -> JSONObject:
    return dict(zip(_TASK_TUPLE, value, strict=False)) if isinstance(value, list) else obj(value)


def _branches(snapshots: list[_Snapshot]) -> Iterator[list[_Snapshot]]:
    """The path to each last snapshot of a thread, that of the newest first."""
    ordered = sorted(snapshots, key=lambda each: (each.step, text(each.created), each.id))
    by_id = {each.id: each for each in ordered}
    parents = {each.parent for each in ordered}
    if parents.isdisjoint(by_id):
        yield ordered
        return
    circle = BadFile(f"the checkpoints of thread {ordered[0].thread} form a circle", ordered[0].where)
    leaves = [each for each in ordered if each.id not in parents]
    if not leaves:
        raise circle
    for leaf in sorted(leaves, key=lambda each: text(each.created), reverse=True):
        path = [leaf]
        while (before := by_id.get(path[-1].parent)) is not None:
            path.append(before)
            if len(path) > len(by_id):
                raise circle
        yield path[::-1]


def _run(external_id: str, snapshots: list[_Snapshot]) -> RecordedRun:
    growth = _Growth()
    before: _Snapshot | None = None
    for snapshot in snapshots:
        _grow(growth, before, snapshot)
        before = snapshot
    last, metadata = snapshots[-1], snapshots[-1].metadata
    pending = [node for node in _pending(last) if last.next or node.error]
    setting = TranscriptSettings(agent=_graph(metadata) or "graph", provider=langchain.provider_in(growth.messages))
    talk = transcripts.build_steps(growth.messages, setting)
    steps = langgraph_nodes.merged(talk, [*growth.nodes, *pending], growth.results)
    state = {key: value for key, value in last.values.items() if not _is_channel(value)}
    if not growth.messages:
        first_values = next((each.values for each in snapshots if each.values), {})
        steps[0] = replace(steps[0], input=first_values or None, output=last.values or None)
    return build_run(
        RunFacts(
            external_id=external_id,
            app=app_name(_graph(metadata)) or FORMAT,
            format=FORMAT,
            failed=any(node.error for node in [*growth.nodes, *pending]),
            metadata={
                "thread_id": last.thread,
                "checkpoint_id": last.id,
                "state": state,
                "next": list(last.next),
                "assistant_id": metadata.get("assistant_id"),
                "user_id": metadata.get("user_id"),
            },
        ),
        steps,
        location=last.where,
    )


def _graph(metadata: JSONObject) -> str:
    return text(first(metadata, "graph_id", "graph_name"))


def _grow(growth: _Growth, before: _Snapshot | None, now: _Snapshot) -> None:
    """Add what this snapshot has and the one before has not."""
    fresh: dict[str, int] = {}
    is_new = before is not None or now.metadata.get("source") == "input"
    for key, message in _keyed(_messages(now.values)):
        if key in growth.known:
            continue
        growth.known.add(key)
        where = f"{now.where}/values/messages"
        value = langchain.message_of(message, where)
        if is_new:
            value["ts"] = now.created
        growth.messages.append(TranscriptMessage(value=value, location=where))
        fresh[key] = len(growth.messages)
        if value["role"] == "tool" and (call_id := text(value.get("tool_call_id"))):
            growth.results.setdefault(call_id, []).append(fresh[key])
    if before is not None:
        growth.nodes += _finished(before, now, fresh)


def _finished(before: _Snapshot, now: _Snapshot, fresh: dict[str, int]) -> Iterator[Node]:
    """The nodes that ran between two snapshots, with the messages that they added."""
    writes = obj(now.metadata.get("writes"))
    planned: list[JSONObject] = before.tasks or [{"name": name} for name in list(writes) or before.next]
    tasks = [task for task in planned if text(task.get("name")) not in ("", *_HIDDEN)]
    for at, task in enumerate(tasks):
        name = text(task.get("name"))
        made = task.get("result") if task.get("result") is not None else writes.get(name)
        own = [fresh[key] for key, _ in _keyed(items(obj(made).get("messages"))) if key in fresh]
        if len(tasks) == 1:
            own = list(fresh.values())
            made = made if made is not None else _changes(before.values, now.values)
        yield Node(
            key=text(task.get("id")) or f"{now.id}/{name}/{at}",
            name=name,
            messages=own,
            first_message=min(fresh.values(), default=None),
            input=_state(before.values),
            output=made,
            error=_error(task),
            started_at=parse_time(before.created, before.where),
            ended_at=parse_time(now.created, now.where),
        )


def _pending(last: _Snapshot) -> Iterator[Node]:
    """The nodes that the last snapshot would go on with: interrupted, failed, or not begun."""
    for task in last.tasks:
        if name := text(task.get("name")):
            yield Node(
                key=text(task.get("id")) or f"{last.id}/{name}",
                name=name,
                input=_state(last.values),
                output=task.get("result"),
                error=_error(task),
                interrupts=items(task.get("interrupts")),
                is_pending=True,
                started_at=parse_time(last.created, last.where),
            )


def _error(task: JSONObject) -> str:
    error = task.get("error")
    return text(error) or (text(first(obj(error), "message", "error")) or str(error) if error else "")


def _state(values: JSONObject) -> JSONObject | None:
    return {key: value for key, value in values.items() if not _is_channel(value) and not key.startswith("__")} or None


def _changes(before: JSONObject, now: JSONObject) -> JSONObject | None:
    return {key: value for key, value in (_state(now) or {}).items() if before.get(key) != value} or None


def _messages(values: JSONObject) -> list[JSONValue]:
    """The conversation in a state."""
    if _is_channel(values.get("messages")):
        return items(values["messages"])
    return next((items(value) for value in values.values() if _is_channel(value)), [])


def _is_channel(value: JSONValue) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and (langchain.is_message(value[0]) or isinstance(obj(value[0]).get("role"), str))
    )


def _keyed(messages: list[JSONValue]) -> Iterator[tuple[str, JSONValue]]:
    """Messages by id; those without one by what they say, and how often that was said before."""
    counts: Counter[str] = Counter()
    for message in messages:
        given = obj(message)
        inner = obj(given.get("kwargs")) or obj(given.get("data")) or given
        key = text(inner.get("id"))
        if not key:
            content = content_id(message, "/messages")
            counts[content] += 1
            key = f"{content}#{counts[content]}"
        yield key, message
