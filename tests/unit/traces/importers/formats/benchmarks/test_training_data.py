"""Data sets of trajectories and calls: xLAM, R2E-Gym, the Agent Data Protocol, rollouts of training."""

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.messages import ModelRequest


def test_xlam_row_is_one_answer_with_calls() -> None:
    run = fixtures.run("xlam.json")
    (model,) = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert isinstance(model.input, dict)
    assert "'type': 'object'" in str(model.input["tools"])
    assert (tool.name, tool.input, tool.status) == ("find_book", {"title": "Dune"}, StepStatus.PARTIAL)


def test_r2e_gym_actions_are_tool_steps() -> None:
    run = fixtures.run("r2e_gym.json")
    command, finish = fixtures.steps(run, StepType.TOOL)
    model = fixtures.steps(run, StepType.MODEL)[0]
    assert (command.name, command.input, command.output) == ("execute_bash", {"command": "grep Dune stock"}, "Dune 3")
    assert finish.name == "finish"
    assert (model.model, model.provider, model.tokens_in, model.tokens_out) == ("gpt-4o", "openai", 900, 30)
    assert [(judgement.name, judgement.value) for judgement in run.judgements][:1] == [("reward", 1.0)]


def test_agent_data_results_follow_their_calls() -> None:
    run = fixtures.run("agent_data.json")
    find, code = fixtures.steps(run, StepType.TOOL)
    assert (find.name, find.input, find.output) == ("find_book", {"title": "Dune"}, "shelf 7")
    assert (code.name, code.input) == ("bash", {"code": "grep -c Dune stock"})
    assert "heading Dune, three copies" in str(code.output)
    assert fixtures.answer_contents(run) == ["I look it up.", None, "Yes, three copies."]


def test_rollouts_of_a_prompt_are_separate_runs() -> None:
    good, bad = fixtures.runs("rollouts.jsonl")
    assert good.external_id != bad.external_id
    assert fixtures.answer_contents(good) + fixtures.answer_contents(bad) == ["Yes, three copies.", "No."]
    assert "prompt" not in good.metadata


def test_messages_of_tools_answer_calls_in_a_text() -> None:
    calls = ['<tool_call>{"name": "find", "arguments": {"title": "Dune"}}</tool_call>'] * 2
    messages = [
        {"role": "user", "content": "Two copies of Dune, please."},
        {"role": "assistant", "content": "".join(calls), "reasoning_content": "Two shelves."},
        {"role": "tool", "content": "shelf 7"},
        {"role": "tool", "content": "shelf 9"},
        {"role": "assistant", "content": "Shelves 7 and 9."},
    ]
    (run,) = fixtures.detect_and_read("chat", fixtures.json_lines([{"uuid": "u1", "messages": messages}]))[0]
    first, second = fixtures.steps(run, StepType.TOOL)
    assert (first.output, second.output, second.status) == ("shelf 7", "shelf 9", StepStatus.OK)
    assert "results_without_calls" not in run.steps[0].attributes
    assert len([*ModelRequest(fixtures.steps(run, StepType.MODEL)[1].input).messages]) == 4


def test_answer_beside_its_messages_is_one_call() -> None:
    messages = [{"role": "user", "content": "In stock?"}, {"role": "assistant", "content": "Yes.", "ts": "2026-01-01"}]
    row = {"task_id": "t1", "title": "Stock", "messages": messages, "response": "Yes.", "usage": {"prompt_tokens": 9}}
    (run,) = fixtures.detect_and_read("chat", fixtures.json_lines([row]))[0]
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (run.name, model.tokens_in, model.ended_at is None) == ("Stock", 9, False)


def test_flags_of_tables_are_verdicts() -> None:
    messages = [{"role": "user", "content": "Fix it."}, {"role": "assistant", "content": "Done."}]
    rows = [{"trajectory_id": f"t{flag}", "messages": messages, "resolved": flag, "passed": flag} for flag in (0, 1)]
    rows[0]["exit_status"] = "max_iterations"
    lost, won = fixtures.detect_and_read("chat", fixtures.json_lines(rows))[0]
    kinds = {judgement.name: judgement.kind for judgement in lost.judgements}
    assert kinds == {"resolved": "fail", "passed": "score", "termination_reason": "fail"}
    assert [(item.name, item.kind) for item in won.judgements] == [("passed", "score"), ("resolved", "pass")]
