"""Passages ranked again and cited, letters turned into records, and a desk that serves several tenants."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, json_in, real
from tests.bench.attribution.programs.later.reading import decimal, find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- guide: passages of an index are scored by a model, sorted and cut by code, cited, and the citations resolved


def _score(request: Request) -> str:
    words = {*re.findall(r"[a-z]{4,}", find(r"^Question: (.+)$", request.last).lower())}
    loved = request.rule(r"Prefer (\w+)\.")
    lines = []
    for id, text in re.findall(r"^<(\w+)> (.+)$", request.last, re.MULTILINE):
        score = 2 * len(words & {*re.findall(r"[a-z]{4,}", text.lower())}) + 3 * (bool(loved) and loved in text)
        lines.append(f"{id}: {score + (request.model == 'm2' and len(text) > 45)}")
    return "\n".join(lines) or "none"


def _cite(request: Request) -> str:
    passages = re.findall(r"^\[(\d)\] (.+)$", request.last, re.MULTILINE)
    most = int(request.rule(r"Use (\d) passages\.", "1"))
    used = passages[-most:] if "Use the last ones." in request.system else passages[:most]
    return " ".join(f"{text} [{mark}]" for mark, text in used) or "I found nothing."


def _close(request: Request) -> str:
    draft, sources = find(r"^Draft: (.+)$", request.last, "none"), find(r"^Sources: (.*)$", request.last)
    if "Without marks." in request.system:
        draft = re.sub(r" \[\d\]", "", draft)
    shown = f" From: {sources}." if sources and "Name the sources." in request.system else ""
    return f"{draft}{shown}"


def _guide(runtime: Runtime) -> str:
    settings = runtime.settings
    texts = runtime.retrieve("index", user(settings), int(real(settings["search.top_k"], 4)))
    passages = [match.groups() for text in texts if (match := re.match(r"\[(\w+)\] \(([\d-]+)\) (.+)", text))]
    lines = [f"<{id}> {text}" for id, _, text in passages]
    scores = dict(
        re.findall(
            r"^(\w+): (\d+)$", say(runtime, "ranker", "\n".join([f"Question: {user(settings)}", *lines])), re.MULTILINE
        )
    )
    if settings["code.writer.sort"] == "score":
        passages.sort(key=lambda passage: -real(scores.get(str(passage[0]))))
    else:
        passages.sort(key=lambda passage: str(passage[1]), reverse=True)
    kept = passages[: int(real(settings["code.writer.kept"], 2))]
    numbered = [f"[{number}] {text}" for number, (_, _, text) in enumerate(kept, 1)]
    draft = say(runtime, "writer", "\n".join([user(settings), *numbered]))
    marks = [int(mark) for mark in re.findall(r"\[(\d)\]", draft)]
    sources = ", ".join(str(kept[mark - 1][0]) for mark in marks if 0 < mark <= len(kept))
    return say(runtime, "editor", f"Draft: {draft}\nSources: {sources}")


_GUIDE: Final = Program(
    name="museum guide",
    group="passages ranked and cited",
    program=_guide,
    final="editor",
    model=model_of({"ranker": _score, "writer": _cite, "editor": _close}),
    menu=(),
    settings={
        **prompts(
            ranker=("You are the ranker. Score.", "", ""),
            writer=("You are the writer. Answer.", "Use 2 passages.", "", ""),
            editor=("You are the editor. Close.", "Name the sources.", "", ""),
        ),
        "user.0": "When do the halls with ships open?",
        "user.1": "",
        "search.top_k": 4,
        "code.writer.sort": "score",
        "code.writer.kept": 2,
        "doc.ships.text": "The halls with ships open at nine.",
        "doc.ships.date": "2024-02-01",
        "doc.tickets.text": "Tickets for the ships are sold when the doors open.",
        "doc.tickets.date": "2024-05-01",
        "doc.whales.text": "Whales and ships share the halls in the north wing of the house.",
        "doc.whales.date": "2023-03-01",
        "doc.cafe.text": "The cafe sells soup.",
        "doc.cafe.date": "2022-01-01",
    },
    edits=(
        edit("upstream", "user.0", "Where are the tickets for ships sold?", "Tell me when the halls with ships open."),
        edit("upstream", "user.1", "We are five.", "Thank you.", decoy=True),
        edit("prompt", "prompt.ranker.1", "Prefer Tickets.", "Prefer Whales."),
        wording("ranker", 2),
        edit("model", "model.ranker.name", "m2", decoy=True),
        edit("prompt", "prompt.writer.1", "Use 1 passages."),
        edit("prompt", "prompt.writer.2", "Use the last ones.", decoy=True),
        wording("writer", 3),
        edit("prompt", "prompt.editor.1", "Hide the sources."),
        edit("prompt", "prompt.editor.2", "Without marks."),
        wording("editor", 3),
        edit("retrieval", "search.top_k", 2, 1),
        edit("upstream", "code.writer.sort", "date"),
        edit("upstream", "code.writer.kept", 1, 3),
        edit("retrieval", "doc.ships.text", "The halls with ships open at ten.", "The ships have left."),
        edit("retrieval", "doc.ships.date", "2020-02-01", decoy=True),
        edit("retrieval", "doc.cafe.text", "The cafe sells cake.", decoy=True),
        *sampling("ranker", "writer", "editor"),
    ),
)

# ---- records: a reader gives JSON, code validates and converts it, a clerk sorts it, a poster writes the entry


def _read(request: Request) -> str:
    text = request.last
    amount = decimal(r"(\d+(?:\.\d+)?) (?:euros|francs)", text)
    record = {
        "payer": find(r"from ([A-Z]\w+)", text, "unknown"),
        "amount": amount,
        "currency": find(r"\d (euros|francs)", text, "euros"),
        "due": find(r"until (\d\d?/\d\d?)", text, "1/1"),
    }
    if request.model == "m2":
        record["payer"] = str(record["payer"]).upper()
    if "Give whole amounts." in request.system:
        record["amount"] = round(amount)
    if "Repair" in text and "payer" in text:
        record["payer"] = "Nobody"
    return json.dumps(record)


def _sort(request: Request) -> str:
    amount = number(r"^Cents: (\d+)", request.last)
    limit = int(request.rule(r"Above (\d+) cents it is large\.", "10000"))
    return f"CLASS {'large' if amount > limit else request.rule('Call the rest ([a-z]+)', 'small')}"


def _post(request: Request) -> str:
    line, account = find(r"^Line: (.+)$", request.last, "none"), find(r"^Account: (\w+)", request.last, "0")
    stamp = request.rule(r"Stamp it (\w+)\.", "seen")
    return f"{line}, account {account}, {stamp}."


def _records(runtime: Runtime) -> str:
    settings = runtime.settings
    record = json_in(say(runtime, "reader", user(settings)))
    accounts = fields(runtime.tool("get_account", {"payer": str(record.get("payer", ""))}))
    if "error" in accounts and settings["code.reader.repair"]:
        record = json_in(say(runtime, "reader", f"Repair the payer of {json.dumps(record)}\n{user(settings)}"))
        accounts = fields(runtime.tool("get_account", {"payer": str(record.get("payer", ""))}))
    rate = 1.1 if record.get("currency") == "francs" and settings["code.clerk.convert"] else 1.0
    cents = round(100 * real(record.get("amount")) / rate)
    day, _, month = str(record.get("due", "1/1")).partition("/")
    due = f"{int(real(month, 1)):02}-{int(real(day, 1)):02}"
    if settings["code.poster.dates"] == "month first":
        due = f"{int(real(day, 1)):02}-{int(real(month, 1)):02}"
    kind = find(r"CLASS (\w+)", say(runtime, "clerk", f"Cents: {cents}\nDue: {due}"), "unknown")
    line = f"{record.get('payer')} owes {cents / 100:.2f} by {due} ({kind})"
    return say(runtime, "poster", f"Line: {line}\nAccount: {accounts.get('number')}")


_RECORDS: Final = Program(
    name="letter records",
    group="letters as records",
    program=_records,
    final="poster",
    model=model_of({"reader": _read, "clerk": _sort, "poster": _post}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader. Give JSON.", "", ""),
            clerk=("You are the clerk. Sort.", "Above 9000 cents it is large.", "Call the rest small", ""),
            poster=("You are the poster. Post it.", "Stamp it new.", ""),
        ),
        "user.0": "We got 88.40 euros from Berg,",
        "user.1": "to be paid until 7/3.",
        "user.2": "",
        "code.reader.repair": True,
        "code.clerk.convert": True,
        "code.poster.dates": "day first",
        **rows(
            "get_account",
            Berg={"number": "K12", "since": 2019},
            Dahl={"number": "K31", "since": 2021},
            Nobody={"number": "K99", "since": 2000},
        ),
    },
    edits=(
        edit("upstream", "user.0", "We got 88.40 francs from Berg,", "We got 97.20 euros from Dahl,"),
        edit("upstream", "user.1", "to be paid until 9/4.", "payable until 7/3."),
        edit("upstream", "user.2", "Thank you.", "It is urgent.", decoy=True),
        edit("prompt", "prompt.reader.1", "Give whole amounts."),
        wording("reader", 2),
        edit("model", "model.reader.name", "m2"),
        edit("prompt", "prompt.clerk.1", "Above 5000 cents it is large."),
        edit("prompt", "prompt.clerk.2", "Call the rest minor"),
        wording("clerk", 3),
        edit("prompt", "prompt.poster.1", "Stamp it open."),
        wording("poster", 2),
        edit("model", "model.poster.max_tokens", 5),
        edit("upstream", "code.reader.repair", False, decoy=True),
        edit("upstream", "code.clerk.convert", False, decoy=True),
        edit("upstream", "code.poster.dates", "month first"),
        edit("tool", "row.get_account.Berg.number", "K14", "K20"),
        edit("tool", "row.get_account.Berg.since", 2020, decoy=True),
        *sampling("reader", "clerk", "poster"),
    ),
)

# ---- tenants: a router names the matter, code takes limit, tone and desk from the tenant's configuration


def _route(request: Request) -> str:
    text = request.last.lower()
    matter = "billing" if re.search(r"invoice|price|pay", text) else "device" if "printer" in text else "other"
    if request.model == "m2" and matter == "device":
        matter = "other"
    urgent = "urgent" if "now" in text and "Mark urgent ones." in request.system else "normal"
    return f"MATTER {matter} {urgent}"


def _serve(request: Request) -> str:
    limit, tone = number(r"credit up to (\d+)", request.last), find(r"in a (\w+) tone", request.last, "plain")
    amount = number(r"(\d+) crowns", request.last)
    opening = {"warm": "Gladly. ", "formal": "Dear customer, "}.get(tone, "")
    desk = find(r"^Desk: (.+)$", request.last, "desk 1")
    if amount and amount <= limit:
        body = f"we credit {amount} crowns"
    elif amount and "Offer half." in request.system:
        body = f"we credit {amount // 2} crowns"
    else:
        body = f"ask {desk}"
    return f"{opening}{body}."


def _tenants(runtime: Runtime) -> str:
    settings = runtime.settings
    tenant = find(r"^(\w+):", user(settings), "acme")
    config = fields(runtime.tool("get_config", {"tenant": tenant}))
    matter, urgency = "other", "normal"
    if match := re.search(r"MATTER (\w+) (\w+)", say(runtime, "router", user(settings))):
        matter, urgency = match.groups()
    limit = real(config.get("limit"))
    if matter != "billing" and settings["code.agent.limits"] == "billing":
        limit = 0
    desk = config.get(f"desk_{matter}", settings["code.agent.desk"])
    frame = str(settings["code.agent.frame"]).format(limit=f"{limit:g}", tone=config.get("tone", "plain"))
    wait = "today" if urgency == "urgent" else str(config.get("wait"))
    return say(runtime, "agent", f"{frame}\nDesk: {desk}\nAnswer: {wait}\n{user(settings)}")


_TENANTS: Final = Program(
    name="tenant desk",
    group="several tenants",
    program=_tenants,
    final="agent",
    model=model_of({"router": _route, "agent": _serve}),
    menu=(),
    settings={
        **prompts(
            router=("You are the router. Name the matter.", "Mark urgent ones.", ""),
            agent=("You are the agent. Answer.", "Keep to the limit.", ""),
        ),
        "code.agent.frame": "You may give credit up to {limit} and write in a {tone} tone.",
        "user.0": "acme: The invoice is wrong by 40 crowns.",
        "user.1": "",
        "code.agent.limits": "billing",
        "code.agent.desk": "desk 1",
        **rows(
            "get_config",
            acme={"limit": 50, "tone": "warm", "desk_billing": "Ida", "desk_device": "Tor", "wait": "in a day", "v": 3},
            umbra={"limit": 10, "tone": "formal", "desk_billing": "Rut", "wait": "in a week", "v": 3},
        ),
    },
    edits=(
        edit("upstream", "user.0", "umbra: The invoice is wrong by 40 crowns.", "acme: The printer broke, 40 crowns."),
        edit("upstream", "user.1", "We need it now.", "Kind regards.", decoy=True),
        edit("prompt", "prompt.router.1", "Mark nothing.", decoy=True),
        wording("router", 2),
        edit("model", "model.router.name", "m2", decoy=True),
        edit("prompt", "prompt.agent.1", "Offer half.", decoy=True),
        wording("agent", 2),
        edit("model", "model.agent.max_tokens", 2),
        edit("upstream", "code.agent.frame", "You may give credit up to {limit}.", "Give no credit, in a {tone} tone."),
        edit("upstream", "code.agent.limits", "all", decoy=True),
        edit("upstream", "code.agent.desk", "desk 7", decoy=True),
        edit("tool", "row.get_config.acme.limit", 30, 45),
        edit("tool", "row.get_config.acme.tone", "formal", "plain"),
        edit("tool", "row.get_config.acme.wait", "in an hour", decoy=True),
        edit("tool", "row.get_config.acme.v", 4, decoy=True),
        *sampling("router", "agent"),
    ),
)

PAPERS: Final = (_GUIDE, _RECORDS, _TENANTS)
