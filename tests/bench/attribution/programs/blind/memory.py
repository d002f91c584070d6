"""Agents with a limited memory: notes that are dropped when they grow too long, conversations replaced by a summary."""

import re
from collections.abc import Sequence
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
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
from traces.core.json_types import JSONValue

# ---- a workshop: the notes of an inspection have a word limit, and the oldest ones are dropped first


def _examine(request: Request) -> str:
    complaint, _, scratchpad = request.last.partition("\nNotes:")
    notes = re.findall(r"^(\w+): (.+)$", scratchpad, re.MULTILINE)
    symptom = next(iter(re.findall(r"\b(noise|leak|smell)\b", complaint)), "noise")
    if not notes:
        first = "motor" if request.model == "m2" else request.rule(rf"With a {symptom} start at the (\w+)\.", "motor")
        return f"Look at the {first}."
    visited = {part for part, _ in notes}
    leads = [part for part in re.findall(r"see the (\w+)", notes[-1][1]) if part not in visited]
    if leads:
        return f"Look at the {leads[-1 if 'Follow the last lead.' in request.system else 0]}."
    damaged = [part for part, note in notes if "worn" in note or "broken" in note]
    return f"The fault lies in the {damaged[-1] if damaged else notes[-1][0]}."


def _repair(request: Request) -> str:
    fault = next(iter(re.findall(r"fault lies in the (\w+)", request.last)), "machine")
    notes = re.findall(r"^(\w+): (.+)$", request.last, re.MULTILINE)
    worn = [part for part, note in notes if "worn" in note and part != fault]
    hours = int(request.rule(r"A repair takes (\d+) hours\.", "4"))
    hours += int(request.rule(r"Each worn part adds (\d+) hours\.", "1")) * len(worn)
    ask = " We need your approval." if hours > int(request.rule(r"Ask first above (\d+) hours\.", "99")) else ""
    extra = f" and replace the {' and the '.join(worn)}" if worn else ""
    return f"We repair the {fault}{extra} in {hours} hours.{ask}"


def _workshop(runtime: Runtime) -> str:
    notes: list[str] = []
    step = ""
    for _ in range(6):
        step = say(runtime, "examiner", f"{user(runtime.settings)}\nNotes:\n" + "\n".join(notes))
        lead = re.search(r"Look at the (\w+)", step)
        if not lead:
            break
        row = runtime.tool("inspect", {"part": lead[1]})
        notes.append(f"{lead[1]}: {row.get('state', 'missing') if isinstance(row, dict) else 'missing'}")
        while sum(len(note.split()) for note in notes) > 24:
            notes.pop(0)
    return say(runtime, "foreman", "\n".join([*sorted(notes), step]))


_WORKSHOP: Final = Program(
    name="workshop",
    group="scratchpad",
    most=5,
    program=_workshop,
    final="foreman",
    model=model_of({"examiner": _examine, "foreman": _repair}),
    menu=(),
    settings={
        **prompts(
            examiner=(
                "You are the examiner.",
                "With a noise start at the gearbox.",
                "With a leak start at the pump.",
                "",
                "",
            ),
            foreman=(
                "You are the foreman.",
                "A repair takes 4 hours.",
                "Each worn part adds 2 hours.",
                "Ask first above 9 hours.",
                "",
            ),
        ),
        "user.0": "The press makes a loud noise.",
        "user.1": "",
        **rows(
            "inspect",
            gearbox={"state": "worn teeth, see the shaft or see the belt", "serial": 411},
            shaft={"state": "a little bent, see the bearing", "serial": 412},
            bearing={"state": "broken cage", "serial": 413},
            belt={"state": "worn at the edge, see the pulley", "serial": 414},
            pulley={"state": "worn groove", "serial": 415},
            pump={"state": "wet, see the seal", "serial": 416},
            seal={"state": "broken lip", "serial": 417},
            motor={"state": "warm, see the belt", "serial": 418},
        ),
    },
    edits=(
        edit("upstream", "user.0", "The press has a leak.", "A loud noise comes from the press."),
        edit("upstream", "user.1", "Please be quick.", "We need it by Friday.", decoy=True),
        edit("prompt", "prompt.examiner.1", "With a noise start at the motor.", "With a noise start at the shaft."),
        edit("prompt", "prompt.examiner.2", "With a leak start at the seal.", decoy=True),
        edit("prompt", "prompt.examiner.3", "Follow the last lead."),
        wording("examiner", 4),
        edit("model", "model.examiner.name", "m2"),
        edit("prompt", "prompt.foreman.1", "A repair takes 5 hours.", "A repair takes 9 hours."),
        edit("prompt", "prompt.foreman.2", "Each worn part adds 1 hours.", "Each worn part adds 6 hours."),
        edit("prompt", "prompt.foreman.3", "Ask first above 5 hours."),
        wording("foreman", 4),
        edit(
            "tool",
            "row.inspect.shaft.state",
            "a little bent, with marks of a hammer on both of its ends and rust in the middle, see the bearing",
            "straight",
        ),
        edit("tool", "row.inspect.bearing.state", "worn balls, see the pulley", "sound"),
        edit("tool", "row.inspect.gearbox.serial", 511, decoy=True),
        edit("tool", "row.inspect.belt.state", "worn through", decoy=True),
        *sampling("examiner", "foreman"),
    ),
)

# ---- a kitchen: a customer who reacts, and a conversation whose older part is replaced by a summary

_PRICES: Final[tuple[JSONValue, ...]] = ({"name": "price_list", "description": "gives the price of a wood"},)
_FACTS: Final = {"wood": r"(?:like|wood is|in) (oak|pine|ash)", "size": r"(\d+) metres", "budget": r"budget is (\d+)"}


def _visible(text: str) -> dict[str, str]:
    """The latest value of each fact that a text states."""
    values = {fact: re.findall(pattern, text) for fact, pattern in _FACTS.items()}
    return {fact: found[-1] for fact, found in values.items() if found}


def _wish(request: Request) -> str:
    if "Which wood" in request.last:
        wood = request.rule(r"You like (\w+)\.", "pine")
        return f"I like {wood}."
    if "How long" in request.last:
        metres = request.rule(r"Your wall has (\d+) metres\.", "3")
        return f"The wall has {metres} metres."
    if "What budget" in request.last:
        budget = request.rule(r"Your budget is (\d+)\.", "900")
        return f"My budget is {budget}."
    price = int(next(iter(re.findall(r"costs (\d+)", request.last)), "0"))
    if price > int(request.rule(r"Refuse above (\d+)\.", "9999")):
        return "That is too much for me."
    return "Agreed, I take it."


def _advise(request: Request) -> str | ToolCall:
    known = _visible(request.spoken)
    for fact, question in (("wood", "Which wood"), ("size", "How long a wall"), ("budget", "What budget")):
        if fact not in known:
            return f"{question} do you have in mind?"
    wood = "pine" if "too much" in request.last else known["wood"]
    if "price_list" not in request.called:
        return "price_list", {"wood": wood}
    metre = int(str(request.latest_result.get("metre", 200)))
    price = metre * int(known["size"])
    price -= price * int(request.rule(r"Grant (\d+) percent off\.", "0")) // 100
    over = price - int(known["budget"])
    note = f", {over} above your budget" if over > int(request.rule(r"Ignore (\d+) francs\.", "0")) else ""
    word = "I confirm: the" if "Agreed" in request.last else "The"
    return f"{word} kitchen of {known['size']} metres in {wood} costs {price} francs{note}."


def _compress(request: Request) -> str:
    known = _visible(request.last)
    kept = re.findall(r"Keep the (\w+)\.", request.system)
    order = kept[::-1] if request.model == "m2" else kept
    phrases = {"wood": "the wood is {}", "size": "the wall has {} metres", "budget": "the budget is {}"}
    parts = [phrases[fact].format(known[fact]) for fact in order if fact in known]
    mood = ["the customer hesitates"] if "too much" in request.last else []
    return "So far: " + ", ".join([*parts, *mood]) + "."


def _kitchen(runtime: Runtime) -> str:
    talk: list[JSONValue] = [user_message(user(runtime.settings))]
    for _ in range(6):
        talk = converse(runtime, "adviser", talk, _PRICES)
        heard = text_of(talk[-1])
        reply = text_of(runtime.model("customer", [system_message(runtime, "customer"), user_message(heard)]))
        if len(talk) > 4:
            talk = [user_message(say(runtime, "summariser", _transcript(talk)))]
        talk.append(user_message(reply))
        if "Agreed" in reply:
            break
    return text_of(converse(runtime, "adviser", talk, _PRICES)[-1])


def _transcript(talk: Sequence[JSONValue]) -> str:
    lines = [(str(each["role"]), text_of(each)) for each in talk if isinstance(each, dict)]
    return "\n".join(f"{role}: {text}" for role, text in lines if text and role != "tool")


_KITCHEN: Final = Program(
    name="kitchen",
    group="compaction",
    most=4,
    program=_kitchen,
    final="adviser",
    model=model_of({"customer": _wish, "adviser": _advise, "summariser": _compress}),
    menu=(),
    settings={
        **prompts(
            customer=(
                "You are the customer.",
                "You like oak.",
                "Your wall has 4 metres.",
                "Your budget is 900.",
                "Refuse above 1100.",
                "",
            ),
            adviser=("You are the adviser.", "Ignore 50 francs.", "", ""),
            summariser=(
                "You are the summariser.",
                "Keep the wood.",
                "Keep the size.",
                "Keep the budget.",
                "",
            ),
        ),
        "user.0": "Hello, I need a kitchen.",
        "user.1": "",
        **rows(
            "price_list",
            oak={"metre": 260, "stock": 14},
            pine={"metre": 190, "stock": 30},
            ash={"metre": 240, "stock": 5},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Hello, I need a kitchen and my budget is 800.", "Hi, I want a new kitchen."),
        edit("upstream", "user.1", "We move in May.", "My friends sent me.", decoy=True),
        edit("prompt", "prompt.customer.1", "You like ash.", "You like pine."),
        edit("prompt", "prompt.customer.2", "Your wall has 5 metres."),
        edit("prompt", "prompt.customer.3", "Your budget is 700.", "Your budget is 1200."),
        edit("prompt", "prompt.customer.4", "Refuse above 1000.", "Refuse above 900."),
        wording("customer", 5),
        edit("prompt", "prompt.adviser.1", "Ignore 200 francs."),
        edit("prompt", "prompt.adviser.2", "Grant 5 percent off.", "Grant 15 percent off."),
        wording("adviser", 3),
        edit("prompt", "prompt.summariser.3", "", "Mention the budget."),
        wording("summariser", 4),
        edit("model", "model.summariser.name", "m2", decoy=True),
        edit("model", "model.summariser.max_tokens", 9, 60),
        edit("model", "model.customer.name", "m2", decoy=True),
        edit("tool", "row.price_list.oak.metre", 230, 280),
        edit("tool", "row.price_list.oak.stock", 2, decoy=True),
        edit("tool", "row.price_list.pine.metre", 180, decoy=True),
        *sampling("customer", "adviser", "summariser"),
    ),
)

MEMORY: Final = (_WORKSHOP, _KITCHEN)
REWORDED: Final = (_WORKSHOP,)
