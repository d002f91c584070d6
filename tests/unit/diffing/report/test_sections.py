"""The sections of a report, and the limits of what they compare."""

from dataclasses import replace

import pytest

from diffing.content.similarity import Lexical
from diffing.report.sections import Texts
from tests.support.comparing import Spec, agent, diff_of, model, output, reply, user
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType


def test_texts_beyond_the_budget_are_excerpts() -> None:
    texts = Texts(Lexical(), [], budget=1_000)
    base, candidate = "a refund " * 100, "one order " * 100
    whole, excerpt = texts.diff(base, candidate), texts.diff(base, candidate)
    assert not whole.truncated
    assert excerpt.truncated
    assert 0 < sum(len(span.text) for span in excerpt.spans) <= 200


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ({"text": "A", "citations": [{"id": "d1"}]}, {"text": "A", "citations": [{"id": "d2"}]}, "citations and data"),
        ({"text": "A", "data": {"x": 1}}, {"text": "A", "data": {"x": 2}}, "citations and data"),
        ({"amount": 1}, {"amount": 2}, "final answer"),
        ([{"amount": 1}], [{"amount": 2}], "final answer"),
    ],
)
def test_final_answer_is_more_than_text(before: JSONValue, after: JSONValue, kind: str) -> None:
    base, candidate = ([Spec(type=StepType.OUTPUT, output=output)] for output in (before, after))
    report = diff_of(base, candidate)
    assert [item.kind for item in report.sections.output.items] == [kind]
    assert report.scores.output_similarity == 1.0 if kind != "final answer" else report.scores.output_similarity < 1.0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"refusal": "no"}, {"refusal": "never"}),
        ({"content": [{"type": "text", "text": "A", "citations": [1]}]}, {"content": "A"}),
        ({"content": [{"type": "image", "url": "a"}]}, {"content": [{"type": "image", "url": "b"}]}),
    ],
)
def test_answer_is_more_than_text_and_calls(before: JSONObject, after: JSONObject) -> None:
    runs = [[agent(), model([user("Q")], {"role": "assistant", **answer}), output("A")] for answer in (before, after)]
    (item,) = diff_of(*runs).sections.model.items
    assert item.kind == "citations, thoughts and media"


def test_unrecorded_answer_is_no_difference() -> None:
    recorded = model([user("Q")], reply("A"))
    report = diff_of([agent(), recorded, output("A")], [agent(), replace(recorded, output=None), output("A")])
    assert not report.sections.model.items
    assert report.sections.model.unavailable


def test_search_results_without_documents_have_no_order() -> None:
    before, after = (
        [Spec(type=StepType.RETRIEVAL, name="r", input={"query": "q"}, output=["a", item]), output("A")]
        for item in ("b", "c")
    )
    (item,) = diff_of(before, after).sections.retrieval.items
    assert [(change.base, change.candidate) for change in item.values] == [("b", "c")]
