"""Canonical events of small runs, as the SDK sends them."""

from collections.abc import Iterable
from typing import Any

import orjson

Event = dict[str, Any]
_TIME = "2026-03-01T10:00:{:02d}Z"


def event(run: str, number: int, type: str, step: str = "", **payload: Any) -> Event:
    return {
        "run_id": run,
        "sequence_no": number,
        "event_type": type,
        "step_id": step,
        "timestamp_utc": _TIME.format(number),
        "payload": payload,
    }


def beginning(run: str) -> list[Event]:
    """The start of a run, and a model call that has not been answered."""
    request = {"messages": [{"role": "user", "content": "Where is my order?"}]}
    return [
        event(run, 0, "run_started", name="order status", app_id="desk"),
        event(run, 1, "model_called", "ask", provider="openai", model_id="m1", request=request),
    ]


def answer(run: str) -> list[Event]:
    message = {"role": "assistant", "content": "It is on its way."}
    return [event(run, 2, "model_result", "ask", response={"message": message})]


def ending(run: str) -> list[Event]:
    """The final output, and the end of the run."""
    return [
        event(run, 3, "final_output", "out", output="It is on its way.", response_channel="chat"),
        event(run, 4, "run_completed", output="It is on its way."),
    ]


def lines(events: Iterable[Event]) -> bytes:
    return b"".join(orjson.dumps(item) + b"\n" for item in events)
