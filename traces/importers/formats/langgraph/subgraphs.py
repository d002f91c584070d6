"""Threads of subgraphs, nested below the nodes that ran them.

The namespace of a subgraph's checkpoints, `node:task|node:task`, ends with the task of the node that ran it. The state
of a subgraph begins with messages of the graph around it, and its new messages come back into the state of that graph.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from traces.core.json_access import as_text
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

_CONVERSATION = frozenset({StepType.TURN, StepType.OUTPUT})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Subgraph:
    """The steps of a subgraph below the node with the key `task`, which ran it."""

    task: str
    steps: list[RecordedStep]
    metadata: JSONObject


def outer_thread(thread: str) -> str:
    """Return the thread of the graph around a subgraph; empty for one that no task names."""
    outer, _, node = thread.rpartition("|" if "|" in thread else "/")
    return outer if ":" in node else ""


def _depth(thread: str) -> int:
    return thread.count("|") + bool(outer_thread(thread))


def nest(runs: Mapping[str, RecordedRun]) -> Iterator[RecordedRun]:
    """Yield the runs, by threads, with those of subgraphs inside the runs around them."""
    keys = {thread: {step.key for step in run.steps} for thread, run in runs.items()}
    subgraphs: dict[str, list[_Subgraph]] = defaultdict(list)
    outermost: dict[str, RecordedRun] = {}
    for thread in sorted(runs, key=_depth, reverse=True):
        run = _with_subgraphs(runs[thread], subgraphs[thread])
        outer, task = outer_thread(thread), thread.rpartition(":")[2]
        if task in keys.get(outer, ()):
            subgraphs[outer].append(_subgraph(run, task))
        else:
            outermost[thread] = run
    yield from (outermost[thread] for thread in runs if thread in outermost)


def _subgraph(run: RecordedRun, task: str) -> _Subgraph:
    root, *steps = run.steps
    containers = {step.key for step in (root, *steps) if step is root or step.type in _CONVERSATION}
    keys = {step.key: task if step.key in containers else f"{task}/{step.key}" for step in (root, *steps)}
    inner = [
        replace(step, key=keys[step.key], parent=keys[step.parent or root.key], links=_links(step, keys))
        for step in steps
        if step.key not in containers
    ]
    return _Subgraph(task=task, steps=inner, metadata=run.metadata)


def _with_subgraphs(run: RecordedRun, subgraphs: Sequence[_Subgraph]) -> RecordedRun:
    """Return the run with the steps of subgraphs instead of those that their nodes have of the same messages."""
    inner_steps: dict[str, list[RecordedStep]] = defaultdict(list)
    for subgraph in subgraphs:
        inner_steps[subgraph.task] += subgraph.steps
    originals = {
        (task, id): step.key for task, steps in inner_steps.items() for step in steps if (id := _message(step))
    }
    copies = {
        step.key: originals[step.parent or "", _message(step)]
        for step in run.steps
        if (step.parent, _message(step)) in originals
    }
    metadata = {subgraph.task: subgraph.metadata for subgraph in subgraphs}
    steps: list[RecordedStep] = []
    for step in run.steps:
        if step.key in copies:
            continue
        facts: JSONObject = {"subgraph": metadata[step.key]} if step.key in metadata else {}
        steps.append(replace(step, links=_links(step, copies), attributes={**step.attributes, **facts}))
        steps += inner_steps.get(step.key, ())
    return replace(run, steps=tuple(steps)) if subgraphs else run


def _message(step: RecordedStep) -> str:
    return as_text(step.attributes.get("message_id"))


def _links(step: RecordedStep, keys: dict[str, str]) -> tuple[str, ...]:
    return tuple(keys.get(link, link) for link in step.links)
