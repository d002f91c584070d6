"""Conversations of the demo's customers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cockpit.demo.local_model.model import LARGE, SMALL

APP: Final = "order-desk"
REFUND: Final = "refund-goes-wrong"
RECORDINGS: Final = Path(__file__).parent / "recordings"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One conversation: the customer's messages, one per turn, and the desk's model."""

    slug: str
    user_messages: tuple[str, ...]
    model: str = SMALL
    with_tools: bool = True


_DAMAGED_LAMP: Final = "My order A-1042 arrived damaged: the lamp is broken. Please refund it."
SCENARIOS: Final = (
    # The small model overlooks that the total is in cents: it requests 4200 EUR, which the tool refuses.
    Scenario(slug=REFUND, user_messages=(_DAMAGED_LAMP,)),
    Scenario(slug="refund-goes-right", user_messages=(_DAMAGED_LAMP,), model=LARGE),
    Scenario(slug="parcel", user_messages=("Where is my parcel? The order is A-1043.",)),
    Scenario(slug="carrier-down", user_messages=("My order A-1044 is late. When does it arrive?",)),
    Scenario(
        slug="over-the-limit",
        user_messages=("The bookshelf of order B-2001 came damaged. I want a refund.",),
        model=LARGE,
    ),
    Scenario(slug="two-turns", user_messages=("I want a refund for a damaged floor lamp.", "It is order C-3100.")),
    Scenario(slug="two-orders", user_messages=("What is the status of my orders A-1043 and B-2002?",), model=LARGE),
    Scenario(slug="cancel", user_messages=("Please cancel order B-2002 before it is shipped.",)),
    Scenario(
        slug="policy-question",
        user_messages=("How many days do I have to return unused goods, and who pays for the return parcel?",),
        with_tools=False,
    ),
)
