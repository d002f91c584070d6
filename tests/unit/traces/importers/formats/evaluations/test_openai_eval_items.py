"""Output items of runs of OpenAI's Evals API."""

from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
from traces.core.vocabulary import JudgementKind, RunStatus

SAMPLE = {
    "input": [{"role": "developer", "content": "Be brief."}, fixtures.REQUEST],
    "output": [{"role": "assistant", "content": "B-7"}],
    "finish_reason": "stop",
    "model": "gpt-4o",
    "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13, "cached_tokens": 2},
    "error": None,
    "temperature": 0.5,
}
ITEM: dict[str, Any] = {
    "object": "eval.run.output_item",
    "id": "item_1",
    "created_at": 1_772_359_200,
    "run_id": "run_1",
    "eval_id": "eval_1",
    "status": "pass",
    "datasource_item_id": 5,
    "datasource_item": {"title": "Dune"},
    "results": [{"name": "match", "type": "string-check-grader", "passed": True, "score": 0.75}],
    "sample": SAMPLE,
}


@pytest.mark.parametrize("file", [[ITEM], [{"object": "list", "data": [ITEM], "has_more": False}]])
def test_item_is_a_call_with_the_results_of_its_graders(file: list[Any]) -> None:
    ((run,), problems) = fixtures.detect_and_read("openai-eval-items", fixtures.json_lines(file))
    (step,) = run.steps
    assert as_object(step.input) == {
        "messages": [{"role": "system", "content": "Be brief."}, fixtures.REQUEST],
        "parameters": {"temperature": 0.5},
    }
    assert step.output == {"message": {"role": "assistant", "content": "B-7"}, "finish_reason": "stop"}
    assert (step.tokens_in, step.tokens_out, step.tokens_cached, problems) == (9, 4, 2, [])
    assert [(score.name, score.kind, score.value) for score in run.judgements] == [
        ("passed", JudgementKind.PASS, None),
        ("match", JudgementKind.SCORE, 0.75),
    ]
    assert (run.external_id, run.app, run.metadata["datasource_item"]) == ("item_1", "eval_1", {"title": "Dune"})


def test_failed_sample_is_a_failed_run() -> None:
    sample = {**SAMPLE, "output": [], "error": {"code": "rate_limit", "message": "too many requests"}}
    (run,) = fixtures.read("openai-eval-items", [{**ITEM, "sample": sample, "status": "error"}])
    assert (run.status, run.steps[0].error) == (RunStatus.FAILED, "too many requests")
