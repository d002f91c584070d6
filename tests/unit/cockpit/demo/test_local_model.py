"""The local model follows what it is told: one changed sentence changes the answer, for a reason."""

import json
import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.demo.agent import shop
from cockpit.demo.agent.policies import search
from cockpit.demo.local_model.model import LARGE, SMALL, decide, reply
from cockpit.demo.local_model.text_reader import Tool, read
from cockpit.demo.policy_texts import POLICIES

SYSTEM = "You are the order desk. Today is 2026-11-20."
DAMAGED = "My order A-1042 arrived damaged. Please refund it."
IN_CENTS = "Order totals are in cents."
ORDER: dict[str, Any] = {
    "order_id": "A-1042",
    "customer": "Mira Lund",
    "email": "mira@example.com",
    "status": "delivered",
    "delivered_on": "2026-11-12",
    "total": 4200,
    "items": [{"name": "desk lamp", "price": 4200}],
}
REFUNDED = {"status": "refunded", "amount": 42}


def tools() -> list[Tool]:
    told = [tool.schema["function"] for tool in shop.TOOLS.values()]
    return [Tool(name=t["name"], description=t["description"], parameters=t["parameters"]) for t in told]


def conversation(
    told: str, *results: tuple[str, dict[str, Any], Any], asked: str = DAMAGED, documents: bool = True
) -> list[dict[str, Any]]:
    """The system prompt, the question, and the tool calls so far with their results."""
    policies = "".join(f"\n[{name}] {text}" for name, text in POLICIES.items()) if documents else ""
    messages: list[dict[str, Any]] = [{"role": "system", "content": f"{SYSTEM} {told}{policies}"}]
    messages.append({"role": "user", "content": asked})
    for number, (name, arguments, result) in enumerate(results):
        call = {"id": f"c{number}", "function": {"name": name, "arguments": json.dumps(arguments)}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(result)})
    return messages


def does(messages: list[dict[str, Any]], model: str = SMALL, *, with_tools: bool = True) -> Any:
    """The calls as (name, arguments), or the text."""
    known = tools() if with_tools else []
    decision = decide(read(model=model, messages=messages, tools=known, wants_json=False))
    return [(call.name, call.arguments) for call in decision.calls] or decision.text


LOOKED_UP = ("get_order", {"order_id": "A-1042"}, ORDER)
PAID = ("issue_refund", {"order_id": "A-1042", "amount": 42}, REFUNDED)


def refund_asked(messages: list[dict[str, Any]], model: str = SMALL) -> Any:
    [(name, arguments)] = does(messages, model)
    assert name == "issue_refund"
    return arguments["amount"]


def test_it_looks_the_order_up_first() -> None:
    assert does(conversation("")) == [("get_order", {"order_id": "A-1042"})]


def test_the_small_model_overlooks_the_unit_that_only_the_tool_tells() -> None:
    assert refund_asked(conversation("", LOOKED_UP)) == 4200
    assert refund_asked(conversation("", LOOKED_UP), LARGE) == 42


def test_a_sentence_in_the_system_prompt_puts_the_unit_right() -> None:
    assert refund_asked(conversation(IN_CENTS, LOOKED_UP)) == 42


FIRST_FORK = "Order totals are in cents, refunds are in euros: convert before you refund."
POLICY_LINES = "\n".join(f"[{name}] {text}" for name, text in POLICIES.items())
PROMPT = f"{SYSTEM} Keep to the policies below.\n\nPolicies:\n{POLICY_LINES}"
_WRAPPED = "\n".join(textwrap.wrap(FIRST_FORK, 20))


@pytest.mark.parametrize(
    "prompt",
    [
        f"{PROMPT} {FIRST_FORK}",
        f"{PROMPT}{FIRST_FORK}",
        f"{PROMPT}\n{FIRST_FORK}",
        f"{PROMPT}\n\n{FIRST_FORK}\n",
        f"{PROMPT}\r\n{FIRST_FORK}",
        f"{FIRST_FORK} {PROMPT}",
        f"{FIRST_FORK}{PROMPT}",
        f"{FIRST_FORK}\n{PROMPT}",
        f"{PROMPT}\n{_WRAPPED}",
        f"{PROMPT} {_WRAPPED}",
        f"{PROMPT}\t{FIRST_FORK.replace(' ', '  ')}",
        PROMPT.replace("[shipping]", f"{FIRST_FORK}\n[shipping]"),
        PROMPT.replace("\n[shipping]", f" {FIRST_FORK}\n[shipping]"),
        f"{PROMPT} {FIRST_FORK}".replace("\n", " "),
        "\n".join(textwrap.wrap(f"{PROMPT} {FIRST_FORK}", 60)),
        "\n".join(textwrap.wrap(f"{PROMPT} {FIRST_FORK}", 33, break_on_hyphens=False)),
        f"{PROMPT} {FIRST_FORK}".replace(" ", "\u00a0"),
    ],
)
def test_a_sentence_counts_wherever_it_is_typed(prompt: str) -> None:
    messages = conversation("", ("get_order", {"order_id": "A-1042"}, ORDER))
    messages[0]["content"] = prompt
    assert refund_asked(messages) == 42
    request = read(model=SMALL, messages=messages, tools=tools(), wants_json=False)
    assert {document.id: document.text for document in request.documents} == POLICIES
    assert "30 days" not in request.system


def test_an_edited_policy_stays_one() -> None:
    edited = PROMPT.replace("within 30 days", "within 14 days").replace(" The customer can keep the damaged item.", "")
    request = read(
        model=SMALL, messages=[{"role": "system", "content": f"{edited}\n{IN_CENTS}"}], tools=[], wants_json=False
    )
    assert request.documents[0].text == "Damaged goods are refunded in full within 14 days of delivery."
    assert IN_CENTS in request.system


def test_a_tool_result_that_names_its_unit_puts_it_right() -> None:
    named = {**ORDER, "unit": "cents"}
    assert refund_asked(conversation("", ("get_order", {"order_id": "A-1042"}, named))) == 42
    written = {**ORDER, "total": "42.00 EUR"}
    assert refund_asked(conversation("", ("get_order", {"order_id": "A-1042"}, written))) == 42


def test_an_amount_that_the_customer_names_is_taken() -> None:
    assert refund_asked(conversation("", LOOKED_UP, asked="A-1042 came damaged, a refund of 10 EUR is fine.")) == 10


def test_a_limit_hands_the_case_over() -> None:
    told = f"{IN_CENTS} Never refund more than 20 EUR."
    [(name, arguments)] = does(conversation(told, LOOKED_UP))
    assert name == "create_ticket"
    assert "20.00 EUR" in arguments["subject"]
    opened = ("create_ticket", arguments, {"ticket_id": "T-9"})
    assert "T-9" in does(conversation(told, LOOKED_UP, opened))


def test_it_asks_before_it_refunds_when_told_so() -> None:
    told = f"{IN_CENTS} Ask the customer to confirm before you refund."
    asked = does(conversation(told, LOOKED_UP))
    assert asked == "Order A-1042 (desk lamp) can be refunded. Shall I refund 42.00 EUR?"
    answered = [*conversation(told, LOOKED_UP), {"role": "assistant", "content": asked}]
    assert refund_asked([*answered, {"role": "user", "content": "Yes, please."}]) == 42


def test_a_policy_decides_who_is_entitled() -> None:
    late = ("get_order", {"order_id": "A-1042"}, {**ORDER, "delivered_on": "2026-08-01"})
    assert "within 30 days" in does(conversation(IN_CENTS, late))
    assert refund_asked(conversation(IN_CENTS, late, documents=False)) == 42


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("", "I have refunded 42.00 EUR for order A-1042 (desk lamp). The money is"),
        ("Answer in one sentence.", "I have refunded 42.00 EUR for order A-1042 (desk lamp)."),
        ("Answer in one sentence. Cite the policy.", "for order A-1042 (desk lamp) (policy refunds-damaged)."),
        ("Address the customer by name.", "Mira, I have refunded"),
        ("Sign as Ada.", "\nAda"),
    ],
)
def test_manners(told: str, expected: str) -> None:
    assert expected in does(conversation(told, LOOKED_UP, PAID))


def test_it_apologises_unless_told_not_to() -> None:
    refused = ("issue_refund", {"order_id": "A-1042", "amount": 4200}, {"status": "refused", "reason": "too much"})
    assert does(conversation("", LOOKED_UP, refused)).startswith("I am sorry")
    assert does(conversation("Never apologise.", LOOKED_UP, refused)).startswith("I cannot")
    [(name, _)] = does(conversation("If a refund is refused, open a ticket.", LOOKED_UP, refused))
    assert name == "create_ticket"


def test_it_writes_to_the_customer_when_told_so() -> None:
    [(name, arguments)] = does(conversation("Send an e-mail about every refund.", LOOKED_UP, PAID))
    assert (name, arguments["to"]) == ("send_email", "mira@example.com")


def test_a_tool_that_is_named_first_is_called_first() -> None:
    assert does(conversation("Always call get_shipment first.")) == [("get_shipment", {"order_id": "A-1042"})]


def test_several_orders_are_looked_up_at_once() -> None:
    calls = does(conversation("", asked="Where are A-1043 and B-2002?"))
    assert calls == [("get_order", {"order_id": "A-1043"}), ("get_order", {"order_id": "B-2002"})]


def test_a_failed_lookup_is_tried_once_more() -> None:
    shipped = ("get_order", {"order_id": "A-1042"}, {**ORDER, "status": "shipped"})
    down = ("get_shipment", {"order_id": "A-1042"}, {"error": "timed out"})
    asked = "Where is my parcel A-1042?"
    assert does(conversation("", shipped, down, asked=asked)) == [("get_shipment", {"order_id": "A-1042"})]
    [(name, _)] = does(conversation("", shipped, down, down, asked=asked))
    assert name == "create_ticket"


def test_questions_are_answered_from_the_documents() -> None:
    asked = "How long do I have to return unused goods?"
    assert does(conversation("", asked=asked), with_tools=False) == POLICIES["returns"].split(". ")[0] + "."
    assert "found nothing" in does(conversation("", asked=asked, documents=False), with_tools=False)


def test_token_limits_and_stop_sequences_cut_the_answer() -> None:
    request = read(model=SMALL, messages=conversation("", LOOKED_UP, PAID), tools=tools(), wants_json=False)
    cut = reply(request, prompt_text="", max_tokens=3, stop=[])
    assert (cut.text, cut.finish, cut.tokens_out) == ("I have refunded", "length", 3)
    assert reply(request, prompt_text="", max_tokens=None, stop=[" for"]).text == "I have refunded 42.00 EUR"


def test_json_is_answered_when_asked_for() -> None:
    request = read(model=SMALL, messages=conversation("", LOOKED_UP, PAID), tools=tools(), wants_json=True)
    assert "refunded" in json.loads(reply(request, prompt_text="", max_tokens=None, stop=[]).text)["answer"]


@given(
    told=st.text(max_size=80),
    asked=st.text(max_size=80),
    result=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=10),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*ORDER, "error"]), inner, max_size=5)
        ),
    ),
)
def test_whatever_it_is_told_it_answers_and_always_the_same(told: str, asked: str, result: Any) -> None:
    looked_up = ("get_order", {"order_id": "A-1042"}, result)
    messages = conversation(told, looked_up, asked=f"{asked} refund A-1042")
    assert does(messages) == does(messages)


def test_the_search_ranks_by_what_the_question_asks() -> None:
    assert search("Who pays for the return parcel?", 2)[0]["id"] == "returns"
    assert search("refund for damaged goods", 1)[0]["id"] == "refunds-damaged"
    assert search("xyzzy", 3) == []
