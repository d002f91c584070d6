"""Names of runs, and names of models inside them."""

import re
from collections.abc import Sequence
from typing import Final

from traces.core.json_access import as_object
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.messages import message_text
from traces.payloads.conversation import MessageCursor
from traces.payloads.messages import ModelRequest

NAME_LENGTH: Final = 120
# How coding agents mark what the user wrote within a message.
_TAG: Final = re.compile(r"(?m:^)<(task|user_query)>\s*(?!</)(\S.*?)(?:</\1>|\Z)", re.S)
# A command of Claude Code that the user typed.
_COMMAND: Final = re.compile(
    r"<command-name>\s{0,9}(\S{1,100}?)\s{0,9}</command-name>(?:.*?<command-args>([^<]*)</command-args>)?", re.S
)
# What the gateway calls requests of an MCP client that are no tool calls, such as the list of tools.
_PROTOCOL: Final = "mcp."
_MOST_TOOLS: Final = 3
_VERSION = r"[a-z0-9]+(?:[.-][a-z0-9]+)*"
_NAME: Final = re.compile(
    rf"(?<![a-z0-9])(?:gpt-{_VERSION}|chatgpt-{_VERSION}|claude-{_VERSION}|gemini-{_VERSION}|llama-{_VERSION}|"
    rf"mistral-{_VERSION}|qwen-?\d{_VERSION}|deepseek-{_VERSION}|o[134](?:-(?:mini|pro|preview))?(?![a-z0-9]))"
)
_AGENT: Final = re.compile(r"agent[_ -](.*?)(?:[_ -]user|\Z)", re.S)


def run_name(steps: Sequence[RecordedStep], default: str) -> str:
    """Return the user's first request in one line, else the first task in a step's input, else `default`."""
    cursor = MessageCursor()
    for step in steps:
        if request := _first_request(cursor.unread(ModelRequest(step.input).messages)):
            return one_line(request, NAME_LENGTH)
    task = next((request for step in steps if (request := _task_text(step.input))), "")
    return one_line(task or default, NAME_LENGTH)


def tool_words(steps: Sequence[RecordedStep]) -> str:
    """Return the first tools that steps call, such as "lookup, refund, …"; what a client asks a server comes last."""
    names = dict.fromkeys(step.tool_name or step.name for step in steps if step.type is StepType.TOOL)
    tools = [name for name in names if not name.startswith(_PROTOCOL)] or [*names]
    return ", ".join([*tools[:_MOST_TOOLS], *(["…"] if len(tools) > _MOST_TOOLS else [])])


def one_line(value: str, width: int) -> str:
    """Return a text in one line of at most this many characters."""
    line = " ".join(value[: width * 8].replace("\0", "�").split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def find_model_name(name: str) -> str:
    """Return the only model in `name`, or the agent's if it also names the simulated user's; else ""."""
    lowercase_name = name.lower()
    matches = set(_NAME.findall(lowercase_name))
    if len(matches) > 1 and (part := _AGENT.search(lowercase_name)):
        matches = set(_NAME.findall(part[1]))
    return matches.pop() if len(matches) == 1 else ""


def _first_request(messages: Sequence[JSONValue]) -> str:
    """Return the text of the first user message that has one."""
    requests = (message_text(message) for message in messages if as_object(message).get("role") == "user")
    request = next((request for request in requests if _is_request(request)), "")
    if command := _COMMAND.search(request):
        return " ".join(part for part in command.groups() if part)
    return match[2] if (match := _TAG.search(request)) else request


def _task_text(value: JSONValue) -> str:
    """Return the request in an input that is not a conversation."""
    if isinstance(value, str):
        return value if _is_request(value) else ""
    body = as_object(value)
    candidates = (body.get(key) for key in ("task", "query", "question", "input", "prompt"))
    return next((candidate for candidate in candidates if isinstance(candidate, str) and _is_request(candidate)), "")


def _is_request(text: str) -> bool:
    """Return whether a text asks for something; tracers write an input that is absent as JSON."""
    return text.strip() not in ("", "null")
