"""Plans that foresee requests with new tool results equal plans that build every request."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.core.applied_profile import apply_profile
from replay.core.calls import CachedAnswer
from replay.core.context import ReplayContext
from replay.core.events import StepResolved
from replay.engine.replayer import Replayer
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.planning.plan_environment import PlanEnvironment, Sources
from replay.planning.unrecorded_requests import StoredRequests
from tests.bench.recordings import desk
from tests.support.agent_runs import PARALLEL, SUB_AGENT, agent_run
from tests.support.memory_replays import Replay, replay
from tests.support.recordings import (
    SYSTEM,
    assistant,
    assistant_call,
    conversation,
    model_step,
    tool_message,
    tool_step,
    user,
)
from tests.support.replay_runs import ORDERS, order_desk
from tests.unit.replay.planning.test_shared_plans import Archive, flat, model_entries, plan_as_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.messages import ModelRequest
from traces.payloads.splitter import Splitter
from traces.signatures.ignore_rules import IgnoreRule, IgnoreRules

TOOLS: JSONValue = {"type": "tool"}
Cell = list[JSONValue]


class Recordings:
    """Other runs: replays of the same source in which every request got an answer."""

    def __init__(self, fork: Replay, replays: Iterable[Cell] = (), ignoring: IgnoreRules | None = None) -> None:
        self.fork = fork
        self.ignoring = ignoring or IgnoreRules()
        self.messages: set[str] = set()
        self.signatures: set[str] = set()
        models = [node for node in fork.graph.nodes if node.type is StepType.MODEL]
        self.answers = [node.output_ref for node in models if node.output_ref]
        for node in models:
            self._add_messages(fork.payloads[node.input_ref] if node.input_ref else None)
        for entries in replays:
            self._add_replay(entries)

    def _add_replay(self, entries: Cell) -> None:
        profile = apply_profile(OverrideProfile.model_validate({"overrides": entries}), self.fork.graph)
        environment = PlanEnvironment(replace(self.sources, cached=lambda signature, exclude: None))
        context = ReplayContext(graph=self.fork.graph, profile=profile, policy=Policy(), environment=environment)
        for event in Replayer(context).run():
            if isinstance(event, StepResolved) and event.call.type is StepType.MODEL and event.call.signature:
                self.signatures.add(event.call.signature)
                self._add_messages(event.call.input)

    def _add_messages(self, request: JSONValue) -> None:
        self.messages.update(Splitter().part_digests(ModelRequest(request).messages))

    def cached(self, signature: str, exclude: Collection[UUID]) -> CachedAnswer | None:
        if signature not in self.signatures:
            return None
        ref = self.answers[int(signature[-1], 16) % len(self.answers)]
        location: JSONObject = {"run": "other"}
        return CachedAnswer(output_ref=ref, output=self.fork.payloads[ref], status=StepStatus.OK, location=location)

    def is_any_recorded(self, signatures: Iterable[str]) -> bool:
        own = {node.signature for node in self.fork.graph.nodes}
        return any(signature in own | self.signatures for signature in signatures)

    @property
    def sources(self) -> Sources:
        archive = Archive(self.fork, "")
        requests = StoredRequests(
            payload=self.fork.payloads.__getitem__,
            roots=archive.roots,
            is_any_recorded=self.is_any_recorded,
            ignoring=self.ignoring,
        )
        return replace(
            archive.sources,
            cached=self.cached,
            requests=requests,
            stored_messages=self.messages.intersection,
            ignoring=self.ignoring,
        )

    def assert_shared_plans_equal_lone_plans(self, cells: Iterable[Cell], policy: Policy | None = None) -> list[Any]:
        shared, plans = self.sources, []
        for entries in cells:
            alone = plan_as_json(self.fork, entries, policy or Policy(), self.sources, brief=False)
            assert plan_as_json(self.fork, entries, policy or Policy(), shared, brief=True) == alone
            plans.append(alone)
        return plans


def lost(output: JSONValue = "Lost.", match: JSONValue = TOOLS) -> JSONValue:
    return {"match": match, "tool": {"output": output}}


def composing_run() -> RecordedRun:
    """Code copies values of a tool's result: into the request that reads it, another request, and another call."""
    call, later_call = assistant_call("call-1", "A-1042"), assistant_call("call-2", "B-2077")
    result: JSONObject = {"order_id": "A-1042", "status": "shipped", "carrier": "Northwind Parcels", "next": "B-2077"}
    read: list[JSONValue] = [SYSTEM, user("Where is it?"), call, tool_message("call-1", '{"order_id":"A-1042"}')]
    checked: list[JSONValue] = [*read, user("Is Northwind Parcels late with A-1042?")]
    summary: list[JSONValue] = [SYSTEM, user("Summarize: order A-1042 is shipped by Northwind Parcels.")]
    later: list[JSONValue] = [SYSTEM, later_call, tool_message("call-2", '{"order_id":"B-2077","status":"packed"}')]
    steps = (
        model_step("ask", [SYSTEM, user("Where is it?")], call),
        tool_step("look", "call-1", "A-1042", result),
        model_step("check", checked, assistant("Northwind Parcels is on time.")),
        model_step("sum", summary, assistant("A-1042 is on its way.")),
        tool_step("look-again", "call-2", "B-2077", {"order_id": "B-2077", "status": "packed"}),
        model_step("tell", later, assistant("B-2077 is packed.")),
    )
    return RecordedRun(external_id="composing", name="Composing", app="desk", format="test", steps=steps)


def retried_run() -> RecordedRun:
    """The request that reads a result is made twice."""
    call = assistant_call("call-1", "A-1042")
    read: list[JSONValue] = [SYSTEM, user("Where is it?"), call, tool_message("call-1", "shipped")]
    steps = (
        model_step("ask", read[:2], call),
        tool_step("look", "call-1", "A-1042", "shipped"),
        model_step("tell", read, assistant("")),
        model_step("retry", read, assistant("It is shipped.")),
    )
    return RecordedRun(external_id="retried", name="Retried", app="desk", format="test", steps=steps)


runs = st.one_of(
    st.builds(desk, st.integers(2, 4), st.just("apart")),
    st.sampled_from([order_desk(), flat(order_desk()), conversation(4), composing_run(), retried_run()]),
    st.builds(agent_run, st.sampled_from([SUB_AGENT, PARALLEL]), shape=st.sampled_from(["flat", "nodes"])),
)
# New values, and values that the runs contain: whole results, earlier results, texts inside of others.
outputs = st.sampled_from(
    [
        "Lost.",
        "Lost again.",
        None,
        "shipped",
        ORDERS["A-1"],
        ORDERS["A-2"],
        {"order_id": "A-000000", "status": "shipped", "carrier": "Carrier 0"},
        {"order_id": "A-1042", "status": "lost", "carrier": "Southwind"},
        '{"order_id":"A-1042"}',
    ]
)
matched_tools = st.one_of(st.just(TOOLS), st.integers(1, 9).map(lambda no: {"step": no}))
statuses = st.sampled_from(["ok", "error"])
tool_entries = st.builds(
    lambda match, output, status: {"match": match, "tool": {"output": output, "status": status}},
    matched_tools,
    outputs,
    statuses,
)
cells = st.lists(st.lists(st.one_of(tool_entries, tool_entries, model_entries), max_size=2), min_size=2, max_size=5)
policies = st.builds(
    Policy,
    order=st.sampled_from(["reuse", "reuse", "reexecute"]),
    allow=st.sampled_from([["model"], ["model", "tool"], []]),
    fallback=st.sampled_from(["simulate", "fail"]),
    strict=st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(runs, cells, st.lists(st.booleans(), min_size=5, max_size=5), policies)
def test_shared_plans_equal_lone_plans(
    run: RecordedRun, cells: list[Cell], replayed: list[bool], policy: Policy
) -> None:
    replays = [entries for entries, is_replayed in zip(cells, replayed, strict=False) if is_replayed]
    Recordings(replay(run=run), replays).assert_shared_plans_equal_lone_plans(cells, policy)


@pytest.mark.parametrize("run", [desk(4, "apart"), conversation(6), flat(order_desk())])
@pytest.mark.parametrize("allow", [["model"], []])
def test_cells_with_new_results_share_a_replay(monkeypatch: pytest.MonkeyPatch, run: RecordedRun, allow: Any) -> None:
    recordings = Recordings(replay(run=run))
    shared_sources, replayers, run_replayer = recordings.sources, list[Replayer](), Replayer.run

    def count(replayer: Replayer) -> Any:
        replayers.append(replayer)
        return run_replayer(replayer)

    monkeypatch.setattr(Replayer, "run", count)
    for number in range(4):
        plan_as_json(recordings.fork, [lost(f"Lost {number}.")], Policy(allow=allow), shared_sources, brief=True)
    assert len(replayers) == 1


def test_result_of_another_run_is_looked_up() -> None:
    cells: list[Cell] = [[lost("Lost.")], [lost("Lost again.")], [lost("Gone.")]]
    recordings = Recordings(replay(run=desk(3, "apart")), [[lost("Lost again.")]])
    plans = recordings.assert_shared_plans_equal_lone_plans(cells)
    assert [plan["actions"]["cache"] for plan in plans] == [0, 3, 0]


def test_some_new_results_do_not_stand_for_others() -> None:
    cells: list[Cell] = [[lost("Lost.")], [lost("Gone.")]]
    recordings = Recordings(replay(run=desk(3, "apart")), [[lost("Gone.", {"step": 5})]])
    plans = recordings.assert_shared_plans_equal_lone_plans(cells)
    assert [plan["actions"]["cache"] for plan in plans] == [0, 1]


def test_ignored_result_is_not_new() -> None:
    ignoring = IgnoreRules(rules=(IgnoreRule(type="model", pointer="/messages/*/content"),), version=1)
    recordings = Recordings(replay(run=desk(2, "apart")), ignoring=ignoring)
    [plan] = recordings.assert_shared_plans_equal_lone_plans([[lost()]])
    assert plan["actions"]["live"] == 0


def test_deleted_result_is_not_new() -> None:
    delete: JSONValue = {"match": {"step": 6}, "messages": [{"op": "delete", "index": 3}]}
    warm: JSONValue = {"match": {"step": 1}, "model": {"temperature": 0.5}}
    recordings = Recordings(replay(run=desk(2, "apart")), [[delete]])
    [plan] = recordings.assert_shared_plans_equal_lone_plans([[lost(match={"step": 5}), warm, delete]])
    assert plan["actions"]["cache"] == 1


def test_result_with_copied_values_may_be_unknown() -> None:
    recordings = Recordings(replay(run=composing_run()))
    outputs: list[JSONValue] = ["Lost.", {"order_id": "A-1042", "status": "lost"}, {"carrier": "Southwind"}]
    plans = recordings.assert_shared_plans_equal_lone_plans([[lost(output, {"step": 2})] for output in outputs])
    assert [plan["actions"]["live"] for plan in plans] != [1, 1, 1]


def test_edits_that_equal_the_recording_do_not_hide_a_new_result() -> None:
    same: JSONValue = {"match": {"type": "model"}, "model": {"temperature": 0}}
    recordings = Recordings(replay(run=desk(2, "apart")))
    plans = recordings.assert_shared_plans_equal_lone_plans([[lost("Lost."), same], [lost("Gone."), same]])
    assert [plan["actions"]["live"] for plan in plans] == [2, 2]


def test_repeated_request_contains_the_new_result() -> None:
    recordings = Recordings(replay(run=retried_run()))
    plans = recordings.assert_shared_plans_equal_lone_plans([[lost("Lost.")], [lost("Gone.")]])
    assert [plan["actions"]["live"] for plan in plans] == [2, 2]
