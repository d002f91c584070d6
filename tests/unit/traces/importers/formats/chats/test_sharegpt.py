"""ShareGPT conversations, in every shape in which they are published."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

PAIR = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]


def read(content: Any) -> list[RecordedRun]:
    runs, problems = fixtures.detect_and_read("sharegpt", orjson.dumps(content))
    assert problems == []
    return runs


def models(run: RecordedRun) -> list[RecordedStep]:
    return fixtures.steps(run, StepType.MODEL)


def tools(run: RecordedRun) -> list[RecordedStep]:
    return fixtures.steps(run, StepType.TOOL)


def answer_message(step: RecordedStep) -> Any:
    assert isinstance(step.output, dict)
    return step.output["message"]


def test_conversations_have_calls_and_results() -> None:
    run, tagged_run = fixtures.runs("sharegpt.jsonl")
    (tool,) = tools(run)
    assert (tool.input, tool.output, run.external_id) == ({"title": "Dune"}, "3 copies", "sg-1")
    assert run.judgements[0].value == 1.0
    (tagged_tool,) = tools(tagged_run)
    assert (tagged_tool.tool_name, tagged_tool.input, tagged_tool.links) == (
        "find_book",
        {"title": "Emma"},
        (models(tagged_run)[0].key,),
    )
    assert "<tool_call>" in answer_message(models(tagged_run)[0])["content"], "the answer text is unchanged"


def test_results_answer_calls_in_order() -> None:
    calls = '[{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": {}}]'
    (run,) = read(
        [
            {
                "conversations": [
                    {"from": "human", "value": "Do both."},
                    {"from": "function_call", "value": calls},
                    {"from": "observation", "value": "one"},
                    {"from": "observation", "value": "two"},
                ]
            }
        ],
    )
    assert [(step.tool_name, step.output) for step in tools(run)] == [("a", "one"), ("b", "two")]


def test_unknown_speaker_is_reported_and_other_conversations_are_read() -> None:
    pair = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]
    unknown_turns = [pair[0], {"from": "parrot", "value": "Hi"}]
    data = orjson.dumps([{"conversations": unknown_turns}, {"id": "good", "conversations": pair}])
    (run,), (problem,) = fixtures.detect_and_read("sharegpt", data)
    assert run.external_id == "good"
    assert "“parrot” is not a known speaker" in problem
    assert "/0/conversations/1/from" in problem


def test_speakers_may_be_roles() -> None:
    turns = [{"role": "user", "value": "Is Dune in stock?"}, {"role": "assistant", "value": "Yes."}]
    (run,) = read({"conversations": turns})
    assert [step.type.value for step in run.steps] == ["agent", "turn", "model", "output"]


def test_pairs_of_request_and_answer_are_turns() -> None:
    pairs = [{"human": "Is Dune in stock?", "assistant": "Yes."}, {"human": "And Emma?", "assistant": "No."}]
    (run,) = read({"conversation": pairs, "category": "shop"})
    assert [step.type.value for step in run.steps] == ["agent", "turn", "model", "turn", "model", "output"]
    assert (run.steps[-1].output, run.metadata) == ({"text": "No."}, {"category": "shop"})


def test_results_in_tags_answer_their_calls() -> None:
    calls = [f'<tool_call>\n{{"name": "{name}", "arguments": {{}}}}\n</tool_call>' for name in ("find", "count")]
    bodies = [{"tool_call_id": "c1", "name": "find", "content": {"shelf": 7}}, {"copies": 3}]
    results = [f"<tool_response>\n{orjson.dumps(body).decode()}\n</tool_response>" for body in bodies]
    turns = [{"from": "human", "value": "Dune?"}, {"from": "gpt", "value": "\n".join(calls)}]
    turns += [{"from": "tool", "value": "\n".join(results)}, {"from": "gpt", "value": "Yes."}]
    (run,) = read({"conversations": turns, "metadata": {"model": "anthropic/claude-sonnet-4.5"}})
    assert [tool.output for tool in fixtures.steps(run, StepType.TOOL)] == [{"shelf": 7}, {"copies": 3}]
    assert fixtures.steps(run, StepType.MODEL)[0].model == "anthropic/claude-sonnet-4.5"


@pytest.mark.parametrize(
    "document",
    [
        PAIR,
        [PAIR],
        [{"conversation": PAIR}],
        {"title": "T", "model": "GPT-4", "items": PAIR},
    ],
    ids=["turns", "lists of turns", "one conversation each", "the page's own"],
)
def test_lists_of_turns_are_read_wherever_they_are(document: Any) -> None:
    (run,) = read(document)
    assert [step.type.value for step in run.steps] == ["agent", "turn", "model", "output"]


def test_each_result_answers_its_call_in_a_text() -> None:
    calls = [f'<tool_call>{{"name": "{name}", "arguments": {{}}}}</tool_call>' for name in ("find", "count")]
    turns = [PAIR[0], {"from": "gpt", "value": "".join(calls)}]
    turns += [{"from": "tool", "value": "shelf 7"}, {"from": "tool", "value": "3 copies"}, PAIR[1]]
    (run,) = read({"conversations": turns})
    assert [tool.output for tool in tools(run)] == ["shelf 7", "3 copies"]


@pytest.mark.parametrize(
    ("observation", "outputs"), [('["shelf 7", 3]', ["shelf 7", "3"]), ("shelf 7", ["shelf 7", None])]
)
def test_list_of_results_answers_all_calls(observation: str, outputs: list[Any]) -> None:
    calls = '[{"name": "find", "arguments": {}}, {"name": "count", "arguments": {}}]'
    turns = [{"from": "function_call", "value": calls}, {"from": "observation", "value": observation}]
    (run,) = read({"conversations": [PAIR[0], *turns, PAIR[1]]})
    assert [tool.output for tool in tools(run)] == outputs


def test_other_members_of_turns_are_attributes() -> None:
    (run,) = read({"conversations": [PAIR[0], {**PAIR[1], "weight": 0.5, "reasoning": "Greet back."}]})
    (model,) = models(run)
    assert (model.attributes["weight"], model.attributes["reasoning"]) == (0.5, "Greet back.")
