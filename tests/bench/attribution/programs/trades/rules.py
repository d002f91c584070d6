"""An ordered list of rules that code evaluates, and tasks that code orders by their dependencies."""

import re
from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, json_in, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject, JSONValue

# ---- loans: facts as JSON, the first rule that fits decides, a letter


def _extract(request: Request) -> str:
    text = request.last.lower()
    income, debt = number(r"earn (\d+)", text), number(r"owe (\d+)", text)
    if "Count bonuses." in request.system:
        income += number(r"bonus of (\d+)", text)
    if request.model == "m2":
        debt = round(debt, -2)
    purpose = next((word for word in ("car", "roof", "boat") if word in text), "other")
    return f'{{"income": {income}, "debt": {debt}, "purpose": "{purpose}"}}'


def _explain(request: Request) -> str:
    decision = find(r"Decision: (\w+)", request.last, "refuse")
    hello = request.rule(r"Write (Dear \w+)\.", "Dear customer")
    if decision == "grant":
        rate = request.rule(r"The rate is (\d) percent\.", "4")
        return f"{hello}, you get the loan at {rate} percent."
    if decision == "review":
        return f"{hello}, we look at it again."
    rule = find(r"Rule: (\d+)", request.last, "none")
    reason = f" Rule {rule} applies." if "Name the rule." in request.system else ""
    return f"{hello}, we cannot lend you the money.{reason}"


def _fits(rule: JSONObject, facts: JSONObject) -> bool:
    name, sign, limit = str(rule.get("field")), str(rule.get("sign")), rule.get("limit")
    if sign == "is":
        return str(facts.get(name)) == str(limit)
    value = real(facts.get(name))
    return value > real(limit) if sign == "above" else value < real(limit)


def _loans(runtime: Runtime) -> str:
    settings = runtime.settings
    facts = json_in(say(runtime, "extractor", user(settings)))
    facts["ratio"] = round(100 * real(facts.get("debt")) / max(real(facts.get("income")), 1.0))
    rules = items(fields(runtime.tool("get_rules", {"product": "loan"})).get("rules"))
    hits = [(at, rule) for at, rule in enumerate(rules, 1) if _fits(rule, facts)]
    at, rule = (hits[-1 if settings["code.writer.match"] == "last" else 0]) if hits else (0, {"then": "grant"})
    return say(runtime, "writer", f"Decision: {rule.get('then')}\nRule: {at}\nPurpose: {facts.get('purpose')}")


def _rule(field: str, sign: str, limit: JSONValue, then: str) -> JSONObject:
    return {"field": field, "sign": sign, "limit": limit, "then": then}


def _list(*, ratio: int = 40, purpose: str = "boat", second: str = "review") -> list[JSONValue]:
    return [_rule("purpose", "is", purpose, second), _rule("ratio", "above", ratio, "refuse")]


_LOANS: Final = Program(
    name="loan desk",
    group="ordered rules",
    program=_loans,
    final="writer",
    model=model_of({"extractor": _extract, "writer": _explain}),
    menu=(),
    settings={
        **prompts(
            extractor=("You are the extractor. Read the request.", "", "", ""),
            writer=(
                "You are the writer. Answer.",
                "Write Dear customer.",
                "The rate is 4 percent.",
                "Name the rule.",
                "",
            ),
        ),
        "user.0": "I earn 5000 with a bonus of 2000,",
        "user.1": "owe 2250",
        "user.2": "and want a car.",
        "user.3": "",
        "code.writer.match": "first",
        "row.get_rules.loan.rules": _list(),
        "row.get_rules.loan.version": 7,
    },
    edits=(
        edit("upstream", "user.0", "I earn 6000 with a bonus of 2000,", "We earn 5000 with a bonus of 2000,"),
        edit("upstream", "user.1", "owe 1900", "owe 1500"),
        edit("upstream", "user.2", "and want a boat.", "and like a car."),
        edit("upstream", "user.3", "Thank you.", "It is urgent.", decoy=True),
        edit("prompt", "prompt.extractor.1", "Count bonuses."),
        edit("prompt", "prompt.extractor.2", "Be exact.", decoy=True),
        wording("extractor", 3),
        edit("model", "model.extractor.name", "m2", decoy=True),
        edit("prompt", "prompt.writer.1", "Write Dear member."),
        edit("prompt", "prompt.writer.2", "The rate is 3 percent.", decoy=True),
        edit("prompt", "prompt.writer.3", "Hide the rule."),
        wording("writer", 4),
        edit("upstream", "code.writer.match", "last", decoy=True),
        edit(
            "tool",
            "row.get_rules.loan.rules",
            _list(ratio=50),
            _list(purpose="car"),
            _list(purpose="car", second="grant"),
        ),
        edit("tool", "row.get_rules.loan.version", 8, decoy=True),
        *sampling("extractor", "writer"),
    ),
)

# ---- garden: a planner lists tasks, code orders them by dependencies and computes days, a foreman reports


def _plan(request: Request) -> str:
    steps = ["dig", "pipe after dig", "plant after pipe"]
    if "pond" in request.last.lower():
        steps.insert(1, "pond after dig")
    if "Order the soil." in request.system:
        steps[2:2] = ["soil"]
        steps[-1] = "plant after soil"
    if request.model == "m2":
        steps = [step.replace("pipe after dig", "pipe") for step in steps]
    if request.rule(r"Plant (\w+) digging\.") == "after":
        steps[-1] = "plant after dig"
    return "\n".join(f"* {step}" for step in steps)


def _report(request: Request) -> str:
    ends = re.findall(r"^(\w+): day (\d+)$", request.last, re.MULTILINE)
    if not ends:
        return "There is nothing to do."
    spare = int(request.rule(r"Add (\d+) spare days\.", "0"))
    last = max(int(day) for _, day in ends) + spare
    order = f" Order: {', '.join(name for name, _ in ends)}." if "Give the order." in request.system else ""
    return f"The garden is done on day {last}.{order}"


def _garden(runtime: Runtime) -> str:
    settings = runtime.settings
    tasks = re.findall(r"^\* (\w+)(?: after (\w+))?$", say(runtime, "planner", user(settings)), re.MULTILINE)
    ends: dict[str, int] = {}
    free = 0
    while len(ends) < len(tasks):
        ready = [(name, before) for name, before in tasks if name not in ends and (not before or before in ends)]
        if not ready:
            break
        if settings["code.foreman.pick"] == "by name":
            ready.sort()
        name, before = ready[0]
        days = int(real(fields(runtime.tool("get_days", {"task": name})).get("days"), 1))
        start = max(ends.get(before, 0), free if settings["code.foreman.crews"] == 1 else 0)
        ends[name] = free = start + days
    return say(runtime, "foreman", "\n".join([user(settings), *(f"{name}: day {day}" for name, day in ends.items())]))


_GARDEN: Final = Program(
    name="garden project",
    group="order by dependencies",
    program=_garden,
    final="foreman",
    model=model_of({"planner": _plan, "foreman": _report}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner. List the tasks.", "", "", ""),
            foreman=("You are the foreman. Report.", "Give the order.", "", ""),
        ),
        "user.0": "Make a garden with a pond.",
        "user.1": "",
        "code.foreman.pick": "as listed",
        "code.foreman.crews": 2,
        **rows(
            "get_days",
            dig={"days": 3, "crew": "red"},
            pond={"days": 4, "crew": "blue"},
            pipe={"days": 2, "crew": "red"},
            soil={"days": 1, "crew": "red"},
            plant={"days": 5, "crew": "blue"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Make a garden with a lawn.", "Plan a garden with a pond."),
        edit("upstream", "user.1", "We have a dog.", "Use good wood.", decoy=True),
        edit("prompt", "prompt.planner.1", "Order the soil."),
        edit("prompt", "prompt.planner.2", "Plant after digging.", "Plant before digging."),
        wording("planner", 3),
        edit("model", "model.planner.name", "m2"),
        edit("prompt", "prompt.foreman.1", "Hide the order."),
        edit("prompt", "prompt.foreman.2", "Add 2 spare days.", "Add 4 spare days."),
        wording("foreman", 3),
        edit("model", "model.foreman.name", "m2", decoy=True),
        edit("upstream", "code.foreman.pick", "by name"),
        edit("upstream", "code.foreman.crews", 1),
        edit("tool", "row.get_days.dig.days", 5, 2),
        edit("tool", "row.get_days.plant.days", 7),
        edit("tool", "row.get_days.pond.crew", "green", decoy=True),
        edit("tool", "row.get_days.dig.crew", "green", decoy=True),
        *sampling("planner", "foreman"),
    ),
)

RULES: Final[tuple[Program, ...]] = (
    _LOANS,
    replace(_LOANS, name="loan desk, reworded", group="ordered rules, reworded", rewords=True),
    _GARDEN,
)
