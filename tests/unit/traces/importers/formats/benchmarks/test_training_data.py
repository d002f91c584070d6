"""Data sets of trajectories and calls: xLAM, R2E-Gym, the Agent Data Protocol, rollouts of training."""

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepStatus, StepType


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
