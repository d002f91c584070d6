"""When a diff says that chance did it: only where nothing that anybody set, and nothing of the world, is left."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from diffing.attribution.declared_config import declared_changes, repeats
from diffing.compare.run_side import RunFacts
from diffing.schemas.report import Attribution
from tests.support.comparing import (
    StepSpec,
    Store,
    agent,
    assistant,
    assistant_call,
    model,
    output,
    report_of,
    side_of,
    system,
    tool_message,
    user,
)
from tests.support.comparing import tool as called
from traces.core.ids import new_id
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType

POLICY = "You are the airline's desk."


def turn(text: str) -> StepSpec:
    return StepSpec(type=StepType.TURN, name=text, parent=1, input={"messages": [user(text)]})


def talk(
    *,
    first: str = "I want to fly to Oslo.",
    second: str = "On Monday.",
    policy: str = POLICY,
    model_name: str = "m1",
    flights: JSONValue = "HAT110",
    final: str = "Booked HAT110.",
) -> list[StepSpec]:
    """A user asks, is asked back, answers; the agent looks flights up and books one."""
    opening = [system(policy), user(first)]
    asked_back = [*opening, assistant("When?"), user(second)]
    call = assistant_call("c1", "find_flights", to="OSL")
    return [
        agent(),
        turn(first),
        model(opening, assistant("When?"), model=model_name),
        turn(second),
        model(asked_back, call, model=model_name),
        called("find_flights", "c1", {"to": "OSL"}, flights),
        model([*asked_back, call, tool_message("c1", flights)], assistant(final), model=model_name),
        output(final),
    ]


def trial(number: int, **more: JSONValue) -> JSONObject:
    declared: JSONObject = {"task_id": "7", "dataset": "airline", "config": {"model": "m1", "trial": number}}
    return declared | more


def attributed(
    base: Sequence[StepSpec],
    candidate: Sequence[StepSpec],
    one: JSONObject | None = None,
    other: JSONObject | None = None,
) -> Attribution:
    store = Store()
    sides = [
        replace(side, run=replace(side.run, metadata=metadata or {}))
        for side, metadata in ((side_of(base, store), one), (side_of(candidate, store), other))
    ]
    return report_of(sides[0], sides[1], store).attribution


def otherwise() -> list[StepSpec]:
    """Another try: the user puts it otherwise, and the agent books another flight."""
    return talk(first="Hello, I need a flight to Oslo.", final="Booked HAT200.")


def test_two_tries_at_one_task_differ_by_chance() -> None:
    found = attributed(talk(), otherwise(), trial(0), trial(2))
    assert (found.verdict, found.confidence) == ("noise", "noise")
    assert found.sentence == (
        "Probably chance: the runs are two trials of one task with one configuration (task 7, trial 0 and 2), and no "
        "recorded prompt, tool, model or setting differs between them. They diverge at step 3, where the user worded "
        "the request differently; in the end, the answer now says “HAT200” instead of “HAT110”."
    )


def test_the_same_without_a_declaration_is_a_difference_of_what_the_user_said() -> None:
    found = attributed(talk(), otherwise())
    assert (found.verdict, found.confidence) == ("cause", "low")
    assert found.primary is not None
    assert found.primary.category == "upstream"


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
def test_what_the_recordings_show_wins_over_the_declaration(changed: Callable[[], list[StepSpec]]) -> None:
    found = attributed(talk(), changed(), trial(0), trial(2))
    assert found.verdict != "noise"


def test_a_task_that_is_given_once_is_no_draw() -> None:
    """Who changes the task's text under one task id changed something."""

    def run(task: str, final: str) -> list[StepSpec]:
        return [agent(), turn(task), model([user(task)], assistant(final)), output(final)]

    found = attributed(run("Sum up chapter 1.", "It began."), run("Sum up chapter 2.", "It ended."), trial(0), trial(1))
    assert found.verdict == "cause"


def test_another_answer_under_declared_changes_is_not_called_chance() -> None:
    config: JSONObject = {"config": {"run": "base"}}
    found = attributed(talk(), talk(final="Booked HAT200."), config, {"config": {"run": "policy v2"}})
    assert (found.verdict, found.confidence) == ("inconclusive", "low")
    assert "the different configurations that the runs declare (run base → “policy v2”)" in found.sentence
    assert attributed(talk(), talk(final="Booked HAT200."), config, config).verdict == "noise"


def test_another_answer_to_an_unrecorded_request_is_not_called_chance() -> None:
    base, candidate = talk(), talk(final="Booked HAT200.")
    base[6], candidate[6] = replace(base[6], input=None), replace(candidate[6], input=None)
    found = attributed(base, candidate)
    assert found.verdict == "inconclusive"
    assert "which was not recorded" in found.sentence


def test_steps_that_were_not_compared_may_hold_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(times: int, word: str) -> list[StepSpec]:
        history, steps = [user("Count.")], [agent()]
        for number in range(times):
            steps.append(model(history, assistant(f"{word} {number}")))
            history = [*history, assistant(f"{word} {number}")]
        return [*steps, output(f"{word} {times - 1}")]

    assert attributed(run(4, "one"), run(4, "two")).verdict == "noise"
    monkeypatch.setattr("diffing.report.examination.MAX_LOADED", 42)
    found = attributed(run(50, "one"), run(50, "two"))
    assert found.verdict == "inconclusive"
    assert "whose contents were not compared" in found.sentence


def facts(metadata: JSONObject, **more: str) -> RunFacts:
    return RunFacts(
        id=new_id(), name="run", app=more.get("app", "a"), status="completed", source="import", metadata=metadata
    )


@pytest.mark.parametrize(
    ("one", "other"),
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
def test_only_tries_at_one_task_under_one_configuration_are_repeats(one: JSONObject, other: JSONObject) -> None:
    assert repeats(facts(one), facts(other)) is None


def test_the_count_of_a_try_stands_beside_the_configuration_or_in_it() -> None:
    assert repeats(facts(trial(0)), facts(trial(3))) is not None
    assert repeats(facts({"task_id": 1, "trial": 0}), facts({"task_id": 1, "trial": 1})) is not None
    assert repeats(facts(trial(0)), facts(trial(1), app="other")) is None
    seeded = repeats(facts(trial(0, seed=1)), facts(trial(0, seed=2)))
    assert seeded is not None
    assert (seeded.counter, seeded.base, seeded.candidate) == ("seed", 1, 2)
    assert declared_changes(facts(trial(0)), facts(trial(1))) == []
