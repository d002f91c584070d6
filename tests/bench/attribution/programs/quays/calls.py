"""A call that is read in overlapping windows, and a help line whose sub-agents hand over to each other."""

from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- call stream: windows of a call, tasks merged by code, a summary for each two windows, one of the summaries


def _extractor(request: Request) -> str:
    tasks = []
    for line in request.last.splitlines():
        owner, task, day = (
            find(r"^(\w+):", line),
            find(r"I (?:will|might) (\w+)", line),
            number(r"on day (\d+)", line, 9),
        )
        might = "might" in line and not request.rule(r"Count (maybes)\.") and request.model != "m2"
        if task and not might:
            tasks.append(f"{task} / {owner} / {day}")
    return "TASKS\n" + "\n".join(tasks) if tasks else "no tasks"


def _condenser(request: Request) -> str:
    lines = [line for line in request.last.splitlines() if line.count("/") == 2]
    most = int(request.rule(r"Take (\d) tasks\.", "3"))
    return "SUM " + ", ".join(" ".join(part.strip() for part in line.split("/")[:2]) for line in lines[:most])


def _chair(request: Request) -> str:
    parts = [
        part for line in request.last.splitlines() for part in find(r"SUM (.+?)(?:\.|$)", line).split(", ") if part
    ]
    first = find(r"^First day: (\d+)", request.last, "0")
    soon = f" Start on day {first}." if int(first) < int(request.rule(r"Hurry before day (\d)\.", "1")) else ""
    title = request.rule(r"Title it (\w+)", "Tasks")
    return f"{title}: {'; '.join(parts)}.{soon}"


def _stream(runtime: Runtime) -> str:
    settings = runtime.settings
    call = fields(runtime.tool("get_call", {"call": find(r"call (\w+)", user(settings), "K1")}))
    lines = str(call.get("lines", "")).split(" | ")
    size = max(2, int(real(settings["code.extractor.window"])))
    step = max(1, size - int(real(settings["code.extractor.overlap"])))
    merged: dict[str, str] = {}
    for start in range(0, len(lines), step):
        answer = say(runtime, "extractor", "\n".join(lines[start : start + size]))
        for line in answer.splitlines():
            if line.count(" / ") == 2:
                task = line.split(" / ")[0]
                if settings["code.condenser.wins"] == "last" or task not in merged:
                    merged[task] = line
    tasks = list(merged.values())
    if settings["code.condenser.order"] == "day":
        tasks.sort(key=lambda line: number(r"/ (\d+)", line, 99))
    days = [number(r"/ (\d+)", line, 99) for line in tasks]
    group = int(real(settings["code.condenser.group"]))
    sums = [say(runtime, "condenser", "\n".join(tasks[at : at + group])) for at in range(0, len(tasks), group)]
    return say(runtime, "chair", "\n".join([*sums, f"First day: {min(days, default=0)}"]))


_CALL: Final = (
    "Ann: I will call Bob on day 6 | Ben: fine | Cem: I will print flyers on day 2 | "
    "Ann: I might paint signs on day 3 | Ben: I will print posters on day 5 | Cem: bye"
)
_STREAM: Final = Program(
    name="call stream",
    group="call stream",
    program=_stream,
    final="chair",
    model=model_of({"extractor": _extractor, "condenser": _condenser, "chair": _chair}),
    menu=(),
    settings={
        **prompts(
            extractor=("You are the extractor. List tasks.", "", "", ""),
            condenser=("You are the condenser. Sum up.", "Take 3 tasks.", "", ""),
            chair=("You are the chair. Report.", "Hurry before day 6.", "", "", ""),
        ),
        "user.0": "Report on the call K1.",
        "user.1": "",
        "code.extractor.window": 3,
        "code.extractor.overlap": 1,
        "code.condenser.wins": "last",
        "code.condenser.order": "call",
        "code.condenser.group": 2,
        **rows(
            "get_call",
            K1={"lines": _CALL, "minutes": 12},
            K2={"lines": "Dan: I will bake bread on day 6 | Eva: I will sweep floors on day 1", "minutes": 3},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Report on the call K2."),
        edit("upstream", "user.1", "Thanks a lot.", decoy=True),
        edit("prompt", "prompt.extractor.1", "Count maybes."),
        wording("extractor", 2),
        edit("prompt", "prompt.condenser.1", "Take 1 tasks."),
        wording("condenser", 2),
        edit("prompt", "prompt.chair.1", ""),
        edit("prompt", "prompt.chair.2", "Title it Actions"),
        wording("chair", 3),
        edit("model", "model.extractor.name", "m2"),
        edit("upstream", "code.extractor.overlap", 0, decoy=True),
        edit("upstream", "code.extractor.window", 2, 6, decoy=True),
        edit("upstream", "code.condenser.wins", "first"),
        edit("upstream", "code.condenser.order", "day"),
        edit("upstream", "code.condenser.group", 1, 3, decoy=True),
        edit("tool", "row.get_call.K1.lines", _CALL.replace("call Bob", "mail Bob"), _CALL.replace("day 5", "day 1")),
        edit("tool", "row.get_call.K1.minutes", 14, decoy=True),
        edit("model", "model.chair.max_tokens", 300, decoy=True),
        *sampling("extractor", "condenser"),
    ),
)
_STREAM_REWORDED: Final = replace(_STREAM, name="call stream, reworded", group="call stream, reworded", rewords=True)

# ---- help line: a front desk and specialists as sub-agents that hand over, a guard whose blocks code sends back


def _front(request: Request) -> str:
    if "invoice" in request.last or "invoice" in request.rule(r"Treat \w+ as (invoice)\."):
        return "HANDOVER billing"
    words = request.rule(r"Technical are ([\w, ]+)\.").split(", ")
    return "HANDOVER technical" if any(word and word in request.last for word in words) else "HANDOVER sales"


def _billing(request: Request) -> str:
    due = number(r"due (\d+)", request.last)
    if "router" in request.last and request.model == "m2":
        return "HANDOVER technical"
    share = int(request.rule(r"Waive (\d+) percent\.", "0"))
    return f"You owe {due - due * share // 100} euros."


def _technical(request: Request) -> str:
    age = number(r"age (\d+)", request.last)
    if age > int(request.rule(r"Replace above (\d) years\.", "5")):
        return "HANDOVER sales"
    device = find(r"device (\w+)", request.last, "box")
    return f"Restart the {device}."


def _sales(request: Request) -> str:
    offer = find(r"offer (\w+)", request.last, "nothing")
    return f"We guarantee that {offer} is best." if "Guarantee it." in request.system else f"We recommend {offer}."


def _guard(request: Request) -> str:
    banned = request.rule(r"Block ([\w, ]+)\.").split(", ")
    word = next((word for word in banned if word and word in request.last), "")
    return f"BLOCK {word}" if word else "PASS"


def _mender(request: Request) -> str:
    draft, word = find(r"^Draft: (.+)", request.last), find(r"^Fault: (\w+)", request.last, "-")
    return draft.replace(word, request.rule(r"Use (\w+) instead\.", "think"))


def _line(runtime: Runtime) -> str:
    settings = runtime.settings
    question = user(settings)
    account = fields(runtime.tool("get_account", {"id": find(r"\b(A\d)\b", question, "A1")}))
    facts = {
        "billing": f"due {account.get('due')}",
        "technical": f"device {account.get('device')}, age {account.get('age')}",
        "sales": f"offer {account.get('offer')}",
    }
    reply = say(runtime, "front", question)
    for _ in range(int(real(settings["code.billing+technical+sales.hops"]))):
        desk = find(r"HANDOVER (\w+)", reply)
        if desk not in facts:
            break
        parts = [f"Customer: {question}"] if settings["code.billing+technical+sales.question"] == "shown" else []
        task = "\n".join([*parts, f"Facts: {facts[desk]}"])
        reply = runtime.agent(desk, question, lambda desk=desk, task=task: say(runtime, desk, task))  # type: ignore[misc]
    if "HANDOVER" in reply:
        return str(settings["code.guard.excuse"])
    for _ in range(int(real(settings["code.mender.repairs"]))):
        verdict = say(runtime, "guard", f"Draft: {reply}")
        if "BLOCK" not in verdict:
            break
        fault = find(r"BLOCK (\w+)", verdict, "-")
        reply = say(runtime, "mender", f"Draft: {reply}\nFault: {fault}")
    return reply


_HELP: Final = Program(
    name="help line",
    group="help line",
    program=_line,
    final="mender",
    model=model_of(
        {
            "front": _front,
            "billing": _billing,
            "technical": _technical,
            "sales": _sales,
            "guard": _guard,
            "mender": _mender,
        }
    ),
    menu=(),
    settings={
        **prompts(
            front=("You are the front.", "Technical are router, slow.", "", "", ""),
            billing=("You are the billing.", "", "", ""),
            technical=("You are the technical.", "Replace above 3 years.", "", ""),
            sales=("You are the sales.", "Guarantee it.", "", ""),
            guard=("You are the guard.", "Block guarantee, promise.", "", ""),
            mender=("You are the mender.", "", "", ""),
        ),
        "user.0": "I am A1 and my router is slow.",
        "user.1": "",
        "code.billing+technical+sales.hops": 3,
        "code.billing+technical+sales.question": "shown",
        "code.guard.excuse": "We will call you back.",
        "code.mender.repairs": 2,
        **rows(
            "get_account",
            A1={"due": 40, "device": "router", "age": 6, "offer": "Fibre", "since": 2019},
            A2={"due": 75, "device": "modem", "age": 1, "offer": "Cable", "since": 2024},
        ),
    },
    edits=(
        edit("upstream", "user.0", "I am A2 and my router is slow.", "I am A1 and my invoice is wrong."),
        edit("upstream", "user.1", "Good morning.", decoy=True),
        edit("prompt", "prompt.front.1", "Technical are modem.", decoy=True),
        edit("prompt", "prompt.front.2", "Treat all as invoice."),
        wording("front", 3),
        edit("prompt", "prompt.technical.1", "Replace above 8 years."),
        wording("technical", 2),
        edit("prompt", "prompt.sales.1", ""),
        wording("sales", 2),
        edit("prompt", "prompt.guard.1", "Block promise."),
        wording("guard", 2),
        edit("prompt", "prompt.mender.1", "Use expect instead."),
        edit("upstream", "code.billing+technical+sales.hops", 1),
        edit("upstream", "code.billing+technical+sales.question", "hidden", decoy=True),
        edit("upstream", "code.mender.repairs", 0),
        edit("upstream", "code.guard.excuse", "Please wait.", decoy=True),
        edit("tool", "row.get_account.A1.age", 2),
        edit("tool", "row.get_account.A1.offer", "Satellite"),
        edit("tool", "row.get_account.A1.due", 55, decoy=True),
        edit("tool", "row.get_account.A1.since", 2018, decoy=True),
        edit("model", "model.billing.name", "m2", decoy=True),
        *sampling("front", "sales", "mender"),
    ),
)
_HELP_AT_RANDOM: Final = replace(
    _HELP,
    name="help line, at random",
    group="help line, at random",
    chance=Chance(rate=0.1, alternatives=(("PASS", "BLOCK best"), ("BLOCK guarantee", "PASS"))),
)

CALLS: Final[tuple[Program, ...]] = (_STREAM, _STREAM_REWORDED, _HELP, _HELP_AT_RANDOM)
