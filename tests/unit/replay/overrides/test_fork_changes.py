"""The change of a fork in a few words."""

from typing import Any

from replay.overrides.fork_changes import RecordedCall, fork_change
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from traces.core.schema import ForkChange

MODEL = RecordedCall(
    name="gpt-4.1",
    model="gpt-4.1",
    provider="openai",
    input={
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Refund order A-1042."}],
        "parameters": {"temperature": 0.7, "max_completion_tokens": 100},
        "tools": [{"name": "get_order"}, {"name": "refund"}],
    },
    output={"message": {"role": "assistant", "content": "I have refunded 4200 EUR."}},
)
TOOL = RecordedCall(
    name="get_order", model="", provider="", input={"order": "A-1042"}, output={"total": 4200, "items": ["lamp"]}
)
SEARCH = RecordedCall(
    name="policies",
    model="",
    provider="",
    input={"query": "refund", "top_k": 5},
    output={"documents": [{"id": "a", "title": "Refund policy", "content": "30 days"}, {"id": "b", "content": "Fees"}]},
)


def change(*entries: dict[str, Any], call: RecordedCall | None = MODEL, policy: Policy | None = None) -> ForkChange:
    profile = OverrideProfile.model_validate({"overrides": entries})
    return fork_change(profile, policy or Policy(), lambda _: call, str)


def model(**settings: Any) -> dict[str, Any]:
    return {"match": {"type": "model"}, "model": settings}


def text(*entries: dict[str, Any], call: RecordedCall | None = MODEL) -> str:
    return change(*entries, call=call).text


def test_sentence_added_to_system_prompt() -> None:
    entry = {"match": {"type": "model"}, "prompt": {"system": "Be kind. Order totals are in cents."}}
    assert change(entry) == ForkChange(text="+ “Order totals are in cents.”", target="system prompt", count=1)


def test_model_and_settings_from_old_to_new() -> None:
    assert change(model(model="gpt-5-mini")) == ForkChange(text="gpt-4.1 → gpt-5-mini", target="model", count=1)
    assert text(model(temperature=0)) == "temperature 0.7 → 0"
    assert text(model(max_tokens=200)) == "max tokens 100 → 200"
    assert text(model(unset=["temperature"])) == "no temperature"
    assert text(model(provider="local")) == "openai → local"


def test_first_of_several_changes_and_their_number() -> None:
    prompt = {"match": {"type": "model"}, "prompt": {"system": "Be kind. Be short."}}
    assert change(prompt, model(model="gpt-5-mini", temperature=0)) == ForkChange(
        text="+ “Be short.”", target="system prompt", count=3
    )


def test_values_as_recorded_are_no_changes() -> None:
    assert change(model(model="gpt-4.1", temperature=0.7)) == ForkChange(text="Unchanged", target="", count=0)


def test_unchanged_forks() -> None:
    assert change().text == "Unchanged"
    assert change(policy=Policy(order="reexecute")).text == "Run again live"


def test_offered_tools() -> None:
    assert text(model(tools=[{"name": "get_order"}])) == "− refund"
    assert text(model(tools=[{"name": "get_order"}, {"name": "refund", "description": "EUR"}])) == "refund changed"


def test_messages() -> None:
    match = {"type": "model"}
    added = {"match": match, "messages": [{"op": "insert", "index": 2, "role": "user", "content": "And be quick."}]}
    removed = {"match": match, "messages": [{"op": "delete", "index": 1}]}
    edited = {"match": match, "messages": [{"op": "replace", "index": 1, "content": "Refund order B-2001."}]}
    assert change(added) == ForkChange(text="+ “And be quick.”", target="user message", count=1)
    assert change(removed) == ForkChange(text="− “Refund order A-1042.”", target="user message", count=1)
    assert text(edited) == "“A-1042” → “B-2001”"


def test_one_value_of_a_tool_answer() -> None:
    entry = {"match": {"type": "tool", "name": "get_order"}, "tool": {"output": {"total": 42, "items": ["lamp"]}}}
    expected = ForkChange(text="get_order total: 4200 → 42", target="tool answer", count=1)
    assert change(entry, call=TOOL) == expected


def test_replaced_and_failing_tool_answers() -> None:
    match = {"type": "tool", "name": "get_order"}
    replaced = {"match": match, "tool": {"output": "not found"}}
    failing = {"match": match, "tool": {"output": "", "status": "timeout"}}
    assert text(replaced, call=TOOL) == "get_order replaced"
    assert text(failing, call=TOOL) == "get_order times out"


def test_arguments() -> None:
    entry = {"match": {"type": "tool"}, "arguments": {"order": "B-2001"}}
    expected = ForkChange(text="get_order order: A-1042 → B-2001", target="arguments", count=1)
    assert change(entry, call=TOOL) == expected


def test_search_and_its_documents() -> None:
    match = {"type": "retrieval"}
    documents = [{"id": "a", "title": "Refund policy", "content": "14 days"}, {"id": "b", "content": "Fees"}]
    assert text({"match": match, "retrieval": {"top_k": 3}}, call=SEARCH) == "top k 5 → 3"
    assert text({"match": match, "retrieval": {"documents": documents}}, call=SEARCH) == (
        "document “Refund policy” replaced"
    )
    assert text({"match": match, "retrieval": {"documents": documents[:1]}}, call=SEARCH) == "− document “b”"


def test_answer_of_a_model() -> None:
    output = {"message": {"role": "assistant", "content": "I have refunded 42 EUR."}}
    entry = {"match": {"step": 7}, "output": output}
    assert change(entry) == ForkChange(text="“4200” → “42”", target="answer of gpt-4.1", count=1)


def test_nul_characters_are_replaced() -> None:
    assert text({"match": {"step": 7}, "output": "a\0b"}).endswith("“a\ufffdb”")


def test_unknown_recording() -> None:
    prompt = {"match": {"type": "model"}, "prompt": {"system": "Be short."}}
    assert change(prompt, call=None) == ForkChange(text="“Be short.”", target="system prompt", count=1)
    assert text(model(temperature=0), call=None) == "temperature 0"
    assert text({"match": {"type": "tool", "name": "get_order"}, "tool": {"output": 1}}, call=None) == (
        "get_order replaced"
    )
