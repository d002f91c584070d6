"""Plans that differ only in model requests share one run of the engine and equal separate plans."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from replay.core.applied_profile import apply_profile
from replay.engine.replayer import Replayer
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.planning import planner
from replay.planning.plan_environment import Sources
from tests.support.agent_runs import SUB_AGENT, agent_run
from tests.support.memory_replays import Replay, replay
from traces.core.json_types import JSONValue

MODELS: JSONValue = {"type": "model"}
CELLS: list[list[JSONValue]] = [
    [],
    [{"match": MODELS, "model": {"model": "dear"}}],
    [{"match": MODELS, "model": {"model": "cheap"}}, {"match": {"step": 2}, "prompt": {"system": "X"}}],
    [{"match": MODELS, "model": {"model": "unserved"}}],
    [{"match": {"type": "tool"}, "tool": {"output": "said by hand"}}],
    [{"match": {"step": 2}, "output": "said by hand"}],
    [{"match": {"step": 2}, "messages": [{"op": "delete", "index": 0}]}],
]
PRICES = {"dear": 1.0, "cheap": 0.25, "m1": None}


def sources(fork: Replay) -> Sources:
    return Sources(
        payload=fork.payloads.__getitem__,
        cached=lambda signature, exclude: None,
        provider=lambda provider, model, override: None if model == "unserved" else "desk",
        price=lambda provider, model, tokens_in, tokens_out: PRICES[model],
    )


def plan_as_json(fork: Replay, entries: list[JSONValue], policy: Policy, lookups: Sources) -> Any:
    profile = apply_profile(OverrideProfile.model_validate({"overrides": entries}), fork.graph)
    return planner.plan(fork.graph, profile, policy, lookups, brief=True).model_dump()


@pytest.mark.parametrize("order", ["reexecute", "reuse"])
@pytest.mark.parametrize("strict", [False, True])
def test_shared_plans_equal_separate_plans(order: Any, strict: bool) -> None:
    fork, policy = replay(run=agent_run(SUB_AGENT)), Policy(order=order, strict=strict)
    shared_sources = sources(fork)
    for entries in (*CELLS, *reversed(CELLS)):
        assert plan_as_json(fork, entries, policy, shared_sources) == plan_as_json(fork, entries, policy, sources(fork))


@pytest.mark.parametrize("order", ["reexecute", "reuse"])
@pytest.mark.parametrize("entries", CELLS)
def test_brief_plans_equal_full_ones(order: Any, entries: list[JSONValue]) -> None:
    fork, policy = replay(run=agent_run(SUB_AGENT)), Policy(order=order)
    profile = apply_profile(OverrideProfile.model_validate({"overrides": entries}), fork.graph)
    full = planner.plan(fork.graph, profile, policy, sources(fork), list_reused=False).model_dump()
    brief = plan_as_json(fork, entries, policy, sources(fork))
    for step in (*full["steps"], *brief["steps"]):
        step |= {"note": "", "because": [], "differs": []}
    assert brief == full


def test_plans_with_model_edits_share_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[UUID] = []
    run = Replayer.run

    def count_runs(replayer: Replayer) -> Any:
        walks.append(replayer.context.graph.nodes[0].id)
        return run(replayer)

    monkeypatch.setattr(Replayer, "run", count_runs)
    fork = replay(run=agent_run(SUB_AGENT))
    shared_sources = sources(fork)
    for entries in CELLS[:3]:
        plan_as_json(fork, entries, Policy(order="reexecute"), shared_sources)
    assert len(walks) == 1
    for entries in CELLS[3:]:
        plan_as_json(fork, entries, Policy(order="reexecute"), shared_sources)
    assert len(walks) == 4  # the deleted message is in a request that is asked anyway


def test_step_without_request_is_not_shared() -> None:
    run = agent_run(SUB_AGENT)
    steps = [replace(step, input=None) if step.key == "main.0" else step for step in run.steps]
    fork, policy = replay(run=replace(run, steps=tuple(steps))), Policy(order="reexecute")
    shared_sources = sources(fork)
    for entries in CELLS[:3]:
        assert plan_as_json(fork, entries, policy, shared_sources) == plan_as_json(fork, entries, policy, sources(fork))
