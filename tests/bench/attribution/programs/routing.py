"""A classifier names a message's topic; code turns it into a part of a specialist's request."""

import re
from collections.abc import Callable
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, system, user
from tests.bench.attribution.programs.model import Request, model_of, parse
from tests.bench.attribution.programs.shapes import (
    Edit,
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

Handover = Callable[[Runtime, str], str]  # the classifier's answer -> the specialist's answer
Topics = tuple[str, str]


def _classify(request: Request) -> str:
    """Return the topic whose keyword the message contains. Of several, `m1` takes the first rule, `m2` the last."""
    rules = re.findall(r"Messages about (\w+) are (.+?)\.(?: |$)", request.system)
    topics = [topic for keyword, topic in rules if keyword in request.last.lower()]
    topic = (topics or ["general"])[0 if request.model == "m1" else -1]
    pattern = request.rule(r"Answer like this: (.+?) END\.", "TOPIC")
    return pattern.replace("TOPIC", topic)


def _advise(request: Request) -> str:
    """Answer by the rule of the topic, which the prompt or the messages state in any spelling."""
    place = re.findall(r"[Tt]opic: ([^\n]*)", f"{request.system.split('For ')[0]}\n{request.spoken}")
    topic = place[-1].lower() if place else ""
    rules = re.findall(r"For (.+?) reply: (.+?)\.", request.system)
    replies = [reply for name, reply in rules if name.lower() in topic or (len(topic) > 3 and topic in name.lower())]
    return f"{(replies or ['A colleague will call you'])[0]}."


def _in_message(topic_of: Callable[[str], str]) -> Handover:
    def hand_over(runtime: Runtime, answer: str) -> str:
        return say(runtime, "specialist", f"Topic: {topic_of(answer)}\nCustomer: {user(runtime.settings)}")

    return hand_over


def _as_own_message(runtime: Runtime, answer: str) -> str:
    return say(runtime, "specialist", user(runtime.settings), f"Topic: {answer}")


def _in_system_prompt(runtime: Runtime, answer: str) -> str:
    role = "You are the specialist."
    prompt = system(runtime.settings, "specialist").replace(role, f"{role} Your topic: {answer}\n", 1)
    return _ask(runtime, "specialist", {"role": "system", "content": prompt})


def _with_tool(runtime: Runtime, answer: str) -> str:
    ticket = runtime.tool("open_ticket", {"queue": answer})
    assert isinstance(ticket, dict)
    return say(runtime, "specialist", f"Topic: {ticket.get('topic', 'none')}\nCustomer: {user(runtime.settings)}")


def _by_prompt(runtime: Runtime, answer: str) -> str:
    """Choose a different agent by topic. No request contains the topic itself."""
    node = "invoices" if "billing" in answer else "repairs"
    return _ask(runtime, node, system_message(runtime, node))


def _ask(runtime: Runtime, node: str, opening: JSONValue) -> str:
    return text_of(runtime.model(node, [opening, user_message(user(runtime.settings))]))


def _with_template(runtime: Runtime, answer: str) -> str:
    text = runtime.prompt("request", "Topic: {topic}\nAnswer in one sentence.", {"topic": answer})
    return say(runtime, "specialist", text, user(runtime.settings))


def _field(answer: str) -> str:
    return str(parse(answer).get("topic", ""))


def _number(answer: str) -> str:
    return next(iter(re.findall(r"\d+", answer)), "0")


def _reply_here(request: Request) -> str:
    return request.rule(r"Reply: (.+?)\.", "A colleague will call you") + "."


MODEL: Final = model_of({"classifier": _classify, "specialist": _advise, "desk": _reply_here})

_FORMS: Final[dict[str, tuple[Topics, str, Handover]]] = {
    "one word": (("billing", "technical"), "TOPIC", _in_message(str)),
    "two words": (("billing question", "technical fault"), "TOPIC", _in_message(str)),
    "three words": (("late paid invoice", "broken lamp part"), "TOPIC", _in_message(str)),
    "five words": (("problem with the last invoice", "lamp that does not work"), "TOPIC", _in_message(str)),
    "id": (
        ("Q-417", "Q-422"),
        "The right queue is TOPIC, I think.",
        _in_message(lambda answer: next(iter(re.findall(r"Q-\d+", answer)), "none")),
    ),
    "number": (("4170", "4220"), "I give it the code TOPIC.", _in_message(_number)),
    "digit": (("1", "2"), "I give it the priority TOPIC.", _in_message(_number)),
    "JSON field": (("billing", "technical"), '{"topic": "TOPIC", "sure": true}', _in_message(_field)),
    "word of a sentence": (
        ("billing", "technical"),
        "This looks like a TOPIC matter to me.",
        _in_message(lambda answer: next(iter(re.findall(r"like a (\w+)", answer)), "none")),
    ),
    "whole message": (("billing", "technical"), "This message is about a TOPIC matter.", _as_own_message),
    "upper case": (("billing", "technical"), "TOPIC", _in_message(str.upper)),
    "stripped": (("billing", "technical"), "  TOPIC! ", _in_message(lambda answer: answer.strip(" !"))),
    "truncated": (
        ("billing of an order that was paid twice", "technical fault of a lamp that blinks"),
        "TOPIC, says the customer, and they want an answer today",
        _in_message(lambda answer: answer[:24]),
    ),
    "tool argument": (("billing", "technical"), "TOPIC", _with_tool),
    "system prompt": (("billing", "technical"), "TOPIC", _in_system_prompt),
    "template": (("billing", "technical"), "TOPIC", _with_template),
    "another prompt": (("billing", "technical"), "TOPIC", _by_prompt),
}


def _program(form: str) -> Program:
    (first, second), pattern, hand_over = _FORMS[form]

    def run(runtime: Runtime) -> str:
        return hand_over(runtime, say(runtime, "classifier", user(runtime.settings)))

    return Program(
        name=f"router, {form}",
        group="router",
        program=run,
        final="specialist",
        model=MODEL,
        menu=(),
        settings={
            **prompts(
                classifier=(
                    "You are the classifier.",
                    f"Messages about invoice are {first}.",
                    f"Messages about lamp are {second}.",
                    f"Answer like this: {pattern} END.",
                    "",
                ),
                specialist=(
                    "You are the specialist.",
                    f"For {first} reply: We look at the invoice.",
                    f"For {second} reply: We repair the lamp.",
                    "",
                ),
                invoices=("You are the desk.", "Reply: We look at the invoice.", ""),
                repairs=("You are the desk.", "Reply: We repair the lamp.", ""),
            ),
            "user.0": "Hello.",
            "user.1": "The lamp on my invoice is dark.",
            "user.2": "",
            **rows(
                "open_ticket",
                billing={"topic": "billing", "ticket": 5512},
                technical={"topic": "technical", "ticket": 5513},
            ),
        },
        edits=_edits(form, first, second),
    )


def _edits(form: str, first: str, second: str) -> tuple[Edit, ...]:
    desk = form == "another prompt"
    specialists: tuple[Edit, ...] = (
        edit("prompt", "prompt.specialist.1", f"For {first} reply: We send the money back."),
        wording("specialist", 3),
        *sampling("classifier", "specialist"),
    )
    desks: tuple[Edit, ...] = (
        edit("prompt", "prompt.invoices.1", "Reply: We send the money back."),
        *sampling("classifier", "invoices"),
    )
    signature = edit("prompt", "prompt.classifier.4", "Sign as the front office.", decoy=True)
    return (
        edit("prompt", "prompt.classifier.1", f"Messages about invoice are {second}.", "Messages about tax are fees."),
        edit("model", "model.classifier.name", "m2"),
        edit("upstream", "user.1", "The lamp is dark.", "There is a tax on my invoice for the lamp."),
        edit("upstream", "user.2", "Thank you very much.", "I wrote last week already.", decoy=True),
        *(desks if desk else specialists),
        *(
            (signature,)
            if form in {"id", "number", "digit", "word of a sentence", "truncated"}
            else (wording("classifier", 4),)
        ),
        *(
            (
                edit("tool", "row.open_ticket.billing.topic", "technical"),
                edit("tool", "row.open_ticket.billing.ticket", 5599, decoy=True),
            )
            if form == "tool argument"
            else ()
        ),
    )


ROUTERS: Final = tuple(_program(form) for form in _FORMS)
