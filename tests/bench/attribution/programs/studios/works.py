"""Carriers tried in turn, a tutor with a summary, rules chosen by their tests, grants that a human approves."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import (
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

# ---- carriers: code asks one carrier after another, a fixer reads each refusal, a clerk confirms the booking


def _mend(request: Request) -> str:
    refusal = find(r"^Refusal: (.+)$", request.last, "none")
    weight = number(r"^Weight: (\d+)", request.last)
    if "heavy" in refusal and "Split heavy goods." in request.system:
        return f"SPLIT {weight // 2}"
    if "closed" in refusal and request.model == "m2":
        return "STOP"
    return request.rule(r"Otherwise say (\w+)\.", "NEXT")


def _book(request: Request) -> str:
    carrier, price = find(r"^Carrier: (\w+)", request.last, "none"), find(r"^Price: ([\d.]+)", request.last, "0")
    if carrier == "none":
        return "No carrier took it."
    days = find(r"^Days: (\w+)", request.last, "?")
    when = f" It takes {days} days." if "Give the days." in request.system else ""
    tries = f" We asked {find(r'^Asked: (.+)$', request.last)}." if "Name those asked." in request.system else ""
    return f"{carrier} takes it for {price}.{when}{tries}"


def _carriers(runtime: Runtime) -> str:
    settings = runtime.settings
    weight = number(r"(\d+) kg", user(settings), 10)
    names = str(settings["code.fixer+clerk.carriers"]).split(", ")
    asked: list[str] = []
    taken, parts, at = "none", 1, 0
    quote: dict[str, JSONValue] = {}
    for _ in range(int(real(settings["code.fixer+clerk.tries"], 3))):
        if at >= len(names):
            break
        name = names[at]
        asked.append(name)
        quote = fields(runtime.tool("get_quote", {"carrier": name}))
        error = quote.get("error")
        if error is None and weight / parts > real(quote.get("most"), 99):
            error = f"too heavy, {quote.get('most')} at most"
        if error is None:
            taken = name
            break
        answer = say(runtime, "fixer", f"Carrier: {name}\nWeight: {weight}\nRefusal: {error}")
        if answer.startswith("SPLIT"):
            parts = 2
        elif answer.startswith("NEXT"):
            at += 1
        else:
            break
    cents = quote.get("cents")
    price = real(quote.get("price")) if cents is None else real(cents) / 100
    price *= parts * (1 + real(settings["code.clerk.fee"]) / 100)
    lines = [f"Carrier: {taken}", f"Price: {price:.2f}", f"Days: {quote.get('days')}", f"Asked: {', '.join(asked)}"]
    return say(runtime, "clerk", "\n".join(lines))


_CARRIERS: Final = Program(
    name="carrier calls",
    group="tools tried again",
    program=_carriers,
    final="clerk",
    model=model_of({"fixer": _mend, "clerk": _book}),
    menu=(),
    settings={
        **prompts(
            fixer=("You are the fixer. Decide.", "Otherwise say NEXT.", "Split heavy goods.", ""),
            clerk=("You are the clerk. Confirm.", "Give the days.", "", ""),
        ),
        "user.0": "Ship 40 kg to Turku.",
        "user.1": "",
        "code.fixer+clerk.carriers": "Aero, Bolt, Cargo",
        "code.fixer+clerk.tries": 4,
        "code.clerk.fee": 0,
        **rows(
            "get_quote",
            Aero={"error": "closed today"},
            Bolt={"most": 30, "price": 18, "days": 2, "van": "red"},
            Cargo={"most": 90, "price": 44, "days": 5},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Ship 25 kg to Turku.", "Please ship 40 kg to Turku."),
        edit("upstream", "user.1", "It is glass.", "Thanks.", decoy=True),
        edit("prompt", "prompt.fixer.1", "Otherwise say WAIT."),
        edit("prompt", "prompt.fixer.2", "Keep goods together."),
        wording("fixer", 3),
        edit("model", "model.fixer.name", "m2"),
        edit("prompt", "prompt.clerk.1", "Hide the days."),
        edit("prompt", "prompt.clerk.2", "Name those asked."),
        wording("clerk", 3),
        edit("upstream", "code.fixer+clerk.carriers", "Cargo, Bolt, Aero", "Bolt, Aero"),
        edit("upstream", "code.fixer+clerk.tries", 2, 1),
        edit("upstream", "code.clerk.fee", 10, 25),
        edit("tool", "row.get_quote.Bolt.price", 21, 16),
        edit("tool", "row.get_quote.Bolt.cents", 1950),
        edit("tool", "row.get_quote.Bolt.most", 50, 10),
        edit("tool", "row.get_quote.Bolt.days", 3),
        edit("tool", "row.get_quote.Bolt.van", "blue", decoy=True),
        edit("tool", "row.get_quote.Cargo.price", 39, decoy=True),
        *sampling("fixer", "clerk"),
    ),
)

# ---- tutor: a conversation whose older turns a condenser replaces by a summary


def _condense(request: Request) -> str:
    words = re.findall(r"\b(fractions|decimals|angles|age \d+|likes \w+)\b", request.last)
    if request.model == "m2":
        words = words[-1:]
    kept = [word for word in dict.fromkeys(words) if "Leave out likes." not in request.system or "likes" not in word]
    kept = kept[-int(request.rule(r"Keep (\d) facts\.", "9")) :]
    return f"Pupil: {', '.join(kept) or 'nothing known'}"


def _teach(request: Request) -> str:
    known = request.spoken
    topics = re.findall(r"\b(fractions|decimals|angles)\b", known)
    topic = topics[-1] if topics else "numbers"
    age = number(r"age (\d+)", known, 12)
    level = "simple" if age < int(request.rule(r"Under (\d+) keep it simple\.", "10")) else "full"
    example = find(r"likes (\w+)", known, "apples") if "Use what they like." in request.system else "apples"
    if "quiz" in request.last:
        return f"A {level} quiz on {topic} with {example}."
    return f"We do {topic}, {level}."


def _tutor(runtime: Runtime) -> str:
    settings = runtime.settings
    history: list[JSONValue] = []
    answer = ""
    for text in (user(settings), *(str(settings[f"turn.{at}"]) for at in (1, 2, 3))):
        if not text:
            continue
        history.append(user_message(text))
        answer = text_of(runtime.model("tutor", [system_message(runtime, "tutor"), *history]))
        history.append({"role": "assistant", "content": answer})
        if len(history) > int(real(settings["code.condenser+tutor.window"], 4)):
            spoken = [text_of(message) for message in history if fields(message).get("role") == "user"]
            summary = say(runtime, "condenser", "\n".join(spoken[-int(real(settings["code.condenser.turns"], 9)) :]))
            kept = history[-2:] if settings["code.tutor.kept"] == "last" else []
            history = [user_message(summary), *kept]
    return answer


_TUTOR: Final = Program(
    name="tutor",
    group="turns replaced by a summary",
    program=_tutor,
    final="tutor",
    model=model_of({"condenser": _condense, "tutor": _teach}),
    menu=(),
    settings={
        **prompts(
            condenser=("You are the condenser. Sum up.", "Keep 3 facts.", "", ""),
            tutor=("You are the tutor. Teach.", "Under 10 keep it simple.", "Use what they like.", "", ""),
        ),
        "user.0": "Hello, I want to learn fractions, I am age 9.",
        "user.1": "",
        "turn.1": "My sister likes trains.",
        "turn.2": "Let us do angles.",
        "turn.3": "Now give me a quiz.",
        "code.condenser+tutor.window": 4,
        "code.condenser.turns": 9,
        "code.tutor.kept": "last",
    },
    edits=(
        edit(
            "upstream", "user.0", "Hello, I want to learn fractions, I am age 14.", "Hi, I want to do fractions, age 9."
        ),
        edit("upstream", "user.1", "It rains.", "Have a nice day.", decoy=True),
        edit("upstream", "turn.1", "My sister likes horses.", "My brother likes trains."),
        edit("upstream", "turn.2", "Let us do decimals.", "Let us do the angles."),
        edit("upstream", "turn.3", "Now give me a test.", "Now give me a long quiz."),
        edit("prompt", "prompt.condenser.1", "Keep 2 facts."),
        edit("prompt", "prompt.condenser.2", "Leave out likes."),
        wording("condenser", 3),
        edit("model", "model.condenser.name", "m2"),
        edit("prompt", "prompt.tutor.1", "Under 8 keep it simple."),
        edit("prompt", "prompt.tutor.2", "Use plain things."),
        wording("tutor", 4),
        edit("model", "model.tutor.max_tokens", 4),
        edit("upstream", "code.condenser+tutor.window", 2, 99, decoy=True),
        edit("upstream", "code.condenser.turns", 2, 1),
        edit("upstream", "code.tutor.kept", "none", decoy=True),
        *sampling("condenser", "tutor"),
    ),
)
_TUTOR_REWORDED: Final = replace(
    _TUTOR, name="tutor, reworded", group="turns replaced by a summary, reworded", rewords=True
)

# ---- parcels: a coder proposes rules, code runs their tests and keeps the best one, a reviewer decides


def _code(request: Request) -> str:
    limits = sorted(int(size) for size in re.findall(r"^(\d+) cm: big$", request.last, re.MULTILINE)) or [50]
    first = limits[0] if "Be exact." in request.system else limits[0] // 10 * 10 - 10
    step = int(request.rule(r"Step by (\d+)\.", "10"))
    count = int(request.rule(r"Propose (\d) rules\.", "2"))
    sign = "over" if request.model == "m2" else "from"
    return "\n".join(f"RULE big {sign} {first + at * step} cm" for at in range(count))


def _judge_rule(request: Request) -> str:
    rule, passed = find(r"^Rule: (.+)$", request.last, "none"), number(r"^Passed: (\d+)", request.last)
    total = number(r"^Tests: (\d+)", request.last, 1)
    missing = int(request.rule(r"Allow (\d) failures\.", "0"))
    verdict = "Take" if passed + missing >= total else "Refuse"
    share = f" ({passed} of {total})" if "Give the count." in request.system else ""
    return f"{verdict} '{rule}'{share}."


def _passes(rule: str, test: dict[str, JSONValue]) -> bool:
    limit = number(r"(\d+) cm", rule)
    compare: Callable[[float, float], bool] = (lambda a, b: a > b) if " over " in rule else (lambda a, b: a >= b)
    return compare(real(test.get("cm")), limit) is (test.get("is") == "big")


def _parcels(runtime: Runtime) -> str:
    settings = runtime.settings
    name = find(r"rule for (\w+)", user(settings), "boxes")
    tests = items(fields(runtime.tool("get_tests", {"name": name})).get("tests"))
    if settings["code.coder+reviewer.tests"] == "odd":
        tests = tests[::2]
    shown = tests[: int(real(settings["code.coder.shown"], 9))]
    lines = [f"{test.get('cm')} cm: {test.get('is')}" for test in shown]
    rules = re.findall(r"^RULE (.+)$", say(runtime, "coder", "\n".join([user(settings), *lines])), re.MULTILINE)
    counts = [(sum(_passes(rule, test) for test in tests), rule) for rule in rules] or [(0, "none")]
    best = max(counts, key=lambda entry: entry[0]) if settings["code.reviewer.pick"] == "best" else counts[-1]
    return say(runtime, "reviewer", f"Rule: {best[1]}\nPassed: {best[0]}\nTests: {len(tests)}")


def _cases(*sizes: tuple[int, str]) -> list[JSONValue]:
    return [{"cm": cm, "is": kind} for cm, kind in sizes]


_PARCELS: Final = Program(
    name="parcel rules",
    group="rules chosen by tests",
    program=_parcels,
    final="reviewer",
    model=model_of({"coder": _code, "reviewer": _judge_rule}),
    menu=(),
    settings={
        **prompts(
            coder=("You are the coder. Propose.", "Propose 3 rules.", "Step by 10.", "", ""),
            reviewer=("You are the reviewer. Decide.", "Allow 1 failures.", "Give the count.", ""),
        ),
        "user.0": "Find a rule for boxes.",
        "user.1": "",
        "code.coder.shown": 9,
        "code.coder+reviewer.tests": "all",
        "code.reviewer.pick": "best",
        "row.get_tests.boxes.tests": _cases((30, "small"), (45, "small"), (55, "big"), (62, "big"), (90, "big")),
        "row.get_tests.boxes.by": "Uma",
        "row.get_tests.bags.tests": _cases((20, "small"), (35, "big"), (70, "big")),
    },
    edits=(
        edit("upstream", "user.0", "Find a rule for bags.", "Write a rule for boxes."),
        edit("upstream", "user.1", "Be careful.", "Good luck.", decoy=True),
        edit("prompt", "prompt.coder.1", "Propose 1 rules.", "Propose 2 rules."),
        edit("prompt", "prompt.coder.2", "Step by 5.", "Step by 20."),
        edit("prompt", "prompt.coder.3", "Be exact."),
        wording("coder", 4),
        edit("model", "model.coder.name", "m2"),
        edit("prompt", "prompt.reviewer.1", "Allow 0 failures.", decoy=True),
        edit("prompt", "prompt.reviewer.2", "Hide the count."),
        wording("reviewer", 3),
        edit("upstream", "code.coder.shown", 3, 2, decoy=True),
        edit("upstream", "code.coder+reviewer.tests", "odd"),
        edit("upstream", "code.reviewer.pick", "last"),
        edit(
            "tool",
            "row.get_tests.boxes.tests",
            _cases((30, "small"), (45, "big"), (55, "big"), (62, "big"), (90, "big")),
        ),
        edit("tool", "row.get_tests.boxes.by", "Ole", decoy=True),
        *sampling("coder", "reviewer"),
    ),
)

# ---- grants: a drafter proposes a sum, code sends large ones to a human, who may change them, a writer tells


def _draft(request: Request) -> str:
    asked = number(r"(\d+) crowns", request.last, 100)
    share = int(request.rule(r"Grant (\d+) percent\.", "100"))
    cut = 50 if request.model == "m2" else 0
    name = find(r"^(\w+) asks", request.last, "someone")
    return f"GRANT {asked * share // 100 - cut} to {name}"


def _letter(request: Request) -> str:
    name, amount = find(r"^To: (\w+)", request.last, "you"), find(r"^Sum: (-?\d+)", request.last, "0")
    note = find(r"^Note: (.+)$", request.last)
    said = f" The head says: {note}." if note and "Quote the head." in request.system else ""
    close = request.rule(r"Close with (\w+)\.", "regards")
    return f"{name} gets {amount} crowns.{said} {close.capitalize()}."


def _grants(runtime: Runtime) -> str:
    settings = runtime.settings
    policy = fields(runtime.tool("get_policy", {"fund": "arts"}))
    answer = say(runtime, "drafter", f"{user(settings)}\nFund: {policy.get('purpose')}")
    amount, name = number(r"GRANT (-?\d+)", answer), find(r"to (\w+)$", answer, "someone")
    note = ""
    limit = real(policy.get("limit"), 100) * real(settings["code.approve.factor"], 1)
    if amount > limit:
        reply = fields(runtime.tool("approve", {"name": name, "sum": f"{amount}"}))
        note = str(reply.get("note", ""))
        if reply.get("decision") == "cut":
            amount = min(amount, int(real(reply.get("most"), 100)))
        elif reply.get("decision") != "yes":
            amount = 0
    if settings["code.writer.rounded"]:
        amount = round(amount / 50) * 50
    return say(runtime, "writer", f"To: {name}\nSum: {amount}\nNote: {note}")


_GRANTS: Final = Program(
    name="grants",
    group="approved by a human",
    program=_grants,
    final="writer",
    model=model_of({"drafter": _draft, "writer": _letter}),
    menu=(),
    settings={
        **prompts(
            drafter=("You are the drafter. Propose.", "Grant 90 percent.", ""),
            writer=("You are the writer. Tell them.", "Quote the head.", "Close with regards.", ""),
        ),
        "user.0": "Solveig asks for 600 crowns",
        "user.1": "for a choir.",
        "code.approve.factor": 1,
        "code.writer.rounded": False,
        **rows("get_policy", arts={"limit": 500, "purpose": "music and dance", "since": 2011}),
        **rows(
            "approve",
            Solveig={"decision": "cut", "most": 450, "note": "a fine choir", "by": "Nils"},
            Arvid={"decision": "yes"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Solveig asks for 400 crowns", "Arvid asks for 600 crowns"),
        edit("upstream", "user.1", "for a band.", "for her choir.", decoy=True),
        edit("prompt", "prompt.drafter.1", "Grant 50 percent.", "Grant 80 percent."),
        wording("drafter", 2),
        edit("model", "model.drafter.name", "m2"),
        edit("prompt", "prompt.writer.1", "Quote nobody."),
        edit("prompt", "prompt.writer.2", "Close with greetings."),
        wording("writer", 3),
        edit("model", "model.writer.max_tokens", 4),
        edit("upstream", "code.approve.factor", 2, 0.5),
        edit("upstream", "code.writer.rounded", True, decoy=True),
        edit("tool", "row.get_policy.arts.limit", 550, 300),
        edit("tool", "row.get_policy.arts.purpose", "music", decoy=True),
        edit("tool", "row.get_policy.arts.since", 2012, decoy=True),
        edit("tool", "row.approve.Solveig.decision", "yes", "no"),
        edit("tool", "row.approve.Solveig.most", 480, 300),
        edit("tool", "row.approve.Solveig.note", "a loud choir"),
        edit("tool", "row.approve.Solveig.by", "Nina", decoy=True),
        *sampling("drafter", "writer"),
    ),
)

WORKS: Final = (_CARRIERS, _TUTOR, _TUTOR_REWORDED, _PARCELS, _GRANTS)
