"""Hooks of the capture SDK: they get the events of Krabs, and their errors never reach the agent."""

import asyncio
import itertools
import json
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkpoint import Recorder
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import HookEvent, StepStatus, StepType
from traces.importers.files.source import Source
from traces.importers.formats.frameworks import krabs
from traces.importers.formats.tracing import forkpoint_events

Events = list[dict[str, Any]]


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "run.jsonl", app="desk")


@pytest.fixture
def events(recorder: Recorder) -> Events:
    seen_events: Events = []
    recorder.hook()(seen_events.append)
    return seen_events


def event_names(events: Events) -> list[str]:
    """The events in order, each with its turn or tool."""
    return [
        " ".join(str(part) for part in (event["event_type"], subject(event["payload"])) if part != "")
        for event in events
    ]


def subject(payload: dict[str, Any]) -> Any:
    return payload.get("turn", payload.get("tool_name", ""))


def steps(recorder: Recorder, tmp_path: Path) -> dict[str, RecordedStep]:
    assert recorder.flush()
    [run] = forkpoint_events.parse([Source(name="run.jsonl", data=(tmp_path / "run.jsonl").read_bytes())])
    return {step.name: step for step in run.steps}


def test_run_fires_krabs_events(recorder: Recorder, events: Events) -> None:
    with recorder.run("refund", input="Where is order 7?") as run:
        with recorder.model("m1", provider="local", messages=[]) as model:
            model.record_usage(tokens_in=8, tokens_out=2)
        with recorder.tool("get_order", {"id": 7}, call_id="c1") as tool:
            tool.output = {"status": "shipped"}
        with recorder.model("m1", messages=[]):
            pass
        recorder.output("It is shipped.").record()
    assert [(event["event_type"], event["payload"]) for event in events[:4]] == [
        ("agent_start", {"task": "Where is order 7?"}),
        ("turn_start", {"turn": 0}),
        ("pre_tool_use", {"tool_name": "get_order", "args": {"id": 7}, "tool_use_id": "c1"}),
        (
            "post_tool_use",
            {"tool_name": "get_order", "args": {"id": 7}, "result": {"status": "shipped"}, "tool_use_id": "c1"},
        ),
    ]
    assert event_names(events)[4:] == ["turn_end 0", "turn_start 1", "turn_end 1", "agent_stop"]
    assert events[4]["payload"].pop("duration_ms") >= 0
    tokens = {"tokens_in": 8, "tokens_out": 2, "tokens_cached": None}
    assert events[4]["payload"] == {"turn": 0, "model": "m1", "provider": "local", "attempts": 1, **tokens}
    assert events[-1]["payload"] == {"result": "It is shipped.", "status": "completed"}
    assert {(event["session_id"], event["agent_id"]) for event in events} == {(run.id, "desk")}
    assert all(event.keys() == {"event_type", "timestamp_ms", "session_id", "agent_id", "payload"} for event in events)


def test_failures_fire_failure_events(recorder: Recorder, events: Events) -> None:
    def fail() -> None:
        with recorder.run("failing"), recorder.model("m"), recorder.tool("slow"):
            raise TimeoutError("no answer")

    with pytest.raises(TimeoutError):
        fail()
    assert event_names(events) == [
        "agent_start",
        "turn_start 0",
        "pre_tool_use slow",
        "post_tool_use_failure slow",
        "turn_end 0",
        "agent_stop",
    ]
    assert events[3]["payload"]["error"] == "TimeoutError: no answer"
    assert events[-1]["payload"] == {"result": "TimeoutError: no answer", "status": "failed"}


def test_turns_are_counted_per_loop(recorder: Recorder, events: Events) -> None:
    with recorder.run("nested", input={"order": 7}):
        for _ in range(2):
            with recorder.turn():
                recorder.model("planner").record()
                with recorder.tool("ask_expert"):
                    recorder.model("expert").record()
                    recorder.model("expert").record()
        with recorder.step("node", "a node of a graph"):
            recorder.model("planner").record()
        recorder.tool("after the node").record()
    assert events[0]["payload"] == {"task": '{"order":7}'}
    expert = ["turn_start 0", "turn_end 0", "turn_start 1", "turn_end 1"]
    asks = ["pre_tool_use ask_expert", *expert, "post_tool_use ask_expert"]
    assert event_names(events)[1:-1] == [
        *("turn_start 0", *asks, "turn_end 0"),
        *("turn_start 1", *asks, "turn_end 1"),
        *("turn_start 2", "pre_tool_use after the node", "post_tool_use after the node", "turn_end 2"),
    ]


def test_matcher_applies_to_tool_events(recorder: Recorder) -> None:
    writes: Events = []
    starts: Events = []
    recorder.hook(matcher="write|^rm$")(writes.append)
    recorder.hook("agent_start", "turn_start", matcher="write")(starts.append)
    with recorder.run("r"):
        for name in ("overwrite_file", "rm", "rmdir", "read"):
            recorder.tool(name).record()
    tools = [event["payload"]["tool_name"] for event in writes if event["event_type"] == "pre_tool_use"]
    assert tools == ["overwrite_file", "rm"]
    assert event_names(writes)[0] == "agent_start"
    assert event_names(starts) == ["agent_start"]


def test_strongest_answer_is_the_decision(recorder: Recorder, tmp_path: Path) -> None:
    @recorder.hook("pre_tool_use", matcher="path")
    def sandbox(event: dict[str, Any]) -> Any:
        return {"action": "modify_args", "args": {"path": "/sandbox" + event["payload"]["args"]["path"]}}

    @recorder.hook("pre_tool_use", matcher="delete")
    def no_deletes(event: dict[str, Any]) -> Any:
        return {"action": "deny", "message": "not today"}

    recorder.hook("pre_tool_use")(lambda event: "deny" if event["payload"]["tool_name"] == "delete_path" else "allow")
    with recorder.run("r"):
        with recorder.tool("read_path", {"path": "/a"}) as read:
            if read.decision["action"] == "modify_args":
                read.input = read.decision["args"]
            read.output = read.input["path"]
        with recorder.tool("delete_path", {"path": "/a"}) as delete:
            if delete.decision.get("action") == "deny":
                delete.deny()
        with recorder.tool("look") as look:
            pass
    assert read.decision == {"action": "modify_args", "args": {"path": "/sandbox/a"}, "hook": "sandbox"}
    assert delete.decision == {"action": "deny", "message": "not today", "hook": "no_deletes"}
    assert look.decision == {}
    recorded_steps = steps(recorder, tmp_path)
    assert (recorded_steps["read_path"].input, recorded_steps["read_path"].output) == (
        {"path": "/sandbox/a"},
        "/sandbox/a",
    )
    assert recorded_steps["read_path"].attributes["asked"] == {"path": "/a"}
    assert (recorded_steps["delete_path"].status, recorded_steps["delete_path"].error) == (
        StepStatus.DENIED,
        "not today",
    )
    assert recorded_steps["delete_path"].attributes["hook"] == delete.decision


def test_ignored_denial_is_logged(recorder: Recorder, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    recorder.hook("pre_tool_use")(lambda event: "deny")

    @recorder.tool()
    def drop_table() -> str:
        return "dropped"

    with recorder.run("r"):
        assert drop_table() == "dropped"
    step = steps(recorder, tmp_path)["drop_table"]
    assert (step.status, step.output) == (StepStatus.OK, "dropped")
    assert step.attributes["hook"] == {"action": "deny", "message": "", "hook": "<lambda>"}
    assert "'drop_table' was called although hook '<lambda>' denied it" in caplog.text


def raising(event: dict[str, Any]) -> None:
    raise RuntimeError("out of order")


async def waiting(event: dict[str, Any]) -> None:
    raise AssertionError("never asked")


@pytest.mark.parametrize(
    ("ask", "named", "matcher", "says"),
    [
        (raising, (), "", "Hook 'raising' failed at pre_tool_use: RuntimeError: out of order"),
        (lambda event: 7, (), "", "7 is not a valid decision"),
        (lambda event: {"action": "modify_args", "args": "text"}, (), "", "is not a valid decision"),
        (lambda event: {"action": "stop"}, ("turn_start",), "", "is not a valid decision"),
        (lambda event: "deny", ("post_tool_use",), "", "is not a valid decision"),
        (lambda event: event["payload"]["args"].clear(), (), "", ""),
        (waiting, (), "", "coroutine"),
        (print, ("lunch",), "", "'lunch' is not a valid HookEvent"),
        (print, (raising,), "", "write `@recorder.hook()`, with parentheses"),
        (print, (), "(", "unterminated subpattern"),
        (print, (), 7, "not registered"),
        (print, (), b"get", "cannot use a bytes pattern"),
        (7, (), "", "not callable"),
    ],
)
def test_hook_errors_never_reach_agent(
    recorder: Recorder, tmp_path: Path, caplog: pytest.LogCaptureFixture, ask: Any, named: Any, matcher: Any, says: str
) -> None:
    assert recorder.hook(*named, matcher=matcher)(ask) is ask
    after: Events = []
    recorder.hook()(after.append)
    with caplog.at_level(logging.WARNING, "forkpoint"), recorder.run("r"):
        recorder.model("m").record()
        with recorder.tool("get_order", {"id": 7}) as tool:
            tool.output = 1
    assert tool.decision == {}
    assert says in caplog.text
    assert event_names(after) == [
        "agent_start",
        "turn_start 0",
        "pre_tool_use get_order",
        "post_tool_use get_order",
        "turn_end 0",
        "agent_stop",
    ]
    assert after[2]["payload"]["args"] == {"id": 7}
    assert steps(recorder, tmp_path)["get_order"].input == {"id": 7}
    assert recorder.dropped_events == 0


def test_hostile_hook_is_harmless(recorder: Recorder, events: Events) -> None:
    class Hostile:
        def __call__(self, event: dict[str, Any]) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("no attribute")

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no comparison")

        def __repr__(self) -> str:
            raise RuntimeError("no text")

    recorder.hook()(Hostile())
    with recorder.run("r"), recorder.tool("get_order") as tool:
        tool.output = Hostile()
    assert tool.decision == {}
    assert event_names(events) == ["agent_start", "pre_tool_use get_order", "post_tool_use get_order", "agent_stop"]


def test_hooks_do_not_trigger_themselves(recorder: Recorder, tmp_path: Path) -> None:
    events: Events = []

    @recorder.hook("pre_tool_use")
    def judge(event: dict[str, Any]) -> None:
        events.append(event)
        recorder.tool("look it up").record()

    with recorder.run("r"):
        recorder.tool("delete").record()
    assert event_names(events) == ["pre_tool_use delete"]
    recorded_steps = steps(recorder, tmp_path)
    assert recorded_steps["look it up"].parent == recorded_steps["delete"].key


def test_hooks_fire_without_recording() -> None:
    recorder = Recorder("off")
    events: Events = []
    recorder.hook("pre_tool_use")(events.append)
    recorder.tool("lonely").record()
    recorder.model("lonely").record()
    with recorder.run("r"):
        recorder.tool("heard").record()
    assert event_names(events) == ["pre_tool_use heard"]


def test_parallel_agents_count_turns_separately(recorder: Recorder) -> None:
    queue: SimpleQueue[dict[str, Any]] = SimpleQueue()
    recorder.hook("turn_start", "turn_end")(queue.put)

    async def agent(name: str) -> None:
        async with recorder.agent(name):
            for _ in range(2):
                async with recorder.model(name):
                    await asyncio.sleep(0.001)

    async def main() -> None:
        await asyncio.gather(*(agent(f"task {number}") for number in range(3)))

    def work(number: int) -> None:
        asyncio.run(agent(f"thread {number}"))

    with recorder.run("r"):
        asyncio.run(main())
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(recorder.carry(work), range(3)))
    counts = Counter(event_names([queue.get() for _ in range(queue.qsize())]))
    assert counts == {"turn_start 0": 6, "turn_end 0": 6, "turn_start 1": 6, "turn_end 1": 6}


def test_turn_lasts_until_model_answers(recorder: Recorder, events: Events) -> None:
    async def ask() -> None:
        async with recorder.model("m"):
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(ask(), ask())

    with recorder.run("r"):
        asyncio.run(main())
    assert event_names(events)[1:-1] == ["turn_start 0", "turn_start 1", "turn_end 0", "turn_end 1"]


Program = list[tuple[str, Any]]
_KINDS = ("agent", "turn", "node", "model", "tool", "search", "fails")
_PROGRAMS: st.SearchStrategy[Program] = st.recursive(
    st.just([]), lambda inner: st.lists(st.tuples(st.sampled_from(_KINDS), inner), max_size=4), max_leaves=12
)


def play(recorder: Recorder, program: Program, ids: Callable[[], int]) -> None:
    scopes: dict[str, Callable[[], Any]] = {
        "agent": lambda: recorder.agent("a"),
        "turn": recorder.turn,
        "node": lambda: recorder.step("node"),
        "model": lambda: recorder.model("m"),
        "tool": lambda: recorder.tool("t", {}, call_id=f"c{ids()}"),
        "search": lambda: recorder.retrieval("s"),
        "fails": lambda: recorder.tool("t", {}, call_id=f"c{ids()}"),
    }
    for kind, inner in program:
        with scopes[kind]() as scope:
            play(recorder, inner, ids)
            if kind == "fails":
                scope.fail("no")


def count_steps(program: Program, *kinds: str) -> int:
    return sum((kind in kinds) + count_steps(inner, *kinds) for kind, inner in program)


@given(_PROGRAMS)
def test_events_form_a_krabs_session(program: Program) -> None:
    recorder = Recorder("off", app="desk")
    events: Events = []
    recorder.hook()(events.append)
    with recorder.run("r", input="task") as scope:
        play(recorder, program, itertools.count().__next__)
        scope.output = "done"
    kinds = Counter(event["event_type"] for event in events)
    assert (event_names(events)[0], event_names(events)[-1]) == ("agent_start", "agent_stop")
    assert kinds[HookEvent.TURN_START] == kinds[HookEvent.TURN_END] == count_steps(program, "model")
    assert kinds[HookEvent.POST_TOOL_USE_FAILURE] == count_steps(program, "fails")
    lines = "".join(json.dumps(event) + "\n" for event in events)
    [session] = krabs.parse([Source(name="krabs.jsonl", data=lines.encode())])
    step_types = Counter(step.type for step in session.steps)
    assert step_types[StepType.TOOL] == count_steps(program, "tool", "fails")
    assert step_types[StepType.TURN] == count_steps(program, "model")
    assert all(step.status is not StepStatus.PARTIAL for step in session.steps)
