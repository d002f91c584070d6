"""Loops whose model is told between its calls what a search found: the search is made again, and told again."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from replay.core.calls import Call
from replay.overrides.policy import Policy
from tests.support.agent_runs import ANSWER, HEIGHT, Asks
from tests.unit.replay.engine.test_replayer import labels, replay
from tests.unit.replay.loops.test_subagents import OTHER, Went, calls, says, script
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

OPENING = ["The tower opens at nine in the morning.", "Guides wait at the northern gate."]
PRICES = ["A ticket for the tower costs 12 euros.", "Children pay half of the price."]
ASKED: JSONObject = {"role": "user", "content": "How high is the tower, and what does it cost?"}


class _Recorder:
    """An agent that searches before each request but the first, and is told what was found."""

    def __init__(self, role: str, with_results: bool) -> None:
        self.role, self.with_results = role, with_results
        self.steps = [RecordedStep(key="main", type=StepType.AGENT, name="guide", input={"task": "guide"})]
        self.messages: list[JSONValue] = [ASKED]

    def model(self, asked: Asks | None) -> None:
        key = f"m{len(self.steps)}"
        message: JSONObject = {"role": "assistant", "content": ANSWER.text}
        if asked is not None:
            call: JSONObject = {"id": f"c{key}", "name": asked.tool, "arguments": asked.arguments}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        self._add(key, StepType.MODEL, "chat", {"messages": list(self.messages)}, {"message": message})
        self.messages.append(message)
        if asked is not None and self.with_results:
            content = json.dumps(asked.result)
            self._add(f"t{key}", StepType.TOOL, asked.tool, asked.arguments, asked.result, call_id=f"c{key}")
            self.messages.append({"role": "tool", "content": content, "tool_call_id": f"c{key}"})

    def search(self, query: str, found: Sequence[str]) -> None:
        documents: list[JSONValue] = [{"id": str(at), "content": text} for at, text in enumerate(found)]
        self._add(f"r{len(self.steps)}", StepType.RETRIEVAL, "library", {"query": query}, {"documents": documents})
        self.messages.append({"role": self.role, "content": "Found:\n" + "\n".join(found)})

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
    """Two calls; after each, a search in the words of its result, and a request that tells what was found."""
    recorder = _Recorder(role, with_results=True)
    recorder.model(HEIGHT)
    recorder.search(f"guide to: {HEIGHT.result}", OPENING)
    recorder.model(Asks("look_up", {"what": "prices of tickets"}, "Prices are on the list at the gate."))
    recorder.search("guide to: Prices are on the list at the gate.", PRICES)
    recorder.model(None)
    return recorder.run()


def found(call: Call) -> list[JSONValue]:
    assert isinstance(call.input, dict)
    return [{"id": "n", "content": f"New words about {call.input['query']}"}]


def went(run: RecordedRun, *answers: JSONObject, entry: JSONObject | None = None) -> Went:
    change: JSONObject = entry or {"match": {"step": 2}, "model": {"temperature": 1}}
    fork = replay(change, run=run, policy=Policy(allow=["model", "retrieval"]))
    return Went(fork, fork.execute(script(*answers), found))


def told(asked: Sequence[JSONObject], role: str = "system") -> list[str]:
    return [str(message["content"]).strip() for message in asked if message["role"] == role and message != ASKED]


@pytest.mark.parametrize("role", ["system", "user"])
def test_requests_of_a_loop_that_goes_another_way_are_told_what_the_searches_find(role: str) -> None:
    gone = went(searching(role), calls(OTHER), calls(HEIGHT), says("Done."))
    assert told(gone.asked(gone.models[1]), role) == ["Found:\n" + "\n".join(OPENING)]
    assert len(told(gone.asked(gone.models[2]), role)) == 2
    assert [message["role"] for message in gone.asked(gone.models[2])] == [
        "user",
        "assistant",
        "tool",
        role,
        "assistant",
        "tool",
        role,
    ]
    assert len(gone.models) == 3
    assert not any("unknown origin" in text or "does not show" in text for text in gone.said)


def test_a_search_whose_query_holds_what_changed_is_made_again_before_it_is_told() -> None:
    run = searching()
    entries: JSONObject = {"match": {"type": "tool", "name": "measure"}, "tool": {"output": "It is 9 metres high."}}
    gone = went(run, calls(OTHER), says("Done."), entry=entries)
    assert labels(gone.events)[4] == "simulated live_retrieval"
    assert told(gone.asked(gone.models[0])) == ["Found:\nNew words about guide to: It is 9 metres high."]


def test_a_request_beyond_the_recording_says_that_nothing_was_searched_for_it() -> None:
    gone = went(searching(), calls(OTHER), calls(HEIGHT), calls(OTHER), says("Done."))
    assert len(told(gone.asked(gone.models[3]))) == 2
    assert sum("without the search" in text for text in gone.said) == 1


def test_words_of_somebody_else_between_calls_end_the_loop_before_them_and_that_is_said() -> None:
    run = searching()
    steps = [step for step in run.steps if step.type is not StepType.RETRIEVAL]
    gone = went(replace(run, steps=tuple(steps)), calls(OTHER), says("Done."), says("And then?"), says("The end."))
    assert [text for text in gone.said if "message of unknown origin" in text]


def test_a_call_whose_result_is_told_without_its_id_is_answered_by_the_search() -> None:
    recorder = _Recorder("user", with_results=False)
    recorder.model(Asks("search", {"query": "opening hours of the tower"}))
    recorder.search("opening hours of the tower", OPENING)
    recorder.model(None)
    again = went(recorder.run(), calls(Asks("search", {"query": "prices at the tower"})), says("12 euros."))
    assert told(again.asked(again.models[1]), "user") == ["Found:\nNew words about prices at the tower"]
    assert again.tools == []
