"""Loops with searches between model calls: the search runs again, and its result is injected again."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from replay.core.calls import Call
from replay.overrides.policy import Policy
from tests.support.agent_runs import ANSWER, HEIGHT, ToolCall
from tests.support.memory_replays import labels, replay
from tests.unit.replay.loops.test_subagents import BRIDGE_CALL, ReplayOutcome, calls, final_answer, script
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

OPENING = ["The tower opens at nine in the morning.", "Guides wait at the northern gate."]
PRICES = ["A ticket for the tower costs 12 euros.", "Children pay half of the price."]
QUESTION: JSONObject = {"role": "user", "content": "How high is the tower, and what does it cost?"}


class _Recorder:
    """An agent that searches before each request but the first and receives the result."""

    def __init__(self, role: str, with_results: bool) -> None:
        self.role, self.with_results = role, with_results
        self.steps = [RecordedStep(key="main", type=StepType.AGENT, name="guide", input={"task": "guide"})]
        self.messages: list[JSONValue] = [QUESTION]

    def model(self, request: ToolCall | None) -> None:
        key = f"m{len(self.steps)}"
        message: JSONObject = {"role": "assistant", "content": ANSWER.text}
        if request is not None:
            call: JSONObject = {"id": f"c{key}", "name": request.tool, "arguments": request.arguments}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        self._add(key, StepType.MODEL, "chat", {"messages": list(self.messages)}, {"message": message})
        self.messages.append(message)
        if request is not None and self.with_results:
            content = json.dumps(request.result)
            self._add(f"t{key}", StepType.TOOL, request.tool, request.arguments, request.result, call_id=f"c{key}")
            self.messages.append({"role": "tool", "content": content, "tool_call_id": f"c{key}"})

    def search(self, query: str, texts: Sequence[str]) -> None:
        documents: list[JSONValue] = [{"id": str(at), "content": text} for at, text in enumerate(texts)]
        self._add(f"r{len(self.steps)}", StepType.RETRIEVAL, "library", {"query": query}, {"documents": documents})
        self.messages.append({"role": self.role, "content": "Found:\n" + "\n".join(texts)})

    def _add(self, key: str, type: StepType, name: str, input: JSONValue, output: JSONValue, call_id: str = "") -> None:
        self.steps.append(
            RecordedStep(
                key=key,
                type=type,
                name=name,
                parent="main",
                input=input,
                output=output,
                call_id=call_id,
                tool_name=name if type is StepType.TOOL else "",
                model="m1",
                provider="desk",
            )
        )

    def run(self) -> RecordedRun:
        return RecordedRun(external_id="r", name="r", app="r", format="test", steps=tuple(self.steps))


def searching(role: str = "system") -> RecordedRun:
    """Two calls, each followed by a search for its result and a request with the documents."""
    recorder = _Recorder(role, with_results=True)
    recorder.model(HEIGHT)
    recorder.search(f"guide to: {HEIGHT.result}", OPENING)
    recorder.model(ToolCall("look_up", {"what": "prices of tickets"}, "Prices are on the list at the gate."))
    recorder.search("guide to: Prices are on the list at the gate.", PRICES)
    recorder.model(None)
    return recorder.run()


def catalogue(call: Call) -> list[JSONValue]:
    assert isinstance(call.input, dict)
    return [{"id": "n", "content": f"New words about {call.input['query']}"}]


def replay_search(run: RecordedRun, *answers: JSONObject, entry: JSONObject | None = None) -> ReplayOutcome:
    change: JSONObject = entry or {"match": {"step": 2}, "model": {"temperature": 1}}
    fork = replay(change, run=run, policy=Policy(allow=["model", "retrieval"]))
    return ReplayOutcome(fork, fork.execute(script(*answers), catalogue))


def injected_texts(messages: Sequence[JSONObject], role: str = "system") -> list[str]:
    return [str(message["content"]).strip() for message in messages if message["role"] == role and message != QUESTION]


@pytest.mark.parametrize("role", ["system", "user"])
def test_diverged_loop_receives_search_results(role: str) -> None:
    outcome = replay_search(searching(role), calls(BRIDGE_CALL), calls(HEIGHT), final_answer("Done."))
    assert injected_texts(outcome.messages_of(outcome.models[1]), role) == ["Found:\n" + "\n".join(OPENING)]
    assert len(injected_texts(outcome.messages_of(outcome.models[2]), role)) == 2
    assert [message["role"] for message in outcome.messages_of(outcome.models[2])] == [
        "user",
        "assistant",
        "tool",
        role,
        "assistant",
        "tool",
        role,
    ]
    assert len(outcome.models) == 3
    assert not any("unknown origin" in text or "does not show" in text for text in outcome.divergences)


def test_search_with_changed_query_runs_again() -> None:
    run = searching()
    entries: JSONObject = {"match": {"type": "tool", "name": "measure"}, "tool": {"output": "It is 9 metres high."}}
    outcome = replay_search(run, calls(BRIDGE_CALL), final_answer("Done."), entry=entries)
    assert labels(outcome.events)[4] == "simulated live_retrieval"
    assert injected_texts(outcome.messages_of(outcome.models[0])) == [
        "Found:\nNew words about guide to: It is 9 metres high."
    ]


def test_request_without_search_is_reported() -> None:
    outcome = replay_search(searching(), calls(BRIDGE_CALL), calls(HEIGHT), calls(BRIDGE_CALL), final_answer("Done."))
    assert len(injected_texts(outcome.messages_of(outcome.models[3]))) == 2
    assert sum("without the search" in text for text in outcome.divergences) == 1


def test_message_of_unknown_origin_ends_loop() -> None:
    run = searching()
    steps = [step for step in run.steps if step.type is not StepType.RETRIEVAL]
    outcome = replay_search(
        replace(run, steps=tuple(steps)),
        calls(BRIDGE_CALL),
        final_answer("Done."),
        final_answer("And then?"),
        final_answer("The end."),
    )
    assert [text for text in outcome.divergences if "message of unknown origin" in text]


def test_search_answers_call_without_id() -> None:
    recorder = _Recorder("user", with_results=False)
    recorder.model(ToolCall("search", {"query": "opening hours of the tower"}))
    recorder.search("opening hours of the tower", OPENING)
    recorder.model(None)
    outcome = replay_search(
        recorder.run(), calls(ToolCall("search", {"query": "prices at the tower"})), final_answer("12 euros.")
    )
    assert injected_texts(outcome.messages_of(outcome.models[1]), "user") == [
        "Found:\nNew words about prices at the tower"
    ]
    assert outcome.tools == []
