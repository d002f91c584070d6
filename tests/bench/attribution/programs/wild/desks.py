"""A support desk that routes by a label, and comments behind a guardrail with a second model for rejected answers."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import real, tool
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
    Program,
    converse,
    edit,
    sampling,
    say,
    text_of,
    user_message,
    wording,
)

# ---- support desk: a router names a category, code starts the specialist of that category

_DESKS: Final = ("refunds", "technical")


def _route(request: Request) -> str:
    text = request.last.lower()
    rules = re.findall(r"If the message mentions (\w+), the category is (\w+)\.", request.system)
    examples = re.findall(r"Example: a message about (\w+) is (\w+)\.", request.system)
    hits = [label for word, label in [*examples, *rules] if word in text]
    label = (hits[-1] if request.model == "m1-mini" else hits[0]) if hits else "general"
    return f"Category: {label}."


def _refund(request: Request) -> str | ToolCall:
    name = request.tool("order")
    order = find(r"\b(R-\d{3})\b", request.spoken, "R-000")
    if name and name not in request.called:
        return name, {"order": order}
    facts = request.latest_result
    if not facts or "error" in facts:
        return "I can only help with an order number."
    age = number(r"(\d+)", str(facts.get("days")), 99)
    if age <= int(request.rule(r"Refund orders of the last (\d+) days\.", "0")):
        return (
            f"Order {order}: we refund {real(facts.get('total')):.2f} euros to your {facts.get('method', 'account')}."
        )
    share = request.rule(r"Offer older orders (\d+) percent credit\.", "0")
    return f"Order {order}: it is too old for a refund, here are {share} percent of credit."


def _repair(request: Request) -> str | ToolCall:
    name = request.tool("device")
    device = find(r"\b(kettle|lamp|toaster)\b", request.spoken.lower(), "device")
    if name and name not in request.called:
        return name, {"device": device}
    step = str(request.latest_result.get("step", "switch it off and on"))
    end = " and send us a photo" if "Ask for a photo." in request.system else ""
    return f"Please {step}{end}."


def _chat(request: Request) -> str:
    promise = request.rule(r"Say that ([^.]+)\.", "a colleague answers soon")
    return f"Thanks for your message. {promise}."


def _support(runtime: Runtime) -> str:
    text = user(runtime.settings)
    desk = find(r"Category: (\w+)", say(runtime, "router", text))
    if desk not in _DESKS:
        return say(runtime, "general", text)
    if runtime.settings["code.refunds+technical.message"] == "first sentence":
        text = re.split(r"(?<=[.!?]) ", text)[0]
    tools = {
        "refunds": tool("get_order", str(runtime.settings["tool.order"]), "order"),
        "technical": tool("get_guide", "Look up a device.", "device"),
    }
    return text_of(converse(runtime, desk, [user_message(text)], [tools[desk]])[-1])


_SUPPORT: Final = Program(
    name="shop support",
    group="labels to desks",
    rewords=True,
    controls=8,
    program=_support,
    final="refunds",
    model=model_of(
        {"router": _route, "refunds specialist": _refund, "technical specialist": _repair, "general agent": _chat}
    ),
    menu=(),
    settings={
        **prompts(
            router=(
                "You are the router. Reply with one category.",
                "Example: a message about vouchers is general.",
                "If the message mentions money, the category is refunds.",
                "If the message mentions broken, the category is technical.",
                "",
            ),
            refunds=(
                "You are the refunds specialist. Look at the order first.",
                "Refund orders of the last 30 days.",
                "Offer older orders 10 percent credit.",
                "",
            ),
            technical=("You are the technical specialist. One step at a time.", "", ""),
            general=("You are the general agent. Be short.", "Say that a colleague answers soon."),
        ),
        "user.0": "Hello from Lyon.",
        "user.1": "The lamp of order R-417 arrived broken and I want my money back.",
        "user.2": "",
        "tool.order": "Look up an order by its number.",
        "code.refunds+technical.message": "whole",
        **rows(
            "get_order",
            R_417={"days": 21, "total": 64.5, "method": "card", "carrier": "DPD"},
            R_471={"days": 58, "total": 18.0, "method": "voucher", "carrier": "DPD"},
        ),
        **rows(
            "get_guide",
            lamp={"step": "replace the bulb", "version": 3},
            kettle={"step": "descale it", "version": 1},
            device={"step": "switch it off for a minute", "version": 1},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Hello from Nice.", "Good morning, I bought a lamp in your shop.", decoy=True),
        edit(
            "upstream",
            "user.1",
            "The lamp of order R-471 arrived broken and I want my money back.",
            "The lamp of order R-417 arrived broken.",
            "Do you sell lamps?",
        ),
        edit("upstream", "user.2", "Thank you.", "I have been a customer for years.", decoy=True),
        edit(
            "prompt",
            "prompt.router.1",
            "Example: a message about lamp is technical.",
            "Example: a message about shipping is general.",
        ),
        edit("prompt", "prompt.router.2", "If the message mentions refund, the category is refunds."),
        edit("prompt", "prompt.router.3", "If the message mentions damaged, the category is technical.", decoy=True),
        wording("router", 4),
        edit("model", "model.router.name", "m1-mini"),
        edit("prompt", "prompt.refunds.1", "Refund orders of the last 14 days.", "Refund orders of the last 90 days."),
        edit("prompt", "prompt.refunds.2", "Offer older orders 25 percent credit.", decoy=True),
        wording("refunds", 3),
        edit("prompt", "prompt.technical.1", "Ask for a photo.", decoy=True),
        edit("tool", "tool.order", "Look up an order: days, total, method.", decoy=True),
        edit("tool", "row.get_order.R-417.days", 41, 29),
        edit("tool", "row.get_order.R-417.total", 46.5),
        edit("tool", "row.get_order.R-417.carrier", "Chronopost", decoy=True),
        edit("tool", "row.get_guide.lamp.step", "check the plug", decoy=True),
        edit("upstream", "code.refunds+technical.message", "first sentence"),
        *sampling("router", "refunds"),
    ),
)

# ---- moderation: a screen, an answer, a check that decides differently at times, a second model if it rejects


def _screen(request: Request) -> str:
    words = re.findall(r"Block (\w+)\.", request.system)
    hits = [word for word in words if word in request.last.lower()]
    return f"verdict: block because of {hits[0]}" if hits else "verdict: allow"


def _comment(request: Request) -> str:
    text = request.last.lower()
    topic = find(r"\b(diet|running|sleep)\b", text, "health")
    advice = request.rule(rf"On {topic}: ([^.]+)\.", "see a doctor")
    tail = ", trust me" if request.temperature > 0.6 or request.model == "m2" else ""
    return f"For {topic}, {advice}{tail}."


def _check(request: Request) -> str:
    words = re.findall(r"Reject (\w+(?: \w+)?)\.", request.system)
    hits = [word for word in words if word in request.last.lower()]
    return f"verdict: block because of {hits[0]}" if hits else "verdict: allow"


def _safe(request: Request) -> str:
    place = request.rule(r"Point to ([^.]+)\.", "an expert")
    return f"I would rather not say; see {place}."


def _moderation(runtime: Runtime) -> str:
    text = user(runtime.settings)
    if "block" in say(runtime, "screen", text):
        return "This comment is hidden."
    reply = say(runtime, "writer", text)
    draft = reply if runtime.settings["code.check.draft"] == "whole" else reply.split(",")[0]
    if runtime.settings["code.check.step"] == "on" and "block" in say(runtime, "check", draft):
        reply = say(runtime, "substitute", text)
    return reply


_MODERATION: Final = Program(
    name="comment replies",
    group="guardrail and second model",
    controls=8,
    program=_moderation,
    final="writer",
    model=model_of({"screen": _screen, "writer": _comment, "check": _check, "substitute": _safe}),
    chance=Chance(rate=0.12, alternatives=(("verdict: block", "verdict: allow"), ("verdict: allow", "verdict: block"))),
    menu=(),
    settings={
        **prompts(
            screen=("You are the screen. Give a verdict.", "Block insults.", "", ""),
            writer=(
                "You are the writer. Answer comments on our articles.",
                "On diet: eat less sugar and more beans.",
                "On sleep: keep the phone out of the bedroom.",
                "On running: start with two short runs a week.",
                "",
            ),
            check=("You are the check. Give a verdict.", "Reject pills.", "Reject trust me.", ""),
            substitute=("You are the substitute. Be careful.", "Point to our page about coaches."),
        ),
        "user.0": "Nice article!",
        "user.1": "How do I begin with running?",
        "user.2": "",
        "model.check.temperature": 0.5,
        "model.screen.temperature": 0.5,
        "code.check.draft": "whole",
        "code.check.step": "on",
    },
    edits=(
        edit("upstream", "user.0", "Great article!", "I liked the pictures.", decoy=True),
        edit("upstream", "user.1", "How do I get more sleep?", "What is a good diet?"),
        edit("upstream", "user.2", "Cheers, Mo", "PS: I am 52.", decoy=True),
        edit("prompt", "prompt.screen.1", "Block begin.", "Block spam."),
        edit("prompt", "prompt.screen.2", "Block adverts.", decoy=True),
        wording("screen", 3),
        edit("prompt", "prompt.writer.1", "On diet: eat slowly.", decoy=True),
        edit(
            "prompt",
            "prompt.writer.3",
            "On running: take salt pills and run daily.",
            "On running: start with three long runs a week.",
            "On running: ask a friend to join.",
        ),
        wording("writer", 4),
        edit("model", "model.writer.name", "m2"),
        edit("model", "model.writer.temperature", 0.9),
        edit("prompt", "prompt.check.1", "Reject short runs.", "Reject medicine."),
        edit("prompt", "prompt.check.2", "Reject believe me.", decoy=True),
        edit("prompt", "prompt.check.3", "Keep verdicts short.", "Reject runs."),
        edit("prompt", "prompt.substitute.1", "Point to our page about doctors.", decoy=True),
        edit("upstream", "code.check.draft", "start", decoy=True),
        edit("upstream", "code.check.step", "off", decoy=True),
        *sampling("substitute"),
    ),
)

DESKS: Final[tuple[Program, ...]] = (_SUPPORT, _MODERATION)
