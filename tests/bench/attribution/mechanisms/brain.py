"""The benchmark's simulated model: a program that answers by the rules in its prompt."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from tests.bench.attribution.mechanisms.rules import Rules, rules
from traces.core.json_types import JSONObject, JSONValue

# Name of a tool, and its arguments.
ToolCall = tuple[str, JSONObject]
_GERMAN: Final = (("You can send it back within", "Rücksendung möglich:"), ("refunded", "erstattet"), ("is", "ist"))


def respond(
    messages: Sequence[JSONValue], model: str, parameters: Mapping[str, JSONValue], slip: tuple[str, str] | None = None
) -> JSONObject:
    """Return a message with a text or one tool call. `slip` overrides one rule for this call."""
    texts = [_text(message) for message in messages]
    results = [_text(message) for message in messages if isinstance(message, dict) and message.get("role") == "tool"]
    calls = [call for message in messages for call in _calls(message)]
    answer = think(texts[0], tuple(texts[1:]), tuple(results), tuple(calls), model, slip)
    if isinstance(answer, str):
        max_tokens = parameters.get("max_tokens")
        return {
            "role": "assistant",
            "content": _first_words(answer, max_tokens) if isinstance(max_tokens, int) else answer,
        }
    name, arguments = answer
    call: JSONObject = {"id": f"call_{len(calls) + 1}", "name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@lru_cache(maxsize=200_000)
def think(
    system: str,
    texts: tuple[str, ...],
    results: tuple[str, ...],
    calls: tuple[str, ...],
    model: str,
    slip: tuple[str, str] | None,
) -> str | ToolCall:
    """Return the model's text or tool call as a pure function of its inputs."""
    active_rules = {**rules(system, model), **dict([slip] if slip else [])}
    answer = _ROLES[active_rules.get("role", "assistant")](active_rules, texts, results, calls)
    return apply_style(answer, active_rules) if isinstance(answer, str) else answer


def apply_style(text: str, active_rules: Rules) -> str:
    """Apply the style rules that any role may have."""
    if active_rules.get("language") == "german":
        for english, german in _GERMAN:
            text = text.replace(english, german)
    if "greet" in active_rules:
        text = f"Good day to you. {text}"
    if "sign" in active_rules:
        text = f"{text} Yours, {active_rules['sign']}."
    return _first_words(text, int(active_rules["words"])) if "words" in active_rules else text


def _assistant(active_rules: Rules, texts: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    return "I have not been told what I am for, so I cannot help."


def _answerer(active_rules: Rules, texts: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    """Answer from the document with a number of days that the rules prefer."""
    documents = re.findall(r"\[(\w+)\] \(([\d-]+)\) ([^\n]*)", texts[-1])[: int(active_rules.get("top", "9"))]
    policies = [
        (name, date, int(match.group(1)))
        for name, date, text in documents
        if (match := re.search(r"within (\d+) days", text.lower()))
    ]
    member_documents = {name for name, _, text in documents if "members" in text.lower()}
    if "i am no member" in texts[0].lower():
        policies = [policy for policy in policies if policy[0] not in member_documents]
    if not policies:
        return "The documents do not say until when you can send it back."
    orders: dict[str, Callable[[tuple[str, str, int]], int | str]] = {
        "first": lambda _: 0,
        "newest": lambda policy: "".join(chr(255 - ord(c)) for c in policy[1]),
        "strictest": lambda policy: policy[2],
    }
    name, _, days = min(policies, key=orders[active_rules["tie"]])
    source = f" Source: {name}." if "cite" in active_rules else ""
    return f"You can send it back within {days} days.{source}"


def _desk(active_rules: Rules, texts: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str | ToolCall:
    """Look up the order and possibly the policy; refund, replace or escalate; then report."""
    match = re.search(r"order ([A-Z]-\d+)", texts[0])
    number = match.group(1) if match else "A-0"
    if "get_order" not in calls:
        return "get_order", {"order_id": number}
    order = _read(results[0])
    if "total" not in order:
        return f"I could not find the order {number}, please check the number."
    if "verify" in active_rules and "get_policy" not in calls:
        return "get_policy", {"state": str(order.get("state"))}
    policy = _read(results[calls.index("get_policy")]) if "get_policy" in calls else {}
    action = _action(active_rules, number, order, policy)
    if action[0] not in calls:
        return action
    outcome = _read(results[-1])
    if outcome.get("state") != "accepted":
        return f"I am sorry, but {action[0].replace('_', ' ')} did not work for the order {number}."
    return _CONFIRMATIONS[action[0]].format(number=number, amount=action[1].get("amount"), unit=active_rules["unit"])


_CONFIRMATIONS: Final = {
    "issue_refund": "I have refunded {amount} {unit} for the order {number}.",
    "send_replacement": "A replacement for the order {number} leaves tomorrow.",
    "escalate": "A person will look at the order {number} today.",
}


def _action(active_rules: Rules, number: str, order: JSONObject, policy: JSONObject) -> ToolCall:
    if "hand over" in active_rules:
        return "escalate", {"order_id": number}
    if order.get("state") == "lost" and active_rules["lost"] == "replace":
        return "send_replacement", {"order_id": number}
    amount = _number(order["total"]) - int(active_rules.get("fee", "0")) - _number(policy.get("fee", 0))
    if "limit" in active_rules and amount > int(active_rules["limit"]):
        return "escalate", {"order_id": number}
    return "issue_refund", {"order_id": number, "amount": amount * (100 if active_rules["unit"] == "cents" else 1)}


def _planner(active_rules: Rules, texts: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    regions = re.findall(r"\b(north|south|west)\b", texts[0])
    if "order" in active_rules:
        regions = regions[::-1]
    lines = [f"{number}. report the {active_rules['report']} of {region}" for number, region in enumerate(regions, 1)]
    return "This is the plan. " + "; ".join(lines)


def _worker(active_rules: Rules, texts: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    """Carry out one line of the plan with the figures in the request."""
    line = re.search(rf"{_item(texts[-1])}\. report the (\w+) of (\w+)", texts[-1])
    if line is None:
        return "There is nothing for me to do in this plan."
    metric, region = line.groups()
    table = next((_read(text) for text in re.findall(r"\{[^{}]*\}", texts[-1]) if f'"{region}"' in text), {})
    figures = {day: _number(value) for day, value in table.items() if day != "region"}
    if "skip" in active_rules:
        figures = {day: value for day, value in figures.items() if day not in {"sat", "sun"}}
    value = aggregate(metric, list(figures.values())) * (100 if active_rules["unit"] == "cents" else 1)
    return f"The {metric} of region {region} is {value} {active_rules['unit']}."


def _critic(active_rules: Rules, texts: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    """Compare the workers' figures, without those above the limit."""
    figures = re.findall(r"of region (\w+) is (\d+) (\w+)", texts[-1])
    plausible = [(region, int(value), unit) for region, value, unit in figures if int(value) <= _cap(active_rules)]
    if not plausible:
        return "None of the figures can be trusted, so there is no result."
    region, value, unit = max(plausible, key=lambda figure: figure[1])
    note = f" {len(figures) - len(plausible)} left out." if len(plausible) < len(figures) else ""
    return f"The region {region} leads with {value} {unit}.{note}"


def _mapper(active_rules: Rules, texts: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    """Count the incidents of one chunk's team."""
    chunk = re.search(rf"<{_item(texts[-1])}>(.*?)</", texts[-1], re.DOTALL)
    text = chunk.group(1) if chunk else ""
    team = re.search(r"team (\w+)", text.lower())
    sentences = [
        sentence for sentence in text.lower().split(".") if "skip" not in active_rules or "weekend" not in sentence
    ]
    numbers = [int(n) for sentence in sentences for n in re.findall(r"(\d+) incidents", sentence)]
    value = aggregate(active_rules["report"], numbers) if numbers else 0
    return f"The team {team.group(1) if team else 'nobody'} counted {value} incidents."


def _reducer(active_rules: Rules, texts: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    counts = [(team, int(count)) for team, count in re.findall(r"team (\w+) counted (\d+) incidents", texts[-1])]
    teams = [pair for pair in counts if pair[1] > int(active_rules.get("above", "-1"))][
        : int(active_rules.get("top", "9"))
    ]
    if not teams:
        return "There is nothing to report about any of the teams."
    value = aggregate(active_rules["report"], [count for _, count in teams])
    worst = max(teams, key=lambda pair: pair[1])[0]
    return f"The {active_rules['report']} is {value} incidents, most of them with the team {worst}."


def _analyst(active_rules: Rules, texts: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str | ToolCall:
    """Query one column after another until one exists."""
    if not results:
        return "query", {"column": active_rules.get("column", "amount")}
    last = _read(results[-1])
    period = next(iter(re.findall(r"revenue of the (\w+)", texts[0])), "period")
    if "value" in last:
        value = _number(last["value"]) * (100 if active_rules["unit"] == "cents" else 1)
        return f"The revenue of the {period} was {value} {active_rules['unit']}."
    hints = re.findall(r"\w+", str(last.get("hints", "")))
    if len(results) >= int(active_rules["attempts"]) or not hints:
        return f"I could not find out what the revenue of the {period} was."
    return "query", {"column": hints[0] if active_rules["hint"] == "first" else hints[-1]}


def _writer(active_rules: Rules, texts: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    match = re.search(r"offer for the (\w+) with (\d+) percent off", texts[0])
    product, discount = match.groups() if match else ("thing", "0")
    price = _number(_read(texts[-1][texts[-1].find("{") :]).get("price", 0))
    percent = int(discount) + int(active_rules.get("members", "0"))
    if "round" in active_rules:
        price = -(-price // 10) * 10
    return f"Get the {product} for {price} euros, now with {percent} percent off."


def _validator(active_rules: Rules, texts: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    percent = _discount(texts[-1])
    limit = int(active_rules.get("reject", "99"))
    if percent > limit:
        return f"Rejected, because a discount may be {limit} percent at most."
    return "Accepted, there is nothing wrong with this draft."


def _editor(active_rules: Rules, texts: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    """Return the draft, with a smaller discount if it was rejected."""
    draft = re.search(r"Get the .*? percent off\.", texts[-1])
    text = draft.group() if draft else "There is no offer today, sorry."
    rejection = re.search(r"may be (\d+) percent at most", texts[-1])
    if rejection is None:
        return text
    return re.sub(r"\d+ percent", f"{active_rules.get('cut', rejection.group(1))} percent", text)


_ROLES: Final[Mapping[str, Callable[[Rules, Sequence[str], Sequence[str], Sequence[str]], str | ToolCall]]] = {
    "assistant": _assistant,
    "answerer": _answerer,
    "order desk": _desk,
    "planner": _planner,
    "worker": _worker,
    "critic": _critic,
    "mapper": _mapper,
    "reducer": _reducer,
    "analyst": _analyst,
    "writer": _writer,
    "validator": _validator,
    "editor": _editor,
}


# Errors that each role can make: a rule and its wrong value.
SLIPS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "answerer": (("tie", "strictest"), ("top", "1"), ("words", "6")),
    "order desk": (("unit", "cents"), ("lost", "replace"), ("hand over", "every refund")),
    "planner": (("report", "maximum"),),
    "worker": (("skip", "weekends"), ("unit", "cents")),
    "critic": (("distrust", "100"), ("words", "6")),
    "mapper": (("report", "maximum"), ("skip", "weekends")),
    "reducer": (("above", "8"), ("report", "average")),
    "analyst": (("hint", "last"), ("unit", "cents")),
    "writer": (("round", "prices"), ("members", "5")),
    "validator": (("reject", "10"),),
    "editor": (("greet", "greeting"), ("words", "8")),
}


def aggregate(metric: str, values: Sequence[int]) -> int:
    """Aggregate whole numbers."""
    if not values:
        return 0
    if metric == "average":
        return sum(values) // len(values)
    if metric == "total":
        return sum(values)
    return max(values) if metric == "maximum" else min(values)


def _item(text: str) -> str:
    """Return the number of the list item that a call is for."""
    match = re.search(r"Do item (\d+)\.", text)
    return match.group(1) if match else "1"


def _cap(active_rules: Rules) -> int:
    return int(active_rules.get("distrust", "1000000000"))


def _discount(text: str) -> int:
    match = re.search(r"(\d+) percent off", text)
    return int(match.group(1)) if match else 0


def _read(text: str) -> JSONObject:
    """Parse a tool's result. Anything but an object counts as empty."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _number(value: JSONValue) -> int:
    return value if isinstance(value, int) else 0


def _first_words(text: str, count: int) -> str:
    return " ".join(text.split(" ")[:count])


def _text(message: JSONValue) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""


def _calls(message: JSONValue) -> list[str]:
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    return [str(call["name"]) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
