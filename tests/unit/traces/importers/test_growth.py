"""Memory of imported conversations: it grows with their messages, not with messages times model calls."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.files.source import Source
from traces.importers.formats.evaluations import tau
from traces.importers.formats.frameworks import langchain
from traces.importers.formats.inspect import logs
from traces.importers.formats.langgraph import states
from traces.payloads.conversation import Messages


def _stored_messages(run: RecordedRun) -> int:
    """Count the entries of all message lists; a shared conversation counts once."""
    lists: dict[int, int] = {}
    for step in run.steps:
        messages = step.input.get("messages") if isinstance(step.input, dict) else None
        if isinstance(messages, Messages):
            lists[id(messages.conversation)] = len(messages.conversation)
        elif isinstance(messages, list):
            lists[id(messages)] = len(messages)
    return sum(lists.values())


def _input_lengths(run: RecordedRun) -> list[int]:
    """Return the number of messages in the input of each model call."""
    inputs = (step.input for step in run.steps if step.type == "model")
    return [len(value["messages"]) for value in inputs if isinstance(value, dict)]  # type: ignore[arg-type]


def _talk(turns: int) -> list[JSONValue]:
    messages: list[JSONValue] = []
    for turn in range(turns):
        messages += [
            {"role": "user", "content": f"question {turn}"},
            {"role": "assistant", "content": f"answer {turn}"},
        ]
    return messages


def _langchain(turns: int) -> JSONValue:
    kinds = {"user": "human", "assistant": "ai"}
    return {"messages": [{"type": kinds[message["role"]], "content": message["content"]} for message in _talk(turns)]}  # type: ignore[index,call-overload]


def _langgraph(turns: int) -> JSONValue:
    config: JSONObject = {"configurable": {"thread_id": "t", "checkpoint_id": "c"}}
    return {"values": _langchain(turns), "next": [], "config": config, "metadata": {"step": 1}}


def _tau(turns: int) -> JSONValue:
    return [{"task_id": 1, "trial": 0, "reward": 1.0, "info": {}, "traj": _talk(turns)}]


def _inspect(turns: int) -> JSONValue:
    """Build events of two alternating agents; the second one does not see the start of the message pool."""
    events: list[JSONValue] = []
    for turn in range(turns):
        ranges: JSONValue = [[0, 2 * turn + 1]] if turn % 2 == 0 else [[0, 1], [2, 2 * turn + 1]]
        answer: JSONValue = {"choices": [{"message": {"role": "assistant", "content": f"answer {turn}"}}]}
        events.append({"event": "model", "model": "m", "uuid": f"e{turn}", "input_refs": ranges, "output": answer})
    sample: JSONObject = {"id": 1, "epoch": 1, "events": events, "events_data": {"messages": _talk(turns)}}
    return {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": [sample]}


def _parse_run(parse: Callable[[Any], Iterator[RecordedRun]], value: JSONValue) -> RecordedRun:
    source = Source(name="file.json", data=json.dumps(value).encode())
    (run,) = parse([source] if parse in (states.parse, tau.parse) else source)
    return run


@pytest.mark.parametrize(
    ("parse", "document"),
    [
        (logs.parse, _inspect),
        (langchain.parse, _langchain),
        (states.parse, _langgraph),
        (tau.parse, _tau),
    ],
    ids=["inspect", "langchain", "langgraph", "tau"],
)
def test_stored_messages_grow_linearly(
    parse: Callable[[Any], Iterator[RecordedRun]], document: Callable[[int], JSONValue]
) -> None:
    short, long = (_parse_run(parse, document(turns)) for turns in (40, 80))
    assert _stored_messages(long) <= 2.2 * _stored_messages(short)
    assert _stored_messages(long) <= 4 * 160
    assert len(_input_lengths(long)) == 80


def test_inspect_ranges_select_input_messages() -> None:
    assert _input_lengths(_parse_run(logs.parse, _inspect(6))) == [1, 2, 5, 6, 9, 10]
