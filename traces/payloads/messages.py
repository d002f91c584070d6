"""Typed views of payloads: requests, answers and messages of models, and documents of retrievals.

A view accepts any JSON; a part of an unexpected shape counts as absent. `value` is the JSON itself.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.step_header import payload_view
from traces.payloads.conversation import Messages

ANSWER: Final = "/message"  # the place of a model's message in its output


@payload_view
class ModelRequest:
    """The input of a model step."""

    value: JSONValue

    @property
    def messages(self) -> Sequence[JSONValue]:
        messages = self.value.get("messages") if isinstance(self.value, dict) else None
        return messages if isinstance(messages, list | Messages) else []

    @property
    def parameters(self) -> JSONObject:
        """The settings of its model."""
        return as_object(member(self.value, "parameters"))

    @property
    def tools(self) -> list[JSONObject]:
        """The schemas of its tools."""
        return as_objects(member(self.value, "tools"))


@payload_view
class Message:
    """One message of a request or an answer, or a document."""

    value: JSONValue

    @property
    def role(self) -> str:
        """The author: `user`, `assistant`, `tool`, `system` or another role."""
        return str(self.value.get("role") or "") if isinstance(self.value, dict) else ""

    @property
    def name(self) -> JSONValue:
        """The name of the author, which some requests give."""
        return self.value.get("name") if isinstance(self.value, dict) else None

    @property
    def content(self) -> JSONValue:
        return self.value.get("content") if isinstance(self.value, dict) else None

    @property
    def calls(self) -> list[JSONObject]:
        """Its tool calls."""
        calls = self.value.get("tool_calls") if isinstance(self.value, dict) else None
        return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []

    @property
    def call_ids(self) -> list[str]:
        return [str(call.get("id") or "") for call in self.calls]

    @property
    def tool_call_id(self) -> str:
        """The id of the call that a tool message answers."""
        call_id = self.value.get("tool_call_id") if isinstance(self.value, dict) else None
        return call_id if isinstance(call_id, str) else ""

    @property
    def plain_text(self) -> str:
        """The text of a message whose content is a single text."""
        content = self.content
        return content.strip() if isinstance(content, str) else ""

    @property
    def text(self) -> str:
        """The text of a message: its single text, or the texts of its blocks."""
        content = self.content
        if isinstance(content, list):
            return "".join(str(block.get("text", "")) for block in as_objects(content))
        return self.plain_text

    def text_places(self) -> Iterator[tuple[str, str]]:
        """Yield the texts of an answer, of its content or its blocks, with their paths in the output."""
        content = self.content
        blocks = enumerate(as_list(content))
        texts = [(f"/{index}/text", block.get("text")) for index, block in blocks if isinstance(block, dict)]
        for path, text in texts or [("", content)]:
            if isinstance(text, str) and text.strip():
                yield text.strip(), f"{ANSWER}/content{path}"


@payload_view
class ModelAnswer:
    """The output of a model step."""

    value: JSONValue

    @property
    def message(self) -> JSONObject:
        """Its message; empty if there is none."""
        return as_object(member(self.value, "message"))

    @property
    def calls(self) -> list[JSONObject]:
        """The tool calls of its message."""
        message = self.value.get("message") if isinstance(self.value, dict) else None
        return Message(message).calls if isinstance(message, dict) else []

    @property
    def text(self) -> str:
        """The text of its message."""
        return Message(self.message).text


@payload_view
class Documents:
    """The output of a retrieval step."""

    value: JSONValue

    @property
    def texts(self) -> list[str]:
        """The texts of its documents."""
        return [Message(item).text for item in as_objects(member(self.value, "documents"))]

    @property
    def texts_by_id(self) -> dict[str, str]:
        """The texts of its documents by their ids, in order; empty if not every document has an id of its own."""
        documents = as_objects(member(self.value, "documents"))
        texts = {str(item["id"]): Message(item).text for item in documents if as_text(item.get("id"))}
        return texts if len(texts) == len(documents) else {}

    @property
    def count(self) -> int | None:
        """The number of its documents; None for the output of another step."""
        documents = self.value.get("documents") if isinstance(self.value, dict) else None
        return len(documents) if isinstance(documents, list) else None
