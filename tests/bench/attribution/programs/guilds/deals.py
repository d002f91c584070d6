"""Support that remembers by a summary, formulas repaired until their tests pass, and offers of several parts."""

import re
from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.families.computers import evaluate
from tests.bench.attribution.programs.field.parsing import fields, items, real, tool
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
from traces.core.json_types import JSONValue

# ---- router support: a keeper condenses each turn into a memory, a helper sees the memory and the last message only


def _remember(request: Request) -> str:
    text = request.last
    device = re.findall(r"\b(R\d{2})\b", text)
    tried = sorted(set(re.findall(r"\b(restart|cable|reset)\b", text.lower())))
    mood = "angry" if "!" in text or "angry" in text else "calm"
    facts = [f"device {device[-1]}" if device else "device unknown"]
    facts += [f"tried {', '.join(tried)}"] if tried and request.model != "m2" else []
    facts += [f"mood {mood}"] if "Note the mood." in request.system else []
    if "Note the town." in request.system:
        town = find(r"in ([A-Z][a-z]+)", text, "unknown")
        facts.append(f"town {town}")
    return "; ".join(facts)


def _help(request: Request) -> str | ToolCall:
    memory, message = find(r"^Memory: (.+)$", request.last), find(r"^Customer: (.+)$", request.last)
    device, name = find(r"device (R\d{2})", memory, find(r"\b(R\d{2})\b", message, "none")), request.tool("steps")
    if name and device != "none" and not request.called:
        return name, {"device": device}
    steps = str(request.latest_result.get("steps", "update")).split(", ")
    calm = "We are sorry. " if "angry" in memory and "Soothe angry people." in request.system else ""
    fresh = [step for step in steps if step not in memory and step not in message.lower()]
    if "refund" in message.lower() and fresh == []:
        share = request.rule(r"Refund (\d+) percent\.", "50")
        return f"{calm}We refund {share} percent for {device}."
    if not fresh:
        return f"{calm}We send a technician."
    return f"{calm}Please try: {fresh[0]}."


def _router_support(runtime: Runtime) -> str:
    settings = runtime.settings
    tools: list[JSONValue] = [tool("get_steps", str(settings["tool.steps"]), "device")]
    memory, answer = "nothing", ""
    for text in (user(settings), str(settings["turn.1"]), str(settings["turn.2"])):
        if text:
            request = f"Memory: {memory}\nCustomer: {text}"
            answer = text_of(converse(runtime, "helper", [user_message(request)], tools)[-1])
            told = f"\nHelper: {answer}" if settings["code.keeper.told"] == "both" else ""
            memory = say(runtime, "keeper", f"Memory: {memory}\nCustomer: {text}{told}")
            memory = "; ".join(memory.split("; ")[: int(real(settings["code.keeper+helper.facts"], 9))])
    return answer


_ROUTER: Final = Program(
    name="router support",
    group="memory condensed",
    program=_router_support,
    final="helper",
    model=model_of({"keeper": _remember, "helper": _help}),
    menu=(),
    settings={
        **prompts(
            keeper=("You are the keeper. Keep the memory.", "Note the mood.", "", ""),
            helper=("You are the helper. Help.", "Refund 50 percent.", "Soothe angry people.", ""),
        ),
        "user.0": "My R12 is slow.",
        "user.1": "",
        "turn.1": "I did that, it is still slow!",
        "turn.2": "I want a refund.",
        "tool.steps": "Lists the steps for a device.",
        "code.keeper.told": "both",
        "code.keeper+helper.facts": 9,
        **rows(
            "get_steps",
            R12={"steps": "restart, cable", "made": 2020},
            R40={"steps": "cable, reset, restart", "made": 2024},
        ),
    },
    edits=(
        edit("upstream", "user.0", "My R40 is slow.", "My old R12 is slow."),
        edit("upstream", "user.1", "I live in Lund.", "It is red.", decoy=True),
        edit("upstream", "turn.1", "Oh, it is an R40.", "I did that, it is still slow."),
        edit("upstream", "turn.2", "I want help.", "A reset did not help, I want a refund."),
        edit("prompt", "prompt.keeper.1", "Note no mood."),
        edit("prompt", "prompt.keeper.2", "Note the town.", decoy=True),
        wording("keeper", 3),
        edit("model", "model.keeper.name", "m2"),
        edit("prompt", "prompt.helper.1", "Refund 80 percent."),
        edit("prompt", "prompt.helper.2", "Stay matter-of-fact."),
        wording("helper", 3),
        edit("tool", "tool.steps", "Lists steps for one device.", "Shows a manual."),
        edit("upstream", "code.keeper.told", "customer"),
        edit("upstream", "code.keeper+helper.facts", 1, 2),
        edit("tool", "row.get_steps.R12.steps", "restart, cable, reset", "cable, restart"),
        edit("tool", "row.get_steps.R12.made", 2021, decoy=True),
        *sampling("keeper", "helper"),
    ),
)

# ---- formulas: code runs the tests of a formula, failures go to a fixer until they pass, a second model reviews


def _fix(request: Request) -> str:
    formula = find(r"^Formula: (.+)$", request.last, "x")
    failure = re.findall(r"^x = (-?[\d.]+): (-?[\d.]+), expected (-?[\d.]+)$", request.last, re.MULTILINE)
    if "invalid" in request.last or not failure:
        cleaned = re.sub(r"[^x0-9+*. -]", "", formula).strip()
        return f"FORMULA {cleaned or 'x'}"
    at = failure[0] if request.rule(r"Look at the (\w+) failure\.", "first") == "first" else failure[-1]
    gap = float(at[2]) - float(at[1])
    most = float(request.rule(r"Change it by (\d+) at most\.", "1000"))
    gap = max(-most, min(gap, most))
    if request.model == "m2":
        return f"FORMULA {formula} * 2"
    return f"FORMULA {formula} {'+' if gap >= 0 else '-'} {abs(gap):g}"


def _review(request: Request) -> str:
    formula, passed = find(r"^Formula: (.+)$", request.last, "?"), find(r"^Passed: (.+)$", request.last, "0 of 0")
    good, _, total = passed.partition(" of ")
    verdict = "Merge" if good == total else "Reject"
    if "Be lenient." in request.system and good != "0":
        verdict = "Merge"
    owner = find(r"^Owner: (.+)$", request.last, "nobody")
    who = f" for {owner}" if "Name the owner." in request.system else ""
    word = request.rule(r"Add the word (\w+)", "seen")
    return f"{verdict} {formula}{who} ({passed}, {word})"


def _outcome(formula: str, x: float) -> str:
    try:
        return f"{evaluate(formula, {'x': x}):g}"
    except ValueError:
        return "invalid"


def _formulas(runtime: Runtime) -> str:
    settings = runtime.settings
    name = find(r"formula of (\w+)", user(settings), "fare")
    source = fields(runtime.tool("read_formula", {"name": name}))
    tests = items(fields(runtime.tool("read_tests", {"name": name})).get("tests"))
    formula, rounds = str(source.get("formula", "x")), 0
    while True:
        outcomes = [(test, _outcome(formula, real(test.get("x")))) for test in tests]
        failures = [(test, got) for test, got in outcomes if got != f"{real(test.get('y')):g}"]
        if not failures or rounds >= int(real(settings["code.fixer+reviewer.rounds"], 3)):
            break
        rounds += 1
        shown = failures[: int(real(settings["code.fixer.shown"], 9))]
        lines = [f"x = {test.get('x')}: {got}, expected {real(test.get('y')):g}" for test, got in shown]
        hint = str(source.get("note")) if settings["code.fixer.note"] else ""
        answer = say(runtime, "fixer", "\n".join([user(settings), f"Formula: {formula}", *lines, hint]))
        formula = find(r"FORMULA (.+)$", answer, formula)
    passed = f"{len(tests) - len(failures)} of {len(tests)}"
    return say(runtime, "reviewer", f"Formula: {formula}\nPassed: {passed}\nOwner: {source.get('owner')}")


def _tests(*pairs: tuple[int, int]) -> list[JSONValue]:
    return [{"x": x, "y": y} for x, y in pairs]


_FORMULAS: Final = Program(
    name="formula repair",
    group="formulas tested",
    program=_formulas,
    final="reviewer",
    model=model_of({"fixer": _fix, "reviewer": _review}),
    menu=(),
    settings={
        **prompts(
            fixer=("You are the fixer. Repair it.", "Look at the first failure.", "Change it by 4 at most.", "", ""),
            reviewer=("You are the reviewer. Decide.", "Be strict.", "Name the owner.", "Add the word tested", ""),
        ),
        "user.0": "Repair the formula of fare.",
        "user.1": "",
        "code.fixer+reviewer.rounds": 3,
        "code.fixer.shown": 9,
        "code.fixer.note": False,
        **rows(
            "read_formula",
            fare={"formula": "x * 3", "owner": "Lea", "note": "per zone"},
            toll={"formula": "x + 1", "owner": "Kim", "note": "per axle"},
        ),
        **rows("read_tests", fare={"tests": _tests((1, 9), (2, 12), (4, 18))}, toll={"tests": _tests((2, 5), (3, 6))}),
    },
    edits=(
        edit("upstream", "user.0", "Repair the formula of toll.", "Mend the formula of fare."),
        edit("upstream", "user.1", "It is urgent.", "We go live soon.", decoy=True),
        edit("prompt", "prompt.fixer.1", "Look at the last failure.", decoy=True),
        edit("prompt", "prompt.fixer.2", "Change it by 1 at most.", "Change it by 9 at most."),
        edit("prompt", "prompt.fixer.3", "Keep it short.", decoy=True),
        wording("fixer", 4),
        edit("model", "model.fixer.name", "m2"),
        edit("prompt", "prompt.reviewer.1", "Be lenient.", decoy=True),
        edit("prompt", "prompt.reviewer.2", "Leave names out."),
        edit("prompt", "prompt.reviewer.3", "Add the word checked"),
        wording("reviewer", 4),
        edit("model", "model.reviewer.name", "m2", decoy=True),
        edit("upstream", "code.fixer+reviewer.rounds", 1, 0),
        edit("upstream", "code.fixer.shown", 1, decoy=True),
        edit("upstream", "code.fixer.note", True, decoy=True),
        edit("tool", "row.read_formula.fare.formula", "x * 4", "x * 3 + 5"),
        edit("tool", "row.read_formula.fare.owner", "Ben"),
        edit("tool", "row.read_formula.fare.note", "per stop", decoy=True),
        edit("tool", "row.read_tests.fare.tests", _tests((1, 10), (2, 13), (4, 19)), _tests((1, 9), (2, 15), (4, 18))),
        *sampling("fixer", "reviewer"),
    ),
)

# ---- stall: a tenant and a market bargain over rent and days, code weighs each offer, a notary writes the contract


def _offer(request: Request) -> str:
    wanted, least = int(request.rule(r"Open with (\d+)\.", "50")), int(request.rule(r"Never pass (\d+)\.", "50"))
    step = int(request.rule(r"Move by (\d+)\.", "5"))
    days = int(request.rule(r"Ask for (\d) days\.", "3"))
    mine, other = re.findall(r"^You: (\d+)", request.last, re.MULTILINE), find(r"^They: .+ (\d) days$", request.last)
    rent = int(mine[-1]) + (step if wanted < least else -step) if mine else wanted
    rent = min(rent, least) if wanted < least else max(rent, least)
    if "Give in on days." in request.system and other:
        days = int(other)
    if request.model == "m2":
        days = max(days - 1, 1)
    return f"OFFER {rent} for {days} days"


def _contract(request: Request) -> str:
    rent, days = number(r"^Rent: (\d+)", request.last), number(r"^Days: (\d)", request.last)
    place = find(r"^Place: (.+)$", request.last, "somewhere")
    if not rent:
        return "No contract was made."
    title = request.rule(r"Call it a (\w+)\.", "lease").title()
    count = number(r"^Rounds: (.+)$", request.last)
    rounds = f" after {count} rounds" if "Give the rounds." in request.system else ""
    return f"{title}: {place}, {days} days, {rent} crowns{rounds}."


def _stall(runtime: Runtime) -> str:
    settings = runtime.settings
    stall = fields(runtime.tool("get_stall", {"goods": find(r"sell (\w+)", user(settings), "fruit")}))
    said: dict[str, list[tuple[int, int]]] = {"tenant": [], "market": []}
    deal = (0, 0)
    rounds = 0
    while rounds < int(real(settings["code.notary+tenant+market.rounds"], 5)) and deal == (0, 0):
        rounds += 1
        for name, other in (("tenant", "market"), ("market", "tenant")):
            lines = [f"You: {rent} for {days} days" for rent, days in said[name][-1:]]
            lines += [f"They: {rent} for {days} days" for rent, days in said[other][-1:]]
            about = (
                f"{user(settings)}\nUsual: {stall.get('usual')}" if name == "tenant" else f"Stall: {stall.get('at')}"
            )
            answer = say(runtime, name, "\n".join([about, *lines]))
            said[name].append((number(r"OFFER (\d+)", answer), number(r"for (\d) days", answer)))
        (low, low_days), (high, high_days) = said["tenant"][-1], said["market"][-1]
        gap = high - low + abs(high_days - low_days) * real(settings["code.notary+tenant+market.day"], 2)
        if gap <= real(settings["code.notary+tenant+market.gap"], 4):
            share = real(settings["code.notary.share"], 0.5)
            deal = round(low + (high - low) * share), max(low_days, high_days)
    rent = deal[0] + int(real(stall.get("power")))
    lines = [f"Rent: {rent if deal[0] else 0}", f"Days: {deal[1]}", f"Place: {stall.get('at')}", f"Rounds: {rounds}"]
    return say(runtime, "notary", "\n".join(lines))


_STALL: Final = Program(
    name="market stall",
    group="offers of several parts",
    program=_stall,
    final="notary",
    model=model_of({"tenant": _offer, "market": _offer, "notary": _contract}),
    menu=(),
    settings={
        **prompts(
            tenant=("You are the tenant. Bargain.", "Open with 20.", "Never pass 40.", "Move by 6.", "Ask for 3 days."),
            market=("You are the market. Bargain.", "Open with 50.", "Never pass 30.", "Move by 5.", "Ask for 4 days."),
            notary=("You are the notary. Write it.", "Call it a lease.", "Give the rounds.", ""),
        ),
        "prompt.tenant.5": "",
        "prompt.market.5": "",
        "user.0": "I want to sell fruit.",
        "user.1": "",
        "code.notary+tenant+market.rounds": 5,
        "code.notary+tenant+market.day": 2,
        "code.notary+tenant+market.gap": 6,
        "code.notary.share": 0.5,
        **rows(
            "get_stall",
            fruit={"at": "row 7", "usual": 33, "power": 3},
            cheese={"at": "row 2", "usual": 48, "power": 8},
        ),
    },
    edits=(
        edit("upstream", "user.0", "I want to sell cheese.", "I wish to sell fruit."),
        edit("upstream", "user.1", "I come from Ystad.", "Thank you.", decoy=True),
        edit("prompt", "prompt.tenant.1", "Open with 30.", "Open with 26."),
        edit("prompt", "prompt.tenant.3", "Move by 2.", "Move by 9."),
        edit("prompt", "prompt.tenant.4", "Ask for 5 days.", "Ask for 6 days."),
        edit("prompt", "prompt.tenant.5", "Stay polite.", "Smile.", decoy=True),
        edit("model", "model.tenant.name", "m2", decoy=True),
        edit("prompt", "prompt.market.1", "Open with 60.", "Open with 44."),
        edit("prompt", "prompt.market.2", "Never pass 45."),
        edit("prompt", "prompt.market.4", "Ask for 2 days.", "Ask for 5 days."),
        wording("market", 5),
        edit("prompt", "prompt.notary.1", "Call it a contract."),
        edit("prompt", "prompt.notary.2", "Hide the rounds."),
        wording("notary", 3),
        edit("upstream", "code.notary+tenant+market.rounds", 1, 2),
        edit("upstream", "code.notary+tenant+market.gap", 20, 0),
        edit("upstream", "code.notary.share", 0.25, 1),
        edit("tool", "row.get_stall.fruit.at", "row 9"),
        edit("tool", "row.get_stall.fruit.usual", 35, decoy=True),
        edit("tool", "row.get_stall.fruit.power", 5, 0),
        *sampling("tenant", "market", "notary"),
    ),
)

DEALS: Final[tuple[Program, ...]] = (
    _ROUTER,
    replace(_ROUTER, name="router support, reworded", group="memory condensed, reworded", rewords=True, controls=8),
    _FORMULAS,
    _STALL,
)
