"""The capture SDK: record an agent and read the recording back."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkpoint import Recorder
from forkpoint.encoding import encode, without_long_integers
from forkpoint.transport.events import Event
from forkpoint.transport.files import FileSink
from forkpoint.transport.writer import Writer
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers.files.source import Source
from traces.importers.formats.tracing import forkpoint_events


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "run.jsonl", app="desk", environment="test")


def read_back(recorder: Recorder, tmp_path: Path) -> RecordedRun:
    assert recorder.flush()
    source = Source(name="run.jsonl", data=(tmp_path / "run.jsonl").read_bytes())
    [run] = forkpoint_events.parse([source])
    assert source.problems == []
    return run


def find_step(run: RecordedRun, name: str) -> RecordedStep:
    return next(step for step in run.steps if step.name == name)


QUESTION: Final = [{"role": "user", "content": "Where is order 7?"}]
CALL: Final = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": '{"id": 7}'}}
ASKS: Final = {"role": "assistant", "content": None, "tool_calls": [CALL]}
USAGE: Final = {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}


@pytest.fixture
def order_7(recorder: Recorder, tmp_path: Path) -> RecordedRun:
    """A recorded run with a step of every kind."""
    with recorder.run("Order 7", input={"customer": "Mira"}, tags=["demo"], metadata={"team": "desk"}):
        with recorder.agent("desk", input={"task": "Where is order 7?"}) as agent:
            with recorder.prompt(
                "desk.system", template="Help {who}.", version="3", variables={"who": "Mira"}
            ) as prompt:
                prompt.output = "Help Mira."
            with recorder.retrieval("policies", query="order", top_k=2) as search:
                search.output = [{"id": "shipping", "content": "3 days", "score": 0.5}]
            with recorder.model("m1", provider="local", messages=QUESTION, parameters={"temperature": 0}) as model:
                model.record_response({"choices": [{"message": ASKS, "finish_reason": "tool_calls"}], "usage": USAGE})
            with recorder.tool("get_order", {"id": 7}, call_id="c1") as tool:
                tool.output = {"status": "shipped"}
            with recorder.validator("has status", input={"text": "x"}) as check:
                check.decide(False, "no status in the answer")
            agent.output = {"text": "It is shipped."}
        recorder.output("It is shipped.", citations=["shipping"]).record()
    return read_back(recorder, tmp_path)


def test_run_round_trips_in_order(order_7: RecordedRun) -> None:
    assert (order_7.name, order_7.app, order_7.environment) == ("Order 7", "desk", "test")
    assert (order_7.status, order_7.tags) == (RunStatus.COMPLETED, ("demo",))
    assert order_7.metadata == {"team": "desk", "input": {"customer": "Mira"}}
    assert [(step.type, step.name) for step in order_7.steps] == [
        (StepType.AGENT, "desk"),
        (StepType.PROMPT, "desk.system"),
        (StepType.RETRIEVAL, "policies"),
        (StepType.MODEL, "m1"),
        (StepType.TOOL, "get_order"),
        (StepType.VALIDATOR, "has status"),
        (StepType.OUTPUT, "output"),
    ]
    assert all(step.started_at and step.ended_at and step.ended_at >= step.started_at for step in order_7.steps)
    assert {step.parent for step in order_7.steps[1:-1]} == {order_7.steps[0].key}


def test_every_step_kind_round_trips(order_7: RecordedRun) -> None:
    model, tool, check = (find_step(order_7, name) for name in ("m1", "get_order", "has status"))
    assert model.input == {"messages": QUESTION, "parameters": {"temperature": 0}}
    calls = [{"id": "c1", "name": "get_order", "arguments": {"id": 7}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    assert model.output == {"message": message, "finish_reason": "tool_calls"}
    assert (model.tokens_in, model.tokens_out, model.tokens_cached) == (12, 3, 5)
    assert (tool.input, tool.output, tool.call_id) == ({"id": 7}, {"status": "shipped"}, "c1")
    assert find_step(order_7, "policies").output == {
        "documents": [{"id": "shipping", "content": "3 days", "score": 0.5}]
    }
    assert find_step(order_7, "desk.system").input == {
        "template": "Help {who}.",
        "template_id": "desk.system",
        "version": "3",
        "variables": {"who": "Mira"},
    }
    assert (check.status, check.error) == (StepStatus.ERROR, "no status in the answer")
    assert find_step(order_7, "output").output == {"text": "It is shipped.", "citations": ["shipping"]}


def test_decorators_record_arguments_and_results(recorder: Recorder, tmp_path: Path) -> None:
    @recorder.tool("add")
    def add(a: int, b: int = 2) -> int:
        return a + b

    @recorder.tool()
    async def double(a: int) -> int:
        return 2 * a

    @recorder.tool()
    def count(n: int) -> Iterator[int]:
        yield from range(n)

    @recorder.tool()
    async def stream(n: int) -> AsyncIterator[int]:
        for i in range(n):
            yield i

    @recorder.run("decorated")
    def main() -> tuple[Any, ...]:
        async def both() -> list[int]:
            return [await double(4), *[i async for i in stream(2)]]

        return add(1), asyncio.run(both()), list(count(3))

    assert main() == (3, [8, 0, 1], [0, 1, 2])
    assert main.__name__ == "main"
    run = read_back(recorder, tmp_path)
    assert [(step.name, step.input, step.output) for step in run.steps] == [
        ("add", {"a": 1}, 3),
        ("double", {"a": 4}, 8),
        ("stream", {"n": 2}, [0, 1]),
        ("count", {"n": 3}, [0, 1, 2]),
    ]


def test_each_decorated_call_is_a_run(recorder: Recorder, tmp_path: Path) -> None:
    @recorder.run("again")
    def main() -> None:
        recorder.output("done").record()

    main()
    main()
    assert recorder.flush()
    runs = list(forkpoint_events.parse([Source(name="f", data=(tmp_path / "run.jsonl").read_bytes())]))
    assert len({run.external_id for run in runs}) == 2


def test_tasks_and_threads_keep_their_scope(recorder: Recorder, tmp_path: Path) -> None:
    @recorder.tool("look")
    def look(at: str) -> None:
        pass

    async def branch(name: str) -> None:
        with recorder.agent(name):
            await asyncio.sleep(0.001)
            await asyncio.to_thread(look, name)

    async def main() -> None:
        await asyncio.gather(branch("left"), branch("right"))

    with recorder.run("parallel"):
        asyncio.run(main())
        with recorder.agent("pool"), ThreadPoolExecutor(2) as pool:
            pool.submit(recorder.carry(look), "pool").result()
        bare = threading.Thread(target=look, args=("bare",))
        bare.start()
        bare.join()
    run = read_back(recorder, tmp_path)
    keys = {step.key: step.name for step in run.steps}
    parents = {step.input["at"]: keys.get(step.parent or "") for step in run.steps if isinstance(step.input, dict)}
    assert parents == {"left": "left", "right": "right", "pool": "pool", "bare": None}


def test_agent_errors_are_recorded_and_raised(recorder: Recorder, tmp_path: Path) -> None:
    def fail() -> None:
        with recorder.run("failing"), recorder.agent("a"), recorder.tool("slow", {}):
            raise TimeoutError("no answer in 5 s")

    with pytest.raises(TimeoutError):
        fail()
    run = read_back(recorder, tmp_path)
    assert run.status is RunStatus.FAILED
    assert (find_step(run, "slow").status, find_step(run, "slow").error) == (
        StepStatus.TIMEOUT,
        "TimeoutError: no answer in 5 s",
    )
    assert find_step(run, "a").status is StepStatus.TIMEOUT


def test_killed_run_is_read_partially(recorder: Recorder, tmp_path: Path) -> None:
    run_scope = recorder.run("killed").__enter__()
    recorder.tool("get_order", {"id": 7}).__enter__()
    run = read_back(recorder, tmp_path)
    assert run.external_id == run_scope.id
    assert run.status is RunStatus.PARTIAL
    assert "ends before" in str(run.metadata["error"])
    assert find_step(run, "get_order").status is StepStatus.PARTIAL


def test_nothing_is_recorded_after_end(recorder: Recorder, tmp_path: Path) -> None:
    with recorder.run("r"):
        recorder.output("done").record()
        slow = recorder.tool("slow", {}).__enter__()
        late = recorder.carry(lambda: recorder.tool("late", {}).record())
    slow.__exit__(None, None, None)
    late()
    run = read_back(recorder, tmp_path)
    assert [(step.name, step.status) for step in run.steps] == [
        ("output", StepStatus.OK),
        ("slow", StepStatus.PARTIAL),
    ]
    assert recorder.dropped_events == 2


def test_unnamed_run_uses_first_request(recorder: Recorder, tmp_path: Path) -> None:
    @recorder.run()
    def main() -> None:
        with recorder.model("m", messages=QUESTION) as model:
            model.record_response("ok")

    main()
    assert read_back(recorder, tmp_path).name == "Where is order 7?"


def test_later_changes_are_not_recorded(recorder: Recorder, tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "hi"}]
    with recorder.run("r"), recorder.model("m", messages=messages) as model:
        messages.append({"role": "assistant", "content": "later"})
        model.record_response("ok")
    step = find_step(read_back(recorder, tmp_path), "m")
    assert step.input == {"messages": [{"role": "user", "content": "hi"}]}
    assert step.output == {"message": {"role": "assistant", "content": "ok"}}


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no attribute")


def test_values_without_json_form_are_harmless(recorder: Recorder, tmp_path: Path) -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with recorder.run("odd"):
        for value in (Hostile(), cycle, {1: {2, 3}}, float("nan"), 2**80, "\ud800", b"bytes", object):
            with recorder.tool("odd", {"value": value}) as tool:
                tool.output = value
    run = read_back(recorder, tmp_path)
    assert len(run.steps) == 8
    assert recorder.dropped_events == 0


def test_steps_outside_runs_are_ignored(recorder: Recorder, tmp_path: Path) -> None:
    with recorder.tool("lonely", {}) as tool:
        tool.output = 1
    assert recorder.flush()
    assert not (tmp_path / "run.jsonl").exists()


def test_unwritable_sink_does_not_raise(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    recorder = Recorder(tmp_path / "file" / "below")
    with recorder.run("r"), recorder.tool("t", {}) as tool:
        tool.output = 1
    assert recorder.flush()
    assert recorder.dropped_events == 4


def test_full_queue_drops_and_counts(recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorder.run("many"):
        with recorder.tool("kept", {}):
            pass
        with monkeypatch.context() as patch:
            patch.setattr("forkpoint.transport.writer._MAX_QUEUE", 0)
            with recorder.tool("lost", {}):
                pass
    run = read_back(recorder, tmp_path)
    assert [step.name for step in run.steps] == ["kept"]
    assert run.metadata["dropped_events"] == 2


def test_off_disables_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKPOINT_TRACES", "off")
    recorder = Recorder()
    with recorder.run("r"):
        pass
    assert recorder.flush()
    assert recorder.dropped_events == 0


def test_folder_gets_one_file_per_run(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    with recorder.run("a") as first, recorder.tool("t", {}):
        pass
    with recorder.run("b") as second, recorder.tool("t", {}):
        pass
    assert recorder.flush()
    assert {path.stem for path in tmp_path.iterdir()} == {first.id, second.id}


_PROGRAM: Final = """
import sys

before = set(sys.modules)
from forkpoint import Recorder

recorder = Recorder(sys.argv[1])
with recorder.run("r"), recorder.tool("t", {}) as tool:
    tool.output = 1
allowed = {"traces", "traces.core", "traces.core.statuses", "traces.core.vocabulary"}
packages = sys.stdlib_module_names | {"forkpoint"}
others = {name for name in sys.modules if name.split(".")[0] not in packages} - before - allowed
sys.exit(f"imported {others}" if others else 0)
"""


def test_process_exit_writes_the_queue(tmp_path: Path) -> None:
    """The same program proves that the SDK imports only the standard library and the vocabulary."""
    path = tmp_path / "out.jsonl"
    subprocess.run([sys.executable, "-c", _PROGRAM, str(path)], check=True)
    assert len(path.read_text().splitlines()) == 4


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(_JSON)
def test_any_value_encodes_to_one_line(value: Any) -> None:
    line = without_long_integers(encode({"value": value}))
    assert "\n" not in line
    assert "value" in json.loads(line)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.text(max_size=5)), max_size=30))
def test_lines_are_written_once_in_order(lines: list[tuple[str, str]]) -> None:
    batches: dict[str, list[str]] = {}

    class Memory(FileSink):
        def _append(self, run_id: str, texts: list[str]) -> None:
            batches.setdefault(run_id, []).extend(json.loads(text)["payload"] for text in texts)

    writer = Writer(Memory(Path("nowhere")))
    for run_id, text in lines:
        writer.enqueue(Event(run_id, None, None, 0, "final_output", 0.0, json.dumps(text)))
    assert writer.flush()
    assert batches == {run: [t for r, t in lines if r == run] for run in {r for r, _ in lines}}
