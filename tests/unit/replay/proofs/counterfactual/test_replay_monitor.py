"""Following a counterfactual walk: what it came to, and where it would have begun to guess."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from replay.core.applied_profile import apply_profile
from replay.core.calls import Answer, CachedAnswer, Call, OperatorAnswer, RetrieverMatch, ToolReview
from replay.core.context import ReplayContext
from replay.core.events import StepsReused
from replay.engine.replayer import Replayer
from replay.live.matching_process import first_error_isolated
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.proofs.counterfactual.coupling import Coupling, RecordedAnswer
from replay.proofs.counterfactual.outcomes import Result, classify, describe, question, value
from replay.proofs.counterfactual.replay_monitor import MissingAnswer, ReplayMonitor
from tests.support.replay_runs import POLICY, Asks, Says, graph_of, order_desk
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType


class Asked(Exception):
    """Somebody would have to be asked."""


@dataclass
class Memory:
    """Only what was recorded."""

    payloads: dict[str, JSONValue]
    coupling: Coupling
    planning: bool = False

    def payload(self, ref: str) -> JSONValue:
        return self.payloads[ref]

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        found = self.coupling.answer(signature)
        output = None if found is None else self.payloads[found.output_ref]
        return (
            None
            if found is None
            else CachedAnswer(output_ref=found.output_ref, output=output, status=found.status, location={})
        )

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        return None

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        return "recorded"

    def live(self, call: Call, provider: str) -> Answer:
        raise Asked(f"step {call.no}")

    def tool(self, name: str) -> ToolReview:
        return ToolReview(safe=True)

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        raise AssertionError(f"{call.callee} must not run")

    def retriever(self, call: Call) -> RetrieverMatch:
        return RetrieverMatch()

    def live_retrieval(self, call: Call, serving: RetrieverMatch) -> Answer:
        raise AssertionError("nothing is searched")

    def ask(self, call: Call) -> OperatorAnswer | None:
        return None

    def committed_answer(self, no: int) -> Answer | None:
        return None


def probe(run: RecordedRun, *entries: Any, others: Sequence[RecordedRun] = ()) -> Result:
    graph, payloads = graph_of(run)
    recordings = []
    for other in (run, *others):
        nodes, values = graph_of(other)
        payloads |= values
        index: dict[str, list[RecordedAnswer]] = {}
        for node in nodes.nodes:
            if node.signature:
                answer = RecordedAnswer(run=uuid4(), step=node.no, output_ref=node.output_ref, status=node.status)
                index.setdefault(node.signature, []).append(answer)
        recordings.append(index)
    coupling = Coupling(recordings=recordings)
    watch = ReplayMonitor(graph=graph, coupling=coupling)
    world = Memory(payloads=payloads, coupling=coupling)
    profile = apply_profile(OverrideProfile.model_validate({"overrides": list(entries)}), graph)
    policy = Policy(allow=["model"], semantic_threshold=1.0)
    context = ReplayContext(graph=graph, profile=profile, policy=policy, environment=world)
    for event in Replayer(context).run():
        watch.observe(event, payloads.__getitem__)
    return watch.result(payloads.__getitem__)


def test_steps_assumed_unaffected_are_counted() -> None:
    graph, payloads = graph_of(talk(LOST, answer="You get a refund."))
    watch = ReplayMonitor(graph=graph, coupling=Coupling(recordings=[]))
    kept = StepsReused(first=1, last=len(graph.nodes), offset=0, assumptions={3: {}, 5: {}})
    watch.observe(kept, payloads.__getitem__)
    assert watch.assumed_steps == 2


LOST: JSONValue = {"id": "A-1", "status": "lost in transit", "carrier": "northern parcels"}
SENT: JSONValue = {"id": "A-1", "status": "sent", "carrier": "northern parcels"}


def talk(order: JSONValue, *turns: Asks, answer: str) -> RecordedRun:
    asks = Asks("get_order", {"order_id": "A-1"}, order)
    return order_desk((("Where is my order A-1?", (asks, *turns, Says(answer))),))


def test_with_the_other_runs_answers_a_change_is_followed_to_the_end() -> None:
    search = Asks("search_policy", {"query": "what happens with lost parcels"}, POLICY)
    base, candidate = talk(LOST, search, answer="You get a refund."), talk(SENT, answer="It is on its way.")
    found = probe(base, {"match": {"step": 4}, "tool": {"output": SENT}}, others=[candidate])
    assert found.answer == "It is on its way."
    assert [used.tool for used in found.tools] == ["get_order"]
    assert probe(base).answer == "You get a refund."


def test_a_call_that_nobody_recorded_is_not_guessed() -> None:
    base, candidate = talk(LOST, answer="You get a refund."), talk(SENT, answer="It is on its way.")
    with pytest.raises(Asked, match="step 5"):
        probe(base, {"match": {"step": 4}, "tool": {"output": "something else"}}, others=[candidate])


def test_a_tool_that_nobody_recorded_is_missed_by_its_name() -> None:
    mail = Asks("send_email", {"to": "a customer"}, "sent")
    base, candidate = talk(LOST, answer="You get a refund."), talk(SENT, mail, answer="I wrote to you.")
    steps = [step for step in candidate.steps if step.tool_name != "send_email"]
    without = replace(candidate, steps=tuple(steps))
    with pytest.raises(MissingAnswer, match="send_email") as missed:
        probe(base, {"match": {"step": 4}, "tool": {"output": SENT}}, others=[without])
    assert missed.value.call is not None
    assert missed.value.call.callee == "send_email"


def test_nothing_is_told_beyond_a_check_that_only_code_can_decide() -> None:
    base = talk(LOST, answer="You get a refund.")
    check = RecordedStep(
        key="check",
        type=StepType.VALIDATOR,
        name="fits",
        input={"answer": "You get a refund.", "order": LOST},
        output={"decision": "pass"},
    )
    own: JSONValue = {"messages": [{"role": "user", "content": "Sum up."}]}
    retry = RecordedStep(
        key="again",
        type=StepType.MODEL,
        name="desk",
        provider="desk",
        model="m1",
        input=own,
        output={"message": {"role": "assistant", "content": "Sorry."}},
    )
    checked = replace(base, steps=(*base.steps[:-1], check, base.steps[-1]))
    candidate = talk(SENT, answer="It is on its way.")
    change = {"match": {"step": 4}, "tool": {"output": SENT}}
    assert probe(checked, change, others=[candidate]).answer == "It is on its way."
    retried = replace(base, steps=(*base.steps[:-1], check, retry, base.steps[-1]))
    with pytest.raises(MissingAnswer, match="own code"):
        probe(retried, change, others=[candidate])


def test_the_questions_tell_outcomes_apart_each_in_its_way() -> None:
    one = Result(answer="You get 42.00 EUR back, on 2026-05-01.")
    other = Result(answer="you get  42.00 EUR back, on 2026-05-01.", failed=True)
    worded = Result(answer="On 2026-05-01 we pay 42.00 EUR.")
    less = Result(answer="You get 40.00 EUR back, on 2026-05-01.")
    for kind, same in (("answer", [one, other]), ("answer_facts", [one, other, worded])):
        asked = question(kind, [])  # type: ignore[arg-type]  # one of the kinds
        values = [value(asked, result, first_error_isolated) for result in (one, other, worded, less)]
        assert [found == values[0] for found in values] == [result in same for result in (one, other, worded, less)]
    exact, status = question("answer_exact", []), question("status", [])
    assert value(exact, one, first_error_isolated) != value(exact, other, first_error_isolated)
    assert [value(status, each, first_error_isolated) for each in (one, other)] == ["completed", "failed"]
    assert describe(status, other, first_error_isolated) == "it fails"
    assert classify("x", base="b", candidate="x") == "candidate"
