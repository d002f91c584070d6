"""The models of the programs: functions of a request, one role each, that obey the sentences of their prompt."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.bench.attribution.mechanisms.running import Model
from tests.bench.attribution.programs.shapes import text_of
from traces.core.json_types import JSONObject, JSONValue

ToolCall = tuple[str, JSONObject]  # a tool's name, and the arguments that it is called with
Role = Callable[["Request"], "str | ToolCall"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a model reads: its prompt, the talk, the tools that it is offered, and its own name."""

    system: str
    messages: Sequence[JSONObject]
    tools: Sequence[JSONObject]
    model: str

    @property
    def last(self) -> str:
        """The latest words of a user."""
        return next((text_of(each) for each in reversed(self.messages) if each.get("role") == "user"), "")

    @property
    def spoken(self) -> str:
        """Everything that users have said."""
        return "\n".join(text_of(each) for each in self.messages if each.get("role") == "user")

    @property
    def called(self) -> list[str]:
        """The tools that were called since the user's latest words, in order."""
        return [str(call["name"]) for message in self._since_user() for call in _calls(message)]

    @property
    def results(self) -> list[JSONObject]:
        """What the tools of the whole visible talk gave, in order."""
        return [parse(text_of(each)) for each in self.messages if each.get("role") == "tool"]

    @property
    def latest_result(self) -> JSONObject:
        """The last result; empty if there is none, as in a probe without the call."""
        return self.results[-1] if self.results else {}

    def tool(self, purpose: str) -> str:
        """The name of the offered tool whose description speaks of a purpose; empty where there is none."""
        fits = (tool for tool in self.tools if purpose in str(tool.get("description")))
        return str(next(fits, {}).get("name", ""))

    def rule(self, pattern: str, default: str = "") -> str:
        """The value of the last sentence of the prompt that fits."""
        values = re.findall(pattern, self.system)
        return str(values[-1]) if values else default

    def _since_user(self) -> list[JSONObject]:
        at = max((at for at, each in enumerate(self.messages) if each.get("role") == "user"), default=0)
        return list(self.messages[at:])


def model_of(roles: Mapping[str, Role]) -> Model:
    """The model that plays these roles; a prompt begins with the role: `You are the clerk.`"""

    def answer(request: JSONObject, name: str) -> JSONObject:
        read = _read(request, name)
        role = roles[read.rule(r"You are the ([\w ]+)\.")]
        reply = role(read)
        if isinstance(reply, str):
            return {"role": "assistant", "content": _trimmed(reply, read, request)}
        called, arguments = reply
        number = 1 + sum(len(_calls(message)) for message in read.messages)
        call: JSONObject = {"id": f"call_{number}", "name": called, "arguments": arguments}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    return answer


def parse(text: str) -> JSONObject:
    """A JSON object; an empty one where the text is none."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _read(request: JSONObject, name: str) -> Request:
    messages, tools = request["messages"], request.get("tools")
    assert isinstance(messages, list)
    talk = [each for each in messages if isinstance(each, dict)]
    return Request(
        system=text_of(talk[0]),
        messages=talk[1:],
        model=name,
        tools=[each for each in tools if isinstance(each, dict)] if isinstance(tools, list) else [],
    )


def _trimmed(text: str, read: Request, request: JSONObject) -> str:
    """The manners that any prompt may ask for, and the limit of the request in words."""
    if "Begin with a greeting." in read.system:
        text = f"Good day to you. {text}"
    if signature := read.rule(r"Sign as ([\w ]+)\."):
        text = f"{text} Yours, {signature}."
    parameters = request.get("parameters")
    most = parameters.get("max_tokens") if isinstance(parameters, dict) else None
    return " ".join(text.split(" ")[:most]) if isinstance(most, int) else text


def _calls(message: JSONValue) -> list[JSONObject]:
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
