"""Arguments that a model chose in a new answer: they are no volatile values, whatever they look like."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from django.test import Client

from replay.models import Rerun
from tests.support.replay_runs import order_desk
from traces.core.vocabulary import Label, Reason
from traces.models import Run
from traces.runs.services import record
from traces.storage.compression import compress

pytestmark = pytest.mark.django_db(transaction=True)
PROMPT = {"match": {"type": "model"}, "prompt": {"system": "Book for Christmas."}}
ORDERS = [str(UUID(int=2**100 + number)) for number in range(2)]


def desk(**arguments: Any) -> Run:
    """A run whose tool has these arguments, and whose models know two orders."""
    steps = [
        replace(step, input=arguments)
        if step.tool_name == "get_order"
        else replace(step, input={"messages": [{"role": "user", "content": f"orders: {ORDERS}"}]})
        if step.key == "turn1.0"
        else step
        for step in order_desk().steps
    ]
    return Run.objects.get(id=record(replace(order_desk(), steps=tuple(steps), external_id=uuid4().hex)).run_id)


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json").json()


def start_fork(client: Client, run: Run) -> str:
    tools = ["get_order", "search_policy", "send_email"]
    body = {"run": str(run.id), "hook_tools": tools, "overrides": {"overrides": [PROMPT]}, "live": True}
    return str(post(client, "/reruns", body)["id"])


def answer_live(rerun_id: str, arguments: Any, *, call_id: str = "c1", question: str = "") -> None:
    """Store a live answer that requests a call."""
    call = {
        "id": call_id,
        "type": "function",
        "function": {"name": "get_order", "arguments": orjson.dumps(arguments).decode()},
    }
    response = {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}
    request = {"provider": "openai", "api": "openai.chat", "request": {"messages": [{"content": question}]}}
    events = [
        {"event_type": "model_called", "payload": request},
        {"event_type": "model_result", "payload": {"response": response, "status": "success"}},
    ]
    Rerun.objects.get(id=rerun_id.partition(".")[0]).calls.create(
        label=Label.SIMULATED, reason=Reason.LIVE_MODEL, exchange=compress(b"\n".join(map(orjson.dumps, events)))
    )


def decision(client: Client, rerun_id: str, arguments: Any) -> str:
    question = {"type": "tool", "name": "get_order", "arguments": arguments, "call": uuid4().hex}
    return str(post(client, f"/reruns/{rerun_id}/tools", question)["decision"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2026-12-01", "2026-12-24"),
        ("1 December 2026", "24 December 2026"),
        ("10 minutes", "90 minutes"),
        ("ord_8f3k2j9x0q", "ord_p2m7x1c4vz"),
    ],
)
def test_value_of_a_live_answer_is_no_volatile_value(client: Client, old: str, new: str) -> None:
    run = desk(when=old)
    rerun = start_fork(client, run)
    assert decision(client, rerun, {"when": new}) == "cached"
    rerun = start_fork(client, run)
    answer_live(rerun, {"when": new})
    assert decision(client, rerun, {"when": new}) == "refusal"
    assert decision(client, rerun, {"when": old}) == "exact"


def test_id_that_a_model_repeats_is_volatile(client: Client) -> None:
    """The agent put it into the request. The id of a call comes from the provider."""
    old, new = str(uuid4()), str(uuid4())
    rerun = start_fork(client, desk(session=old))
    answer_live(rerun, {"session": new}, question=f"The session is {new}.")
    assert decision(client, rerun, {"session": new}) == "cached"
    rerun = start_fork(client, desk(call="call_8f3k2j9x0q"))
    answer_live(rerun, {}, call_id="call_p2m7x1c4vz")
    assert decision(client, rerun, {"call": "call_p2m7x1c4vz"}) == "cached"


def test_hash_of_a_changed_answer_is_no_volatile_value(client: Client) -> None:
    rerun = start_fork(client, desk(key="b91408"))
    assert decision(client, rerun, {"key": "1b1604"}) == "cached"
    rerun = start_fork(client, desk(key="b91408"))
    answer_live(rerun, {})
    assert decision(client, rerun, {"key": "1b1604"}) == "refusal"


def test_another_id_of_the_recording_is_no_volatile_value(client: Client) -> None:
    run = desk(order=ORDERS[0])
    rerun = start_fork(client, run)
    assert decision(client, rerun, {"order": ORDERS[1]}) == "refusal"
    assert decision(client, rerun, {"order": str(uuid4())}) == "cached"
