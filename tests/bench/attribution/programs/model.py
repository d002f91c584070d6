"""Simulated models of the programs: one function per role that answers a request by the rules in its prompt."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.bench.attribution.mechanisms.running import Model
from tests.bench.attribution.programs.shapes import text_of
from traces.core.json_types import JSONObject, JSONValue

# Name of a tool, and its arguments.
ToolCall = tuple[str, JSONObject]
Role = Callable[["Request"], "str | ToolCall | list[ToolCall]"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """Parsed request of a model: system prompt, conversation, offered tools, the model's name and its temperature."""

    system: str
    messages: Sequence[JSONObject]
    tools: Sequence[JSONObject]
    model: str
    temperature: float = 0.0

    @property
    def last(self) -> str:
        """Return the last user message."""
        return next((text_of(message) for message in reversed(self.messages) if message.get("role") == "user"), "")

    @property
    def spoken(self) -> str:
        """Return all user messages."""
        return "\n".join(text_of(message) for message in self.messages if message.get("role") == "user")

    @property
    def called(self) -> list[str]:
        """Return the tools called since the last user message, in order."""
        return [str(call["name"]) for message in self._since_user() for call in _calls(message)]

    @property
    def results(self) -> list[JSONObject]:
        """Return the tool results of the visible conversation, in order."""
        return [parse(text_of(message)) for message in self.messages if message.get("role") == "tool"]

    @property
    def latest_result(self) -> JSONObject:
        """The last result; empty if there is none, as in a probe without the call."""
        return self.results[-1] if self.results else {}

    def tool(self, purpose: str) -> str:
        """Return the name of the offered tool whose description mentions a purpose, or an empty string."""
        fits = (tool for tool in self.tools if purpose in str(tool.get("description")))
        return str(next(fits, {}).get("name", ""))

    def rule(self, pattern: str, default: str = "") -> str:
        """Return the value of the last match in the prompt."""
        values = re.findall(pattern, self.system)
        return str(values[-1]) if values else default

    def _since_user(self) -> list[JSONObject]:
        index = max((index for index, message in enumerate(self.messages) if message.get("role") == "user"), default=0)
        return list(self.messages[index:])


def model_of(roles: Mapping[str, Role]) -> Model:
    """Return a model with these roles. A prompt states its role: `You are the clerk.` A list is several tool calls.

    A probe may change the prompt, so that it states no role that the model knows; the model then declines.
    """

    def answer(request: JSONObject, name: str) -> JSONObject:
        parsed_request = _parse_request(request, name)
        role = roles.get(parsed_request.rule(r"You are the ([\w ]+)\."), _decline)
        reply = role(parsed_request)
        if isinstance(reply, str):
            return {"role": "assistant", "content": _apply_style(reply, parsed_request, request)}
        first = 1 + sum(len(_calls(message)) for message in parsed_request.messages)
        calls: list[JSONValue] = [
            {"id": f"call_{number}", "name": tool, "arguments": arguments}
            for number, (tool, arguments) in enumerate(reply if isinstance(reply, list) else [reply], first)
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    return answer


def _decline(request: Request) -> str:
    return "I cannot help with that."


def parse(text: str) -> JSONObject:
    """Parse a JSON object. Any other text gives an empty object."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _parse_request(request: JSONObject, name: str) -> Request:
    messages, tools, parameters = (request.get(name) for name in ("messages", "tools", "parameters"))
    temperature = parameters.get("temperature") if isinstance(parameters, dict) else None
    assert isinstance(messages, list)
    conversation = [message for message in messages if isinstance(message, dict)]
    return Request(
        system=text_of(conversation[0]),
        messages=conversation[1:],
        model=name,
        temperature=temperature if isinstance(temperature, int | float) else 0.0,
        tools=[tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else [],
    )


def _apply_style(text: str, request: Request, body: JSONObject) -> str:
    """Apply the style rules of the prompt, and the request's token limit in words."""
    if "Begin with a greeting." in request.system:
        text = f"Good day to you. {text}"
    if signature := request.rule(r"Sign as ([\w ]+)\."):
        text = f"{text} Yours, {signature}."
    parameters = body.get("parameters")
    max_tokens = parameters.get("max_tokens") if isinstance(parameters, dict) else None
    return " ".join(text.split(" ")[:max_tokens]) if isinstance(max_tokens, int) else text


def _calls(message: JSONValue) -> list[JSONObject]:
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
