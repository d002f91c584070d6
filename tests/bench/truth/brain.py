"""A deterministic model: few different answers, which depend on the whole request and repeat values of it."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final

from traces.core.canonical import digest
from traces.core.json_access import as_objects
from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.messages import Message, ModelRequest

ORDERS: Final = ("A-1042", "B-77", "C-300")
QUEUES: Final = ("billing", "shipping", "technical")
_FACTS: Final = ("was lost by the carrier", "arrives on Monday", "was refunded in full", "waits in our warehouse")
_REFUSAL: Final = "I cannot help with that."


def system_prompt(style: str, note: str = "") -> str:
    return f"You are the {style} of the order desk. {note}".strip()


def answer(request: JSONObject, model: str, call_ids: Callable[[], str]) -> JSONObject:
    """Return the model's message."""
    messages = [Message(message) for message in ModelRequest(request).messages]
    random = Random(digest([model, _without_ids(request)]))
    style = next(iter(re.findall(r"You are the (\w+)", "\n".join(message.text for message in messages))), "writer")
    if random.random() < 0.04:
        return {"role": "assistant", "content": _REFUSAL}
    if style == "clerk" and (calls := _calls(request, messages, random, call_ids)):
        return {"role": "assistant", "content": None, "tool_calls": calls}
    return {"role": "assistant", "content": _STYLES.get(style, _prose)(messages[-1].text, random)}


def _without_ids(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return {key: _without_ids(item) for key, item in value.items() if key not in ("id", "tool_call_id")}
    return [_without_ids(item) for item in value] if isinstance(value, list) else value


def _calls(
    request: JSONObject, messages: Sequence[Message], random: Random, call_ids: Callable[[], str]
) -> list[JSONValue]:
    """Calls of one turn; none after three results, and seldom none before."""
    last_user = max(index for index, message in enumerate(messages) if message.role == "user")
    results = [message for message in messages[last_user:] if message.role == "tool"]
    tools = [str(tool.get("name")) for tool in as_objects(request.get("tools"))]
    if not tools or len(results) >= 3 or random.random() < (0.4 if results else 0.1):
        return []
    count = random.choice((1, 1, 2))
    return [
        {"id": call_ids(), "name": tool, "arguments": _arguments(tool, messages[-1].text, random)}
        for tool in random.sample(tools * 2, count)
    ]


def _arguments(tool: str, text: str, random: Random) -> JSONObject:
    known_orders = [order for order in ORDERS if order in text] or list(ORDERS)
    if tool == "save_note":
        return {"key": random.choice(QUEUES), "text": random.choice(_FACTS)}
    if tool == "read_note":
        return {"key": random.choice(QUEUES)}
    if tool in ("ask_expert", "find_rules"):
        return {"task": f"Find out about {random.choice(known_orders)} for {random.choice(QUEUES)}."}
    return {"order_id": random.choice(known_orders)}


def _prose(text: str, random: Random) -> str:
    values = re.findall(r"[A-C]-\d+|\d+(?:\.\d+)?|[A-Za-z]{6,}", text) or ["it"]
    return f"We checked {random.choice(values)}: the order {random.choice(ORDERS)} {random.choice(_FACTS)}."


def _json(text: str, random: Random) -> str:
    numbers = re.findall(r"\b\d{2,}\b", text)
    fields: Mapping[str, JSONValue] = {
        "queue": random.choice(QUEUES),
        "order_id": next(iter(re.findall(r"[A-C]-\d+", text)), random.choice(ORDERS)),
        "amount": int(random.choice(numbers)) if numbers and random.random() < 0.5 else random.choice((12, 250, 4200)),
        "date": f"2026-03-{random.choice((1, 14, 28)):02}",
        "weight": f"{random.choice((2, 15))} kg",
        "urgent": random.random() < 0.5,
    }
    return json.dumps(fields)


_STYLES: Final[Mapping[str, Callable[[str, Random], str]]] = {
    "router": lambda _, random: random.choice(QUEUES),
    "critic": lambda _, random: random.choice(("good", "revise it")),
    "extractor": _json,
}
