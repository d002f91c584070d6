"""Conversations: transfers between agents, a simulated caller, a word budget, masked account numbers."""

import json
import re
from collections.abc import Sequence
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime, result_text
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
    Edit,
    Program,
    converse,
    edit,
    sampling,
    say,
    system_message,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONObject, JSONValue

# ---- a hotel: a tool call transfers the conversation to another agent, which answers the later turns


def _receive(request: Request) -> str | ToolCall:
    desks = [desk for wish, desk in re.findall(r"Send (\w+) to the (\w+)\.", request.system) if wish in request.last]
    if not desks:
        return "What can we do for you?"
    return "transfer", {"to": desks[0 if request.model == "m1" else -1]}


def _reserve(request: Request) -> str | ToolCall:
    times, desk = request.tool("free times"), request.rule(r"Your desk is the (\w+)\.", "desk")
    if times and times not in request.called:
        return times, {"desk": desk}
    free = [first for result in request.results if isinstance(first := result.get("first"), int)]
    hour = int((re.findall(r"at (\d+)", request.spoken) or ["12"])[-1])
    if not free or hour > int(request.rule(r"Nothing after (\d+)\.", "23")):
        return f"The {desk} has no place for you."
    return f"The {desk} expects you at {max(hour, free[-1])}, for {request.rule(r'It costs ([0-9]+) francs', '0')}."


def _hotel(runtime: Runtime) -> str:
    tools: list[JSONValue] = [
        {"name": "transfer", "description": "hands the guest over"},
        {"name": str(runtime.settings["tool.times"]), "description": "lists the free times"},
    ]
    agent, talk = "reception", list[JSONValue]()
    for turn in range(2):
        talk.append(user_message(str(runtime.settings[f"turn.{turn}"])))
        for _ in range(5):
            message = runtime.model(agent, [system_message(runtime, agent), *talk], tools)
            talk.append(message)
            calls = message.get("tool_calls")
            if not isinstance(calls, list):
                break
            call = calls[0]
            assert isinstance(call, dict)
            arguments = call["arguments"]
            assert isinstance(arguments, dict)
            if call["name"] == "transfer":
                agent = str(arguments["to"])
                result: JSONValue = {"agent": agent}
            else:
                result = runtime.tool(str(call["name"]), arguments, str(call["id"]))
            talk.append({"role": "tool", "content": result_text(result), "tool_call_id": call["id"]})
    return text_of(talk[-1])


def _free_from(desk: str, *hours: int) -> Edit:
    """The hour from which a desk is free, under both names of the tool."""
    paths = (f"row.free_times.{desk}.first", f"row.open_slots.{desk}.first")
    return Edit(category="tool", variants=tuple(tuple((path, hour) for path in paths) for hour in hours))


_HOTEL: Final = Program(
    name="hotel",
    group="transfer",
    program=_hotel,
    final="restaurant",
    model=model_of({"receptionist": _receive, "host": _reserve}),
    menu=(),
    settings={
        **prompts(
            reception=("You are the receptionist.", "Send eat to the restaurant.", "Send massage to the spa.", ""),
            restaurant=("You are the host.", "Your desk is the restaurant.", "It costs 60 francs.", "", ""),
            spa=("You are the host.", "Your desk is the spa.", "It costs 90 francs.", "", ""),
        ),
        "user.0": "",
        "turn.0": "I want to eat at 18, after my massage.",
        "turn.1": "Rather at 19.",
        "tool.times": "free_times",
        **rows("free_times", restaurant={"first": 17, "seats": 30}, spa={"first": 20, "seats": 2}),
        **rows("open_slots", restaurant={"first": 17, "seats": 30}, spa={"first": 20, "seats": 2}),
    },
    edits=(
        edit("upstream", "turn.0", "I want a massage at 18.", "We want to eat at 18, after my massage."),
        edit("upstream", "turn.1", "Rather at 21.", "Good, at 19 then.", "Thank you."),
        edit("prompt", "prompt.reception.1", "Send eat to the spa.", "Send breakfast to the restaurant."),
        edit("model", "model.reception.name", "m2"),
        wording("reception", 3),
        edit("prompt", "prompt.restaurant.2", "It costs 75 francs."),
        edit("prompt", "prompt.restaurant.3", "Nothing after 18.", "Nothing after 22."),
        wording("restaurant", 4),
        edit("tool", "tool.times", "open_slots", decoy=True),
        _free_from("restaurant", 18, 20),
        *sampling("reception", "restaurant"),
    ),
)

# ---- a complaint: the caller is a model too, and decides when the conversation ends


def _complain(request: Request) -> str:
    offers = re.findall(r"credit of (\d+) francs", request.last)
    if "Which plan" in request.last:
        return f"I have the {request.rule(r'Your plan is (.+?)[.]', 'basic')} plan."
    if not offers:
        return f"My {request.rule(r'Complain about the (.+?)[.]', 'line')} does not work."
    minimum = int(request.rule(r"Take no less than (\d+) francs\.", "0"))
    return "I accept that. Goodbye." if int(offers[-1]) >= minimum else "That is too little for me."


def _appease(request: Request) -> str:
    plan = next(iter(re.findall(r"I have the (\w+) plan", request.spoken)), "")
    thing = next(iter(re.findall(r"My (\w+) does", request.spoken)), "service")
    if not plan:
        return "I am sorry. Which plan do you have?"
    first = int(request.rule(rf"Begin at (\d+) francs for {plan}\.", "5"))
    step = int(request.rule(r"Add (\d+) francs after a refusal\.", "0"))
    most = int(request.rule(r"Never go above (\d+) francs\.", "99"))
    credit = min(first + (5 if request.model == "m2" else 0) + step * request.spoken.count("too little"), most)
    if "I accept" in request.last:
        return f"A credit of {credit} francs for the {thing} will come back to you."
    return f"I can give you a credit of {credit} francs."


def _complaint(runtime: Runtime) -> str:
    """Let both sides continue one conversation, each from its own perspective."""
    texts = ["Hello, how can we help you?"]
    for _ in range(5):
        texts.append(text_of(_speak(runtime, "caller", texts)))
        texts.append(text_of(_speak(runtime, "support", texts)))
        if "Goodbye" in texts[-2]:
            break
    return texts[-1]


def _speak(runtime: Runtime, node: str, texts: Sequence[str]) -> JSONObject:
    """Return a side's next message. The other side's messages are user messages to it."""
    roles = ("user", "assistant") if len(texts) % 2 else ("assistant", "user")
    talk: list[JSONValue] = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return runtime.model(node, [system_message(runtime, node), *talk])


_COMPLAINT: Final = Program(
    name="complaint",
    group="simulated user",
    program=_complaint,
    final="support",
    model=model_of({"caller": _complain, "agent": _appease}),
    menu=(),
    settings={
        **prompts(
            caller=(
                "You are the caller.",
                "Your plan is basic.",
                "Complain about the modem.",
                "Take no less than 20 francs.",
                "",
            ),
            support=(
                "You are the agent.",
                "Begin at 10 francs for basic.",
                "Begin at 25 francs for gold.",
                "Add 5 francs after a refusal.",
                "Never go above 30 francs.",
                "",
            ),
        ),
        "user.0": "",
    },
    edits=(
        edit("prompt", "prompt.caller.1", "Your plan is gold.", "Your plan is student."),
        edit("prompt", "prompt.caller.2", "Complain about the router."),
        edit("prompt", "prompt.caller.3", "Take no less than 17 francs.", "Take no less than 12 francs."),
        wording("caller", 4),
        edit("prompt", "prompt.support.1", "Begin at 15 francs for basic.", "Begin at 18 francs for basic."),
        edit("prompt", "prompt.support.3", "Add 10 francs after a refusal.", "Add 7 francs after a refusal."),
        edit("prompt", "prompt.support.4", "Never go above 28 francs.", "Never go above 15 francs."),
        wording("support", 5),
        edit("model", "model.support.name", "m2"),
        edit("model", "model.caller.name", "m2", decoy=True),
        *sampling("caller", "support"),
    ),
)

# ---- a tour: the oldest messages are dropped until the rest has few enough words, so long answers push facts out

_HOURS: Final[tuple[JSONValue, ...]] = ({"name": "opening_hours", "description": "says when a place is open"},)


def _guide(request: Request) -> str | ToolCall:
    wishes = re.findall(r"\b(walk|museum|dinner)\b", request.last)
    if not wishes:
        return "Welcome to our town." + (" It has a long history." if request.model == "m2" else "")
    places = dict(re.findall(r"For a (\w+) choose the (\w+)\.", request.system))
    place = str(places.get(wishes[0], "square"))
    if "wheelchair" in request.spoken:
        place = request.rule(rf"With a wheelchair choose the (\w+) for a {wishes[0]}\.", place)
    if "opening_hours" not in request.called:
        return "opening_hours", {"place": place}
    closing = request.results[-1].get("until", "dusk")
    story = " It was built long ago by monks from the hills." if "Tell its story." in request.system else ""
    return f"The {place} is open until {closing}.{story}"


def _tour(runtime: Runtime) -> str:
    talk: list[JSONValue] = []
    for turn in range(4):
        talk.append(user_message(str(runtime.settings[f"turn.{turn}"])))
        talk = converse(runtime, "guide", _within_budget(talk, runtime.settings["code.words"]), _HOURS)
    return text_of(talk[-1])


def _within_budget(talk: Sequence[JSONValue], budget: JSONValue) -> list[JSONValue]:
    """Return the last messages within the word budget, starting with a user message."""
    messages, max_words = list(talk), int(str(budget))
    while len(messages) > 1 and sum(len(text_of(message).split()) for message in messages) > max_words:
        messages.pop(0)
    while len(messages) > 1 and not (isinstance(messages[0], dict) and messages[0]["role"] == "user"):
        messages.pop(0)
    return messages


_TOUR: Final = Program(
    name="tour",
    group="word budget",
    program=_tour,
    final="guide",
    model=model_of({"guide": _guide}),
    menu=(),
    settings={
        **prompts(
            guide=(
                "You are the guide.",
                "For a walk choose the wall.",
                "With a wheelchair choose the lake for a walk.",
                "For a museum choose the mill.",
                "",
                "",
            )
        ),
        "user.0": "",
        "turn.0": "Hello, I come with a wheelchair.",
        "turn.1": "Is there a museum?",
        "turn.2": "That sounds nice.",
        "turn.3": "Where can I take a walk?",
        "code.words": 46,
        **rows(
            "opening_hours",
            wall={"until": "nine", "dogs": True},
            lake={"until": "eight", "dogs": True},
            mill={"until": "six", "dogs": False},
            forest={"until": "seven", "dogs": True},
        ),
    },
    edits=(
        edit("upstream", "code.words", 24, 60),
        edit("upstream", "turn.0", "Hello, my friend has a wheelchair.", "Hello there."),
        edit("upstream", "turn.2", "I see, that sounds nice to me.", "Well then.", decoy=True),
        edit("upstream", "turn.3", "And where can I take a walk?", "Where can I have dinner?"),
        edit("prompt", "prompt.guide.1", "For a walk choose the forest."),
        edit("prompt", "prompt.guide.2", "With a wheelchair choose the forest for a walk."),
        edit("prompt", "prompt.guide.4", "Tell its story."),
        wording("guide", 5),
        edit("model", "model.guide.name", "m2"),
        edit("tool", "row.opening_hours.lake.until", "ten"),
        edit("tool", "row.opening_hours.mill.until", "half past six o'clock in the evening", "five"),
        edit("tool", "row.opening_hours.lake.dogs", False, decoy=True),
        *sampling("guide"),
    ),
)

# ---- a money transfer: models see masked account numbers, tools and the customer see the real ones

_IBAN: Final = r"CH\d\d-\d{4}"


def _instruct(request: Request) -> str:
    accounts = re.findall(r"<ACCOUNT_\d>", request.last)
    if "Book on the last account." in request.system or request.model == "m2":
        accounts = accounts[::-1]
    amount = next(iter(re.findall(r"(\d+) francs", request.last)), "0")
    return f"Please debit {(accounts or ['none'])[0]} with {amount} francs."


def _confirm(request: Request) -> str:
    account = next(iter(re.findall(r"<ACCOUNT_\d>", request.last)), "the account")
    amount, balance = (
        int(next(iter(re.findall(rf"{name}=(\d+)", request.last)), "0")) for name in ("amount", "balance")
    )
    fee = int(request.rule(r"The fee is (\d+) francs\.", "0"))
    left = balance - amount - fee
    if left < int(request.rule(r"Leave (\d+) francs on it\.", "0")):
        return f"There is not enough on {account}."
    return f"Done: {left} francs remain on {account}."


def _payment(runtime: Runtime) -> str:
    letter = user(runtime.settings)
    masks = {iban: f"<ACCOUNT_{number}>" for number, iban in enumerate(dict.fromkeys(re.findall(_IBAN, letter)), 1)}
    for iban, mask in masks.items():
        letter = letter.replace(iban, mask)
    instruction = _unmasked(say(runtime, "clerk", letter), masks)
    iban = next(iter(re.findall(_IBAN, instruction)), "")
    amount = next(iter(re.findall(r"(\d+) francs", instruction)), "0")
    account = json.loads(result_text(runtime.tool("find_account", {"iban": iban})))
    facts = f"account={masks.get(iban, 'none')} amount={amount} balance={account.get('balance', 0)}"
    return _unmasked(say(runtime, "teller", facts), masks)


def _unmasked(text: str, masks: dict[str, str]) -> str:
    for iban, mask in masks.items():
        text = text.replace(mask, iban)
    return text


_PAYMENT: Final = Program(
    name="payment",
    group="masks",
    program=_payment,
    final="teller",
    model=model_of({"clerk": _instruct, "teller": _confirm}),
    menu=(),
    settings={
        **prompts(
            clerk=("You are the clerk.", "", ""),
            teller=("You are the teller.", "The fee is 2 francs.", "Leave 50 francs on it.", ""),
        ),
        "user.0": "I have CH11-2040 and CH12-7755.",
        "user.1": "Pay 120 francs to my landlord.",
        "user.2": "",
        **rows(
            "find_account",
            CH11_2040={"balance": 300, "branch": "Chur"},
            CH12_7755={"balance": 160, "branch": "Thun"},
        ),
    },
    edits=(
        edit("upstream", "user.1", "Pay 140 francs to my landlord.", "Send 120 francs to my landlord, please."),
        edit("upstream", "user.2", "It is for May.", "Thanks in advance.", decoy=True),
        edit("prompt", "prompt.clerk.1", "Book on the last account."),
        wording("clerk", 2),
        edit("model", "model.clerk.name", "m2"),
        edit("prompt", "prompt.teller.1", "The fee is 5 francs.", ""),
        edit("prompt", "prompt.teller.2", "Leave 200 francs on it.", "Leave 20 francs on it."),
        wording("teller", 3),
        edit("tool", "row.find_account.CH11-2040.balance", 420, 160),
        edit("tool", "row.find_account.CH12-7755.balance", 300),
        edit("tool", "row.find_account.CH11-2040.branch", "Olten", decoy=True),
        *sampling("clerk", "teller"),
    ),
)

CONVERSATIONS: Final = (_HOTEL, _COMPLAINT, _TOUR, _PAYMENT)
REWORDABLE: Final = (_COMPLAINT,)
