"""Trading rules that code tests on past prices, and a tariff code that is chosen level by level."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import decimal, find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONValue

# ---- signals: a strategist proposes a rule, code tests it on past prices, the outcome goes back, a reporter sums up


def _propose(request: Request) -> str:
    tried = re.findall(r"^buy under (\d+), sell over (\d+): (-?\d+)$", request.last, re.MULTILINE)
    width = int(request.rule(r"Begin with a band of (\d+)\.", "4"))
    step = int(request.rule(r"Narrow it by (\d+)\.", "1"))
    middle = number(r"^Middle: (\d+)", request.last)
    if request.model == "m2":
        middle += 2
    width = max(width - step * len(tried), 0)
    return f"RULE buy under {middle - width} and sell over {middle + width}"


def _report(request: Request) -> str:
    gain, trades = number(r"^Gain: (-?\d+)", request.last), number(r"^Trades: (\d+)", request.last)
    low, high = find(r"^Rule: (\d+) to", request.last, "0"), find(r"^Rule: \d+ to (\d+)", request.last, "0")
    fee = int(request.rule(r"Each trade costs (\d+)\.", "0"))
    unit = request.rule(r"Count in (\w+)\.", "points")
    advice = "use it" if gain - fee * trades > 0 else "leave it"
    band = f" between {low} and {high}" if "Give the band." in request.system else ""
    return f"It gains {gain - fee * trades} {unit}{band}: {advice}."


def _tested(prices: list[float], low: float, high: float) -> tuple[int, int]:
    """Buy under the lower bound, sell over the upper one, and return the gain and the number of sales."""
    bought: float | None = None
    gain, sales = 0.0, 0
    for price in prices:
        if bought is None and price < low:
            bought = price
        elif bought is not None and price > high:
            gain, sales, bought = gain + price - bought, sales + 1, None
    return round(gain), sales


def _signals(runtime: Runtime) -> str:
    settings = runtime.settings
    share = find(r"share (\w+)", user(settings), "Alp")
    series = fields(runtime.tool("get_prices", {"share": share})).get("prices")
    prices = [real(price) for price in series] if isinstance(series, list) else []
    window = prices[-int(real(settings["code.strategist.window"], 9)) :]
    middle = round(sum(window) / max(len(window), 1)) if settings["code.strategist.middle"] == "mean" else 50
    goal = real(fields(runtime.tool("get_goal", {"desk": "signals"})).get("goal"))
    tried: list[str] = []
    result = (0, 0, 0, 0)
    for _ in range(4):
        proposal = say(runtime, "strategist", "\n".join([user(settings), f"Middle: {middle}", *tried]))
        low, high = number(r"under (\d+)", proposal), number(r"over (\d+)", proposal)
        gain, sales = _tested(window, low, high)
        result = gain, sales, low, high
        tried.append(f"buy under {low}, sell over {high}: {gain}")
        if gain >= goal:
            break
    gain, sales, low, high = result
    return say(runtime, "reporter", f"Gain: {gain}\nTrades: {sales}\nRule: {low} to {high}")


_PRICES: Final[list[JSONValue]] = [61, 55, 48, 46, 52, 57, 49, 44, 51, 58, 50, 47]

_SIGNALS: Final = Program(
    name="price signals",
    group="rules tested on past prices",
    program=_signals,
    final="reporter",
    model=model_of({"strategist": _propose, "reporter": _report}),
    menu=(),
    settings={
        **prompts(
            strategist=(
                "You are the strategist. Propose a rule.",
                "Begin with a band of 6.",
                "Narrow it by 2.",
                "",
                "",
            ),
            reporter=("You are the reporter. Sum up.", "Each trade costs 1.", "Count in points.", "Give the band.", ""),
        ),
        "user.0": "Find a rule for the share Alp.",
        "user.1": "",
        "code.strategist.window": 12,
        "code.strategist.middle": "mean",
        "row.get_prices.Alp.prices": _PRICES,
        "row.get_prices.Alp.source": "exchange",
        "row.get_prices.Bix.prices": [40, 44, 43, 47, 41, 39, 45, 48, 42, 40, 46, 49],
        **rows("get_goal", signals={"goal": 20, "set_by": "desk"}),
    },
    edits=(
        edit("upstream", "user.0", "Find a rule for the share Bix.", "Seek a rule for the share Alp."),
        edit("upstream", "user.1", "Take no risks.", "Good luck.", decoy=True),
        edit("prompt", "prompt.strategist.1", "Begin with a band of 3.", "Begin with a band of 9."),
        edit("prompt", "prompt.strategist.2", "Narrow it by 1.", "Narrow it by 3."),
        edit("prompt", "prompt.strategist.3", "Propose with care.", decoy=True),
        wording("strategist", 4),
        edit("model", "model.strategist.name", "m2"),
        edit("prompt", "prompt.reporter.1", "Each trade costs 3.", "Each trade costs 9."),
        edit("prompt", "prompt.reporter.2", "Count in francs."),
        edit("prompt", "prompt.reporter.3", "Hide the band."),
        wording("reporter", 4),
        edit("model", "model.reporter.name", "m2", decoy=True),
        edit("upstream", "code.strategist.window", 6, 4),
        edit("upstream", "code.strategist.middle", "fixed"),
        edit("tool", "row.get_prices.Alp.prices", [*_PRICES[:3], 38, *_PRICES[4:]], [*_PRICES[:9], 66, *_PRICES[10:]]),
        edit("tool", "row.get_prices.Alp.source", "broker", decoy=True),
        edit("tool", "row.get_goal.signals.goal", 30, 99),
        edit("tool", "row.get_goal.signals.set_by", "board", decoy=True),
        *sampling("strategist", "reporter"),
    ),
)

# ---- tariff: a classifier picks a branch at each level, code adds the levels and computes the duty, a broker answers


def _pick(request: Request) -> str:
    goods = request.last.lower().partition("\nbranches:")[0]
    branches = re.findall(r"^(\d+) (.+)$", request.last, re.MULTILINE)
    forced = request.rule(r"Treat (\w+) as parts\.")
    if forced and forced in goods and (parts := [code for code, text in branches if "parts" in text]):
        return f"Branch {parts[0]}"
    scores = [(sum(word in goods for word in re.findall(r"[a-z]{4,}", text.lower())), code) for code, text in branches]
    if request.model == "m2":
        scores.reverse()
    best = max(scores, key=lambda pair: pair[0], default=(0, "00"))
    return f"Branch {best[1] if best[0] else branches[-1][0] if branches else '00'}"


def _broker(request: Request) -> str:
    code, duty = find(r"^Code: ([\d.]+)", request.last, "none"), decimal(r"^Duty: ([\d.]+)", request.last)
    handling = int(request.rule(r"Add (\d+) for handling\.", "0"))
    hint = " Bring a licence." if "licence: yes" in request.last and "Mention licences." in request.system else ""
    money = request.rule(r"Use (\w+)\.", "francs")
    if duty == 0:
        return f"Code {code}: no duty.{hint}"
    return f"Code {code}: pay {duty + handling:.2f} {money}.{hint}"


def _customs(runtime: Runtime) -> str:
    settings = runtime.settings
    node, path = "root", []
    for _ in range(int(real(settings["code.broker.levels"], 2))):
        branches = fields(runtime.tool("list_branches", {"node": node})).get("branches")
        lines = [str(branch) for branch in branches] if isinstance(branches, list) else []
        if not lines:
            break
        picked = find(r"Branch (\d+)", say(runtime, "classifier", "\n".join([user(settings), "Branches:", *lines])))
        path.append(picked)
        node = picked
    rate = fields(runtime.tool("get_rate", {"code": node}))
    value = decimal(r"worth (\d+)", user(settings)) * real(
        fields(runtime.tool("get_course", {"money": find(r"worth \d+ (\w+)", user(settings), "euros")})).get("course"),
        1,
    )
    free = real(settings["code.broker.free"])
    duty = max(value - free, 0) * real(rate.get("percent")) / 100
    return say(runtime, "broker", f"Code: {'.'.join(path)}\nDuty: {duty:.2f}\nlicence: {rate.get('licence', 'no')}")


def _rate(code: str, percent: int, licence: str, chapter: str) -> dict[str, JSONValue]:
    row: dict[str, JSONValue] = {"percent": percent, "licence": licence, "chapter": chapter}
    return {f"row.get_rate.{code}.{name}": value for name, value in row.items()}


_CUSTOMS: Final = Program(
    name="customs tariff",
    group="branches of a tree",
    program=_customs,
    final="broker",
    model=model_of({"classifier": _pick, "broker": _broker}),
    menu=(),
    settings={
        **prompts(
            classifier=("You are the classifier. Pick one branch.", "", "", ""),
            broker=("You are the broker. Answer.", "Add 5 for handling.", "Mention licences.", "Use francs.", ""),
        ),
        "user.0": "I import a cotton shirt",
        "user.1": "worth 400 euros.",
        "user.2": "",
        "code.broker.levels": 2,
        "code.broker.free": 100,
        "row.list_branches.root.branches": ["61 cotton clothes and shirt", "84 machines and pumps", "99 other goods"],
        "row.list_branches.root.edition": 2026,
        "row.list_branches.61.branches": ["6105 shirt of cotton", "6109 vest", "6117 parts of clothes"],
        "row.list_branches.84.branches": ["8413 pumps", "8466 parts of machines"],
        **_rate("6105", 12, "no", "textiles"),
        **_rate("6117", 6, "yes", "textiles"),
        **_rate("6109", 9, "no", "textiles"),
        **_rate("8413", 3, "yes", "machines"),
        **_rate("61", 15, "no", "textiles"),
        **rows("get_course", euros={"course": 0.95, "day": "May 4"}, pounds={"course": 1.1, "day": "May 4"}),
    },
    edits=(
        edit("upstream", "user.0", "I import pumps and machines", "We import a cotton shirt"),
        edit("upstream", "user.1", "worth 700 euros.", "worth 400 pounds."),
        edit("upstream", "user.2", "Kind regards.", "It is a present.", decoy=True),
        edit("prompt", "prompt.classifier.1", "Treat cotton as parts.", "Treat shirts as parts."),
        edit("prompt", "prompt.classifier.2", "Mind the notes.", decoy=True),
        wording("classifier", 3),
        edit("model", "model.classifier.name", "m2", decoy=True),
        edit("prompt", "prompt.broker.1", "Add 8 for handling.", "Add 25 for handling."),
        edit("prompt", "prompt.broker.2", "Skip licences.", decoy=True),
        edit("prompt", "prompt.broker.3", "Use coins."),
        wording("broker", 4),
        edit("upstream", "code.broker.levels", 1),
        edit("upstream", "code.broker.free", 0, 300),
        edit("tool", "row.list_branches.root.edition", 2027, decoy=True),
        edit(
            "tool",
            "row.list_branches.61.branches",
            ["6109 cotton vest or shirt", "6117 parts"],
            ["6109 vest", "6117 parts"],
        ),
        edit("tool", "row.get_rate.6105.percent", 10, 14),
        edit("tool", "row.get_rate.6105.licence", "yes"),
        edit("tool", "row.get_rate.6105.chapter", "garments", decoy=True),
        edit("tool", "row.get_course.euros.course", 0.91, 1.02),
        edit("tool", "row.get_course.euros.day", "May 9", decoy=True),
        *sampling("classifier", "broker"),
    ),
)

CHOICES: Final[tuple[Program, ...]] = (_SIGNALS, _CUSTOMS)
