"""Results of benchmarks: the calls of models, the actions and what they led to, and verdicts."""

from decimal import Decimal
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus, StepType


def verdicts(run: RecordedRun) -> dict[str, tuple[JudgementKind, float | None]]:
    return {judgement.name: (judgement.kind, judgement.value) for judgement in run.judgements}


def web_page(number: int, **facts: Any) -> dict[str, Any]:
    return {"num": number, "url": f"https://shop/{number}", "axtree": f"page {number}", **facts}


def test_browser_actions_have_next_observation() -> None:
    prompt = [{"role": "system", "content": "You browse."}, {"role": "user", "content": "Goal: Dune"}]
    act = {"chat_messages": prompt, "reasoning": "Search.", "stats": {"input_tokens": 90, "output_tokens": 8}}
    steps = [
        web_page(0, **act, action="fill('7', 'Dune')"),
        web_page(1, **act, action="click('9')", last_action_error="", axtree_obj={"nodes": []}),
        web_page(2, last_action_error="Timeout"),
    ]
    summary = {"n_steps": 2, "cum_reward": 0, "truncated": True, "err_msg": None}
    body = {"benchmark": "webarena", "model": "openai/gpt-5", "experiment": "e1", "goal": "Find Dune", "steps": steps}
    ((run,), problems) = fixtures.detect_and_read("browsergym", orjson.dumps({**body, "summary_info": summary}))
    fill, click = fixtures.steps(run, StepType.TOOL)
    assert (fill.name, fill.input, fill.status) == ("fill", {"action": "fill('7', 'Dune')"}, StepStatus.OK)
    assert fill.output == {"url": "https://shop/1", "axtree": "page 1"}
    assert (click.error, click.status, problems) == ("Timeout", StepStatus.ERROR, [])
    model = fixtures.steps(run, StepType.MODEL)[1]
    assert (model.model, model.provider, model.tokens_in) == ("gpt-5", "openai", 90)
    assert fixtures.request_contents(model) == ["You browse.", "Goal: Dune"]
    assert verdicts(run)["reward"] == (JudgementKind.SCORE, 0.0)


def test_crashed_browser_task_is_failed_run() -> None:
    body = {"benchmark": "workarena", "experiment": "e1", "summary_info": {"err_msg": "no browser", "cum_reward": 0}}
    ((run,), _) = fixtures.detect_and_read("browsergym", orjson.dumps(body))
    assert (run.status, run.steps[0].error) == (RunStatus.FAILED, "no browser")


def test_desktop_actions_of_one_answer() -> None:
    step = {"step_num": 1, "response": "Click twice.", "reward": 0, "done": False, "info": {}}
    lines = [
        {**step, "action_timestamp": "20260301@100000", "action": "click(1)", "screenshot_file": "1.png"},
        {**step, "action_timestamp": "20260301@100001", "action": {"name": "computer", "input": {"action": "key"}}},
        {**step, "step_num": 2, "action_timestamp": "20260301@100002", "action": "DONE", "info": {"done": True}},
        {"Error": "Time limit exceeded"},
    ]
    ((run,), problems) = fixtures.detect_and_read("osworld", fixtures.json_lines(lines), "traj.jsonl")
    assert [step.input for step in fixtures.steps(run, StepType.TOOL)] == [
        {"action": "click(1)"},
        {"action": "key"},
        {"action": "DONE"},
    ]
    assert len(fixtures.steps(run, StepType.MODEL)) == 2
    assert (run.status, run.steps[0].error, run.judgements, problems) == (
        RunStatus.FAILED,
        "Time limit exceeded",
        (),
        [],
    )


def test_samples_of_harness_are_runs() -> None:
    generated = {
        "arguments": {"gen_args_0": {"arg_0": "Count the copies.", "arg_1": {"temperature": 0.5}}},
        "resps": [["three"]],
    }
    choices = {
        "arguments": [["Is it in stock?", " yes"], ["Is it in stock?", " no"]],
        "resps": [[[-0.5, True]], [[-2.5, False]]],
    }
    samples = [
        {"doc_id": 0, "doc": {}, "target": "3", "metrics": ["exact_match"], "exact_match": 0.0, **generated},
        {"doc_id": 0, "doc": {}, "target": "yes", "acc": 1.0, **choices},
    ]
    runs, problems = fixtures.detect_and_read("lm-eval", fixtures.json_lines(samples))
    assert [len(fixtures.steps(run, StepType.MODEL)) for run in runs] == [1, 2]
    assert [verdicts(run) for run in runs] == [
        {"exact_match": (JudgementKind.SCORE, 0.0)},
        {"acc": (JudgementKind.SCORE, 1.0)},
    ]
    assert runs[1].steps[2].attributes == {"continuation": " no", "loglikelihood": [-2.5, False]}
    assert (len({run.external_id for run in runs}), problems) == (2, [])


def test_trace_with_failure_modes() -> None:
    trace = {"key": "k", "index": 4, "trajectory": "Programmer: done"}
    body = {"mas_name": "ChatDev", "llm_name": "gpt-4o", "trace": trace, "mast_annotation": {"1.1": 0, "2.3": 1}}
    human = {
        "mas_name": "AG2",
        "trace": "Solver: 3",
        "annotations": [{"failure mode": "1.3 Repetition", "annotator_1": True}],
    }
    empty = {"mas_name": "AG2", "trace": " ", "mast_annotation": {}}
    runs, problems = fixtures.detect_and_read("mast", orjson.dumps([body, human, empty]))
    assert [run.steps[0].output for run in runs] == [{"text": "Programmer: done"}, {"text": "Solver: 3"}]
    assert verdicts(runs[0]) == {"mast.1.1": (JudgementKind.SCORE, 0.0), "mast.2.3": (JudgementKind.SCORE, 1.0)}
    assert (runs[1].judgements[0].text, runs[1].judgements[0].by) == ("1.3 Repetition", "annotator_1")
    assert problems == ["a trace without a trajectory (/2/trace)"]


def test_tool_search_has_final_path() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "find", "arguments": '{"title": "Dune"}'}}
    start = [{"role": "user", "content": "Is Dune in stock?"}, call]
    path = [*start, {"role": "function", "name": "find", "content": "3"}, {"role": "assistant", "content": "Yes."}]
    answer = {"final_answer": "Yes, 3.", "total_tokens": 99, "train_messages": [start, path]}
    ((run,), problems) = fixtures.detect_and_read(
        "toolbench", orjson.dumps({"win": False, "tree": {"size": 9}, "answer_generation": answer})
    )
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.output, run.steps[-1].output) == ({"title": "Dune"}, "3", {"text": "Yes, 3."})
    assert verdicts(run) == {"success": (JudgementKind.FAIL, None)}
    assert (run.metadata["tree"], run.metadata["total_tokens"], problems) == ({"size": 9}, 99, [])


def test_search_without_an_answer_has_the_calls_of_its_longest_path() -> None:
    def node(kind: str, text: str, *children: Any, **facts: Any) -> dict[str, Any]:
        return {"node_type": kind, "description": text, "children": [*children], **facts}

    failure = '{"error": "The shelf is closed.", "response": ""}'
    call = node("Action", "find", node("Action Input", '{"title": "Dune"}', observation=failure))
    root = node("Action Input", "", node("Thought", "Give up."), node("Thought", "Look first.", call))
    answer = {"final_answer": "", "valid_data": False, "function": []}
    body = {"win": False, "tree": {"size": 5, "tree": root}, "compare_candidates": [], "answer_generation": answer}
    ((run,), problems) = fixtures.detect_and_read("toolbench", orjson.dumps(body))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.name, tool.input, tool.error, problems) == ("find", {"title": "Dune"}, "The shelf is closed.", [])
    last = {"name": "Finish", "arguments": '{"return_type": "give_answer", "final_answer": "None left."}'}
    said = node("Action Input", last["arguments"], observation="given")
    answer |= {"final_answer": last["arguments"], "train_messages": [[{"role": "assistant", "function_call": last}]]}
    ((run,), _) = fixtures.detect_and_read("toolbench", orjson.dumps({**body, "compare_candidates": [[said]]}))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.output, run.steps[-1].output) == ("given", {"text": "None left."})


def test_phases_have_calls_with_usage() -> None:
    call = {"prompt": "Where is the bug?", "response": ["shelf.py", "desk.py"], "usage": {"prompt_tokens": 70}}
    body = {"instance_id": "shop-1", "file_traj": call, "found_files": ["shelf.py"], "traj": [call, call]}
    ((run,), problems) = fixtures.detect_and_read("agentless", orjson.dumps(body))
    models = fixtures.steps(run, StepType.MODEL)
    assert [(model.name, model.tokens_in) for model in models] == [("file_traj", 70), ("traj", 70), ("traj", 70)]
    assert models[0].attributes == {"other_responses": ["desk.py"]}
    assert (run.metadata, problems) == ({"instance_id": "shop-1", "found_files": ["shelf.py"]}, [])


def test_security_tests_have_verdicts_and_ids() -> None:
    messages = [fixtures.REQUEST, fixtures.ANSWER]
    body = {"suite_name": "shop", "user_task_id": "u0", "messages": messages, "utility": False, "duration": 1.5}
    tests = [{**body, "injection_task_id": f"i{number}", "security": bool(number)} for number in range(2)]
    plain = {**body, "injection_task_id": None, "security": True}
    (*runs, harmless), problems = fixtures.detect_and_read("chat", fixtures.json_lines([*tests, plain]))
    assert verdicts(harmless) == {"utility": (JudgementKind.FAIL, None)}
    assert [verdicts(run) for run in runs] == [
        {"utility": (JudgementKind.FAIL, None), "security": (JudgementKind.SCORE, float(number))} for number in range(2)
    ]
    assert (len({run.external_id for run in runs}), problems) == (2, [])


def test_evaluated_rows_have_results() -> None:
    result = {"eval_result": {"score": 1.0}, "meta": {"is_correct": True, "finish_reason": "user_stop"}}
    empty = {"eval_result": {"score": 0.0}, "meta": {"is_correct": False, "finish_reason": "max_steps"}}
    rows = [{"messages": [fixtures.REQUEST, fixtures.ANSWER], **result}, {"messages": [], **empty}]
    (answered, ended), problems = fixtures.detect_and_read("chat", fixtures.json_lines(rows))
    assert verdicts(answered)["is_correct"] == (JudgementKind.PASS, None)
    assert verdicts(ended)["termination_reason"] == (JudgementKind.FAIL, None)
    assert ended.steps[0].error == "the trial ended before any message: max_steps"
    assert problems == []


def test_span_tree_has_annotated_errors() -> None:
    call = {"openinference.span.kind": "LLM", "llm.model_name": "o3", "llm.token_count.prompt": 70}
    inner = {
        "span_id": "b2",
        "span_name": "call",
        "timestamp": "2026-03-01T10:00:01Z",
        "duration": "PT1M2.5S",
        "status_code": "Error",
        "span_attributes": call,
    }
    outer = {**inner, "span_id": "a1", "span_name": "main", "span_attributes": {}, "child_spans": [inner]}
    trace = {"trace_id": "t1", "spans": [outer]}
    error = {"category": "Tool misuse", "location": "b2", "description": "wrong shelf", "impact": "HIGH"}
    labels = {"trace_id": "t1", "errors": [error], "scores": [{"plan_score": 4, "plan_reasoning": "good"}]}
    row = {"trace": orjson.dumps(trace).decode(), "labels": orjson.dumps(labels).decode()}
    ((run,), problems) = fixtures.detect_and_read("trail", orjson.dumps(row))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (model.model, model.tokens_in, model.parent, problems) == ("o3", 70, "a1", [])
    assert model.ended_at is not None
    assert model.started_at is not None
    assert (model.ended_at - model.started_at).total_seconds() == 62.5
    assert [(item.text, item.step, item.value) for item in run.judgements] == [
        ("Tool misuse: wrong shelf", "b2", None),
        ("good", None, 4.0),
    ]
    lone, (problem,) = fixtures.detect_and_read("trail", orjson.dumps(labels))
    assert (lone, "import the trace together" in problem) == ([], True)


def test_graded_answers_have_scores_and_calls() -> None:
    metric = {"name": "Relevancy", "score": 0.25, "reason": "off topic", "evaluationModel": "gpt-5", "threshold": 0.5}
    call = {"name": "find", "inputParameters": {"title": "Dune"}, "output": "3"}
    case = {
        "name": "case 1",
        "input": "Is Dune in stock?",
        "actualOutput": "Yes.",
        "retrievalContext": ["shelf 7"],
        "toolsCalled": [call],
        "success": False,
        "metricsData": [metric],
    }
    ((run,), problems) = fixtures.detect_and_read("graded-answers", orjson.dumps({"testCases": [case]}))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.output, run.steps[0].output) == ({"title": "Dune"}, "3", {"text": "Yes."})
    assert fixtures.steps(run, StepType.RETRIEVAL)[0].input is None
    assert verdicts(run) == {"Relevancy": (JudgementKind.SCORE, 0.25), "success": (JudgementKind.FAIL, None)}
    assert (run.judgements[0].by, problems) == ("gpt-5", [])
    row = {
        "user_input": "Is Dune in stock?",
        "response": "Yes.",
        "retrieved_contexts": ["shelf 7"],
        "faithfulness": 0.5,
    }
    ((answer,), _) = fixtures.detect_and_read("graded-answers", fixtures.json_lines([row]))
    assert verdicts(answer) == {"faithfulness": (JudgementKind.SCORE, 0.5)}


def test_observations_of_programs_are_no_turns() -> None:
    history = [fixtures.REQUEST, fixtures.ANSWER, {"role": "user", "content": "Observation: 3"}, fixtures.ANSWER]
    state = {"history": history, "success": False, "terminate_reason": "max_steps", "token_counter": {"total": 9}}
    body = {"task": {"task_id": "shop/1", "prompt": "Count"}, "state": state}
    ((run,), problems) = fixtures.detect_and_read("mint", fixtures.json_lines([body]))
    assert (len(fixtures.steps(run, StepType.TURN)), len(fixtures.steps(run, StepType.MODEL))) == (1, 2)
    assert verdicts(run) == {"success": (JudgementKind.FAIL, None), "termination_reason": (JudgementKind.FAIL, None)}
    assert (run.metadata["token_counter"], problems) == ({"total": 9}, [])


def test_desktop_answers_have_usage_and_task() -> None:
    response = {"model": "gpt-5", "raw_response": "Click it.", "usage": {"input_tokens": 90, "output_tokens": 8}}
    step = {"step_num": 1, "action_timestamp": "20260301@100000", "action": "click(1)", "instruction": "Find Dune"}
    ((run,), _) = fixtures.detect_and_read("osworld", fixtures.json_lines([{**step, "response": response}]))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (model.model, model.tokens_in, fixtures.answer_contents(run)) == ("gpt-5", 90, ["Click it."])
    assert fixtures.request_contents(model) == ["Find Dune"]


def moatless_node(id: int, parent: int | None, message: str = "", **facts: Any) -> dict[str, Any]:
    action = {"action_args_class": "moatless.actions.find_class.FindClassArgs", "class_name": "Shelf"}
    usage = {"prompt_tokens": 90, "completion_tokens": 8, "cache_read_tokens": 40, "completion_cost": 0.01}
    call = {"model": "gpt-5", "attempts": [{"usage": usage}, {"usage": usage}], "start_time": 0, "end_time": 0}
    step = {"action": action, "observation": {"message": message, "terminal": "reward" in facts}}
    return {
        "node_id": id,
        "parent_id": parent,
        "thoughts": {"text": "Look."},
        "action_steps": [step],
        "completions": {"build_action": call},
        **facts,
    }


@pytest.mark.parametrize("is_tree", [False, True])
def test_moatless_paths_are_runs(is_tree: bool) -> None:
    nodes = [
        {"node_id": 0, "parent_id": None, "user_message": "Fix the count."},
        moatless_node(1, 0, "found"),
        moatless_node(2, 1, "done", reward={"value": 80, "explanation": "ok"}),
        moatless_node(3, 0, "nothing", reward={"value": 10}),
    ]
    body: dict[str, Any] = {"metadata": {"instance_id": "shop-1"}, "nodes": nodes}
    if is_tree:
        for node in nodes:
            node["children"] = [child for child in nodes if child["parent_id"] == node["node_id"]]
        body = {"metadata": body["metadata"], "root": nodes[0], "nodes": []}
    (main, other), problems = fixtures.detect_and_read("moatless", orjson.dumps(body))
    assert [step.output for step in fixtures.steps(main, StepType.TOOL)] == ["found", "done"]
    assert [step.output for step in fixtures.steps(other, StepType.TOOL)] == ["nothing"]
    model = fixtures.steps(main, StepType.MODEL)[0]
    assert (model.model, model.tokens_in, model.tokens_cached, model.cost_usd) == ("gpt-5", 180, 80, Decimal("0.02"))
    tool = fixtures.steps(main, StepType.TOOL)[0]
    assert (tool.name, tool.input, tool.call_id) == ("FindClass", {"class_name": "Shelf"}, "1.0")
    assert (verdicts(main)["reward"], other.metadata["left_branch_of"]) == (
        (JudgementKind.SCORE, 80.0),
        main.external_id,
    )
    assert (main.name, main.metadata["instance_id"], problems) == ("Fix the count.", "shop-1", [])


def test_moatless_states_are_calls() -> None:
    asked = [{"role": "user", "content": "<issue>Fix the count.</issue>"}]
    request = {"scratch_pad": "Look.", "query": "count"}
    completion = {"model": "claude-4", "input": asked, "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
    action = {"request": request, "response": {"trigger": "did_search"}, "completion": completion}
    states = [{"id": 0, "name": "Pending"}, {"id": 1, "name": "SearchCode", "actions": [action]}]
    ((run,), problems) = fixtures.detect_and_read(
        "moatless", orjson.dumps({"initial_message": "Fix the count.", "transitions": states})
    )
    (model,) = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (model.model, model.tokens_in, fixtures.request_contents(model)) == ("claude-4", 9, [asked[0]["content"]])
    assert (tool.name, tool.input, tool.output) == ("SearchCode", {"query": "count"}, '{"trigger": "did_search"}')
    assert (run.name, fixtures.answer_contents(run), problems) == ("Fix the count.", ["Look."], [])


def test_calls_of_appworld_are_one_run() -> None:
    request = {"model": "gpt-5", "messages": [{"role": "user", "content": "Buy Dune."}], "temperature": 0}
    message = {"role": "assistant", "content": "print(1)"}
    response = {
        "model": "gpt-5-2025",
        "created": 1_772_359_200,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2},
        "cost": 0.01,
    }
    lines = [{"id": f"c{number}", "input": request, "output": response} for number in range(2)]
    ((run,), problems) = fixtures.detect_and_read("appworld", fixtures.json_lines(lines))
    first, second = fixtures.steps(run, StepType.MODEL)
    assert (run.external_id, run.name, problems) == ("appworld-c0", "Buy Dune.", [])
    assert (first.model, first.attributes["response_model"], first.provider) == ("gpt-5", "gpt-5-2025", "openai")
    assert (first.tokens_in, first.tokens_out, first.cost_usd) == (9, 2, Decimal("0.01"))
    assert fixtures.request_contents(second) == ["Buy Dune."]
    assert fixtures.answer_contents(run) == ["print(1)", "print(1)"]


def test_graded_conversations_are_turns() -> None:
    call = {"name": "find", "inputParameters": {"title": "Dune"}, "output": "3"}
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "3 copies", "toolsCalled": [call]}]
    case = {"name": "c", "scenario": "greet", "turns": turns, "metricsData": [{"name": "Role", "score": 0.1}]}
    messages = [
        {"type": "human", "content": "Hi"},
        {"type": "ai", "content": "", "tool_calls": [{"name": "find", "args": {"title": "Dune"}}]},
        {"type": "tool", "content": "3"},
        {"type": "ai", "content": "3 copies", "tool_calls": None},
    ]
    row = {"user_input": messages, "reference": "3", "Role": 0.1}
    for value in ({"conversationalTestCases": [case]}, [row]):
        ((run,), problems) = fixtures.detect_and_read("graded-answers", orjson.dumps(value))
        (tool,) = fixtures.steps(run, StepType.TOOL)
        assert (tool.tool_name, tool.input, tool.output) == ("find", {"title": "Dune"}, "3")
        assert fixtures.answer_contents(run)[-1] == "3 copies"
        assert ([(item.name, item.value) for item in run.judgements], problems) == ([("Role", 0.1)], [])
