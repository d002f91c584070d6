"""Chat transcripts: run ids, results without calls, and damaged lines."""

from decimal import Decimal
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.payloads.messages import ModelRequest

HELLO = [{"role": "user", "content": "Is Dune in stock?"}, {"role": "assistant", "content": "Yes."}]


def read(*rows: Any) -> list[RecordedRun]:
    source = Source(name="runs.jsonl", data=fixtures.json_lines(rows))
    return list(registry.get_importer("chat").runs([source]))


def run_ids(*rows: Any) -> list[str]:
    return [run.external_id for run in read(*rows)]


def test_trials_without_messages_are_separate_runs() -> None:
    rows: list[Any] = [{"task_id": task, "trial": trial, "messages": []} for task in (1, 2) for trial in (0, 1)]
    runs = read(*rows)
    assert len({run.external_id for run in runs}) == 4
    assert {run.status for run in runs} == {RunStatus.FAILED}
    (timed_out,) = read({"task_id": 1, "run_info": {"termination_reason": "too_many_errors"}, "messages": []})
    assert timed_out.steps[0].error == "the trial ended before any message: too_many_errors"
    assert run_ids(*rows) == [run.external_id for run in runs], "the same row is the same run"


def test_same_task_of_two_files_is_two_runs() -> None:
    first, second = ({"task_id": 1, "trial": 0, "source": model, "messages": HELLO} for model in ("small", "large"))
    assert len(set(run_ids(first, second))) == 2


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"run_id": "nightly", "task_id": 7, "trial": 2}, "nightly/7/2"),
        ({"run_id": "nightly", "config": {"trial": 2}, "task_id": "7"}, "nightly/7/2"),
        ({"run_id": "nightly/7#2", "task_id": 7, "trial": 2}, "nightly/7#2"),
        ({"run_id": "nightly-27", "task_id": 7}, "nightly-27/7"),
        ({"run_id": "nightly", "task_id": 7, "simulation_id": "s-1"}, "s-1"),
        ({"run_id": "nightly", "task_id": 7, "run_info": {"simulation_id": "s-1"}}, "s-1"),
        ({"id": "s-1", "task_id": 7}, "s-1"),
        ({"run_id": "nightly"}, "nightly"),
        ({"thread_id": "t-1"}, "t-1"),
        ({"conversationId": "c-1"}, "c-1"),
    ],
)
def test_run_id_combines_all_ids(row: dict[str, Any], expected: str) -> None:
    assert run_ids({**row, "messages": HELLO}) == [expected]


def test_equal_messages_without_ids_are_one_run() -> None:
    assert len(set(run_ids({"messages": HELLO}, {"messages": HELLO}))) == 1


@pytest.mark.parametrize("field", ["instance_id", "request_id", "index", "reward", "model"])
def test_equal_messages_of_different_trials_are_separate_runs(field: str) -> None:
    first, second = ({field: value, "messages": HELLO} for value in (0, 1))
    assert len(set(run_ids(first, second, first))) == 2


def test_results_without_calls_are_recorded() -> None:
    orphan = {"role": "tool", "tool_call_id": "lost", "content": "3 copies"}
    (run,) = read({"id": "a", "messages": [orphan, *HELLO]})
    assert run.steps[0].attributes == {"results_without_calls": [{"tool_call_id": "lost"}]}
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert "3 copies" in str(model.input)
    (unread,) = read({"id": "b", "messages": [*HELLO, orphan]})
    assert "3 copies" in str(unread.steps[0].attributes["unread_messages"])


def test_damaged_lines_lose_no_other_message() -> None:
    messages = [fixtures.REQUEST, fixtures.ANSWER, {**fixtures.REQUEST, "ts": "soon"}, {"kind": "header"}]
    data = fixtures.json_lines(messages) + b'\n{"role": "assi'
    (run,), problems = fixtures.detect_and_read("chat", data)
    assert len(fixtures.steps(run, StepType.TURN)) == 2
    assert [location in " ".join(problems) for location in ("line 3", "line 4", "line 5")] == [True] * 3


def test_long_call_id_is_unchanged() -> None:
    call_id = "call_" + "x" * 5000
    call = {"id": call_id, "name": "find_book", "arguments": {"title": "Dune"}}
    messages = [HELLO[0], {"role": "assistant", "content": None, "tool_calls": [call]}]
    (run,) = read({"id": "a", "messages": [*messages, {"role": "tool", "tool_call_id": call_id, "content": "3"}]})
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.call_id, tool.output) == (call_id, "3")


def test_answer_has_facts_of_its_envelope() -> None:
    choice = {"finish_reason": "max_tokens", "message": {"role": "assistant", "content": "Yes"}}
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    response = {"id": "c-1", "model": "gpt-x-2", "choices": [choice], "usage": usage, "created": 1772359200}
    (run,) = read({"model": "gpt-x", "messages": HELLO[:1], "response": response})
    (step,) = fixtures.steps(run, StepType.MODEL)
    assert (step.model, step.tokens_in, step.tokens_out, step.attributes["id"]) == ("gpt-x", 7, 2, "c-1")
    assert step.attributes["response_model"] == "gpt-x-2"
    assert step.output == {"message": choice["message"], "finish_reason": "length"}
    assert step.ended_at is not None
    (logged,) = read({"messages": HELLO[:1], "response": {"choices": [choice]}, "prompt_tokens": 9, "cost": 0.5})
    (step,) = fixtures.steps(logged, StepType.MODEL)
    assert (step.tokens_in, str(step.cost_usd)) == (9, "0.50000000")


def test_error_instead_of_answer_fails() -> None:
    (run,) = read({"model": "gpt-x", "messages": HELLO[:1], "error": {"message": "rate limit", "code": 429}})
    (step,) = fixtures.steps(run, StepType.MODEL)
    assert (run.status, step.status, step.error, step.output) == ("failed", "error", "rate limit", None)
    (response,) = read({"request": {"messages": HELLO[:1]}, "response": {"error": {"message": "rate limit"}}})
    (step,) = fixtures.steps(response, StepType.MODEL)
    assert (response.status, step.error, step.output) == ("failed", "rate limit", None)
    (late,) = read({"messages": HELLO, "error": "the worker died"})
    assert (late.status, late.steps[0].error) == ("failed", "the worker died")
    assert [step.status for step in fixtures.steps(late, StepType.MODEL)] == ["ok"]


def test_calls_named_by_member_are_steps() -> None:
    use = {"toolUse": {"toolUseId": "t", "name": "find", "input": {"n": 3}}}
    result = {"toolResult": {"toolUseId": "t", "content": [{"text": "no shelf"}], "status": "error"}}
    rows: list[Any] = [HELLO[0], {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    call = {"tool_call": {"id": "t", "tool_name": "find", "arguments": {"n": 3}}}
    origin = {"id": "t", "tool_name": "find"}
    answer = {"tool_call_result": {"result": "no shelf", "error": True, "origin": origin}}
    meta = {"model": "gpt-x", "usage": {"prompt_tokens": 4}}
    others: list[Any] = [
        HELLO[0],
        {"role": "assistant", "content": [call], "meta": meta},
        {"role": "tool", "content": [answer]},
    ]
    for messages in (rows, others):
        (run,) = read({"messages": messages})
        (step,) = fixtures.steps(run, StepType.TOOL)
        assert (step.call_id, step.tool_name, step.input, step.error) == ("t", "find", {"n": 3}, "no shelf")
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (model.model, model.tokens_in) == ("gpt-x", 4)


@pytest.mark.parametrize("name", ["conversation", "conversations", "history", "turns"])
def test_list_of_messages_has_other_names(name: str) -> None:
    row = {"conversation_id": "c-1", name: HELLO, "model": "gpt-x"}
    assert registry.detect(fixtures.sample("upload", fixtures.json_lines([row]))).name == "chat"
    (run,) = read(row)
    assert (run.external_id, fixtures.answer_contents(run)) == ("c-1", ["Yes."])


def test_items_of_a_loop_are_a_conversation() -> None:
    items = [
        {"role": "user", "content": "Is Dune in stock?"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "find_book", "arguments": '{"title": "Dune"}'},
        {"type": "function_call", "call_id": "c2", "name": "find_book", "arguments": '{"title": "Emma"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "3 copies"},
        {"type": "function_call_output", "call_id": "c2", "output": "none"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
    ]
    # A page of a conversation may have the newest item first.
    newest_first = {"object": "list", "data": [*items[:4], items[5], items[4], items[6]][::-1], "has_more": False}
    for value in (items, {"object": "list", "data": items}, newest_first):
        ((run,), problems) = fixtures.detect_and_read("chat", orjson.dumps(value))
        tools = [(step.call_id, step.output) for step in fixtures.steps(run, StepType.TOOL)]
        assert (tools, len(fixtures.steps(run, StepType.MODEL))) == ([("c1", "3 copies"), ("c2", "none")], 2)
        assert not problems


def test_execution_of_kiro_has_its_model() -> None:
    chat = [{"role": "human", "content": "Is Dune in stock?"}, {"role": "bot", "content": "Yes."}]
    body = {"executionId": "e1", "chat": chat, "metadata": {"modelId": "claude-4", "workflow": "act"}}
    ((run,), problems) = fixtures.detect_and_read("chat", orjson.dumps(body))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (run.external_id, model.model, fixtures.answer_contents(run), problems) == ("e1", "claude-4", ["Yes."], [])


@pytest.mark.parametrize(
    ("content", "output", "error"),
    [
        ({"type": "json", "value": "none"}, "none", ""),
        ({"type": "error-json", "value": "none"}, "none", "none"),
        ({"type": "error-text", "value": "none"}, "none", "none"),
        # A schema, which is no wrapped result.
        ({"type": ["string", "null"]}, '{"type":["string","null"]}', ""),
    ],
)
def test_failed_results_of_vercel_are_errors(content: JSONObject, output: str, error: str) -> None:
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "find", "input": {"n": 1}}
    result = {"type": "tool-result", "toolCallId": "c1", "output": content}
    messages = [
        {"role": "user", "content": "Is Dune in stock?"},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [result]},
    ]
    ((run,), problems) = fixtures.detect_and_read("chat", orjson.dumps(messages))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.output, tool.error, problems) == (output, error, [])


def test_settings_of_requests_are_parameters() -> None:
    settings = {"thinking": {"type": "enabled"}, "stop_sequences": ["."], "parallel_tool_calls": False}
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes."}]
    body = {"messages": messages, "model": "claude-4", "reasoning": "a text of a data set", **settings}
    ((run,), problems) = fixtures.detect_and_read("chat", orjson.dumps(body))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert ModelRequest(model.input).parameters == {
        "thinking": {"type": "enabled"},
        "stop": ["."],
        "parallel_tool_calls": False,
    }
    assert (run.metadata, problems) == ({"reasoning": "a text of a data set"}, [])


def test_logged_arguments_of_a_call_are_its_settings() -> None:
    tool = {"type": "function", "function": {"name": "find"}}
    choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}
    body = {"messages": HELLO[:1], "response": {"model": "claude-4-1", "choices": [choice]}, "args": []}
    arguments = {"model": "claude-4", "temperature": 0.5, "tools": [tool]}
    (run,) = read({**body, "kwargs": arguments, "cost": 0.5, "timestamp": 1_772_359_200.5})
    (model,) = fixtures.steps(run, StepType.MODEL)
    request = ModelRequest(model.input)
    assert (model.model, model.cost_usd, request.parameters) == ("claude-4", Decimal("0.5"), {"temperature": 0.5})
    assert request.tools == [{"name": "find"}]


def test_lists_of_tables_are_texts() -> None:
    rows = [{"traj_id": f"t{number}", "messages": orjson.dumps(HELLO).decode()} for number in range(2)]
    runs, problems = fixtures.detect_and_read("chat", fixtures.json_lines(rows))
    assert ([run.external_id for run in runs], problems) == (["t0", "t1"], [])
    assert fixtures.answer_contents(runs[0])


def test_lines_can_be_items_of_responses() -> None:
    lines = [
        HELLO[0],
        {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"n": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "3"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
    ]
    ((run,), problems) = fixtures.detect_and_read("chat", fixtures.json_lines(lines))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.call_id, tool.input, tool.output, problems) == ("c1", {"n": 1}, "3", [])
    assert fixtures.answer_contents(run) == [None, "Yes."]


def test_context_of_kimi_has_instructions_and_thoughts() -> None:
    thought = {"type": "think", "think": "Three.", "encrypted": None}
    lines = [
        {"role": "_system_prompt", "content": "You keep books."},
        HELLO[0],
        {"role": "_checkpoint", "id": 0},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "Yes."}]},
        {"role": "_usage", "token_count": 99},
    ]
    ((run,), problems) = fixtures.detect_and_read("chat", fixtures.json_lines(lines))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (fixtures.request_contents(model)[0], problems) == ("You keep books.", [])
    assert fixtures.answer_contents(run) == [
        [{"type": "thinking", "thinking": "Three."}, {"type": "text", "text": "Yes."}]
    ]


def test_result_without_call_keeps_its_error() -> None:
    orphan = {"role": "tool", "tool_call_id": "lost", "name": "find_book", "content": "", "error": "no index"}
    (run,) = read({"id": "a", "messages": [orphan, *HELLO]})
    assert run.steps[0].attributes["results_without_calls"] == [
        {"tool_call_id": "lost", "name": "find_book", "error": "no index"}
    ]


def test_facts_of_sessions_of_other_clients() -> None:
    body = {"metadata": {"session_id": "s-7"}, "system_prompt": "You keep a bookshop.", "pass": True, "messages": HELLO}
    (run,) = read(body)
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert run.external_id == "s-7"
    assert fixtures.request_contents(model)[0] == "You keep a bookshop."
    assert [(judgement.name, judgement.kind) for judgement in run.judgements] == [("pass", "pass")]
    system = [{"role": "system", "content": "Be brief."}, *HELLO]
    (other,) = read({**body, "messages": system})
    assert fixtures.request_contents(fixtures.steps(other, StepType.MODEL)[0])[0] == "Be brief."


def test_call_of_litellm_has_its_response_and_settings() -> None:
    response = {
        "content": [{"type": "text", "text": '{"commands": []}'}],
        "usage": {"input_tokens": 12, "output_tokens": 3},
        "stop_reason": "end_turn",
        "role": "assistant",
    }
    body = {
        "litellm_call_id": "call-7",
        "model": "claude-4",
        "messages": [fixtures.REQUEST],
        "input": [fixtures.REQUEST],
        "optional_params": {"temperature": 0.5},
        "original_response": orjson.dumps(response).decode(),
    }
    (run,) = read(body)
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (model.model, model.tokens_in, model.tokens_out) == ("claude-4", 12, 3)
    assert model.input == {"messages": [fixtures.REQUEST], "parameters": {"temperature": 0.5}}
    assert model.output == {"message": {"role": "assistant", "content": '{"commands": []}'}, "finish_reason": "stop"}


def test_calls_in_texts_are_answered_by_the_next_message() -> None:
    call = "I look.\n<function=bash>\n<parameter=command>\nls shelf_7\n</parameter>\n</function>"
    texts = ["Is Dune in stock?", call, "OBSERVATION:\ndune.txt", "Yes.", "Thanks."]
    messages = [{"role": ("assistant" if index % 2 else "user"), "content": text} for index, text in enumerate(texts)]
    rows = [{"run_id": "evaluation", "instance_id": name, "messages": messages} for name in ("shop-1", "shop-2")]
    runs = read(*rows)
    assert [run.external_id for run in runs] == ["evaluation/shop-1", "evaluation/shop-2"]
    (tool,) = fixtures.steps(runs[0], StepType.TOOL)
    assert (tool.name, tool.input, tool.output) == ("bash", {"command": "ls shelf_7"}, "OBSERVATION:\ndune.txt")
    turns = [step.name for step in fixtures.steps(runs[0], StepType.TURN)]
    assert turns == ["Is Dune in stock?", "Thanks."], "a result is no turn"
    (unclosed,) = read({"messages": [messages[0], {"role": "assistant", "content": "<function=a>" * 100_000}]})
    assert len(fixtures.steps(unclosed, StepType.TOOL)) == 1, "read in linear time"


MODEL_RESPONSE = (
    "ModelResponse(id='r1', model='gpt-5-1', choices=[Choices(finish_reason='stop', index=0, message=Message("
    "content='Hello', role='assistant', reasoning_content='Short.'))], usage=Usage(completion_tokens=2))"
)


@pytest.mark.parametrize("response", [MODEL_RESPONSE, "ModelResponse(<Choices object>)"])
def test_history_of_dspy_has_answers_as_texts_of_objects(response: str) -> None:
    entry = {
        "messages": [{"role": "user", "content": "Hi"}],
        "response": response,
        "outputs": [{"text": "Hello", "reasoning_content": "Short."}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
        "model": "openai/gpt-5",
        "uuid": "u1",
    }
    (run,) = fixtures.read("chat", [[entry]])
    model = next(step for step in run.steps if step.type is StepType.MODEL)
    answer: Any = model.output
    thought, text = answer["message"]["content"]
    assert (thought["thinking"], text["text"], model.model) == ("Short.", "Hello", "openai/gpt-5")


def test_roles_of_programs_are_context() -> None:
    messages = [
        {"role": "user", "content": "Is Dune in stock?"},
        {"role": "context_file", "content": "shelf.txt"},
        {"role": "assistant", "content": "Yes."},
    ]
    for value in (messages, {"messages": messages}):
        ((run,), problems) = fixtures.detect_and_read("chat", orjson.dumps(value))
        assert [turn.name for turn in fixtures.steps(run, StepType.TURN)] == ["Is Dune in stock?"]
        (model,) = fixtures.steps(run, StepType.MODEL)
        assert (fixtures.request_contents(model), problems) == (["Is Dune in stock?", "shelf.txt"], [])


def test_exported_input_and_output_are_a_call() -> None:
    request = {"model": "gpt-x", "messages": [fixtures.REQUEST], "temperature": 0.2}
    choice = {"message": dict(fixtures.ANSWER), "finish_reason": "stop"}
    row = {"input": request, "output": {"id": "c1", "choices": [choice]}, "tags": {"prompt_id": "clerk"}}
    ((run,), problems) = fixtures.detect_and_read("chat", orjson.dumps(row))
    (step,) = fixtures.steps(run, StepType.MODEL)
    assert step.input == {"messages": [fixtures.REQUEST], "parameters": {"temperature": 0.2}}
    assert step.output == {"message": fixtures.ANSWER, "finish_reason": "stop"}
    assert (run.metadata["tags"], problems) == ({"prompt_id": "clerk"}, [])


def test_members_of_messages_without_a_step_are_kept() -> None:
    messages = [
        {"role": "system", "content": "Be kind.", "system_details": {"shelf": "7"}},
        {"role": "user", "content": "Hello?"},
        {"role": "assistant", "content": "Hi."},
    ]
    ((run,), _) = fixtures.detect_and_read("chat", orjson.dumps(messages))
    assert run.steps[0].attributes == {"context_messages": [{"role": "system", "system_details": {"shelf": "7"}}]}
