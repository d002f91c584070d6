"""Conversations of several turns: scripted users, users who react, and agents that drop early messages."""

import re
from collections.abc import Sequence
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import Edit, Program, converse, edit, sampling, text_of, user_message
from traces.core.json_types import JSONValue

_TOOLS: Final[tuple[JSONValue, ...]] = (
    {"name": "find_booking", "description": "finds a booking"},
    {"name": "cancel", "description": "cancels a booking"},
    {"name": "rebook", "description": "moves a booking to another day"},
)


def _serve(request: Request) -> str | ToolCall:
    """Find the booking, then do what the last message requests, with the fees of the prompt."""
    bookings = [result for result in request.results if "seat" in result]
    code = re.findall(r"\bBK-\d+\b", request.spoken)
    if not bookings:
        return ("find_booking", {"code": code[0]}) if code else "Which booking do you mean?"
    booking, wish = bookings[-1], request.last.lower()
    fee = int(request.rule(r"The fee is (\d+) francs\.", "0"))
    if "card holder" in request.spoken.lower() and "Card holders pay no fee." in request.system:
        fee = 0
    if "cancel" in wish and "cancel" not in request.called:
        return "cancel", {"code": str(booking.get("code"))}
    if "move" in wish and "rebook" not in request.called:
        day = next(iter(re.findall(r"to (\w+day)", request.last)), "Monday")
        return "rebook", {"code": str(booking.get("code")), "day": day}
    change = request.results[-1] if request.called else {}
    if "cancel" in request.called:
        return f"{booking.get('code')} is cancelled, and {_price(booking) - fee} francs come back to you."
    if "rebook" in request.called:
        return f"{booking.get('code')} is moved to {change.get('day')}, and it costs {fee} francs."
    offer = "cancel" if booking.get("state") == "late" or request.model == "m2" else "move"
    return f"Your train for {booking.get('code')} is {booking.get('state')}. I can {offer} it for {fee} francs."


def _price(booking: dict[str, JSONValue]) -> int:
    price = booking.get("price")
    return price if isinstance(price, int) else 0


MODEL: Final = model_of({"clerk": _serve})


def _talk(runtime: Runtime, *, reacts: bool = False) -> str:
    """Take the user messages from the settings, or let the user react to the offer."""
    window = runtime.settings.get("code.window")
    conversation: list[JSONValue] = []
    for number in range(4):
        words = str(runtime.settings.get(f"turn.{number}") or "")
        if reacts and number == 1:
            words = (
                "Then cancel it, please." if "I can cancel" in text_of(conversation[-1]) else "Then move it to Friday."
            )
        if words:
            conversation = converse(runtime, "clerk", [*_visible(conversation, window), user_message(words)], _TOOLS)
    return text_of(conversation[-1])


def _visible(conversation: Sequence[JSONValue], window: JSONValue) -> list[JSONValue]:
    """Return the last messages within the window, starting with a user message."""
    if not isinstance(window, int):
        return list(conversation)
    visible = list(conversation[-window:]) if window else []
    while visible and not (isinstance(visible[0], dict) and visible[0].get("role") == "user"):
        visible.pop(0)
    return visible


def _scripted_turns(runtime: Runtime) -> str:
    return _talk(runtime)


def _reacting_turns(runtime: Runtime) -> str:
    return _talk(runtime, reacts=True)


_SETTINGS: Final[dict[str, JSONValue]] = {
    **prompts(clerk=("You are the clerk.", "The fee is 10 francs.", "Card holders pay no fee.", "")),
    "user.0": "",
    **rows(
        "find_booking",
        BK_11={"code": "BK-11", "seat": "4A", "price": 60, "state": "on time"},
        BK_12={"code": "BK-12", "seat": "7C", "price": 90, "state": "late"},
    ),
    **rows("cancel", BK_11={"state": "cancelled", "refund": 50}, BK_12={"state": "cancelled", "refund": 80}),
    **rows("rebook", BK_11={"state": "moved", "day": "Friday"}, BK_12={"state": "moved", "day": "Friday"}),
}
_COMMON: Final[tuple[Edit, ...]] = (
    edit("prompt", "prompt.clerk.1", "The fee is 15 francs."),
    edit("prompt", "prompt.clerk.3", "Stay calm and kind.", "Remember that trains are late.", decoy=True),
    edit("prompt", "prompt.clerk.2", "", decoy=True),
    *sampling("clerk"),
    edit("model", "model.clerk.max_tokens", 7),
    edit("tool", "row.find_booking.BK-11.seat", "9F", decoy=True),
    edit("tool", "row.rebook.BK-11.day", "Sunday"),
)

TALKS: Final = (
    Program(
        name="talk, scripted turns",
        group="talk",
        program=_scripted_turns,
        final="clerk",
        model=MODEL,
        menu=(),
        settings={
            **_SETTINGS,
            "turn.0": "Hello, how is my train BK-11?",
            "turn.1": "Please move it to Friday.",
            "turn.2": "",
        },
        edits=(
            *_COMMON,
            edit("upstream", "turn.1", "Please cancel it.", "Could you cancel it for me?"),
            edit("upstream", "turn.0", "Hello, how is my train BK-12?", "Good day, how is my train BK-11?"),
        ),
    ),
    Program(
        name="talk, late question",
        group="talk",
        program=_scripted_turns,
        final="clerk",
        model=MODEL,
        menu=(),
        settings={
            **_SETTINGS,
            "turn.0": "Hello, how is my train BK-11?",
            "turn.1": "And is there coffee on board?",
            "turn.2": "Good to know.",
            "turn.3": "Please move it to Friday.",
        },
        edits=(
            *_COMMON,
            edit("upstream", "turn.3", "Please cancel it."),
            edit("upstream", "turn.1", "I am a card holder, by the way.", "And is there tea on board?"),
            edit("upstream", "turn.2", "Well, well.", decoy=True),
        ),
    ),
    Program(
        name="talk, reacting user",
        group="talk",
        program=_reacting_turns,
        final="clerk",
        model=MODEL,
        menu=(),
        settings={**_SETTINGS, "turn.0": "Hello, how is my train BK-11?", "turn.1": "-", "turn.2": ""},
        edits=(
            *_COMMON,
            edit("tool", "row.find_booking.BK-11.state", "late"),
            edit("model", "model.clerk.name", "m2"),
            edit("upstream", "turn.0", "Hello, how is my train BK-12?", "Good day, how is my train BK-11?"),
        ),
    ),
    Program(
        name="window, early fact",
        group="window",
        program=_scripted_turns,
        final="clerk",
        model=MODEL,
        menu=(),
        settings={
            **_SETTINGS,
            "turn.0": "Hello, I am a card holder.",
            "turn.1": "How is my train BK-11?",
            "turn.2": "Thank you.",
            "turn.3": "Please move it to Friday.",
            "code.window": 8,
        },
        edits=(
            *_COMMON,
            edit("upstream", "code.window", 6),
            edit("upstream", "turn.0", "Hello, I am a card holder now."),
            edit("upstream", "turn.2", "Well, well.", decoy=True),
            edit("upstream", "turn.3", "Please cancel it."),
        ),
    ),
    Program(
        name="window, forgotten fact",
        group="window",
        program=_scripted_turns,
        final="clerk",
        model=MODEL,
        menu=(),
        settings={
            **_SETTINGS,
            "turn.0": "Hello, I am a card holder.",
            "turn.1": "How is my train BK-11?",
            "turn.2": "Thank you.",
            "turn.3": "Please move it to Friday.",
            "code.window": 6,
        },
        edits=(
            *_COMMON,
            edit("upstream", "code.window", 8),
            edit("upstream", "turn.3", "Please cancel it."),
            edit("upstream", "turn.0", "Hello there.", decoy=True),
            edit("upstream", "turn.2", "I am a card holder, by the way.", "Well, well."),
        ),
    ),
)
