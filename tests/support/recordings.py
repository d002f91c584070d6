"""Named recordings of an order desk that answers customers with one tool."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SYSTEM: JSONObject = {"role": "system", "content": "You work at the order desk. Look orders up before you answer."}
TOOLS: list[JSONValue] = [{"name": "get_order", "description": "Looks an order up", "parameters": {"type": "object"}}]


def user(text: str) -> JSONObject:
    return {"role": "user", "content": text}


def assistant(text: str) -> JSONObject:
    return {"role": "assistant", "content": text}


def assistant_call(call_id: str, order: str) -> JSONObject:
    call: JSONObject = {"id": call_id, "name": "get_order", "arguments": {"order_id": order}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def tool_message(call_id: str, text: str) -> JSONObject:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def model_step(key: str, messages: list[JSONValue], message: JSONObject, **columns: Any) -> RecordedStep:
    return RecordedStep(
        key=key,
        type=StepType.MODEL,
        name="chat",
        provider="openai",
        model="gpt-4o",
        input={"messages": messages, "tools": TOOLS, "parameters": {"temperature": 0}},
        output={"message": message, "finish_reason": "stop"},
        **columns,
    )


def tool_step(key: str, call_id: str, order: str, output: JSONValue, **columns: Any) -> RecordedStep:
    return RecordedStep(
        key=key,
        type=StepType.TOOL,
        name="get_order",
        tool_name="get_order",
        call_id=call_id,
        input={"order_id": order},
        output=output,
        **columns,
    )


def order_run(external_id: str = "order-1", **columns: Any) -> RecordedRun:
    """A customer asks, the model looks the order up and answers: agent, model, tool, model, output."""
    question, call = user("Where is my order A-1042?"), assistant_call("call-1", "A-1042")
    order: JSONObject = {"order_id": "A-1042", "status": "shipped", "carrier": "Northwind Parcels"}
    history: list[JSONValue] = [SYSTEM, question]
    later: list[JSONValue] = [*history, call, tool_message("call-1", '{"order_id":"A-1042","status":"shipped"}')]
    answer = assistant("Your order A-1042 has been shipped with Northwind Parcels.")
    steps = (
        RecordedStep(key="agent", type=StepType.AGENT, name="order desk", input={"task": "Where is my order A-1042?"}),
        model_step("ask", history, call, parent="agent", tokens_in=40, tokens_out=9, cost_usd=Decimal("0.001")),
        tool_step("look", "call-1", "A-1042", order, parent="agent"),
        model_step("tell", later, answer, parent="agent", tokens_in=70, tokens_out=14, cost_usd=Decimal("0.002")),
        RecordedStep(
            key="out", type=StepType.OUTPUT, name="answer", parent="agent", output={"text": str(answer["content"])}
        ),
    )
    timed_steps = tuple(
        replace(step, started_at=NOON + timedelta(seconds=at), ended_at=NOON + timedelta(seconds=at + 1))
        for at, step in enumerate(steps)
    )
    values: dict[str, Any] = {
        "external_id": external_id,
        "name": "Where is A-1042?",
        "app": "desk",
        "format": "test",
        "steps": timed_steps,
        "environment": "test",
        "tags": ("orders", "first line"),
        "metadata": {"customer": 7},
    }
    return RecordedRun(**(values | columns))


def conversation(turns: int, external_id: str = "long", words: int = 12) -> RecordedRun:
    """A customer with `turns` questions; every request repeats the whole history, every second turn calls a tool."""
    history: list[JSONValue] = [SYSTEM]
    steps: list[RecordedStep] = []
    for turn in range(turns):
        order = f"A-{turn * 7919 % 100_003:06}"
        history.append(user(f"Question {turn}: what about order {order}? " + _filler(turn, words)))
        if turn % 2:
            call = assistant_call(f"call-{turn}", order)
            steps.append(model_step(f"ask-{turn}", list(history), call))
            result: JSONObject = {"order_id": order, "status": "shipped", "note": _filler(turn + 1, words)}
            steps.append(tool_step(f"look-{turn}", f"call-{turn}", order, result))
            history += [call, tool_message(f"call-{turn}", f"order {order} is shipped. {_filler(turn + 1, words)}")]
        answer = assistant(f"Answer {turn}: order {order} is on its way. " + _filler(turn + 2, words))
        steps.append(model_step(f"tell-{turn}", list(history), answer))
        history.append(answer)
    return RecordedRun(external_id=external_id, name="A long talk", app="desk", format="test", steps=tuple(steps))


def _filler(seed: int, words: int) -> str:
    """Words that differ between messages, so that no storage is saved by chance."""
    return " ".join(f"{(seed * 2654435761 + place * 40503) % 2**32:08x}" for place in range(words))
