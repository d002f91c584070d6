"""Customer service: a triage agent hands over to sub-agents by a tool call, and a closer writes the note."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows
from tests.bench.attribution.programs.field.parsing import fields, items, real, tool
from tests.bench.attribution.programs.later.reading import find
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
    Program,
    converse,
    edit,
    sampling,
    say,
    system_message,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONValue

# ---- hub: triage calls `transfer`, a sub-agent with its own tools answers, a closer writes the case note

_TOPICS: Final = {
    "money": ("charged", "invoice", "refund", "paid", "€"),
    "parcel": ("parcel", "delivery", "courier"),
    "login": ("password", "login", "locked"),
}
_TRANSFER: Final = tool("transfer", "Hand the customer over to a desk.", "to", "note")
_MANUAL: Final = (
    "House rules: write in the language of the customer. Use short sentences and no slang. Never mention internal "
    "tools, queues or names of colleagues. Do not speculate about causes that nobody has confirmed. Quote amounts with "
    "two decimals and the currency. Dates are written as year, month and day. If a customer is angry, acknowledge it "
    "once and move on to the facts. If a customer writes about several matters, treat them one after another. Legal "
    "threats, press inquiries and questions about data protection are left to the head office. Do not ask for "
    "passwords, card numbers or copies of identity documents. Close the case only when every matter has been answered."
)
_OLDER: Final[list[JSONValue]] = [
    {"id": f"INV-{1000 + 83 * place}", "month": f"{2023 + place // 12}-{1 + place % 12:02d}", "amount": 24.9}
    for place in range(24)
]
_DESK_TOOLS: Final[dict[str, list[JSONValue]]] = {
    "billing": [tool("get_invoices", "List a customer's invoices.", "customer")],
    "shipping": [tool("track", "Track a parcel.", "parcel")],
    "accounts": [tool("get_account", "Read the state of an account.", "customer")],
}


def _triage(request: Request) -> str | ToolCall:
    desks = re.findall(r"Send (\w+) questions to (\w+)\.", request.system)
    text = request.last.lower()
    hits = [desk for topic, desk in desks if any(word in text for word in _TOPICS.get(topic, ()))]
    if not hits:
        return "Could you tell me a little more about it?"
    desk = hits[-1] if request.model == "m1-mini" else hits[0]
    return "transfer", {"to": desk, "note": find(r"(C-\d{4}|\d\d-\d{3})", request.last, "no reference")}


def _bill(request: Request) -> str | ToolCall:
    customer = find(r"(C-\d{4})", request.spoken, "C-0000")
    if "get_invoices" not in request.called:
        return "get_invoices", {"customer": customer}
    if "error" in request.latest_result:
        return "I cannot open the invoices right now, a colleague will write to you."
    invoices = items(request.latest_result.get("invoices"))
    months = [invoice.get("month") for invoice in invoices]
    double = next((row for row, month in zip(invoices, months, strict=True) if months.count(month) > 1), None)
    if double is None:
        return f"I see one charge per month for {customer}, so there is nothing to refund."
    amount = real(double.get("amount"))
    if amount > int(request.rule(r"Refund up to (\d+) euros without asking\.", "0")):
        return f"You were charged twice in {double.get('month')}; finance must approve the {amount:.2f} euros."
    days = request.rule(r"A refund takes (\d+) days\.", "some")
    return f"I refunded {amount:.2f} euros of invoice {double.get('id')}; it takes {days} days."


def _ship(request: Request) -> str | ToolCall:
    parcel = find(r"\b(\d\d-\d{3})\b", request.last, "00-000")
    if "track" not in request.called:
        return "track", {"parcel": parcel}
    due = str(request.latest_result.get("due", "unknown"))
    today = request.rule(r"Today is (\d{4}-\d\d-\d\d)\.", "0000-00-00")
    if request.latest_result.get("state") == "delivered":
        return f"Parcel {parcel} was delivered."
    if due < today:
        voucher = request.rule(r"Offer a voucher of (\d+) euros for a late parcel\.", "0")
        return f"Parcel {parcel} is late; here is a voucher of {voucher} euros."
    return f"Parcel {parcel} arrives on {due}."


def _unlock(request: Request) -> str | ToolCall:
    customer = find(r"(C-\d{4})", request.spoken, "C-0000")
    if "get_account" not in request.called:
        return "get_account", {"customer": customer}
    return f"The account {customer} is {request.latest_result.get('state', 'unknown')}; I sent you a link."


def _close(request: Request) -> str:
    replies = re.findall(r"^(\w+): (.+)$", request.last, re.MULTILINE)
    refunds = [find(r"refunded ([\d.]+)", reply) for _, reply in replies]
    desks = " then ".join(desk for desk, _ in replies)
    money = next((refund for refund in refunds if refund), "0.00")
    mood = "content" if request.temperature <= 0.5 else "probably content"
    last = replies[-1][1] if replies else "nothing was said"
    return f"Handled by {desks}; refunded {money}; customer {mood}. Last reply: {last}"


def _hub(runtime: Runtime) -> str:
    history: list[JSONValue] = []
    notes: list[str] = []
    for turn in range(3):
        text = str(runtime.settings[f"turn.{turn}"])
        history.append(user_message(text))
        message = runtime.model("triage", [system_message(runtime, "triage"), *history], [_TRANSFER])
        calls = items(message.get("tool_calls"))
        if not calls:
            history.append(message)
            continue
        arguments = fields(calls[0]["arguments"])
        runtime.tool("transfer", arguments, str(calls[0]["id"]))
        desk = str(arguments["to"])

        def serve(desk: str = desk) -> str:
            talk = [message for message in history if fields(message).get("role") == "user"]
            return text_of(converse(runtime, desk, talk, _DESK_TOOLS[desk])[-1])

        reply = runtime.agent(desk, f"{desk}: {arguments['note']}", serve)
        history.append({"role": "assistant", "content": reply})
        notes.append(f"{desk}: {reply}")
    return say(runtime, "closer", "\n".join(notes) or "none: no desk was asked")


_HUB: Final = Program(
    name="support hub",
    group="hand-offs by tool call",
    rewords=True,
    most=5,
    program=_hub,
    final="closer",
    model=model_of(
        {
            "triage agent": _triage,
            "billing desk": _bill,
            "shipping desk": _ship,
            "accounts desk": _unlock,
            "closer": _close,
        }
    ),
    menu=(),
    settings={
        **prompts(
            triage=(
                f"You are the triage agent. Never answer yourself; hand over with the tool. {_MANUAL}",
                "Send money questions to billing.",
                "Send parcel questions to shipping.",
                "Send login questions to accounts.",
                "",
            ),
            billing=(
                f"You are the billing desk. Read the invoices before you answer. {_MANUAL}",
                "Refund up to 50 euros without asking.",
                "A refund takes 5 days.",
                "",
            ),
            shipping=(
                f"You are the shipping desk. Track the parcel before you answer. {_MANUAL}",
                "Today is 2026-05-11.",
                "Offer a voucher of 5 euros for a late parcel.",
                "",
            ),
            accounts=("You are the accounts desk. Never send a password.", "", ""),
            closer=("You are the closer. Write the note of the case.", "", ""),
        ),
        "user.0": "",
        "turn.0": "Hello, this is C-8841. You charged me twice in April, I paid 24.90 € two times!",
        "turn.1": "Great. And where is my delivery? The number is 77-310.",
        "turn.2": "OK, thank you.",
        **rows(
            "transfer",
            billing={"status": "transferred", "waiting": 3},
            shipping={"status": "transferred", "waiting": 0},
            accounts={"status": "transferred", "waiting": 1},
        ),
        "row.get_invoices.C-8841.invoices": [
            *_OLDER,
            {"id": "INV-3107", "month": "March", "amount": 24.9},
            {"id": "INV-3188", "month": "April", "amount": 24.9},
            {"id": "INV-3189", "month": "April", "amount": 24.9},
        ],
        "row.get_invoices.C-8841.currency": "EUR",
        "row.get_invoices.C-8814.invoices": [{"id": "INV-2950", "month": "April", "amount": 9.9}],
        "row.track.77-310.state": "in transit",
        "row.track.77-310.due": "2026-05-12",
        "row.track.77-310.depot": "Basel",
        "row.track.77-311.state": "delivered",
        "row.track.77-311.due": "2026-05-08",
        **rows("get_account", C_8841={"state": "active", "since": 2019}),
    },
    edits=(
        edit(
            "upstream",
            "turn.0",
            "Hello, this is C-8814. You charged me twice in April, I paid 24.90 € two times!",
            "Hello, this is C-8841. I am locked out and you charged me twice in April.",
            "Hello, C-8841 here, my login does not work.",
        ),
        edit(
            "upstream",
            "turn.1",
            "Great. And where is my delivery? The number is 77-311.",
            "Great. When is it on my account?",
            "Great. Where is the parcel 77-310 that I paid for?",
        ),
        edit("upstream", "turn.2", "OK, thanks a lot.", "Perfect!", decoy=True),
        edit("prompt", "prompt.triage.1", "Send money questions to accounts.", "Send parcel questions to accounts."),
        edit("prompt", "prompt.triage.3", "Send login questions to billing.", decoy=True),
        wording("triage", 4),
        edit("model", "model.triage.name", "m1-mini", decoy=True),
        edit("prompt", "prompt.billing.1", "Refund up to 20 euros without asking.", "Refund up to 200 euros."),
        edit("prompt", "prompt.billing.2", "A refund takes 10 days.", decoy=True),
        wording("billing", 3),
        edit("prompt", "prompt.shipping.1", "Today is 2026-05-13.", "Today is 2026-05-12."),
        edit("prompt", "prompt.shipping.2", "Offer a voucher of 15 euros for a late parcel.", decoy=True),
        edit("tool", "row.track.77-310.due", "2026-05-10", "2026-05-15"),
        edit("tool", "row.track.77-310.depot", "Zürich-Mülligen", decoy=True),
        edit(
            "tool",
            "row.get_invoices.C-8841.invoices",
            [
                *_OLDER,
                {"id": "INV-3107", "month": "March", "amount": 24.9},
                {"id": "INV-3188", "month": "April", "amount": 24.9},
                {"id": "INV-3189", "month": "May", "amount": 24.9},
            ],
            [
                *_OLDER,
                {"id": "INV-3107", "month": "March", "amount": 24.9},
                {"id": "INV-3188", "month": "April", "amount": 39.9},
                {"id": "INV-3189", "month": "April", "amount": 24.9},
            ],
        ),
        edit("tool", "row.get_invoices.C-8841.error", "503 upstream connect error"),
        edit("tool", "row.transfer.billing.waiting", 12, decoy=True),
        edit("model", "model.closer.temperature", 0.9),
        *sampling("triage", "billing", "shipping"),
    ),
)

SUPPORT: Final[tuple[Program, ...]] = (_HUB,)
