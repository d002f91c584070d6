"""One-line summaries of steps, and the search text of a run."""

import json
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType
from traces.payloads.conversation import MessageCursor
from traces.payloads.messages import Documents, Message, ModelAnswer, ModelRequest

MAX_SUMMARY: Final = 200
MAX_SEARCH: Final = 600
_ARGUMENT: Final = 40
REQUEST_PREFIX: Final = "asks "  # of the summary of a model step that requests tool calls
# Characters of a text that are read: enough for one line.
_HEAD: Final = 2_000


def summarize(*, type: StepType, name: str, tool_name: str, input: JSONValue, output: JSONValue) -> str:
    """Summarize a step in one line: `get_order(A-1042)`, `asks for get_order`, or the beginning of its text."""
    if type is StepType.TOOL:
        tool = tool_name or name
        # Without parentheses if the arguments are not recorded.
        return one_line(tool if input is None else f"{tool}({_arguments(input)})")
    if type is StepType.MODEL:
        return one_line(_answer(output))
    if type is StepType.RETRIEVAL:
        return one_line(_retrieval(input, output))
    if type in (StepType.VALIDATOR, StepType.SAFETY) and (verdict := _verdict(output)):
        return one_line(verdict)
    if type in (StepType.AGENT, StepType.TURN):
        return one_line(text_of(input) or text_of(output))
    return one_line(text_of(output) or text_of(input))


def is_request(summary: str) -> bool:
    """Return whether the summary of a model step lists requested tool calls."""
    return summary.startswith(REQUEST_PREFIX)


def search_text(run: RecordedRun) -> str:
    """Return the lower-case text that run searches match."""
    models = dict.fromkeys(step.model for step in run.steps if step.model)
    words = [run.name, run.external_id, run.app, run.environment, *models, *run.tags, _first_request(run)]
    return one_line(" ".join(word for word in words if word), MAX_SEARCH).lower()


def one_line(text: str, limit: int = MAX_SUMMARY) -> str:
    """Return the beginning of `text` without line breaks and NUL characters, which PostgreSQL cannot store."""
    line = text[: limit + 1]
    # Most texts are in one line as they are: whatever follows, that line begins like this.
    if not (line.isprintable() and "  " not in line and line.strip(" ") == line):
        line = " ".join(text[: max(_HEAD, limit * 2)].replace("\x00", "\ufffd").split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def text_of(value: JSONValue) -> str:
    """Return the text of a payload: itself, its message, its last message, or its text field."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(filter(None, (text_of(item) for item in value[:8])))
    if not isinstance(value, dict):
        return ""
    if messages := ModelRequest(value).messages:
        return text_of(messages[-1])
    for key in ("message", "content", "text", "task", "answer", "output", "query", "input", "template", "prompt"):
        if text := text_of(value.get(key)):
            return text
    return ""


def _first_request(run: RecordedRun) -> str:
    """Return the first user message of a run, else the text of its first input that is no conversation."""
    cursor = MessageCursor()
    return next((text for step in run.steps if (text := _request_text(step.input, cursor))), "")


def _request_text(input: JSONValue, cursor: MessageCursor) -> str:
    """Return the first unread user message of an input, else the input's text."""
    for message in cursor.unread(ModelRequest(input).messages):
        if Message(message).role == "user":
            return text_of(message)
    return "" if isinstance(input, dict) and "messages" in input else text_of(input)


def _arguments(input: JSONValue) -> str:
    if isinstance(input, dict):
        return ", ".join(_argument(item) for item in list(input.values())[:8])
    return _argument(input)


def _argument(value: JSONValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:_HEAD]
    return one_line(text, _ARGUMENT)


def _answer(output: JSONValue) -> str:
    names = [_name(call) for call in ModelAnswer(output).calls]
    return f"{REQUEST_PREFIX}for {', '.join(names)}" if names else text_of(output)


def _name(call: JSONObject) -> str:
    return str(call.get("name") or "?")


def _verdict(output: JSONValue) -> str:
    """Return the decision of a check with its reasons; empty without a decision."""
    if not isinstance(output, dict) or not isinstance(decision := output.get("decision"), str):
        return ""
    return ": ".join(filter(None, (decision, text_of(output.get("reasons")))))


def _retrieval(input: JSONValue, output: JSONValue) -> str:
    query, count = text_of(input), Documents(output).count
    if count is None:
        return query
    documents = f"{count} document{'' if count == 1 else 's'}"
    return f"{documents} for {query}" if query else documents
