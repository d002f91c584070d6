"""Threads of Chainlit and Literal AI."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import JudgementKind, StepStatus, StepType

THREAD: Any = orjson.loads((fixtures.FOLDER / "chainlit.json").read_bytes())


def test_steps_of_a_thread_are_nested() -> None:
    run = fixtures.run("chainlit.json")
    assert (run.external_id, run.name, run.tags, run.metadata["userIdentifier"]) == (
        "thread-7",
        "Dune",
        ("demo",),
        "ann",
    )
    assert [(step.key, step.type, step.parent) for step in run.steps] == [
        ("step-1", StepType.TURN, None),
        ("step-2", StepType.AGENT, None),
        ("step-3", StepType.MODEL, "step-2"),
        ("step-4", StepType.TOOL, "step-2"),
        ("step-5", StepType.TOOL, "step-2"),
        ("step-6", StepType.OUTPUT, "step-2"),
    ]


def test_generations_are_model_calls() -> None:
    turn, _, model, tool, failure, output = fixtures.run("chainlit.json").steps
    assert turn.input == {"messages": [fixtures.REQUEST]}
    assert model.input == {
        "messages": [fixtures.SYSTEM, fixtures.REQUEST],
        "tools": [{"name": "find_book", "parameters": {"type": "object"}}],
        "parameters": {"temperature": 0.2},
    }
    assert (model.output, model.provider, model.model) == ({"message": fixtures.CALL}, "openai", "gpt-4o-mini")
    assert (model.tokens_in, model.tokens_out) == (42, 9)
    assert model.attributes["generation"] == {"ttFirstToken": 90, "promptId": "p-1"}
    assert (tool.call_id, tool.input, tool.output) == ("call_1", {"title": "Dune"}, "3 copies")
    assert (failure.status, failure.error) == (StepStatus.ERROR, "no such shelf")
    assert output.output == {"text": "Yes, three copies."}


def test_feedback_and_scores_are_judgements() -> None:
    assert [
        (item.name, item.kind, item.value, item.text, item.step) for item in fixtures.run("chainlit.json").judgements
    ] == [
        ("Relevance", JudgementKind.SCORE, 0.9, "on topic", "step-3"),
        ("feedback", JudgementKind.PASS, None, "quick", "step-6"),
    ]


def test_each_thread_of_a_page_is_a_run() -> None:
    pages = {"data": [THREAD, {**THREAD, "id": "thread-8"}], "pageInfo": {"hasNextPage": False}}
    runs, problems = fixtures.detect_and_read("chainlit", orjson.dumps(pages))
    assert ([run.external_id for run in runs], problems) == (["thread-7", "thread-8"], [])


def test_long_chain_of_steps_is_read() -> None:
    tool = THREAD["steps"][3]
    steps = [{**tool, "id": f"s{number}", "parentId": f"s{number + 1}"} for number in range(8_000)]
    ((run,), problems) = fixtures.detect_and_read("chainlit", orjson.dumps({**THREAD, "steps": steps}))
    assert (len(run.steps), problems) == (8_000, [])
