"""Chats: a companion whose memory is a summary and a window, and a desk whose code translates in both directions."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real, tool
from tests.bench.attribution.programs.later.reading import find, number
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

# ---- companion: six turns, a window of four messages, and a summary of what fell out of it

_FACTS: Final = (
    ("name", r"(?:my name is|call me) (\w+)"),
    ("diet", r"\bI(?:'m| am) (vegan|vegetarian|allergic to nuts)"),
    ("city", r"\bI live in (\w+)"),
    ("day", r"\bmy birthday is on (\d+ \w+)"),
)
_DISHES: Final = {"vegan": "a lentil stew", "vegetarian": "an omelette", "allergic to nuts": "a risotto"}


def _remember(request: Request) -> str:
    """Keep what is known, and add the facts of the messages that leave the window."""
    known, _, fresh = request.last.partition("\nDropped:\n")
    memory = dict(re.findall(r"(\w+)=([^;.]+)", known))
    for name, pattern in _FACTS:
        if f"Forget the {name}." in request.system:
            memory.pop(name, None)
            continue
        values = re.findall(pattern, fresh)
        if values and ("Keep the first value." not in request.system or name not in memory):
            memory[name] = values[-1]
    most = int(request.rule(r"Keep at most (\d) facts\.", "9"))
    return ("; ".join(f"{name}={value}" for name, value in list(memory.items())[:most]) or "nothing yet") + "."


def _chat(request: Request) -> str:
    first = request.messages[0] if request.messages else {}
    memory = dict(re.findall(r"(\w+)=([^;.\]]+)", text_of(first)))
    for name, pattern in _FACTS:
        if values := re.findall(pattern, request.spoken):
            memory[name] = values[-1]
    name, text = memory.get("name", "friend"), request.last.lower()
    today = request.rule(r"Today is the (\d+ \w+)\.", "1 January")
    if "birthday" in memory.get("day", "") or memory.get("day") == today:
        return f"Happy birthday, {name}! Let me cook {_dish(request, memory)}."
    if "cook" in text or "dinner" in text:
        return f"{name}, how about {_dish(request, memory)}?"
    if "weather" in text:
        return f"I cannot see the weather in {memory.get('city', 'your city')}."
    return f"Noted, {name}."


def _dish(request: Request, memory: dict[str, str]) -> str:
    dish = _DISHES.get(memory.get("diet", ""), "a roast chicken")
    return f"{dish} with chips" if request.temperature > 0.7 else dish


def _companion(runtime: Runtime) -> str:
    window: list[JSONValue] = []
    memory, reply = "nothing yet", ""
    for turn in range(6):
        window.append(user_message(str(runtime.settings[f"turn.{turn}"])))
        if len(window) > 4:
            dropped = "\n".join(text_of(message) for message in window[:-4])
            window = window[-4:]
            memory = say(runtime, "memory", f"Known: {memory}\nDropped:\n{dropped}")
        opening = user_message(f"[What you know of me: {memory}]")
        answer = runtime.model("companion", [system_message(runtime, "companion"), opening, *window])
        window.append(answer)
        reply = text_of(answer)
    return reply


_COMPANION: Final = Program(
    name="kitchen companion",
    group="summary and window",
    rewords=True,
    most=4,
    program=_companion,
    final="companion",
    model=model_of({"memory": _remember, "companion": _chat}),
    menu=(),
    settings={
        **prompts(
            memory=("You are the memory. Sum up what to keep of the user.", "", "", ""),
            companion=("You are the companion. Talk about food.", "Today is the 4 May.", "", ""),
        ),
        "model.companion.temperature": 0.7,
        "user.0": "",
        "turn.0": "Hi, my name is Noor and I am vegetarian.",
        "turn.1": "OK.",
        "turn.2": "How is the weather? By the way, I live in Tromsø.",
        "turn.3": "OK.",
        "turn.4": "OK.",
        "turn.5": "What shall we cook tonight?",
    },
    edits=(
        edit(
            "upstream",
            "turn.0",
            "Hi, my name is Noor and I am vegan.",
            "Hi, call me Nora and I am vegetarian.",
            "Hi, my name is Noor and I am vegetarian, hello!",
        ),
        edit("upstream", "turn.1", "OK, thanks.", "Actually I am allergic to nuts."),
        edit("upstream", "turn.2", "How is the weather? By the way, I live in Bodø.", decoy=True),
        edit("upstream", "turn.3", "Fine.", "And my birthday is on 4 May."),
        edit("upstream", "turn.4", "Okay then.", "Oh, I am vegan since today."),
        edit("upstream", "turn.5", "What shall we cook tonight, then?", "Any idea for dinner?", decoy=True),
        edit("prompt", "prompt.memory.1", "Forget the diet.", "Forget the city."),
        edit("prompt", "prompt.memory.2", "Keep at most 1 facts.", "Keep the first value."),
        wording("memory", 3),
        edit("prompt", "prompt.companion.1", "Today is the 5 May.", "Today is the 3 May.", decoy=True),
        wording("companion", 2),
        edit("model", "model.companion.temperature", 0.9),
        edit("model", "model.companion.name", "m2", decoy=True),
        edit("model", "model.memory.max_tokens", 1),
        *sampling("memory"),
    ),
)

# ---- translation: code translates with a glossary, the agent works in English, its answer is localised again

_WORDS: Final = {
    "wo ist": "where is",
    "meine": "my",
    "bestellung": "order",
    "stornieren": "cancel",
    "kostet": "costs",
    "versand": "shipping",
    "nach": "to",
    "schweiz": "Switzerland",
    "österreich": "Austria",
    "und": "and",
    "bitte": "please",
}


def _desk(request: Request) -> str | ToolCall:
    order = find(r"\b(B-\d{3})\b", request.spoken, "none")
    if "get_order" not in request.called:
        return "get_order", {"order": order}
    facts = next(iter(request.results), {})
    if "error" in facts:
        return f"I cannot find the order {order}."
    text = request.spoken.lower()
    if "cancel" in text:
        hours = number(r"(\d+)", str(facts.get("hours")), 99)
        if hours <= int(request.rule(r"Cancel within (\d+) hours\.", "12")):
            return f"The order {order} is cancelled; {facts.get('total')} EUR are refunded."
        return f"The order {order} cannot be cancelled."
    if "shipping" in text:
        country = "Switzerland" if "switzerland" in text else "Austria"
        if "get_rate" not in request.called:
            return "get_rate", {"country": country}
        rate = real(request.latest_result.get("rate"), 9.9)
        free = float(request.rule(r"Shipping is free from (\d+) EUR\.", "999"))
        rate = 0.0 if real(facts.get("total")) >= free else rate
        return f"Shipping to {country} costs {rate:.2f} EUR."
    return f"The order {order} is {facts.get('state')} and arrives on {facts.get('due')}."


def _back(request: Request) -> str:
    text = request.last
    pairs = (
        (
            r"The order (\S+) is cancelled; ([\d.,]+ EUR) are refunded\.",
            r"Bestellung \1 ist storniert, \2 kommen zurück.",
        ),
        (r"The order (\S+) cannot be cancelled\.", r"Bestellung \1 lässt sich nicht mehr stornieren."),
        (r"The order (\S+) is (\w+) and arrives on (\S+)\.", r"Bestellung \1 ist \2, Ankunft \3."),
        (r"Shipping to (\w+) costs ([\d.,]+ EUR)\.", r"Der Versand (\1) kostet \2."),
    )
    for pattern, substitute in pairs:
        text = re.sub(pattern, substitute, text)
    if "Use the formal address." in request.system:
        text = f"Sehr geehrte Kundin, {text}"
    return text.replace("ss", "ß") if request.model == "m1-at" else text


def _translated(runtime: Runtime) -> str:
    glossary = fields(runtime.tool("get_glossary", {"pair": "de-en"}))
    table = {**_WORDS, **{word: str(value) for word, value in glossary.items()}}
    german = user(runtime.settings)
    english = german.lower()
    for word in sorted(table, key=lambda word: (-len(word), word)):
        english = re.sub(rf"\b{re.escape(word)}\b", table[word], english)
    english = re.sub(r"\bb-(\d{3})\b", r"B-\1", english)
    tools: list[JSONValue] = [
        tool("get_order", "Look an order up.", "order"),
        tool("get_rate", "Tell the shipping rate.", "country"),
    ]
    asked = user_message(f"Original: {german}\nTranslation: {english}")
    answer = text_of(converse(runtime, "desk", [asked], tools)[-1])
    answer = re.sub(r"(\d{4})-(\d\d)-(\d\d)", r"\3.\2.\1", answer)
    answer = re.sub(r"(\d)\.(\d\d) EUR", r"\1,\2 EUR", answer)
    return say(runtime, "localiser", answer)


_TRANSLATED: Final = Program(
    name="two languages",
    group="translation in code",
    most=4,
    program=_translated,
    final="localiser",
    model=model_of({"desk": _desk, "localiser": _back}),
    menu=(),
    settings={
        **prompts(
            desk=(
                "You are the desk. Work in English.",
                "Cancel within 24 hours.",
                "Shipping is free from 100 EUR.",
                "",
            ),
            localiser=("You are the localiser. Put the answer into German.", "", "", ""),
        ),
        "user.0": "Bitte meine Bestellung B-204 stornieren!",
        "user.1": "",
        **rows(
            "get_order",
            B_204={"state": "packed", "hours": 20, "total": "84.50", "due": "2026-06-02"},
            B_240={"state": "sent", "hours": 70, "total": "120.00", "due": "2026-05-29"},
        ),
        **rows("get_rate", Switzerland={"rate": 12.5}, Austria={"rate": 4.9}),
        "row.get_glossary.de-en.paket": "parcel",
        "row.get_glossary.de-en.rechnung": "invoice",
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Bitte meine Bestellung B-240 stornieren!",
            "Wo ist meine Bestellung B-204?",
            "Was kostet der Versand der Bestellung B-204 nach Österreich?",
            "Bitte die Bestellung B-204 stornieren.",
        ),
        edit("upstream", "user.1", "Danke schön!", "Liebe Grüße aus Köln", decoy=True),
        edit("prompt", "prompt.desk.1", "Cancel within 12 hours.", "Cancel within 48 hours."),
        edit("prompt", "prompt.desk.2", "Shipping is free from 50 EUR.", "", decoy=True),
        wording("desk", 3),
        edit("prompt", "prompt.localiser.1", "Use the formal address."),
        edit("model", "model.localiser.name", "m1-at", decoy=True),
        wording("localiser", 2),
        edit("tool", "row.get_order.B-204.hours", 26, 3),
        edit("tool", "row.get_order.B-204.total", "79.90"),
        edit("tool", "row.get_order.B-204.due", "2026-06-04", decoy=True),
        edit("tool", "row.get_rate.Austria.rate", 5.9, decoy=True),
        edit("tool", "row.get_order.B-204.error", "Datenbank nicht erreichbar"),
        edit("model", "model.desk.name", "m2", decoy=True),
        *sampling("desk", "localiser"),
    ),
)

TALKS: Final = (_COMPANION, _TRANSLATED)
