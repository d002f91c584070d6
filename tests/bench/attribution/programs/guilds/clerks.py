"""Plans that are made again when a step is blocked, forms with validators, and a router with a cache."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject

# ---- house move: a plan, code carries it out, a blocked step leads to another plan, a report with the costs


def _plan(request: Request) -> str:
    text = request.last.lower()
    blocked = re.findall(r"^blocked: (\w+)$", text, re.MULTILINE)
    carrier = request.rule(r"Move with a (\w+)\.", "van")
    steps = [carrier, "boxes", "cleaner"]
    if "piano" in text:
        steps.insert(1, "piano")
    if "no cleaning" in text:
        steps.remove("cleaner")
    spare = request.rule(r"If something is blocked, take a (\w+)\.", "trailer")
    steps = [spare if step in blocked else step for step in steps]
    if request.model == "m2":
        steps = [step for step in steps if step != "boxes"]
    return "\n".join(f"{place}. {step}" for place, step in enumerate(steps, 1))


def _report(request: Request) -> str:
    done = re.findall(r"^done: (\w+) (\d+)$", request.last, re.MULTILINE)
    open_steps = re.findall(r"^open: (\w+)$", request.last, re.MULTILINE)
    total = number(r"^total: (\d+)$", request.last)
    plans = number(r"^plans: (\d+)$", request.last)
    unit = request.rule(r"Count in (\w+)\.", "euros")
    names = " and ".join(name for name, _ in done) or "nothing"
    late = f" Still open: {', '.join(open_steps)}." if open_steps else ""
    effort = f" We planned {plans} times." if "Count the plans." in request.system else ""
    return f"We booked {names} for {total} {unit}.{late}{effort}"


def _move(runtime: Runtime) -> str:
    settings = runtime.settings
    done: dict[str, int] = {}
    blocked: list[str] = []
    plans = 0
    steps: list[str] = []
    while plans < int(real(settings["code.planner+reporter.plans"], 3)):
        plans += 1
        notes = [*(f"done: {name}" for name in done), *(f"blocked: {name}" for name in blocked)]
        steps = re.findall(r"^\d+\. (\w+)$", say(runtime, "planner", "\n".join([user(settings), *notes])), re.MULTILINE)
        for step in steps:
            if step in done or step in blocked:
                continue
            result = fields(runtime.tool("book", {"service": step}))
            if result.get("state") != "booked":
                blocked.append(step)
                break
            done[step] = int(real(result.get("price")))
        else:
            break
    rate = real(settings["code.reporter.tax"])
    lines = [f"done: {name} {price}" for name, price in done.items()]
    open_steps = [f"open: {step}" for step in steps if step not in done]
    total = round(sum(done.values()) * (1 + rate / 100))
    return say(runtime, "reporter", "\n".join([*lines, *open_steps, f"total: {total}", f"plans: {plans}"]))


_MOVE: Final = Program(
    name="house move",
    group="plans made again",
    program=_move,
    final="reporter",
    model=model_of({"planner": _plan, "reporter": _report}),
    menu=(),
    settings={
        **prompts(
            planner=(
                "You are the planner. Plan the move.",
                "Move with a van.",
                "If something is blocked, take a trailer.",
                "",
                "",
            ),
            reporter=("You are the reporter. Sum up.", "Count in euros.", "Count the plans.", ""),
        ),
        "user.0": "We move in May.",
        "user.1": "",
        "user.2": "",
        "code.planner+reporter.plans": 3,
        "code.reporter.tax": 20,
        **rows(
            "book",
            van={"state": "full", "price": 90, "desk": "A"},
            truck={"state": "booked", "price": 200, "desk": "A"},
            trailer={"state": "booked", "price": 60, "desk": "B"},
            cart={"state": "full", "price": 15, "desk": "B"},
            boxes={"state": "booked", "price": 25, "desk": "C"},
            piano={"state": "booked", "price": 150, "desk": "C"},
            cleaner={"state": "booked", "price": 80, "desk": "D"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "We move in June.", "We relocate in May.", decoy=True),
        edit("upstream", "user.1", "There is a piano.", "We need no cleaning."),
        edit("upstream", "user.2", "Greetings.", "The dog comes along.", decoy=True),
        edit("prompt", "prompt.planner.1", "Move with a truck.", "Move with a cart."),
        edit("prompt", "prompt.planner.2", "If something is blocked, take a truck."),
        edit("prompt", "prompt.planner.3", "Plan with care.", decoy=True),
        wording("planner", 4),
        edit("model", "model.planner.name", "m2"),
        edit("prompt", "prompt.reporter.1", "Count in francs."),
        edit("prompt", "prompt.reporter.2", "Hide the plans."),
        wording("reporter", 3),
        edit("model", "model.reporter.name", "m2", decoy=True),
        edit("upstream", "code.planner+reporter.plans", 1),
        edit("upstream", "code.reporter.tax", 0, 10),
        edit("tool", "row.book.van.state", "booked"),
        edit("tool", "row.book.van.price", 95, decoy=True),
        edit("tool", "row.book.trailer.price", 70, 45),
        edit("tool", "row.book.boxes.price", 35),
        edit("tool", "row.book.cleaner.state", "ill"),
        edit("tool", "row.book.cleaner.desk", "E", decoy=True),
        *sampling("planner", "reporter"),
    ),
)

# ---- visa form: fields read as lines, validators in code, the applicant answers what they ask, a registrar

_FIELDS: Final = ("name", "passport", "arrival", "nights")


def _fill(request: Request) -> str:
    text = request.spoken
    found = {
        "name": find(r"I am (\w+ \w+)", text),
        "passport": find(r"passport (\w+)", text).upper(),
        "arrival": find(r"on (\d+/\d+)", text),
        "nights": find(r"(\d+) nights", text, request.rule(r"Without nights, write (\d+)\.")),
    }
    for name, value in re.findall(r"The (\w+) is (\S+)\.", text):
        found[name] = value
    if request.model == "m2":
        found["name"] = found["name"].split(" ")[-1]
    if "Write names in capitals." in request.system:
        found["name"] = found["name"].upper()
    return "\n".join(f"{name}: {found[name] or '?'}" for name in _FIELDS)


def _register(request: Request) -> str:
    form = dict(re.findall(r"^(\w+): (.+)$", request.last, re.MULTILINE))
    if "problems" in form:
        title = request.rule(r"Call it a (\w+)", "form").title()
        return f"{title} refused: {form['problems']}."
    fee = f" The fee is {form.get('fee')} crowns." if "State the fee." in request.system else ""
    end = request.rule(r"End with ([A-Z]\w+)\.", "Welcome")
    return (
        f"{form.get('name')} ({form.get('passport')}) may stay from {form.get('from')} to {form.get('to')}.{fee} {end}."
    )


def _problems(form: JSONObject, most: float) -> list[str]:
    found = []
    if not re.fullmatch(r"[A-Z]{2}\d{4}", str(form.get("passport"))):
        found.append("passport")
    if not re.fullmatch(r"\d+/\d+", str(form.get("arrival"))):
        found.append("arrival")
    if not 0 < real(form.get("nights")) <= most:
        found.append("nights")
    return found


def _visa(runtime: Runtime) -> str:
    settings = runtime.settings
    messages = [user(settings)]
    form: JSONObject = {}
    problems: list[str] = []
    rules = fields(runtime.tool("get_rules", {"country": find(r"enter (\w+)", user(settings), "Norland")}))
    for turn in range(int(real(settings["code.filler+registrar.rounds"], 2))):
        if turn:
            messages += [f"Please check: {', '.join(problems)}", str(settings["turn.1"])]
        form = dict(re.findall(r"^(\w+): (.+)$", say(runtime, "filler", *messages), re.MULTILINE))
        problems = _problems(form, real(rules.get("most"), 30))
        if not problems:
            break
    if problems:
        return say(runtime, "registrar", f"name: {form.get('name')}\nproblems: {', '.join(problems)}")
    day, month = (int(part) for part in str(form["arrival"]).split("/"))
    if settings["code.registrar.dates"] == "month first":
        day, month = month, day
    nights = int(real(form["nights"]))
    leave = day + nights + (1 if settings["code.registrar.dates"] == "last day free" else 0)
    fee = real(rules.get("fee")) * nights
    stay = [f"from: {month:02d}-{day:02d}", f"to: {month:02d}-{leave:02d}", f"fee: {fee:.0f}"]
    return say(runtime, "registrar", "\n".join([*(f"{name}: {form[name]}" for name in ("name", "passport")), *stay]))


_VISA: Final = Program(
    name="visa form",
    group="fields validated",
    program=_visa,
    final="registrar",
    model=model_of({"filler": _fill, "registrar": _register}),
    menu=(),
    settings={
        **prompts(
            filler=("You are the filler. Fill in the form.", "Without nights, write 3.", "", "", ""),
            registrar=("You are the registrar. Decide.", "State the fee.", "End with Welcome.", "Call it a form", ""),
        ),
        "user.0": "I am Nora Lind and want to enter Norland on 4/6.",
        "user.1": "My passport ab12 is new.",
        "user.2": "",
        "turn.1": "The passport is AB1234.",
        "code.filler+registrar.rounds": 2,
        "code.registrar.dates": "day first",
        **rows(
            "get_rules",
            Norland={"most": 30, "fee": 12, "office": "Port 1"},
            Sudland={"most": 2, "fee": 20, "office": "Port 2"},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "I am Nora Lind and want to enter Norland on 8/6.",
            "I am Nora Lind and want to enter Sudland on 4/6.",
            "I am Nora Lind and hope to enter Norland on 4/6.",
        ),
        edit("upstream", "user.1", "My passport CD5678 is new.", "My passport ab12 is here."),
        edit("upstream", "user.2", "I stay 5 nights.", "I look forward to it."),
        edit("upstream", "turn.1", "The passport is ab99.", "Sorry! The passport is AB1234."),
        edit("prompt", "prompt.filler.1", "Without nights, write 7.", "Without nights, write 40."),
        edit("prompt", "prompt.filler.2", "Write names in capitals.", "Write dates as they are."),
        wording("filler", 3),
        edit("model", "model.filler.name", "m2"),
        edit("prompt", "prompt.registrar.1", "Keep the fee to yourself."),
        edit("prompt", "prompt.registrar.2", "End with Goodbye."),
        edit("prompt", "prompt.registrar.3", "Call it a request", decoy=True),
        wording("registrar", 4),
        edit("model", "model.registrar.name", "m2", decoy=True),
        edit("upstream", "code.filler+registrar.rounds", 1),
        edit("upstream", "code.registrar.dates", "month first", "last day free"),
        edit("tool", "row.get_rules.Norland.fee", 15, 9),
        edit("tool", "row.get_rules.Norland.most", 2, 20),
        edit("tool", "row.get_rules.Norland.office", "Port 3", decoy=True),
        *sampling("filler", "registrar"),
    ),
)

# ---- city desk: each question goes to the tool that a router names, code keeps results, a host answers

_TOPICS: Final = ("weather", "museum", "tram")


def _pick(request: Request) -> str:
    text = request.last.lower()
    topic = next((name for name in _TOPICS if name in text), request.rule(r"If unsure, take (\w+)\.", "none"))
    for word, name in re.findall(r"Questions about (\w+) go to (\w+)\.", request.system):
        topic = name if word in text else topic
    place = find(r"in (?:the )?(?:city of )?([A-Z]\w+)", request.last, "here")
    if request.model == "m2":
        place = place.lower()
    return f"{topic} {place}"


def _host(request: Request) -> str:
    facts = re.findall(r"^(\w+) (\w+): (.+)$", request.last, re.MULTILINE)
    most = int(request.rule(r"Give (\d) facts at most\.", "3"))
    said = [f"{topic} in {place} {text}" for topic, place, text in facts[:most]]
    calls = number(r"^Calls: (\d+)$", request.last)
    cost = f" It took {calls} calls." if "Count the calls." in request.system else ""
    greeting = request.rule(r"Say (\w+) first", "Hello")
    return f"{greeting}! {'; '.join(said) or 'I know nothing'}.{cost}"


def _city(runtime: Runtime) -> str:
    settings = runtime.settings
    cache: dict[str, str] = {}
    calls = 0
    lines = []
    for question in re.findall(r"[^.?!]+[.?!]", user(settings)):
        topic, _, place = say(runtime, "router", question.strip()).partition(" ")
        if topic not in _TOPICS:
            continue
        mode = settings["code.host+weather+museum+tram.cache"]
        key = {"exact": f"{topic} {place}", "folded": f"{topic} {place.lower()}", "by topic": topic}.get(str(mode), "")
        if not key or key not in cache:
            result = fields(runtime.tool(topic, {"place": place}))
            cache[key] = str(result.get("text", "is unknown"))[: int(real(settings["code.host.cut"], 99))]
            calls += 1
        lines.append(f"{topic} {place}: {cache[key]}")
    return say(runtime, "host", "\n".join([*lines, f"Calls: {calls}"]))


_CITY: Final = Program(
    name="city desk",
    group="router with a cache",
    program=_city,
    final="host",
    model=model_of({"router": _pick, "host": _host}),
    menu=(),
    settings={
        **prompts(
            router=("You are the router. Name the source.", "Questions about rain go to weather.", "", "", ""),
            host=("You are the host. Answer.", "Give 4 facts at most.", "Count the calls.", "Say Hello first", ""),
        ),
        "user.0": "Is there rain in Oslo?",
        "user.1": "Which museum in Bergen is open?",
        "user.2": "And the weather in Oslo?",
        "user.3": "",
        "code.host+weather+museum+tram.cache": "exact",
        "code.host.cut": 60,
        **rows(
            "weather",
            Oslo={"text": "is wet with 8 degrees all of the day", "station": 4},
            Bergen={"text": "is dry with 12 degrees", "station": 9},
            oslo={"text": "is not known yet", "station": 0},
        ),
        **rows("museum", Bergen={"text": "is open until 6", "floor": 2}, Oslo={"text": "is closed", "floor": 1}),
        **rows("tram", Bergen={"text": "goes every 5 minutes", "line": 1}, Oslo={"text": "does not go", "line": 12}),
    },
    edits=(
        edit("upstream", "user.0", "Is there rain in Bergen?", "Will there be rain in Oslo?", "Is there snow in Oslo?"),
        edit("upstream", "user.1", "Which tram in Bergen is fast?", "What museum in Bergen is open?"),
        edit("upstream", "user.2", "And the museum in Oslo?", "And what of the weather in Oslo?"),
        edit("upstream", "user.3", "Thank you.", "That is all.", decoy=True),
        edit("prompt", "prompt.router.1", "Questions about rain go to tram."),
        edit("prompt", "prompt.router.2", "If unsure, take museum.", decoy=True),
        edit("prompt", "prompt.router.3", "Read each question twice.", decoy=True),
        wording("router", 4),
        edit("model", "model.router.name", "m2"),
        edit("prompt", "prompt.host.1", "Give 1 facts at most.", "Give 2 facts at most."),
        edit("prompt", "prompt.host.2", "Hide the calls."),
        edit("prompt", "prompt.host.3", "Say Welcome first"),
        wording("host", 4),
        edit("upstream", "code.host+weather+museum+tram.cache", "none", "by topic"),
        edit("upstream", "code.host.cut", 20, 6),
        edit("tool", "row.weather.Oslo.text", "is cold with 2 degrees", "is wet with 9 degrees all of the day"),
        edit("tool", "row.weather.Oslo.station", 5, decoy=True),
        edit("tool", "row.museum.Bergen.text", "is open until 8"),
        edit("tool", "row.museum.Bergen.floor", 3, decoy=True),
        *sampling("router", "host"),
    ),
)

CLERKS: Final[tuple[Program, ...]] = (_MOVE, _VISA, _CITY)
