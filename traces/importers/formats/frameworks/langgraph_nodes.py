"""Nodes of a graph as containers of the steps that a conversation's messages became."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.files.json_reader import obj

_NUMBER: Final = re.compile(r"msg-(\d+)")


@dataclass(frozen=True, kw_only=True)
class Node:
    """One run of a node; `messages` are the numbers of those that it added."""

    key: str
    name: str
    messages: list[int] = field(default_factory=list)
    first_message: int | None = None
    input: JSONObject | None = None
    output: JSONValue = None
    error: str = ""
    interrupts: list[JSONValue] = field(default_factory=list)
    is_pending: bool = False
    started_at: datetime | None = None
    ended_at: datetime | None = None


def merged(steps: list[RecordedStep], nodes: list[Node], results: dict[str, list[int]]) -> list[RecordedStep]:
    """The steps of a transcript, each below the node that added its message; nodes are in the order they ran.

    `results` are the numbers of tool results by the ids of their calls, which models use again in later turns.
    """
    unread = {call_id: iter(numbers) for call_id, numbers in results.items()}
    owners = {number: at for at, node in enumerate(nodes) for number in node.messages}
    marks = list(accumulate((node.first_message or 0 for node in nodes), max))
    keys = _keys(nodes, {step.key for step in steps})
    ordered: list[RecordedStep] = []
    begun = 0
    turn = steps[0].key
    for step in steps:
        number = _number(step, unread)
        owner = owners.get(number) if number is not None and step.type is not StepType.TURN else None
        while begun < len(nodes) and _has_begun(step, marks[begun], begun, number, owner):
            ordered.append(_container(nodes[begun], keys[begun], turn))
            begun += 1
        if step.type is StepType.TURN:
            turn = step.key
        ordered.append(step if owner is None else replace(step, parent=keys[owner]))
    ordered += [_container(nodes[at], keys[at], turn) for at in range(begun, len(nodes))]
    return ordered


def _keys(nodes: list[Node], taken: set[str]) -> list[str]:
    keys: list[str] = []
    for at, node in enumerate(nodes):
        keys.append(node.key if node.key not in taken else f"{node.key}~{at}")
        taken.add(keys[-1])
    return keys


def _has_begun(step: RecordedStep, mark: int, at: int, number: int | None, owner: int | None) -> bool:
    """Whether node `at`, which had added message `mark` at the most, had begun when this step happened."""
    if owner is not None:
        return at <= owner
    return step.type is StepType.OUTPUT or (number is not None and mark < number)


def _number(step: RecordedStep, results: dict[str, Iterator[int]]) -> int | None:
    """The number of the message that a step was made of; of a tool, that of its result."""
    if step.type is StepType.TOOL:
        return next(results.get(step.call_id, iter(())), None)
    match = _NUMBER.match(step.key)
    return int(match[1]) if match else None


def _container(node: Node, key: str, parent: str) -> RecordedStep:
    status = StepStatus.PARTIAL if node.is_pending else StepStatus.OK
    attributes: JSONObject = {"interrupts": node.interrupts} if node.interrupts else {}
    output = node.output if not obj(node.output).keys() & {"messages"} else None
    return RecordedStep(
        key=key,
        type=StepType.AGENT,
        name=node.name,
        parent=parent,
        status=StepStatus.ERROR if node.error else status,
        error=node.error,
        input=node.input,
        output=output,
        started_at=node.started_at,
        ended_at=node.ended_at,
        attributes=attributes,
    )
