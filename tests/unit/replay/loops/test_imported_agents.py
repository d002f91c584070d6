"""Loops of imported agents are recognised and followed."""

import json
from typing import Any

import pytest

from tests.support.agent_runs import ToolCall
from tests.unit.replay.loops.test_subagents import calls, final_answer, number, replay_answers, results
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType
from traces.importers import registry
from traces.importers.files.source import Source

AT = "2026-03-01T10:00:{:02}.000Z"


def import_run(format: str, data: Any) -> RecordedRun:
    text = data if isinstance(data, str) else json.dumps(data)
    (run,) = registry.get_importer(format).runs([Source(name="run", data=text.encode())])
    return run


def claude_session() -> RecordedRun:
    """A session with two parallel sub-agents whose lines interleave."""
    use = [
        {"type": "tool_use", "id": f"t{at}", "name": "Task", "input": {"prompt": task, "description": task[:9]}}
        for at, task in enumerate(("count the red books", "count the blue books"))
    ]
    results = [
        {"type": "tool_result", "tool_use_id": f"t{at}", "content": [{"type": "text", "text": text}]}
        for at, text in enumerate(("There are three red books.", "There are five blue books."))
    ]
    lines = [
        _line("u1", None, "user", "How many books are red or blue?"),
        _line("a1", "u1", "assistant", use, id="m1"),
        _line("s1", None, "user", "count the red books", side=True),
        _line("r1", None, "user", "count the blue books", side=True),
        _line("s2", "s1", "assistant", [_uses("b1", "ls red")], side=True, id="m2"),
        _line("r2", "r1", "assistant", [_uses("b2", "ls blue")], side=True, id="m3"),
        _line("s3", "s2", "user", [_gives("b1", "red-1 red-2 red-3")], side=True),
        _line("r3", "r2", "user", [_gives("b2", "blue-1 blue-2")], side=True),
        _line("s4", "s3", "assistant", [{"type": "text", "text": "There are three red books."}], side=True, id="m4"),
        _line("r4", "r3", "assistant", [{"type": "text", "text": "There are five blue books."}], side=True, id="m5"),
        _line("u2", "a1", "user", results),
        _line("a2", "u2", "assistant", [{"type": "text", "text": "Eight books."}], id="m6"),
    ]
    return import_run("claude-code", "\n".join(json.dumps(line) for line in lines))


def _uses(call: str, command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}


def _gives(call: str, content: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content}


def _line(
    uuid: str, parent: str | None, role: str, content: Any, *, side: bool = False, id: str = ""
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": id, "model": "claude-x"}
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": side,
        "sessionId": "s",
        "message": message,
        "timestamp": AT.format(10),
    }


def graph_run(*, a_node_each: bool) -> RecordedRun:
    """A LangGraph run: nodes contain the steps; two parallel tools share a node or have one each."""
    calls_made = [_asks("c1", "weather", "Oslo"), _asks("c2", "weather", "Rome")]
    result_messages = [_tool_message("c1", "Oslo is cold."), _tool_message("c2", "Rome is warm.")]
    question = {"type": "human", "content": "Where is it warmer, in Oslo or in Rome?"}
    first = {"type": "ai", "content": "", "tool_calls": calls_made}
    last = {"type": "ai", "content": "It is warmer in Rome."}
    second_node = "tools-2" if a_node_each else "tools-1"
    runs = [
        _run("root", None, "LangGraph", "chain", 0, 20),
        _run("agent-1", "root", "agent", "chain", 1, 4),
        _run("prompt-1", "agent-1", "ChatPromptTemplate", "prompt", 1, 1),
        _run("llm-1", "agent-1", "ChatOpenAI", "llm", 2, 3, inputs=[question], output=first),
        _run("should-1", "agent-1", "should_continue", "chain", 4, 4),
        _run("tools-1", "root", "tools", "chain", 5, 9),
        _run("tool-1", "tools-1", "weather", "tool", 6, 8, tool=("c1", "Oslo", "Oslo is cold.")),
        *([_run("tools-2", "root", "tools", "chain", 5, 9)] if a_node_each else []),
        _run("tool-2", second_node, "weather", "tool", 6, 7, tool=("c2", "Rome", "Rome is warm.")),
        _run("agent-2", "root", "agent", "chain", 10, 14),
        _run("prompt-2", "agent-2", "ChatPromptTemplate", "prompt", 10, 10),
        _run("llm-2", "agent-2", "ChatOpenAI", "llm", 11, 12, inputs=[question, first, *result_messages], output=last),
        _run("should-2", "agent-2", "should_continue", "chain", 13, 13),
    ]
    return import_run("langsmith", {"post": runs})


def _asks(call: str, tool: str, city: str) -> dict[str, Any]:
    return {"id": call, "name": tool, "args": {"city": city}}


def _tool_message(call: str, content: str) -> dict[str, Any]:
    return {"type": "tool", "tool_call_id": call, "content": content}


def _run(
    key: str,
    parent: str | None,
    name: str,
    kind: str,
    start: int,
    end: int,
    *,
    inputs: Any = None,
    output: Any = None,
    tool: tuple[str, str, str] | None = None,
) -> dict[str, Any]:
    inputs_json: dict[str, Any] = {}
    outputs_json: dict[str, Any] = {}
    if inputs is not None:
        inputs_json, outputs_json = {"messages": [inputs], "model": "m1"}, {"generations": [[{"message": output}]]}
    if tool is not None:
        inputs_json, outputs_json = {"city": tool[1]}, {"output": tool[2], "tool_call_id": tool[0]}
    return {
        "id": key,
        "trace_id": "root",
        "parent_run_id": parent,
        "name": name,
        "run_type": kind,
        "start_time": AT.format(start),
        "end_time": AT.format(end),
        "inputs": inputs_json,
        "outputs": outputs_json,
    }


def test_claude_task_contains_sub_agent() -> None:
    run = claude_session()
    tasks = [step.key for step in run.steps if step.tool_name == "Task"]
    assert [step.parent for step in run.steps if step.name == "sub-agent"] == tasks


@pytest.mark.parametrize("index", [0, 1])
def test_claude_sub_agent_answer_reaches_session(index: int) -> None:
    run = claude_session()
    # The session's own model step comes first, then two of each sub-agent
    place = 1 + 2 * index
    outcome = replay_answers(
        run,
        place,
        calls(ToolCall("Bash", {"command": "ls all"})),
        final_answer("There are nine."),
        final_answer("So nine."),
    )
    contents = [str(content) for _, content in results(outcome.messages_of(outcome.models[-1]))]
    assert "There are nine." in contents[index]
    assert "There are nine." not in contents[1 - index]
    assert number(run, StepType.TOOL, 0) not in outcome.skipped_steps


def test_claude_sub_agent_gets_new_task() -> None:
    run = claude_session()
    green = ToolCall("Task", {"prompt": "find every green book there is", "description": "green"})
    blue = ToolCall("Task", {"prompt": "count the blue books", "description": "count the"})
    outcome = replay_answers(
        run, 0, calls(green, blue), final_answer("There is one green book."), final_answer("Six books.")
    )
    assert outcome.messages_of(outcome.models[1])[-1]["content"] == "find every green book there is"
    assert "There is one green book." in str(results(outcome.messages_of(outcome.models[-1]))[0][1])


@pytest.mark.parametrize("a_node_each", [False, True])
def test_graph_loop_is_followed_through_nodes(a_node_each: bool) -> None:
    run = graph_run(a_node_each=a_node_each)
    oslo, rome = ToolCall("weather", {"city": "Oslo"}), ToolCall("weather", {"city": "Rome"})
    bergen = ToolCall("weather", {"city": "Bergen"})
    outcome = replay_answers(run, 0, calls(rome, bergen), calls(oslo), final_answer("Rome."))
    assert not any("not followed" in text for text in outcome.divergences)
    assert [tool.split()[:2] for tool in outcome.tools] == [
        ["weather", "exact"],
        ["weather", "simulated"],
        ["weather", "cached"],  # It was recorded for the first answer.
    ]
    assert [identity for identity, _ in results(outcome.messages_of(outcome.models[1]))] == ["c2", "live1"]
    assert outcome.skipped_steps == []
