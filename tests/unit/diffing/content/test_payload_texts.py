"""Texts of payloads: the words of a message's content."""

import pytest

from diffing.content.payload_texts import answer_text, content_text, message_text
from traces.core.json_types import JSONObject, JSONValue


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "Dune"},
        {"type": "text", "text": {"value": "Dune", "annotations": []}},
        {"type": "search_result", "title": "Shop", "content": [{"type": "text", "text": "Dune"}]},
        {"type": "web_search_result", "title": "Dune", "encrypted_content": "x"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Dune"}},
        {"type": "web_fetch_tool_result", "content": {"content": {"source": {"type": "text", "data": "Dune"}}}},
        {"id": "doc", "data": {"text": "Dune"}},
    ],
)
def test_search_results_are_words(block: JSONValue) -> None:
    assert content_text([block]) == "Dune"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "base64", "data": "iVBOR"}},
        {"type": "image", "data": "iVBOR"},
        {"type": "image", "url": "https://shop.example/dune.png"},
    ],
)
def test_media_are_marked(block: JSONObject) -> None:
    assert content_text(block) == "[image]"
    assert message_text({"role": "user", "content": [block]}).startswith("[image ")


def test_message_that_only_requests_calls_is_no_answer() -> None:
    call: JSONValue = {"id": "c", "name": "bash", "arguments": {}}
    assert answer_text({"message": {"role": "assistant", "content": None, "tool_calls": [call]}}) == ""
    assert answer_text({"message": {"role": "assistant", "content": "Done.", "tool_calls": [call]}}) == "Done."
    assert answer_text({"order": 7}) == '{"order": 7}'
