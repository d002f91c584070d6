"""Graph nodes as containers of the steps built from a conversation."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate
from typing import Final

from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepStatus, StepType

_NUMBER: Final = re.compile(r"msg-(\d+)")


@dataclass(frozen=True, kw_only=True)
class Node:
    """One execution of a node; `messages` are the numbers of the messages that it added."""

    key: str
    name: str
    messages: list[int] = field(default_factory=list)
    first_message: int | None = None
    input: JSONObject | None = None
    output: JSONValue = None
    error: str = ""
    interrupts: list[JSONValue] = field(default_factory=list)
    # What its interrupts were answered with.
    resumed_with: JSONValue = None
    is_pending: bool = False
    started_at: datetime | None = None
    ended_at: datetime | None = None


def nest_steps(steps: list[RecordedStep], nodes: list[Node], results: dict[str, list[int]]) -> list[RecordedStep]:
    """Nest each step of a transcript below the node that added its message; nodes are in execution order.

    `results` are the message numbers of tool results by call id; models reuse call ids in later turns.
    """
    remaining_results = {call_id: iter(numbers) for call_id, numbers in results.items()}
    owners = {number: index for index, node in enumerate(nodes) for number in node.messages}
    start_messages = list(accumulate((node.first_message or 0 for node in nodes), max))
    keys = _keys(nodes, {step.key for step in steps})
    nested_steps: list[RecordedStep] = []
    started_count = 0
    turn = steps[0].key
    for step in steps:
        number = _number(step, remaining_results)
        owner = owners.get(number) if number is not None and step.type is not StepType.TURN else None
        while started_count < len(nodes) and _has_started(
            step, start_messages[started_count], started_count, number, owner
        ):
            nested_steps.append(_container(nodes[started_count], keys[started_count], turn))
            started_count += 1
        if step.type is StepType.TURN:
            turn = step.key
        nested_steps.append(step if owner is None else replace(step, parent=keys[owner]))
    nested_steps += [_container(nodes[index], keys[index], turn) for index in range(started_count, len(nodes))]
    return nested_steps


def _keys(nodes: list[Node], used_keys: set[str]) -> list[str]:
    keys: list[str] = []
    for index, node in enumerate(nodes):
        keys.append(node.key if node.key not in used_keys else f"{node.key}~{index}")
        used_keys.add(keys[-1])
    return keys


def _has_started(step: RecordedStep, start_message: int, index: int, number: int | None, owner: int | None) -> bool:
    """Return True if node `index` started before a step; `start_message` is where it started."""
    if owner is not None:
        return index <= owner
    return step.type is StepType.OUTPUT or (number is not None and start_message < number)


def _number(step: RecordedStep, results: dict[str, Iterator[int]]) -> int | None:
    """Return the number of the message of a step; for a tool step, of its result."""
    if step.type is StepType.TOOL:
        return next(results.get(step.call_id, iter(())), None)
    match = _NUMBER.match(step.key)
    return int(match[1]) if match else None


def _container(node: Node, key: str, parent: str) -> RecordedStep:
    status = StepStatus.PARTIAL if node.is_pending else StepStatus.OK
    facts: JSONObject = {"interrupts": node.interrupts, "resumed_with": node.resumed_with}
    output = node.output if not as_object(node.output).keys() & {"messages"} else None
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
        attributes={name: value for name, value in facts.items() if value},
    )
