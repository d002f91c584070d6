"""Documents: facts merged on two levels, an answer whose citations code resolves, data sheets in foreign units."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, user
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- outages: reports are cut and read one by one, sorted by length, merged in pairs, and the pairs merged again


def _read_report(request: Request) -> str:
    text = request.last
    minutes = number(r"(\d+) minutes", text)
    minutes += 60 * number(r"(\d+) hours?", text)
    team = find(r"\b(Payments|Search|Identity)\b", text, "Unknown")
    cause = next((name for word, name in re.findall(r"Call (\w+) a (\w+)\.", request.system) if word in text), "fault")
    if request.model == "m2" and "customers" not in text:
        minutes = minutes // 10 * 10
    return f"- Team: {team}\n- Minutes: {minutes}\n- Cause: {cause}"


def _merge_pair(request: Request) -> str:
    facts = re.findall(r"(\w+), (\d+) min, (\w+)", request.last)
    if not facts:
        return "Nothing happened."
    longest = max(facts, key=lambda fact: int(fact[1]))
    total = sum(int(minutes) for _, minutes, _ in facts)
    if "Leave out outages below ten minutes." in request.system:
        total = sum(int(minutes) for _, minutes, _ in facts if int(minutes) >= 10)
    return f"{longest[0]} was worst with a {longest[2]}; {total} minutes in all."


def _conclude(request: Request) -> str:
    parts = re.findall(r"([A-Z]+) WAS WORST WITH AN? (\w+); (\d+) MINUTES", request.last)
    if not parts:
        return "There was no outage this week."
    hours, minutes = divmod(sum(int(part[2]) for part in parts), 60)
    team, cause, _ = parts[-1 if "Name the last team." in request.system else 0]
    limit = int(request.rule(r"Call a review above (\d+) hours\.", "99"))
    review = " We call a review." if 60 * hours + minutes > 60 * limit else ""
    return f"We were down for {hours} h {minutes:02} min, mostly {team.title()} with a {cause.lower()}.{review}"


def _outages(runtime: Runtime) -> str:
    facts: list[tuple[int, str]] = []
    for report in runtime.retrieve("load_reports", "outage report minutes of this week", 5):
        answer = say(runtime, "mapper", f"Report: {report[:128]}")
        team, cause = find(r"Team: (\w+)", answer, "Unknown"), find(r"Cause: (\w+)", answer, "fault")
        minutes = number(r"Minutes: (\d+)", answer)
        if team != "Unknown":
            facts.append((minutes, f"{team}, {minutes} min, {cause}"))
    lines = [line for _, line in sorted(facts, key=lambda fact: (-fact[0], fact[1]))]
    partial = [say(runtime, "reducer", "\n".join(lines[at : at + 2])) for at in range(0, len(lines), 2)]
    return say(runtime, "editor", f"{user(runtime.settings)}\n{' / '.join(partial).upper()}")


_OUTAGES: Final = Program(
    name="outages",
    group="reduce twice",
    most=4,
    program=_outages,
    final="editor",
    model=model_of({"mapper": _read_report, "reducer": _merge_pair, "editor": _conclude}),
    menu=(),
    settings={
        **prompts(
            mapper=(
                "You are the mapper. List the team, the minutes and the cause of one report.",
                "Call deploy a regression.",
                "Call certificate a lapse.",
                "Call disk a shortage.",
                "",
                "",
            ),
            reducer=("You are the reducer. Merge the lines into one sentence.", "", ""),
            editor=(
                "You are the editor. Write the summary for the weekly mail.",
                "Call a review above 3 hours.",
                "",
                "",
            ),
        ),
        "user.0": "Summarise the outages of this week.",
        "user.1": "",
        "doc.r1.text": "Outage report: Payments failed for 84 minutes after a deploy, customers saw errors.",
        "doc.r1.date": "2026-02-02",
        "doc.r2.text": "Outage report: Search was slow for 35 minutes because a disk was full. No data was lost.",
        "doc.r2.date": "2026-02-03",
        "doc.r3.text": "Outage report: Identity refused logins for 1 hour as a certificate ended and customers called.",
        "doc.r3.date": "2026-02-04",
        "doc.r4.text": "Outage report: Search lost its index for 8 minutes during a test of the backup.",
        "doc.r4.date": "2026-02-05",
        "doc.r5.text": "Minutes of the meeting: the office kitchen will be closed.",
        "doc.r5.date": "2026-02-05",
    },
    edits=(
        edit("upstream", "user.0", "Please write up this week's outages.", "What went wrong this week?", decoy=True),
        edit("upstream", "user.1", "The board will read it.", "Be brief.", decoy=True),
        edit("prompt", "prompt.mapper.1", "Call deploy a rollout.", "Call errors a breakage."),
        edit("prompt", "prompt.mapper.2", "Call certificate a deadline.", decoy=True),
        edit("prompt", "prompt.mapper.4", "Call backup a rehearsal.", "Call kitchen a closure.", decoy=True),
        wording("mapper", 5),
        edit("model", "model.mapper.name", "m2"),
        edit("prompt", "prompt.reducer.1", "Leave out outages below ten minutes."),
        wording("reducer", 2),
        edit("model", "model.reducer.max_tokens", 40, decoy=True),
        edit("prompt", "prompt.editor.1", "Call a review above 2 hours.", "Call a review above 4 hours."),
        edit("prompt", "prompt.editor.2", "Name the last team.", "Sign as the platform team."),
        wording("editor", 3),
        edit(
            "retrieval",
            "doc.r1.text",
            "Outage report: Payments failed for 48 minutes after a deploy, customers saw errors.",
            "Outage report: A long night in which our largest shops in four countries were affected, "
            "as Payments failed for 84 minutes after a deploy.",
        ),
        edit("retrieval", "doc.r2.text", "Outage report: Search was slow for 53 minutes because a disk was full."),
        edit(
            "retrieval",
            "doc.r3.text",
            "Outage report: Identity refused logins for 2 hours as a certificate ended and customers called.",
            "Outage report: Identity refused logins for 1 hour as a certificate ended.",
        ),
        edit("retrieval", "doc.r5.text", "Minutes of the meeting: the office kitchen will be painted.", decoy=True),
        *sampling("mapper", "reducer", "editor"),
    ),
)

# ---- passengers: pages are put in a stated order and numbered; sentences whose citation does not resolve are dropped


def _rewrite_question(request: Request) -> str:
    topics = [topic for topic in ("cancelled", "delayed", "luggage", "refused") if topic in request.last.lower()]
    extra = re.findall(r"Always search for (\w+) too\.", request.system)
    return f"Query: {' '.join([*topics, *extra, 'flight', 'passenger'])}"


def _rank_pages(request: Request) -> str:
    question = find(r"Question: (.+)", request.last).lower()
    pages = re.findall(r"^\((\d+)\) \[\w+\] \((\d{4})[\d-]+\) (.+)$", request.last, re.MULTILINE)
    boosts = re.findall(r"Put pages about (\w+) first\.", request.system)

    def weight(page: tuple[str, str, str]) -> tuple[int, int]:
        score = sum(word in page[2].lower() for word in ("cancelled", "delayed", "luggage") if word in question)
        score += 2 * sum(word in page[2].lower() for word in boosts)
        return -score, -int(page[1]) if request.model == "m2" else int(page[0])

    order = [page[0] for page in sorted(pages, key=weight)]
    # A hot model confuses the first places.
    order[:3] = order[2::-1] if request.temperature >= 0.7 else order[:3]
    return f"Order: {' > '.join(order)}"


def _answer_passenger(request: Request) -> str:
    pages = re.findall(r"^\[(\d)\] (.+)$", request.last, re.MULTILINE)
    sentences: list[str] = []
    for mark, text in pages:
        if amount := find(r"(\d+) euros", text):
            hint = " at most" if "up to" in text else ""
            sentences.append(f"You may claim{hint} {amount} euros [{mark}].")
        elif term := find(r"within (\d+ (?:days|weeks))", text):
            sentences.append(f"Write to the airline within {term} [{mark}].")
    most = int(request.rule(r"Give at most (\d+) statements?\.", "3"))
    if "Add a word of comfort." in request.system:
        sentences.insert(0, "We know how annoying this is.")
    return " ".join(sentences[:most]) or "The pages do not say that."


def _passenger(runtime: Runtime) -> str:
    question = user(runtime.settings)
    query = find(r"Query: ([\w ]+)", say(runtime, "rewriter", question), "flight")
    pages = runtime.retrieve("search_rights", query, 4)
    listing = "\n".join(f"({count}) {page}" for count, page in enumerate(pages, 1))
    ranking = say(runtime, "ranker", f"Question: {question}\n{listing}")
    order = [int(mark) for mark in re.findall(r"\d+", find(r"Order: ([\d >]+)", ranking))]
    best = [pages[mark - 1] for mark in order if mark <= len(pages)][:2]
    bodies = [re.sub(r"^\[\w+\] \([\d-]+\) ", "", page) for page in best]
    context = "\n".join(f"[{count}] {body}" for count, body in enumerate(bodies, 1))
    answer = say(runtime, "adviser", f"{question}\n{context}")
    sources = {str(count): page[1 : page.index("]")] for count, page in enumerate(best, 1)}
    cited = re.findall(r"([^.\]]+?) \[(\d)\]\.", answer)
    kept = [f"{text.strip()} ({sources[mark].upper()})." for text, mark in cited if mark in sources]
    return " ".join(kept) or "No answer with a source."


_PASSENGER: Final = Program(
    name="passenger rights",
    group="resolved citations",
    most=4,
    program=_passenger,
    final="adviser",
    model=model_of({"rewriter": _rewrite_question, "ranker": _rank_pages, "adviser": _answer_passenger}),
    menu=(),
    settings={
        **prompts(
            rewriter=("You are the rewriter. Turn the question into a search query.", "", ""),
            ranker=("You are the ranker. Put the pages in order, the most useful one first.", "", ""),
            adviser=(
                "You are the adviser. Answer from the pages only, and cite them.",
                "Give at most 2 statements.",
                "",
                "",
            ),
        ),
        "user.0": "My flight was cancelled two days before the journey. What can I claim?",
        "user.1": "",
        "doc.eu261.text": "A passenger of a cancelled flight may claim 250 euros if told less than 14 days before.",
        "doc.eu261.date": "2019-05-01",
        "doc.guide.text": "Flight cancelled: the passenger writes to the airline within 6 weeks.",
        "doc.guide.date": "2024-03-01",
        "doc.bags.text": "Luggage that a flight loses must be reported by the passenger within 21 days.",
        "doc.bags.date": "2023-01-10",
        "doc.late.text": "A passenger of a flight delayed by three hours may claim up to 400 euros.",
        "doc.late.date": "2021-08-15",
        "doc.strike.text": "Strikes: a passenger gets no money if the flight was cancelled for a strike of others.",
        "doc.strike.date": "2022-11-01",
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "My flight was delayed by four hours. What can I claim?",
            "What may I claim if my flight was cancelled two days before the journey?",
            "My flight was cancelled and my luggage is lost. What can I claim?",
        ),
        edit("upstream", "user.1", "I flew with my children.", "It was on a Sunday.", decoy=True),
        edit("prompt", "prompt.rewriter.1", "Always search for luggage too.", "Always search for strikes too."),
        wording("rewriter", 2),
        edit("model", "model.rewriter.name", "m2", decoy=True),
        edit("prompt", "prompt.ranker.1", "Put pages about strike first.", "Put pages about airline first."),
        wording("ranker", 2),
        edit("model", "model.ranker.name", "m2"),
        edit("model", "model.ranker.temperature", 0.8, 0.2),
        edit("prompt", "prompt.adviser.1", "Give at most 1 statement."),
        edit("prompt", "prompt.adviser.2", "Add a word of comfort."),
        wording("adviser", 3),
        edit(
            "retrieval",
            "doc.eu261.text",
            "A passenger of a cancelled flight may claim 300 euros if told less than 14 days before.",
            "A passenger of a cancelled flight may claim up to 250 euros if told less than 14 days before.",
        ),
        edit("retrieval", "doc.guide.text", "Flight cancelled: the passenger writes to the airline within 8 weeks."),
        edit(
            "retrieval",
            "doc.late.text",
            "A passenger of a flight delayed by three hours may claim up to 450 euros.",
            decoy=True,
        ),
        edit(
            "retrieval",
            "doc.strike.text",
            "Strikes: a passenger gets 50 euros if the flight was cancelled.",
        ),
        edit("retrieval", "doc.eu261.date", "2020-01-01", decoy=True),
        *sampling("rewriter", "adviser"),
    ),
)

DOCUMENTS: Final = (_OUTAGES, _PASSENGER)
REWORDABLE: Final = (_OUTAGES,)
