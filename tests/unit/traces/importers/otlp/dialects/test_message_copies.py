import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.importing_fixtures import trace_run
from tests.unit.traces.importers.otlp.test_batches import json_body, json_span, protobuf, span
from traces.core.recorded_run import RecordedStep
from traces.importers.common.messages import normalize_messages
from traces.importers.otlp.dialects import request_bodies
from traces.importers.otlp.dialects.request_bodies import BodyReader

HISTORY: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is order A-1042?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id":"A-1042"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "in transit"},
]


def attributes(messages: list[Any], copies: list[Any]) -> dict[str, str]:
    values = {"openinference.span.kind": "LLM", "input.value": json.dumps({"model": "m", "messages": messages})}
    for index, copy in enumerate(copies):
        prefix = f"llm.input_messages.{index}.message"
        values |= {f"{prefix}.{name}": copy[name] for name in ("role", "content", "tool_call_id") if copy.get(name)}
        for number, call in enumerate(copy.get("tool_calls", ())):
            call_prefix = f"{prefix}.tool_calls.{number}.tool_call"
            values[f"{call_prefix}.id"] = call["id"]
            values |= {f"{call_prefix}.function.{name}": value for name, value in call["function"].items()}
    return values


def steps(encoding: str, *spans: dict[str, str]) -> tuple[RecordedStep, ...]:
    if encoding == "protobuf":
        body = protobuf(*(span(number, attributes=values) for number, values in enumerate(spans, 1)))
    else:
        body = json_body(
            *(
                json_span(
                    number,
                    startTimeUnixNano=f"179000000000000000{number}",
                    attributes=[{"key": key, "value": {"stringValue": value}} for key, value in values.items()],
                )
                for number, values in enumerate(spans, 1)
            )
        )
    return trace_run(body).steps


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_equal_copies_are_left_out(encoding: str) -> None:
    first, second = steps(encoding, attributes(HISTORY[:2], HISTORY[:2]), attributes(HISTORY, HISTORY))
    assert not any(name.startswith("llm.") for step in (first, second) for name in step.attributes)
    assert isinstance(first.input, dict)
    assert isinstance(second.input, dict)
    first_messages: Any = first.input["messages"]
    second_messages: Any = second.input["messages"]
    assert [message["role"] for message in second_messages] == ["system", "user", "assistant", "tool"]
    # One object, which the store recognizes without comparing texts.
    assert all(mine is other for mine, other in zip(first_messages, second_messages, strict=False))


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
@pytest.mark.parametrize("changed", [0, 3])
def test_differing_copy_stays_attribute(encoding: str, changed: int) -> None:
    copies = [dict(message) for message in HISTORY]
    copies[changed]["content"] = "other"
    _, second = steps(encoding, attributes(HISTORY[:2], HISTORY[:2]), attributes(HISTORY, copies))
    expected = attributes(HISTORY, copies)
    assert {name: value for name, value in second.attributes.items() if name.startswith("llm.")} == {
        name: value for name, value in expected.items() if name.startswith(f"llm.input_messages.{changed}.")
    }


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_copy_without_message_stays_attribute(encoding: str) -> None:
    extra = [*HISTORY, {"role": "user", "content": "And B-7?"}]
    _, second = steps(encoding, attributes(HISTORY[:2], HISTORY[:2]), attributes(HISTORY, extra))
    assert second.attributes["llm.input_messages.4.message.content"] == "And B-7?"


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_copies_without_request_are_the_request(encoding: str) -> None:
    values = attributes(HISTORY, HISTORY)
    del values["input.value"]
    (step,) = steps(encoding, values)
    assert isinstance(step.input, dict)
    messages: Any = step.input["messages"]
    assert [message["content"] for message in messages] == ["Be brief.", "Where is order A-1042?", None, "in transit"]


@pytest.mark.parametrize(
    "text",
    [
        '{"messages": [], "messages": []}',
        '{"messages":[],"a":1,"a":2}',
        '{"messages": [{"role": "user", "role": "user"}]}',
        '{"messages": [1' + "0" * 30 + "]}",
        '{"messages": {}}',
        '{"messages": [], "input": []}',
        '{"prompt": []}',
        "[]",
        "{",
    ],
)
def test_body_that_cannot_be_cut(text: str) -> None:
    assert BodyReader().body(text) is None


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_repeated_messages_are_one_object(separators: tuple[str, str]) -> None:
    reader = BodyReader()
    first = reader.body(json.dumps({"messages": HISTORY[:2], "temperature": 1}, separators=separators))
    second = reader.body(json.dumps({"messages": HISTORY, "temperature": 1, "tools": []}, separators=separators))
    other = reader.body(json.dumps({"input": HISTORY[1:], "temperature": 1}, separators=separators))
    assert first is not None
    assert second is not None
    assert other is not None
    assert all(mine is their for mine, their in zip(first.messages, second.messages, strict=False))
    assert all(mine is their for mine, their in zip(second.messages[1:], other.messages, strict=True))
    assert second.fields == {"temperature": 1, "tools": []}


@pytest.mark.parametrize(
    "text",
    ['{"messages": [{"role": "user"},]}', '{"messages": [{"role": "user"}, , 1]}', '{"messages": [{"role": "user"}}'],
)
def test_broken_list_after_its_valid_beginning(text: str) -> None:
    reader = BodyReader()
    assert reader.body('{"messages": [{"role": "user"}]}') is not None
    assert reader.body(text) is None


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([*HISTORY, {"role": "user", "content": '],[, \\"é'}, 12, {}]), max_size=5),
            st.sampled_from([(",", ":"), (", ", ": ")]),
            st.sampled_from(["messages", "input", "contents"]),
        ),
        max_size=8,
    )
)
def test_history_does_not_change_what_is_read(requests: list[tuple[list[Any], tuple[str, str], str]]) -> None:
    reader = BodyReader()
    for messages, separators, name in requests:
        text = json.dumps({name: messages, "model": "m"}, separators=separators, ensure_ascii=False)
        assert reader.body(text) == BodyReader().body(text)


@pytest.fixture
def no_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_bodies, "_frames", ())


@pytest.mark.usefixtures("no_frames")
@pytest.mark.parametrize(
    ("before", "after"), [({"model": "m"}, {"temperature": 1}), ({}, {}), ({"ids": HISTORY[:1]}, {"user": HISTORY[:1]})]
)
def test_bodies_that_differ_only_in_their_messages(before: dict[str, Any], after: dict[str, Any]) -> None:
    reader = BodyReader()
    lists: list[Any] = [HISTORY[:1], HISTORY[:1], HISTORY[:2], HISTORY, [], HISTORY[1:]]
    for messages in lists:
        body = reader.body(json.dumps({**before, "messages": messages, **after}))
        assert body is not None
        assert body.messages == normalize_messages(messages)
        assert body.fields == {**before, **after}
    assert len(request_bodies._frames) == 1
    longest = reader.body(json.dumps({**before, "messages": HISTORY, **after}))
    again = reader.body(json.dumps({**before, "messages": [*HISTORY, {"role": "user", "content": "?"}], **after}))
    assert longest is not None
    assert again is not None
    assert all(mine is their for mine, their in zip(longest.messages, again.messages, strict=False))


@pytest.mark.usefixtures("no_frames")
@pytest.mark.parametrize("end", [",", ".5", "2", "e1", "] ", ",,{}", ', "printed"', ',{"role":"user","role":"user"}'])
def test_messages_that_only_begin_like_the_history(end: str) -> None:
    reader = BodyReader()
    for _ in range(3):
        assert reader.body('{"messages": [1], "model": "m"}') is not None
    text = f'{{"messages": [1{end}], "model": "m"}}'
    assert (
        reader.body(text) == BodyReader()._whole_body(text) if end in (".5", "2", "e1") else reader.body(text) is None
    )
