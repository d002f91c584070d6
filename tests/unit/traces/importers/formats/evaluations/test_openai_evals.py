"""Logs of OpenAI Evals."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import JudgementKind, RunStatus, StepType

LINES: Any = [orjson.loads(line) for line in (fixtures.FOLDER / "openai_evals.jsonl").read_bytes().splitlines()]


def test_samples_are_runs() -> None:
    first, second = fixtures.runs("openai_evals.jsonl")
    assert [run.external_id for run in (first, second)] == ["260301ABC/shop.dev.1", "260301ABC/shop.dev.2"]
    (model,) = fixtures.steps(first, StepType.MODEL)
    assert (model.model, model.tokens_in, model.tokens_out) == ("gpt-4o-mini", 11, 6)
    assert model.input == {"messages": [fixtures.SYSTEM, fixtures.REQUEST]}
    assert model.output == {"message": fixtures.ANSWER}
    (tool,) = fixtures.steps(second, StepType.TOOL)
    assert (tool.input, tool.output) == ({"title": "Emma"}, "2 copies")
    assert first.metadata["final_report"] == {"accuracy": 0.5}


def test_errors_and_scores_are_recorded() -> None:
    first, second = fixtures.runs("openai_evals.jsonl")
    assert (first.status, second.status) == (RunStatus.COMPLETED, RunStatus.FAILED)
    assert second.steps[0].error == "took too long"
    assert [(item.name, item.kind, item.value, item.text) for item in (*first.judgements, *second.judgements)] == [
        ("correct", JudgementKind.PASS, None, "expected Yes, picked Yes"),
        ("correct", JudgementKind.FAIL, None, "expected Yes"),
        ("words", JudgementKind.SCORE, 1.0, ""),
    ]


def test_several_texts_are_several_calls() -> None:
    sampling = {**LINES[2], "data": {"prompt": "Why?", "sampled": ["Because.", "No idea."]}}
    ((run,), problems) = fixtures.detect_and_read("openai-evals", fixtures.json_lines([sampling]))
    assert (fixtures.answer_contents(run), problems) == (["Because.", "No idea."], [])
    assert fixtures.steps(run, StepType.MODEL)[0].model == ""


def test_log_without_samples_is_refused() -> None:
    runs, problems = fixtures.detect_and_read("openai-evals", fixtures.json_lines(LINES[:2]))
    assert (runs, problems) == ([], ["this log of OpenAI Evals has no events of samples (line 1)"])
