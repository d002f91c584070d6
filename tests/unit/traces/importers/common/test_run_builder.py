import time
from dataclasses import replace
from typing import Any

import pytest

from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers.common.names import run_name
from traces.importers.common.run_builder import RunFacts, build_run, match_calls


def tool_input(value: Any, arguments: Any, *, call_id: str = "c1") -> Any:
    """Return the input of a tool step after the calls of a model were matched."""
    message: Any = {"role": "assistant", "tool_calls": [{"id": "c1", "name": "find", "arguments": arguments}]}
    model = RecordedStep(key="m", name="chat", type=StepType.MODEL, output={"message": message})
    tool = RecordedStep(key="t", name="find", type=StepType.TOOL, tool_name="find", call_id=call_id, input=value)
    return match_calls([model, tool])[1].input


@pytest.mark.parametrize(
    ("text", "arguments"),
    [("Lima", {"city": "Lima"}), ("5", {"count": 5}), (5, {"count": 5}), ("{'a': 'x', 'b': 2}", {"a": "x", "b": 2})],
)
def test_text_of_arguments_becomes_the_arguments_of_its_call(text: Any, arguments: Any) -> None:
    assert tool_input(text, arguments) == arguments


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ("Rome", {"city": "Lima"}),
        ("Lima", {"city": "Lima", "unit": "C"}),
        (None, {"city": None}),
        (["x"], {"a": ["x"]}),
    ],
)
def test_other_input_stays_as_it_is(value: Any, arguments: Any) -> None:
    assert tool_input(value, arguments) == value


def test_input_of_another_call_stays_as_it_is() -> None:
    assert tool_input("Lima", {"city": "Lima"}, call_id="c2") == "Lima"


def test_repeated_calls_get_ids_in_order() -> None:
    def model(key: str, *ids: str) -> RecordedStep:
        calls: Any = [{"id": id, "name": "find", "arguments": {"city": "Lima"}} for id in ids]
        return RecordedStep(key=key, name="m", type=StepType.MODEL, output={"message": {"tool_calls": calls}})

    def tool(key: str) -> RecordedStep:
        return RecordedStep(key=key, name="find", type=StepType.TOOL, tool_name="find", input={"city": "Lima"})

    steps = match_calls([model("a", "c1", "c2"), tool("t1"), model("b", "c2", "c3"), *map(tool, ("t2", "t3", "t4"))])
    assert [step.call_id for step in steps if step.type is StepType.TOOL] == ["c1", "c2", "c3", ""]


@pytest.mark.parametrize(
    ("tools", "name"),
    [
        (["mcp.tools/list", "lookup", "lookup", "refund"], "lookup, refund"),
        (["a", "b", "c", "d"], "a, b, c, …"),
        (["mcp.tools/list"], "mcp.tools/list"),
        ([], "3f2b"),
    ],
)
def test_a_run_without_a_request_is_named_after_its_tools(tools: list[str], name: str) -> None:
    turn = RecordedStep(key="turn", name="turn", type=StepType.TURN)
    calls = [RecordedStep(key=str(key), name=tool, type=StepType.TOOL) for key, tool in enumerate(tools)]
    assert build_run(RunFacts(external_id="3f2b", app="desk", format="test"), [turn, *calls]).name == name
    named = build_run(RunFacts(external_id="3f2b", app="desk", format="test", name="agent.py"), [turn, *calls])
    assert named.name == "agent.py"


def test_time_to_match_calls_is_linear() -> None:
    calls: Any = [{"id": f"c{number}", "name": "find", "arguments": {"n": number}} for number in range(6_000)]
    model = RecordedStep(key="m", name="m", type=StepType.MODEL, output={"message": {"tool_calls": calls}})
    start = time.thread_time()
    match_calls([model, model])
    assert time.thread_time() - start < 1


@pytest.mark.parametrize(
    ("request_text", "name"),
    [
        ("<task>\nCount the books.\n</task>\n<environment_details>10:00", "Count the books."),
        ("<info>Linux</info>\n<user_query>\nCount them.", "Count them."),
        ("<task></task> Count them.", "<task></task> Count them."),
        ("Answer in <task> tags.", "Answer in <task> tags."),
        ("null", "support-agent"),
    ],
)
def test_name_of_a_run_is_what_the_user_wrote(request_text: str, name: str) -> None:
    request: Any = {"messages": [{"role": "user", "content": request_text}]}
    assert run_name([RecordedStep(key="a", type=StepType.MODEL, name="m", input=request)], "support-agent") == name


@pytest.mark.parametrize("value", ["null", " null\n", {"input": "null"}])
def test_an_absent_input_names_no_run(value: Any) -> None:
    assert (
        run_name([RecordedStep(key="a", type=StepType.AGENT, name="a", input=value)], "support-agent")
        == "support-agent"
    )


def test_name_is_found_in_linear_time() -> None:
    request: Any = {"messages": [{"role": "user", "content": "\n<task>" * 300_000}]}
    start = time.process_time()
    run_name([RecordedStep(key="a", type=StepType.MODEL, name="m", input=request)], "")
    assert time.process_time() - start < 2


@pytest.mark.parametrize("status", [StepStatus.ERROR, StepStatus.TIMEOUT])
def test_root_that_failed_or_timed_out_fails_its_run(status: StepStatus) -> None:
    facts = RunFacts(external_id="r", app="desk", format="otlp")
    root = RecordedStep(key="a", type=StepType.AGENT, name="desk", input="Hi")
    tool = RecordedStep(key="t", type=StepType.TOOL, name="find", parent="a", status=status)
    assert build_run(facts, [replace(root, status=status)]).status is RunStatus.FAILED
    assert build_run(facts, [root, tool]).status is RunStatus.COMPLETED, "the agent handled it"
