"""Research by search, re-ranking and a summary, and alerts that are settled with runbooks."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- research: a query, passages, a re-ranking model that names the best ones, a summary with sources


def _query(request: Request) -> str:
    words = [word for word in re.findall(r"[a-z]+", request.last.lower()) if len(word) > 4]
    added = request.rule(r"Always add the word (\w+)\.")
    return f"Query: {' '.join([*words, added]).strip()}."


def _rank(request: Request) -> str:
    passages = re.findall(r"^\[(\w+)\] \((\d{4})[^)]*\) (.+)$", request.last, re.MULTILINE)
    topic = request.rule(r"Prefer passages on (\w+)\.", "sales")
    key = request.rule(r"Break ties by (year|place)\.", "place")
    order = sorted(
        enumerate(passages),
        key=lambda entry: (topic not in entry[1][2].lower(), -int(entry[1][1]) if key == "year" else entry[0]),
    )
    names = [name for _, (name, _, _) in order]
    if request.model == "m2":
        names = names[::-1]
    return f"Best: {', '.join(names)}."


def _sum_up(request: Request) -> str:
    passages = re.findall(r"^\[(\w+)\] \((\d{4})[^)]*\) (.+)$", request.last, re.MULTILINE)
    most = int(request.rule(r"Use at most (\d) sources\.", "5"))
    facts = [(name, find(r"(\d+(?:\.\d)? percent)", text)) for name, _, text in passages[:most]]
    known = [f"{figure} according to {name}" for name, figure in facts if figure]
    if not known:
        return "The sources give no figure."
    end = "; the trend will go on" if request.temperature > 0.7 else ""
    if "Warn about old sources." in request.system and any(int(year) < 2024 for _, year, _ in passages[:most]):
        end = f"{end}; some sources are old"
    return f"The share is {' and '.join(known)}{end}."


def _research(runtime: Runtime) -> str:
    settings = runtime.settings
    question = user(settings)
    query = find(r"Query: ([\w ]+)\.", say(runtime, "planner", question))
    passages = runtime.retrieve("search", query, number(r"(\d)", str(settings["code.search.hits"])))
    if settings["code.ranker.order"] == "by date":
        passages.sort(key=lambda text: find(r"\((\d{4}-\d\d-\d\d)\)", text), reverse=True)
    best = re.findall(r"\w+", find(r"Best: ([\w, ]+)\.", say(runtime, "ranker", "\n".join(passages))))
    kept = best[: number(r"(\d)", str(settings["code.writer.kept"]))]
    chosen = [text for name in kept for text in passages if text.startswith(f"[{name}]")]
    return say(runtime, "writer", f"Question: {question}\n" + "\n".join(chosen))


_RESEARCH: Final = Program(
    name="market research",
    group="search, ranking, summary",
    rewords=True,
    controls=8,
    program=_research,
    final="writer",
    model=model_of({"planner": _query, "ranker": _rank, "writer": _sum_up}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner. Write a query.", "", ""),
            ranker=("You are the ranker. Name passages, best first.", "Prefer passages on electric.", "", ""),
            writer=("You are the writer. Sum up with sources.", "Use at most 2 sources.", "", ""),
        ),
        "user.0": "Dear assistant,",
        "user.1": "what share of bicycles in Norway was electric?",
        "user.2": "",
        "code.search.hits": 4,
        "code.ranker.order": "by score",
        "code.writer.kept": 3,
        "doc.alpha.date": "2025-02-01",
        "doc.alpha.text": "Bicycles in Norway: 31 percent of sales were electric.",
        "doc.beta.date": "2022-06-11",
        "doc.beta.text": "Electric bicycles: sales in Norway reached 24 percent, says the federation.",
        "doc.gamma.date": "2024-09-30",
        "doc.gamma.text": "Electric bicycles in Norway are stolen often; 9 percent of owners lost one.",
        "doc.delta.date": "2023-01-05",
        "doc.delta.text": "A history of bicycles in Norway since the war.",
        "doc.epsilon.date": "2025-05-05",
        "doc.epsilon.text": "Electric scooters: sales in Sweden fell by 12 percent.",
    },
    edits=(
        edit("upstream", "user.0", "Hello,", "Hi!", decoy=True),
        edit(
            "upstream",
            "user.1",
            "what share of scooters in Sweden was electric?",
            "what share of bicycles in Norway is electric now?",
            "how many bicycles were stolen in Norway?",
        ),
        edit("upstream", "user.2", "I need it now.", "It is for a talk.", decoy=True),
        edit("prompt", "prompt.planner.1", "Always add the word stolen.", "Always add the word scooters."),
        wording("planner", 2),
        edit("prompt", "prompt.ranker.1", "Prefer passages on stolen.", "Prefer passages on sales."),
        edit("prompt", "prompt.ranker.2", "Break ties by year.", "Break ties by place."),
        wording("ranker", 3),
        edit("model", "model.ranker.name", "m2"),
        edit("prompt", "prompt.writer.1", "Use at most 1 sources.", "Use at most 2 sources each."),
        edit("prompt", "prompt.writer.2", "Warn about old sources.", "Warn about old sites."),
        wording("writer", 3),
        edit("model", "model.writer.temperature", 0.9),
        edit("upstream", "code.search.hits", 1, 5),
        edit("upstream", "code.ranker.order", "by date"),
        edit("upstream", "code.writer.kept", 1, 2),
        edit(
            "retrieval",
            "doc.alpha.text",
            "Bicycles in Norway: 36 percent of sales were electric.",
            "Bicycles in Norway: a third of sales were electric.",
        ),
        edit("retrieval", "doc.beta.date", "2022-07-11", decoy=True),
        edit("retrieval", "doc.delta.text", "A history of bicycles in Norway since 1945.", decoy=True),
        edit("retrieval", "doc.epsilon.text", "Electric scooters: sales in Sweden fell by 14 percent.", decoy=True),
        *sampling("planner", "ranker"),
    ),
)

# ---- on call: an alert, a runbook, the metric that it names, a decision, a page


def _classify(request: Request) -> str:
    text = request.last.lower()
    services = re.findall(r"Alerts on (\w+) belong to (\w+)\.", request.system)
    return "Service: " + next((service for word, service in services if word in text), "unknown")


def _settle(request: Request) -> str:
    runbook, _, metric = request.last.partition("\nMetric: ")
    limit = real(find(r"above (\d+)", runbook), 50.0)
    value = real(find(r"(\d+)", metric), 0.0)
    if request.model == "m2":
        limit += 10
    action = find(r"then (restart|scale|drain) it", runbook, "watch")
    if value <= limit:
        return "Decision: wait"
    if f"Never {action}." in request.system:
        action = "page"
    return f"Decision: {action}"


def _report(request: Request) -> str:
    action = find(r"Decision: (\w+)", request.last, "wait")
    team = find(r"Team: (\w+)", request.last, "nobody")
    level = request.rule(rf"To {action} is severity (\d)\.", "3")
    note = " Runbook attached." if "Attach the runbook." in request.system else ""
    return f"SEV{level}: {action}, owner {team}.{note}"


def _on_call(runtime: Runtime) -> str:
    settings = runtime.settings
    alert = user(settings)
    service = find(r"Service: (\w+)", say(runtime, "classifier", alert), "unknown")
    query = f"{service} {alert}" if settings["code.runbooks.query"] == "service and alert" else alert
    runbook = "\n".join(runtime.retrieve("runbooks", query, number(r"(\d)", str(settings["code.runbooks.hits"]))))
    metric = fields(runtime.tool("get_metric", {"name": find(r"Read (\w+)", runbook, "none")}))
    decision = say(runtime, "settler", f"{runbook}\nMetric: {metric.get(str(settings['code.settler.metric']), 0)}")
    owner = fields(runtime.tool("get_owner", {"service": service}))
    return say(runtime, "reporter", f"{decision}\nTeam: {owner.get('team', 'nobody')}")


_RUNBOOK: Final = "Runbook for {word} of {service}: Read {metric}. If it is above {limit}, then {action} it."
_ON_CALL: Final = Program(
    name="on-call triage",
    group="alerts and runbooks",
    program=_on_call,
    final="reporter",
    model=model_of({"classifier": _classify, "settler": _settle, "reporter": _report}),
    menu=(),
    settings={
        **prompts(
            classifier=(
                "You are the classifier. Name the service.",
                "Alerts on checkout belong to payments.",
                "Alerts on queue belong to messaging.",
                "",
            ),
            settler=("You are the settler. Decide by the runbook.", "Never drain.", "", ""),
            reporter=(
                "You are the reporter. One line.",
                "To restart is severity 2.",
                "To page is severity 1.",
                "To wait is severity 4.",
                "",
                "",
            ),
        ),
        "user.0": "ALERT latency of the checkout is high.",
        "user.1": "",
        "code.runbooks.query": "service and alert",
        "code.runbooks.hits": 1,
        "code.settler.metric": "value",
        "doc.r1.date": "2026-01-10",
        "doc.r1.text": _RUNBOOK.format(word="latency", service="payments", metric="p99", limit=70, action="restart"),
        "doc.r2.date": "2026-01-11",
        "doc.r2.text": _RUNBOOK.format(word="errors", service="payments", metric="rate", limit=5, action="scale"),
        "doc.r3.date": "2025-07-01",
        "doc.r3.text": _RUNBOOK.format(word="latency", service="messaging", metric="lag", limit=30, action="drain"),
        **rows(
            "get_metric",
            p99={"value": 76, "peak": 91, "unit": "ms"},
            rate={"value": 3, "peak": 6, "unit": "percent"},
            lag={"value": 44, "peak": 44, "unit": "s"},
        ),
        **rows(
            "get_owner",
            payments={"team": "Heron", "chat": "pay"},
            messaging={"team": "Magpie", "chat": "bus"},
            unknown={"team": "Duty", "chat": "ops"},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "ALERT errors of the checkout are high.",
            "ALERT latency of the queue is high.",
            "ALERT latency of the checkout is very high.",
        ),
        edit("upstream", "user.1", "Seen since 03:10.", "Region west.", decoy=True),
        edit("prompt", "prompt.classifier.1", "Alerts on checkout belong to messaging.", "Alerts on carts are rare."),
        edit("prompt", "prompt.classifier.2", "Alerts on queues belong to messaging.", decoy=True),
        wording("classifier", 3),
        edit("prompt", "prompt.settler.1", "Never restart.", "Never scale."),
        wording("settler", 3),
        edit("model", "model.settler.name", "m2"),
        edit("prompt", "prompt.reporter.1", "To restart is severity 3.", "To restart is severity 2 here."),
        edit("prompt", "prompt.reporter.2", "To page is severity 2.", decoy=True),
        edit("prompt", "prompt.reporter.3", "To wait is severity 5.", decoy=True),
        edit("prompt", "prompt.reporter.4", "Attach the runbook."),
        wording("reporter", 5),
        edit("upstream", "code.runbooks.query", "alert", decoy=True),
        edit("upstream", "code.runbooks.hits", 2, decoy=True),
        edit("upstream", "code.settler.metric", "peak", decoy=True),
        edit(
            "retrieval",
            "doc.r1.text",
            _RUNBOOK.format(word="latency", service="payments", metric="p99", limit=80, action="restart"),
            _RUNBOOK.format(word="latency", service="payments", metric="rate", limit=2, action="scale"),
        ),
        edit("retrieval", "doc.r2.date", "2026-02-11", decoy=True),
        edit("tool", "row.get_metric.p99.value", 61, 78),
        edit("tool", "row.get_metric.p99.unit", "msec", decoy=True),
        edit("tool", "row.get_owner.payments.team", "Osprey"),
        edit("tool", "row.get_owner.payments.chat", "pay-2", decoy=True),
        *sampling("classifier", "settler", "reporter"),
    ),
)

SEARCHES: Final[tuple[Program, ...]] = (_RESEARCH, _ON_CALL)
