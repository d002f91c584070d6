"""Threads of subagents, nested below the calls that started them.

A call is known by its id, or names the thread in its result or its task in the arguments. Without its parent in the
import, a subagent is a run.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.messages import message_text
from traces.importers.common.run_builder import MOST_STEPS
from traces.importers.files.json_reader import parse_embedded

# Of tools that start agents.
_TOOL: Final = re.compile(r"agent|task", re.I)
_TAG: Final = re.compile("</?user_query>")
_TASKS: Final = ("message", "prompt", "task", "description")
_NAMES: Final = ("agent_role", "agent_nickname", "agent_path")
# Files may claim any number of levels, and each copies the steps below it.
MOST_LEVELS: Final = 20


@dataclass(kw_only=True)
class Thread:
    """The run of a thread, and the calls that started others, by the ids of their threads or the paths of agents."""

    run: RecordedRun
    parent: str = ""
    path: str = ""
    calls: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> Iterator[str]:
        """What a call may name the thread by: its id, the agent's path, or its task."""
        yield self.run.external_id
        yield self.path
        turn = next((step for step in self.run.steps if step.type is StepType.TURN), None)
        task = message_text(next(iter(as_list(as_object(turn.input).get("messages"))), None)) if turn else ""
        # Cursor writes requests in tags.
        yield _TAG.sub("", task).strip()


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
    for level in range(MOST_LEVELS):
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
        if _TOOL.search(step.name):
            result, arguments = as_object(parse_embedded(step.output)), as_object(step.input)
            tasks = (arguments.get(name) for name in _TASKS)
            for name in (result.get("agent_id"), result.get("task_name"), *tasks):
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
