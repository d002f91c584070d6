"""Values that a recording does not contain: labels of steps after a change, live calls and cached answers."""

from uuid import UUID

import pytest

from replay.core.calls import CachedAnswer, ToolReview
from replay.engine.replayer import Replayer
from replay.inputs.placeholders import placeholder
from replay.resolution.redacted_values import RedactedValues
from tests.support.memory_replays import MemoryEnvironment, Replay, labels, replay, resolved_step
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType


def _fork(text: str, **edits: JSONValue) -> Replay:
    """Fork of three questions with the same text, at the first one."""
    request: JSONValue = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]}
    steps = [
        RecordedStep(
            key=answer,
            type=StepType.MODEL,
            name="desk",
            input=request,
            output={"message": {"role": "assistant", "content": answer}},
        )
        for answer in ("It is lost.", "It is sold.", "It is here.")
    ]
    run = RecordedRun(external_id="r", name="r", app="a", format="test", steps=tuple(steps))
    return replay({"match": {"step": 1}, **edits}, run=run)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("__REDACTED__", "simulated assumed_unaffected"),
        ("Write to [dropped:email].", "simulated assumed_unaffected"),
        ("Write to <masked>.", "simulated assumed_unaffected"),
        ("Write to [redacted:email:0123456789abcdef].", "exact source_output_reused"),
        ("Write to a@example.org.", "exact source_output_reused"),
    ],
)
def test_step_with_hidden_input_is_not_exact_after_a_change(text: str, label: str) -> None:
    """Equal marks may hide different values, which code may have made from the changed answer."""
    fork = _fork(text, output="Nothing is known.")
    assert [labels(fork.execute())[no] for no in (2, 3)] == [label, label]


class _CacheEnvironment(MemoryEnvironment):
    def cached(self, signature: str, *, exclude: object) -> CachedAnswer:
        return CachedAnswer(
            output_ref="x", output="It is cached.", status=StepStatus.OK, location={"run": str(UUID(int=1))}
        )


@pytest.mark.parametrize(("text", "is_cached"), [("__REDACTED__", False), ("Where is it?", True)])
def test_hidden_call_gets_no_cached_answer(text: str, is_cached: bool) -> None:
    fork = _fork(text, model={"temperature": 0.5})
    events = Replayer(fork.context(_CacheEnvironment(payloads=fork.payloads))).run()
    assert labels(list(events))[1].startswith("cached") is is_cached


@pytest.mark.parametrize(
    ("type", "text", "reason"),
    [
        (StepType.MODEL, "__REDACTED__", "(hidden)"),
        (StepType.TOOL, "Write to [dropped:email].", "(email)"),
        (StepType.MODEL, "Replace names with [REDACTED].", ""),
        (StepType.TOOL, placeholder(StepType.TOOL, "it is not known"), "its input contains a placeholder"),
        (StepType.MODEL, placeholder(StepType.TOOL, "it is not known"), ""),
    ],
)
def test_request_without_some_values_cannot_be_sent(type: StepType, text: JSONValue, reason: str) -> None:
    answer = RedactedValues().reason(type, {"messages": [{"role": "user", "content": text}], "query": text})
    assert reason in answer
    assert bool(answer) is bool(reason)


class _SafeTools(MemoryEnvironment):
    def tool(self, name: str) -> ToolReview:
        return ToolReview(safe=True)


def test_live_answer_to_a_placeholder_says_so() -> None:
    call: JSONValue = {"id": "c", "name": "get_order", "arguments": {"order_id": "B-2"}}
    message: JSONValue = {"role": "assistant", "content": None, "tool_calls": [call]}
    fork = replay({"match": {"step": 3}, "output": {"message": message}}, fork=3)
    world = _SafeTools(payloads=fork.payloads, model=lambda call: {"content": "It was lost."})
    events = list(Replayer(fork.context(world)).run())
    assert resolved_step(events, 4).answer.reason == "simulation_policy_fallback"
    answer = resolved_step(events, 5).answer
    assert (answer.reason, answer.detail["placeholders"]) == ("live_model_call", [3])
    assert answer.note == "Message 3 of its input contains a placeholder instead of an answer"
    original = replay({"match": {"step": 4}, "tool": {"output": "lost"}}, fork=4)
    world = _SafeTools(payloads=original.payloads, model=lambda call: {"content": "It was lost."})
    events = list(Replayer(original.context(world)).run())
    assert "placeholders" not in resolved_step(events, 5).answer.detail
