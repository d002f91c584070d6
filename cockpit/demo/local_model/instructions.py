"""Instructions that the local model can follow."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from cockpit.demo.local_model.text_reader import Request, amount_in, day_in, says, sentences

_COUNTS: Final = {"one": 1, "a single": 1, "two": 2, "three": 3, "four": 4}
_LENGTH: Final = re.compile(r"\b(one|a single|two|three|four|\d)\s+(?:short\s+)?sentences?\b", re.IGNORECASE)
_TODAY: Final = re.compile(r"today is (\d{4}-\d{2}-\d{2})", re.IGNORECASE)
_SIGN: Final = re.compile(r"\bsign (?:off )?(?:your answers? )?(?:as|with) [\"“]?([^\"”.\n]+)", re.IGNORECASE)
_LIMITING: Final = r"more than|over|above|up to|at most|limit|exceed"
_NOT: Final = r"\b(never|not|don't|no)\b"


@dataclass(frozen=True, kw_only=True)
class Instructions:
    """Rules from the prompt. `refund_limit` is in euros, `sentences` the maximum per answer."""

    totals_in_cents: bool
    refunds_in_cents: bool
    refund_limit: float | None
    never_refund: bool
    confirm_refunds: bool
    ticket_when_refused: bool
    ticket_instead: bool
    send_email: bool
    cite: bool
    apologise: bool
    by_name: bool
    sentences: int | None
    signature: str
    today: date | None


def read_instructions(request: Request, *, careful: bool) -> Instructions:
    """Extract the rules. A careful model also reads units and limits from tools and documents."""
    system = request.system
    tools = " ".join(tool.text for tool in request.tools) if careful else ""
    documents = " ".join(document.text for document in request.documents) if careful else ""
    refuse = says(system, _NOT, r"\brefunds?\b") and not says(
        system, _NOT, r"\brefunds?\b", f"{_LIMITING}|confirm|before"
    )
    return Instructions(
        totals_in_cents=_in_cents(system) or _in_cents(tools),
        refunds_in_cents=says(system, r"\brefund", r"\bin cents\b") and not says(system, r"\beuros?\b"),
        refund_limit=_limit(system) or _limit(documents),
        never_refund=refuse,
        confirm_refunds=says(system, r"confirm", r"refund|before"),
        ticket_when_refused=says(system, r"\bticket\b", r"refus|declin|fail|cannot"),
        ticket_instead=says(system, r"\bticket\b", r"instead"),
        send_email=says(system, r"\be-?mail\b", r"\b(send|write|inform|confirm)")
        and not says(system, _NOT, r"\be-?mail"),
        cite=says(system, r"\b(cite|quote|name|mention)\b", r"\bpolic(y|ies)\b"),
        apologise=not says(system, _NOT, r"apolog|sorry"),
        by_name=says(system, r"\bby (their |the customer's |first )*name\b"),
        sentences=_most_sentences(system),
        signature=match[1].strip() if (match := _SIGN.search(system)) else "",
        today=day_in(match[1]) if (match := _TODAY.search(system)) else None,
    )


def _in_cents(text: str) -> bool:
    return says(text, r"\bcents?\b", r"\b(totals?|prices?|amounts?|orders?|convert|divide)\b")


def _limit(text: str) -> float | None:
    for sentence in sentences(text):
        if says(sentence, r"\brefund", _LIMITING) and (amount := amount_in(sentence)) is not None:
            return amount
    return None


def _most_sentences(system: str) -> int | None:
    if match := _LENGTH.search(system):
        return _COUNTS.get(match[1].lower()) or int(match[1])
    return 2 if says(system, r"\b(brief|briefly|short|concise)\b") else None
