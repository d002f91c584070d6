"""One-line summaries of any step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.recordings import assistant, assistant_call, order_run, user
from tests.unit.traces.payloads.test_parts import VALUES
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.step_summaries import MAX_SEARCH, MAX_SUMMARY, search_text, summarize


def _line(type: StepType, input: JSONValue, output: JSONValue, tool_name: str = "") -> str:
    return summarize(type=type, name="name", tool_name=tool_name, input=input, output=output)


@pytest.mark.parametrize(
    ("type", "input", "output", "line"),
    [
        (StepType.TOOL, {"order_id": "A-1042"}, None, "name(A-1042)"),
        (StepType.TOOL, {"a": 1, "b": [True, None]}, None, "name(1, [true, null])"),
        (StepType.TOOL, {}, None, "name()"),
        (StepType.TOOL, None, None, "name"),
        (StepType.MODEL, {}, {"message": assistant_call("c", "A-1")}, "asks for get_order"),
        (StepType.MODEL, {}, {"message": assistant("Good\n\n  morning")}, "Good morning"),
        (StepType.MODEL, {}, {"message": {"content": [{"type": "text", "text": "in a block"}]}}, "in a block"),
        (StepType.RETRIEVAL, {"query": "refunds"}, {"documents": [{"id": 1}]}, "1 document for refunds"),
        (StepType.RETRIEVAL, {"query": "refunds"}, {"documents": []}, "0 documents for refunds"),
        (StepType.RETRIEVAL, {"query": "refunds"}, None, "refunds"),
        (StepType.RETRIEVAL, None, {"documents": []}, "0 documents"),
        (StepType.TURN, {"messages": [user("one"), user("two")]}, {"message": assistant("no")}, "two"),
        (StepType.OUTPUT, None, {"text": "the end"}, "the end"),
        (StepType.OUTPUT, None, {"text": "x" * 201}, f"{'x' * 199}…"),
        (StepType.OUTPUT, None, {"text": f"{'é' * 250}  end"}, f"{'é' * 199}…"),
        (StepType.OUTPUT, None, {"text": f"{'x' * 200}\n\n"}, "x" * 200),
        (StepType.OUTPUT, None, {"text": f"{'x' * 200}  "}, "x" * 200),
        (StepType.OUTPUT, None, {"text": f"{'x' * 198}  end"}, f"{'x' * 198} …"),
        (StepType.OUTPUT, None, {"text": f"the\x00 {'end ' * 1000}"}, f"the\ufffd {'end ' * 48}en…"),
        (StepType.VALIDATOR, {"x": 1}, None, ""),
        (StepType.VALIDATOR, {"answer": "Done."}, {"decision": "fail", "reasons": ["no tone"]}, "fail: no tone"),
        (StepType.VALIDATOR, {"answer": "Done."}, {"decision": "pass", "reasons": []}, "pass"),
        (StepType.VALIDATOR, {"answer": "Done."}, {"passed": True}, "Done."),
    ],
)
def test_step_has_one_line_summary(type: StepType, input: JSONValue, output: JSONValue, line: str) -> None:
    assert _line(type, input, output) == line


@given(st.sampled_from(list(StepType)), VALUES, VALUES)
def test_any_summary_fits_its_column(type: StepType, input: JSONValue, output: JSONValue) -> None:
    line = _line(type, input, output)
    assert len(line) <= MAX_SUMMARY
    assert not {"\n", "\x00"} & set(line)


def test_search_text_contains_run_fields() -> None:
    text = search_text(order_run())
    for word in ("order-1", "desk", "gpt-4o", "first line", "where is my order a-1042?"):
        assert word in text
    assert len(text) <= MAX_SEARCH
