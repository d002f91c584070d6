"""Hook registry: which answer wins, which hooks an event reaches, and which answers are valid."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.core.hooks import Allow, AppendContext, Continue, Decision, Deny, ModifyArgs, Stop, SystemMessage
from replay.hooks.registry import Hook, HookAnswer, HookFailure, Registry, matches, parse_decision, winning_answer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import HookEvent

BEFORE = (Deny(message="no"), ModifyArgs(args={"n": 1}), ModifyArgs(args={"n": 2}), Allow(), Continue())
ELSE = (Stop(reason="enough"), SystemMessage(text="a"), AppendContext(text="b"), Continue())
OTHER_EVENTS = [event for event in HookEvent if event is not HookEvent.PRE_TOOL_USE]


def answers_of(decisions: list[Decision]) -> list[HookAnswer]:
    return [HookAnswer(hook=f"h{at}", decision=decision) for at, decision in enumerate(decisions)]


def strength(event: HookEvent, answer: HookAnswer | Decision | None) -> int:
    decision = answer.decision if isinstance(answer, HookAnswer) else answer
    order: dict[bool, tuple[type, ...]] = {True: (Deny, ModifyArgs), False: (Stop, SystemMessage, AppendContext)}
    kinds = order[event is HookEvent.PRE_TOOL_USE]
    return kinds.index(type(decision)) if type(decision) in kinds else len(kinds)


@given(st.lists(st.sampled_from(BEFORE)), st.randoms())
def test_strongest_decision_wins_before_tool(decisions: list[Decision], random: Callable[..., None]) -> None:
    event = HookEvent.PRE_TOOL_USE
    winner = winning_answer(event, answers_of(decisions))
    shuffled_decisions = list(decisions)
    random.shuffle(shuffled_decisions)  # type: ignore[attr-defined]  # hypothesis's random
    second_winner = winning_answer(event, answers_of(shuffled_decisions))
    assert strength(event, winner) == min((strength(event, item) for item in decisions), default=2)
    assert strength(event, second_winner) == strength(event, winner)
    if any(isinstance(item, Deny) for item in decisions):
        assert winner is not None
        assert isinstance(winner.decision, Deny)


@given(st.sampled_from(OTHER_EVENTS), st.lists(st.sampled_from(ELSE)), st.randoms())
def test_stop_outranks_messages(event: HookEvent, decisions: list[Decision], random: Callable[..., None]) -> None:
    winner = winning_answer(event, answers_of(decisions))
    random.shuffle(decisions)  # type: ignore[attr-defined]  # hypothesis's random
    second_winner = winning_answer(event, answers_of(decisions))
    assert strength(event, winner) == min((strength(event, item) for item in decisions), default=3)
    assert strength(event, second_winner) == strength(event, winner)


@given(st.lists(st.sampled_from(BEFORE), min_size=1))
def test_first_of_equal_rank_wins(decisions: list[Decision]) -> None:
    winner = winning_answer(HookEvent.PRE_TOOL_USE, answers_of(decisions))
    if winner is not None:
        first = next(at for at, item in enumerate(decisions) if type(item) is type(winner.decision))
        assert winner.hook == f"h{first}"


@pytest.mark.parametrize(
    ("matcher", "tool", "is_match"),
    [
        ("write", "write", True),
        ("write|edit", "read", False),
        ("write", "overwrite_file", True),
        ("^write", "overwrite_file", False),
        ("", "anything", True),
        ("(", "bash", False),
    ],
)
def test_matcher_searches_anywhere_in_name(matcher: str, tool: str, is_match: bool) -> None:
    assert matches(matcher, tool) is is_match


def hook(name: str, answer: JSONValue = None, *, fails: bool = False, **options: object) -> Hook:
    def ask(envelope: JSONObject) -> JSONValue:
        if fails:
            raise HookFailure("away")
        return answer

    return Hook(name=name, ask=ask, **options)  # type: ignore[arg-type]  # options of a hook


def test_matcher_applies_to_tool_events_only() -> None:
    registry = Registry(hooks=(hook("h", "stop", matcher="^bash$"),))
    assert registry.fire(HookEvent.TURN_END, {}).hook == "h"
    assert registry.fire(HookEvent.POST_TOOL_USE, {}, tool="read").hook == ""


def test_failing_hook_is_reported_and_skipped() -> None:
    change: JSONValue = {"action": "modify_args", "args": {"n": 1}}
    hooks = (hook("broken", fails=True), hook("right", change))
    outcome = Registry(hooks=hooks).fire(HookEvent.PRE_TOOL_USE, {}, tool="t")
    assert (outcome.hook, [failure.hook for failure in outcome.failures]) == ("right", ["broken"])
    gate = Registry(hooks=(hook("right", change), hook("gate", fails=True, gate=True)))
    assert isinstance(gate.fire(HookEvent.PRE_TOOL_USE, {}, tool="t").decision, Deny)
    assert gate.fire(HookEvent.POST_TOOL_USE, {}, tool="t").failures[-1].hook == "gate"


def test_denial_does_not_stop_other_hooks() -> None:
    calls: list[str] = []

    def ear(envelope: JSONObject) -> JSONValue:
        calls.append("ear")
        return None

    hooks = (hook("gate", "deny"), Hook(name="ear", ask=ear))
    assert Registry(hooks=hooks).fire(HookEvent.PRE_TOOL_USE, {}, tool="t").hook == "gate"
    assert calls == ["ear"]


@pytest.mark.parametrize("answer", [None, {}, "allow", "continue", {"action": "continue"}])
def test_empty_answer_lets_event_pass(answer: JSONValue) -> None:
    assert (
        winning_answer(HookEvent.TURN_END, [HookAnswer(hook="h", decision=parse_decision(HookEvent.TURN_END, answer))])
        is None
    )


@pytest.mark.parametrize(
    ("event", "answer"),
    [
        (HookEvent.PRE_TOOL_USE, "stop"),
        (HookEvent.TURN_END, "deny"),
        (HookEvent.PRE_TOOL_USE, {"action": "modify_args", "args": "text"}),
        (HookEvent.TURN_END, {"action": "system_message", "text": ""}),
        (HookEvent.TURN_END, {"action": "lunch"}),
        (HookEvent.TURN_END, 7),
    ],
)
def test_invalid_answer_is_a_failure(event: HookEvent, answer: JSONValue) -> None:
    with pytest.raises(HookFailure):
        parse_decision(event, answer)
