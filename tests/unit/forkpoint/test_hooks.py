"""Hooks of the capture SDK: they hear an agent as hooks of Krabs do, and none of their troubles reach it."""

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

Heard = list[dict[str, Any]]


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "run.jsonl", app="desk")


@pytest.fixture
def heard(recorder: Recorder) -> Heard:
    told: Heard = []
    recorder.hook()(told.append)
    return told


def told(heard: Heard) -> list[str]:
    """The events in their order, with the turn or the tool that they are about."""
    return [
        " ".join(str(part) for part in (event["event_type"], about(event["payload"])) if part != "") for event in heard
    ]


def about(payload: dict[str, Any]) -> Any:
    return payload.get("turn", payload.get("tool_name", ""))


def steps(recorder: Recorder, tmp_path: Path) -> dict[str, RecordedStep]:
    assert recorder.flush()
    [run] = forkpoint_events.parse([Source(name="run.jsonl", data=(tmp_path / "run.jsonl").read_bytes())])
    return {step.name: step for step in run.steps}


def test_a_run_is_told_with_the_events_of_krabs(recorder: Recorder, heard: Heard) -> None:
    with recorder.run("refund", input="Where is order 7?") as run:
        with recorder.model("m1", provider="local", messages=[]) as model:
            model.record_usage(tokens_in=8, tokens_out=2)
        with recorder.tool("get_order", {"id": 7}, call_id="c1") as tool:
            tool.output = {"status": "shipped"}
        with recorder.model("m1", messages=[]):
            pass
        recorder.output("It is shipped.").record()
    assert [(event["event_type"], event["payload"]) for event in heard[:4]] == [
        ("agent_start", {"task": "Where is order 7?"}),
        ("turn_start", {"turn": 0}),
        ("pre_tool_use", {"tool_name": "get_order", "args": {"id": 7}, "tool_use_id": "c1"}),
        (
            "post_tool_use",
            {"tool_name": "get_order", "args": {"id": 7}, "result": {"status": "shipped"}, "tool_use_id": "c1"},
        ),
    ]
    assert told(heard)[4:] == ["turn_end 0", "turn_start 1", "turn_end 1", "agent_stop"]
    assert heard[4]["payload"].pop("duration_ms") >= 0
    used = {"tokens_in": 8, "tokens_out": 2, "tokens_cached": None}
    assert heard[4]["payload"] == {"turn": 0, "model": "m1", "provider": "local", "attempts": 1, **used}
    assert heard[-1]["payload"] == {"result": "It is shipped.", "status": "completed"}
    assert {(event["session_id"], event["agent_id"]) for event in heard} == {(run.id, "desk")}
    assert all(event.keys() == {"event_type", "timestamp_ms", "session_id", "agent_id", "payload"} for event in heard)


def test_failures_are_told_as_such_and_nothing_stays_open(recorder: Recorder, heard: Heard) -> None:
    def fail() -> None:
        with recorder.run("failing"), recorder.model("m"), recorder.tool("slow"):
            raise TimeoutError("no answer")

    with pytest.raises(TimeoutError):
        fail()
    assert told(heard) == [
        "agent_start",
        "turn_start 0",
        "pre_tool_use slow",
        "post_tool_use_failure slow",
        "turn_end 0",
        "agent_stop",
    ]
    assert heard[3]["payload"]["error"] == "TimeoutError: no answer"
    assert heard[-1]["payload"] == {"result": "TimeoutError: no answer", "status": "failed"}


def test_turns_are_counted_in_the_loop_that_they_belong_to(recorder: Recorder, heard: Heard) -> None:
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
    assert heard[0]["payload"] == {"task": '{"order":7}'}
    expert = ["turn_start 0", "turn_end 0", "turn_start 1", "turn_end 1"]
    asks = ["pre_tool_use ask_expert", *expert, "post_tool_use ask_expert"]
    assert told(heard)[1:-1] == [
        *("turn_start 0", *asks, "turn_end 0"),
        *("turn_start 1", *asks, "turn_end 1"),
        *("turn_start 2", "pre_tool_use after the node", "post_tool_use after the node", "turn_end 2"),
    ]


def test_a_matcher_is_searched_in_the_names_of_tools_and_lets_other_events_by(recorder: Recorder) -> None:
    writes: Heard = []
    starts: Heard = []
    recorder.hook(matcher="write|^rm$")(writes.append)
    recorder.hook("agent_start", "turn_start", matcher="write")(starts.append)
    with recorder.run("r"):
        for name in ("overwrite_file", "rm", "rmdir", "read"):
            recorder.tool(name).record()
    tools = [event["payload"]["tool_name"] for event in writes if event["event_type"] == "pre_tool_use"]
    assert tools == ["overwrite_file", "rm"]
    assert told(writes)[0] == "agent_start"
    assert told(starts) == ["agent_start"]


def test_the_strongest_answer_is_the_decision_that_the_agent_may_heed(recorder: Recorder, tmp_path: Path) -> None:
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
        with recorder.tool("delete_path", {"path": "/a"}) as deleted:
            if deleted.decision.get("action") == "deny":
                deleted.deny()
        with recorder.tool("look") as look:
            pass
    assert read.decision == {"action": "modify_args", "args": {"path": "/sandbox/a"}, "hook": "sandbox"}
    assert deleted.decision == {"action": "deny", "message": "not today", "hook": "no_deletes"}
    assert look.decision == {}
    recorded = steps(recorder, tmp_path)
    assert (recorded["read_path"].input, recorded["read_path"].output) == ({"path": "/sandbox/a"}, "/sandbox/a")
    assert recorded["read_path"].attributes["asked"] == {"path": "/a"}
    assert (recorded["delete_path"].status, recorded["delete_path"].error) == (StepStatus.DENIED, "not today")
    assert recorded["delete_path"].attributes["hook"] == deleted.decision


def test_a_denied_call_that_was_made_is_recorded_as_made_and_logged(
    recorder: Recorder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder.hook("pre_tool_use")(lambda event: "deny")

    @recorder.tool()
    def drop_table() -> str:
        return "dropped"

    with recorder.run("r"):
        assert drop_table() == "dropped"
    recorded = steps(recorder, tmp_path)["drop_table"]
    assert (recorded.status, recorded.output) == (StepStatus.OK, "dropped")
    assert recorded.attributes["hook"] == {"action": "deny", "message": "", "hook": "<lambda>"}
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
def test_no_trouble_of_a_hook_reaches_the_agent(
    recorder: Recorder, tmp_path: Path, caplog: pytest.LogCaptureFixture, ask: Any, named: Any, matcher: Any, says: str
) -> None:
    assert recorder.hook(*named, matcher=matcher)(ask) is ask
    after: Heard = []
    recorder.hook()(after.append)
    with caplog.at_level(logging.WARNING, "forkpoint"), recorder.run("r"):
        recorder.model("m").record()
        with recorder.tool("get_order", {"id": 7}) as tool:
            tool.output = 1
    assert tool.decision == {}
    assert says in caplog.text
    assert told(after) == [
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


def test_a_hook_of_which_nothing_can_be_said_does_no_harm(recorder: Recorder, heard: Heard) -> None:
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
    assert told(heard) == ["agent_start", "pre_tool_use get_order", "post_tool_use get_order", "agent_stop"]


def test_hooks_do_not_hear_what_a_hook_does_itself(recorder: Recorder, tmp_path: Path) -> None:
    heard: Heard = []

    @recorder.hook("pre_tool_use")
    def judge(event: dict[str, Any]) -> None:
        heard.append(event)
        recorder.tool("look it up").record()

    with recorder.run("r"):
        recorder.tool("delete").record()
    assert told(heard) == ["pre_tool_use delete"]
    recorded = steps(recorder, tmp_path)
    assert recorded["look it up"].parent == recorded["delete"].key


def test_hooks_hear_an_agent_that_is_not_recorded_and_nothing_outside_a_run() -> None:
    recorder = Recorder("off")
    heard: Heard = []
    recorder.hook("pre_tool_use")(heard.append)
    recorder.tool("lonely").record()
    recorder.model("lonely").record()
    with recorder.run("r"):
        recorder.tool("heard").record()
    assert told(heard) == ["pre_tool_use heard"]


def test_agents_side_by_side_have_turns_of_their_own(recorder: Recorder) -> None:
    heard: SimpleQueue[dict[str, Any]] = SimpleQueue()
    recorder.hook("turn_start", "turn_end")(heard.put)

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
    events = Counter(told([heard.get() for _ in range(heard.qsize())]))
    assert events == {"turn_start 0": 6, "turn_end 0": 6, "turn_start 1": 6, "turn_end 1": 6}


def test_a_turn_does_not_end_while_its_model_is_still_being_asked(recorder: Recorder, heard: Heard) -> None:
    async def ask() -> None:
        async with recorder.model("m"):
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(ask(), ask())

    with recorder.run("r"):
        asyncio.run(main())
    assert told(heard)[1:-1] == ["turn_start 0", "turn_start 1", "turn_end 0", "turn_end 1"]


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


def counted(program: Program, *kinds: str) -> int:
    return sum((kind in kinds) + counted(inner, *kinds) for kind, inner in program)


@given(_PROGRAMS)
def test_what_hooks_hear_of_any_agent_is_a_session_of_krabs(program: Program) -> None:
    recorder = Recorder("off", app="desk")
    heard: Heard = []
    recorder.hook()(heard.append)
    with recorder.run("r", input="task") as scope:
        play(recorder, program, itertools.count().__next__)
        scope.output = "done"
    kinds = Counter(event["event_type"] for event in heard)
    assert (told(heard)[0], told(heard)[-1]) == ("agent_start", "agent_stop")
    assert kinds[HookEvent.TURN_START] == kinds[HookEvent.TURN_END] == counted(program, "model")
    assert kinds[HookEvent.POST_TOOL_USE_FAILURE] == counted(program, "fails")
    lines = "".join(json.dumps(event) + "\n" for event in heard)
    [session] = krabs.parse([Source(name="krabs.jsonl", data=lines.encode())])
    found = Counter(step.type for step in session.steps)
    assert found[StepType.TOOL] == counted(program, "tool", "fails")
    assert found[StepType.TURN] == counted(program, "model")
    assert all(step.status is not StepStatus.PARTIAL for step in session.steps)
