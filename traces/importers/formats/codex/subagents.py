"""Subagents of Codex: threads with rollouts of their own, nested below the calls that started them.

An event names the call and the thread that it started, or the result of the call does, by the thread's id or the
agent's path. Without its parent in the import, a subagent is a run.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, member
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.messages import message_text
from traces.importers.common.run_builder import MOST_STEPS
from traces.importers.files.json_reader import parse_embedded

# A record and its location.
Record = tuple[JSONObject, str]
_META: Final = "session_meta"
_STARTS: Final = (None, "", "started")
_NAMES: Final = ("agent_role", "agent_nickname", "agent_path")
# Files may claim any number of levels, and each copies the steps below it.
_MOST_LEVELS: Final = 20


@dataclass(kw_only=True)
class Thread:
    """The run of a thread, and the calls that started others, by the ids of their threads and the paths of agents."""

    run: RecordedRun
    parent: str = ""
    calls: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> Iterator[str]:
        """What a call may name the thread by: its id, the agent's path, or its task."""
        facts = self.run.metadata
        yield self.run.external_id
        yield as_text(first_member(facts, "agent_path")) or as_text(member(spawn_of(facts), "agent_path"))
        turn = next((step for step in self.run.steps if step.type is StepType.TURN), None)
        yield message_text(next(iter(as_list(as_object(turn.input).get("messages"))), None)).strip() if turn else ""


def spawn_of(meta: JSONObject) -> JSONObject:
    """Return what the facts about a session state of how it was started by another."""
    source = as_object(meta.get("source"))
    return as_object(as_object(first_member(source, "subagent", "subAgent")).get("thread_spawn"))


def parent_of(meta: JSONObject) -> str:
    """Return the thread that started a session; empty for a session of the user."""
    return as_text(first_member(meta, "parent_thread_id", "parentThreadId")) or as_text(
        spawn_of(meta).get("parent_thread_id")
    )


def started_threads(event: JSONObject) -> Iterator[tuple[str, str]]:
    """Yield the thread and the path that a call started, each with the id of the call."""
    item = as_object(event.get("item")) or event
    call = as_text(first_member(item, "call_id", "event_id", "id"))
    if item.get("kind") not in _STARTS or not call:
        return
    receivers = as_list(item.get("receiver_thread_ids")) if "spawn" in as_text(item.get("tool")).lower() else []
    for name in (item.get("new_thread_id"), item.get("agent_thread_id"), item.get("agent_path"), *receivers):
        if name:
            yield as_text(name), call


def start_of_own(records: Sequence[Record], outer_records: Iterable[Record]) -> str:
    """Return where a thread's own records begin; empty if it does not begin with a copy of those around it.

    Later versions state that by a number.
    """
    metas = [record for record, _ in records if record.get("type") == _META]
    if len(metas) < 2 or "subagent_history_start_ordinal" in as_object(metas[0].get("payload")):
        return ""
    outer_ids = {content_id(record.get("payload"), location) for record, location in outer_records}
    is_copy = False
    for record, location in records:
        if content_id(record.get("payload"), location) in outer_ids:
            is_copy = True
        elif record.get("type") != _META:
            return location if is_copy else ""
    return ""


def families(parents: dict[str, str]) -> Iterable[Sequence[str]]:
    """Return the ids of threads, those around each other together; `parents` are the threads that started them."""
    groups: dict[str, list[str]] = defaultdict(list)
    for id in parents:
        outermost = id
        for _ in range(_MOST_LEVELS):
            outermost = parents[outermost] if parents[outermost] in parents else outermost
        groups[outermost].append(id)
    return groups.values()


def nest(threads: dict[str, Thread]) -> Iterator[RecordedRun]:
    """Yield the runs, with those of subagents inside those of their parents."""
    levels = {id: level for id in threads if (level := _level(threads, id)) is not None}
    children: dict[str, list[Thread]] = defaultdict(list)
    for id, level in sorted(levels.items(), key=lambda item: -item[1]):
        thread = threads[id]
        inner_size = sum(len(child.run.steps) for child in children[id])
        if children[id] and len(thread.run.steps) + inner_size <= MOST_STEPS:
            thread.run = _with_children(thread, children.pop(id))
        if level:
            children[thread.parent].append(thread)
    outer = [thread for id, thread in threads.items() if not levels.get(id)]
    yield from (thread.run for thread in [*outer, *(child for group in children.values() for child in group)])


def _level(threads: dict[str, Thread], id: str) -> int | None:
    """Return how many threads are around one; None if these are too many, or form a circle."""
    for level in range(_MOST_LEVELS):
        id = threads[id].parent
        if id not in threads:
            return level
    return None


def _with_children(thread: Thread, children: Sequence[Thread]) -> RecordedRun:
    calls = [step for step in thread.run.steps if step.type is StepType.TOOL and not step.key.startswith("agent-")]
    by_id = {step.call_id: step for step in reversed(calls) if step.call_id}
    by_name = _by_name(calls) | {name: by_id[id] for name, id in thread.calls.items() if id in by_id}
    inner_steps: dict[str, list[RecordedStep]] = defaultdict(list)
    for number, child in enumerate(children, 1):
        caller = next((by_name[name] for name in child.names if name and name in by_name), thread.run.steps[0])
        inner_steps[caller.key] += _inner_steps(child.run, f"agent-{number}/", caller.key)
    root, *steps = thread.run.steps
    ends = [run.ended_at for run in (thread.run, *(child.run for child in children)) if run.ended_at]
    return replace(
        thread.run,
        steps=(root, *_in_order(steps, inner_steps), *inner_steps.get(root.key, ())),
        ended_at=max(ends, default=None),
    )


def _by_name(calls: Iterable[RecordedStep]) -> dict[str, RecordedStep]:
    """Return the calls by what they name: their task, or the thread or path in their result."""
    by_name: dict[str, RecordedStep] = {}
    for step in calls:
        if "agent" in step.name:
            result = as_object(parse_embedded(step.output))
            for name in (result.get("agent_id"), result.get("task_name"), as_object(step.input).get("message")):
                by_name.setdefault(as_text(name).strip(), step)
    return by_name


def _inner_steps(run: RecordedRun, prefix: str, parent: str) -> Iterator[RecordedStep]:
    """Yield the steps of a subagent below the call that started it."""
    root, *steps = run.steps
    name = next((name for key in _NAMES if (name := as_text(run.metadata.get(key)))), "") or "sub-agent"
    facts: JSONObject = {"agent_id": run.external_id, **run.metadata}
    yield replace(root, key=prefix + root.key, parent=parent, name=name, attributes={**root.attributes, **facts})
    for step in steps:
        links = tuple(prefix + link for link in step.links)
        yield replace(step, key=prefix + step.key, parent=prefix + (step.parent or root.key), links=links)


def _in_order(steps: Sequence[RecordedStep], inner: dict[str, list[RecordedStep]]) -> Iterator[RecordedStep]:
    for step in steps:
        yield step
        yield from inner.get(step.key, ())
