"""Calls of libraries as steps: in the open run or one of their own, streamed, and through errors."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from forkpoint import recorder
from forkpoint.capture.model_calls import outer_call, start_model_call
from forkpoint.capture.steps import iterate, iterate_async, record_calls
from forkpoint.capture.streams import RecordedIterator
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus
from traces.importers.files.source import Source
from traces.importers.formats.tracing import forkpoint_events


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    recorder.configure(sink=tmp_path)
    yield tmp_path
    recorder.configure(sink="off")


def runs(folder: Path) -> list[RecordedRun]:
    assert recorder.flush()
    sources = [Source(name=path.name, data=path.read_bytes()) for path in folder.glob("*.jsonl")]
    return list(forkpoint_events.parse(sources))


def ask(prompt: str, **options: Any) -> Any:
    request = {"model": "m1", "messages": [{"role": "user", "content": prompt}], **options}
    return start_model_call(provider="local", model="m1", api="openai.chat", request=request)


def answer(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


def test_call_outside_a_run_is_a_run(folder: Path) -> None:
    ask("hi", temperature=0, user="mira").finish(answer("Hello."))
    [run] = runs(folder)
    [step] = run.steps
    assert (run.name, run.status) == ("hi", RunStatus.COMPLETED)
    assert step.input == {"messages": [{"role": "user", "content": "hi"}], "parameters": {"temperature": 0}}
    assert step.attributes == {"request": {"user": "mira"}}


def test_parallel_calls_outside_runs_stay_apart(folder: Path) -> None:
    first, second = ask("one"), ask("two")
    second.finish(answer("2"))
    first.finish(answer("1"))
    assert sorted((run.name, len(run.steps)) for run in runs(folder)) == [("one", 1), ("two", 1)]


def test_tool_inside_an_agent_belongs_to_it(folder: Path) -> None:
    def act() -> str:
        ask("hi").finish(answer("Hello."))
        return "done"

    tool = record_calls(act, lambda args, kwargs: recorder.tool("act", {}, call_id="c1"))
    agent = record_calls(tool, lambda args, kwargs: recorder.agent("desk"))
    assert agent() == "done"
    [run] = runs(folder)
    assert [(step.name, step.parent) for step in run.steps] == [("desk", None), ("act", "s1"), ("m1", "s2")]


def test_error_passes_through_and_fails_the_run(folder: Path) -> None:
    async def act() -> None:
        raise ValueError("no stock")

    with pytest.raises(ValueError, match="no stock"):
        asyncio.run(record_calls(act, lambda args, kwargs: recorder.tool("act", {}))())
    [run] = runs(folder)
    assert (run.status, run.steps[0].error) == (RunStatus.FAILED, "ValueError: no stock")


def test_call_that_cannot_be_described_is_made(folder: Path) -> None:
    assert record_calls(lambda: 1, lambda args, kwargs: recorder.tool(kwargs["missing"]))() == 1
    assert runs(folder) == []


@pytest.mark.parametrize("is_async", [False, True])
def test_iterated_step_contains_only_its_own_calls(folder: Path, is_async: bool) -> None:
    def items() -> Iterator[str]:
        for number in range(2):
            ask(f"inside {number}").finish(answer("x"))
            yield str(number)

    async def async_items() -> AsyncIterator[str]:
        for item in items():
            yield item

    async def read() -> list[str]:
        result = []
        async for item in iterate_async(recorder.agent("desk"), async_items()):
            ask(f"between {item}").finish(answer("y"))
            result.append(item)
        return result

    with recorder.run("r"):
        if is_async:
            assert asyncio.run(read()) == ["0", "1"]
        else:
            for item in iterate(recorder.agent("desk"), items()):
                ask(f"between {item}").finish(answer("y"))
    [run] = runs(folder)
    parents = [(json.dumps(step.input), step.parent) for step in run.steps[1:]]
    assert [("inside" in text, parent) for text, parent in parents] == [(True, "s1"), (False, None)] * 2


def test_abandoned_stream_is_partial(folder: Path) -> None:
    pieces = [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]} for text in "abc"]
    stream = RecordedIterator(iter(pieces), ask("hi"), lambda events: answer(f"{len(events)} read"))
    next(stream)
    del stream
    [run] = runs(folder)
    assert run.steps[0].status is StepStatus.PARTIAL
    assert "1 read" in json.dumps(run.steps[0].output)


def test_failing_stream_is_an_error_with_what_came(folder: Path) -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise ConnectionError("reset")

    with pytest.raises(ConnectionError):
        list(RecordedIterator(broken(), ask("hi"), lambda events: answer(f"{len(events)} read")))
    [run] = runs(folder)
    assert (run.status, run.steps[0].error) == (RunStatus.FAILED, "ConnectionError: reset")
    assert "1 read" in json.dumps(run.steps[0].output)


def test_outer_call_knows_what_was_recorded_below(folder: Path) -> None:
    with outer_call() as unseen:
        pass
    with outer_call() as seen:
        ask("hi").finish(answer("Hello."))
    assert (unseen.is_recorded, seen.is_recorded) == (False, True)
