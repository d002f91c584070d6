"""Recordings that are themselves replays: some of their outputs are overrides, placeholders or answers of others."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Final

from replay.core.graph import ReplayOutput
from tests.support.memory_replays import Replay
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Label, Reason

NO_REPLAY_OUTPUTS: Final[Mapping[int, ReplayOutput]] = {}
_OUTPUTS: Final = (
    ReplayOutput(label=Label.SIMULATED, reason=Reason.OPERATOR_OVERRIDE),
    ReplayOutput(label=Label.SIMULATED, reason=Reason.LIVE_MODEL),
    ReplayOutput(label=Label.SIMULATED, reason=Reason.DERIVED),
    ReplayOutput(label=Label.CACHED, reason=Reason.CACHE_SEMANTIC),
)


def random_replay_outputs(run: RecordedRun, random: Random) -> dict[int, ReplayOutput]:
    numbers = random.sample(range(1, len(run.steps) + 1), k=max(1, len(run.steps) // 3))
    return {no: random.choice(_OUTPUTS) for no in numbers}


def mark_replay_outputs(fork: Replay, outputs: Mapping[int, ReplayOutput]) -> None:
    """Mark the steps of a fork's source whose outputs came about in a replay."""
    nodes = [replace(node, replay_output=outputs.get(node.no)) for node in fork.graph.nodes]
    fork.graph = replace(fork.graph, nodes=tuple(nodes))
