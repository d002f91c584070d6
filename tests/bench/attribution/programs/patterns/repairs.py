"""A support bot with a window of messages, and patches that are tested until they pass."""

from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import fields, tool
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

# ---- broadband: three turns of a customer, a window of messages, a tool for the line


def _support(request: Request) -> str | ToolCall:
    account = find(r"account (\w\d+)", request.spoken)
    name = find(r"I am (\w+)", request.spoken, "customer")
    last = request.last.lower()
    if ("slow" in last or "down" in last) and account and not request.called and (check := request.tool("line")):
        return check, {"account": account}
    hello = f"{name}, " if "Use the name." in request.system else ""
    state = request.latest_result
    if "refund" in last or "money" in last:
        if not account:
            return f"{hello}which account is it?"
        hours = int(request.rule(r"Refund from (\d+) hours on\.", "24"))
        down = number(r"(\d+)", str(state.get("down_hours")), 0)
        amount = request.rule(r"Refund (\d+) euros\.", "5")
        return (
            f"{hello}you get {amount} euros back." if down >= hours else f"{hello}there is no refund for {down} hours."
        )
    if state and request.called:
        plan = " Restart the router." if "Suggest a restart." in request.system else ""
        return f"{hello}the line has {state.get('speed', 'no')} Mbit.{plan}"
    return f"{hello}how can I help?"


def _bot(runtime: Runtime) -> str:
    settings = runtime.settings
    tools: list[JSONValue] = [tool("check_line", str(settings["tool.line"]), "account")]
    size = number(r"(\d+)", str(settings["code.bot.window"]), 9)
    history: list[JSONValue] = []
    for text in (user(settings), str(settings["turn.1"]), str(settings["turn.2"])):
        if text:
            window = [*history, user_message(text)][-size:]
            talk = converse(runtime, "bot", window, tools)
            history = [*history, user_message(text), *talk[len(window) :]]
    return text_of(history[-1])


_BOT: Final = Program(
    name="broadband support",
    group="window of a support bot",
    rewords=True,
    program=_bot,
    final="bot",
    model=model_of({"bot": _support}),
    menu=(),
    settings={
        **prompts(
            bot=(
                "You are the bot. Help with the line.",
                "Refund from 24 hours on.",
                "Refund 5 euros.",
                "Use the name.",
                "Suggest a restart.",
                "",
            )
        ),
        "user.0": "Hello.",
        "user.1": "I am Rosa with account K77.",
        "user.2": "",
        "turn.1": "My line is slow.",
        "turn.2": "Do I get a refund?",
        "tool.line": "Checks a line.",
        "code.bot.window": 9,
        **rows(
            "check_line",
            K77={"speed": 4, "down_hours": 30, "router": "blue"},
            L12={"speed": 60, "down_hours": 2, "router": "red"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Hi.", "Good evening.", decoy=True),
        edit("upstream", "user.1", "I am Rosa with account L12.", "I am Nora with account K77."),
        edit("upstream", "user.2", "I work at home.", "My cat is ill.", decoy=True),
        edit("upstream", "turn.1", "My line is down.", "My line is fine.", "My line is slow today."),
        edit("upstream", "turn.2", "Do I get money back?", "Thank you.", "How slow?"),
        edit("prompt", "prompt.bot.1", "Refund from 48 hours on.", "Refund from 12 hours on."),
        edit("prompt", "prompt.bot.2", "Refund 9 euros.", "Refund 5 euros at once."),
        edit("prompt", "prompt.bot.3", ""),
        edit("prompt", "prompt.bot.4", "", "Suggest patience.", decoy=True),
        wording("bot", 5),
        edit("model", "model.bot.name", "m2", decoy=True),
        edit("upstream", "code.bot.window", 2, 3),
        edit("tool", "tool.line", "Checks the line of an account.", "Shows a connection."),
        edit("tool", "row.check_line.K77.speed", 6, decoy=True),
        edit("tool", "row.check_line.K77.down_hours", 10, 40),
        edit("tool", "row.check_line.K77.router", "green", decoy=True),
        *sampling("bot"),
    ),
)

# ---- patches: a patch, tests whose failures go back to the model, a reviewer, a message


def _patch(request: Request) -> str:
    failures = request.last.lower()
    limit = request.rule(r"Retries are limited to (\d)\.", "3")
    guard = "zero" in failures or "Guard against zero." in request.system
    rounding = "round" in failures or "Round to cents." in request.system
    if request.model == "m2":
        rounding = True
    body = "round(total / count, 2)" if rounding else "total / count"
    return f"```\ndef mean: return {body}{' if count else 0' if guard else ''}  # {limit} tries\n```"


def _review(request: Request) -> str:
    size = len(find(r"^(def .+?)(?:  #|$)", request.last))
    most = int(request.rule(r"Accept up to (\d+) letters\.", "80"))
    return "Verdict: accept." if size <= most else "Verdict: shorten."


def _title(request: Request) -> str:
    fixed = " and ".join(name for name in ("zero", "round") if f"fixed {name}" in request.last) or "mean"
    kind = request.rule(r"Begin with (\w+):", "fix")
    count = find(r"rounds (\d)", request.last, "1")
    rounds = f" in {count} rounds" if "State the rounds." in request.system else ""
    state = "" if "Verdict: accept." in request.last else " (to be shortened)"
    tests = ", still red" if "tests fail" in request.last else ""
    return f"{kind}: {fixed}{rounds}{tests}{state}"


def _fix(runtime: Runtime) -> str:
    settings = runtime.settings
    issue = prompt = user(settings)
    patch, failure, rounds = "", "", 0
    fixed: list[str] = []
    for _ in range(number(r"(\d)", str(settings["code.coder+run_tests.rounds"]), 3)):
        rounds += 1
        patch = find(r"^(def .+)$", say(runtime, "coder", prompt))
        code = patch.split("  #")[0]
        result = fields(runtime.tool("run_tests", {"code": code}))
        failure = str(result.get("failed") or "")
        if not failure:
            break
        fixed.append(f"fixed {failure}")
        known = fixed if settings["code.coder.failures"] == "all" else fixed[-1:]
        prompt = f"{issue}\n{patch}\nThe tests failed: {', '.join(known)}"
    verdict = say(runtime, "reviewer", f"{issue}\n{patch}")
    verdict = find(r"(Verdict: \w+\.)", verdict)
    tests = "tests fail" if failure else "tests pass"
    return say(runtime, "scribe", f"rounds {rounds}; {', '.join(fixed)}\n{tests}, {verdict}")


_FIX: Final = Program(
    name="patch and test",
    group="patch, tests, title",
    chance=Chance(rate=0.1, alternatives=(("Verdict: accept.", "Verdict: shorten."),)),
    controls=8,
    program=_fix,
    final="scribe",
    model=model_of({"coder": _patch, "reviewer": _review, "scribe": _title}),
    menu=(),
    settings={
        **prompts(
            coder=("You are the coder. Write one line.", "Retries are limited to 3.", "", ""),
            reviewer=("You are the reviewer. Accept or not.", "Accept up to 70 letters.", ""),
            scribe=("You are the scribe. Write a title.", "Begin with fix:", "State the rounds.", ""),
        ),
        "user.0": "Please look at this.",
        "user.1": "The mean of an empty list fails.",
        "user.2": "",
        "code.coder+run_tests.rounds": 3,
        "code.coder.failures": "all",
        "row.run_tests.def mean: return total / count.failed": "zero",
        "row.run_tests.def mean: return total / count.seconds": 3,
        "row.run_tests.def mean: return total / count if count else 0.failed": "round",
        "row.run_tests.def mean: return round(total / count, 2).failed": "zero",
        "row.run_tests.def mean: return round(total / count, 2) if count else 0.failed": "",
        "row.run_tests.def mean: return round(total / count, 2) if count else 0.seconds": 5,
    },
    edits=(
        edit("upstream", "user.0", "Look at this, please.", "Help!", decoy=True),
        edit("upstream", "user.1", "Means of an empty list fail.", "The mean is zero.", "It does not round."),
        edit("upstream", "user.2", "It is old code.", "Tests exist.", decoy=True),
        edit("prompt", "prompt.coder.1", "Retries are limited to 2.", "Retries are limited.", decoy=True),
        edit("prompt", "prompt.coder.2", "Guard against zero.", "Round to cents."),
        wording("coder", 3),
        edit("model", "model.coder.name", "m2"),
        edit("prompt", "prompt.reviewer.1", "Accept up to 40 letters.", "Accept up to 90 letters."),
        wording("reviewer", 2),
        edit("prompt", "prompt.scribe.1", "Begin with chore:", "Begin with fix: or feat:"),
        edit("prompt", "prompt.scribe.2", "", "State the rounds. Be brief."),
        wording("scribe", 3),
        edit("upstream", "code.coder+run_tests.rounds", 1, 2),
        edit("upstream", "code.coder.failures", "last"),
        edit("tool", "row.run_tests.def mean: return total / count.failed", "", "round"),
        edit("tool", "row.run_tests.def mean: return total / count.seconds", 9, decoy=True),
        edit("tool", "row.run_tests.def mean: return total / count if count else 0.failed", ""),
        edit("tool", "row.run_tests.def mean: return round(total / count, 2) if count else 0.seconds", 1, decoy=True),
        *sampling("coder", "reviewer", "scribe"),
    ),
)

REPAIRS: Final[tuple[Program, ...]] = (_BOT, _FIX)
