"""Threads of subgraphs, nested below the nodes that ran them.

The namespace of a subgraph's checkpoints, `node:task|node:task`, ends with the task of the node that ran it. The state
of a subgraph begins with messages of the graph around it, and its new messages come back into the state of that graph.
"""

from collections.abc import Iterator
from dataclasses import replace

from traces.core.json_access import as_text
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

_CONVERSATION = frozenset({StepType.TURN, StepType.OUTPUT})


def outer_thread(thread: str) -> str:
    """Return the thread of the graph around a subgraph; empty for one that no task names."""
    outer, _, node = thread.rpartition("|" if "|" in thread else "/")
    return outer if ":" in node else ""


def nest(runs: dict[str, RecordedRun]) -> Iterator[RecordedRun]:
    """Yield the runs, by threads, with those of subgraphs inside the runs around them."""
    for thread in sorted(runs, key=lambda name: name.count("|"), reverse=True):
        outer, task = outer_thread(thread), thread.rpartition(":")[2]
        if outer in runs and any(step.key == task for step in runs[outer].steps):
            runs[outer] = _with_subgraph(runs[outer], runs.pop(thread), task)
    yield from runs.values()


def _with_subgraph(run: RecordedRun, subgraph: RecordedRun, task: str) -> RecordedRun:
    """Return the run with the steps of a subgraph instead of those that the node has of the same messages."""
    root, *steps = subgraph.steps
    containers = {step.key for step in (root, *steps) if step is root or step.type in _CONVERSATION}
    keys = {step.key: task if step.key in containers else f"{task}/{step.key}" for step in (root, *steps)}
    inner = [
        replace(step, key=keys[step.key], parent=keys[step.parent or root.key], links=_links(step, keys))
        for step in steps
        if step.key not in containers
    ]
    by_message = {id: step.key for step in inner if (id := _message(step))}
    copies = {step.key: by_message[_message(step)] for step in run.steps if _is_copy(step, task, by_message)}
    outer = [replace(step, links=_links(step, copies)) for step in run.steps if step.key not in copies]
    index = next(index for index, step in enumerate(outer) if step.key == task)
    node = replace(outer[index], attributes={**outer[index].attributes, "subgraph": subgraph.metadata})
    return replace(run, steps=(*outer[:index], node, *inner, *outer[index + 1 :]))


def _message(step: RecordedStep) -> str:
    return as_text(step.attributes.get("message_id"))


def _is_copy(step: RecordedStep, task: str, by_message: dict[str, str]) -> bool:
    return step.parent == task and _message(step) in by_message


def _links(step: RecordedStep, keys: dict[str, str]) -> tuple[str, ...]:
    return tuple(keys.get(link, link) for link in step.links)
