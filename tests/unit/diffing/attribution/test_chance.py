"""The verdict of chance: only if no setting and no external answer differs."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from diffing.attribution.declared_config import declared_changes, repeats
from diffing.compare.run_side import RunFacts
from diffing.schemas.report import Attribution
from tests.support.comparing import (
    Spec,
    Store,
    agent,
    model,
    output,
    reply,
    report_of,
    side_of,
    system,
    tool_call,
    tool_message,
    user,
)
from tests.support.comparing import tool as called
from traces.core.ids import new_id
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType

POLICY = "You are the airline's desk."


def turn(text: str) -> Spec:
    return Spec(type=StepType.TURN, name=text, parent=1, input={"messages": [user(text)]})


def talk(
    *,
    first: str = "I want to fly to Oslo.",
    second: str = "On Monday.",
    policy: str = POLICY,
    model_name: str = "m1",
    flights: JSONValue = "HAT110",
    final: str = "Booked HAT110.",
) -> list[Spec]:
    """A user asks and answers a question; the agent searches flights and books one."""
    opening = [system(policy), user(first)]
    asked_back = [*opening, reply("When?"), user(second)]
    call = tool_call("c1", "find_flights", to="OSL")
    return [
        agent(),
        turn(first),
        model(opening, reply("When?"), model=model_name),
        turn(second),
        model(asked_back, call, model=model_name),
        called("find_flights", "c1", {"to": "OSL"}, flights),
        model([*asked_back, call, tool_message("c1", flights)], reply(final), model=model_name),
        output(final),
    ]


def trial(number: int, **more: JSONValue) -> JSONObject:
    declaration: JSONObject = {"task_id": "7", "dataset": "airline", "config": {"model": "m1", "trial": number}}
    return declaration | more


def attribute(
    base: Sequence[Spec],
    candidate: Sequence[Spec],
    base_metadata: JSONObject | None = None,
    candidate_metadata: JSONObject | None = None,
) -> Attribution:
    store = Store()
    sides = [
        replace(side, run=replace(side.run, metadata=metadata or {}))
        for side, metadata in ((side_of(base, store), base_metadata), (side_of(candidate, store), candidate_metadata))
    ]
    return report_of(sides[0], sides[1], store).attribution


def other_talk() -> list[Spec]:
    """Another trial: the user words it differently, and the agent books another flight."""
    return talk(first="Hello, I need a flight to Oslo.", final="Booked HAT200.")


def test_declared_trials_differ_by_chance() -> None:
    result = attribute(talk(), other_talk(), trial(0), trial(2))
    assert (result.verdict, result.confidence) == ("noise", "noise")
    assert result.sentence == (
        "Probably chance: the runs are two trials of one task with one configuration (task 7, trial 0 and 2), and no "
        "recorded prompt, tool, model or setting differs between them. They diverge at step 3, where the user worded "
        "the request differently; in the end, the answer now says “HAT200” instead of “HAT110”."
    )


def test_undeclared_trials_differ_by_user_message() -> None:
    result = attribute(talk(), other_talk())
    assert (result.verdict, result.confidence) == ("cause", "low")
    assert result.primary is not None
    assert result.primary.category == "upstream"


@pytest.mark.parametrize(
    "changed",
    [
        lambda: talk(first="Hello.", policy=f"{POLICY} Offer hotels as well.", final="Booked HAT200."),
        lambda: talk(first="Hello.", model_name="m2", final="Booked HAT200."),
        lambda: talk(flights="HAT200", final="Booked HAT200."),
        lambda: talk(first="Hello.", flights="HAT200", final="Booked HAT200."),
    ],
    ids=["prompt", "model", "world", "world, after the user"],
)
def test_recorded_change_overrides_declared_trials(changed: Callable[[], list[Spec]]) -> None:
    result = attribute(talk(), changed(), trial(0), trial(2))
    assert result.verdict != "noise"


@pytest.mark.parametrize(("target", "is_chance"), [("OSL", False), ("BGO", True)])
def test_world_may_answer_differently_after_other_calls(target: str, *, is_chance: bool) -> None:
    """Two trials change the order; what it looks like in the end depends on the changes before."""

    def trial_run(first: str, target: str, orders: str) -> list[Spec]:
        opening = [system(POLICY), user(first)]
        change, look = tool_call("c1", "change_order", to=target), tool_call("c2", "get_order", id="A-1")
        second = [*opening, reply("When?"), user(f"{first} On Monday.")]
        third = [*second, change, tool_message("c1", "done")]
        last = [*third, look, tool_message("c2", orders)]
        return [
            agent(),
            turn(first),
            model(opening, reply("When?")),
            turn(f"{first} On Monday."),
            model(second, change),
            called("change_order", "c1", {"to": target}, "done"),
            model(third, look),
            called("get_order", "c2", {"id": "A-1"}, orders),
            model(last, reply(f"It is {orders}.")),
            output(f"It is {orders}."),
        ]

    base = trial_run("Please change it.", "OSL", "flight to Oslo")
    candidate = trial_run("Hello, change my order.", target, "flight to Bergen")
    assert (attribute(base, candidate, trial(0), trial(1)).verdict == "noise") is is_chance


@pytest.mark.parametrize(("declared", "verdict"), [(True, "noise"), (False, "cause")])
def test_results_of_other_calls_follow_from_the_sample(verdict: str, *, declared: bool) -> None:
    """Two trials call different tools; the results that a later request repeats are no change of their own."""

    def trial_run(first: str, name: str, result: str, final: str, **arguments: JSONValue) -> list[Spec]:
        opening, call = [system(POLICY), user(first)], tool_call("c1", name, **arguments)
        talk_so_far = [*opening, call, tool_message("c1", result), reply("Anything else?"), user("Yes, the bag.")]
        return [
            agent(),
            turn(first),
            model(opening, call),
            called(name, "c1", arguments, result),
            model(talk_so_far[:4], reply("Anything else?")),
            turn("Yes, the bag."),
            model(talk_so_far, reply(final)),
            output(final),
        ]

    base = trial_run("Change my bag.", "exchange_bag", '{"id": "A-1", "bag": "blue"}', "It is blue.", id="A-1")
    result = "Error: variant not found"
    candidate = trial_run("Hello, my bag please.", "change_order", result, "I cannot.", id="A-1", bag="red")
    trials = (trial(0), trial(1)) if declared else ()
    assert attribute(base, candidate, *trials).verdict == verdict


def test_single_task_message_is_not_sampled() -> None:
    """Another text under the same task id is a change of the task."""

    def run(task: str, final: str) -> list[Spec]:
        return [agent(), turn(task), model([user(task)], reply(final)), output(final)]

    result = attribute(run("Sum up chapter 1.", "It began."), run("Sum up chapter 2.", "It ended."), trial(0), trial(1))
    assert result.verdict == "cause"


def test_declared_changes_rule_out_chance() -> None:
    config: JSONObject = {"config": {"run": "base"}}
    result = attribute(talk(), talk(final="Booked HAT200."), config, {"config": {"run": "policy v2"}})
    assert (result.verdict, result.confidence) == ("inconclusive", "low")
    assert "the different configurations that the runs declare (run base → “policy v2”)" in result.sentence
    assert attribute(talk(), talk(final="Booked HAT200."), config, config).verdict == "noise"


def test_unrecorded_request_rules_out_chance() -> None:
    base, candidate = talk(), talk(final="Booked HAT200.")
    base[6], candidate[6] = replace(base[6], input=None), replace(candidate[6], input=None)
    result = attribute(base, candidate)
    assert result.verdict == "inconclusive"
    assert "which was not recorded" in result.sentence


def test_unloaded_steps_remain_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(times: int, word: str) -> list[Spec]:
        history, steps = [user("Count.")], [agent()]
        for number in range(times):
            steps.append(model(history, reply(f"{word} {number}")))
            history = [*history, reply(f"{word} {number}")]
        return [*steps, output(f"{word} {times - 1}")]

    assert attribute(run(4, "one"), run(4, "two")).verdict == "noise"
    monkeypatch.setattr("diffing.report.examination.MAX_LOADED", 42)
    result = attribute(run(50, "one"), run(50, "two"))
    assert result.verdict == "inconclusive"
    assert "whose contents were not compared" in result.sentence


def facts(metadata: JSONObject, **more: str) -> RunFacts:
    return RunFacts(
        id=new_id(), name="run", app=more.get("app", "a"), status="completed", source="import", metadata=metadata
    )


@pytest.mark.parametrize(
    ("base", "candidate"),
    [
        (trial(0), trial(0)),
        (trial(0), trial(1, task_id="8")),
        (trial(0), trial(1, dataset="retail")),
        (trial(0), trial(1, config={"model": "m2", "trial": 1})),
        (trial(0, version="1"), trial(1, version="2")),
        ({"task_id": "7"}, {"task_id": "7"}),
        ({"trial": 0}, {"trial": 1}),
    ],
    ids=["one try", "tasks", "datasets", "configurations", "versions", "no count", "no task"],
)
def test_repeats_need_one_task_and_configuration(base: JSONObject, candidate: JSONObject) -> None:
    assert repeats(facts(base), facts(candidate)) is None


def test_trial_number_may_be_in_configuration() -> None:
    assert repeats(facts(trial(0)), facts(trial(3))) is not None
    assert repeats(facts({"task_id": 1, "trial": 0}), facts({"task_id": 1, "trial": 1})) is not None
    assert repeats(facts(trial(0)), facts(trial(1), app="other")) is None
    seed_trials = repeats(facts(trial(0, seed=1)), facts(trial(0, seed=2)))
    assert seed_trials is not None
    assert (seed_trials.counter, seed_trials.base, seed_trials.candidate) == ("seed", 1, 2)
    assert declared_changes(facts(trial(0)), facts(trial(1))) == []
