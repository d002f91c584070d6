"""A review by sub-agents between which code routes files, and an assistant whose tools code guards."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, real, tool
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
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
from traces.core.json_types import JSONObject, JSONValue

# ---- code review: code routes each file to a sub-agent, merges and filters what they find, a lead decides


def _security(request: Request) -> str:
    findings = []
    for index, line in enumerate(request.last.split("\n")[1:], 1):
        if "eval(" in line or "SELECT" in line:
            findings.append(f"{index} high injection")
        if request.rule(r"Watch for (\w+)\.", "token") in line:
            findings.append(f"{index} medium secret")
    return "\n".join(findings[: 1 if request.model == "m2" else 9]) or "clean"


def _style(request: Request) -> str:
    lines = request.last.split("\n")[1:]
    most = int(request.rule(r"Lines have at most (\d+) signs\.", "40"))
    findings = [f"{index} low long" for index, line in enumerate(lines, 1) if len(line) > most]
    if "Forbid prints." in request.system:
        findings += [f"{index} medium print" for index, line in enumerate(lines, 1) if "print(" in line]
    return "\n".join(findings) or "clean"


def _lead(request: Request) -> str:
    findings = re.findall(r"^(\S+):(\d+) (\w+) (\w+)$", request.last, re.MULTILINE)
    most = int(request.rule(r"Accept up to (\d) findings\.", "0"))
    verdict = "Approved" if len(findings) <= most else "Changes requested"
    first = f": {findings[0][3]} in {findings[0][0]} line {findings[0][1]}" if findings else ""
    author = find(r"^Author: (.+)$", request.last, "friend")
    thanks = f" Thank you, {author}." if "Be kind." in request.system else ""
    return f"{verdict}{first} ({len(findings)} in all).{thanks}"


_SEVERITIES: Final = ("low", "medium", "high")


def _review(runtime: Runtime) -> str:
    settings = runtime.settings
    change = fields(runtime.tool("get_change", {"number": find(r"change (\d+)", user(settings), "7")}))
    findings: list[tuple[str, int, str, str]] = []
    for file in items(change.get("files")):
        path, patch = str(file.get("path")), str(file.get("patch"))
        if settings["code.security+style.tests"] == "skipped" and path.startswith("test"):
            continue
        risky = path.endswith(tuple(str(settings["code.security+style.risky"]).split()))
        agent = "security" if risky else "style"
        lines = patch.split("\n")[: int(real(settings["code.style.most"], 9))]
        text = "\n".join([f"File {path}", *lines])
        report = runtime.agent(agent, path, lambda agent=agent, text=text: say(runtime, agent, text))  # type: ignore[misc]
        for place, severity, what in re.findall(r"(\d+) (low|medium|high) (\w+)", report):
            findings.append((path, int(place) + int(real(settings["code.lead.first_line"])), severity, what))
    least = _SEVERITIES.index(str(settings["code.lead.least"]))
    findings = [finding for finding in findings if _SEVERITIES.index(finding[2]) >= least]
    if settings["code.lead.once"] == "per kind":
        findings = list({finding[3]: finding for finding in reversed(findings)}.values())[::-1]
    if settings["code.lead.sort"] == "severity":
        findings.sort(key=lambda finding: -_SEVERITIES.index(finding[2]))
    lines = [f"{path}:{place} {severity} {what}" for path, place, severity, what in findings]
    return say(runtime, "lead", "\n".join([f"Author: {change.get('author')}", *lines]))


def _files(*entries: tuple[str, str]) -> list[JSONValue]:
    return [{"path": path, "patch": patch} for path, patch in entries]


_PATCHES: Final = (
    ("view.py", "def show(page):\n    print(page)\n    return render(page, title='a very long title of a page')"),
    ("query.sql", "SELECT name FROM users\nWHERE token = 5"),
    ("test_view.py", "def test_show():\n    print(show(1))"),
    ("run.sh", "eval(input)"),
)
_CHANGES: Final[dict[str, JSONObject]] = {
    "7": {"author": "Mina", "files": _files(*_PATCHES), "branch": "main"},
    "8": {"author": "Nils", "files": _files(("a.py", "pass")), "branch": "main"},
}
_REVIEW: Final = Program(
    name="code review",
    group="files routed to reviewers",
    program=_review,
    final="lead",
    model=model_of({"security": _security, "style": _style, "lead": _lead}),
    menu=(),
    settings={
        **prompts(
            security=("You are the security. Find holes.", "Watch for token.", ""),
            style=("You are the style. Find faults.", "Lines have at most 40 signs.", "Forbid prints.", ""),
            lead=("You are the lead. Decide.", "Accept up to 1 findings.", "", ""),
        ),
        "user.0": "Review change 7.",
        "user.1": "",
        "code.security+style.tests": "skipped",
        "code.security+style.risky": ".sql .sh",
        "code.style.most": 9,
        "code.lead.first_line": 0,
        "code.lead.least": "medium",
        "code.lead.once": "all",
        "code.lead.sort": "severity",
        **rows("get_change", **_CHANGES),
    },
    edits=(
        edit("upstream", "user.0", "Review change 8.", "Have a look at change 7."),
        edit("upstream", "user.1", "It is urgent.", decoy=True),
        edit("prompt", "prompt.security.1", "Watch for password."),
        wording("security", 2),
        edit("model", "model.security.name", "m2"),
        edit("prompt", "prompt.style.1", "Lines have at most 80 signs.", "Lines have at most 10 signs.", decoy=True),
        edit("prompt", "prompt.style.2", "Allow prints."),
        wording("style", 3),
        edit("prompt", "prompt.lead.1", "Accept up to 5 findings."),
        edit("prompt", "prompt.lead.2", "Be kind."),
        wording("lead", 3),
        edit("upstream", "code.security+style.tests", "read"),
        edit("upstream", "code.security+style.risky", ".sql", ".py .sh"),
        edit("upstream", "code.style.most", 1),
        edit("upstream", "code.lead.first_line", 20),
        edit("upstream", "code.lead.least", "low", "high"),
        edit("upstream", "code.lead.once", "per kind"),
        edit("upstream", "code.lead.sort", "path"),
        edit("tool", "row.get_change.7.files", _files(*_PATCHES[:2]), _files(*_PATCHES[1:3], ("b.sh", "ls\neval(x)"))),
        edit("tool", "row.get_change.7.author", "Otto", decoy=True),
        edit("tool", "row.get_change.7.branch", "next", decoy=True),
        *sampling("security", "style", "lead"),
    ),
)

# ---- guarded tools: an assistant with native tools; code caps lists, hides fields, repeats failed calls and signs

_TOOLS: Final[tuple[JSONObject, ...]] = (
    tool("find_hotels", "Hotels of a town.", "town"),
    tool("get_rate", "Rate of a hotel.", "hotel"),
)


def _assistant(request: Request) -> str | ToolCall | list[ToolCall]:
    town = find(r"in (\w+)", request.last, "Bern")
    called = request.called
    finder, rater = request.tool("Hotels"), request.tool("Rate")
    if finder and finder not in called:
        return finder, {"town": town}
    hotels = [str(row.get("name")) for result in request.results for row in items(result.get("hotels"))]
    if rater and hotels and rater not in called:
        most = int(request.rule(r"Compare (\d) hotels\.", "2"))
        return [(rater, {"hotel": name}) for name in hotels[:most]]
    rates = [result for result in request.results if "rate" in result]
    if not rates:
        return f"I found no rates in {town}."
    wanted = "stars" if "Prefer stars." in request.system else "rate"
    best = min(rates, key=lambda row: real(row.get(wanted)) * (-1 if wanted == "stars" else 1))
    phone = f" Call {best['phone']}." if "phone" in best and "Give the phone." in request.system else ""
    extra = " I would book soon." if request.model == "m2" else ""
    return f"Take {best.get('hotel')} for {best.get('rate')}.{phone}{extra}"


def _guard(runtime: Runtime, name: str, arguments: JSONObject, call_id: str) -> JSONValue:
    """Call a tool once more if it fails, and show of its result what the code allows."""
    settings = runtime.settings
    result = fields(runtime.tool(name, arguments, call_id))
    if "error" in result and settings["code.get_rate.fallback"] != "none":
        result = fields(
            runtime.tool(name, {key: str(settings["code.get_rate.fallback"]) for key in arguments}, call_id)
        )
    hotels = items(result.get("hotels"))
    if hotels:
        if settings["code.assistant.sort"] == "name":
            hotels.sort(key=lambda row: str(row.get("name")))
        result = {**result, "hotels": [*hotels[: int(real(settings["code.assistant.cap"], 3))]]}
    rate = real(result.get("rate"), -1)
    if rate >= 0:
        result = {**result, "rate": round(rate * real(settings["code.assistant.tax"], 1))}
    return {key: value for key, value in result.items() if key not in str(settings["code.assistant.hides"]).split()}


def _travel(runtime: Runtime) -> str:
    settings = runtime.settings
    talk: list[JSONValue] = [user_message(user(settings))]
    for _ in range(int(real(settings["code.assistant.turns"], 4))):
        message = runtime.model("assistant", [system_message(runtime, "assistant"), *talk], list(_TOOLS))
        talk.append(message)
        calls = items(message.get("tool_calls"))
        if not calls:
            break
        for call in calls:
            shown = _guard(runtime, str(call["name"]), fields(call["arguments"]), str(call["id"]))
            talk.append({"role": "tool", "content": json.dumps(shown), "tool_call_id": call["id"]})
    answer = text_of(talk[-1]) if fields(talk[-1]).get("role") == "assistant" else "I ran out of time."
    price = number(r"for (\d+)", answer)
    if price > int(real(settings["code.desk.warn"], 999)):
        answer = f"{answer} That is above your limit."
    return f"{answer} {settings['code.desk.signature']}".strip()


_TRAVEL: Final = Program(
    name="guarded tools",
    group="results that code guards",
    program=_travel,
    final="assistant",
    model=model_of({"assistant": _assistant}),
    menu=(),
    settings={
        **prompts(
            assistant=("You are the assistant. Recommend a hotel.", "Compare 2 hotels.", "", "Give the phone.", "")
        ),
        "user.0": "Find me a hotel in Bern.",
        "user.1": "",
        "code.get_rate.fallback": "none",
        "code.assistant.sort": "as found",
        "code.assistant.cap": 3,
        "code.assistant.tax": 1,
        "code.assistant.hides": "margin",
        "code.assistant.turns": 4,
        "code.desk.warn": 200,
        "code.desk.signature": "",
        **rows(
            "find_hotels",
            Bern={"hotels": [{"name": "Kreuz"}, {"name": "Savoy"}, {"name": "Allegro"}], "pages": 1},
            Biel={"hotels": [{"name": "Elite"}], "pages": 1},
        ),
        **rows(
            "get_rate",
            Kreuz={"hotel": "Kreuz", "rate": 160, "stars": 3, "phone": "031-44", "margin": 12, "seen": "noon"},
            Savoy={"hotel": "Savoy", "rate": 190, "stars": 4, "phone": "031-55", "margin": 15, "seen": "noon"},
            Allegro={"hotel": "Allegro", "rate": 150, "stars": 4, "phone": "031-66", "margin": 9, "seen": "noon"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Find me a hotel in Biel.", "I look for a hotel in Bern."),
        edit("upstream", "user.1", "My train comes at six.", decoy=True),
        edit("prompt", "prompt.assistant.1", "Compare 3 hotels.", "Compare 1 hotels."),
        edit("prompt", "prompt.assistant.2", "Prefer stars."),
        edit("prompt", "prompt.assistant.3", "Give no phone."),
        wording("assistant", 4),
        edit("model", "model.assistant.name", "m2"),
        edit("upstream", "code.get_rate.fallback", "Kreuz", decoy=True),
        edit("upstream", "code.assistant.sort", "name"),
        edit("upstream", "code.assistant.cap", 1, decoy=True),
        edit("upstream", "code.assistant.tax", 1.1, 1.3),
        edit("upstream", "code.assistant.hides", "margin phone"),
        edit("upstream", "code.assistant.turns", 2),
        edit("upstream", "code.desk.warn", 100, 150),
        edit("upstream", "code.desk.signature", "The desk"),
        edit("tool", "row.find_hotels.Bern.hotels", [{"name": "Savoy"}, {"name": "Allegro"}]),
        edit("tool", "row.get_rate.Kreuz.rate", 175, 240),
        edit("tool", "row.get_rate.Savoy.stars", 5, decoy=True),
        edit("tool", "row.get_rate.Kreuz.phone", "031-99"),
        edit("tool", "row.get_rate.Kreuz.seen", "nine", decoy=True),
        edit("tool", "row.get_rate.Savoy.seen", "ten", decoy=True),
        *sampling("assistant"),
    ),
)

TEAMS: Final[tuple[Program, ...]] = (_REVIEW, _TRAVEL)
