"""The sections of a report, and the limits of what they compare."""

from dataclasses import replace

import pytest

from diffing.content.similarity import Lexical
from diffing.report.sections import Texts
from tests.support.comparing import Spec, agent, diff_of, model, output, reply, tool, user
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Reason, StepType


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


@pytest.mark.parametrize(
    ("type", "status"), [(StepType.TOOL, "partial"), (StepType.PROMPT, "ok"), (StepType.TOOL, "ok")]
)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_placeholder_for_an_unrecorded_output_is_no_difference(
    type: StepType, status: str, *, is_swapped: bool
) -> None:
    step = Spec(type=type, name="date", parent=1, input={"zone": "UTC"}, status=status)
    placeholder = replace(step, output={"text": "[Forkpoint] not recorded"}, reason=Reason.POLICY_FALLBACK)
    runs = [[agent(), item, output("A")] for item in (step, placeholder)]
    report = diff_of(*(reversed(runs) if is_swapped else runs))
    assert report.summary == "Nothing recorded differs between the two runs."
    assert not report.sections.tool.items
    assert not report.sections.prompt.items


def test_placeholder_is_no_new_prompt() -> None:
    step = Spec(type=StepType.PROMPT, name="greeting", parent=1, input={"template": "Hi"}, output={"text": "Hi"})
    placeholder = replace(step, output={"text": "[Forkpoint] lost"}, reason=Reason.POLICY_FALLBACK)
    summary = diff_of([agent(), step, output("A")], [agent(), placeholder, output("A")]).summary
    assert summary.startswith("Not running greeting in the candidate")


def test_ids_of_calls_that_the_provider_ran_are_no_difference() -> None:
    def run(id: str) -> list[Spec]:
        result: JSONValue = [{"type": "web_search_result", "url": "https://a.example", "encrypted_content": id}]
        content: list[JSONValue] = [
            {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": id, "content": result},
            {"type": "text", "text": "A"},
        ]
        answer: JSONObject = {"role": "assistant", "content": content}
        return [agent(), model([user("Q")], answer), model([user("Q"), answer, user("And?")], reply("B")), output("B")]

    assert diff_of(run("one"), run("two")).attribution.verdict == "no_difference"


@pytest.mark.parametrize(
    "empty",
    [
        {"annotations": [], "audio": None, "reasoning_content": ""},
        {"content": [{"type": "text", "text": "A", "citations": None}]},
        {"content": [{"text": "A"}]},
    ],
)
def test_empty_fields_of_an_answer_are_no_difference(empty: JSONObject) -> None:
    runs = [
        [model([user("Q")], {"role": "assistant", **answer}), Spec(type=StepType.OUTPUT, output={"text": "A", **facts})]
        for answer, facts in (({"content": "A"}, {}), ({"content": "A", **empty}, {"citations": []}))
    ]
    assert diff_of(*runs).attribution.verdict == "no_difference"


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


@pytest.mark.parametrize("answer", ["Cafe\u0301 is open.", "Café is open.  ", "Café is open.\r\n"])
def test_equal_words_are_no_difference(answer: str) -> None:
    runs = [[agent(), model([user("Q")], reply(text)), output(text)] for text in ("Café is open.", answer)]
    report = diff_of(*runs)
    assert not any(section.items for _, section in report.sections)
    assert report.attribution.verdict == "no_difference"


@pytest.mark.parametrize(
    ("first", "second", "is_equal"),
    [
        ('{"id": 12345678901234567890123, "ok": true}', '{\n  "id": 12345678901234567890123,\n  "ok": true\n}', True),
        ('{"id": 12345678901234567890123, "ok": true}', '{"ok":true,"id":12345678901234567890123}', True),
        # Beyond the digits of a float.
        ('{"id": 12345678901234567890123, "ok": true}', '{"ok":true,"id":12345678901234567890124}', False),
        ('{"rate": 0.1}', '{"rate":0.1000000000000000000001}', False),
        ('{"id": 12345678901234567890123, "ok": true}', '{"ok":1,"id":12345678901234567890123}', False),
        ('{"id": 12345678901234567890123, "ok": true}', '{"ok":true,"id":12345678901234567890123}!', False),
        ('{"ok": true}', '{"ok": false, "ok": true}', False),
        ('{"city": "Orl\u00e9ans"}', '{"city": "Orle\u0301ans"}', True),
    ],
)
def test_answer_with_same_json_is_no_difference(first: str, second: str, *, is_equal: bool) -> None:
    runs = [[agent(), model([user("Q")], reply(text)), output(text)] for text in (first, second)]
    assert (diff_of(*runs).attribution.verdict == "no_difference") is is_equal


@pytest.mark.parametrize("second", ['{"b":2,"a":1}', '{"a":  1, "b": 2}'])
def test_form_of_an_answer_may_be_a_cause(second: str) -> None:
    """Code passed it on: the user's message, which nobody typed otherwise, is not to blame."""

    def run(text: str, last: str) -> list[Spec]:
        return [agent(), model([user("Q")], reply(text)), model([user(f"Check {text}")], reply(last)), output(last)]

    attribution = diff_of(run('{"a": 1, "b": 2}', "fine"), run(second, "wrong")).attribution
    assert attribution.primary is not None
    assert attribution.primary.category == "output"
    assert diff_of(run('{"a": 1, "b": 2}', "fine"), run(second, "fine")).attribution.verdict == "no_effect"


def test_same_json_in_another_form_is_no_difference() -> None:
    results: list[JSONValue] = ['{"a": 1}', {"a": 1}]
    base, candidate = ([tool("get", "c", {"x": 1}, result), output("A")] for result in results)
    assert diff_of(base, candidate).attribution.verdict == "no_difference"


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ({"score": 0.5}, {"score": 0.6}, "Changing the scores of the documents"),
        ({"metadata": {"year": 1}}, {"metadata": {"year": 2}}, "Changing the metadata of the documents"),
    ],
)
def test_documents_in_same_order_were_not_reordered(before: JSONObject, after: JSONObject, change: str) -> None:
    base, candidate = (
        [
            Spec(
                type=StepType.RETRIEVAL,
                name="r",
                input={"query": "q"},
                output={"documents": [{"id": "1", "content": "x", **fields}]},
            ),
            output("A"),
        ]
        for fields in (before, after)
    )
    assert diff_of(base, candidate).attribution.sentence.startswith(change)


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": [{"type": "image", "url": url}]} for url in ("a", "b")],
        [{"role": "user", "name": name, "content": "Q"} for name in ("anna", "berta")],
    ],
)
def test_messages_differ_in_more_than_text(messages: list[JSONObject]) -> None:
    base, candidate = ([agent(), model([message], reply("A")), output("A")] for message in messages)
    (item,) = diff_of(base, candidate).sections.prompt.items
    text = item.messages[0].text
    assert text is not None
    assert text.similarity < 1
    assert "“”" not in item.title


def test_number_and_its_text_look_different() -> None:
    base, candidate = ([tool("get", "c", {"x": value}, "r"), output("A")] for value in ("1", 1))
    assert 'x from "1" to 1' in diff_of(base, candidate).attribution.sentence
