"""Recordings with damage: payloads that were not recorded, were hidden by a recorder, or are lost in the store."""

import re
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Final

from tests.support.memory_replays import Replay
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.payloads.lost_payloads import Loss, LostPayload, LostPayloads
from traces.payloads.parts import MissingPart

_HIDDEN: Final = ("__REDACTED__", "<truncated due to size exceeding limit>", "[redaction-failed]")
_MASKED: Final = re.compile(r"[A-C]-\d+")
_KEPT: Final = frozenset({"role", "id", "tool_call_id", "name", "type"})
# Fields that are lost, by step.
Losses = Mapping[int, tuple[str, ...]]
NO_LOSSES: Final[Losses] = {}


class _Payloads(dict[str, JSONValue]):
    """Raises the error of the store for payloads that are lost."""

    def __missing__(self, ref: str) -> JSONValue:
        raise MissingPart(ref)


def hide_contents(run: RecordedRun, random: Random, kept: frozenset[str]) -> RecordedRun:
    """Hide inputs of some steps, or mask ids in all of them; steps with the keys in `kept` stay."""
    if random.random() < 0.3:
        steps = [step if step.key in kept else _masked(step) for step in run.steps]
        return replace(run, steps=tuple(steps))
    mark, share = random.choice(_HIDDEN), random.choice((0.3, 1.0))
    steps = [
        step if step.key in kept or random.random() > share else replace(step, input=_with_marks(step.input, mark))
        for step in run.steps
    ]
    return replace(run, steps=tuple(steps))


def random_losses(run: RecordedRun, random: Random) -> Losses:
    numbers = random.sample(range(1, len(run.steps) + 1), k=min(2, len(run.steps)))
    return {no: random.choice((("input",), ("output",), ("input", "output"))) for no in numbers}


def lose(fork: Replay, losses: Losses) -> None:
    """Lose payloads of a fork's source, with the equal ones of other steps."""
    nodes = {node.no: node for node in fork.graph.nodes}
    refs = {getattr(nodes[no], f"{field}_ref") for no, fields in losses.items() if no in nodes for field in fields}
    lost: dict[int, LostPayloads] = {}
    for node in nodes.values():
        fields = [field for field in ("input", "output") if getattr(node, f"{field}_ref") in refs - {""}]
        if fields:
            lost[node.no] = tuple(LostPayload(field=field, loss=Loss.MISSING, digest="0") for field in fields)
    fork.payloads = _Payloads({ref: value for ref, value in fork.payloads.items() if ref not in refs})
    new_nodes = [replace(node, losses=lost.get(node.no, ())) for node in nodes.values()]
    new_nodes = [replace(node, output_ref="") if node.lacks("output") else node for node in new_nodes]
    fork.graph = replace(fork.graph, nodes=tuple(new_nodes))


def _masked(step: RecordedStep) -> RecordedStep:
    return replace(step, input=_with_mask(step.input), output=_with_mask(step.output))


def _with_mask(value: JSONValue) -> JSONValue:
    if isinstance(value, str):
        return _MASKED.sub("[REDACTED]", value)
    if isinstance(value, dict):
        return {name: _with_mask(item) for name, item in value.items()}
    return [_with_mask(item) for item in value] if isinstance(value, list) else value


def _with_marks(value: JSONValue, mark: str) -> JSONValue:
    if isinstance(value, str):
        return mark
    if isinstance(value, dict):
        return {name: item if name in _KEPT else _with_marks(item, mark) for name, item in value.items()}
    return [_with_marks(item, mark) for item in value] if isinstance(value, list) else value
