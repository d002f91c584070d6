"""Results of promptfoo, tau-bench and tau2-bench."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.payloads.messages import ModelRequest

OUTPUT: Any = fixtures.source("promptfoo.json").value
TRIALS: Any = fixtures.source("tau_bench.json").value
SIMULATIONS: Any = fixtures.source("tau2_bench.json").value


def read(value: Any, format: str) -> tuple[list[RecordedRun], list[str]]:
    source = Source(name="results", data=orjson.dumps(value))
    importer = registry.detect(fixtures.sample("results", source.data))
    assert importer.name == format
    return list(importer.runs([source])), [str(problem) for problem in source.problems]


def test_promptfoo_rows_are_runs() -> None:
    runs = fixtures.runs("promptfoo.json")
    assert [(run.external_id, run.status, run.app) for run in runs] == [
        ("row-1", RunStatus.COMPLETED, "Bookshop"),
        ("eval-7/0/1", RunStatus.COMPLETED, "Bookshop"),
        ("row-3", RunStatus.FAILED, "Bookshop"),
        ("row-4", RunStatus.COMPLETED, "Bookshop"),
    ]
    assert [[step.type.value for step in run.steps] for run in runs] == [
        ["agent", "prompt", "model", "validator"],
        ["agent", "prompt", "model", "validator", "validator"],
        ["agent", "model"],
        ["agent", "model"],
    ]


def test_promptfoo_answers_have_model_and_usage() -> None:
    chat, script, failed, calls = (fixtures.steps(run, StepType.MODEL)[0] for run in fixtures.runs("promptfoo.json"))
    assert chat.input == {"messages": [fixtures.SYSTEM, fixtures.REQUEST], "parameters": {"temperature": 0.2}}
    assert chat.output == {"message": fixtures.ANSWER, "finish_reason": "stop"}
    assert (chat.model, chat.provider, chat.tokens_in, chat.tokens_out) == ("gpt-4o-mini", "openai", 11, 6)
    assert (script.model, script.provider, script.tokens_in, script.attributes["cached_tokens"]) == ("", "", None, 9)
    assert (failed.status, failed.error, failed.output) == (StepStatus.ERROR, "API error: 529 overloaded", None)
    assert calls.output == {"message": fixtures.CALL}


def test_promptfoo_assertions_are_validators() -> None:
    run = fixtures.runs("promptfoo.json")[1]
    assert [step.output for step in fixtures.steps(run, StepType.VALIDATOR)] == [
        {"passed": True, "score": 1, "reason": "Assertion passed"},
        {"passed": False, "score": 0, "reason": "too long"},
    ]
    assert [(judgement.name, judgement.kind, judgement.value) for judgement in run.judgements] == [
        ("success", JudgementKind.FAIL, None),
        ("score", JudgementKind.SCORE, 0.5),
        ("brief", JudgementKind.SCORE, 0.0),
    ]
    (prompt,) = fixtures.steps(run, StepType.PROMPT)
    assert prompt.input == {
        "template": "You keep a bookshop. {{question}}",
        "variables": {"question": "Is Dune in stock?"},
    }


def test_promptfoo_rows_keep_other_members() -> None:
    counts = {"prompt": 22, "completion": 11, "completionDetails": {"reasoning": 5, "acceptedPrediction": 0}}
    response = {"output": "Yes.", "tokenUsage": counts, "logProbs": [-0.25], "raw": {"id": "r1"}}
    row = {**OUTPUT["results"]["results"][0], "response": response, "testCase": {"vars": {}, "threshold": 0.5}}
    (run,) = fixtures.read("promptfoo", [row])
    (model,) = fixtures.steps(run, StepType.MODEL)
    details = ("token_details", "logProbs", "raw")
    assert [model.attributes[name] for name in details] == [{"reasoning": 5}, [-0.25], {"id": "r1"}]
    assert run.metadata["test_case"] == {"threshold": 0.5}


def test_promptfoo_rows_have_comments_and_sessions() -> None:
    row = {**OUTPUT["results"]["results"][0], "gradingResult": {"pass": True, "comment": "checked by hand"}}
    row["response"] = {**row["response"], "sessionId": "s-1"}
    output = {**OUTPUT, "results": {**OUTPUT["results"], "results": [row]}, "metadata": {"author": "ann"}}
    (run,) = fixtures.read("promptfoo", [output])
    assert [item.text for item in run.judgements if item.name == "comment"] == ["checked by hand"]
    assert (run.metadata["session_id"], run.metadata["program"]) == ("s-1", {"author": "ann"})


def test_promptfoo_rows_need_no_envelope() -> None:
    rows = OUTPUT["results"]["results"]
    expected = [run.steps for run in fixtures.runs("promptfoo.json")][2:]
    for value in (rows[2:], {"version": 3, "results": rows[2:], "prompts": []}):
        runs, problems = read(value, "promptfoo")
        assert ([run.steps for run in runs], problems) == (expected, [])
    source = Source(name="rows.jsonl", data=fixtures.json_lines(rows))
    assert len(list(registry.detect(fixtures.sample("rows.jsonl", source.data)).runs([source]))) == 4


def test_promptfoo_bad_row_leaves_others_intact() -> None:
    rows = OUTPUT["results"]["results"]
    bad = {**rows[0], "response": {"output": "x", "tokenUsage": {"prompt": -1}}}
    runs, problems = read([bad, rows[2]], "promptfoo")
    assert ([run.external_id for run in runs], problems) == (["row-3"], ["-1 is not a token count (/0/tokenUsage)"])


def test_tau_trials_are_separate_runs() -> None:
    runs = fixtures.runs("tau_bench.json")
    assert [run.external_id.split("-")[0] for run in runs] == ["3/0", "3/1", "4/0"]
    assert [[(judgement.name, judgement.value) for judgement in run.judgements] for run in runs] == [
        [("reward", 1.0)],
        [("reward", 0.0)],
        [("reward", 0.0)],
    ]
    assert runs[0].steps == runs[1].steps
    (tool,) = fixtures.steps(runs[0], StepType.TOOL)
    assert (tool.input, tool.output, tool.call_id) == ({"title": "Dune"}, "3 copies", "call_1")
    crashed_run = runs[2]
    assert (crashed_run.status, crashed_run.steps[0].error) == (RunStatus.FAILED, "the shop burnt down")


def test_tau2_simulations_have_settings_and_rewards() -> None:
    first, second = fixtures.runs("tau2_bench.json")
    assert [(judgement.name, judgement.kind, judgement.value, judgement.text) for judgement in first.judgements] == [
        ("reward", JudgementKind.SCORE, 0.0, ""),
        ("reward.DB", JudgementKind.SCORE, 0.0, ""),
        ("reward.COMMUNICATE", JudgementKind.SCORE, 1.0, ""),
        ("termination_reason", JudgementKind.NOTE, None, "user_stop"),
    ]
    assert [(judgement.name, judgement.kind) for judgement in second.judgements] == [
        ("termination_reason", JudgementKind.FAIL)
    ]
    model = fixtures.steps(first, StepType.MODEL)[0]
    request: Any = model.input
    assert (model.model, model.provider, model.tokens_in) == ("gpt-4o-mini", "openai", 42)
    assert request["parameters"] == {"temperature": 0.2}
    success, failure = fixtures.steps(first, StepType.TOOL)
    assert (success.output, failure.status, failure.error) == ("3 copies", StepStatus.ERROR, "stuck")
    assert (first.app, str(first.ended_at)[17:19]) == ("bookshop", "05")


@pytest.mark.parametrize("traj", [None, {"role": "user"}])
def test_bad_trial_leaves_others_intact(traj: Any) -> None:
    runs, problems = read([TRIALS[1], {**TRIALS[0], "traj": traj}], "tau-bench")
    assert [run.metadata["trial"] for run in runs] == [1]
    assert len(problems) == 1
    assert "expected a list" in problems[0]
    assert "/1/traj" in problems[0]


def test_empty_chat_prompt_is_read() -> None:
    row = {**OUTPUT["results"]["results"][0], "prompt": {"raw": "[]"}}
    (run,), problems = read([row], "promptfoo")
    assert (run.steps[2].input, problems) == (None, [])


def test_simulations_without_messages_failed() -> None:
    facts: Any = {"task_id": "4", "messages": [], "reward_info": None}
    greeting = [{"role": "assistant", "content": "Good morning!"}]
    simulations = [
        {**facts, "id": "sim-a", "trial": 0, "termination_reason": "max_steps"},
        {**facts, "id": "sim-b", "trial": 1, "termination_reason": "too_many_errors", "reward_info": {"reward": 0.0}},
        {**facts, "id": "sim-c", "trial": 2, "termination_reason": "user_error", "messages": greeting},
        {**facts, "id": "sim-d", "trial": 3},
    ]
    runs, problems = read({**SIMULATIONS, "simulations": simulations}, "tau-bench")
    assert [(run.external_id, run.status, run.steps[0].error) for run in runs] == [
        ("sim-a", RunStatus.FAILED, "the trial ended before any message: max_steps"),
        ("sim-b", RunStatus.FAILED, "the trial ended before any message: too_many_errors"),
        ("sim-c", RunStatus.FAILED, "the trial ended before its first turn: user_error"),
    ]
    assert runs[2].steps[0].attributes["unread_messages"] == greeting
    assert [judgement.name for judgement in runs[1].judgements] == ["reward", "termination_reason"]
    # Nothing states that this trial took place.
    assert problems == ["this recording has no steps (tau-bench and tau2-bench results) (run sim-d)"]


def test_tau_trials_without_messages_failed() -> None:
    rows: Any = [{"task_id": 3, "trial": trial, "reward": 0.0, "info": {}, "traj": []} for trial in (0, 1)]
    runs, problems = read(rows, "tau-bench")
    assert [(run.status, run.steps[0].error) for run in runs] == [
        (RunStatus.FAILED, "the trial ended before any message")
    ] * 2
    assert (len({run.external_id for run in runs}), problems) == (2, [])


def test_samples_of_agentbench_have_results() -> None:
    history = [{"role": "user", "content": "Is Dune in stock?"}, {"role": "agent", "content": "Yes."}]
    output = {"index": 3, "status": "task limit reached", "result": {"success": False}, "history": history}
    rows = [{"index": 3, "error": None, "info": None, "output": output, "time": {"timestamp": 1}}]
    ((run,), problems) = fixtures.detect_and_read("agentbench", fixtures.json_lines(rows))
    assert [(verdict.name, verdict.kind.value, verdict.text) for verdict in run.judgements] == [
        ("success", "fail", ""),
        ("termination_reason", "fail", "task limit reached"),
    ]
    assert (fixtures.answer_contents(run), run.tags, problems) == (["Yes."], ("sample:3",), [])


def test_samples_of_agentbench_that_failed_have_errors() -> None:
    row = {"index": 4, "error": "NETWORK_ERROR", "info": "timeout", "output": None, "time": {"timestamp": 1}}
    ((run,), problems) = fixtures.detect_and_read("agentbench", fixtures.json_lines([row]))
    assert (run.status, run.steps[0].error) == (RunStatus.FAILED, "the trial ended before any message: NETWORK_ERROR")
    assert [(item.kind, item.text) for item in run.judgements] == [(JudgementKind.FAIL, "NETWORK_ERROR")]
    assert problems == []


def test_usage_of_a_user_that_only_calls_tools_is_kept() -> None:
    call = {"id": "c1", "name": "find_book", "arguments": {"title": "Dune"}}
    messages = [
        {"role": "user", "content": "Is Dune in stock?"},
        {"role": "user", "content": None, "tool_calls": [call], "cost": 0.25, "usage": {"prompt_tokens": 4562}},
        {"role": "tool", "content": "3 copies", "tool_call_id": "c1"},
        {"role": "assistant", "content": "Yes."},
    ]
    ((run,), _) = fixtures.detect_and_read("chat", orjson.dumps({"messages": messages}))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert tool.attributes == {"requestor": "user", "cost": 0.25, "usage": {"prompt_tokens": 4562}}


def test_tau2_tools_and_finish_reasons_are_read() -> None:
    answer = {"role": "assistant", "content": "Yes.", "raw_data": {"finish_reason": "length"}}
    simulation = {"id": "s1", "task_id": "1", "messages": [{"role": "user", "content": "Is Dune in stock?"}, answer]}
    tool = {"name": "find_book", "doc": "Find a book.", "params": {"type": "object"}, "returns": {}}
    info = {"environment_info": {"tool_defs": {"find_book": tool}}}
    ((run,), _) = read({"info": info, "tasks": [], "simulations": [simulation]}, "tau-bench")
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert ModelRequest(model.input).tools == [
        {"name": "find_book", "description": "Find a book.", "parameters": {"type": "object"}}
    ]
    assert as_object(model.output)["finish_reason"] == "length"


def test_promptfoo_settings_of_providers_and_graders_are_read() -> None:
    function = {"name": "find", "parameters": {"type": "object"}}
    settings = {"max_tokens": 9, "temperature": 1, "apiKeyEnvar": "KEY", "tools": [{"function": function}]}
    grade = {"pass": False, "assertion": {"type": "llm-rubric"}, "tokensUsed": {"total": 7}}
    row = {
        "provider": {"id": "openai:gpt-4o", "label": "mine"},
        "prompt": {"raw": "Hi", "config": {"temperature": 0}},
        "vars": {},
        "success": False,
        "response": {"output": ""},
        "gradingResult": {"componentResults": [grade]},
    }
    for providers in (
        [{"id": "openai:gpt-4o", "label": "mine", "config": settings}],
        [{"openai:gpt-4o": {"config": settings}}],
    ):
        config = {"providers": ["echo", *providers], "tags": {"env": "night"}}
        ((run,), _) = read({"evalId": "e", "config": config, "results": {"results": [row]}}, "promptfoo")
        (model,), (check,) = fixtures.steps(run, StepType.MODEL), fixtures.steps(run, StepType.VALIDATOR)
        request = ModelRequest(model.input)
        assert (request.parameters, request.tools) == ({"max_tokens": 9, "temperature": 0}, [function])
        assert model.output == {"message": {"role": "assistant", "content": ""}}
        assert (check.attributes, run.metadata["tags"]) == ({"tokensUsed": {"total": 7}}, {"env": "night"})


def test_promptfoo_conversations_are_turns() -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Which book?"}]
    attempts = [
        {"prompt": "Name a secret.", "output": "No.", "graderPassed": True},
        {"prompt": "Now.", "output": "Ok."},
    ]
    row = {"provider": {"id": "openai:gpt-4o"}, "prompt": {"raw": "{{goal}}"}, "vars": {"goal": "x"}, "success": False}
    counts = {"prompt": 20, "completion": 10, "numRequests": 2}
    for details, inputs in (
        ({"messages": talk * 2}, [["Hi"], ["Hi", "Which book?", "Hi"]]),
        ({"redteamHistory": attempts}, [["Name a secret."], ["Now."]]),
    ):
        response = {"output": "Ok.", "tokenUsage": counts, "metadata": details}
        ((run,), problems) = read([{**row, "response": response}], "promptfoo")
        calls = fixtures.steps(run, StepType.MODEL)
        assert ([fixtures.request_contents(call) for call in calls], problems) == (inputs, [])
        assert [(call.model, call.tokens_in) for call in calls] == [("gpt-4o", None)] * 2
        turn = fixtures.steps(run, StepType.TURN)[0]
        assert (turn.parent, run.steps[0].tokens_in, run.steps[0].tokens_out) == (run.steps[0].key, 20, 10)
    assert calls[0].attributes == {"graderPassed": True}


def test_promptfoo_yaml_is_refused_with_advice() -> None:
    with pytest.raises(BadFile, match="write it as JSON"):
        registry.detect(fixtures.sample("results.yaml", b"evalId: eval-1\nresults:\n  version: 3\n"))


def test_trials_of_terminal_bench_have_tests_and_verdicts() -> None:
    tests = {"test_count": "passed", "test_names": "failed"}
    trial = {"id": "t1", "trial_name": "shelf.1-of-2", "task_id": "shelf", "instruction": "Count the books."}
    times = {"agent_started_at": "2026-10-01T10:00:00Z", "agent_ended_at": "2026-10-01T10:01:00Z"}
    rest = {"is_resolved": False, "failure_mode": "unset", "total_input_tokens": 9, "total_output_tokens": 0}
    cut = {**trial, **rest, "id": "t2", "failure_mode": "agent_timeout", "parser_results": None}
    results = [{**trial, **rest, **times, "parser_results": tests}, cut]
    (run, timeout), problems = read({"id": "r", "results": results}, "terminal-bench")
    assert (run.external_id, run.name, run.status, problems) == ("t1", "Count the books.", RunStatus.COMPLETED, [])
    assert (run.steps[0].tokens_in, run.steps[0].tokens_out, run.steps[0].ended_at is None) == (9, None, False)
    checks = [(step.name, as_object(step.output)["passed"]) for step in fixtures.steps(run, StepType.VALIDATOR)]
    assert checks == [("test_count", True), ("test_names", False)]
    assert [(judgement.name, judgement.kind) for judgement in run.judgements] == [("resolved", JudgementKind.FAIL)]
    assert (timeout.status, timeout.steps[0].error) == (RunStatus.FAILED, "agent_timeout")
    ((single,), _) = read(results[0], "terminal-bench")
    assert single.steps == run.steps
