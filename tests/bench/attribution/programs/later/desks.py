"""Service desks: a scratchpad of thoughts and actions, a dialogue that code drives by states, notes at a hand-over."""

import json
import re
from datetime import date
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.later.reading import day_of, decimal, find, number
from tests.bench.attribution.programs.model import Request, model_of, parse
from tests.bench.attribution.programs.shapes import (
    Edit,
    Program,
    edit,
    sampling,
    say,
    wording,
)
from traces.core.json_types import JSONObject

# ---- help desk: the whole scratchpad is one text, observations are cut, malformed actions are sent back

_OBSERVATION: Final = r"Action: (\w+)\nAction Input: [^\n]*\nObservation: ([^\n]*)"


def _diagnose(request: Request) -> str:
    question, _, pad = request.last.partition("\nScratchpad:")
    observations: list[tuple[str, str]] = re.findall(_OBSERVATION, pad)
    seen = {action: text for action, text in observations if "not valid JSON" not in text}
    asset = find(r"\b(LT-\d+)\b", question, "unknown")
    service = find(r"\b(vpn|email|printer)\b", question.lower(), "network")
    checks: list[tuple[str, JSONObject]] = [("device_info", {"asset": asset}), ("service_status", {"name": service})]
    if "Check the service before the device." in request.system:
        checks.reverse()
    for action, arguments in checks:
        if action not in seen:
            malformed = request.model == "m2" and "not valid JSON" not in pad
            text = asset if malformed else json.dumps(arguments)
            return f"Thought: I need the {action.replace('_', ' ')} first.\nAction: {action}\nAction Input: {text}"
    problem = _problem(request, seen, service)
    if "search_kb" not in seen:
        arguments = {"query": problem}
        return f"Thought: it looks like {problem}.\nAction: search_kb\nAction Input: {json.dumps(arguments)}"
    article = find(r"article=(KB-\d+)", seen["search_kb"], "none")
    fix = find(r"fix=([^;]+)", seen["search_kb"], "call the service desk")
    minutes = number(r"minutes=(\d+)", seen["search_kb"], 5)
    return f"Thought: I know enough.\nFinal Answer: {article} | {fix} | {minutes} minutes"


def _problem(request: Request, seen: dict[str, str], service: str) -> str:
    """Name what is wrong: an outage before an old client before an expired certificate."""
    if "operational" not in seen["service_status"]:
        return f"outage of {service}"
    client = number(r"client=(\d+)", seen["device_info"], 9)
    if client < int(request.rule(r"A client older than version (\d+) must be updated\.", "0")):
        return "client outdated"
    return "certificate expired" if "expired" in seen["device_info"] else f"general {service}"


def _helpdesk(runtime: Runtime) -> str:
    pad, question = "", user(runtime.settings)
    for _ in range(7):
        thought = say(runtime, "engineer", f"Question: {question}\nScratchpad:{pad}")
        if answer := re.search(r"Final Answer: (\S+) \| ([^|]+) \| (\d+) minutes", thought):
            priority = "P2" if int(answer[3]) > 15 else "P3"
            asset = find(r"\b(LT-\d+)\b", question, "NO ASSET")
            return f"{priority} | {asset} | {answer[2].capitalize()} ({answer[1]}, about {answer[3]} minutes)"
        action, text = find(r"Action: (\w+)", thought, "none"), find(r"Action Input: (\{.*?\})", thought)
        if text:
            row = runtime.tool(action, parse(text))
            listing = "; ".join(f"{name}={value}" for name, value in row.items()) if isinstance(row, dict) else ""
            observation = listing[:88].rstrip()
        else:
            observation = "the action input is not valid JSON"
        pad += f"\n{thought}\nObservation: {observation}"
    return "P1 | The assistant gave up"


_HELPDESK: Final = Program(
    name="help desk",
    group="scratchpad text",
    most=4,
    program=_helpdesk,
    final="engineer",
    model=model_of({"support engineer": _diagnose}),
    menu=(),
    settings={
        **prompts(
            engineer=(
                "You are the support engineer. Reply with a thought and one action, or with the final answer.",
                "The actions are device_info, service_status and search_kb.",
                "A client older than version 4 must be updated.",
                "",
                "",
            )
        ),
        "user.0": "My laptop LT-4471 has not been able to reach the VPN since this morning.",
        "user.1": "",
        **rows(
            "device_info",
            LT_4471={"os": "Windows 11", "client": "4.9", "certificate": "expired on 28 February", "site": "Leeds"},
            LT_2090={"os": "Windows 10", "client": "3.2", "certificate": "valid until May", "site": "York"},
        ),
        **rows("service_status", vpn={"state": "operational", "users": 812}, email={"state": "degraded", "users": 95}),
        "row.search_kb.certificate expired.article": "KB-118",
        "row.search_kb.certificate expired.fix": "renew the certificate in the portal",
        "row.search_kb.certificate expired.minutes": 10,
        "row.search_kb.client outdated.article": "KB-204",
        "row.search_kb.client outdated.fix": "install the current client and restart",
        "row.search_kb.client outdated.minutes": 25,
        "row.search_kb.general vpn.article": "KB-7",
        "row.search_kb.general vpn.fix": "restart the laptop",
        "row.search_kb.general vpn.minutes": 5,
        "row.search_kb.outage of vpn.article": "KB-31",
        "row.search_kb.outage of vpn.fix": "wait for the notice that it is back",
        "row.search_kb.outage of vpn.minutes": 60,
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "My laptop LT-2090 has not been able to reach the VPN since this morning.",
            "Since this morning the VPN is not reachable from my laptop LT-4471.",
        ),
        edit("upstream", "user.1", "I have a call with a client at ten.", "Thanks a lot for looking.", decoy=True),
        edit("prompt", "prompt.engineer.2", "A client older than version 5 must be updated."),
        edit("prompt", "prompt.engineer.3", "Check the service before the device.", decoy=True),
        wording("engineer", 4),
        edit("model", "model.engineer.name", "m2", decoy=True),
        edit("model", "model.engineer.max_tokens", 300, 800, decoy=True),
        edit("tool", "row.device_info.LT-4471.os", "Windows 11 Enterprise, version 24H2, managed by the Leeds office"),
        edit("tool", "row.device_info.LT-4471.client", "3.8", "5.1"),
        edit("tool", "row.device_info.LT-4471.certificate", "valid until 3 June", "expired on 1 March"),
        edit("tool", "row.device_info.LT-4471.site", "Hull", decoy=True),
        edit("tool", "row.service_status.vpn.state", "degraded"),
        edit("tool", "row.service_status.vpn.users", 640, 0, decoy=True),
        edit("tool", "row.search_kb.certificate expired.fix", "ask the front desk for a new certificate"),
        Edit(
            category="tool",
            variants=(
                (
                    ("row.search_kb.certificate expired.article", "KB-118"),
                    ("row.search_kb.certificate expired.minutes", 20),
                ),
                (
                    ("row.search_kb.certificate expired.article", "KB-121"),
                    ("row.search_kb.certificate expired.minutes", 12),
                ),
            ),
        ),
        *sampling("engineer"),
    ),
)

# ---- returns: the dialogue's state is code; models only read a turn, judge the facts and word the reply

_TODAY: Final = date(2026, 2, 10)


def _understand(request: Request) -> str:
    state, _, text = request.last.partition("\nCustomer: ")
    order = find(r"(\d{5})", text, "none")
    hints = re.findall(r"Treat (\w+) as (\w+)\.", request.system)
    reasons = [reason for word, reason in hints if word in text.lower()]
    reason = reasons[-1 if request.model == "m2" else 0] if reasons else "none"
    agreed = bool(re.search(r"\b(yes|go ahead|fine)\b", text.lower()))
    if "Read a mere thank you as consent." in request.system:
        agreed = agreed or "thank" in text.lower()
    return f"order={order}; reason={reason}; consent={'yes' if agreed else 'no'} ({state.lower()})"


def _judge_return(request: Request) -> str:
    days, price = number(r"days=(\d+)", request.last), decimal(r"price=([\d.]+)", request.last)
    defect = "reason=defect" in request.last
    if days <= int(request.rule(r"Refund within (\d+) days\.", "14")) or defect:
        fee = 0.0 if defect else float(request.rule(r"The label costs (\d+\.\d+) euros\.", "0"))
        return f"Decision: refund of {max(price - fee, 0):.2f} euros."
    if days <= int(request.rule(r"Give a voucher within (\d+) days\.", "0")):
        share = int(request.rule(r"A voucher is worth (\d+) percent\.", "100"))
        return f"Decision: voucher of {price * share / 100:.2f} euros."
    return "Decision: no refund."


def _reply(request: Request) -> str:
    facts: dict[str, str] = dict(re.findall(r"^(\w+): (.+)$", request.last, re.MULTILINE))
    match facts.get("state"):
        case "NEED_ORDER":
            return "I am happy to help. What is your order number?"
        case "NEED_REASON":
            return f"I have found your {facts.get('item', 'order')}. Why would you like to return it?"
        case "OFFER":
            return f"We can offer this: {facts.get('offer', 'nothing')}. Shall I go ahead?"
        case "DONE":
            days = request.rule(r"Ask for the parcel within (\d+) days\.")
            parcel = f" Please post the parcel within {days} days." if days else ""
            return (
                f"Your return {facts.get('case', '')} ({facts.get('reason')}): {facts.get('offer', 'nothing')}.{parcel}"
            )
    return "Is there anything else?"


def _returns(runtime: Runtime) -> str:
    state, facts, reply = "NEED_ORDER", dict[str, str](), ""
    for turn in range(5):
        reading = say(runtime, "reader", f"{state}\nCustomer: {runtime.settings[f'turn.{turn}']}")
        order, reason = find(r"order=(\d+)", reading), find(r"reason=(\w+)", reading, "none")
        if reason != "none":
            facts["reason"] = reason
        if state == "NEED_ORDER" and order:
            row = runtime.tool("get_order", {"id": f"ORD-{order}"})
            if isinstance(row, dict) and "error" not in row:
                placed = day_of(str(row["placed"]))
                facts |= {"item": str(row["item"]), "price": str(row["price"]), "days": str((_TODAY - placed).days)}
                facts["case"], state = f"R{order[-3:]}-{placed:%y%m}", "NEED_REASON"
        elif state == "OFFER" and "consent=yes" in reading:
            state = "DONE"
        if state == "NEED_REASON" and "reason" in facts:
            listing = "; ".join(f"{name}={facts[name]}" for name in ("days", "price", "reason"))
            offer = find(r"Decision: (.+?)\.(?: |$)", say(runtime, "policy", listing), "no refund")
            facts["offer"], state = offer, "OFFER"
        shown = "\n".join(f"{name}: {facts[name]}" for name in ("item", "case", "reason", "offer") if name in facts)
        reply = say(runtime, "speaker", f"state: {state}\n{shown}")
    return reply


_RETURNS: Final = Program(
    name="returns",
    group="state machine",
    most=5,
    program=_returns,
    final="speaker",
    model=model_of({"reader": _understand, "policy officer": _judge_return, "speaker": _reply}),
    menu=(),
    settings={
        **prompts(
            reader=(
                "You are the reader. Extract the order number, the reason and the consent.",
                "Treat size as fit.",
                "Treat torn as defect.",
                "Treat people as capacity.",
                "",
                "",
            ),
            policy=(
                "You are the policy officer. Decide on returns from the facts.",
                "Refund within 30 days.",
                "Give a voucher within 60 days.",
                "A voucher is worth 90 percent.",
                "The label costs 6.90 euros.",
                "",
            ),
            speaker=("You are the speaker. Word the reply for the customer.", "", ""),
        ),
        "user.0": "",
        "turn.0": "Hi, I want to send back the tent I bought.",
        "turn.1": "The order number is 20458.",
        "turn.2": "The size is wrong, it does not fit four people.",
        "turn.3": "Yes, please go ahead.",
        "turn.4": "Thank you for your help.",
        **rows(
            "get_order",
            ORD_20458={"item": "Fjell 4 tent", "price": "129.90", "placed": "03/01/2026", "carrier": "DHL"},
            ORD_20459={"item": "trail shoes", "price": "84.00", "placed": "20/01/2026", "carrier": "UPS"},
        ),
    },
    edits=(
        edit("upstream", "turn.0", "Hello, I would like to return something.", "Hi, my tent is torn.", decoy=False),
        edit("upstream", "turn.1", "The order number is 20459.", "It is order 20458, I think."),
        edit("upstream", "turn.2", "It came torn at one seam.", "The size is wrong and one seam is torn."),
        edit("upstream", "turn.3", "What else can you do?", "That is fine."),
        edit("prompt", "prompt.reader.1", "Treat fit as defect.", "Treat people as fit."),
        edit("prompt", "prompt.reader.4", "Read a mere thank you as consent."),
        wording("reader", 5),
        edit("model", "model.reader.name", "m2"),
        edit("prompt", "prompt.policy.1", "Refund within 45 days.", "Refund within 14 days."),
        edit("prompt", "prompt.policy.2", "Give a voucher within 35 days."),
        edit("prompt", "prompt.policy.3", "A voucher is worth 100 percent.", "A voucher is worth 75 percent."),
        edit("prompt", "prompt.policy.4", "The label costs 4.50 euros.", decoy=True),
        wording("policy", 5),
        edit("model", "model.policy.name", "m2", decoy=True),
        edit("prompt", "prompt.speaker.1", "Ask for the parcel within 14 days."),
        wording("speaker", 2),
        edit("tool", "row.get_order.ORD-20458.placed", "13/01/2026", "03/11/2025", "28/12/2025"),
        edit("tool", "row.get_order.ORD-20458.price", "119.00"),
        edit("tool", "row.get_order.ORD-20458.item", "Fjell 4 tent, green", decoy=True),
        edit("tool", "row.get_order.ORD-20458.carrier", "Royal Mail", decoy=True),
        *sampling("reader", "policy", "speaker"),
    ),
)

DESKS: Final = (_HELPDESK, _RETURNS)
REWORDABLE: Final = (_RETURNS,)
