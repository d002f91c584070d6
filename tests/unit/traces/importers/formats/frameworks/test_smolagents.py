"""Memories of smolagents: steps, and messages that write calls as texts."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import JudgementKind, RunStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.payloads.messages import ModelAnswer

TASK = {"task": "Is Dune in stock?", "task_images": None}
REQUEST = [{"role": "user", "content": [{"type": "text", "text": "New task:\nIs Dune in stock?"}], "tool_calls": None}]
USAGE = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}


def call(name: str, arguments: Any, id: str = "c1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def step(number: int, text: str, calls: list[Any], **fields: Any) -> dict[str, Any]:
    times = {"start_time": 1_772_359_200.0 + number, "end_time": 1_772_359_200.5 + number}
    return {
        "step_number": number,
        "timing": times,
        "model_input_messages": REQUEST,
        "model_output": text,
        "tool_calls": calls,
        "observations": None,
        "error": None,
        "token_usage": USAGE,
        **fields,
    }


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}], "tool_calls": None, "token_usage": None}


def read(value: Any) -> RecordedRun:
    data = orjson.dumps(value)
    assert registry.detect(fixtures.sample("upload", data)).name == "smolagents"
    (run,) = registry.get_importer("smolagents").runs([Source(name="memory.json", data=data)])
    return run


def test_code_of_step_is_tool() -> None:
    code = [call("python_interpreter", "look()")]
    error = {"type": "AgentExecutionError", "message": "look is not defined"}
    last = {"observations": "Logs:\n3", "action_output": 3, "is_final_answer": True}
    run = read([TASK, step(1, "Look.", code, error=error), step(2, "Count.", code, code_action="count()", **last)])
    failed, counted = fixtures.steps(run, StepType.TOOL)
    assert (failed.input, failed.error) == ({"code": "look()"}, "look is not defined")
    assert (counted.input, counted.output, counted.attributes["action_output"]) == ({"code": "count()"}, "Logs:\n3", 3)
    models = fixtures.steps(run, StepType.MODEL)
    assert [(model.tokens_in, model.tokens_out) for model in models] == [(100, 20)] * 2
    assert fixtures.request_contents(models[0]) == ["New task:\nIs Dune in stock?"]
    assert (run.steps[-1].output, run.name) == ({"text": "3"}, "Is Dune in stock?")


def test_refused_call_is_in_answer_only() -> None:
    answer = {"role": "assistant", "content": "", "tool_calls": [call("find", {"n": 1})]}
    refused = step(1, "", [], model_output_message=answer, error={"type": "E", "message": "no shelf"})
    parallel = [call("find", {"n": 2}, "c2"), call("find", {"n": 3}, "c3")]
    run = read([TASK, refused, step(2, "", parallel, observations="2\n3"), {"output": "five"}])
    tools = fixtures.steps(run, StepType.TOOL)
    assert [(tool.call_id, tool.error, tool.output) for tool in tools] == [
        ("c1", "no shelf", "no shelf"),
        ("c2", "", "2\n3"),
        ("c3", "", "2\n3"),
    ]
    assert tools[1].attributes["joined_results"] == 2
    assert run.steps[-1].output == {"text": "five"}


def test_calls_in_texts_of_messages_are_steps() -> None:
    messages = [
        message("system", "Be brief."),
        message("user", "New task:\nIs Dune in stock?"),
        message("assistant", "Let me look."),
        message("tool-call", "Calling tools:\n[" + str(call("find", {"title": "Dune"})) + "]"),
        message("tool-response", "Error:\nno shelf"),
        message("assistant", "I cannot tell."),
        message("tool-response", "Observation:\nnothing was called"),
    ]
    row = {"question": "Is Dune in stock?", "prediction": "unknown", "agent_error": "stopped"}
    run = read({**row, "intermediate_steps": messages})
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.call_id, tool.input, tool.error) == ("c1", {"title": "Dune"}, "no shelf")
    first, second = fixtures.steps(run, StepType.MODEL)
    assert ModelAnswer(first.output).text == "Let me look."
    assert fixtures.request_contents(second)[-1] == "Error:\nno shelf"
    assert len(fixtures.steps(run, StepType.TURN)) == 1
    assert (run.status, run.steps[-1].output) == (RunStatus.FAILED, {"text": "unknown"})
    assert read(messages).status is RunStatus.COMPLETED


def test_rows_of_gaia_name_their_task_and_failures() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "python_interpreter", "arguments": "print(3)"}}
    step = {"step_number": 1, "model_output": "I count.", "tool_calls": [call], "observations": "Execution logs:\n3"}
    memory = [{"task": "Count Dune."}, step, {"step_number": 2, "model_output": "Three.", "observations": None}]
    row: dict[str, Any] = {
        "agent_name": "gpt-4o",
        "question": "Count Dune.",
        "task": "1",
        "task_id": "t1",
        "is_correct": False,
    }
    row |= {"prediction": "3", "intermediate_steps": memory, "token_counts": {"input": 90, "output": 8}}
    failed = {**row, "task_id": "t2", "prediction": None, "intermediate_steps": [], "agent_error": "no model"}
    (run, other), problems = fixtures.detect_and_read("smolagents", fixtures.json_lines([row, failed]))
    assert (run.tags, run.steps[0].tokens_in, problems) == (("task:t1",), 90, [])
    assert {item.name: item.kind for item in run.judgements} == {"is_correct": JudgementKind.FAIL}
    last = fixtures.steps(run, StepType.MODEL)[-1]
    assert fixtures.request_contents(last) == ["Count Dune.", "I count.", "Observation:\nExecution logs:\n3"]
    assert (other.status, other.steps[0].error, other.name) == (RunStatus.FAILED, "no model", "Count Dune.")


ACTION = (
    "ActionStep(step_number=1, timing=Timing(start_time=1760000000.0, end_time=1760000002.0, duration=2.0),"
    " model_input_messages=[ChatMessage(role=<MessageRole.USER: 'user'>, content=[{'type': 'text', 'text': 'Count.'}],"
    " tool_calls=None, raw=None)], tool_calls=[ToolCall(name='python_interpreter', arguments='count()', id='call_1')],"
    " error=AgentExecutionError('no shelf'), model_output='I count.', code_action='count()', observations='Logs:\\n3',"
    " token_usage=TokenUsage(input_tokens=90, output_tokens=7, total_tokens=97), is_final_answer=False)"
)


def test_steps_as_texts_of_python_objects() -> None:
    steps = ["SystemPromptStep(system_prompt='Be brief.')", "TaskStep(task='Count.', task_images=None)", ACTION]
    row: dict[str, Any] = {
        "agent_name": "code",
        "question": "Count.",
        "intermediate_steps": [*steps, "ActionStep(<broken>)"],
    }
    row["iteration_limit_exceeded"] = True
    (run,), problems = fixtures.detect_and_read("smolagents", fixtures.json_lines([row]), "rows.jsonl")
    (model,) = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (model.tokens_in, str(model.started_at)) == (90, "2025-10-09 08:53:20+00:00")
    assert (tool.name, tool.input, tool.output, tool.error) == (
        "python_interpreter",
        {"code": "count()"},
        "Logs:\n3",
        "no shelf",
    )
    assert [(item.kind, item.text) for item in run.judgements] == [(JudgementKind.FAIL, "max_steps")]
    assert "text of an object that is too long or damaged" in problems[0]


def test_messages_as_texts_of_python_objects() -> None:
    call = "Calling tools:\\n[{'id': 'c1', 'function': {'name': 'count', 'arguments': {}}}]"
    texts = [("user", "Count."), ("assistant", "I count."), ("tool-call", call), ("tool-response", "Observation:\\n3")]
    messages = [
        f"ChatMessage(role=<MessageRole.{role.upper().replace('-', '_')}: '{role}'>, content=[{{'type': 'text',"
        f" 'text': \"{text}\"}}], tool_calls=None, raw=None, token_usage=None)"
        for role, text in texts
    ]
    row = {"question": "Count.", "intermediate_steps": messages, "prediction": "3"}
    (run,), problems = fixtures.detect_and_read("smolagents", fixtures.json_lines([row]), "rows.jsonl")
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.name, tool.output, run.steps[-1].output, problems) == ("count", "3", {"text": "3"}, [])


def test_last_call_gives_the_answer() -> None:
    calls = [call("find", {"title": "Dune"}), call("final_answer", {"answer": "Yes."}, "c2")]
    run = read([TASK, step(1, "Look.", calls[:1], observations="3"), step(2, "", calls[1:], observations="Yes.")])
    assert run.steps[-1].output == {"text": "Yes."}


def test_calls_without_a_text_before_are_answers() -> None:
    texts = [str([call("find", {"title": title}, f"c{title}")]) for title in ("Dune", "Emma")]
    memory = [message("system", "Be kind."), message("user", "New task:\nIs Dune in stock?")]
    for text in texts:
        memory += [message("tool-call", f"Calling tools:\n{text}"), message("tool-response", "Observation:\n3")]
    run = read([*memory, message("tool-call", "Calling tools: (cut off)")])
    assert [tool.input for tool in fixtures.steps(run, StepType.TOOL)] == [{"title": "Dune"}, {"title": "Emma"}]
    assert [tool.output for tool in fixtures.steps(run, StepType.TOOL)] == ["3", "3"]
    assert run.steps[-1].output == {"text": "Calling tools: (cut off)"}
