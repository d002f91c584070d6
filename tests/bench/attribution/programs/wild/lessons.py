"""A tutor with a window of messages, and product texts that pass several steps."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import (
    Program,
    edit,
    sampling,
    say,
    system_message,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONValue

# ---- tutor: the learner's messages in a window, a level that a second model reads from the talk

_TASKS: Final = {"fractions": "what is 1/2 + 1/4?", "powers": "what is 2 to the 5?", "angles": "what is half of 90?"}


def _level(request: Request) -> str:
    text = request.last.lower()
    words = re.findall(r"The word (\w+) means level (\w+)\.", request.system)
    return "Level: " + next((level for word, level in words if word in text), "middle")


def _teach(request: Request) -> str:
    text = request.last.lower()
    name = find(r"[Mm]y name is (\w+)", request.spoken, "friend")
    topics = re.findall(r"\b(fractions|powers|angles)\b", request.spoken)
    topic = topics[0 if "Stay with the first topic." in request.system else -1] if topics else "counting"
    level = find(r"level (\w+)", request.last, "middle")
    if "exercise" in text:
        task = _TASKS.get(topic, "what is 3 + 4?")
        hint = request.rule(rf"At level {level} say: ([^.]+)\.", "try it")
        count = " Then do another one." if request.temperature > 0.7 else ""
        return f"{name}, {task} Tip: {hint}.{count}"
    if topics:
        return f"Good, {name}, {topic} it is."
    return f"Hello {name}."


def _tutor(runtime: Runtime) -> str:
    settings = runtime.settings
    history: list[JSONValue] = []
    size = number(r"(\d)", str(settings["code.tutor.messages"]), 4)
    for place in range(5):
        if not (text := str(settings[f"turn.{place}"])):
            continue
        history.append(user_message(text))
        answer = runtime.model("tutor", [system_message(runtime, "tutor"), *history[-size:]])
        history.append(answer)
    talk = "\n".join(text_of(message) for message in history[0::2])
    level = find(r"Level: (\w+)", say(runtime, "assessor", talk), "middle")
    if settings["code.tutor.level"] == "upper case":
        level = level.upper()
    closing = [*history[-size:], user_message(f"{settings['turn.5']} (level {level})")]
    return text_of(runtime.model("tutor", [system_message(runtime, "tutor"), *closing]))


_TUTOR: Final = Program(
    name="maths tutor",
    group="window and level",
    rewords=True,
    controls=8,
    program=_tutor,
    final="tutor",
    model=model_of({"assessor": _level, "tutor": _teach}),
    menu=(),
    settings={
        **prompts(
            assessor=(
                "You are the assessor. Name the level.",
                "The word hard means level low.",
                "The word easy means level high.",
                "",
            ),
            tutor=(
                "You are the tutor. Be patient.",
                "At level low say: draw a picture.",
                "At level middle say: write it down.",
                "At level high say: do it in your head.",
                "",
                "",
            ),
        ),
        "user.0": "",
        "turn.0": "Hi, my name is Ines.",
        "turn.1": "Today we did fractions.",
        "turn.2": "They are hard for me.",
        "turn.3": "",
        "turn.4": "",
        "turn.5": "Give me an exercise.",
        "code.tutor.messages": 8,
        "code.tutor.level": "as named",
    },
    edits=(
        edit("upstream", "turn.0", "Hi, my name is Inez.", "Hi there!"),
        edit("upstream", "turn.1", "Today we did powers.", "Today we did fractions again."),
        edit("upstream", "turn.2", "They are easy for me.", "They are fun for me.", "They are really hard for me."),
        edit("upstream", "turn.3", "My brother helps me with angles.", "I have a test on Friday."),
        edit("upstream", "turn.4", "My pencil is red.", "Yes.", decoy=True),
        edit("upstream", "turn.5", "Please give me an exercise.", "One exercise, please.", decoy=True),
        edit("prompt", "prompt.assessor.1", "The word hard means level middle.", "The word stuck means level low."),
        edit("prompt", "prompt.assessor.2", "The word simple means level high.", decoy=True),
        wording("assessor", 3),
        edit("prompt", "prompt.tutor.1", "At level low say: use an apple.", "At level low say: draw a picture. Smile."),
        edit("prompt", "prompt.tutor.2", "At level middle say: write it up.", decoy=True),
        edit("prompt", "prompt.tutor.3", "At level high say: be quick.", decoy=True),
        edit("prompt", "prompt.tutor.4", "Stay with the first topic.", "Stay with the pupil.", decoy=True),
        wording("tutor", 5),
        edit("model", "model.tutor.temperature", 0.9),
        edit("model", "model.tutor.name", "m2", decoy=True),
        edit("model", "model.assessor.name", "m2", decoy=True),
        edit("upstream", "code.tutor.messages", 2, 9),
        edit("upstream", "code.tutor.level", "upper case"),
        edit("model", "model.tutor.max_tokens", 900, decoy=True),
        *sampling("assessor"),
    ),
)

# ---- product texts: facts from a tool, a draft, a claim check that may be left out, a translation, a label by code


def _draft(request: Request) -> str:
    facts = dict(re.findall(r"(\w+)=([\w ]+);", request.last))
    name, claim = facts.get("name", "It"), request.rule(r"Praise it as ([^.]+)\.", "nice")
    parts = [f"{name} is {claim}"]
    if "weight" in facts and "Leave the weight out." not in request.system:
        parts.append(f"it weighs {facts['weight']}")
    if "colour" in facts:
        parts.append(f"it comes in {facts['colour']}")
    if request.model == "m2":
        parts.reverse()
    return f"{' and '.join(parts)}."


def _clean(request: Request) -> str:
    text = request.last
    for word in re.findall(r"Strike the word (\w+)\.", request.system):
        text = re.sub(rf"\b{word}\b", "good", text)
    return text


_GERMAN: Final = {
    "is": "ist",
    "and": "und",
    "it weighs": "es wiegt",
    "it comes in": "es gibt es in",
    "good": "gut",
    "red": "Rot",
    "green": "Grün",
    "unbeatable": "unschlagbar",
    "light": "leicht",
    "solid": "robust",
}


def _translate(request: Request) -> str:
    text = request.last
    for english, german in sorted(_GERMAN.items(), key=lambda pair: -len(pair[0])):
        text = re.sub(rf"\b{english}\b", german, text)
    if request.rule(r"Use the (formal|friendly) tone\.") == "friendly":
        text = f"Hey! {text}"
    return text


def _copy(runtime: Runtime) -> str:
    settings = runtime.settings
    name = find(r"Product: (\w+)", user(settings), "Tent")
    facts = fields(runtime.tool("get_product", {"name": name}))
    if settings["code.drafter.facts"] == "sorted":
        facts = dict(sorted(facts.items()))
    shown = {key: value for key, value in facts.items() if key != "stock" or settings["code.drafter.stock"] == "kept"}
    text = say(runtime, "drafter", "".join(f"{key}={value};" for key, value in shown.items()))
    if settings["code.checker+translator.step"] == "on":
        text = say(runtime, "checker", text)
    if settings["code.translator.step"] == "on":
        text = say(runtime, "translator", text)
    limit = number(r"(\d+)", str(fields(runtime.tool("get_shop", {"shop": "web"})).get("letters")), 200)
    return text[:limit]


_COPY: Final = Program(
    name="product texts",
    group="steps on and off",
    program=_copy,
    final="translator",
    model=model_of({"drafter": _draft, "checker": _clean, "translator": _translate}),
    menu=(),
    settings={
        **prompts(
            drafter=("You are the drafter. One sentence.", "Praise it as unbeatable.", "", ""),
            checker=("You are the checker. Return the text.", "Strike the word unbeatable.", "", ""),
            translator=("You are the translator. Into German.", "", ""),
        ),
        "user.0": "Product: Lantern.",
        "user.1": "",
        "code.drafter.facts": "as found",
        "code.drafter.stock": "left out",
        "code.checker+translator.step": "on",
        "code.translator.step": "on",
        **rows(
            "get_product",
            Lantern={"name": "Lantern", "weight": "300 g", "colour": "red", "stock": 14},
            Mug={"name": "Mug", "weight": "210 g", "colour": "green", "stock": 3},
        ),
        **rows("get_shop", web={"letters": 120, "currency": "EUR"}),
    },
    edits=(
        edit("upstream", "user.0", "Product: Mug.", "Product: Lantern, please."),
        edit("upstream", "user.1", "For the summer page.", "Soon, please.", decoy=True),
        edit("prompt", "prompt.drafter.1", "Praise it as solid.", "Praise it as light and unbeatable."),
        edit("prompt", "prompt.drafter.2", "Leave the weight out.", "Leave the price out."),
        wording("drafter", 3),
        edit("model", "model.drafter.name", "m2"),
        edit("prompt", "prompt.checker.1", "Strike the word perfect.", "Strike the word unbeatable. Keep it short."),
        edit("prompt", "prompt.checker.2", "Strike the word solid.", decoy=True),
        wording("checker", 3),
        edit("prompt", "prompt.translator.1", "Use the friendly tone.", "Use the formal tone."),
        wording("translator", 2),
        edit("model", "model.translator.max_tokens", 6, 200),
        edit("upstream", "code.drafter.facts", "sorted", decoy=True),
        edit("upstream", "code.drafter.stock", "kept", decoy=True),
        edit("upstream", "code.checker+translator.step", "off"),
        edit("upstream", "code.translator.step", "off"),
        edit("tool", "row.get_product.Lantern.weight", "280 g"),
        edit("tool", "row.get_product.Lantern.colour", "green"),
        edit("tool", "row.get_product.Lantern.stock", 2, decoy=True),
        edit("tool", "row.get_shop.web.letters", 30, 140),
        edit("tool", "row.get_shop.web.currency", "CHF", decoy=True),
        *sampling("drafter", "checker", "translator"),
    ),
)

LESSONS: Final[tuple[Program, ...]] = (_TUTOR, _COPY)
