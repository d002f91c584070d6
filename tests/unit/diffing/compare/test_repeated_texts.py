"""Alignment of steps whose texts repeat."""

from tests.support.comparing import Spec, agent, model, pairs_of, reply, steps_of, system, user
from traces.core.vocabulary import StepType


def voters(*votes: str, question: str = "Which paint?") -> list[Spec]:
    """Calls of one model in a row, each with the options in another order."""
    orders = ("red, blue", "blue, red", "red; blue", "blue; red")
    return [
        Spec(type=StepType.AGENT, name="agent"),
        *(
            model([system("Vote."), user(f"{question} {order}")], reply(vote))
            for order, vote in zip(orders, votes, strict=False)
        ),
    ]


def test_votes_pair_in_order_although_their_texts_repeat() -> None:
    base = steps_of(voters("Vote: A", "Vote: B", "Vote: C", "Vote: C"))
    candidate = steps_of(voters("Vote: C", "Vote: C", "Vote: A", "Vote: B", question="Which wallpaper?"))
    assert pairs_of(base, candidate) == {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}


def test_equal_request_at_another_place_outweighs_the_order() -> None:
    base = steps_of(voters("Vote: A", "Vote: B", "Vote: C"))
    shifted = steps_of([agent(), *voters("Vote: D", "Vote: E", "Vote: F", "Vote: G")[2:]])
    assert pairs_of(base, shifted).items() >= {3: 2, 4: 3}.items()
