"""Redactor: nothing rejected remains, everything else stays the same object, and markers are stable."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.redactions import redaction, secrets
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.conversation import Conversation
from traces.redaction.findings import Finding
from traces.redaction.markers import FAILURE_MARKER, MARKER

_SECRETS = list(secrets().values())
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=8),
    st.sampled_from(_SECRETS),
    st.tuples(st.text('ab \n"', max_size=4), st.sampled_from(_SECRETS)).map(" ".join),
)
_KEYS = st.one_of(st.sampled_from(["messages", "tools", "documents", "content", "password", "x"]), st.text(max_size=4))
_VALUES = st.recursive(
    _LEAVES,
    lambda items: st.one_of(st.lists(items, max_size=4), st.dictionaries(_KEYS, items, max_size=4)),
    max_leaves=12,
)


class FailingDetector:
    """Fails on every text."""

    version = "failing"

    def suspects(self, data: bytes) -> bool:
        return True

    def findings(self, text: bytes, name: str) -> Sequence[Finding]:
        raise RuntimeError(text.decode())


def apply(value: Any, *rules: dict[str, Any], type: StepType = StepType.TOOL) -> Any:
    return redaction(*rules).redactor().field(type, "input", value)


def rule(action: str, path: str, **columns: Any) -> dict[str, Any]:
    return {"name": action, "action": action, "path": path, **columns}


def test_a_header_has_its_name_beside_its_value() -> None:
    value = "tiger-lily-pond-7"
    for headers in (
        [["X-Api-Key", value]],
        [{"name": "X-Api-Key", "value": value}],
        {"key": "x-api-key", "value": value},
    ):
        assert value not in json.dumps(apply({"headers": headers}))
    assert apply({"headers": [["X-Trace", value]]}) == {"headers": [["X-Trace", value]]}


@given(_VALUES)
def test_no_secret_survives(value: JSONValue) -> None:
    text = json.dumps(apply(value), ensure_ascii=False)
    for secret in _SECRETS:
        assert json.dumps(secret, ensure_ascii=False)[1:-1] not in text


@given(_VALUES)
def test_redaction_is_idempotent(value: JSONValue) -> None:
    first = apply(value)
    assert apply(first) == first


def test_clean_value_stays_the_same_object() -> None:
    value: JSONValue = {"messages": [{"role": "user", "content": "hello"}], "parameters": {"temperature": 0}, "n": 1}
    assert apply(value) is value


def test_rules_name_fields_of_json_in_texts() -> None:
    text = '{"name": "Mia",  "email": "mia@example.com", "id": 12345678901234567890123}'
    result = json.loads(apply(text, rule("drop", "/input/email")))
    assert result == {"name": "Mia", "email": "[dropped:drop]", "id": 12345678901234567890123}
    messages = [{"role": "user", "content": "{not JSON"}, {"role": "tool", "content": text}]
    question, answer = apply({"messages": messages}, rule("drop", "/input/messages/*/content/email"))["messages"]
    assert (question, json.loads(answer["content"])) == (messages[0], result)
    # A text that a rule does not change keeps its form.
    assert apply(text, rule("drop", "/input/**/phone")) == text


def test_detectors_check_json_in_texts_as_text() -> None:
    secret = secrets()["GitHub"]
    text = json.dumps({"email": "mia@example.com", "email2": "x", "note": f"use {secret}"})
    # The first of two equal keys would be lost in a value.
    text = text.replace('"email2": "x"', f'"note": "{secret}"')
    result = apply(text, rule("drop", "/input/email"))
    assert secret not in result
    assert secret not in apply(text, rule("drop", "/input/phone"))


def test_equal_secrets_have_equal_markers() -> None:
    secret = secrets()["GitHub"]
    result = apply({"a": f"use {secret}, please", "b": [secret]})
    marker = result["b"][0]
    assert MARKER.fullmatch(marker)
    assert result["a"] == f"use {marker}, please"
    other = apply({"b": [secrets(1)["GitHub"]]})
    assert other["b"][0] != marker


def test_history_is_redacted_once_and_shared() -> None:
    conversation = Conversation([{"role": "user", "content": f"my key is {secrets()['AWS']}"}])
    first = conversation.snapshot
    conversation.append({"role": "assistant", "content": "thanks"})
    redactor = redaction().redactor()
    prefixes: list[Any] = [first, conversation.snapshot]
    requests: list[Any] = [redactor.field(StepType.MODEL, "input", {"messages": m}) for m in prefixes]
    assert requests[0]["messages"][0] is requests[1]["messages"][0]
    assert len(requests[0]["messages"]) == 1
    assert secrets()["AWS"] not in str(requests)


def test_equal_entries_of_lists_stay_one_object() -> None:
    message: JSONValue = {"role": "user", "content": secrets()["AWS"]}
    redactor = redaction().redactor()
    results: list[Any] = [redactor.field(StepType.MODEL, "input", {"messages": [message], "n": n}) for n in range(2)]
    assert results[0]["messages"][0] is results[1]["messages"][0]


def test_denial_beats_permission() -> None:
    value: JSONValue = {"customer": {"email": "ann@example.com", "id": 7}}
    result = apply(value, rule("raw", "/input/customer/email"), rule("redact", "/**/email"))
    assert MARKER.fullmatch(result["customer"]["email"])
    assert result["customer"]["id"] == 7
    nested = apply(value, rule("raw", "/input/customer"), rule("drop", "/input/customer/email"))
    assert nested == {"customer": {"email": "[dropped:drop]", "id": 7}}


def test_raw_field_is_stored_as_it_is() -> None:
    secret = secrets()["AWS"]
    result = apply({"fixture": {"key": secret}, "key": secret}, rule("raw", "/input/fixture"))
    assert result["fixture"] == {"key": secret}
    assert MARKER.fullmatch(result["key"])


def test_redact_keeps_shape_and_hash_does_not() -> None:
    value: JSONValue = {"card": {"number": 4111, "holder": "Ann", "valid": None}}
    redact_result, hash_result = apply(value, rule("redact", "/input/card")), apply(value, rule("hash", "/input/card"))
    assert set(redact_result["card"]) == {"number", "holder", "valid"}
    assert redact_result["card"]["valid"] is None
    assert MARKER.fullmatch(redact_result["card"]["number"])
    assert MARKER.fullmatch(hash_result["card"])


def test_rule_applies_to_its_step_types_only() -> None:
    only_tools = rule("drop", "/input/x", step_types=["tool"])
    assert apply({"x": 1}, only_tools) == {"x": "[dropped:drop]"}
    assert apply({"x": 1}, only_tools, type=StepType.MODEL) == {"x": 1}


def test_rule_reaches_messages_of_a_conversation() -> None:
    messages = Conversation([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]).snapshot
    result = apply({"messages": messages}, rule("drop", "/input/messages/1/content"), type=StepType.MODEL)
    assert [message["content"] for message in result["messages"]] == ["a", "[dropped:drop]"]
    whole = apply({"messages": messages}, rule("hash", "/input/messages"), type=StepType.MODEL)
    assert MARKER.fullmatch(whole["messages"])


def test_failing_detector_blocks_the_payload_and_names_the_place() -> None:
    redactor = redaction(detectors=(FailingDetector(),)).redactor()
    assert redactor.field(StepType.TOOL, "input", {"x": "private"}, "step 3, input") == FAILURE_MARKER
    assert redactor.text("private", "a tag") == FAILURE_MARKER
    assert redactor.failures == ["step 3, input: RuntimeError", "a tag: RuntimeError"]


def test_key_of_an_object_is_redacted() -> None:
    secret = secrets()["GitHub"]
    (key,) = apply({secret: 1})
    assert MARKER.fullmatch(key)


def test_detectors_that_looked_before_do_not_look_again() -> None:
    failing = redaction(rule("drop", "/input/a"), detectors=(FailingDetector(),))
    remainder = failing.omit({"failing"})
    assert remainder.redactor().field(StepType.TOOL, "input", {"a": 1, "b": "x"}) == {"a": "[dropped:drop]", "b": "x"}
    assert not remainder.is_off
    assert failing.omit({"another"}) is failing
