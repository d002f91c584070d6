"""The monitor of a counterfactual replay: its result, and where it would begin to guess."""

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
from tests.support.replay_runs import POLICY, Reply, ToolCall, graph_of, order_desk
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType


class LiveCall(Exception):
    """The replay makes a live call."""


@dataclass
class Memory:
    """An environment of recorded answers only."""

    payloads: dict[str, JSONValue]
    coupling: Coupling
    planning: bool = False

    def payload(self, ref: str) -> JSONValue:
        return self.payloads[ref]

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        answer = self.coupling.answer(signature)
        output = None if answer is None else self.payloads[answer.output_ref]
        return (
            None
            if answer is None
            else CachedAnswer(output_ref=answer.output_ref, output=output, status=answer.status, location={})
        )

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        return None

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        return "recorded"

    def live(self, call: Call, provider: str) -> Answer:
        raise LiveCall(f"step {call.no}")

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


def probe(run: RecordedRun, *entries: Any, other_runs: Sequence[RecordedRun] = ()) -> Result:
    graph, payloads = graph_of(run)
    recordings = []
    for recorded_run in (run, *other_runs):
        nodes, values = graph_of(recorded_run)
        payloads |= values
        index: dict[str, list[RecordedAnswer]] = {}
        for node in nodes.nodes:
            if node.signature:
                answer = RecordedAnswer(run=uuid4(), step=node.no, output_ref=node.output_ref, status=node.status)
                index.setdefault(node.signature, []).append(answer)
        recordings.append(index)
    coupling = Coupling(recordings=recordings)
    monitor = ReplayMonitor(graph=graph, coupling=coupling)
    environment = Memory(payloads=payloads, coupling=coupling)
    profile = apply_profile(OverrideProfile.model_validate({"overrides": list(entries)}), graph)
    policy = Policy(allow=["model"], semantic_threshold=1.0)
    context = ReplayContext(graph=graph, profile=profile, policy=policy, environment=environment)
    for event in Replayer(context).run():
        monitor.observe(event, payloads.__getitem__)
    return monitor.result(payloads.__getitem__)


def test_steps_assumed_unaffected_are_counted() -> None:
    graph, payloads = graph_of(talk(LOST_ORDER, answer="You get a refund."))
    monitor = ReplayMonitor(graph=graph, coupling=Coupling(recordings=[]))
    event = StepsReused(first=1, last=len(graph.nodes), offset=0, assumptions={3: {}, 5: {}})
    monitor.observe(event, payloads.__getitem__)
    assert monitor.assumed_steps == 2


LOST_ORDER: JSONValue = {"id": "A-1", "status": "lost in transit", "carrier": "northern parcels"}
SENT_ORDER: JSONValue = {"id": "A-1", "status": "sent", "carrier": "northern parcels"}


def talk(order: JSONValue, *turns: ToolCall, answer: str) -> RecordedRun:
    asks = ToolCall("get_order", {"order_id": "A-1"}, order)
    return order_desk((("Where is my order A-1?", (asks, *turns, Reply(answer))),))


def test_other_runs_answers_complete_the_replay() -> None:
    search = ToolCall("search_policy", {"query": "what happens with lost parcels"}, POLICY)
    base, candidate = talk(LOST_ORDER, search, answer="You get a refund."), talk(SENT_ORDER, answer="It is on its way.")
    result = probe(base, {"match": {"step": 4}, "tool": {"output": SENT_ORDER}}, other_runs=[candidate])
    assert result.answer == "It is on its way."
    assert [call.tool for call in result.tools] == ["get_order"]
    assert probe(base).answer == "You get a refund."


def test_output_is_linked_by_its_recorded_number() -> None:
    """With one more call, the output has another number in the replay than in the recording."""
    lost, answer = "It never came and I want to know why.", "You get a refund for the order A-1."
    missing = "It has not come and I want to know why."
    order = ToolCall("get_order", {"order_id": "A-1"}, LOST_ORDER)
    search = ToolCall("search_policy", {"query": "what happens with lost parcels"}, POLICY)
    base = order_desk(((lost, (order, Reply(answer))),))
    candidate = order_desk(((missing, (order, search, Reply(answer))),))
    model_steps = [number for number, step in enumerate(base.steps, 1) if step.type is StepType.MODEL]
    edit = {"op": "replace", "index": 1, "content": missing}
    entries = [{"match": {"step": number}, "messages": [edit]} for number in model_steps]
    result = probe(base, *entries, other_runs=[candidate])
    assert result.answer == answer
    assert [call.tool for call in result.tools] == ["get_order", "search_policy"]


def test_unrecorded_call_is_not_guessed() -> None:
    base, candidate = talk(LOST_ORDER, answer="You get a refund."), talk(SENT_ORDER, answer="It is on its way.")
    with pytest.raises(LiveCall, match="step 5"):
        probe(base, {"match": {"step": 4}, "tool": {"output": "something else"}}, other_runs=[candidate])


def test_unrecorded_tool_is_named() -> None:
    mail = ToolCall("send_email", {"to": "a customer"}, "sent")
    base, candidate = talk(LOST_ORDER, answer="You get a refund."), talk(SENT_ORDER, mail, answer="I wrote to you.")
    steps = [step for step in candidate.steps if step.tool_name != "send_email"]
    incomplete_candidate = replace(candidate, steps=tuple(steps))
    with pytest.raises(MissingAnswer, match="send_email") as error:
        probe(base, {"match": {"step": 4}, "tool": {"output": SENT_ORDER}}, other_runs=[incomplete_candidate])
    assert error.value.call is not None
    assert error.value.call.callee == "send_email"


def test_replay_stops_at_an_undecided_check() -> None:
    base = talk(LOST_ORDER, answer="You get a refund.")
    check = RecordedStep(
        key="check",
        type=StepType.VALIDATOR,
        name="fits",
        input={"answer": "You get a refund.", "order": LOST_ORDER},
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
    run_with_check = replace(base, steps=(*base.steps[:-1], check, base.steps[-1]))
    candidate = talk(SENT_ORDER, answer="It is on its way.")
    change = {"match": {"step": 4}, "tool": {"output": SENT_ORDER}}
    assert probe(run_with_check, change, other_runs=[candidate]).answer == "It is on its way."
    run_with_retry = replace(base, steps=(*base.steps[:-1], check, retry, base.steps[-1]))
    with pytest.raises(MissingAnswer, match="own code"):
        probe(run_with_retry, change, other_runs=[candidate])


def test_questions_distinguish_outcomes() -> None:
    first = Result(answer="You get 42.00 EUR back, on 2026-05-01.")
    second = Result(answer="you get  42.00 EUR back, on 2026-05-01.", failed=True)
    new_wording = Result(answer="On 2026-05-01 we pay 42.00 EUR.")
    less = Result(answer="You get 40.00 EUR back, on 2026-05-01.")
    for kind, same in (("answer", [first, second]), ("answer_facts", [first, second, new_wording])):
        evidence_question = question(kind, [])  # type: ignore[arg-type]  # one of the kinds
        values = [
            value(evidence_question, result, first_error_isolated) for result in (first, second, new_wording, less)
        ]
        assert [answer == values[0] for answer in values] == [
            result in same for result in (first, second, new_wording, less)
        ]
    exact, status = question("answer_exact", []), question("status", [])
    assert value(exact, first, first_error_isolated) != value(exact, second, first_error_isolated)
    assert [value(status, result, first_error_isolated) for result in (first, second)] == ["completed", "failed"]
    assert describe(status, second, first_error_isolated) == "it fails"
    assert classify("x", base="b", candidate="x") == "candidate"


def test_a_request_without_the_edited_passage_is_no_answer() -> None:
    """The passage was in a tool's result, which another change of the same probe replaced."""
    run_with_lost_order = talk(LOST_ORDER, answer="You get a refund.")
    entry = {"match": {"step": 5}, "messages": [{"op": "replace", "index": 1, "passages": [LOST_PASSAGE]}]}
    with pytest.raises(MissingAnswer, match="combination of answers"):
        probe(run_with_lost_order, entry)


LOST_PASSAGE = {"before": "words that the message has no longer", "after": "other words"}
