"""Hooks as Krabs defines them, case by case; see `test_cases`."""

from replay.hooks.registry import Ask, Hook, HookFailure, Registry, matches
from tests.unit.cases.test_cases import Case, cases
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import HookEvent


def _answering(answer: JSONValue) -> Ask:
    def ask(envelope: JSONObject) -> JSONValue:
        if answer == "fails":
            raise HookFailure("it broke")
        return answer

    return ask


@cases("hook_priorities")
def test_winning_hook_answer(case: Case) -> None:
    hooks = [
        Hook(name=f"hook {place}", ask=_answering(answer), gate=case["gate"])
        for place, answer in enumerate(case["answers"])
    ]
    outcome = Registry(hooks=tuple(hooks)).fire(HookEvent(case["event"]), {}, tool="bash")
    assert outcome.decision.model_dump(exclude_defaults=False) == case["wins"]
    assert len(outcome.failures) == case["failures"]


@cases("hook_matching")
def test_tools_of_matcher(case: Case) -> None:
    calls: list[JSONObject] = []

    def ask(envelope: JSONObject) -> JSONValue:
        calls.append(envelope)
        return None

    registry = Registry(hooks=(Hook(name="hook", ask=ask, matcher=case["matcher"]),))
    assert matches(case["matcher"], case["tool"]) is case["matches"]
    registry.fire(HookEvent.PRE_TOOL_USE, {}, tool=case["tool"])
    assert bool(calls) is case["matches"]
    # A matcher speaks of tools only
    registry.fire(HookEvent.TURN_START, {})
    assert len(calls) == 1 + case["matches"]


@cases("hook_events")
def test_names_of_events(case: Case) -> None:
    assert str(HookEvent[case["event"]]) == case["value"]
