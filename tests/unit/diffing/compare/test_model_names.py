"""Models pair whatever a recorder names them."""

from dataclasses import replace

from tests.support.comparing import Spec, model, pairs_of, reply, steps_of, user
from traces.core.vocabulary import StepType


def test_models_that_two_recorders_name_differently_pair_in_order() -> None:
    texts = "red", "blue", "green"

    def answers(names: tuple[str, str, str], *tone: str) -> list[Spec]:
        models = [
            replace(model([user(f"{text} {name}")], reply(answer)), name=name)
            for name, text, answer in zip(names, texts, tone, strict=True)
        ]
        return [Spec(type=StepType.AGENT, name="agent"), *models]

    base = steps_of(answers(("sorter", "writer", "judge"), "yes", "a long poem of the sea", "7"))
    candidate = steps_of(answers(("chat", "chat", "chat"), "maybe", "one line about hills", "9"))
    assert pairs_of(base, candidate) == {1: 1, 2: 2, 3: 3, 4: 4}


def test_model_that_is_part_of_its_steps_name_pairs_with_another_model() -> None:
    def calls(first: str, second: str, topic: str, *answers: str) -> list[Spec]:
        requests = zip((first, second), (user(f"sort {topic}"), user(f"write about {topic}")), answers, strict=True)
        models = [
            replace(model([message], reply(answer)), name=f"chat {name.partition('-2026')[0]}", model=name)
            for name, message, answer in requests
        ]
        return [Spec(type=StepType.AGENT, name="agent"), *models]

    base = steps_of(calls("sort-1-2026-01-02", "write-1", "bills", "billing", "It is paid."))
    other_model = steps_of(calls("sort-mini", "write-1", "parcels", "shipping", "No idea what happened to that one."))
    assert pairs_of(base, other_model) == {1: 1, 2: 2, 3: 3}
    # Models that both runs have tell the steps of their agents apart.
    same_models = steps_of(calls("sort-1-2026-01-02", "write-1", "parcels", "It is paid.", "billing"))
    assert pairs_of(base, same_models) == {1: 1, 2: 2, 3: 3}
