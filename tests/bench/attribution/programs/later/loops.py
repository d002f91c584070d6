"""Loops: a plan that is revised on the way, a patch that is tested, a text that is revised up to a score."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Edit, Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject

# ---- offsite: after each step a model may replace the rest of the plan; code keeps the budget, rounded to tens


def _plan_offsite(request: Request) -> str:
    city = find(r"\b(Leeds|Bath|Cardiff)\b", request.last, "Leeds")
    steps = [f"book_venue({city})", f"book_train({city})"]
    if "Plan a dinner on the first evening." in request.system:
        steps.append(f"book_dinner({city})")
    if "hike" in request.last.lower():
        steps.append(f"book_guide({city})")
    if request.model == "m2":
        steps = [*steps[1:2], *steps[:1], *steps[2:]]
    return "\n".join(f"{count}. {step}" for count, step in enumerate(steps, 1))


def _replan(request: Request) -> str:
    left = number(r"Budget left: (-?\d+)", request.last)
    rest = re.findall(r"^- (\w+)\((\w+)\)$", request.last, re.MULTILINE)
    if not rest:
        return "KEEP"
    if left < int(request.rule(r"Drop the dinner below (\d+) euros\.", "0")):
        shorter = [f"{tool}({city})" for tool, city in rest if tool != "book_dinner"]
        if len(shorter) < len(rest):
            return "REPLACE\n" + "\n".join(shorter or ["done(all)"])
    if left < int(request.rule(r"Go by coach below (\d+) euros\.", "0")) and "book_train" in dict(rest):
        return "REPLACE\n" + "\n".join(
            f"{'book_coach' if tool == 'book_train' else tool}({city})" for tool, city in rest
        )
    return "KEEP"


def _report_offsite(request: Request) -> str:
    lines = re.findall(r"^(\w+): (.+) at (\d+)$", request.last, re.MULTILINE)
    spent = sum(int(price) for _, _, price in lines)
    listing = "; ".join(name for _, name, _ in lines)
    each = spent // int(request.rule(r"We are (\d+) people\.", "10"))
    figure = f"{each} euros each" if "State the price for one person." in request.system else f"{spent} euros"
    missing = [word for word in ("dinner", "guide") if word not in [kind for kind, _, _ in lines]]
    gap = f" No {' and no '.join(missing)}." if missing and "Say what is missing." in request.system else ""
    return f"Booked: {listing}. It comes to {figure}.{gap}"


def _offsite(runtime: Runtime) -> str:
    goal = user(runtime.settings)
    budget = number(r"(\d[\d,]*) euros", goal, 2000)
    steps = re.findall(r"(book_\w+)\((\w+)\)", say(runtime, "planner", goal))
    booked: list[str] = []
    while steps and len(booked) < 6:
        tool, city = steps.pop(0)
        row = runtime.tool(tool, {"city": city.lower()})
        if isinstance(row, dict) and "error" not in row:
            price = number(r"(\d+)", str(row.get("total", 0)))
            budget -= price
            booked.append(f"{tool.removeprefix('book_')}: {row.get('name')} at {price}")
        rest = "\n".join(f"- {name}({place})" for name, place in steps)
        advice = say(runtime, "replanner", f"{goal}\nBudget left: {budget // 10 * 10}\nStill to do:\n{rest}")
        if "REPLACE" in advice:
            steps = re.findall(r"(book_\w+)\((\w+)\)", advice)
    return say(runtime, "reporter", "\n".join(booked))


_OFFSITE: Final = Program(
    name="offsite",
    group="plan and revise",
    most=5,
    program=_offsite,
    final="reporter",
    model=model_of({"planner": _plan_offsite, "replanner": _replan, "reporter": _report_offsite}),
    menu=(),
    settings={
        **prompts(
            planner=(
                "You are the planner. Write one booking in each line.",
                "Plan a dinner on the first evening.",
                "",
            ),
            replanner=(
                "You are the replanner. Write KEEP, or REPLACE with the bookings that are still to do.",
                "Drop the dinner below 300 euros.",
                "Go by coach below 700 euros.",
                "",
            ),
            reporter=(
                "You are the reporter. Sum up the bookings for the team.",
                "We are 12 people.",
                "State the price for one person.",
                "",
                "",
            ),
        ),
        "user.0": "Plan our offsite in Leeds for 2,000 euros.",
        "user.1": "",
        **rows(
            "book_venue",
            leeds={"name": "The Tannery", "total": 1180, "rooms": 12},
            bath={"name": "Spa Hall", "total": 1420},
        ),
        **rows(
            "book_train",
            leeds={"name": "LNER at 08:03", "total": 456, "class": 2},
            bath={"name": "GWR at 07:30", "total": 510},
        ),
        **rows("book_coach", leeds={"name": "National Express", "total": 190}, bath={"name": "Megabus", "total": 170}),
        **rows(
            "book_dinner",
            leeds={"name": "Bundobust", "total": 310, "stars": 4},
            bath={"name": "Sotto Sotto", "total": 420},
        ),
        **rows("book_guide", leeds={"name": "Dales Guides", "total": 150}),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Plan our offsite in Bath for 2,000 euros.",
            "Plan our offsite in Leeds for 1,800 euros.",
            "We have 2,000 euros for an offsite in Leeds, plan it.",
        ),
        edit("upstream", "user.1", "We would love to hike.", "Everyone arrives on Thursday."),
        edit("prompt", "prompt.planner.1", "Plan a dinner on the last evening."),
        wording("planner", 2),
        edit("model", "model.planner.name", "m2"),
        edit("prompt", "prompt.replanner.1", "Drop the dinner below 400 euros.", "Drop the dinner below 350 euros."),
        edit("prompt", "prompt.replanner.2", "Go by coach below 900 euros.", "Go by coach below 500 euros."),
        wording("replanner", 3),
        edit("model", "model.replanner.name", "m2", decoy=True),
        edit("prompt", "prompt.reporter.1", "We are 9 people."),
        edit("prompt", "prompt.reporter.2", ""),
        edit("prompt", "prompt.reporter.3", "Say what is missing."),
        wording("reporter", 4),
        edit("tool", "row.book_venue.leeds.total", 1320, 1460, 990),
        edit("tool", "row.book_venue.leeds.rooms", 14, decoy=True),
        edit("tool", "row.book_train.leeds.total", 498, 430),
        edit("tool", "row.book_coach.leeds.total", 210, decoy=True),
        Edit(
            category="tool",
            variants=((("row.book_dinner.leeds.name", "Tharavadu"), ("row.book_dinner.leeds.stars", 5)),),
        ),
        edit("tool", "row.book_dinner.leeds.stars", 3, decoy=True),
        *sampling("planner", "replanner", "reporter"),
    ),
)

# ---- a patch: the code block of an answer is tested, and the failures of the log's last lines go back to the coder

_BODIES: Final = {
    "float": "return round(amount, 2)",
    "decimal": "return Decimal(str(amount)).quantize(CENT, ROUND_HALF_UP)",
    "signed": "return Decimal(str(amount)).quantize(CENT, ROUND_HALF_AWAY)",
    "cents": "return int(amount * 100 + 0.5) / 100",
}


def _write_patch(request: Request) -> str:
    chosen = "float" if request.model == "m2" else "decimal"
    chosen = request.rule(r"Begin with the (\w+) version\.", chosen)
    for test, better in re.findall(r"If test_(\w+) fails, use the (\w+) version\.", request.system):
        if f"test_{test}" in request.last:
            chosen = better
    notes = "# prices are rounded half up\n" if "Comment the code." in request.system else ""
    body = _BODIES.get(chosen, _BODIES["float"])
    return f"This should do it:\n```python\n{notes}def round_price(amount):\n    {body}\n```"


def _review(request: Request) -> str:
    failures = re.findall(r"FAILED (\w+)", request.last)
    attempts = number(r"Attempts: (\d+)", request.last, 1)
    if failures and len(failures) > int(request.rule(r"Accept (\d+) failing tests?\.", "0")):
        return f"Changes requested: {failures[0]} still fails."
    slow = number(r"(\d+) ms", request.last)
    concern = f" It takes {slow} ms." if slow > int(request.rule(r"Mention times over (\d+) ms\.", "9999")) else ""
    floats = "round(amount" in request.last and "Reject binary floats." in request.system
    if floats:
        return "Changes requested: no binary floats for prices."
    title = find(r"Issue: (?:\[(\w+-\d+)\])", request.last, "no ticket")
    return f"Approved for {title} after {attempts} attempt{'s' if attempts > 1 else ''}.{concern}"


def _patch(runtime: Runtime) -> str:
    issue, failures, code, tail = user(runtime.settings), "", "", ""
    attempts = 0
    while attempts < 3:
        attempts += 1
        answer = say(runtime, "coder", f"Issue: {issue}\nFailures:\n{failures}")
        code = find(r"```python\n((?:.*\n)+?)```", answer)
        version = next((name for name, body in _BODIES.items() if body in code), "none")
        result = runtime.tool("run_tests", {"version": version, "command": "pytest -q tests/test_prices.py"})
        log = str(result.get("log", "")).splitlines() if isinstance(result, dict) else ["FAILED test_import"]
        tail = "\n".join(log[-3:])
        failures = "\n".join(line for line in log[-3:] if line.startswith("FAILED"))
        if not failures:
            break
    return say(runtime, "reviewer", f"Issue: {issue}\nAttempts: {attempts}\n{code}\n{tail}")


_LOGS: Final[dict[str, JSONObject]] = {
    "float": {"log": "collected 9 items\nFAILED test_halves: 2.67 is not 2.68\n8 passed, 1 failed in 31 ms", "seed": 7},
    "decimal": {
        "log": "collected 9 items\nFAILED test_refunds: -2.67 is not -2.68\n8 passed, 1 failed in 44 ms",
        "seed": 7,
    },
    "signed": {"log": "collected 9 items\n9 passed in 58 ms", "seed": 7},
    "cents": {"log": "collected 9 items\nwarning: overflow is not tested\n9 passed in 22 ms", "seed": 7},
    "none": {"log": "collected 0 items\nFAILED test_import: no code block\n0 passed in 1 ms", "seed": 7},
}
_PATCH: Final = Program(
    name="patch",
    group="test output",
    most=4,
    program=_patch,
    final="reviewer",
    model=model_of({"coder": _write_patch, "reviewer": _review}),
    menu=(),
    settings={
        **prompts(
            coder=(
                "You are the coder. Answer with one Python code block.",
                "Begin with the decimal version.",
                "If test_halves fails, use the cents version.",
                "If test_refunds fails, use the signed version.",
                "",
                "",
            ),
            reviewer=(
                "You are the reviewer. Decide on the patch by its code and its test log.",
                "Mention times over 50 ms.",
                "",
                "",
                "",
            ),
        ),
        "user.0": "[SHOP-212] Prices such as 2.675 are rounded down.",
        "user.1": "",
        **rows("run_tests", **_LOGS),
    },
    edits=(
        edit("upstream", "user.0", "[SHOP-219] Prices such as 2.675 are rounded down.", "[SHOP-212] Why is 2.675 cut?"),
        edit("upstream", "user.1", "It hurts our accounts.", "We saw test_refunds fail before.", "It is urgent."),
        edit("prompt", "prompt.coder.1", "Begin with the float version.", "Begin with the cents version."),
        edit("prompt", "prompt.coder.2", "If test_halves fails, use the decimal version.", decoy=True),
        edit("prompt", "prompt.coder.3", "If test_refunds fails, use the cents version.", ""),
        edit("prompt", "prompt.coder.4", "Comment the code.", decoy=True),
        wording("coder", 5),
        edit("model", "model.coder.name", "m2", decoy=True),
        edit("prompt", "prompt.reviewer.1", "Mention times over 20 ms.", "Mention times over 60 ms."),
        edit("prompt", "prompt.reviewer.2", "Accept 1 failing test."),
        edit("prompt", "prompt.reviewer.3", "Reject binary floats."),
        wording("reviewer", 4),
        edit("model", "model.reviewer.max_tokens", 4, 60),
        edit(
            "tool",
            "row.run_tests.decimal.log",
            "collected 9 items\n9 passed in 44 ms",
            "collected 9 items\nFAILED test_halves: 2.67 is not 2.68\n8 passed, 1 failed in 44 ms",
            "FAILED test_refunds: -2.67 is not -2.68\nwarning: 1 test skipped\nwarning: slow disk\n8 passed in 97 ms",
        ),
        edit("tool", "row.run_tests.signed.log", "collected 9 items\n9 passed in 61 ms"),
        edit("tool", "row.run_tests.signed.seed", 12, decoy=True),
        edit("tool", "row.run_tests.cents.log", "collected 9 items\n9 passed in 23 ms", decoy=True),
        *sampling("coder", "reviewer"),
    ),
)

# ---- a press release: the mean of three scores decides on another round, and the best draft so far is printed


def _draft(request: Request) -> str:
    brief, _, revision = request.last.partition("\nDraft: ")
    product = find(r"launch of (?:the )?([A-Z][\w ]+?)(?: on|\.|,)", brief, "our product")
    day = find(r"on (\d+ \w+)", brief, "soon")
    sentences = [f"{product} arrives {'on ' if day != 'soon' else ''}{day}."]
    figure = find(r"(\d+) percent", brief)
    weakest = find(r"Weakest: (\w+)", revision)
    if figure and (weakest == "evidence" or "In-house tests" in revision or "Always quote tests." in request.system):
        sentences.append(f"In-house tests show {figure} percent less waste.")
    if weakest == "warmth" or "We cannot wait" in revision:
        sentences.append(request.rule(r"End on: (.+?\.)", "We cannot wait to share it."))
        sentences.append("We cannot wait.") if "We cannot wait" not in sentences[-1] else None
    if request.model == "m2":
        sentences[0] = sentences[0].replace("arrives", "comes to stores")
    if request.temperature >= 0.7:
        sentences.insert(1, "Big things come in small packages.")
    return " ".join(sentences)


def _score_draft(request: Request) -> str:
    text = request.last
    scores = {
        "evidence": 8 if "In-house tests" in text else 4,
        "warmth": 9 if "We cannot wait" in text else 5,
        "clarity": 9 - max(len(text.split()) - 16, 0) // 2,
    }
    for name, points in re.findall(r"Take (\w+) down by (\d) points?\.", request.system):
        scores[name] = scores.get(name, 5) - int(points)
    if request.model == "m2":
        scores["evidence"] += 1
    listing = ", ".join(f"{name} {points}/10" for name, points in scores.items())
    return f"{listing}. Weakest: {min(scores, key=lambda name: scores[name])}."


def _press(runtime: Runtime) -> str:
    brief = user(runtime.settings)
    draft, best, top = say(runtime, "author", brief), "", -1.0
    for rounds in range(3):
        verdict = say(runtime, "critic", draft)
        scores = [int(points) for points in re.findall(r"(\d+)/10", verdict)]
        mean = round(sum(scores) / max(len(scores), 1), 1)
        if mean > top:
            best, top = draft, mean
        if mean >= 7.5 or rounds == 2:
            break
        weakest = find(r"Weakest: (\w+)", verdict, "clarity")
        draft = say(runtime, "author", f"{brief}\nDraft: {draft}\nScore: {mean}\nWeakest: {weakest}")
    heading = find(r"^(.+?) (?:arrives|comes)", best, "news").upper()
    return f"{heading}\n{best}"


_PRESS: Final = Program(
    name="press release",
    group="score threshold",
    most=3,
    program=_press,
    final="author",
    model=model_of({"author": _draft, "critic": _score_draft}),
    menu=(),
    settings={
        **prompts(
            author=(
                "You are the author. Write a short press release, and revise it where you are told to.",
                "End on: We cannot wait to share it.",
                "",
                "",
            ),
            critic=("You are the critic. Give points for evidence, warmth and clarity.", "", "", ""),
        ),
        "user.0": "Announce the launch of the Lumen Bottle on 14 April.",
        "user.1": "Our tests show 38 percent less waste.",
        "user.2": "",
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Announce the launch of the Lumen Bottle on 2 May.",
            "Announce the launch of the Lumen Flask on 14 April.",
            "Please announce the launch of the Lumen Bottle on 14 April.",
        ),
        edit("upstream", "user.1", "Our tests show 41 percent less waste.", "Our tests are not done."),
        edit("upstream", "user.2", "Send it to the trade press.", "Keep it friendly.", decoy=True),
        edit("prompt", "prompt.author.1", "End on: We cannot wait to hear from you.", "End on: Come and see it."),
        edit("prompt", "prompt.author.2", "Always quote tests.", decoy=True),
        wording("author", 3),
        edit("model", "model.author.name", "m2"),
        edit("model", "model.author.temperature", 0.9, 0.3),
        edit("model", "model.author.max_tokens", 9, 120),
        edit("prompt", "prompt.critic.1", "Take clarity down by 5 points.", "Take clarity down by 7 points."),
        edit("prompt", "prompt.critic.2", "Take evidence down by 1 point.", "Take evidence down by 4 points."),
        wording("critic", 3),
        edit("model", "model.critic.name", "m2"),
        *sampling("critic"),
    ),
)

LOOPS: Final = (_OFFSITE, _PATCH, _PRESS)
REWORDABLE: Final = (_OFFSITE,)
