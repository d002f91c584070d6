"""Logs that code masks and groups, a series that code smooths, and mails that code strips before they are read."""

import json
import re
from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, json_in, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject, JSONValue

# ---- log triage: code masks numbers and groups the lines, a triager judges each group, a pager calls someone

_RANKS: Final = ("critical", "warning", "info")


def _triager(request: Request) -> str:
    facts = json_in(request.last)
    text, count = str(facts.get("sample", "")), int(real(facts.get("count")))
    critical = request.rule(r"Critical are ([\w, ]+)\.").split(", ")
    level = "warning" if count >= int(request.rule(r"Warn from (\d+) lines\.", "2")) else "info"
    if any(word and word in text for word in critical) or (request.model == "m2" and count == 2):
        level = "critical"
    team = "payments" if "card" in text else "storage" if "disk" in text else "web"
    return json.dumps({"severity": level, "team": team})


def _pager(request: Request) -> str:
    facts = json_in(request.last)
    opening = request.rule(r"Open with (\w+)\.", "Attention")
    others = int(real(facts.get("others")))
    tail = f" {others} more open." if others and "Count the others." in request.system else ""
    severity = f" ({facts.get('severity')})" if "State the severity." in request.system else ""
    return f"{opening} {facts.get('who')}: {facts.get('title')} since {facts.get('at')}{severity}.{tail}"


def _shift(clock: str, hours: int) -> str:
    hour, minute = number(r"^(\d+):", clock), number(r":(\d+)$", clock)
    return f"{(hour + hours) % 24:02}:{minute:02}"


def _triage(runtime: Runtime) -> str:
    settings = runtime.settings
    service = find(r"\bof (\w+)", user(settings), "shop")
    groups: dict[str, list[JSONObject]] = {}
    for line in items(fields(runtime.tool("fetch_logs", {"service": service})).get("lines")):
        message = str(line.get("msg"))
        mask = re.sub(r"\d+", "#", message) if settings["code.triager.mask"] == "digits" else message
        groups.setdefault(mask, []).append(line)
    ranked = list(groups.items())
    if settings["code.triager.order"] == "size":
        ranked.sort(key=lambda entry: -len(entry[1]))
    incidents: list[tuple[int, str, JSONObject, JSONObject]] = []
    for sample, members in ranked[: int(real(settings["code.triager.top"], 4))]:
        verdict = json_in(say(runtime, "triager", json.dumps({"sample": sample, "count": len(members)})))
        severity = str(verdict.get("severity", "info"))
        rank = _RANKS.index(severity) if severity in _RANKS else 2
        if rank < 2 or settings["code.pager.infos"] == "kept":
            incidents.append((rank, sample, members[0], verdict))
    if not incidents:
        return "All is quiet."
    rank, sample, first, verdict = min(incidents, key=lambda incident: incident[0])
    duty = fields(runtime.tool("get_duty", {"team": str(verdict.get("team", "web"))}))
    page: JSONObject = {
        "title": sample,
        "severity": _RANKS[rank],
        "at": _shift(str(first.get("at")), int(real(settings["code.pager.zone"]))),
        "who": duty.get(str(settings["code.pager.contact"])),
        "others": len(incidents) - 1,
    }
    return say(runtime, "pager", json.dumps(page))


def _lines(*entries: tuple[str, str]) -> list[JSONValue]:
    return [{"at": at, "msg": msg} for at, msg in entries]


_LOG: Final = (
    ("07:58", "GET /cart took 900 ms"),
    ("08:01", "card 4411 declined by bank"),
    ("08:02", "GET /cart took 1200 ms"),
    ("08:05", "card 7302 declined by bank"),
    ("08:09", "card 9917 declined by bank"),
    ("08:12", "login page slow"),
)
_TRIAGE: Final = Program(
    name="log triage",
    group="masked log lines",
    program=_triage,
    final="pager",
    model=model_of({"triager": _triager, "pager": _pager}),
    menu=(),
    settings={
        **prompts(
            triager=("You are the triager. Answer with JSON.", "Critical are disk, outage.", "Warn from 2 lines.", ""),
            pager=("You are the pager. Page one person.", "Open with Attention.", "Count the others.", "", ""),
        ),
        "user.0": "Triage the logs of shop.",
        "user.1": "",
        "user.2": "",
        "code.triager.mask": "digits",
        "code.triager.order": "size",
        "code.triager.top": 4,
        "code.pager.infos": "dropped",
        "code.pager.zone": 0,
        "code.pager.contact": "primary",
        **rows(
            "fetch_logs",
            shop={"lines": _lines(*_LOG), "node": "eu-1"},
            blog={"lines": _lines(("06:30", "disk 97 percent full")), "node": "eu-2"},
        ),
        **rows(
            "get_duty",
            payments={"primary": "Noor", "backup": "Olga", "channel": "#pay"},
            storage={"primary": "Pavel", "backup": "Quinn", "channel": "#disk"},
            web={"primary": "Rosa", "backup": "Sven", "channel": "#web"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Triage the logs of blog."),
        edit("upstream", "user.1", "The release was at seven.", "It is a holiday.", decoy=True),
        edit("upstream", "user.2", "Be quick.", "No rush.", decoy=True),
        edit("prompt", "prompt.triager.1", "Critical are login, outage.", "Critical are cart, outage."),
        edit("prompt", "prompt.triager.2", "Warn from 3 lines.", "Warn from 4 lines."),
        wording("triager", 3),
        edit("model", "model.triager.name", "m2"),
        edit("prompt", "prompt.pager.1", "Open with Hello."),
        edit("prompt", "prompt.pager.2", "Leave it there."),
        edit("prompt", "prompt.pager.3", "State the severity."),
        wording("pager", 4),
        edit("upstream", "code.triager.mask", "none"),
        edit("upstream", "code.triager.order", "time"),
        edit("upstream", "code.triager.top", 1),
        edit("upstream", "code.pager.infos", "kept"),
        edit("upstream", "code.pager.zone", 2, 9),
        edit("upstream", "code.pager.contact", "backup"),
        edit("tool", "row.fetch_logs.shop.lines", _lines(*_LOG[2:]), _lines(*_LOG, ("08:15", "disk 99 percent full"))),
        edit("tool", "row.fetch_logs.shop.node", "eu-7", decoy=True),
        edit("tool", "row.get_duty.payments.primary", "Tess"),
        edit("tool", "row.get_duty.payments.channel", "#cash", decoy=True),
        edit("tool", "row.get_duty.web.channel", "#site", decoy=True),
        edit("tool", "row.get_duty.storage.channel", "#san", decoy=True),
        edit("tool", "row.fetch_logs.blog.node", "eu-8", decoy=True),
        *sampling("triager", "pager"),
    ),
)

# ---- metrics alarm: code smooths a series and finds where it crosses a limit, a model explains, another files a ticket


def _explainer(request: Request) -> str:
    peak, limit = number(r"<peak>(\d+)", request.last), number(r"<limit>(\d+)", request.last, 1)
    over = 100 * (peak - limit) // max(limit, 1)
    cause = "a deploy" if "<event>deploy" in request.last else request.rule(r"Suspect (\w+) first\.", "traffic")
    level = "severe" if over >= int(request.rule(r"Severe is (\d+) percent over\.", "50")) else "mild"
    return f"{level}: {cause}, {over if request.model != 'm2' else peak} over"


def _filer(request: Request) -> str:
    start, story = (find(rf"<{name}>([^<]*)", request.spoken, "?") for name in ("start", "story"))
    queue = request.rule(r"File severe ones under (\w+)\.", "OPS") if story.startswith("severe") else "LATER"
    due = " Due today." if "Set a date." in request.system and queue != "LATER" else ""
    return f"[{queue}] {find('<metric>([^<]*)', request.spoken, '?')} from {start}: {story}.{due}"


def _alarm(runtime: Runtime) -> str:
    settings = runtime.settings
    metric = find(r"alarm for (\w+)", user(settings), "latency")
    series = fields(runtime.tool("get_series", {"metric": metric}))
    points = [int(real(part)) for part in str(series.get("points")).split()]
    width = int(real(settings["code.explainer.window"], 3))
    smooth = [sum(points[max(0, i - width + 1) : i + 1]) // min(width, i + 1) for i in range(len(points))]
    limit = int(real(series.get("limit")))
    strict = settings["code.explainer.compare"] == "above"
    breaches = [i for i, value in enumerate(smooth) if (value > limit if strict else value >= limit)]
    if len(breaches) < int(real(settings["code.explainer.needed"], 2)):
        return f"No alarm for {metric}."
    peak = max(smooth[i] for i in breaches)
    event = fields(runtime.tool("get_events", {"hour": f"h{breaches[0]}"}))
    kind = str(event.get("kind", "none"))
    facts = f"<peak>{peak}</peak><limit>{limit}</limit><event>{kind}</event>"
    story = say(runtime, "explainer", facts)
    start = breaches[0] + int(real(settings["code.filer.first_hour"]))
    heading = metric.upper() if settings["code.filer.heading"] == "capitals" else metric
    return say(
        runtime, "filer", f"<metric>{heading}</metric><start>hour {start}</start>", f"<story>{story.strip()}</story>"
    )


_ALARM: Final = Program(
    name="metrics alarm",
    group="smoothed series",
    program=_alarm,
    final="filer",
    model=model_of({"explainer": _explainer, "filer": _filer}),
    menu=(),
    settings={
        **prompts(
            explainer=(
                "You are the explainer. Explain the peak.",
                "Severe is 50 percent over.",
                "Suspect traffic first.",
                "",
            ),
            filer=("You are the filer. File a ticket.", "File severe ones under OPS.", "Set a date.", ""),
        ),
        "user.0": "Check the alarm for latency.",
        "user.1": "",
        "code.explainer.window": 3,
        "code.explainer.compare": "above",
        "code.explainer.needed": 2,
        "code.filer.first_hour": 0,
        "code.filer.heading": "plain",
        **rows(
            "get_series",
            latency={"points": "100 110 190 300 390 420 180 120", "limit": 200, "unit": "ms"},
            errors={"points": "1 2 2 9 9 8 3 1", "limit": 5, "unit": "1/s"},
        ),
        **rows(
            "get_events",
            h3={"kind": "none", "by": "nobody"},
            h4={"kind": "sale", "by": "Uma"},
            h5={"kind": "deploy", "by": "Vito"},
            h2={"kind": "none", "by": "nobody"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Check the alarm for errors."),
        edit("upstream", "user.1", "We deployed yesterday.", "No hurry.", decoy=True),
        edit("prompt", "prompt.explainer.1", "Severe is 90 percent over."),
        edit("prompt", "prompt.explainer.2", "Suspect disks first."),
        wording("explainer", 3),
        edit("model", "model.explainer.name", "m2"),
        edit("prompt", "prompt.filer.1", "File severe ones under INFRA."),
        edit("prompt", "prompt.filer.2", "Set no day."),
        wording("filer", 3),
        edit("upstream", "code.explainer.window", 1, 5),
        edit("upstream", "code.explainer.compare", "at least"),
        edit("upstream", "code.explainer.needed", 5),
        edit("upstream", "code.filer.first_hour", 1),
        edit("upstream", "code.filer.heading", "capitals"),
        edit("tool", "row.get_series.latency.points", "100 110 190 200 210 420 180 120", "90 95 99 300 390 480 500 90"),
        edit("tool", "row.get_series.latency.limit", 260),
        edit("tool", "row.get_series.latency.unit", "s", decoy=True),
        edit("tool", "row.get_events.h3.kind", "deploy", decoy=True),
        edit("tool", "row.get_events.h4.kind", "deploy"),
        edit("tool", "row.get_events.h3.by", "Wim", decoy=True),
        *sampling("explainer", "filer"),
    ),
)

# ---- mail digest: code drops newsletters and quoted lines, a reader sums up each mail, an editor writes the digest


def _mail_reader(request: Request) -> str:
    body = find(r"^Body: (.+)$", request.last).casefold()
    ask = "?" in body or (request.model == "m2" and "please" in body)
    topic = next(
        (word for word in request.rule(r"Topics are ([\w, ]+)\.").split(", ") if word and word in body), "misc"
    )
    due = find(r"\b(monday|friday)\b", body) if "Note days." in request.system else ""
    return f"[{topic} / {'needs an answer' if ask else 'for information'}{f' / {due}' if due else ''}]"


def _editor(request: Request) -> str:
    entries = re.findall(r"^- (\w+): (.+)$", request.last, re.MULTILINE)
    shown = [f"{who} ({what})" for who, what in entries][: int(request.rule(r"Show (\d) mails\.", "9"))]
    closing = " Answer the first one now." if "Urge." in request.system and "needs" in request.last else ""
    title = request.rule(r"Title it (\w+)\.", "Digest")
    return f"{title}: {'; '.join(shown) or 'no mail'}.{closing}"


def _digest(runtime: Runtime) -> str:
    settings = runtime.settings
    box = fields(runtime.tool("read_mails", {"box": find(r"box (\w+)", user(settings), "office")}))
    mails = [mail for mail in items(box.get("mails")) if mail.get("kind") != settings["code.mailreader.drops"]]
    if settings["code.mailreader.newest"] == "first":
        mails = mails[::-1]
    entries: list[tuple[str, str]] = []
    for mail in mails[: int(real(settings["code.mailreader.most"], 4))]:
        kept = [line for line in str(mail.get("body")).split("\n") if not line.startswith(">")]
        body = " ".join(kept if settings["code.mailreader.quotes"] == "cut" else str(mail.get("body")).split("\n"))
        summary = say(runtime, "mailreader", f"From: {mail.get('from')}\nBody: {body}")
        entries.append((str(mail.get("from")), find(r"\[(\w+ / [\w /]+)\]", summary, "misc / for information")))
    if settings["code.editor.order"] == "answers first":
        entries.sort(key=lambda entry: "needs" not in entry[1])
    texts = (what.partition(" / ")[0 if settings["code.editor.detail"] == "topic" else 2] for _, what in entries)
    return say(runtime, "editor", "\n".join(f"- {who}: {what}" for (who, _), what in zip(entries, texts, strict=True)))


def _mails(*entries: tuple[str, str, str]) -> list[JSONValue]:
    return [{"from": who, "kind": kind, "body": body} for who, kind, body in entries]


_BOX: Final = (
    ("Xenia", "mail", "The budget is ready.\n> Can we see the budget?"),
    ("Shop", "newsletter", "Sale on Friday!"),
    ("Yves", "mail", "Can we move the travel to Friday?"),
    ("Zoe", "mail", "Please sign the contract by Monday."),
)
_DIGEST: Final = Program(
    name="mail digest",
    group="mails stripped by code",
    program=_digest,
    final="editor",
    model=model_of({"mailreader": _mail_reader, "editor": _editor}),
    menu=(),
    settings={
        **prompts(
            mailreader=("You are the mailreader. Sum it up.", "Topics are budget, travel, contract.", "", ""),
            editor=("You are the editor. Write the digest.", "Title it Digest.", "Show 3 mails.", "", ""),
        ),
        "user.0": "Digest the box office.",
        "user.1": "",
        "code.mailreader.drops": "newsletter",
        "code.mailreader.newest": "last",
        "code.mailreader.most": 4,
        "code.mailreader.quotes": "cut",
        "code.editor.order": "answers first",
        "code.editor.detail": "action",
        **rows(
            "read_mails",
            office={"mails": _mails(*_BOX), "quota": "80 percent"},
            home={"mails": _mails(("Abel", "mail", "Is the travel booked?")), "quota": "3 percent"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Digest the box home."),
        edit("upstream", "user.1", "I read it on the train.", decoy=True),
        edit("prompt", "prompt.mailreader.1", "Topics are contract, travel, budget.", decoy=True),
        edit("prompt", "prompt.mailreader.2", "Note days."),
        wording("mailreader", 3),
        edit("model", "model.mailreader.name", "m2"),
        edit("prompt", "prompt.editor.1", "Title it Letters."),
        edit("prompt", "prompt.editor.2", "Show 1 mails.", "Show 2 mails."),
        edit("prompt", "prompt.editor.3", "Urge."),
        wording("editor", 4),
        edit("upstream", "code.mailreader.drops", "none"),
        edit("upstream", "code.mailreader.newest", "first"),
        edit("upstream", "code.mailreader.most", 2),
        edit("upstream", "code.mailreader.quotes", "kept"),
        edit("upstream", "code.editor.order", "as they came"),
        edit("upstream", "code.editor.detail", "topic"),
        edit("tool", "row.read_mails.office.mails", _mails(*_BOX[:3]), _mails(("Bea", "mail", "Lunch?"), *_BOX)),
        edit("tool", "row.read_mails.office.quota", "99 percent", decoy=True),
        edit("tool", "row.read_mails.home.quota", "5 percent", decoy=True),
        *sampling("mailreader", "editor"),
    ),
)
_DIGEST_REWORDED: Final = replace(
    _DIGEST, name="mail digest, reworded", group="mails stripped by code, reworded", rewords=True
)

OPERATIONS: Final[tuple[Program, ...]] = (_TRIAGE, _ALARM, _DIGEST, _DIGEST_REWORDED)
