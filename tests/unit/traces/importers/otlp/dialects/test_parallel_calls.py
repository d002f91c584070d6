from traces.core.json_types import JSONObject
from traces.importers.otlp.dialects.parallel_calls import CallReader, join_calls, match_results

USER: JSONObject = {"role": "user", "content": "Where are they?"}


def answer(*ids: str, text: str | None = None) -> JSONObject:
    calls = [call(id) for id in ids]
    return {"role": "assistant", "content": text, "tool_calls": [*calls]}


def call(id: str) -> JSONObject:
    return {"id": id, "name": "find", "arguments": {}}


def result(id: str) -> JSONObject:
    return {"role": "tool", "content": "here", "tool_call_id": id}


def test_calls_in_a_row_are_one_answer() -> None:
    results = [result("a"), result("b")]
    assert join_calls([USER, answer("a"), answer("b"), *results]) == [USER, answer("a", "b"), *results]
    separate = [USER, answer("a"), result("a"), answer("b"), result("b")]
    assert join_calls(separate) is separate
    with_text = [answer("a"), answer("b", text="And this:")]
    assert join_calls(with_text) == with_text


def test_results_without_call_get_ids_by_position() -> None:
    conversation = match_results([USER, answer("fc_a", "fc_b"), result("a"), result("b")])
    assert conversation.messages == [USER, answer("fc_a", "fc_b"), result("fc_a"), result("fc_b")]
    assert conversation.attributes == {"call_ids": {"fc_a": "a", "fc_b": "b"}}


def test_results_with_call_keep_their_ids() -> None:
    for messages in ([answer("a", "b"), result("b"), result("a")], [answer("a", "b"), result("c"), USER]):
        assert match_results([*messages]).messages == messages
        assert match_results([*messages]).attributes == {}


def test_history_read_before_does_not_hide_what_follows() -> None:
    history = [USER, answer("a"), result("a")]
    reader = CallReader()
    assert reader.read(history).messages is history
    assert reader.read([*history, answer("fc_b"), result("b")]).attributes == {"call_ids": {"fc_b": "b"}}
    separate = [*history[:2], answer("b"), *history[2:], result("b")]
    assert reader.read(separate).messages == [USER, answer("a", "b"), result("a"), result("b")]
    assert reader.read([*history, result("a")]).attributes == {}
    assert reader.read([*history[:2], answer("b")]).messages == [USER, answer("a", "b")]
