"""Website agents: rounds of a contest, rewritten searches, criticism, two experts in one report, chains of texts."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, user
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- a contest: the code continues with the offer whose letter the judge names


def _choose(request: Request) -> str:
    offers = re.findall(r"([AB])\. (\w+): (\d+) francs, (\d+) days", request.last)
    fast = "Prefer the fast one." in request.system
    best = min(offers, key=lambda offer: (int(offer[3 if fast else 2]), offer[0]), default=("A",))
    return f"Offer {best[0]} is the better one." + (" No doubt." if request.model == "m2" else "")


def _order(request: Request) -> str:
    maker = next(iter(re.findall(r"Winner: (\w+)", request.last)), "nobody")
    pieces = request.rule(r"Order (\d+) pieces\.", "10")
    return f"We order {pieces} pieces from {maker}."


def _contest(runtime: Runtime) -> str:
    offers = runtime.retrieve("load_offers", "offers of makers in francs", 3)
    texts = sorted(re.sub(r"^\[\w+\] \([\d-]+\) ", "", offer) for offer in offers)
    best = texts[0]
    for challenger in texts[1:]:
        answer = say(runtime, "judge", f"{user(runtime.settings)}\nA. {best}\nB. {challenger}")
        best = challenger if "Offer B" in answer else best
    return say(runtime, "orderer", f"Winner: {best.split(':')[0]}")


_CONTEST: Final = Program(
    name="contest",
    group="rounds",
    program=_contest,
    final="orderer",
    model=model_of({"judge": _choose, "orderer": _order}),
    menu=(),
    settings={
        **prompts(judge=("You are the judge.", "", ""), orderer=("You are the orderer.", "Order 20 pieces.", "")),
        "user.0": "Which offer is better?",
        "doc.o1.text": "Abel: 310 francs, 9 days",
        "doc.o1.date": "2025-05-01",
        "doc.o2.text": "Bader: 280 francs, 14 days",
        "doc.o2.date": "2025-05-01",
        "doc.o3.text": "Conz: 335 francs, 3 days",
        "doc.o3.date": "2025-05-01",
    },
    edits=(
        edit("prompt", "prompt.judge.1", "Prefer the fast one."),
        wording("judge", 2),
        edit("prompt", "prompt.orderer.1", "Order 25 pieces."),
        wording("orderer", 2),
        edit("retrieval", "doc.o1.text", "Abel: 210 francs, 9 days", "Abel: 310 francs, 8 days"),
        edit("retrieval", "doc.o3.text", "Conz: 235 francs, 3 days", "Conz: 333 francs, 3 days"),
        edit("model", "model.judge.name", "m2", decoy=True),
        edit("upstream", "user.0", "Which of these is better?", decoy=True),
        *sampling("judge", "orderer"),
    ),
)

# ---- a library: a search for a rewritten question


def _rewrite(request: Request) -> str:
    words = [word for word in ("opening", "fines", "cards", "sunday", "children") if word in request.last.lower()]
    if "Ask about children too." in request.system:
        words.append("children")
    return f"Search: {', '.join(words[::-1] if request.model == 'm2' else words)}"


def _inform(request: Request) -> str:
    facts = re.findall(r"\((\d{4}-\d\d-\d\d)\) ([^\n.]+)\.", request.spoken)
    newest = sorted(facts)[-1 if "Trust the newest." in request.system else 0] if facts else ("", "I do not know")
    return f"{newest[1]}."


def _library(runtime: Runtime) -> str:
    query = say(runtime, "rewriter", user(runtime.settings)).removeprefix("Search: ").replace(",", "")
    pages = runtime.retrieve("search_pages", query, 2)
    return say(runtime, "librarian", "\n".join(pages), user(runtime.settings))


_LIBRARY: Final = Program(
    name="library",
    group="searched",
    program=_library,
    final="librarian",
    model=model_of({"rewriter": _rewrite, "librarian": _inform}),
    menu=(),
    settings={
        **prompts(
            rewriter=("You are the rewriter.", "", ""), librarian=("You are the librarian.", "Trust the newest.", "")
        ),
        "user.0": "What are the fines?",
        "user.1": "",
        "doc.p1.text": "Fines are 2 francs a week.",
        "doc.p1.date": "2024-01-05",
        "doc.p2.text": "Fines are 3 francs a week.",
        "doc.p2.date": "2025-01-05",
        "doc.p3.text": "Children have free cards.",
        "doc.p3.date": "2025-06-01",
        "doc.p4.text": "The opening on sunday is at ten.",
        "doc.p4.date": "2023-03-01",
    },
    edits=(
        edit("prompt", "prompt.rewriter.1", "Ask about children too."),
        wording("rewriter", 2),
        edit("prompt", "prompt.librarian.1", "Trust the oldest."),
        wording("librarian", 2),
        edit("upstream", "user.0", "When is the opening on sunday?", "Tell me, what are the fines?"),
        edit("upstream", "user.1", "Thanks.", "It is for a friend.", decoy=True),
        edit("retrieval", "doc.p2.text", "Fines are 4 francs a week."),
        edit("retrieval", "doc.p4.text", "The opening on sunday is at nine."),
        edit("model", "model.rewriter.name", "m2", decoy=True),
        *sampling("rewriter", "librarian"),
    ),
)

# ---- an advertisement: a draft, a criticism in capitals, and the second draft


def _draft(request: Request) -> str:
    words = ["A quiet house", "near the lake"] if "lake" in request.spoken else ["A quiet house"]
    if "PRICE" in request.last:
        words.append(f"for {request.rule(r'It costs ([0-9]+) francs', '900')} francs")
    if "GARDEN" in request.last or "Mention the garden." in request.system:
        words.append("with a garden")
    return f"{', '.join(words)}."


def _criticise(request: Request) -> str:
    missing = [word for word in re.findall(r"Ask for the (\w+)\.", request.system) if word not in request.last]
    if request.model == "m2":
        missing = missing[:1]
    return f"It lacks the {' and the '.join(missing)}." if missing else "It is fine."


def _advertise(runtime: Runtime) -> str:
    brief = user(runtime.settings)
    first = say(runtime, "copywriter", brief)
    remark = say(runtime, "critic", first)
    return say(runtime, "copywriter", brief, f"Draft: {first}\nRemark: {remark.upper()}")


_ADVERT: Final = Program(
    name="advertisement",
    group="criticised",
    program=_advertise,
    final="copywriter",
    model=model_of({"copywriter": _draft, "critic": _criticise}),
    menu=(),
    settings={
        **prompts(
            copywriter=("You are the copywriter.", "It costs 900 francs.", "", ""),
            critic=("You are the critic.", "Ask for the price.", "", ""),
        ),
        "user.0": "Write about the house.",
        "user.1": "",
    },
    edits=(
        edit("upstream", "user.1", "It stands at the lake.", "It is old."),
        edit("prompt", "prompt.copywriter.1", "It costs 950 francs."),
        edit("prompt", "prompt.copywriter.2", "Mention the garden."),
        wording("copywriter", 3),
        edit("prompt", "prompt.critic.1", "Ask for the view.", ""),
        edit("prompt", "prompt.critic.2", "Ask for the garden."),
        wording("critic", 3),
        edit("model", "model.critic.name", "m2", decoy=True),
        *sampling("copywriter", "critic"),
    ),
)

# ---- a field: the code puts one word of each of two experts into a report


def _weather(request: Request) -> str:
    rain = next(iter(re.findall(r"(\d+) mm", request.last)), "0")
    limit = int(request.rule(r"More than (\d+) mm is wet\.", "10"))
    return "It will be wet, I think." if int(rain) > limit else "It will be dry, I think."


def _soil(request: Request) -> str:
    state = "sandy" if "sand" in request.last.lower() else "heavy"
    return f"The soil is {'unknown' if 'Be careful.' in request.system and state == 'heavy' else state}."


def _farm(request: Request) -> str:
    weather = next(iter(re.findall(r"weather=(\w+)", request.last)), "")
    soil = next(iter(re.findall(r"soil=(\w+)", request.last)), "")
    litres = {"dry": 20, "wet": 5}.get(weather, 0) + {"sandy": 10, "heavy": 2}.get(soil, 0)
    most = int(request.rule(r"Never more than (\d+) litres\.", "99"))
    return f"Give {min(litres, most)} litres{' today' if request.model == 'm2' else ''}."


def _field(runtime: Runtime) -> str:
    facts = runtime.retrieve("read_field", "rain and sand of the field", 2)
    weather = say(runtime, "meteorologist", *facts[:1])
    soil = say(runtime, "geologist", *facts[1:])
    words = re.findall(r"be (\w+),", weather) + re.findall(r"is (\w+)\.", soil)
    return say(runtime, "farmer", f"weather={words[0]}; soil={words[1]}")


_FIELD: Final = Program(
    name="field",
    group="two experts",
    program=_field,
    final="farmer",
    model=model_of({"meteorologist": _weather, "geologist": _soil, "farmer": _farm}),
    menu=(),
    settings={
        **prompts(
            meteorologist=("You are the meteorologist.", "More than 12 mm is wet.", ""),
            geologist=("You are the geologist.", "", ""),
            farmer=("You are the farmer.", "Never more than 40 litres.", ""),
        ),
        "user.0": "How much water?",
        "doc.f1.text": "Rain of the field will be 8 mm.",
        "doc.f1.date": "2025-04-01",
        "doc.f2.text": "Samples of the field are mostly clay.",
        "doc.f2.date": "2025-04-01",
    },
    edits=(
        edit("prompt", "prompt.meteorologist.1", "More than 6 mm is wet.", "More than 16 mm is wet."),
        wording("meteorologist", 2),
        edit("prompt", "prompt.geologist.1", "Be careful."),
        wording("geologist", 2),
        edit("prompt", "prompt.farmer.1", "Never more than 15 litres."),
        wording("farmer", 2),
        edit("retrieval", "doc.f1.text", "Rain of the field will be 18 mm.", "Rain of the field will be 7 mm."),
        edit("retrieval", "doc.f2.text", "Samples of the field are mostly sand."),
        edit("model", "model.farmer.name", "m2"),
        *sampling("meteorologist", "farmer"),
    ),
)

# ---- news: a summary, cut to a few words for a headline, whose last word finds the section


def _summarise(request: Request) -> str:
    subject = "The council" if "council" in request.last else "The mayor"
    action = "closes the bridge" if "bridge" in request.last else "opens the market"
    time = "tonight" if request.model == "m2" else "on Monday"
    return f"{subject} {action} {time}, {request.rule(r'Add: (.+?)[.]', 'as we hear')}."


def _headline(request: Request) -> str:
    text = re.sub(r"^(The )", "", request.last)
    return f"New: {text}" if "Mark what is new." in request.system else text


def _section(request: Request) -> str:
    topic = "traffic" if "bridge" in request.last.lower() else "economy"
    page = request.rule(rf"Put {topic} on page (\d+)\.", "9")
    return f"Page {page}: {request.last}"


def _news(runtime: Runtime) -> str:
    summary = say(runtime, "reporter", user(runtime.settings))
    headline = say(runtime, "editor", " ".join(summary.split()[:5]))
    return say(runtime, "publisher", headline[:28])


_NEWS: Final = Program(
    name="news",
    group="chained",
    program=_news,
    final="publisher",
    model=model_of({"reporter": _summarise, "editor": _headline, "publisher": _section}),
    menu=(),
    settings={
        **prompts(
            reporter=("You are the reporter.", "", ""),
            editor=("You are the editor.", "", ""),
            publisher=("You are the publisher.", "Put traffic on page 3.", "Put economy on page 5.", ""),
        ),
        "user.0": "The mayor opens the new market on Monday.",
        "user.1": "",
    },
    edits=(
        edit(
            "upstream", "user.0", "The mayor closes the old bridge on Monday.", "On Monday the mayor opens the market."
        ),
        edit("upstream", "user.1", "The council agrees.", "People are glad."),
        edit("prompt", "prompt.reporter.1", "Add: sources say.", decoy=True),
        wording("reporter", 2),
        edit("prompt", "prompt.editor.1", "Mark what is new."),
        wording("editor", 2),
        edit("prompt", "prompt.publisher.2", "Put economy on page 6."),
        wording("publisher", 3),
        edit("model", "model.reporter.name", "m2"),
        *sampling("reporter", "editor", "publisher"),
    ),
)

SITES: Final = (_CONTEST, _LIBRARY, _ADVERT, _FIELD, _NEWS)
REWORDABLE: Final = (_FIELD, _CONTEST)
