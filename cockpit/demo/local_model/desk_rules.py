"""What the local model knows of an order desk's work: refunds, cancellations, parcels."""

import re
from dataclasses import replace
from datetime import date
from typing import Any, Final

from cockpit.demo.local_model.instructions import Instructions
from cockpit.demo.local_model.speech import Answer, Call, Decision
from cockpit.demo.local_model.text_reader import Document, Request, amount_in, day_in, order_ids, says, sentences

_REFUND: Final = re.compile(r"\b(refund|money back|reimburse|broken|damaged|defective|cracked)", re.IGNORECASE)
_DAMAGED: Final = re.compile(r"\b(broken|damaged|defective|cracked)", re.IGNORECASE)
_CANCEL: Final = re.compile(r"\bcancel", re.IGNORECASE)
_PARCEL: Final = re.compile(r"\b(where|track|status|arriv\w+|parcel|shipped|deliver\w*|late)\b", re.IGNORECASE)
_YES: Final = re.compile(r"^\W*(yes|yes please|please do|go ahead|confirmed?|ok(ay)?|sure)\b", re.IGNORECASE)
_MOST_MONEY: Final = 1e12
_WITHIN: Final = re.compile(r"within (\d+) days", re.IGNORECASE)


def decide(request: Request, rules: Instructions, answer: Answer) -> Decision | None:
    """The next thing to do for a customer's order; None when this is not about one."""
    if request.tool("get_order") is None:
        return None
    asked = _matter(request)
    wanted = order_ids(request.asked) or order_ids(" ".join(reversed(request.earlier)))
    topic = next((work for pattern, work in _WORK if pattern.search(asked)), None)
    if topic is None:
        return None
    if not wanted:
        # A question about the rules is answered from the documents.
        question = request.documents and "?" in request.asked
        return None if question else answer.say("Which order is it about?", "Please send me its number.")
    return _orders_first(request, wanted, answer) or _each(request, rules, answer, wanted, topic)


def _matter(request: Request) -> str:
    """What the customer wants: a yes, or a bare order number, is about what was asked before."""
    own = any(pattern.search(request.asked) for pattern, _ in _WORK) and not _YES.match(request.asked)
    return request.asked if own else " ".join([*request.earlier, request.asked])


def _orders_first(request: Request, wanted: list[str], answer: Answer) -> Decision | None:
    """Look up the orders that were not looked up yet, all at once; once more where that failed."""
    missing = [
        order_id
        for order_id in wanted
        if request.result("get_order", order_id=order_id) is None
        or (
            _failed(request.result("get_order", order_id=order_id))
            and len(request.used("get_order", order_id=order_id)) == 1
        )
    ]
    calls = tuple(Call(name="get_order", arguments={"order_id": order_id}) for order_id in missing)
    return Decision(calls=calls) if calls else None


def _each(request: Request, rules: Instructions, answer: Answer, wanted: list[str], topic: Any) -> Decision:
    """The first order that needs a call decides; else all their sentences together."""
    said: list[Decision] = []
    for order_id in wanted:
        order = request.result("get_order", order_id=order_id)
        if _failed(order):
            said.append(_unknown(request, answer, order_id, order))
        else:
            named = replace(answer, customer=str(order.get("customer", "")))
            said.append(topic(request, rules, named, order))
        if said[-1].calls:
            return said[-1]
    return said[0] if len(said) == 1 else Decision(text=" ".join(decision.text for decision in said))


def _unknown(request: Request, answer: Answer, order_id: str, order: Any) -> Decision:
    reason = order.get("error", "it gave no answer") if isinstance(order, dict) else str(order)
    if "timed out" in str(reason):
        ticket = _ticket(request, answer, order_id, f"Order system did not answer: {reason}")
        if ticket.calls:
            return ticket
        return answer.say(f"I could not look up order {order_id}: {reason}.", ticket.text, sorry=True)
    return answer.say(f"I could not find order {order_id}: {reason}.", "Please check the number.", sorry=True)


def _refund(request: Request, rules: Instructions, answer: Answer, order: dict[str, Any]) -> Decision:
    order_id = str(order.get("order_id", ""))
    done = request.result("issue_refund", order_id=order_id)
    if done is not None:
        return _refunded(request, rules, answer, order, done)
    policy, refusal = _entitlement(request, rules, order)
    if refusal:
        return answer.say(refusal, sorry=True, policies=policy)
    if rules.never_refund or rules.ticket_instead:
        return _handed_over(request, answer, order_id, "I may not refund orders myself.")
    amount = _wanted_amount(request, rules, order)
    if rules.refund_limit is not None and amount > rules.refund_limit:
        why = f"{_euros(amount)} is over my limit of {_euros(rules.refund_limit)} per order."
        return _handed_over(request, answer, order_id, why)
    if rules.confirm_refunds and not (_YES.match(request.asked) and "Shall I refund" in request.said_before):
        return answer.say(f"Order {order_id} ({_what(order)}) can be refunded.", f"Shall I refund {_euros(amount)}?")
    sent = _plain(amount * 100 if rules.refunds_in_cents else amount)
    called = answer.call("issue_refund", order_id=order_id, amount=sent, reason=_reason(request))
    return called or answer.say("I have no way to refund this order from here.", sorry=True)


def _refunded(request: Request, rules: Instructions, answer: Answer, order: dict[str, Any], result: Any) -> Decision:
    """What to do and say once the refund tool has answered."""
    order_id = str(order.get("order_id", ""))
    policy, _ = _entitlement(request, rules, order)
    if not isinstance(result, dict) or result.get("status") != "refunded":
        reason = _why_not(result)
        if rules.ticket_when_refused:
            return _handed_over(request, answer, order_id, f"The refund was refused: {reason}.")
        sorry = f"I cannot refund order {order_id}: {reason}."
        return answer.say(sorry, "Please write to our supervisors if you do not agree.", sorry=True)
    paid = _euros(_number(result.get("amount")))
    if rules.send_email and order.get("email") and not request.used("send_email"):
        body = f"We have refunded {paid} for order {order_id}."
        if mail := answer.call("send_email", to=order["email"], subject=f"Refund for {order_id}", body=body):
            return mail
    keep = [s for document in _cited(request, policy) for s in sentences(document.text) if "keep" in s]
    kept = ["You can keep the damaged item."] if keep else []
    done = f"I have refunded {paid} for order {order_id} ({_what(order)})."
    return answer.say(done, "The money is in your account within 5 working days.", *kept, policies=policy)


def _cancel(request: Request, rules: Instructions, answer: Answer, order: dict[str, Any]) -> Decision:
    order_id = str(order.get("order_id", ""))
    result = request.result("cancel_order", order_id=order_id)
    policy = [document.id for document in request.documents if says(document.text, r"\bcancel")][:1]
    if isinstance(result, dict) and result.get("status") == "cancelled":
        return answer.say(
            f"Order {order_id} ({_what(order)}) is cancelled.", "Nothing will be charged.", policies=policy
        )
    if result is not None or order.get("status") not in {"processing", "paid"}:
        why = _why_not(result) if result is not None else f"it is {order.get('status', 'on its way')} already"
        return answer.say(
            f"Order {order_id} cannot be cancelled: {why}.", "You can return it.", sorry=True, policies=policy
        )
    called = answer.call("cancel_order", order_id=order_id)
    return called or answer.say(f"I have no way to cancel order {order_id} from here.", sorry=True)


def _parcel(request: Request, rules: Instructions, answer: Answer, order: dict[str, Any]) -> Decision:
    order_id, status = str(order.get("order_id", "")), str(order.get("status", "unknown"))
    parcel = request.result("get_shipment", order_id=order_id)
    tries = len(request.used("get_shipment", order_id=order_id))
    ask_carrier = status == "shipped" and (parcel is None or (_failed(parcel) and tries < 2))
    if ask_carrier and (called := answer.call("get_shipment", order_id=order_id)):
        return called
    if parcel is not None and _failed(parcel):
        return _handed_over(request, answer, order_id, f"The carrier gave no answer about order {order_id}.")
    if isinstance(parcel, dict):
        where = f"it is {parcel.get('state', 'on its way')} with {parcel.get('carrier', 'the carrier')}"
        due = f"It is expected on {parcel['expected_on']}." if parcel.get("expected_on") else ""
        return answer.say(f"Order {order_id} ({_what(order)}) is shipped, and {where}.", due)
    on = f" on {order['delivered_on']}" if status == "delivered" and order.get("delivered_on") else ""
    return answer.say(f"Order {order_id} ({_what(order)}) is {status}{on}.")


def _handed_over(request: Request, answer: Answer, order_id: str, why: str) -> Decision:
    """A ticket for a supervisor, then the answer that says so."""
    ticket = _ticket(request, answer, order_id, why)
    return ticket if ticket.calls else answer.say(why, ticket.text, sorry=True)


def _ticket(request: Request, answer: Answer, order_id: str, why: str) -> Decision:
    opened = request.result("create_ticket", order_id=order_id)
    if isinstance(opened, dict) and opened.get("ticket_id"):
        return Decision(text=f"A supervisor looks into it under ticket {opened['ticket_id']}.")
    called = answer.call("create_ticket", order_id=order_id, subject=why) if opened is None else None
    return called or Decision(text="Please write to our supervisors.")


def _entitlement(request: Request, rules: Instructions, order: dict[str, Any]) -> tuple[list[str], str]:
    """The policy that governs this refund, and why it forbids it, if it does."""
    about = r"\bdamaged\b" if _DAMAGED.search(_matter(request)) else r"\breturn"
    for document in request.documents:
        found = _WITHIN.search(document.text)
        if not says(document.text, about, r"within \d+ days") or found is None:
            continue
        age = _days_since(order.get("delivered_on"), rules.today)
        if age is not None and age > int(found[1]):
            rule = next(s for s in sentences(document.text) if _WITHIN.search(s))
            return [document.id], f"Order {order.get('order_id')} was delivered {age} days ago. {rule}"
        return [document.id], ""
    return [], ""


def _wanted_amount(request: Request, rules: Instructions, order: dict[str, Any]) -> float:
    """In euros, as far as the model understood the units: a named amount, a named item's price, or the total."""
    if (named := amount_in(_matter(request))) is not None:
        return named
    asked = _matter(request).lower()
    items = _items(order)
    meant = [
        item for item in items if str(item.get("name", "")).split()[-1:] and str(item["name"]).split()[-1] in asked
    ]
    price = (
        meant[0].get("price") if len(items) > 1 and len(meant) == 1 else order.get("total", order.get("total_cents"))
    )
    if isinstance(price, str):
        return amount_in(price) or amount_in(f"{price} EUR") or 0.0
    cents = rules.totals_in_cents or "total_cents" in order or order.get("unit") == "cents"
    return round(_number(price) / 100, 2) if cents else _number(price)


def _days_since(day: object, today: date | None) -> int | None:
    since = day_in(day) if isinstance(day, str) else None
    return None if today is None or since is None else (today - since).days


def _items(order: dict[str, Any]) -> list[dict[str, Any]]:
    listed = order.get("items")
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _number(value: object) -> float:
    """A number of a tool's result; whatever else stands there counts nothing."""
    return float(value) if isinstance(value, int | float) and abs(value) < _MOST_MONEY else 0.0


def _cited(request: Request, ids: list[str]) -> list[Document]:
    return [document for document in request.documents if document.id in ids]


def _what(order: dict[str, Any]) -> str:
    return ", ".join(str(item.get("name")) for item in _items(order)) or "no items"


def _why_not(result: Any) -> str:
    if isinstance(result, dict):
        return str(result.get("reason") or result.get("error") or result.get("status") or "no reason was given")
    return str(result)


def _reason(request: Request) -> str:
    return "damaged" if _DAMAGED.search(_matter(request)) else "returned"


def _plain(amount: float) -> float:
    """A whole number without its decimal point, as a person would write it."""
    return round(amount) if amount == round(amount) else round(amount, 2)


def _euros(amount: float) -> str:
    return f"{amount:.2f} EUR"


def _failed(result: Any) -> bool:
    return not isinstance(result, dict) or "error" in result


_WORK: Final = ((_CANCEL, _cancel), (_REFUND, _refund), (_PARCEL, _parcel))
