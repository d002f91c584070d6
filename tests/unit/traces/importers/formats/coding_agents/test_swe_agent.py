"""Trajectories of SWE-agent and mini-swe-agent, in old and new versions."""

from decimal import Decimal
from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source


def read(format: str, content: Any) -> list[RecordedRun]:
    source = Source(name="renamed.json", data=orjson.dumps(content))
    assert registry.detect(fixtures.sample(source.name, source.data)).name == format
    return list(registry.get_importer(format).runs([source]))


def step_types(run: RecordedRun) -> list[str]:
    return [step.type.value for step in run.steps]


def body(value: Any) -> Any:
    return value


def test_text_commands_become_tool_steps() -> None:
    run = fixtures.run("swe_agent.traj")
    assert step_types(run) == ["agent", "turn", *["model", "tool"] * 3, "output"]
    find, edit, _ = fixtures.steps(run, StepType.TOOL)
    assert (find.tool_name, find.input, find.output) == (
        "find_file",
        {"command": 'find_file "stock.py"'},
        "Found 1 matches: /shop/stock.py\n",
    )
    models = fixtures.steps(run, StepType.MODEL)
    assert edit.links == (models[1].key,)
    assert [message["role"] for message in body(models[1].input)["messages"]] == [
        "system",
        "user",
        "user",
        "assistant",
        "user",
    ]
    assert run.steps[-1].output == {"text": "\ndiff --git a/stock.py b/stock.py\n"}
    assert (run.steps[0].tokens_in, run.steps[0].cost_usd) == (900, Decimal("0.25"))
    assert (run.status, run.tags) == (RunStatus.COMPLETED, ("exit:submitted",))


def test_recorded_requests_are_model_inputs() -> None:
    run = fixtures.run("swe_agent_calls.traj")
    first, rejected = fixtures.steps(run, StepType.MODEL)
    assert len(body(first.input)["messages"]) == 2
    assert body(rejected.input)["messages"] == [{"role": "system", "content": "You work in a shell."}]
    assert body(first.output)["message"]["content"][0]["thinking"] == "Where is it?"
    call, rejected_call = fixtures.steps(run, StepType.TOOL)
    assert (call.call_id, call.input, call.tool_name) == ("call_7", {"path": "stock.py"}, "open")
    assert rejected_call.tool_name == "rm"
    assert (run.status, first.model) == (RunStatus.FAILED, "claude-sonnet-4")
    assert body(run.metadata)["exit_reason"] == "Exit due to cost limit"
    assert run.external_id.startswith("shop__shop-12-")


def test_demonstration_has_only_a_history() -> None:
    (run,) = read(
        "swe-agent",
        {
            "history": [
                {"role": "user", "content": "The count is wrong.", "agent": "main"},
                {
                    "role": "assistant",
                    "content": "Look.",
                    "thought": "Look.",
                    "action": "open stock.py",
                    "agent": "main",
                },
                {"role": "user", "content": "1: count = shelf", "agent": "main"},
            ]
        },
    )
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.tool_name, tool.output) == ("open", "1: count = shelf")


def test_trajectory_without_history_has_all_steps() -> None:
    step = {"action": "ls", "observation": "stock.py", "response": "Look.\n```\nls\n```", "thought": "Look."}
    (run,) = read("swe-agent", {"trajectory": [step, step], "replay_config": {"problem_statement": {"text": "Count."}}})
    assert step_types(run) == ["agent", "turn", "model", "tool", "model", "tool", "output"]
    second = fixtures.steps(run, StepType.MODEL)[1]
    assert body(second.input)["messages"][-1] == {"role": "user", "content": "stock.py"}
    assert run.name == "Count."


def test_every_attempt_is_a_run() -> None:
    step = {"action": "ls", "observation": "stock.py", "response": "Look.", "thought": "Look.", "query": [{}]}
    attempt = {"trajectory": [step], "history": [], "info": {"exit_status": "submitted (exit_cost)"}}
    first, second = read("swe-agent", {"attempts": [attempt, attempt], "environment": "main"})
    assert (first.external_id[-9:], second.external_id[-9:]) == ("attempt-1", "attempt-2")
    assert first.status is RunStatus.COMPLETED


def test_attempts_have_the_choice_among_them() -> None:
    step = {"action": "ls", "observation": "stock.py", "response": "Look.", "thought": "Look.", "query": [{}]}
    attempt = {"trajectory": [step], "history": [], "info": {}}
    (run,) = read("swe-agent", {"attempts": [attempt], "info": {"best_attempt_idx": 0}, **{"trajectory": [step]}})
    assert run.metadata["retry"] == {"info": {"best_attempt_idx": 0}}


def test_last_call_without_its_message_has_the_result_of_the_step() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "submit", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "Fix it.", "message_type": "observation"},
        {"role": "assistant", "content": "Done.", "message_type": "action", "tool_calls": [call], "score": 3},
    ]
    step = {"action": "submit", "observation": "diff", "response": "Done.", "thought": "Done.", "state": {"d": 1}}
    end = {"action": "", "response": "", "thought": "No budget.", "observation": "", "execution_time": 2}
    (run,) = read("swe-agent", {"history": history, "trajectory": [step, end], "info": {}})
    (model,), (tool,) = fixtures.steps(run, StepType.MODEL), fixtures.steps(run, StepType.TOOL)
    assert (tool.output, tool.status, tool.attributes) == ("diff", StepStatus.OK, {"state": {"d": 1}})
    assert (model.attributes, run.metadata["exit_step"]) == ({"score": 3}, {"execution_time": 2})


def test_data_set_rows_are_runs() -> None:
    row = {
        "instance_id": "shop-12",
        "model_name": "swe-agent-llama-70b",
        "target": False,
        "exit_status": "exit_cost",
        "trajectory": [
            {"role": "system", "system_prompt": "You work in a shell.", "text": None},
            {"role": "user", "text": "The count is wrong."},
            {"role": "ai", "text": "Look.\n```\nls\n```"},
            {"role": "user", "text": "stock.py"},
        ],
    }
    (run,) = read("swe-agent", [row])
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert [message["role"] for message in body(model.input)["messages"]] == ["system", "user"]
    assert (model.model, run.status, run.metadata["target"]) == ("swe-agent-llama-70b", RunStatus.FAILED, False)


def test_mini_steps_have_times_costs_and_errors() -> None:
    run = fixtures.run("mini_swe_agent.traj.json")
    first, second = fixtures.steps(run, StepType.MODEL)
    tool_call, text_command = fixtures.steps(run, StepType.TOOL)
    assert (first.tokens_in, first.tokens_cached, first.cost_usd) == (40, 12, Decimal("0.01"))
    assert (tool_call.status, tool_call.error, tool_call.call_id) == (StepStatus.ERROR, "exit code 2", "call_1")
    assert (text_command.status, text_command.output, text_command.input) == (
        StepStatus.OK,
        "three books",
        {"command": "ls"},
    )
    assert text_command.ended_at is not None
    assert text_command.started_at == second.ended_at
    assert (run.steps[-1].output, run.steps[0].cost_usd) == ({"text": "3"}, None)


def test_exception_that_ended_a_mini_run_is_its_error() -> None:
    messages = [
        {"role": "user", "content": "Count the books."},
        {"role": "assistant", "content": "I look.", "extra": {"actions": [{"command": "ls"}]}},
        {
            "role": "exit",
            "content": "no quota",
            "extra": {"exit_status": "APIError", "submission": "", "exception_str": "no quota", "traceback": "line 3"},
        },
    ]
    (run,) = read("mini-swe-agent", {"info": {"exit_status": "APIError", "submission": ""}, "messages": messages})
    assert (run.status, run.steps[0].error) == (RunStatus.FAILED, "no quota")
    assert run.metadata["exit"] == {"exception_str": "no quota", "traceback": "line 3"}


def test_first_mini_version_runs_code_blocks() -> None:
    (run,) = read(
        "mini-swe-agent",
        {
            "info": {"exit_status": "LimitsExceeded", "submission": "", "mini_version": "1.0.0"},
            "messages": [
                {"role": "system", "content": "You have a shell."},
                {"role": "user", "content": "Count the books."},
                {"role": "assistant", "content": "THOUGHT: look.\n\n```bash\nls shelf\n```"},
                {"role": "user", "content": "<returncode>2</returncode>\n<output>no shelf</output>"},
                {"role": "assistant", "content": "```bash\nls\n```\nor\n```bash\nls -a\n```"},
                {"role": "user", "content": "Please provide EXACTLY ONE action."},
            ],
        },
    )
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.error) == ({"command": "ls shelf"}, "exit code 2")
    assert len(fixtures.steps(run, StepType.TURN)) == 1
    assert run.status is RunStatus.FAILED
    assert [(judgement.kind, judgement.text) for judgement in run.judgements] == [("fail", "LimitsExceeded")]


def test_mini_reads_responses_api_answers() -> None:
    (run,) = read(
        "mini-swe-agent",
        {
            "trajectory_format": "mini-swe-agent-1.1",
            "info": {},
            "messages": [
                {"role": "user", "content": "Count the books."},
                {
                    "object": "response",
                    "model": "gpt-5-mini",
                    "usage": {"input_tokens": 9, "output_tokens": 4},
                    "output": [
                        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look first."}]},
                        {
                            "type": "message",
                            "role": "assistant",
                            "content": [{"type": "output_text", "text": "I look."}],
                        },
                        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'},
                    ],
                    "extra": {"actions": [{"command": "ls", "tool_call_id": "c1"}]},
                },
                {"type": "function_call_output", "call_id": "c1", "output": "three books", "extra": {"returncode": 0}},
            ],
        },
    )
    (model,), (tool,) = fixtures.steps(run, StepType.MODEL), fixtures.steps(run, StepType.TOOL)
    assert (model.model, model.tokens_in, tool.call_id, tool.output) == ("gpt-5-mini", 9, "c1", "three books")
    assert body(model.output)["message"]["content"][0] == {"type": "thinking", "thinking": "Look first."}


def test_long_trajectory_is_matched_in_linear_time() -> None:
    count = 3_000
    answers = [
        {"role": "assistant", "content": "different text", "thought": "x", "action": "never", "agent": "main"}
        for _ in range(count)
    ]
    steps = [
        {"action": f"ls {number}", "observation": "", "response": f"{number}", "thought": ""} for number in range(count)
    ]
    (run,) = read("swe-agent", {"history": answers, "trajectory": steps})
    assert len(fixtures.steps(run, StepType.TOOL)) == 2 * count


def test_run_that_failed_before_any_message_is_imported() -> None:
    info = {"exit_status": "exit_environment_error", "submission": None, "model_stats": {"tokens_sent": 0}}
    trajectory = {"environment": "shop", "trajectory": [], "history": []}
    (run,) = read("swe-agent", {**trajectory, "info": info})
    assert (run.status, step_types(run)) == (RunStatus.FAILED, ["agent"])
    assert run.steps[0].error == "the trial ended before any message: exit_environment_error"
    (other,) = read("swe-agent", {**trajectory, "info": {**info, "exit_status": "exit_error"}})
    assert other.external_id != run.external_id
    (mini,) = read("mini-swe-agent", {"info": {**info, "exit_status": "RuntimeError"}, "messages": []})
    assert mini.steps[0].error == "the trial ended before any message: RuntimeError"


def test_calls_of_steps_missing_in_history() -> None:
    call = {"id": "toolu_2", "type": "function", "function": {"name": "submit", "arguments": '{"force": true}'}}
    thoughts = [{"type": "thinking", "thinking": "Done.", "signature": "s"}]
    step = {"action": "submit -f", "observation": "diff", "response": "I submit.", "thought": "I submit.", "query": []}
    trajectory = [{**step, "execution_time": 0.5, "tool_calls": [call], "thinking_blocks": thoughts}]
    history = [{"role": "user", "content": "The count is wrong.", "agent": "main"}]
    (run,) = read("swe-agent", {"trajectory": trajectory, "history": history, "info": {}})
    (model,) = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.tool_name, tool.call_id, tool.input, tool.output) == ("submit", "toolu_2", {"force": True}, "diff")
    assert tool.attributes["execution_time"] == 0.5
    assert body(model.output)["message"]["content"] == [*thoughts, {"type": "text", "text": "I submit."}]


def test_settings_of_the_replay_config_are_parameters() -> None:
    model_config = {"name": "gpt-4o", "temperature": 0.5, "top_p": 1.0, "per_instance_cost_limit": 3}
    config = {"agent": {"model": {**model_config, "completion_kwargs": {"seed": 7}}}}
    history = [{"role": "user", "content": "Fix it.", "message_type": "observation"}]
    history.append({"role": "assistant", "content": "Done.", "message_type": "action"})
    (run,) = read("swe-agent", {"history": history, "trajectory": [], "replay_config": orjson.dumps(config).decode()})
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert body(model.input)["parameters"] == {"temperature": 0.5, "top_p": 1.0, "seed": 7}
    assert run.metadata["replay_config"] == config


def test_rejected_answers_of_mini_are_failed_calls() -> None:
    extra = {"interrupt_type": "FormatError", "model_response": "I forgot the call", "cost": 0.5}
    messages = [
        {"role": "user", "content": "Fix it."},
        {"role": "user", "content": "No call found.", "extra": extra},
        {"role": "assistant", "content": "Done.", "extra": {"cost": 0.25}},
    ]
    (run,) = read("mini-swe-agent", {"info": {"mini_version": "2.2"}, "messages": messages})
    rejected, model = fixtures.steps(run, StepType.MODEL)
    assert (rejected.error, rejected.cost_usd, rejected.output) == ("No call found.", Decimal("0.5"), None)
    assert rejected.attributes == {"model_response": "I forgot the call"}
    assert fixtures.request_contents(model) == ["Fix it.", "No call found."]


def test_exits_by_the_program_are_no_calls() -> None:
    step = {"action": "ls\n", "observation": "a.py", "response": "I look.\n```\nls\n```", "thought": "I look.\n"}
    end = {"action": "exit_cost", "observation": "Exited", "response": "", "thought": "Exit due to cost limit"}
    history = [
        {"role": "user", "content": "Fix it.", "agent": "primary"},
        {"role": "assistant", "content": step["response"], "action": "ls\n", "agent": "primary"},
        {"role": "user", "content": "a.py", "agent": "primary"},
        {"role": "assistant", "content": "", "action": "exit_cost", "agent": "primary"},
    ]
    body = {"trajectory": [step, end], "history": history, "info": {"exit_status": "exit_cost"}}
    ((run,), problems) = fixtures.detect_and_read("swe-agent", orjson.dumps(body))
    assert fixtures.answer_contents(run) == [step["response"]]
    assert [tool.tool_name for tool in fixtures.steps(run, StepType.TOOL)] == ["ls"]
    assert (run.metadata["exit_reason"], run.status, problems) == ("Exit due to cost limit", RunStatus.FAILED, [])
    assert "Exited" in str(run.steps[0].attributes)
