"""Parts of recorded payloads: answers, tool calls, texts, documents. Pure."""

from traces.core.json_types import JSONObject, JSONValue


def answer_of(output: JSONValue) -> JSONObject:
    """The message of a model's output."""
    message = output.get("message") if isinstance(output, dict) else None
    return message if isinstance(message, dict) else {}


def calls_of(message: JSONObject) -> list[JSONObject]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def documents_of(output: JSONValue) -> list[str]:
    """The texts of what a retrieval found."""
    documents = output.get("documents") if isinstance(output, dict) else None
    found = documents if isinstance(documents, list) else []
    return [text_of(document) for document in found if isinstance(document, dict)]


def text_of(message: JSONObject) -> str:
    """The words of a message or a document."""
    content = message.get("content")
    if isinstance(content, list):
        texts = [str(block.get("text", "")) for block in content if isinstance(block, dict)]
        return "".join(texts)
    return content.strip() if isinstance(content, str) else ""
