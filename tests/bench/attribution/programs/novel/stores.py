"""A store of facts over the turns of a user, and a queue of tickets sorted by urgency."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
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

# ---- diary: facts of each turn go into a store, code recalls some of them for the last question

_FACTS: Final = {
    "medicine": r"\btake (\w+)",
    "dose": r"(\d+) mg",
    "allergy": r"allergic to (\w+)",
    "pain": r"(?:pain|ache) in my (\w+)",
    "hours": r"slept (\d+) hours",
}


def _save(request: Request) -> str:
    skipped = request.rule(r"Never save the (\w+)\.")
    facts = {name: find(pattern, request.last) for name, pattern in _FACTS.items() if name != skipped}
    if request.model == "m2":
        facts.pop("hours")
    lines = [f"SAVE {name}={value}" for name, value in facts.items() if value]
    if "no longer" in request.last and "Delete what is over." in request.system:
        lines = [f"DELETE {line.split()[1].partition('=')[0]}" for line in lines]
    return "; ".join(lines) or "SAVE nothing"


def _answer_patient(request: Request) -> str:
    known = dict(re.findall(r"(\w+)=(\w+)", request.last))
    most = number(r"most (\d+) mg", request.last, 0)
    clash = find(r"clashes with (\w+)", request.last)
    hello = "Take care. " if "Close kindly." in request.system else ""
    if "sleep" in request.last.partition("Known:")[0]:
        need = int(request.rule(r"Sleep (\d) hours\.", "7"))
        hours = known.get("hours")
        if hours is None:
            return f"I do not know how you sleep. {hello}".strip()
        return f"{'Sleep more' if int(hours) < need else 'You sleep enough'}: {hours} hours. {hello}".strip()
    if clash and clash == known.get("allergy"):
        return f"Stop taking {known.get('medicine')} and call us. {hello}".strip()
    dose = int(known.get("dose", "0"))
    if most and dose > most:
        return f"{dose} mg of {known.get('medicine')} is too much: at most {most} mg. {hello}".strip()
    return f"You may go on with {known.get('medicine', 'what you take')}. {hello}".strip()


def _diary(runtime: Runtime) -> str:
    settings = runtime.settings
    store: dict[str, str] = {}
    for text in (user(settings), str(settings["turn.1"]), str(settings["turn.2"])):
        answer = say(runtime, "keeper", text)
        for name, value in re.findall(r"SAVE (\w+)=(\w+)", answer):
            if settings["code.doctor.doubles"] == "newest" or name not in store:
                store[name] = value
        for name in re.findall(r"DELETE (\w+)", answer):
            store.pop(name, None)
    question = str(settings["turn.3"])
    notes = ""
    if medicine := store.get("medicine"):
        row = fields(runtime.tool("get_medicine", {"name": medicine}))
        notes = f"\nLeaflet: at most {row.get('most')} mg, clashes with {row.get('clash')}."
    recalled = list(store.items())[-number(r"(\d)", str(settings["code.doctor.recalled"])) :]
    known = " ".join(f"{name}={value}" for name, value in recalled)
    return say(runtime, "doctor", f"{question}\nKnown: {known}{notes}")


_DIARY: Final = Program(
    name="patient diary",
    group="store over turns",
    rewords=True,
    program=_diary,
    final="doctor",
    model=model_of({"keeper": _save, "doctor": _answer_patient}),
    menu=(),
    settings={
        **prompts(
            keeper=("You are the keeper. Save the facts.", "Delete what is over.", "", ""),
            doctor=("You are the doctor. Answer the question.", "Sleep 7 hours.", "", ""),
        ),
        "user.0": "I take Ibupal, 400 mg a day.",
        "user.1": "",
        "turn.1": "I am allergic to nuts.",
        "turn.2": "I slept 6 hours and have an ache in my knee.",
        "turn.3": "Can I go on with my tablets?",
        "code.doctor.doubles": "newest",
        "code.doctor.recalled": 5,
        **rows(
            "get_medicine",
            Ibupal={"most": 600, "clash": "aspirin", "colour": "white"},
            Dormex={"most": 20, "clash": "milk", "colour": "blue"},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "I take Ibupal, 800 mg a day.",
            "I take Dormex, 10 mg a day.",
            "I usually take Ibupal, 400 mg a day.",
        ),
        edit("upstream", "user.1", "It is sunny today.", "I live in Aarau.", decoy=True),
        edit("upstream", "turn.1", "I am allergic to aspirin.", "I am allergic to pollen."),
        edit("upstream", "turn.2", "I slept 8 hours and have an ache in my knee.", "I now take 900 mg.", "Fine."),
        edit("upstream", "turn.3", "Do I sleep enough?", "May I go on with my tablets?"),
        edit("prompt", "prompt.keeper.1", "Delete what is done.", decoy=True),
        edit("prompt", "prompt.keeper.2", "Never save the medicine.", "Never save the allergy."),
        wording("keeper", 3),
        edit("model", "model.keeper.name", "m2", decoy=True),
        edit("prompt", "prompt.doctor.1", "Sleep 5 hours.", "Sleep 8 hours.", decoy=True),
        edit("prompt", "prompt.doctor.2", "Close kindly.", "Close firmly."),
        wording("doctor", 3),
        edit("upstream", "code.doctor.doubles", "oldest", decoy=True),
        edit("upstream", "code.doctor.recalled", 2, 4),
        edit("tool", "row.get_medicine.Ibupal.most", 300, 500),
        edit("tool", "row.get_medicine.Ibupal.clash", "nuts", "wine"),
        edit("tool", "row.get_medicine.Ibupal.colour", "red", decoy=True),
        *sampling("keeper", "doctor"),
    ),
)

# ---- tickets: each gets an urgency, code sorts them, the first ones are solved with a tool, a lead sums up


def _urgency(request: Request) -> str:
    text = request.last.lower()
    level = 1
    for word, value in re.findall(r"Rate (\w+) as (\d)\.", request.system):
        if word in text:
            level = max(level, int(value))
    if request.model == "m2" and "!" in text:
        level += 1
    return f"Urgency: {level}"


def _solve(request: Request) -> str | ToolCall:
    topics = ("printer", "password", "network", "screen")
    topic = next((word for word in topics if word in request.last.lower()), "other")
    name = request.tool("article")
    if name and not request.called and topic != "other":
        return name, {"topic": topic}
    article = request.latest_result
    if not article.get("fix"):
        return "escalate"
    minutes = f" ({article.get('minutes')} min)" if "Add the minutes." in request.system else ""
    return f"{article['fix']}{minutes}"


def _lead(request: Request) -> str:
    lines = re.findall(r"^(T\d+): (.+)$", request.last, re.MULTILINE)
    waiting = number(r"^Waiting: (\d+)", request.last)
    if not lines:
        return "Nothing to do."
    escalated = [name for name, text in lines if "escalate" in text]
    first = f"First {lines[0][0]}: {lines[0][1]}."
    rest = f" {waiting} wait." if "State who waits." in request.system else ""
    expert = request.rule(r"Escalations go to (\w+)\.", "nobody")
    call = f" Call {expert} for {' and '.join(escalated)}." if escalated else ""
    return f"{first}{call}{rest}"


def _queue(runtime: Runtime) -> str:
    settings = runtime.settings
    name = find(r"\bqueue (\w+)", user(settings), "north")
    tickets = items(fields(runtime.tool("list_tickets", {"queue": name})).get("tickets"))
    rated = [
        (number(r"Urgency: (\d)", say(runtime, "triage", f"{ticket.get('text')}")), real(ticket.get("age")), ticket)
        for ticket in tickets
    ]
    if settings["code.solver.order"] == "by urgency":
        rated.sort(key=lambda entry: (-entry[0], -entry[1]))
    else:
        rated.sort(key=lambda entry: -entry[1])
    most = number(r"(\d)", str(settings["code.solver.most"]))
    tools: list[JSONValue] = [tool("get_article", str(settings["tool.article"]), "topic")]
    lines = []
    for _, _, ticket in rated[:most]:
        talk: list[JSONValue] = [user_message(f"Ticket: {ticket.get('text')}")]
        lines.append(f"{ticket.get('id')}: {text_of(converse(runtime, 'solver', talk, tools)[-1])}")
    return say(runtime, "lead", f"{user(settings)}\n" + "\n".join(lines) + f"\nWaiting: {len(rated[most:])}")


def _tickets(*entries: tuple[str, str, int]) -> JSONValue:
    return [{"id": id, "text": text, "age": age} for id, text, age in entries]


_NORTH: Final = (
    ("T11", "The printer on floor 2 jams.", 5),
    ("T12", "I forgot my password!", 2),
    ("T13", "The network is down in the shop.", 1),
    ("T14", "My chair squeaks.", 9),
)
_QUEUE: Final = Program(
    name="ticket queue",
    group="queue by urgency",
    program=_queue,
    final="lead",
    model=model_of({"triage": _urgency, "solver": _solve, "lead": _lead}),
    menu=(),
    settings={
        **prompts(
            triage=("You are the triage.", "Rate network as 5.", "Rate password as 3.", "", ""),
            solver=("You are the solver. Use the articles.", "Add the minutes.", ""),
            lead=("You are the lead. Sum up.", "Escalations go to Mira.", "", ""),
        ),
        "user.0": "Start with the queue north.",
        "user.1": "",
        "tool.article": "Finds an article by topic.",
        "code.solver.order": "by urgency",
        "code.solver.most": 3,
        "row.list_tickets.north.tickets": _tickets(*_NORTH),
        "row.list_tickets.north.site": "Oslo",
        "row.list_tickets.south.tickets": _tickets(("T21", "A screen flickers.", 3), ("T22", "Lost password.", 4)),
        **rows(
            "get_article",
            printer={"fix": "clear tray 2", "minutes": 10, "author": "Pia"},
            password={"fix": "send a link", "minutes": 3, "author": "Ole"},
            network={"fix": "restart the switch", "minutes": 15, "author": "Pia"},
            screen={"fix": "swap the cable", "minutes": 5, "author": "Ole"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Start with the queue south.", "Begin with the queue north."),
        edit("upstream", "user.1", "I am late today.", "Coffee is ready.", decoy=True),
        edit("prompt", "prompt.triage.1", "Rate network as 2.", "Rate network as 4."),
        edit("prompt", "prompt.triage.2", "Rate password as 6.", "Rate printer as 8.", "Rate password as 2."),
        edit("prompt", "prompt.triage.3", "Rate chair as 9.", "Rate tables as 9."),
        wording("triage", 4),
        edit("model", "model.triage.name", "m2", decoy=True),
        edit("prompt", "prompt.solver.1", "", "Add all minutes."),
        wording("solver", 2),
        edit("model", "model.solver.name", "m2", decoy=True),
        edit("prompt", "prompt.lead.1", "Escalations go to Jan."),
        edit("prompt", "prompt.lead.2", "State who waits.", "State the date."),
        wording("lead", 3),
        edit("tool", "tool.article", "Finds a web page by topic.", "Finds one article by topic."),
        edit("upstream", "code.solver.order", "by age"),
        edit("upstream", "code.solver.most", 1, 2, 4),
        edit(
            "tool",
            "row.list_tickets.north.tickets",
            _tickets(*_NORTH[:2], _NORTH[3]),
            _tickets(*_NORTH, ("T15", "The network is slow.", 6)),
            _tickets(_NORTH[0], ("T12", "I forgot my password again!", 2), *_NORTH[2:]),
        ),
        edit("tool", "row.list_tickets.north.site", "Bergen", decoy=True),
        edit("tool", "row.get_article.network.fix", "call the provider"),
        edit("tool", "row.get_article.network.minutes", 25),
        edit("tool", "row.get_article.network.author", "Siv", decoy=True),
        *sampling("triage", "solver", "lead"),
    ),
)

STORES: Final[tuple[Program, ...]] = (_DIARY, _QUEUE)
