"""Results and scores of the Berkeley Function Calling Leaderboard."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import JudgementKind, StepStatus, StepType

RESULTS: Any = [orjson.loads(line) for line in (fixtures.FOLDER / "bfcl_results.jsonl").read_bytes().splitlines()]
SCORES: Any = [
    {"accuracy": 0.5, "correct_count": 1, "total_count": 2},
    {
        "id": "simple_python_0",
        "model_name": "gpt-4o-mini",
        "test_category": "simple_python",
        "valid": False,
        "error": ["wrong value"],
        "error_type": "value_error",
        "prompt": {"question": [[fixtures.REQUEST]]},
        "model_result_raw": [{"find_book": '{"title": "Emma"}'}],
        "possible_answer": [{"find_book": {"title": ["Dune"]}}],
    },
]


def test_turns_have_answers_and_calls() -> None:
    run, _ = fixtures.runs("bfcl_results.jsonl")
    assert [step.type.value for step in run.steps] == [
        *("agent", "turn", "model", "tool", "tool", "model", "turn", "model", "tool", "output")
    ]
    find, till, text_call = fixtures.steps(run, StepType.TOOL)
    assert (find.input, find.output, find.status) == ({"title": "Dune"}, "3 copies", StepStatus.OK)
    assert (till.status, till.error) == (StepStatus.ERROR, '{"error": "no till"}')
    assert (text_call.tool_name, text_call.input) == ("find_book", {"title": "Emma", "tags": ["a", "{1}"]})
    assert (text_call.status, text_call.error) == (StepStatus.ERROR, "Error during execution: no tags")
    models = fixtures.steps(run, StepType.MODEL)
    assert [(step.tokens_in, step.tokens_out) for step in models] == [(42, 9), (60, 5), (70, 3)]
    assert fixtures.answer_contents(run)[1:] == [
        "Yes, three copies.",
        "[find_book(title='Emma', tags=('a', {1}))]",
    ]
    assert run.metadata["states"] == [RESULTS[0]["inference_log"][0]]


def test_single_turn_has_its_request() -> None:
    _, run = fixtures.runs("bfcl_results.jsonl")
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert model.input == {
        "messages": [fixtures.REQUEST],
        "tools": [{"name": "find_book", "parameters": {"type": "object"}}],
    }
    (call,) = fixtures.steps(run, StepType.TOOL)
    assert (call.input, call.status, model.tokens_in) == ({"title": "Dune"}, StepStatus.PARTIAL, 30)


def test_scores_judge_results() -> None:
    multi_turn, single = fixtures.read("bfcl", SCORES, RESULTS)
    assert multi_turn.judgements == ()
    (score,) = single.judgements
    assert (score.name, score.kind, score.text) == ("valid", JudgementKind.FAIL, "value_error")
    assert fixtures.steps(single, StepType.MODEL)[0].model == "gpt-4o-mini"
    assert single.metadata["error"] == ["wrong value"]


def test_score_of_several_results_judges_none() -> None:
    """Results of another model have the same ids."""
    runs = fixtures.read("bfcl", SCORES, RESULTS, [{**RESULTS[1], "result": "Yes."}])
    assert [run.judgements for run in runs] == [(), (), ()]


def test_score_alone_has_answer_and_question() -> None:
    ((run,), problems) = fixtures.detect_and_read("bfcl", fixtures.json_lines(SCORES))
    assert fixtures.request_contents(fixtures.steps(run, StepType.MODEL)[0]) == ["Is Dune in stock?"]
    assert fixtures.steps(run, StepType.TOOL)[0].input == {"title": "Emma"}
    assert (len(run.judgements), problems) == (1, [])


def test_calls_in_texts_are_read_without_details_and_answered_in_the_next_request() -> None:
    texts = ['[find(title="Dune"), count()]', "Three copies."]
    results = ["shelf_7", "3"]
    steps = {f"step_{number}": [{"role": "assistant", "content": text}] for number, text in enumerate(texts)}
    steps["step_0"] += [{"role": "tool", "content": result} for result in results]
    turn = {"begin_of_turn_query": [{"role": "user", "content": "How many?"}], **steps}
    body = {"id": "multi_turn_1", "result": [texts], "input_token_count": [[9, 12]], "inference_log": [turn]}
    single = {"id": "simple_1", "result": texts[0], "input_token_count": 9}
    runs, problems = fixtures.detect_and_read("bfcl", fixtures.json_lines([body, single]))
    calls = [[(tool.name, tool.input, tool.output) for tool in fixtures.steps(run, StepType.TOOL)] for run in runs]
    assert calls[0] == [("find", {"title": "Dune"}, "shelf_7"), ("count", {}, "3")]
    assert calls[1] == [("find", {"title": "Dune"}, None), ("count", {}, None)]
    last = fixtures.steps(runs[0], StepType.MODEL)[-1]
    assert fixtures.request_contents(last) == ["How many?", texts[0], "shelf_7\n3"]
    assert (len(fixtures.steps(runs[0], StepType.TURN)), problems) == (1, [])
