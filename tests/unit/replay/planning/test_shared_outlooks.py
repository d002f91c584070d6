"""Plans that only ask the models otherwise share one walk, and say what each of them would say alone."""

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
from tests.support.agent_runs import NESTED, agent_run
from tests.unit.replay.engine.test_replayer import Replay, replay
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


def sources(of: Replay) -> Sources:
    return Sources(
        payload=of.payloads.__getitem__,
        cached=lambda signature, exclude: None,
        provider=lambda provider, model, override: None if model == "unserved" else "desk",
        price=lambda provider, model, tokens_in, tokens_out: PRICES[model],
    )


def planned(of: Replay, entries: list[JSONValue], policy: Policy, looked_up: Sources) -> Any:
    profile = apply_profile(OverrideProfile.model_validate({"overrides": entries}), of.graph)
    return planner.plan(of.graph, profile, policy, looked_up, brief=True).model_dump()


@pytest.mark.parametrize("order", ["reexecute", "reuse"])
@pytest.mark.parametrize("strict", [False, True])
def test_shared_plans_say_what_each_would_say_alone(order: Any, strict: bool) -> None:
    of, policy = replay(run=agent_run(NESTED)), Policy(order=order, strict=strict)
    shared = sources(of)
    for entries in (*CELLS, *reversed(CELLS)):
        assert planned(of, entries, policy, shared) == planned(of, entries, policy, sources(of))


@pytest.mark.parametrize("order", ["reexecute", "reuse"])
@pytest.mark.parametrize("entries", CELLS)
def test_brief_plans_say_the_same_as_full_ones(order: Any, entries: list[JSONValue]) -> None:
    of, policy = replay(run=agent_run(NESTED)), Policy(order=order)
    profile = apply_profile(OverrideProfile.model_validate({"overrides": entries}), of.graph)
    full = planner.plan(of.graph, profile, policy, sources(of), list_reused=False).model_dump()
    brief = planned(of, entries, policy, sources(of))
    for step in (*full["steps"], *brief["steps"]):
        step |= {"note": "", "because": [], "differs": []}
    assert brief == full


def test_plans_that_only_ask_models_otherwise_walk_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[UUID] = []
    run = Replayer.run

    def counted(replayer: Replayer) -> Any:
        walks.append(replayer.context.graph.nodes[0].id)
        return run(replayer)

    monkeypatch.setattr(Replayer, "run", counted)
    of = replay(run=agent_run(NESTED))
    shared = sources(of)
    for entries in CELLS[:3]:
        planned(of, entries, Policy(order="reexecute"), shared)
    assert len(walks) == 1
    for entries in CELLS[3:]:
        planned(of, entries, Policy(order="reexecute"), shared)
    assert len(walks) == 4  # the deleted message is in a request that is asked anyway


def test_a_model_step_without_its_request_shares_nothing() -> None:
    run = agent_run(NESTED)
    steps = [replace(step, input=None) if step.key == "main.0" else step for step in run.steps]
    of, policy = replay(run=replace(run, steps=tuple(steps))), Policy(order="reexecute")
    shared = sources(of)
    for entries in CELLS[:3]:
        assert planned(of, entries, policy, shared) == planned(of, entries, policy, sources(of))
