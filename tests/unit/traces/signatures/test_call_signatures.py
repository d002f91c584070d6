"""Signatures cover exactly what determines an answer."""

import pytest

from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.splitter import Splitter
from traces.signatures.call_signatures import ModelSigner, call_of, differing_fields, signature

REQUEST: JSONObject = {
    "messages": [{"role": "user", "content": "Where is A-1042?"}],
    "tools": [{"name": "get_order"}],
    "parameters": {"temperature": 0.2},
}


def model_signature(request: JSONObject, model: str = "desk-1") -> str:
    return signature(type=StepType.MODEL, name="chat", input=request, provider="local", model=model)


def test_step_name_does_not_count() -> None:
    other_call = signature(type=StepType.MODEL, name="renamed", input=dict(REQUEST), provider="local", model="desk-1")
    assert model_signature(REQUEST) == other_call


@pytest.mark.parametrize(
    "changed",
    [
        {"messages": [{"role": "user", "content": "Where is A-1043?"}]},
        {"tools": []},
        {"parameters": {"temperature": 0}},
        {"response_format": {"type": "json_object"}},
    ],
)
def test_every_determining_field_counts(changed: JSONObject) -> None:
    assert model_signature(REQUEST | changed) != model_signature(REQUEST)


def test_model_and_provider_count() -> None:
    assert model_signature(REQUEST, model="desk-2") != model_signature(REQUEST)
    other_call = signature(type=StepType.MODEL, name="chat", input=REQUEST, provider="far away", model="desk-1")
    assert other_call != model_signature(REQUEST)


def test_zero_and_empty_are_values() -> None:
    def search(asked: JSONObject) -> str:
        return signature(type=StepType.RETRIEVAL, name="guide", input=asked)

    assert search({"query": "", "top_k": 0, "filters": {}}) != search({})
    assert search({"query": "x", "top_k": None}) == search({"query": "x"})


@pytest.mark.parametrize("step_type", [StepType.RETRIEVAL, StepType.PROMPT, StepType.MODEL])
@pytest.mark.parametrize(
    ("before", "after"),
    [({"question": "a"}, {"question": "b"}), ("a", "b"), ({"query": "q", "documents": ["a"]}, {"query": "q"})],
)
def test_unusual_fields_count(step_type: StepType, before: JSONValue, after: JSONValue) -> None:
    signatures = {signature(type=step_type, name="rerank", input=input) for input in (before, after)}
    assert len(signatures) == 2


def test_request_ids_do_not_count() -> None:
    noisy = REQUEST | {"request_id": "r-1", "parameters": {"temperature": 0.2, "user": "u-7", "stream": True}}
    assert model_signature(noisy) == model_signature(REQUEST)


@pytest.mark.parametrize("extra", [{}, {"request_id": "r-1"}, {"note": "x"}, {"response_format": None}])
@pytest.mark.parametrize("parameters", [{}, {"temperature": 0.2}, {"temperature": 0.2, "user": "u-7"}])
def test_known_digest_of_an_input_changes_no_signature(extra: JSONObject, parameters: JSONObject) -> None:
    request = REQUEST | {"parameters": parameters} | extra
    splitter = Splitter()
    ref = splitter.split(request)
    known = signature(
        type=StepType.MODEL, name="", input=request, model="desk-1", digest_of=splitter.digest, input_ref=ref
    )
    assert known == signature(type=StepType.MODEL, name="", input=request, model="desk-1")


def test_messages_are_signed_once_for_many_requests() -> None:
    splitter = Splitter()
    unusual_fields: JSONObject = {
        "system": "Be kind. " * 1_000,
        "documents": [{"id": "d1", "content": "Long. " * 1_000}],
    }
    for request in (REQUEST, {"messages": REQUEST["messages"]}, REQUEST | unusual_fields):
        cut = splitter.cut(request)
        rest = ModelSigner.rest(cut, provider="local", model="desk-1")
        assert ModelSigner.for_messages(cut["messages"]).signature(rest) == model_signature(request)


def test_tool_signature_covers_name_and_arguments() -> None:
    def call(name: str, arguments: JSONObject) -> str:
        return signature(type=StepType.TOOL, name="x", tool_name=name, input=arguments)

    assert call("get", {"a": 1, "b": 2}) == call("get", {"b": 2, "a": 1})
    assert call("get", {"a": 1}) != call("put", {"a": 1})
    assert call("get", {"a": 1}) != call("get", {"a": "1"})


def test_other_steps_have_no_signature() -> None:
    assert signature(type=StepType.AGENT, name="desk", input={"task": "x"}) == ""


def test_differing_fields_are_named() -> None:
    original = call_of(type=StepType.MODEL, name="", input=REQUEST, provider="local", model="desk-1")
    current = call_of(
        type=StepType.MODEL, name="", input=REQUEST | {"parameters": {}}, provider="local", model="desk-2"
    )
    assert original is not None
    assert current is not None
    assert differing_fields(original, current) == ["model", "parameters"]
