"""The model of the benchmark: a program that reads its prompt and its messages and answers accordingly."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from tests.bench.attribution.mechanisms.rules import Rules, rules
from traces.core.json_types import JSONObject, JSONValue

Asked = tuple[str, JSONObject]  # the name of a tool and its arguments
_GERMAN: Final = (("You can send it back within", "Rücksendung möglich:"), ("refunded", "erstattet"), ("is", "ist"))


def respond(
    messages: Sequence[JSONValue], model: str, parameters: Mapping[str, JSONValue], slip: tuple[str, str] | None = None
) -> JSONObject:
    """The answer: a message that says something or asks for one tool. A `slip` is a rule that is broken this time."""
    said = [_text(message) for message in messages]
    results = [_text(message) for message in messages if isinstance(message, dict) and message.get("role") == "tool"]
    calls = [call for message in messages for call in _calls(message)]
    answer = think(said[0], tuple(said[1:]), tuple(results), tuple(calls), model, slip)
    if isinstance(answer, str):
        most = parameters.get("max_tokens")
        return {"role": "assistant", "content": _first_words(answer, most) if isinstance(most, int) else answer}
    name, arguments = answer
    call: JSONObject = {"id": f"call_{len(calls) + 1}", "name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@lru_cache(maxsize=200_000)
def think(
    system: str,
    said: tuple[str, ...],
    results: tuple[str, ...],
    calls: tuple[str, ...],
    model: str,
    slip: tuple[str, str] | None,
) -> str | Asked:
    """What the model does, as a function of everything that it reads."""
    obeyed = {**rules(system, model), **dict([slip] if slip else [])}
    thought = _ROLES[obeyed.get("role", "assistant")](obeyed, said, results, calls)
    return finished(thought, obeyed) if isinstance(thought, str) else thought


def finished(text: str, obeyed: Rules) -> str:
    """The manners of an answer, which any role may have been told."""
    if obeyed.get("language") == "german":
        for english, german in _GERMAN:
            text = text.replace(english, german)
    if "greet" in obeyed:
        text = f"Good day to you. {text}"
    if "sign" in obeyed:
        text = f"{text} Yours, {obeyed['sign']}."
    return _first_words(text, int(obeyed["words"])) if "words" in obeyed else text


def _assistant(obeyed: Rules, said: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    return "I have not been told what I am for, so I cannot help."


def _answerer(obeyed: Rules, said: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    """From the documents that speak of days, the one that its rules prefer."""
    documents = re.findall(r"\[(\w+)\] \(([\d-]+)\) ([^\n]*)", said[-1])[: int(obeyed.get("top", "9"))]
    found = [
        (name, date, int(until.group(1)))
        for name, date, text in documents
        if (until := re.search(r"within (\d+) days", text.lower()))
    ]
    for_members = {name for name, _, text in documents if "members" in text.lower()}
    if "i am no member" in said[0].lower():
        found = [each for each in found if each[0] not in for_members]
    if not found:
        return "The documents do not say until when you can send it back."
    orders: dict[str, Callable[[tuple[str, str, int]], int | str]] = {
        "first": lambda _: 0,
        "newest": lambda each: "".join(chr(255 - ord(c)) for c in each[1]),
        "strictest": lambda each: each[2],
    }
    name, _, days = min(found, key=orders[obeyed["tie"]])
    cited = f" Source: {name}." if "cite" in obeyed else ""
    return f"You can send it back within {days} days.{cited}"


def _desk(obeyed: Rules, said: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str | Asked:
    """Looks the order up, perhaps the policy, then refunds, replaces or hands over, then tells."""
    order = re.search(r"order ([A-Z]-\d+)", said[0])
    number = order.group(1) if order else "A-0"
    if "get_order" not in calls:
        return "get_order", {"order_id": number}
    known = _read(results[0])
    if "total" not in known:
        return f"I could not find the order {number}, please check the number."
    if "verify" in obeyed and "get_policy" not in calls:
        return "get_policy", {"state": str(known.get("state"))}
    policy = _read(results[calls.index("get_policy")]) if "get_policy" in calls else {}
    action = _action(obeyed, number, known, policy)
    if action[0] not in calls:
        return action
    outcome = _read(results[-1])
    if outcome.get("state") != "accepted":
        return f"I am sorry, but {action[0].replace('_', ' ')} did not work for the order {number}."
    return _TOLD[action[0]].format(number=number, amount=action[1].get("amount"), unit=obeyed["unit"])


_TOLD: Final = {
    "issue_refund": "I have refunded {amount} {unit} for the order {number}.",
    "send_replacement": "A replacement for the order {number} leaves tomorrow.",
    "escalate": "A person will look at the order {number} today.",
}


def _action(obeyed: Rules, number: str, known: JSONObject, policy: JSONObject) -> Asked:
    if "hand over" in obeyed:
        return "escalate", {"order_id": number}
    if known.get("state") == "lost" and obeyed["lost"] == "replace":
        return "send_replacement", {"order_id": number}
    amount = _number(known["total"]) - int(obeyed.get("fee", "0")) - _number(policy.get("fee", 0))
    if "limit" in obeyed and amount > int(obeyed["limit"]):
        return "escalate", {"order_id": number}
    return "issue_refund", {"order_id": number, "amount": amount * (100 if obeyed["unit"] == "cents" else 1)}


def _planner(obeyed: Rules, said: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    regions = re.findall(r"\b(north|south|west)\b", said[0])
    if "order" in obeyed:
        regions = regions[::-1]
    lines = [f"{at}. report the {obeyed['report']} of {region}" for at, region in enumerate(regions, 1)]
    return "This is the plan. " + "; ".join(lines)


def _worker(obeyed: Rules, said: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    """Does one line of the plan with the figures at hand."""
    line = re.search(rf"{_item(said[-1])}\. report the (\w+) of (\w+)", said[-1])
    if line is None:
        return "There is nothing for me to do in this plan."
    metric, region = line.groups()
    table = next((_read(text) for text in re.findall(r"\{[^{}]*\}", said[-1]) if f'"{region}"' in text), {})
    figures = {day: _number(value) for day, value in table.items() if day != "region"}
    if "skip" in obeyed:
        figures = {day: value for day, value in figures.items() if day not in {"sat", "sun"}}
    value = aggregate(metric, list(figures.values())) * (100 if obeyed["unit"] == "cents" else 1)
    return f"The {metric} of region {region} is {value} {obeyed['unit']}."


def _critic(obeyed: Rules, said: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    """Compares what the workers found, leaving out what it distrusts."""
    found = re.findall(r"of region (\w+) is (\d+) (\w+)", said[-1])
    trusted = [(region, int(value), unit) for region, value, unit in found if int(value) <= _cap(obeyed)]
    if not trusted:
        return "None of the figures can be trusted, so there is no result."
    region, value, unit = max(trusted, key=lambda each: each[1])
    dropped = f" {len(found) - len(trusted)} left out." if len(trusted) < len(found) else ""
    return f"The region {region} leads with {value} {unit}.{dropped}"


def _mapper(obeyed: Rules, said: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    """What one chunk says about its team."""
    chunk = re.search(rf"<{_item(said[-1])}>(.*?)</", said[-1], re.DOTALL)
    text = chunk.group(1) if chunk else ""
    team = re.search(r"team (\w+)", text.lower())
    sentences = [each for each in text.lower().split(".") if "skip" not in obeyed or "weekend" not in each]
    numbers = [int(n) for each in sentences for n in re.findall(r"(\d+) incidents", each)]
    value = aggregate(obeyed["report"], numbers) if numbers else 0
    return f"The team {team.group(1) if team else 'nobody'} counted {value} incidents."


def _reducer(obeyed: Rules, said: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    found = [(team, int(count)) for team, count in re.findall(r"team (\w+) counted (\d+) incidents", said[-1])]
    kept = [each for each in found if each[1] > int(obeyed.get("above", "-1"))][: int(obeyed.get("top", "9"))]
    if not kept:
        return "There is nothing to report about any of the teams."
    value = aggregate(obeyed["report"], [count for _, count in kept])
    worst = max(kept, key=lambda each: each[1])[0]
    return f"The {obeyed['report']} is {value} incidents, most of them with the team {worst}."


def _analyst(obeyed: Rules, said: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str | Asked:
    """Queries one column after another until one exists."""
    if not results:
        return "query", {"column": obeyed.get("column", "amount")}
    last = _read(results[-1])
    period = next(iter(re.findall(r"revenue of the (\w+)", said[0])), "period")
    if "value" in last:
        value = _number(last["value"]) * (100 if obeyed["unit"] == "cents" else 1)
        return f"The revenue of the {period} was {value} {obeyed['unit']}."
    hints = re.findall(r"\w+", str(last.get("hints", "")))
    if len(results) >= int(obeyed["attempts"]) or not hints:
        return f"I could not find out what the revenue of the {period} was."
    return "query", {"column": hints[0] if obeyed["hint"] == "first" else hints[-1]}


def _writer(obeyed: Rules, said: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    wanted = re.search(r"offer for the (\w+) with (\d+) percent off", said[0])
    product, discount = wanted.groups() if wanted else ("thing", "0")
    price = _number(_read(said[-1][said[-1].find("{") :]).get("price", 0))
    off = int(discount) + int(obeyed.get("members", "0"))
    if "round" in obeyed:
        price = -(-price // 10) * 10
    return f"Get the {product} for {price} euros, now with {off} percent off."


def _validator(obeyed: Rules, said: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    off = _discount(said[-1])
    most = int(obeyed.get("reject", "99"))
    if off > most:
        return f"Rejected, because a discount may be {most} percent at most."
    return "Accepted, there is nothing wrong with this draft."


def _editor(obeyed: Rules, said: Sequence[str], results: Sequence[str], calls: Sequence[str]) -> str:
    """The draft, or what is left of it after it was rejected."""
    draft = re.search(r"Get the .*? percent off\.", said[-1])
    text = draft.group() if draft else "There is no offer today, sorry."
    rejected = re.search(r"may be (\d+) percent at most", said[-1])
    if rejected is None:
        return text
    return re.sub(r"\d+ percent", f"{obeyed.get('cut', rejected.group(1))} percent", text)


_ROLES: Final[Mapping[str, Callable[[Rules, Sequence[str], Sequence[str], Sequence[str]], str | Asked]]] = {
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


# What each role may get wrong: a rule, and how it is taken then.
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
    """Whole numbers, as the pipelines speak of them."""
    if not values:
        return 0
    if metric == "average":
        return sum(values) // len(values)
    if metric == "total":
        return sum(values)
    return max(values) if metric == "maximum" else min(values)


def _item(text: str) -> str:
    """Which item of a list this call is for."""
    found = re.search(r"Do item (\d+)\.", text)
    return found.group(1) if found else "1"


def _cap(obeyed: Rules) -> int:
    return int(obeyed.get("distrust", "1000000000"))


def _discount(text: str) -> int:
    found = re.search(r"(\d+) percent off", text)
    return int(found.group(1)) if found else 0


def _read(text: str) -> JSONObject:
    """A tool's result; what is no object says nothing."""
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
