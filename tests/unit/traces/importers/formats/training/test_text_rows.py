"""Rows of training data: conversations as text, and calls as their data sets write them."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType
from traces.importers.files.python_literals import parse_calls
from traces.importers.files.source import Source
from traces.importers.formats.training import text_rows

FORMAT = "text-rows"
CALL = '<tool_call>\n{"name": "find", "arguments": {"title": "Dune"}}\n</tool_call>'


def read(format: str, row: dict[str, Any]) -> RecordedRun:
    (run, _), problems = fixtures.detect_and_read(format, fixtures.json_lines([row, row]))
    assert problems == []
    return run


def calls(run: RecordedRun) -> list[tuple[str, Any, Any]]:
    return [(step.name, step.input, step.output) for step in fixtures.steps(run, StepType.TOOL)]


def test_glaive_row_has_tools_calls_and_results() -> None:
    tool = '{\n    "name": "find",\n    "description": "Find a book"\n}'
    chat = (
        "USER: Is Dune in stock?\n\n\n"
        """ASSISTANT: <functioncall> {"name": "find", "arguments": '{"title": "Dune"}'} <|endoftext|>\n\n\n"""
        'FUNCTION RESPONSE: {"copies": 3}\n\n\nASSISTANT: Three. <|endoftext|>\n\n\n'
    )
    run = read(FORMAT, {"system": f"SYSTEM: You have functions -\n{tool}\n", "chat": chat})
    (first, _) = fixtures.steps(run, StepType.MODEL)
    assert calls(run) == [("find", {"title": "Dune"}, {"copies": 3})]
    assert isinstance(first.input, dict)
    assert first.input["tools"] == [{"name": "find", "description": "Find a book"}]
    assert [step.name for step in fixtures.steps(run, StepType.TURN)] == ["Is Dune in stock?"]
    assert fixtures.answer_contents(run)[1] == "Three."


@pytest.mark.parametrize(
    ("request_text", "answer"),
    [
        (
            "<|im_start|>system\nYou keep a shop.<|im_end|>\n<|im_start|>user\nIs Dune in stock?<|im_end|>\n"
            "<|im_start|>assistant\n",
            f"{CALL}<|im_end|>\n<|im_start|>user\n<tool_response>\n3\n</tool_response><|im_end|>\n"
            "<|im_start|>assistant\nThree.<|im_end|>",
        ),
        (
            "system\nYou keep a shop.\nuser\nIs Dune in stock?\nassistant\n",
            f"{CALL}\nuser\n<tool_response>\n3\n</tool_response>\nassistant\nThree.",
        ),
        (
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nYou keep a shop.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nIs Dune in stock?<|eot_id|>",
            f"{CALL}<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n<tool_response>3</tool_response><|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nThree.<|eot_id|>",
        ),
    ],
    ids=["marks", "roles", "headers"],
)
def test_generations_are_split_by_their_template(request_text: str, answer: str) -> None:
    for names in ({"input": request_text, "output": answer}, {"prompt": request_text, "completion": answer}):
        run = read(FORMAT, {**names, "score": 1.0, "step": 10, "reward": 0.5})
        first, last = fixtures.steps(run, StepType.MODEL)
        assert fixtures.request_contents(first) == ["You keep a shop.", "Is Dune in stock?"]
        assert fixtures.answer_contents(run) == [CALL, "Three."]
        assert fixtures.request_contents(last)[:2] == ["You keep a shop.", "Is Dune in stock?"]
        assert calls(run) == [("find", {"title": "Dune"}, "3")]
        assert [(item.name, item.value) for item in run.judgements] == [("score", 1.0), ("reward", 0.5)]
        assert run.metadata["step"] == 10


def test_generation_without_a_template_is_one_answer() -> None:
    run = read(FORMAT, {"input_prompt": "Write a list:", "output_response": "a\nuser\nb", "score": 0.0})
    assert fixtures.answer_contents(run) == ["a\nuser\nb"]


def test_conversations_with_calls_in_the_syntax_of_python() -> None:
    def row(call: str, result: str) -> dict[str, Any]:
        turns = [("user", "Is Dune in stock?"), ("assistant", call), ("tool", result), ("assistant", "Three.")]
        return {"conversations": [{"from": speaker, "value": value} for speaker, value in turns]}

    listed = row(
        '[Find Book(title="Dune, Part (1)", n=[1, 2]), count()]', '[{"name": "x", "results": {}}, {"results": 3}]'
    )
    assert calls(read("sharegpt", listed)) == [
        ("Find Book", {"title": "Dune, Part (1)", "n": [1, 2]}, {}),
        ("count", {}, 3),
    ]
    tagged = row(
        "<tool_call>\n{'name': 'find', 'arguments': {'title': 'Dune'}}\n</tool_call>",
        "<tool_response>\n{'name': 'find', 'content': {'copies': 3}}\n</tool_response>",
    )
    assert calls(read("sharegpt", tagged)) == [("find", {"title": "Dune"}, {"copies": 3})]


@pytest.mark.parametrize("content", ["[1, 2]", "[see (this)]", "[a](b)", "f(1)", "[f(x=y)]", "[f(x=1), rest]"])
def test_other_texts_are_no_calls(content: str) -> None:
    assert parse_calls(content) == []


def test_rollouts_with_calls_as_texts_and_ids_as_lists() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"title": "Dune"}'}}
    result = {"role": "tool", "content": "3"}
    rollout: dict[str, Any] = {
        "prompt": [{"role": "user", "content": "Is Dune in stock?"}],
        "completion": [
            {"role": "assistant", "content": "", "tool_calls": [orjson.dumps(call).decode()]},
            {**result, "tool_call_id": "c1"},
        ],
    }
    assert calls(read("chat", rollout)) == [("find", {"title": "Dune"}, "3")]
    answer = {"role": "assistant", "content": "", "tool_calls": [call]}
    messages = [*rollout["prompt"], answer, {**result, "tool_call_ids": ["c1"]}]
    assert calls(read("chat", {"messages": orjson.dumps(messages).decode()})) == [("find", {"title": "Dune"}, "3")]


def test_row_with_its_answer_as_a_text_beside_the_request() -> None:
    row = {"input": [{"role": "user", "content": "Is Dune in stock?"}], "output": "Three.", "license": "cc-by-4.0"}
    run = read("chat", {**row, "available_tools": '[{"name": "find"}]'})
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert fixtures.answer_contents(run) == ["Three."]
    assert isinstance(model.input, dict)
    assert (model.input["tools"], run.metadata["license"]) == ([{"name": "find"}], "cc-by-4.0")


@pytest.mark.parametrize("text", [" " * 300_000, "\n" * 300_000, "{\n" * 150_000, '"arguments": \'' * 20_000])
def test_repeated_marks_cost_no_search_each(text: str) -> None:
    called = {"system": f"SYSTEM: {text}x", "chat": f"USER: Hello{text}x\n\n\nASSISTANT: <functioncall> {text}x"}
    generated = {"input": f"Hello{text}x", "output": f"a{text}b", "score": 1, "step": 1}
    source = Source(name="rows.jsonl", data=fixtures.json_lines([called, generated]))
    called_run, generated_run = text_rows.parse(source)
    assert fixtures.answer_contents(called_run) == [f"<functioncall> {text}x".strip()]
    assert fixtures.answer_contents(generated_run) == [f"a{text}b"]
