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
