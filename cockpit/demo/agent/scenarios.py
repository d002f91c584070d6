"""Conversations of the demo's customers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cockpit.demo.agent.desk import Conversation
from cockpit.demo.local_model.model import LARGE

ENVIRONMENT: Final = "demo"
REFUND: Final = "refund-goes-wrong"
RECORDINGS: Final = Path(__file__).parent / "recordings"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A recorded conversation."""

    slug: str
    conversation: Conversation


_DAMAGED_LAMP: Final = "My order A-1042 arrived damaged: the lamp is broken. Please refund it."


def _scenario(slug: str, *messages: str, **settings: Any) -> Scenario:
    return Scenario(slug=slug, conversation=Conversation(messages=messages, **settings))


SCENARIOS: Final = (
    # The small model overlooks that the total is in cents: it requests 4200 EUR, which the tool refuses.
    _scenario(REFUND, _DAMAGED_LAMP),
    _scenario("refund-goes-right", _DAMAGED_LAMP, model=LARGE),
    _scenario("parcel", "Where is my parcel? The order is A-1043."),
    _scenario("carrier-down", "My order A-1044 is late. When does it arrive?"),
    _scenario("over-the-limit", "The bookshelf of order B-2001 came damaged. I want a refund.", model=LARGE),
    _scenario("two-turns", "I want a refund for a damaged floor lamp.", "It is order C-3100."),
    _scenario("two-orders", "What is the status of my orders A-1043 and B-2002?", model=LARGE),
    _scenario("cancel", "Please cancel order B-2002 before it is shipped."),
    _scenario(
        "policy-question",
        "How many days do I have to return unused goods, and who pays for the return parcel?",
        with_tools=False,
    ),
)
