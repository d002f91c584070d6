"""Rules of the local model for an order desk: refunds, cancellations, parcels."""

import re
from dataclasses import replace
from datetime import date
from typing import Any, Final

from cockpit.demo.local_model.instructions import Instructions
from cockpit.demo.local_model.speech import Answer, Call, Decision
from cockpit.demo.local_model.text_reader import Document, Request, amount_in, day_in, order_ids, says, sentences
from traces.core.json_access import as_objects, member

_REFUND: Final = re.compile(r"\b(refund|money back|reimburse|broken|damaged|defective|cracked)", re.IGNORECASE)
_DAMAGE: Final = re.compile(r"\b(broken|damaged|defective|cracked)", re.IGNORECASE)
_CANCEL: Final = re.compile(r"\bcancel", re.IGNORECASE)
_PARCEL: Final = re.compile(r"\b(where|track|status|arriv\w+|parcel|shipped|deliver\w*|late)\b", re.IGNORECASE)
_YES: Final = re.compile(r"^\W*(yes|yes please|please do|go ahead|confirmed?|ok(ay)?|sure)\b", re.IGNORECASE)
_MOST_MONEY: Final = 1e12
_DEADLINE: Final = re.compile(r"within (\d+) days", re.IGNORECASE)


def decide(request: Request, rules: Instructions, answer: Answer) -> Decision | None:
    """Decide the next action for a customer's order; None if the request is about something else."""
    if request.tool("get_order") is None:
        return None
    matter = _matter(request)
    wanted_ids = order_ids(request.question) or order_ids(" ".join(reversed(request.earlier)))
    topic = next((work for pattern, work in _WORK if pattern.search(matter)), None)
    if topic is None:
        return None
    if not wanted_ids:
        # A question about the rules is answered from the documents.
        question = request.documents and "?" in request.question
        return None if question else answer.say("Which order is it about?", "Please send me its number.")
    return _orders_first(request, wanted_ids, answer) or _all_orders(request, rules, answer, wanted_ids, topic)


def _matter(request: Request) -> str:
    """Return the customer's request. A *yes* or a bare order number refers to the earlier messages."""
    own = any(pattern.search(request.question) for pattern, _ in _WORK) and not _YES.match(request.question)
    return request.question if own else " ".join([*request.earlier, request.question])


def _orders_first(request: Request, wanted_ids: list[str], answer: Answer) -> Decision | None:
    """Look up all missing orders at once; retry a failed look-up once."""
    missing = [
        order_id
        for order_id in wanted_ids
        if request.result("get_order", order_id=order_id) is None
        or (
            _is_failure(request.result("get_order", order_id=order_id))
            and len(request.calls_of("get_order", order_id=order_id)) == 1
        )
    ]
    calls = tuple(Call(name="get_order", arguments={"order_id": order_id}) for order_id in missing)
    return Decision(calls=calls) if calls else None


def _all_orders(request: Request, rules: Instructions, answer: Answer, wanted_ids: list[str], topic: Any) -> Decision:
    """Return the call of the first order that needs one, or the sentences of all orders."""
    decisions: list[Decision] = []
    for order_id in wanted_ids:
        order = request.result("get_order", order_id=order_id)
        if _is_failure(order):
            decisions.append(_unknown(request, answer, order_id, order))
        else:
            named_answer = replace(answer, customer=str(order.get("customer", "")))
            decisions.append(topic(request, rules, named_answer, order))
        if decisions[-1].calls:
            return decisions[-1]
    return decisions[0] if len(decisions) == 1 else Decision(text=" ".join(decision.text for decision in decisions))


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
    result = request.result("issue_refund", order_id=order_id)
    if result is not None:
        return _after_refund(request, rules, answer, order, result)
    policy, refusal = _entitlement(request, rules, order)
    if refusal:
        return answer.say(refusal, sorry=True, policies=policy)
    if rules.never_refund or rules.ticket_instead:
        return _hand_over(request, answer, order_id, "I may not refund orders myself.")
    amount = _wanted_amount(request, rules, order)
    if rules.refund_limit is not None and amount > rules.refund_limit:
        reason = f"{_euros(amount)} is over my limit of {_euros(rules.refund_limit)} per order."
        return _hand_over(request, answer, order_id, reason)
    if rules.confirm_refunds and not (_YES.match(request.question) and "Shall I refund" in request.last_answer):
        return answer.say(
            f"Order {order_id} ({_item_names(order)}) can be refunded.", f"Shall I refund {_euros(amount)}?"
        )
    sent_amount = _plain(amount * 100 if rules.refunds_in_cents else amount)
    call = answer.call("issue_refund", order_id=order_id, amount=sent_amount, reason=_reason(request))
    return call or answer.say("I have no way to refund this order from here.", sorry=True)


def _after_refund(
    request: Request, rules: Instructions, answer: Answer, order: dict[str, Any], result: Any
) -> Decision:
    """Decide the next action after the refund tool has responded."""
    order_id = str(order.get("order_id", ""))
    policy, _ = _entitlement(request, rules, order)
    if not isinstance(result, dict) or result.get("status") != "refunded":
        reason = _why_not(result)
        if rules.ticket_when_refused:
            return _hand_over(request, answer, order_id, f"The refund was refused: {reason}.")
        sorry = f"I cannot refund order {order_id}: {reason}."
        return answer.say(sorry, "Please write to our supervisors if you do not agree.", sorry=True)
    refunded_amount = _euros(_number(result.get("amount")))
    if rules.send_email and order.get("email") and not request.calls_of("send_email"):
        body = f"We have refunded {refunded_amount} for order {order_id}."
        if mail := answer.call("send_email", to=order["email"], subject=f"Refund for {order_id}", body=body):
            return mail
    keep = [s for document in _documents_by_id(request, policy) for s in sentences(document.text) if "keep" in s]
    keep_note = ["You can keep the damaged item."] if keep else []
    confirmation = f"I have refunded {refunded_amount} for order {order_id} ({_item_names(order)})."
    return answer.say(confirmation, "The money is in your account within 5 working days.", *keep_note, policies=policy)


def _cancel(request: Request, rules: Instructions, answer: Answer, order: dict[str, Any]) -> Decision:
    order_id = str(order.get("order_id", ""))
    result = request.result("cancel_order", order_id=order_id)
    policy = [document.id for document in request.documents if says(document.text, r"\bcancel")][:1]
    if member(result, "status") == "cancelled":
        return answer.say(
            f"Order {order_id} ({_item_names(order)}) is cancelled.", "Nothing will be charged.", policies=policy
        )
    if result is not None or order.get("status") not in {"processing", "paid"}:
        reason = _why_not(result) if result is not None else f"it is {order.get('status', 'on its way')} already"
        return answer.say(
            f"Order {order_id} cannot be cancelled: {reason}.", "You can return it.", sorry=True, policies=policy
        )
    call = answer.call("cancel_order", order_id=order_id)
    return call or answer.say(f"I have no way to cancel order {order_id} from here.", sorry=True)


def _parcel(request: Request, rules: Instructions, answer: Answer, order: dict[str, Any]) -> Decision:
    order_id, status = str(order.get("order_id", "")), str(order.get("status", "unknown"))
    parcel = request.result("get_shipment", order_id=order_id)
    tries = len(request.calls_of("get_shipment", order_id=order_id))
    ask_carrier = status == "shipped" and (parcel is None or (_is_failure(parcel) and tries < 2))
    if ask_carrier and (call := answer.call("get_shipment", order_id=order_id)):
        return call
    if parcel is not None and _is_failure(parcel):
        return _hand_over(request, answer, order_id, f"The carrier gave no answer about order {order_id}.")
    if isinstance(parcel, dict):
        state = f"it is {parcel.get('state', 'on its way')} with {parcel.get('carrier', 'the carrier')}"
        due = f"It is expected on {parcel['expected_on']}." if parcel.get("expected_on") else ""
        return answer.say(f"Order {order_id} ({_item_names(order)}) is shipped, and {state}.", due)
    delivery_date = f" on {order['delivered_on']}" if status == "delivered" and order.get("delivered_on") else ""
    return answer.say(f"Order {order_id} ({_item_names(order)}) is {status}{delivery_date}.")


def _hand_over(request: Request, answer: Answer, order_id: str, reason: str) -> Decision:
    """Create a ticket for a supervisor, then announce it."""
    ticket = _ticket(request, answer, order_id, reason)
    return ticket if ticket.calls else answer.say(reason, ticket.text, sorry=True)


def _ticket(request: Request, answer: Answer, order_id: str, reason: str) -> Decision:
    ticket = request.result("create_ticket", order_id=order_id)
    if ticket_id := member(ticket, "ticket_id"):
        return Decision(text=f"A supervisor looks into it under ticket {ticket_id}.")
    call = answer.call("create_ticket", order_id=order_id, subject=reason) if ticket is None else None
    return call or Decision(text="Please write to our supervisors.")


def _entitlement(request: Request, rules: Instructions, order: dict[str, Any]) -> tuple[list[str], str]:
    """Return the policy for this refund, and the reason if it forbids the refund."""
    topic = r"\bdamaged\b" if _DAMAGE.search(_matter(request)) else r"\breturn"
    for document in request.documents:
        deadline = _DEADLINE.search(document.text)
        if not says(document.text, topic, r"within \d+ days") or deadline is None:
            continue
        age = _days_since(order.get("delivered_on"), rules.today)
        if age is not None and age > int(deadline[1]):
            rule = next(s for s in sentences(document.text) if _DEADLINE.search(s))
            return [document.id], f"Order {order.get('order_id')} was delivered {age} days ago. {rule}"
        return [document.id], ""
    return [], ""


def _wanted_amount(request: Request, rules: Instructions, order: dict[str, Any]) -> float:
    """Return the amount in euros as the model understood it: a stated amount, an item's price, or the total."""
    if (stated_amount := amount_in(_matter(request))) is not None:
        return stated_amount
    matter = _matter(request).lower()
    items = _items(order)
    named_items = [
        item for item in items if str(item.get("name", "")).split()[-1:] and str(item["name"]).split()[-1] in matter
    ]
    price = (
        named_items[0].get("price")
        if len(items) > 1 and len(named_items) == 1
        else order.get("total", order.get("total_cents"))
    )
    if isinstance(price, str):
        return amount_in(price) or amount_in(f"{price} EUR") or 0.0
    cents = rules.totals_in_cents or "total_cents" in order or order.get("unit") == "cents"
    return round(_number(price) / 100, 2) if cents else _number(price)


def _days_since(day: object, today: date | None) -> int | None:
    start = day_in(day) if isinstance(day, str) else None
    return None if today is None or start is None else (today - start).days


def _items(order: dict[str, Any]) -> list[dict[str, Any]]:
    return as_objects(order.get("items"))


def _number(value: object) -> float:
    """Return a number from a tool's result, or 0."""
    return float(value) if isinstance(value, int | float) and abs(value) < _MOST_MONEY else 0.0


def _documents_by_id(request: Request, ids: list[str]) -> list[Document]:
    return [document for document in request.documents if document.id in ids]


def _item_names(order: dict[str, Any]) -> str:
    return ", ".join(str(item.get("name")) for item in _items(order)) or "no items"


def _why_not(result: Any) -> str:
    if isinstance(result, dict):
        return str(result.get("reason") or result.get("error") or result.get("status") or "no reason was given")
    return str(result)


def _reason(request: Request) -> str:
    return "damaged" if _DAMAGE.search(_matter(request)) else "returned"


def _plain(amount: float) -> float:
    """Return whole amounts without a decimal point."""
    return round(amount) if amount == round(amount) else round(amount, 2)


def _euros(amount: float) -> str:
    return f"{amount:.2f} EUR"


def _is_failure(result: Any) -> bool:
    return not isinstance(result, dict) or "error" in result


_WORK: Final = ((_CANCEL, _cancel), (_REFUND, _refund), (_PARCEL, _parcel))
